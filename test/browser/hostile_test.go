package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// vectors are the texts that try to run or to load something, each under a heading of its own. Those that load do it
// from the listener. What is no text the service refuses, and so it is left out.
func vectors(t *testing.T, listener string) (text string, n int) {
	t.Helper()
	file, err := os.ReadFile("../../internal/render/testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for part := range strings.SplitSeq("\n"+strings.ReplaceAll(strings.ToValidUTF8(string(file), "?"), "\x00", ""), "\n=== ") {
		if name, vector, _ := strings.Cut(part, "\n"); name != "" {
			if i := strings.LastIndex(vector, "<!--"); i >= 0 && !strings.Contains(vector[i:], "-->") {
				vector += "\n\n-->" // else the comment hides all vectors up to the end of another one
			}
			fmt.Fprintf(&b, "\n\n## Vector %d\n\n%s", n, strings.ReplaceAll(vector, "{{L}}", listener))
			n++
		}
	}
	return b.String(), n
}

// An ear records every request that it gets. It serves only one page.
type ear struct {
	*httptest.Server
	mu    sync.Mutex // guards heard
	heard []string
}

func newEar(t *testing.T, page string) *ear {
	t.Helper()
	e := &ear{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page))
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.heard = append(e.heard, r.URL.Path)
		http.NotFound(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// all returns what was asked for so far.
func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.heard...)
}

// provoke does with a text what a reader might do: it moves over everything in it, and focuses and clicks it,
// except links that lead away. It returns the scripts that ran, the elements that could run one, and what was
// loaded from elsewhere.
const provoke = `new Promise((done) => {
  const found = [];
  for (const e of document.querySelectorAll('.prose, .prose *')) {
    for (const type of ['mouseover', 'mouseenter', 'pointerenter', 'focus', 'blur', 'error', 'load', 'toggle', 'start', 'animationstart', 'transitionend', 'beforetoggle', 'change'])
      e.dispatchEvent(new Event(type, {bubbles: false}));
    if (e.tagName === 'A' && e.href && !/^(https?|mailto):/.test(e.href)) e.click();
    if (/^(script|svg|math|iframe|object|embed|form|button|style|link|meta|base|video|audio|template)$/i.test(e.tagName)) found.push(e.tagName);
    for (const a of e.attributes) if (a.name.startsWith('on') || /^(href|src|action|style|srcdoc|srcset)$/.test(a.name) && /^\s*(javascript|vbscript|data):/i.test(a.value)) found.push(a.name + '=' + a.value);
  }
  setTimeout(() => {
    for (const r of performance.getEntriesByType('resource')) if (!r.name.startsWith(location.origin + '/')) found.push('loaded ' + r.name);
    done([...window.alarms, ...found].join('; '));
  }, 100);
})`

// D83, D111: every vector of the table stands in a document, and nothing of it runs or loads: not on its page, in the
// preview, in a version, in the API's HTML, and not on the page of a share. The same in a page of nobody's is heard.
func TestHostile_NothingRunsOrLoadsWhereADocumentIsShown(t *testing.T) {
	t.Parallel()
	s, l := startService(t), newEar(t, "")
	text, n := vectors(t, l.URL)
	if n < 300 {
		t.Fatalf("only %d vectors", n)
	}
	b := setUp(t, s)
	if _, err := command(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.alarms = []; for (const name of ['alert', 'confirm', 'prompt', 'print', 'open']) window[name] = () => { alarms.push(name) };`}); err != nil {
		t.Fatal(err)
	}
	address := b.writeDocument("Hostile", text)
	id := address[strings.LastIndex(address, "/")+1:]
	shared := s.created("/api/v1/shares", map[string]any{"resource_type": "document", "resource_id": id}, "url")
	for _, at := range []string{address, address + "/edit", address + "/versions/1?view=text", shared} {
		b.open(at)
		b.until("every vector on "+at, fmt.Sprintf("[...document.querySelectorAll('.prose h2')].filter((h) => /^Vector \\d+$/.test(h.textContent.trim())).length === %d", n))
		if found, ok := ask[string](b, provoke, chromedp.EvalAwaitPromise); !ok || found != "" {
			t.Errorf("%s: %s", at, found)
		}
		if heard := l.all(); len(heard) > 0 {
			t.Errorf("%s asked for %q", at, heard)
		}
	}
	b.open(newEar(t, "<!doctype html><title>a</title><div class=prose><img src=x: onerror=alert(1)><img src="+l.URL+"/control></div>").URL)
	b.until("the control", "window.alarms.length > 0 && performance.getEntriesByType('resource').length > 0")
	found, _ := ask[string](b, provoke, chromedp.EvalAwaitPromise)
	if heard := l.all(); len(heard) == 0 || !strings.Contains(found, "onerror") || !strings.Contains(found, "loaded ") {
		t.Errorf("the control is not heard: %q, %q", found, heard)
	}
}
