package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
)

// field is the jump's, when it has the focus.
const field = "document.activeElement === document.querySelector('#jump[open] input')"

// chosen is the name of the choice that Enter would take.
const chosen = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.querySelector('.title').innerText"

// jump opens the jump by Ctrl-K.
func (b *tab) jump() {
	b.t.Helper()
	b.ctrl("k")
	b.until("the field of the jump", field)
}

// jumpTo finds something and takes it. The index follows a change within two seconds: until then the question is asked again.
func (b *tab) jumpTo(text, name string) {
	b.t.Helper()
	b.jumpFinds(text, name)
	b.keys(kb.Enter)
}

// jumpFinds asks the jump until it offers a choice of that name first.
func (b *tab) jumpFinds(text, name string) {
	b.t.Helper()
	for range 60 {
		if b.jumpOffers(text, name) {
			return
		}
	}
	offered, _ := ask[string](b, "document.querySelector('#jump').innerText")
	b.t.Fatalf("for %q the jump offers %q, want %q first", text, offered, name)
}

// jumpOffers types text into the jump, opening it if necessary. It reports whether the choice that is selected by default
// gets the given name.
func (b *tab) jumpOffers(text, name string) bool {
	b.t.Helper()
	if open, _ := ask[bool](b, "!!document.querySelector('#jump[open]')"); !open {
		b.jump()
	}
	ask[bool](b, "(() => { document.activeElement.select(); return true })()")
	b.keys(text)
	return b.within(5*time.Second, chosen+" === "+quote(name)) // and then it is asked again
}

// One field finds everything, from the keyboard alone: records by name and by id with where they are, pages, and what there is to do.
func TestJump_FromTheKeyboard(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.furnish()
	s.call(s.Key, "POST", "/api/webhooks/subscriptions", map[string]any{"name": "Build the site", "url": "https://example.com/hook", "events": []string{"project.created"}}, 201)

	// A slash opens it as well, and Escape leads back to where one was.
	b.tabTo("=Media")
	b.keys("/")
	b.until("the field of the jump", field)
	// The driver sends the letter of the key though the page took the key itself.
	ask[bool](b, "(() => { const e = document.activeElement; e.value = ''; return e.dispatchEvent(new Event('input')) })()")
	b.until("what there is to do", chosen+" === 'New project'")
	b.shot("jump")
	b.keys(kb.Escape)
	b.gone("#jump[open]")
	b.until("the focus back", find("=Media")+" === document.activeElement")

	// By name, with the path; the words of a text are marked.
	b.jumpTo("release", "Release notes")
	b.arrive("Release notes")
	b.jump()
	b.keys("spring")
	b.until("the words in a text", "document.querySelector('#jump-list mark')?.innerText === 'spring'")
	b.until("the path", "[...document.querySelectorAll('#jump-list .where')].some((e) => e.innerText === 'Company / Handbook')")
	b.shot("jump-found")
	b.keys(kb.ArrowDown)
	b.until("the second choice", "document.querySelectorAll('#jump-list [role=option]')[1].ariaSelected === 'true'")
	b.keys(kb.ArrowUp + kb.ArrowUp)
	b.until("the last one, round the corner", chosen+".startsWith('Search all texts')")
	b.keys(kb.Enter)
	b.see(".found mark")
	b.shot("search")

	// By id, a webhook, a key, a page.
	id, _ := ask[string](b, "document.querySelector('.found a').href.split('/').pop()")
	title, _ := ask[string](b, "document.querySelector('.found a .title').innerText")
	b.jumpTo(id, title)
	b.arrive(title)
	b.jumpTo("build the", "Build the site")
	b.until("the page of the webhook", "location.pathname.includes('/webhooks/') && document.querySelector('h1').innerText.includes('Build the site')")
	b.jumpTo("first key", "First key")
	b.arrive("Keys")
	b.jumpTo("settings", "Settings")
	b.arrive("Settings")

	// Something to do opens in the dialog, over the page that one is at.
	b.jumpTo("new proj", "New project")
	b.see("dialog [name=name]:focus")
	b.keys("From the jump")
	b.tabTo("=Create project")
	b.keys(kb.Enter)
	b.arrive("From the jump")

	// A fast user gets what was typed, not what is still shown.
	b.jump()
	b.keys("trash" + kb.Enter)
	b.arrive("Trash")

	// Nor an answer that arrives late, for an earlier text.
	ask[bool](b, `(() => {
		const fetch = window.fetch;
		window.fetch = (address, how) => new URL(address, location.href).searchParams.get("q") !== "" ? fetch(address, how)
			: fetch(address, how).then((answer) => new Promise((late) => { window.late = () => late(answer) }));
		return true })()`)
	b.jump()
	b.until("the first answer, which is held", "!!window.late")
	ask[bool](b, "(() => { const e = document.activeElement; e.value = 'members'; e.dispatchEvent(new Event('input')); late(); return true })()")
	b.keys(kb.Enter)
	b.arrive("Members")

	// By touch, on a phone.
	b.phone()
	b.open("/")
	b.click("=Search")
	b.until("the field of the jump", field)
	b.keys("members")
	b.until("the page", chosen+" === 'Members'")
	b.save("phone-jump-members")
	b.click("#jump-list [role=option]")
	b.arrive("Members")
	b.desk()

	// The server is down, or the session over: it is said.
	b.silence()
	b.jump()
	b.read("The server is not responding.")
	b.open("/")
	b.arrive("My workspace")
	b.endSession()
	b.ctrl("k")
	b.see("#ended")
}

// Without scripts the same link leads to the page that searches.
func TestJump_WithoutScriptsIsAPage(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.furnish()
	b.withoutScripts()
	b.open("/")
	b.await("document.querySelector('a.search')")
	b.click("=Search")
	b.await("document.querySelector('h1')?.innerText === 'Search'")
	b.fill("main [name=q]", "handbook")
	b.keys(kb.Enter)
	b.await("document.querySelector('.found a .title')?.innerText === 'Handbook'")
}
