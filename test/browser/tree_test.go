package browser

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// documentOrder are the titles in the tree of documents as they stand, each with its level.
const documentOrder = `[...document.querySelectorAll("#tree-documents .row")].filter((r) => r.checkVisibility()).map((r) => r.dataset.name + r.ariaLevel).join(" ")`

// inOrder waits until the tree of documents shows these titles, each with its level.
func (b *tab) inOrder(want string) {
	b.t.Helper()
	b.until("the order "+want, documentOrder+" === "+quote(want))
}

// says waits until the live region that screen readers read has this text.
func (b *tab) says(text string) {
	b.t.Helper()
	b.until(text, "document.querySelector('#said[aria-live].shown')?.innerText.includes("+quote(text)+")")
}

// at puts the focus on a document's row of the tree.
func (b *tab) at(title string) {
	b.t.Helper()
	b.until("the row "+title, "(() => { const r = document.querySelector(`#tree-documents .row[data-name="+quote(title)+"]`); r.focus(); return document.activeElement === r })()")
}

// hold takes an element with the mouse, if one is named, and moves it over a part of another without letting go: 0 is the top of that,
// 1 its bottom.
func (b *tab) hold(from, over string, part float64) {
	b.t.Helper()
	toX, toY := b.middle(over)
	height, _ := ask[float64](b, find(over)+".getBoundingClientRect().height")
	if from != "" {
		x, y := b.middle(from)
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
			chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+10, y+10, chromedp.ButtonLeft))
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, toX, toY+(part-0.5)*height, chromedp.ButtonLeft))
}

// release lets the button of the mouse go, away from everything.
func (b *tab) release() {
	b.t.Helper()
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, 2, 2, chromedp.ButtonLeft, chromedp.ClickCount(1)))
}

// D164: the documents of a project are a tree: opened one by one, moved with the mouse, with the keys and with the dialog, several at once,
// and put back by one button.
func TestTree_Documents(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	handbook := b.post("projects", map[string]string{"name": "Handbook"})
	b.post("projects", map[string]string{"name": "Archive"})
	ids := map[string]string{}
	write := func(title, parent string) {
		ids[title] = b.post("documents", map[string]string{"title": title, "project": handbook, "parent": ids[parent], "content": "About " + title + "."})
	}
	write("Guide", "")
	write("News", "")
	write("Contact", "")
	write("Install", "Guide")
	write("Linux", "Install")
	write("Configure", "Guide")
	home, _ := ask[string](b, "location.pathname.replace(/projects.*/, '')")
	b.open(home + "projects/" + handbook)
	b.arrive("Handbook")
	b.inOrder("Guide1 News1 Contact1")

	// Opened with the mouse and with the keys. It stays so on the next page and after a change.
	b.click("#tree-documents .row[data-name=Guide] .twist")
	b.inOrder("Guide1 Install2 Configure2 News1 Contact1")
	b.at("Install")
	b.keys(kb.ArrowRight)
	b.inOrder("Guide1 Install2 Linux3 Configure2 News1 Contact1")
	b.accessible("the tree of documents")
	b.open(home + "projects/" + handbook)
	b.inOrder("Guide1 Install2 Linux3 Configure2 News1 Contact1")
	s.call(s.Key, "PATCH", "/api/v1/documents/"+ids["News"], map[string]string{"title": "Updates"}, 200)
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.shot("tree-documents")

	// With the mouse: before, after, and below another one. Each is undone by one button.
	b.dragBefore("#tree-documents .row[data-name=Contact] a", "#tree-documents .row[data-name=Guide]")
	b.inOrder("Contact1 Guide1 Install2 Linux3 Configure2 Updates1")
	b.undo("Moved Contact.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.dragBehind("#tree-documents .row[data-name=Updates] a", "#tree-documents .row[data-name=Linux]")
	b.inOrder("Guide1 Install2 Linux3 Updates3 Configure2 Contact1")
	b.undo("Moved Updates.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.drag("#tree-documents .row[data-name=Install] a", "#tree-documents .row[data-name=Contact]")
	b.inOrder("Guide1 Configure2 Updates1 Contact1 Install2 Linux3")
	b.undo("Moved Install.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	// The place is visible before the button is let go, and Escape leaves everything as it is.
	b.hold("#tree-documents .row[data-name=Contact] a", "#tree-documents .row[data-name=Configure]", 0.1)
	b.see("#tree-documents .row.before[data-name=Configure]")
	b.picture("tree-dragging")
	b.hold("", "#tree-documents .row[data-name=Configure]", 0.5)
	b.see("#tree-documents .row.over[data-name=Configure]")
	b.hold("", "#tree-documents .row[data-name=Configure]", 0.9)
	b.see("#tree-documents .row.behind[data-name=Configure]")
	b.hold("", "#tree-documents .row[data-name=Contact]", 0.5) // nothing goes into itself
	b.gone("#tree-documents .row:is(.before, .over, .behind)")
	b.keys(kb.Escape)
	b.release()
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")

	// A refusal says why: the text of the page, not of its header.
	b.until("a refusal", "(sheaf.words(new Response('<header><p>Workspaces</p></header><main><p>The reason.</p></main>')).then((text) => { window.reason = text; }), true)")
	b.until("its reason", "window.reason === 'The reason.'")

	// With the keys, announced.
	b.at("Contact")
	b.keys("m")
	b.says("Contact is picked up. Choose a place with the arrow keys, then press Enter. Escape cancels.")
	b.keys(kb.ArrowUp) // from where it is, after the last of the others
	b.says("Below Updates, as the last document there.")
	b.keys(kb.Home)
	b.says("Before Guide, on the first level of this tree.")
	b.keys(kb.ArrowDown)
	b.says("Before Install, below Guide.")
	b.keys(kb.ArrowDown + kb.ArrowDown)
	b.says("Below Linux, as the last document there.")
	b.see("#tree-documents .row.over[data-name=Linux]")
	b.accessible("a document picked up")
	b.picture("tree-picked-up")
	b.keys(kb.ArrowDown)
	b.says("After Linux, below Install.")
	b.keys(kb.ArrowLeft)
	b.says("Before Configure, below Guide.")
	b.keys(kb.Enter)
	b.inOrder("Guide1 Install2 Linux3 Contact2 Configure2 Updates1")
	b.says("Moved Contact.")
	b.until("the focus on it", "document.activeElement.dataset.name === 'Contact'")
	b.ctrl("z")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.at("Updates")
	b.keys("m" + kb.ArrowUp + kb.Escape)
	b.says("Updates stays where it is.")
	b.gone("#tree-documents .row:is(.before, .over, .behind, .carried)")
	b.at("Updates")
	b.alt(kb.ArrowUp)
	b.inOrder("Updates1 Guide1 Install2 Linux3 Configure2 Contact1")
	b.undo("Moved Updates.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	// A closed document is opened on the way. What cannot be is said in a sentence.
	b.click("#tree-documents .row[data-name=Guide] .twist")
	b.inOrder("Guide1 Updates1 Contact1")
	b.at("Contact")
	b.keys("m" + kb.Home + kb.ArrowDown)
	b.says("Below Guide, as the last document there.")
	b.keys(kb.ArrowRight)
	b.says("Before Install, below Guide.")
	b.keys(kb.Enter)
	b.inOrder("Guide1 Contact2 Install2 Linux3 Configure2 Updates1")
	b.undo("Moved Contact.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")

	// Several at once: below another one by the mouse, and into another project by the dialog.
	b.at("Configure")
	b.keys(" ")
	b.at("Contact")
	b.keys(" ")
	b.read("2 selected")
	b.until("their boxes", "document.querySelectorAll('#tree-documents input:checked').length === 2")
	b.drag("#tree-documents .row[data-name=Contact] a", "#tree-documents .row[data-name=Updates]")
	b.inOrder("Guide1 Install2 Linux3 Updates1 Configure2 Contact2")
	b.undo("Moved 2 documents.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.at("Configure")
	b.keys(" ")
	b.at("Contact")
	b.keys(" m")
	b.says("2 documents are picked up.")
	b.keys(kb.Home)
	b.says("Before Guide, on the first level of this tree.")
	b.keys(kb.Enter)
	b.inOrder("Configure1 Contact1 Guide1 Install2 Linux3 Updates1")
	b.undo("Moved 2 documents.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")
	b.click("=Select Guide")
	b.click("=Select Updates")
	b.click("#selection button[type=submit]")
	b.see("dialog select:focus")
	b.shot("selection-move-documents")
	b.until("the places", "[...document.querySelectorAll('dialog select option')].map((o) => o.text.trim()).join() === 'No project,Handbook,Contact,Archive,Search for others by name'")
	b.keys("A") // chooses Archive
	b.tabTo("dialog .primary")
	b.keys(kb.Enter)
	b.read("Moved 2 documents to Archive.")
	b.inOrder("Contact1")
	b.click("#said [data-undo] button")
	b.read("Undone.")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1")

	// The page of a document: what is above it, what is below, and a new one there.
	b.click("#tree-documents .row[data-name=Install] a")
	b.arrive("Install")
	b.until("the documents above", "document.querySelector('.crumbs').innerText.replace(/\\s+/g, ' ').trim() === 'All projects Handbook Guide'")
	b.inOrder("Linux1")
	b.shot("document-below")
	b.click("=New document below")
	b.see("#editor")
	b.read("It goes below Install.")
	b.fill("[name=title]", "Windows")
	b.clickAway("=Create document")
	b.arrive("Windows")
	b.until("the documents above", "document.querySelector('.crumbs').innerText.includes('Install')")
	b.click("=Move")
	b.see("dialog select:focus")
	b.until("where it is", "document.querySelector('dialog select').selectedOptions[0].text.trim() === 'Install'")
	b.fill("dialog [data-find]", "Conf")
	b.until("what is called so, and where it is", "[...document.querySelectorAll('dialog select option')].map((o) => o.text.trim() + (o.selected ? '*' : '')).join() === 'No project,Install*,Handbook / Guide / Configure,Search for others by name'")
	b.fill("dialog [data-find]", " ")
	b.until("all places", "document.querySelectorAll('dialog select option').length > 5")
	b.tabTo("dialog select")
	b.keys("H") // chooses Handbook
	b.tabTo("dialog .primary")
	b.keys(kb.Enter)
	b.read("Moved Windows to Handbook.")
	b.until("the documents above", "!document.querySelector('.crumbs').innerText.includes('Install')")

	// Deleted, the tree is one line of the trash, and comes back whole.
	b.open(home + "projects/" + handbook)
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1 Windows1")
	b.click("=Actions for the document Guide")
	b.click("#row-menu .danger")
	b.read("The document and everything below it move to the trash")
	b.click("=Delete document")
	b.inOrder("Updates1 Contact1 Windows1")
	b.open(home + "trash")
	b.read("with 3 documents below it")
	b.until("one line", "document.querySelectorAll('main .list > li').length === 1")
	b.shot("trash-tree")
	b.clickAway("=Restore Guide")
	b.arrive("Handbook")
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1 Windows1")

	// On a phone the rows fit, and the menu of a row moves it.
	b.open(home + "projects/" + handbook)
	b.inOrder("Guide1 Install2 Linux3 Configure2 Updates1 Contact1 Windows1")
	b.phone()
	b.click("=Actions for the document Windows")
	b.until("its menu", "[...document.querySelectorAll('#row-menu a')].map((a) => a.text).join() === 'New document below,Edit,Move,Delete'")
	b.keys(kb.Escape)
	b.desk()

	// Without scripts the tree is links: each page has the next level.
	b.withoutScripts()
	b.open(home + "projects/" + handbook)
	b.await("document.querySelector('#tree-documents .row')")
	b.click("#tree-documents .row[data-name=Guide] > a")
	b.await("document.querySelector('h1')?.innerText === 'Guide'")
	b.click("#tree-documents .row[data-name=Configure] > a")
	b.await("document.querySelector('h1')?.innerText === 'Configure' && document.querySelector('.crumbs').innerText.includes('Guide')")
}

// A tree is one stop of Tab. Inside it, letters find a row by its name, and Shift-F10 opens the menu of a row.
func TestTree_OneStopOfTabAndLetters(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	docs := b.post("folders", map[string]string{"name": "Docs", "type": "project"})
	b.post("folders", map[string]string{"name": "Design", "type": "project"})
	b.post("projects", map[string]string{"name": "Inside", "in": docs})
	b.post("projects", map[string]string{"name": "Mail"})
	b.post("projects", map[string]string{"name": "Map of the sea"})
	handbook := b.post("projects", map[string]string{"name": "Handbook"})
	for _, title := range []string{"Guide", "Glossary", "Manual"} {
		b.post("documents", map[string]string{"title": title, "project": handbook})
	}
	b.open("/")
	b.arrive("My workspace")
	const at = "document.activeElement.dataset.name"
	focus := func(name string) {
		t.Helper()
		b.until("the focus on "+name, at+" === "+quote(name)+" && document.activeElement.tabIndex === 0")
	}
	stops := func(tree string) {
		t.Helper()
		b.until("one stop in "+tree, "[...document.querySelectorAll("+quote(tree+" *")+")].filter((e) => e.tabIndex === 0 && e.checkVisibility()).length === 1")
	}
	forget := func() { time.Sleep(1100 * time.Millisecond) } // letters belong together if they come within a second
	b.until("the tree", "document.querySelector('#tree-projects [role=treeitem]')")
	stops("#tree-projects")
	b.until("the first row", "(() => { document.querySelector('#tree-projects [tabindex=\"0\"]').focus(); return true })()")
	first, _ := ask[string](b, at)
	b.keys("m")
	focus("Mail")
	forget()
	b.keys("map o") // with a space, which selects nothing here
	focus("Map of the sea")
	b.gone("#selection")
	forget()
	b.keys("d")
	b.until("a row with D", at+".startsWith('D')")
	one, _ := ask[string](b, at)
	b.keys("d") // one letter again and again goes on
	b.until("the other row with D", at+".startsWith('D') && "+at+" !== "+quote(one))
	stops("#tree-projects")
	b.keys(kb.Home)
	focus(first)
	b.keys(kb.End)
	b.until("the last row", at+" !== "+quote(first))

	// Closing a folder around the focus keeps a stop.
	b.until("the folder", "(() => { const e = document.querySelector('#tree-projects [data-name=Docs]'); e.focus(); return document.activeElement === e })()")
	b.keys(kb.ArrowRight)
	b.until("the folder open", "document.activeElement.ariaExpanded === 'true'")
	b.keys(kb.ArrowRight)
	focus("Inside")
	b.click("#tree .row[data-name=Docs] .twist")
	stops("#tree-projects")

	// The menu of a row, and back to the row.
	b.until("the row", "(() => { const e = document.querySelector('#tree-projects [data-name=Handbook]'); e.focus(); return document.activeElement === e })()")
	b.do(chromedp.KeyEvent(kb.F10, chromedp.KeyModifiers(8)))
	b.until("the menu", "document.querySelector('#row-menu:popover-open a') === document.activeElement")
	b.keys(kb.Escape)
	focus("Handbook")
	b.accessible("the tree after its menu")

	// In the tree of documents M picks a row up, unless it continues a name.
	b.click("#tree .row[data-name=Handbook] a")
	b.arrive("Handbook")
	stops("#tree-documents")
	b.at("Guide")
	b.keys("g")
	focus("Glossary")
	forget()
	b.keys("m")
	b.says("Glossary is picked up.")
	b.keys(kb.Escape)
	b.picture("tree-keys")
}
