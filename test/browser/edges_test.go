package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// endSession ends the person's session behind the back of the open page.
func (b *tab) endSession() {
	b.t.Helper()
	if _, ok := ask[bool](b, `(() => { const x = new XMLHttpRequest(); x.open("POST", "/sign-out", false); x.send(); return true })()`); !ok {
		b.t.Fatal("the session was not ended")
	}
}

// signInHere fills in the sign-in form that the page or its dialog shows.
func (b *tab) signInHere() {
	b.t.Helper()
	b.fill("[name=email]", "ada@example.com")
	b.fill("[name=password]", password)
	b.click("form[action$='/sign-in'] button[type=submit]")
}

// silence lets no request of a script reach the server, as when that is down.
func (b *tab) silence() {
	b.t.Helper()
	ask[bool](b, `(() => { window.fetch = () => Promise.reject(new TypeError("down")); return true })()`)
}

// What happens at the edges of a session and of a form: nothing is lost, and nothing is said that is not so.
func TestEdges_NothingIsLostAndNothingUntrueIsSaid(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.newFolder("Docs")
	b.open("/")
	b.arrive("My workspace")
	b.newProject("One", "book-open")
	project, _ := ask[string](b, "location.pathname")
	where := "#tree li:has(> .row[data-name=Docs]) ul .row[data-name=One]"

	// The tree is walked by the arrow keys.
	b.walkTree()

	// The server is down: the drag says so.
	b.silence()
	b.drag("#tree .row[data-name=One] a", "#tree .row[data-name=Docs] a")
	b.read("One was not moved. The server is not responding.")

	// The session is over: the open page says so, and a drag does not pretend.
	b.open(project)
	b.arrive("One")
	b.endSession()
	b.see("#ended")
	b.drag("#tree .row[data-name=One] a", "#tree .row[data-name=Docs] a")
	b.read("One was not moved. Your session has ended.")
	b.see("dialog[open] [name=password]")
	b.shot("sign-in-dialog")
	b.signInHere()
	b.arrive("One")
	b.gone("#ended")
	b.gone(where)
	b.drag("#tree .row[data-name=One] a", "#tree .row[data-name=Docs] a")
	b.read("Moved One to Docs.")
	b.see(where)

	// A form in the dialog outlives the session, and comes back with what was typed.
	b.click("=Edit")
	b.fill("dialog [name=name]", "Typed before it ended")
	b.endSession()
	b.click("=Save")
	b.read("what you typed comes back")
	b.signInHere()
	b.read("You are signed in again.")
	b.until("what was typed", "document.querySelector('dialog [name=name]')?.value === 'Typed before it ended'")

	// Somebody else changes it meanwhile: both values are shown, and one is chosen.
	s.call(s.Key, http.MethodPatch, "/api/v1"+project[strings.Index(project, "/projects/"):], map[string]string{"name": "By a program", "description": "New words"}, http.StatusOK)
	b.click("=Save")
	b.see("dialog [name=keep-name][value=mine]:checked")
	b.see("dialog [name=keep-description][value=saved]:checked")
	b.shot("conflict")
	b.click("dialog [name=keep-name][value=saved]")
	b.click("=Save")
	b.arrive("By a program")
	b.read("New words")

	// So does a text in the editor, which is a page.
	address := b.writeDocument("Letter", "first")
	if where, _ := ask[string](b, "location.search"); where != "" {
		t.Errorf("the address has %s", where)
	}
	b.open(address + "/edit")
	b.put("hours of work")
	b.endSession()
	b.click("=Save")
	b.read("what you typed comes back")
	b.signInHere()
	b.holds("hours of work")
	b.click("=Save")
	b.arrive("Letter")
	b.read("hours of work")
	b.until("a clean address", "!location.search")

	// Nothing is kept for who signs out.
	b.open(address + "/edit")
	b.put("a secret draft")
	b.until("the draft", "Object.keys(localStorage).some((k) => k.startsWith('draft '))")
	b.click("button.avatar")
	b.click("=Sign out")
	b.arrive("Sign in")
	b.until("nothing kept", "!Object.keys(localStorage).some((k) => k.startsWith('draft '))")

	// A second instance on the same host, in the same browser, signs nobody out.
	b.signInHere()
	b.arrive("My workspace")
	other := startService(t)
	b.open(other.SetupLink)
	b.fill("[name=name]", "Ada")
	b.fill("[name=email]", "ada@example.com")
	b.fill("[name=password]", password)
	b.fill("[name=again]", password)
	b.click("=Finish setup")
	b.arrive("My workspace")
	b.open(s.URL + project)
	b.arrive("By a program")
}

// walkTree walks the tree, which has the folder Docs and below it the project One, by the arrow keys.
func (b *tab) walkTree() {
	b.t.Helper()
	at := func(name string) {
		b.t.Helper()
		b.until("the focus on "+name, "document.activeElement.getAttribute('aria-label') === "+quote(name)+" && document.activeElement.role === 'treeitem'")
	}
	b.tabTo("#tree [role=treeitem][tabindex='0']")
	at("One")
	b.keys(kb.ArrowUp)
	at("Docs")
	b.keys(kb.ArrowDown)
	at("One")
	b.keys(kb.Home)
	at("Docs")
	b.keys(kb.Enter)
	b.arrive("Docs")
	b.click("#tree .row[data-name=One] a")
	b.arrive("One")
}
