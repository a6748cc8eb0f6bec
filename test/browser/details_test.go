package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// The small things of pages, at their edges: names that are longer than their place, icons that are chosen by the keyboard, and a
// window in which little has room.
func TestDetails(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	b.iconsByKeyboard()
	b.zoomed("/documents/" + b.longNames(s))
}

// inSight reports whether what has the focus, with its label, is wholly within the open dialog and nothing lies over it.
const inSight = `(() => {
	const label = document.activeElement.closest("label"), box = label.getBoundingClientRect(), room = document.querySelector("dialog[open]").getBoundingClientRect();
	const over = document.elementFromPoint(box.left + box.width / 2, box.bottom - 2);
	return box.top >= room.top && box.bottom <= room.bottom && label.contains(over) })()`

// scrollers are what scrolls in the open dialog, itself included: the fields for long texts are not meant.
const scrollers = `[document.querySelector("dialog[open]"), ...document.querySelectorAll("dialog[open] :not(textarea)")].filter((e) =>
	e.checkVisibility() && e.scrollHeight > e.clientHeight + 1 && ["auto", "scroll"].includes(getComputedStyle(e).overflowY)).map((e) => e.localName).join(" ")`

// iconsByKeyboard walks through the icons by the arrow keys: the chosen one is always in sight, and the dialog alone scrolls.
func (b *tab) iconsByKeyboard() {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(1280, 480))
	b.click("=New project")
	b.see("dialog [name=name]:focus")
	if got, _ := ask[string](b, scrollers); got != "dialog" {
		b.t.Errorf("in the dialog scroll %q", got)
	}
	b.click("dialog label[data-name=none]")
	b.until("the first icon", "document.activeElement === document.querySelector('dialog .icons [type=radio]')")
	b.until("the first icon in sight", inSight)
	// Round the corner is the last one, far below; from there one comes back.
	b.keys(kb.ArrowUp)
	b.until("the last icon", "document.activeElement === [...document.querySelectorAll('dialog .icons [type=radio]')].at(-1)")
	b.until("the last icon in sight", inSight)
	for range 30 {
		b.keys(kb.ArrowUp)
	}
	b.until("the icon thirty before", "document.activeElement === [...document.querySelectorAll('dialog .icons [type=radio]')].at(-31) && document.activeElement.checked")
	b.until("that one in sight", inSight)
	for range 25 {
		b.keys(kb.ArrowDown)
	}
	b.until("the icon in sight on the way down", inSight)
	b.save("icons-by-keyboard")
	b.keys(kb.Escape)
	b.gone("dialog[open]")
	b.desk()
}

// workspaceAddress is the address of the workspace that the page is in.
const workspaceAddress = "document.querySelector('.tabs a').href.replace(/\\/projects$/, '')"

// longNames looks at the pages of a workspace whose names are longer than any place for them: each is read whole where the
// pointer rests, and no page is wider than its window. It returns the document's id.
func (b *tab) longNames(s *service) string {
	b.t.Helper()
	long := func(noun string) string { return noun + strings.Repeat(" with a very long name", 8) }
	folder := s.created("/api/v1/folders", map[string]any{"name": long("Folder"), "entity_type": "project"}, "id")
	project := s.created("/api/v1/projects", map[string]any{"name": long("Project"), "description": long("Description"), "folder_id": folder}, "id")
	document := s.created("/api/v1/documents", map[string]any{"title": long("Document"), "description": long("Description"), "project_id": project, "content": "# Text"}, "id")
	branding := s.created("/api/v1/brandings", map[string]any{"name": long("Branding"), "color_primary": "#7c3aed"}, "id")
	s.created("/api/webhooks/subscriptions", map[string]any{"name": long("Webhook")[:95], "url": "https://example.com/" + strings.Repeat("very/long/", 12), "events": []string{"project.created"}}, "")
	s.call(s.Key, http.MethodPost, "/api/v1/shares", map[string]any{"resource_type": "document", "resource_id": document}, http.StatusCreated)
	at, _ := ask[string](b, workspaceAddress)
	for _, path := range []string{"/projects", "/folders/" + folder, "/projects/" + project, "/documents/" + document, "/documents/" + document + "/edit",
		"/documents/" + document + "/versions", "/documents/" + document + "/share", "/brandings", "/brandings/" + branding, "/webhooks", "/activity", "/search?q=with", "/settings"} {
		b.open(at + path)
		b.until("the page "+path, "document.readyState === 'complete' && document.querySelector('h1')")
		b.tidy(path + " with long names")
		b.save("long" + strings.ReplaceAll(strings.Split(path, "?")[0], "/", "-"))
		b.saveOnPhone("long" + strings.ReplaceAll(strings.Split(path, "?")[0], "/", "-"))
	}
	b.open(at + "/projects")
	b.jumpFinds("document very", long("Document"))
	b.tidy("the jump with long names")
	b.keys(kb.Escape)
	return document
}

// stays are what keeps its place in the window while the page scrolls.
const stays = `(() => {
	const e = document.documentElement; e.scrollTop = e.scrollHeight / 2;
	return [...document.querySelectorAll("body *")].filter((e) => ["sticky", "fixed"].includes(getComputedStyle(e).position) && e.checkVisibility() && !e.matches(".skip, .said"))
		.map((e) => e.className || e.localName).join(" ") })()`

// zoomed looks at pages in a window of 1280 by 800 pixels at 400 %: nothing keeps its place while they scroll, and they scroll one way.
func (b *tab) zoomed(document string) {
	b.t.Helper()
	at, _ := ask[string](b, workspaceAddress)
	b.do(chromedp.EmulateViewport(320, 200))
	for _, path := range []string{"/projects", document, document + "/edit", "/brandings/new", "/webhooks", "/activity", "/keys"} {
		b.open(at + path)
		b.until("the page "+path, "document.readyState === 'complete' && document.querySelector('h1')")
		if got, _ := ask[string](b, stays); got != "" {
			b.t.Errorf("%s at 400 %%: %s keeps its place", path, got)
		}
		if wide, _ := ask[int](b, "document.documentElement.scrollWidth"); wide > 320 {
			b.t.Errorf("%s at 400 %% is %d wide", path, wide)
		}
	}
	b.open(at + "/projects")
	b.click("=New project")
	b.see("dialog [name=name]:focus")
	if got, _ := ask[string](b, stays); got != "dialog" {
		b.t.Errorf("in the dialog at 400 %%: %s keeps its place", got)
	}
	b.save("zoomed")
	b.desk()
}
