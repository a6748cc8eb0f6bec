package browser

import (
	"strings"
	"testing"
)

// D183 to D185: a person makes releases of a project, reads and compares them, shares one, and deletes the
// other; by day, by night and on a phone. Readers of the link see the release and switch to another one.
func TestReleases_CreateCompareShareDelete(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	made := func(noun string, body map[string]any) string { return s.created("/api/v1/"+noun, body, "id") }
	project := made("projects", map[string]any{"name": "Manual", "icon": "book-open"})
	install := made("documents", map[string]any{"title": "Install", "project_id": project, "content": "Take the package.\n\nPress the red button.\n"})
	made("documents", map[string]any{"title": "On Debian", "project_id": project, "parent_id": install, "content": "Back to [the start](document:" + install + ").\n"})
	old := made("documents", map[string]any{"title": "Known problems", "project_id": project, "content": "There are some.\n"})
	at, _ := ask[string](b, "document.querySelector('.tabs a').href")
	at = strings.TrimSuffix(at, "/projects")

	b.open(at + "/projects/" + project)
	b.arrive("Manual")
	b.click("=Releases")
	b.arrive("Releases")
	b.read("No releases yet")
	b.picture("releases-empty")
	b.create("1.0", "The first one.\nIt has everything.")
	b.read("3 documents, kept")
	b.shot("release")
	b.click("=On Debian")
	b.arrive("On Debian")
	b.shot("release-document")
	b.clickAway(".prose a[href$='" + install + "']") // it leads into the release
	b.arrive("Install")
	b.see(".badge.accent")

	// The project changes, and gets a second release. A name that is taken is told at the field.
	s.call(s.Key, "PATCH", "/api/v1/documents/"+install, map[string]string{"content": "Take the package.\n\nPress the green button.\n"}, 200)
	s.call(s.Key, "DELETE", "/api/v1/documents/"+old, nil, 204)
	made("documents", map[string]any{"title": "Upgrade", "project_id": project, "content": "Wait.\n"})
	b.open(at + "/projects/" + project + "/releases")
	b.arrive("Releases")
	b.click("=Create release")
	b.fill("dialog [name=name]", "1.0")
	b.click("dialog .primary")
	b.atField("dialog [name=name]", "The project has a release of that name: choose another one.")
	b.shot("release-form")
	b.fill("dialog [name=name]", "2.0")
	b.click("dialog .primary")
	b.arrive("Release 2.0")
	b.click("=Edit notes")
	b.fill("dialog [name=notes]", "The green button.")
	b.click("=Save")
	b.arrive("Release 2.0")
	b.read("The green button.")
	b.click(".crumbs a[href$='/releases']")
	b.arrive("Releases")
	b.shot("releases")

	b.click("=Changes since 1.0")
	b.arrive("Compare releases")
	b.option("[name=b]", "2.0")
	b.click("=Compare")
	b.until("what differs", "location.search.includes('b=') && [...document.querySelectorAll('main h2')].map((e) => e.innerText.replace(/\\s+/g, ' ')).join() === 'Added 1,Removed 1,Changed 1'")
	b.read("Known problems")
	b.shot("release-compare")
	b.click("main section a[href*='/compare?to=']")
	b.arrive("Changes of Install")
	b.marked("green")
	b.shot("release-document-compare")

	// The link shows the first release. Its readers may switch, and never see the present documents.
	b.open(at + "/projects/" + project)
	b.arrive("Manual")
	b.click("=Share")
	b.see("dialog [name=release]")
	b.option("dialog [name=release]", "release 1.0")
	b.click("dialog [name=show_releases]")
	b.accessible("the dialog with releases")
	b.picture("share-release")
	b.click("=Create link")
	b.see("dialog .shares .secret code")
	b.read("shows release 1.0")
	b.read("readers can switch between releases")
	b.picture("share-release-made")
	link, _ := ask[string](b, `document.querySelector("dialog .shares code").textContent`)
	reader := newTab(t, s)
	reader.open(link + "/" + install)
	reader.read("Press the red button.")
	reader.until("no present document", "!document.body.innerText.includes('Upgrade')")

	// A release that a link names stays. Another one is deleted.
	b.open(at + "/projects/" + project + "/releases")
	b.arrive("Releases")
	b.click("=1.0")
	b.arrive("Release 1.0")
	b.click("=Delete")
	b.see("dialog[open] .notice")
	b.read("A link shows this release.")
	b.gone("dialog button.danger")
	b.picture("release-delete-refused")
	b.click("=Cancel")
	b.open(at + "/projects/" + project + "/releases")
	b.arrive("Releases")
	b.click("=2.0")
	b.arrive("Release 2.0")
	b.peek("=Delete", "release-delete")
	b.click("=Delete")
	b.click("=Delete release")
	b.arrive("Releases")
	b.gone("=2.0")

	// The document that only the first release has is deleted for good, and the release loses it.
	b.open(at + "/trash")
	b.arrive("Trash")
	b.click("=Delete permanently: Known problems")
	b.see("dialog [name=releases]")
	b.accessible("the dialog with the tick")
	b.picture("trash-delete-released")
	b.click("dialog [name=releases]")
	b.click("dialog .primary")
	b.arrive("Trash")
	b.read("The trash is empty")
	reader.open(link)
	reader.read("Install")
	reader.until("a document less", "!document.body.innerText.includes('Known problems')")
}

// create makes a release with the form, in its dialog.
func (b *tab) create(name, notes string) {
	b.t.Helper()
	b.click("=Create release")
	b.fill("dialog [name=name]", name)
	b.fill("dialog [name=notes]", notes)
	b.click("dialog .primary")
	b.arrive("Release " + name)
}

// option chooses the option of a list that reads so.
func (b *tab) option(selector, text string) {
	b.t.Helper()
	b.see(selector)
	chosen, ok := ask[bool](b, "(() => { const s = document.querySelector("+quote(selector)+"), o = [...s.options].find((o) => o.text.trim() === "+quote(text)+"); if (o) s.value = o.value; return !!o })()")
	if !ok || !chosen {
		b.t.Fatalf("%s has no option %q", selector, text)
	}
}

// On a phone a person makes a release without scripts, and compares it.
func TestReleases_OnAPhoneWithoutScripts(t *testing.T) {
	t.Parallel()
	s := startService(t)
	b := setUp(t, s)
	project := s.created("/api/v1/projects", map[string]any{"name": "Manual"}, "id")
	document := s.created("/api/v1/documents", map[string]any{"title": "Install", "project_id": project, "content": "Red.\n"}, "id")
	at, _ := ask[string](b, "document.querySelector('.tabs a').href")
	at = strings.TrimSuffix(at, "/projects")
	b.withoutScripts()
	b.phone()
	heading := func(text string) {
		t.Helper()
		b.await("document.querySelector('h1')?.innerText === " + quote(text))
	}
	b.open(at + "/projects/" + project)
	heading("Manual")
	b.click("=Releases")
	heading("Releases")
	b.click("=Create release")
	heading("Create release")
	b.fill("[name=name]", "1.0")
	b.click("form.stack .primary")
	heading("Release 1.0")
	s.call(s.Key, "PATCH", "/api/v1/documents/"+document, map[string]string{"content": "Green.\n"}, 200)
	b.click("=Compare")
	heading("Compare releases")
	b.fits("the comparison", phoneWidth)
	b.click("=Install")
	heading("Changes of Install")
	b.await("document.querySelector('.diff ins')?.innerText.includes('Green.')")
	b.fits("the differences", phoneWidth)
}
