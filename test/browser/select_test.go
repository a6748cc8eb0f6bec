package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// treeOrder are the names of the tree's rows of projects, as they stand.
const treeOrder = `[...document.querySelectorAll("#tree-projects > li > .row[data-kind=project]")].map((r) => r.dataset.name).join(" ")`

// treeFolders are those of its folders.
const treeFolders = `[...document.querySelectorAll("#tree-projects > li > .row[data-kind=project-folder]")].map((r) => r.dataset.name).join(" ")`

// Several at once: ticked in a list, chosen in the tree by keys, moved and deleted together and undone by one button; a row is put into
// another place by dragging it and by the keys.
func TestSelect_SeveralAtOnce(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.post("folders", map[string]string{"name": "Docs", "type": "project"})
	for _, name := range []string{"One", "Two", "Three"} {
		b.post("projects", map[string]string{"name": name})
	}
	b.open("/")
	b.arrive("My workspace")
	b.gone("#selection")

	// Ticked in the list, moved by the dialog, and moved back.
	b.click("=Select One")
	b.click("=Select Two")
	b.read("2 selected")
	b.picture("selecting")
	b.accessible("a page with a selection")
	b.click("#selection button[type=submit]")
	b.see("dialog select:focus")
	b.shot("selection-move")
	b.chooseFirst("dialog [name=to]")
	b.tabTo("dialog .primary")
	b.keys(kb.Enter)
	b.read("Moved 2 projects to Docs.")
	b.until("the move", treeOrder+" === 'Three'")
	b.gone("#selection")
	b.shot("selection-done")
	b.ctrl("z")
	b.read("Undone.")
	b.until("the move back", treeOrder+" === 'One Two Three'")

	// Chosen in the tree by the keys.
	ask[bool](b, "(() => { document.querySelector(`#tree .row[data-name=One]`).focus(); return true })()")
	b.keys(" " + kb.ArrowDown + " ")
	b.read("2 selected")
	b.until("the rows", "document.querySelectorAll('#tree [aria-selected=true]').length === 2")
	b.accessible("the tree with a selection")
	b.drag("#tree .row[data-name=One] a", "#tree .row[data-name=Docs] a")
	b.read("Moved 2 projects to Docs.")
	b.click("#said button")
	b.read("Undone.")
	b.until("the move back", treeOrder+" === 'One Two Three'")

	// Shared together: a link for each.
	b.click("=Select One")
	b.click("=Select Three")
	b.click("#selection [formaction$=share]")
	b.see("dialog .primary")
	b.shot("selection-share")
	b.click("dialog .primary")
	b.until("two links", "document.querySelectorAll('dialog .shares code').length === 2")
	b.picture("selection-shared")
	b.click("=Delete these links")
	b.gone("dialog[open]")
	b.gone("#selection")

	// Another place, by the keys and back.
	ask[bool](b, "(() => { document.querySelector(`#tree .row[data-name=Three]`).focus(); return true })()")
	b.alt(kb.ArrowUp)
	b.until("the order", treeOrder+" === 'One Three Two'")
	b.alt(kb.ArrowUp)
	b.until("the order", treeOrder+" === 'Three One Two'")
	b.ctrl("z")
	b.until("the order before", treeOrder+" === 'One Three Two'")

	// Documents are deleted together and brought back.
	id := b.post("projects", map[string]string{"name": "Papers"})
	for n := range 3 {
		b.post("documents", map[string]string{"title": fmt.Sprint("Paper ", n), "project": id})
	}
	here, _ := ask[string](b, "location.pathname")
	b.open(here + "/" + id)
	b.arrive("Papers")
	b.click("=Select Paper 0")
	b.click("=Select Paper 2")
	b.click("#selection .danger")
	b.see("dialog .danger")
	b.shot("selection-delete")
	b.click("dialog .danger")
	b.read("2 documents deleted.")
	b.read("1 document,")
	b.click("#said button")
	b.read("3 documents,")
}

// order are the names of the projects or folders in a folder, or at the top level, as the API lists them, with their sort_order: that
// of a list which nobody has arranged is 0, and the oldest is first.
func (s *service) order(noun, query string) string {
	s.t.Helper()
	var out []string
	for _, one := range s.list("/api/v1/" + noun + "s?" + query) {
		out = append(out, fmt.Sprintf("%s:%d", one.Name, one.SortOrder))
	}
	return strings.Join(out, " ")
}

// A row is dragged between two others: it gets that place there, for programs too, and one button undoes it.
func TestSelect_DraggedBetweenTwoRows(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	folder := b.post("folders", map[string]string{"name": "Docs", "type": "project"})
	for _, name := range []string{"Company", "Zoo"} {
		b.post("folders", map[string]string{"name": name, "type": "project"})
	}
	for _, name := range []string{"One", "Three", "Two"} {
		b.post("projects", map[string]string{"name": name})
	}
	b.post("projects", map[string]string{"name": "Inside", "in": folder})
	b.open("/")
	b.arrive("My workspace")
	before := s.order("project", "folder_id=null")

	// Onto the upper edge of another one, and back by the one button.
	b.dragBefore("#tree .row[data-name=Two] a", "#tree .row[data-name=One]")
	b.until("the order", treeOrder+" === 'Two One Three'")
	s.arranged("project", "folder_id=null", "Two", "One", "Three")
	b.undo("Moved Two.")
	b.until("the order before", treeOrder+" === 'One Three Two'")
	if got := s.order("project", "folder_id=null"); got != before {
		t.Errorf("undone it is %s, and was %s", got, before)
	}

	// Onto the lower edge of the last.
	b.dragBehind("#tree .row[data-name=One] a", "#tree .row[data-name=Two]")
	b.until("the order", treeOrder+" === 'Three Two One'")
	s.arranged("project", "folder_id=null", "Three", "Two", "One")

	// Out of a folder, between two rows: it is moved and has its place, by one act, and one button takes both back.
	b.click("#tree .row[data-name=Docs] .twist")
	b.dragBefore("#tree .row[data-name=Inside] a", "#tree .row[data-name=Two]")
	b.until("the order", treeOrder+" === 'Three Inside Two One'")
	s.arranged("project", "folder_id=null", "Three", "Inside", "Two", "One")
	b.undo("Moved Inside.")
	b.until("the order before", treeOrder+" === 'Three Two One'")
	s.arranged("project", "folder_id="+folder, "Inside")
	s.arranged("project", "folder_id=null", "Three", "Two", "One")

	// A folder too.
	b.dragBefore("#tree .row[data-name=Zoo] a", "#tree .row[data-name=Company]")
	b.until("the order of the folders", treeFolders+" === 'Docs Zoo Company'")
	s.arranged("folder", "parent_id=null&entity_type=project", "Docs", "Zoo", "Company")
	b.undo("Moved Zoo.")
	b.until("the previous order", treeFolders+" === 'Docs Company Zoo'")
}

// undo reads what the toast says of an act, and presses the one button there that takes it back. Such a toast stays until something else
// is said.
func (b *tab) undo(says string) {
	b.t.Helper()
	b.until(says, "document.querySelector('#said.shown')?.innerText.includes("+quote(says)+")")
	if n, _ := ask[int](b, "document.querySelectorAll('#said form').length"); n != 1 {
		b.t.Errorf("%q has %d buttons that undo it", says, n)
	}
	b.click("#said [data-undo] button")
	b.read("Undone.")
}

// arranged wants the API to list those names in that order, by their sort_order.
func (s *service) arranged(noun, query string, want ...string) {
	s.t.Helper()
	last := -1 << 31
	for i, one := range s.list("/api/v1/" + noun + "s?" + query) {
		if i >= len(want) || one.Name != want[i] || one.SortOrder < last {
			s.t.Errorf("the %ss are %s, want %q", noun, s.order(noun, query), want)
			return
		}
		last = one.SortOrder
	}
}

// Without scripts the boxes and the buttons are a form.
func TestSelect_WithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.post("folders", map[string]string{"name": "Docs", "type": "project"})
	b.post("projects", map[string]string{"name": "One"})
	b.withoutScripts()
	b.open("/")
	b.await("document.querySelector('[aria-label=\"Select One\"]')")
	b.click("=Select One")
	b.click("#selection button[type=submit]")
	b.await("document.querySelector('h1')?.innerText === 'Move One'")
	b.chooseFirst("[name=to]")
	b.click("main button.primary")
	b.await("document.body.innerText.includes('Moved One to Docs.')")
	b.click("=Undo")
	b.await("document.body.innerText.includes('Undone.')")
}

// chooseFirst chooses the first place that is not the top level.
func (b *tab) chooseFirst(selector string) {
	b.t.Helper()
	if _, ok := ask[bool](b, "(() => { const s = document.querySelector("+quote(selector)+"); s.value = s.options[1].value; return true })()"); !ok {
		b.t.Fatalf("%s has no choice", selector)
	}
}

// alt presses a key with Alt.
func (b *tab) alt(key string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key, chromedp.KeyModifiers(1)))
}

// Boxes are ticked up to another one by a click with Shift, also with the keyboard, and all of them by a button.
func TestSelect_UpToAnotherAndAll(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	for n := range 6 {
		b.post("projects", map[string]string{"name": fmt.Sprint("Project ", n)})
	}
	b.open("/")
	b.arrive("My workspace")
	ticked := func(want string) {
		t.Helper()
		b.until("ticked "+want, `[...document.querySelectorAll("main .pickbox")].map((e) => e.checked ? 1 : 0).join("") === `+quote(want))
	}
	b.click("=Select Project 1")
	b.read("Project 1 selected")
	b.shiftClick("=Select Project 4")
	ticked("011110")
	b.read("4 selected")
	if text, _ := ask[string](b, "getSelection().toString()"); text != "" {
		t.Errorf("the click selected the text %q", text)
	}
	b.shiftClick("=Select Project 3") // it clears the boxes, as the one that is clicked
	ticked("011000")
	b.click("=Select all")
	ticked("111111")
	b.read("6 selected")
	b.until("nothing left to select", "document.querySelector('[data-all]').hidden")
	b.picture("selected-all")
	b.accessible("a page with all selected")
	b.click("=Clear")
	ticked("000000")
	b.until("the focus on the first box", "(() => { const e = document.querySelector('main .pickbox'); e.focus(); return document.activeElement === e })()")
	b.keys(" ")
	ticked("100000")
	b.refreshed()
	b.shiftClick("=Select Project 2")
	ticked("111000")
}

// shiftClick clicks an element while Shift is held.
func (b *tab) shiftClick(selector string) {
	b.t.Helper()
	x, y := b.middle(selector)
	b.do(chromedp.MouseClickXY(x, y, chromedp.ButtonModifiers(8)))
}

// refreshed reads the page again, as a change of another person does.
func (b *tab) refreshed() {
	b.t.Helper()
	b.until("the page read again", "(sheaf.refresh(), true)")
}
