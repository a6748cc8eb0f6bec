package browser

import (
	"strings"
	"testing"
)

// "Try" in the reference asks the service that shows it, under whichever address a person has opened it.
func TestDocs_TryAsksTheServiceThatShowsIt(t *testing.T) {
	t.Parallel()
	s := startService(t)
	for _, address := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)} {
		if !strings.HasPrefix(address, "http://") || strings.HasSuffix(address, ":8080") {
			t.Fatalf("%s is the address that the document itself names", address)
		}
		b := newTab(t, s)
		b.open(address + "/docs#get-/api/v1/me")
		try := inDocs(`e.localName === 'button' && e.textContent.trim().toUpperCase() === 'TRY'`)
		b.until("the operation is shown", try)
		b.fill("#key", s.Key)
		b.until("the key is taken", `document.querySelector('#key-state').textContent.includes('sent with')`)
		b.until("try is pressed", `(`+try+`.click(), true)`)
		b.until("the answer is shown", inDocs(`e.childElementCount < 2 && /(OK:|^\s*)200\s+Took/.test(e.textContent)`))
	}
}

// inDocs is an expression for the first element e of the reference for which the condition holds. The parts of the reference have trees
// of their own.
func inDocs(condition string) string {
	return `(function look(root) {
  for (const e of root.querySelectorAll('*')) {
    if (` + condition + `) return e;
    const below = e.shadowRoot && look(e.shadowRoot);
    if (below) return below;
  }
  return null;
})(document)`
}
