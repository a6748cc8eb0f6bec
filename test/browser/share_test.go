package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// D110, D111: a link is made in the dialog, and what it leads to is read: by day and by night, on a
// phone and on paper, without anything that axe-core holds against it.
func TestShare_IsMadeAndRead(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	project := b.post("projects", map[string]string{"name": "Handbook", "description": "How we work."})
	b.post("documents", map[string]string{"title": "Before it", "content": "Some words.", "project_id": project})
	document := b.writeDocument("Deploying", sample+"\n## And then\n\nMore.\n\n## In the end\n\nEnough.\n")
	b.click("=Share")
	b.see("dialog [name=listed]")
	b.shot("share")
	b.fill("dialog [name=password]", "open sesame")
	b.click("=Create link")
	b.see("dialog .shares .secret code")
	b.picture("share-made")
	b.accessible("the dialog with a link")
	link, _ := ask[string](b, `document.querySelector("dialog .shares code").textContent`)

	b.open(link)
	b.see("[name=password]")
	b.readable("share-locked")
	b.fill("[name=password]", "open sesame")
	b.clickAway("=Open")
	b.see(".prose table")
	b.readable("share-document")
	b.printed("share-document")
	if scripts, _ := ask[float64](b, "document.scripts.length"); scripts != 0 {
		t.Errorf("the page has %v scripts", scripts)
	}
	row := "|" + strings.Repeat(" Donaudampfschifffahrtsgesellschaft |", 14) + "\n"
	wide := s.created("/api/v1/documents", map[string]any{"title": "Wide", "content": row + "|" + strings.Repeat("---|", 14) + "\n" + row}, "id")
	b.open(s.created("/api/v1/shares", map[string]any{"resource_type": "document", "resource_id": wide}, "url"))
	b.see(".prose table")
	b.printed("share-wide")

	b.open(document)
	b.arrive("Deploying")
	b.open(s.URL + "/s/nothing")
	b.readable("share-nothing")
}

// D164: a reader finds the way through the tree of a shared project: a branch is opened, a page of it
// is read, and on a narrow screen a button opens the tree.
func TestShare_TreeOfAProject(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	project := s.created("/api/v1/projects", map[string]any{"name": "Handbook"}, "id")
	in := func(title string, parent any) string {
		return s.created("/api/v1/documents", map[string]any{"title": title, "project_id": project, "parent_id": parent, "content": sample + "\n## And then\n\nMore.\n\n## In the end\n\nEnough.\n"}, "id")
	}
	guide := in("Guide", nil)
	install := in("Install", guide)
	in("On Debian", install)
	in("Upgrade", guide)
	appendix := in("Appendix", nil)
	link := s.created("/api/v1/shares", map[string]any{"resource_type": "project", "resource_id": project}, "url")
	b.open(link)
	b.see(".contents .level3")
	b.readable("share-contents")
	b.open(link + "/" + appendix)
	b.see(".tree [aria-current=page]")
	b.click(".tree summary")
	b.click(".tree details[open] details summary")
	b.clickAway("=On Debian")
	b.see(".path")
	b.readable("share-tree")
	b.printed("share-tree")
	if _, err := command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}); err != nil {
		t.Fatal(err)
	}
	if seen, ok := ask[string](b, `[...document.querySelectorAll(".tree, .path, .bar, .neighbours")].filter((e) => e.checkVisibility()).map((e) => e.className).join()`); !ok || seen != "" {
		t.Errorf("on paper there is %s", seen)
	}
	b.prefer("light")
	b.phone()
	b.until("the tree is folded away", `!document.querySelector(".tree").checkVisibility()`)
	b.click("=Pages")
	b.until("the tree is open", `document.querySelector(".tree").checkVisibility()`)
	b.accessible("the tree on a phone")
	b.save("share-tree-phone-open")
	b.clickAway(".tree a[href$='" + guide + "']")
	b.until("another page", `document.querySelector("h1").textContent === "Guide"`)
	if scripts, _ := ask[float64](b, "document.scripts.length"); scripts != 0 {
		t.Errorf("the page has %v scripts", scripts)
	}
}

// D185a: a folder is shared by a button, and what the link leads to is read as a site: folders, projects
// and documents as navigation, previous and next through all of them, and links from one project to
// another; by day and by night and on a phone.
func TestShare_OfAFolderIsASite(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	made := func(noun string, body map[string]any) string { return s.created("/api/v1/"+noun, body, "id") }
	site := made("folders", map[string]any{"name": "Handbooks", "entity_type": "project"})
	below := made("folders", map[string]any{"name": "For operators", "entity_type": "project", "parent_id": site})
	running := made("projects", map[string]any{"name": "Running it", "folder_id": below, "description": "From the first start to the last backup."})
	writing := made("projects", map[string]any{"name": "Writing", "folder_id": site, "description": "How documents are written."})
	install := made("documents", map[string]any{"title": "Install", "project_id": running, "content": sample + "\n## And then\n\nMore.\n\n## In the end\n\nEnough.\n"})
	debian := made("documents", map[string]any{"title": "On Debian", "project_id": running, "parent_id": install, "content": "Take the package."})
	first := made("documents", map[string]any{"title": "First steps", "project_id": writing, "content": "[Install it](document:" + install + ") first."})
	b.open(s.URL + "/")
	b.clickAway("#tree .row[data-name=Handbooks] a")
	b.arrive("Handbooks")
	b.click("=Share")
	b.see("dialog [name=listed]")
	b.click("=Create link")
	b.see("dialog .shares .secret code")
	b.accessible("the dialog with the link of a folder")
	b.picture("share-folder-made")
	link, _ := ask[string](b, `document.querySelector("dialog .shares code").textContent`)

	b.open(link)
	b.see(".contents")
	b.readable("share-folder")
	b.clickAway(".contents a[href$='" + below + "']")
	b.until("the folder below", `document.querySelector("h1").textContent === "For operators"`)
	b.readable("share-folder-below")
	b.clickAway(".contents a[href$='" + running + "']")
	b.until("the project", `document.querySelector("h1").textContent === "Running it"`)
	b.readable("share-folder-project")
	b.click(".neighbours .next")
	b.see(".prose table")
	b.readable("share-folder-document")
	b.printed("share-folder-document")
	b.open(link + "/" + debian)
	b.click(".neighbours .next")
	b.until("the next project", `document.querySelector("h1").textContent === "First steps"`)
	b.clickAway(".prose a[href$='" + install + "']")
	b.see(".path")
	b.open(link + "/search?q=install")
	b.see(".hits i")
	b.readable("share-folder-search")
	b.open(link + "/" + first)
	b.phone()
	b.until("the navigation is folded away", `!document.querySelector(".tree").checkVisibility()`)
	b.click("=Pages")
	b.until("the navigation is open", `document.querySelector(".tree").checkVisibility()`)
	b.accessible("the navigation of a folder on a phone")
	b.save("share-folder-phone-open")
	if scripts, _ := ask[float64](b, "document.scripts.length"); scripts != 0 {
		t.Errorf("the page has %v scripts", scripts)
	}
}

// readable takes pictures of a page for readers, in light, in dark and on a phone. It must be accessible
// in all of them.
func (b *tab) readable(name string) {
	b.t.Helper()
	b.accessible(name)
	b.save(name + "-light")
	b.prefer("dark")
	b.accessible(name+" in the dark", "color-contrast")
	b.save(name + "-dark")
	b.prefer("light")
	b.saveOnPhone(name)
}

// printed writes the page as it is on paper.
func (b *tab) printed(name string) {
	b.t.Helper()
	paper, err := command(b, page.PrintToPDF, page.PrintToPDFParams{})
	if err == nil && len(paper.Data) < 1000 {
		b.t.Errorf("%s on paper has %d bytes", name, len(paper.Data))
	}
	if err == nil && *pictures {
		err = os.WriteFile(filepath.Join("out", name+".pdf"), paper.Data, 0o644)
	}
	if err == nil {
		_, err = command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	}
	if err != nil {
		b.t.Errorf("%s on paper: %v", name, err)
	}
	// Nobody scrolls there: what does not fit is lost.
	if cut, ok := ask[string](b, `[...document.querySelectorAll(".prose :is(.table, pre)")].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent).join()`); !ok || cut != "" {
		b.t.Errorf("%s on paper is cut: %s", name, cut)
	}
	b.prefer("light")
}
