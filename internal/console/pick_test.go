package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// more creates more projects than a choice lists, all before "Project" by name.
func (w *town) more(n int) {
	w.Helper()
	for i := range n {
		_, err := w.a.CreateProject(w.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some(fmt.Sprintf("A %04d", i))})
		w.must(err)
	}
}

// With more projects than a choice lists, editing a document does not move it. The other projects
// are found by the script, and by the form without a script.
func TestPick_ThePresentProjectIsAlwaysThere(t *testing.T) {
	w := newTown(t)
	w.more(maxOptions + 1)
	edit := w.ask(http.MethodGet, w.address(documentPath+"/edit"), w.owner).Body.String()
	here := `value="` + w.ids["projects"] + `" selected>Project</option>`
	w.wantIn(edit, true, here, "Find a project", `<option value="">None</option>`)
	form := hidden(edit)
	for _, pair := range [][2]string{{"title", "Renamed"}, {"description", ""}, {"content", ""}, {"project", w.ids["projects"]}} {
		form.Set(pair[0], pair[1])
	}
	form.Set("find", "project")
	form.Set("find-project", "a 0007")
	found := w.sendAs(w.owner, documentPath, form)
	w.wantIn(found.Body.String(), true, here, ">A 0007<", `value="Renamed"`)
	w.wantIn(found.Body.String(), false, ">A 0008<")
	if found.Code != http.StatusOK || w.text().Title != "Document" {
		t.Errorf("finding a project saved the form: %d", found.Code)
	}
	options := w.ask(http.MethodGet, w.address("/w/{workspace}/projects/choose")+"?q=0009&now="+w.ids["projects"], w.owner).Body.String()
	w.wantIn(options, true, here, ">A 0009<")
	w.wantIn(options, false, "<html", ">A 0008<")
	form.Del("find")
	if got := w.sendAs(w.owner, documentPath, form); got.Code != http.StatusSeeOther || w.text().ProjectID == nil || w.text().Title != "Renamed" {
		t.Errorf("saving: %d %+v", got.Code, w.text())
	}
}

// A folder is found by its name, and shown with the folders above it. The moved folder and those in
// it are not offered, and the current one always is.
func TestPick_FoldersAreFoundWithTheirPath(t *testing.T) {
	w := newTown(t)
	make := func(name string, in sheaf.FolderID) sheaf.FolderID {
		t.Helper()
		f, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some(name), EntityType: sheaf.Some("project"), ParentID: sheaf.Some(in)})
		w.must(err)
		return f.ID
	}
	inner := make("Inner", sheaf.FolderID(w.ids["folders"]))
	innermost := make("Inner too", inner)
	choose := func(without, now sheaf.FolderID) string {
		t.Helper()
		q := url.Values{"q": {"inner"}, "without": {string(without)}, "now": {string(now)}}
		return w.ask(http.MethodGet, w.address("/w/{workspace}/folders/choose")+"?"+q.Encode(), w.owner).Body.String()
	}
	w.wantIn(choose("", ""), true, ">Folder / Inner<", ">Folder / Inner / Inner too<", `<option value="" selected>The top level</option>`)
	w.wantIn(choose(inner, sheaf.FolderID(w.ids["folders"])), false, "Inner<", "Inner too<")
	w.wantIn(choose(inner, sheaf.FolderID(w.ids["folders"])), true, ` selected>Folder</option>`)
	w.wantIn(choose("", innermost), true, `value="`+string(innermost)+`" selected>`)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/projects/{id}/move?q=inner"), w.owner).Body.String()
	w.wantIn(page, true, ">Folder / Inner<", `value="inner"`, ` selected>Folder</option>`)
	if strings.Count(page, " selected>") != 1 {
		t.Errorf("it has %d present places: %s", strings.Count(page, " selected>"), page)
	}
}
