package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

const (
	movePath   = "/w/{workspace}/selection/move"
	deletePath = "/w/{workspace}/selection/delete"
	sharePath  = "/w/{workspace}/selection/share"
	undoPath   = "/w/{workspace}/selection/undo"
	orderPath  = "/w/{workspace}/selection/order"
)

// newProject creates a project at the root level.
func (w *town) newProject(name string) sheaf.ProjectID {
	w.Helper()
	p, err := w.a.CreateProject(w.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some(name)})
	w.must(err)
	return p.ID
}

// in returns the folder of a project.
func (w *town) in(id sheaf.ProjectID) sheaf.FolderID {
	w.Helper()
	p, err := w.a.Project(w.Context(), w.caller, id)
	w.must(err)
	return placeOf(p.FolderID)
}

// done sends a form, which must succeed, and returns the form that undoes it.
func (w *town) done(path string, form url.Values, says string) (undo url.Values) {
	w.Helper()
	got := w.sendAs(w.owner, path, form)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, got.Code, got.Body)
	}
	w.wantIn(got.Body.String(), true, says)
	undo = url.Values{}
	for _, part := range strings.Split(got.Body.String(), `name="undo" value="`)[1:] {
		line, _, _ := strings.Cut(part, `"`)
		undo.Add("undo", line)
	}
	return undo
}

// Several records are moved at once or not at all, and moved back by one button.
func TestSelection_MovesAllOrNoneAndBack(t *testing.T) {
	w := newTown(t)
	a, b, folder := w.newProject("A"), w.newProject("B"), sheaf.FolderID(w.ids["folders"])
	other := w.newFolder("Other", "")
	items := []string{"project:" + string(a), "project:" + string(b), "folder:" + string(other), "project:" + string(a)}
	page := w.get("selection/move?" + url.Values{"item": items}.Encode())
	w.wantIn(page, true, "Move 1 folder and 2 projects", `name="item" value="project:`+string(a)+`:1"`, ">Folder</option>")
	undo := w.done(movePath, url.Values{"item": items, "to": {string(folder)}}, "Moved 1 folder and 2 projects to Folder.")
	if w.in(a) != folder || w.in(b) != folder || len(undo["undo"]) != 3 {
		t.Errorf("they are in %s and %s, and %d can be undone", w.in(a), w.in(b), len(undo["undo"]))
	}
	w.done(undoPath, undo, "Undone.")
	if w.in(a) != "" || w.in(b) != "" {
		t.Error("they were not moved back")
	}
	// If another person changed one record since the form was made, or since the move, nothing is
	// moved.
	stale := url.Values{"item": {"project:" + string(a) + ":1", "project:" + string(b) + ":1"}, "to": {string(folder)}}
	if got := w.sendAs(w.owner, movePath, stale); got.Code != http.StatusPreconditionFailed || !strings.Contains(got.Body.String(), "“A” was changed meanwhile") || w.in(b) != "" {
		t.Errorf("%d, and B is in %q", got.Code, w.in(b))
	}
	undo = w.done(movePath, url.Values{"item": items[:2], "to": {string(folder)}}, "Moved 2 projects to Folder.")
	_, err := w.a.UpdateProject(t.Context(), w.caller, b, sheaf.ProjectChange{Name: sheaf.Some("Changed")}, sheaf.Match{})
	w.must(err)
	if got := w.sendAs(w.owner, undoPath, undo); got.Code != http.StatusPreconditionFailed || w.in(a) != folder {
		t.Errorf("the undo: %d, and A is in %q", got.Code, w.in(a))
	}
	// A folder cannot be moved into itself: nothing is moved.
	if got := w.sendAs(w.owner, movePath, url.Values{"item": {"project:" + string(a), "folder:" + string(other)}, "to": {string(other)}}); got.Code < 400 || w.in(a) != folder {
		t.Errorf("into itself: %d, and A is in %q", got.Code, w.in(a))
	}
	for _, bad := range []string{"project:x", "webhook:" + w.ids["webhooks"], "project:" + w.ids["folders"]} {
		if got := w.sendAs(w.owner, movePath, url.Values{"item": {bad}}); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", bad, got.Code)
		}
	}
	if got := w.sendAs(w.owner, undoPath, url.Values{"undo": {"burn:project:" + string(a)}}); got.Code != http.StatusBadRequest {
		t.Errorf("another act: %d", got.Code)
	}
}

// One button restores deleted documents. Before a permanent deletion the page warns of it.
func TestSelection_DeletesAndRestores(t *testing.T) {
	w := newTown(t)
	items := []string{"document:" + w.ids["documents"]}
	d, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Second")})
	w.must(err)
	items = append(items, "document:"+string(d.ID))
	w.wantIn(w.get("selection/delete?"+url.Values{"item": items}.Encode()), true, "Delete 2 documents?", "They wait in the trash")
	undo := w.done(deletePath, url.Values{"item": items}, "2 documents deleted.")
	if _, err := w.a.Document(t.Context(), w.caller, d.ID); sheaf.KindOf(err) != sheaf.NotFound {
		t.Errorf("it is still there: %v", err)
	}
	w.done(undoPath, undo, "Undone.")
	_, err = w.a.Document(t.Context(), w.caller, d.ID)
	w.must(err)
	moved := w.done(movePath, url.Values{"item": items, "to": {w.ids["projects"]}}, "Moved 2 documents to Project.")
	if len(moved["undo"]) != 2 {
		t.Errorf("%v", moved)
	}
	a := w.newProject("A")
	w.wantIn(w.get("selection/delete?item=project:"+string(a)+"&item=folder:"+w.ids["folders"]), true, "permanently deleted")
	if undo := w.done(deletePath, url.Values{"item": {"project:" + string(a)}}, "A deleted."); len(undo["undo"]) != 0 {
		t.Errorf("a deleted project can be undone: %v", undo)
	}
	w.wantIn(w.get("selection/move"), true, "Nothing is selected")
	w.wantIn(w.get("selection/delete"), true, "Nothing is selected")
}

// Several records are shared at once, each by its own link, and one button deletes all links. A
// folder cannot be shared, and if one record cannot be shared, none is.
func TestSelection_Shares(t *testing.T) {
	w := newTown(t)
	shares := func() int {
		t.Helper()
		page, err := w.a.Shares(t.Context(), w.caller, sheaf.ShareFilter{Paging: sheaf.Paging{Limit: 100}})
		w.must(err)
		return len(page.Items)
	}
	before := shares()
	items := []string{"project:" + string(w.newProject("A")), "document:" + w.ids["documents"]}
	w.wantIn(w.get("selection/share?"+url.Values{"item": items}.Encode()), true, "Share 1 project and 1 document", "Expires")
	undo := w.done(sharePath, url.Values{"item": items, "expires": {"7"}}, "2 links created")
	if shares() != before+2 || len(undo["undo"]) != 2 {
		t.Errorf("%d shares, and %d can be deleted", shares()-before, len(undo["undo"]))
	}
	w.done(undoPath, undo, "Undone.")
	if shares() != before {
		t.Errorf("%d shares are left", shares()-before)
	}
	w.done(sharePath, url.Values{"item": append(items, "folder:"+w.ids["folders"])}, "3 links created")
	if shares() != before+3 {
		t.Errorf("with a folder: %d shares", shares()-before)
	}
	looks, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some("Looks"), EntityType: sheaf.Some("branding")})
	w.must(err)
	if got := w.sendAs(w.owner, sharePath, url.Values{"item": append(items, "folder:"+string(looks.ID))}); got.Code != http.StatusBadRequest || shares() != before+3 {
		t.Errorf("with a folder of brandings: %d, and %d shares", got.Code, shares()-before)
	}
	w.wantIn(w.get("selection/share"), true, "Nothing is selected")
}

// A project or folder is put before another one by sort_order, also into another folder, and back.
func TestSelection_Arranges(t *testing.T) {
	w := newTown(t)
	var ids []sheaf.ProjectID
	for i := range 4 {
		ids = append(ids, w.newProject(fmt.Sprint(i)))
	}
	order := func(folder string) (names string) {
		t.Helper()
		f := sheaf.ProjectFilter{Folder: sheaf.Nil[sheaf.FolderID](), Paging: sheaf.Paging{Limit: 100}}
		if folder != "" {
			f.Folder = sheaf.Some(sheaf.FolderID(folder))
		}
		page, err := w.a.Projects(t.Context(), w.caller, f)
		w.must(err)
		for _, p := range page.Items {
			names += p.Name
		}
		return names
	}
	put := func(n int, before string, folder string) url.Values {
		t.Helper()
		return w.done(orderPath, url.Values{"item": {"project:" + string(ids[n])}, "before": {before}, "in": {folder}}, "Moved ")
	}
	undo := put(3, string(ids[1]), "")
	if got := order(""); got != "0312" {
		t.Errorf("got %s", got)
	}
	put(0, "", "")
	if got := order(""); got != "3120" {
		t.Errorf("got %s", got)
	}
	put(2, string(ids[3]), "")
	put(0, string(ids[3]), "")
	put(1, string(ids[3]), "")
	if got := order(""); got != "2013" {
		t.Errorf("got %s", got)
	}
	if got := w.sendAs(w.owner, undoPath, undo); got.Code != http.StatusPreconditionFailed {
		t.Errorf("an undo after other changes: %d", got.Code)
	}
	back := put(2, w.ids["projects"], w.ids["folders"])
	if got := order(w.ids["folders"]); got != "2Project" || order("") != "013" {
		t.Errorf("got %s and %s", got, order(""))
	}
	w.done(undoPath, back, "Undone.")
	if got := order(""); got != "2013" {
		t.Errorf("got %s", got)
	}
	a, b := w.newFolder("A", ""), w.newFolder("B", "")
	w.done(orderPath, url.Values{"item": {"folder:" + string(b)}, "before": {string(a)}}, "Moved B.")
	page := w.get("projects?q=nothing")
	if strings.Index(page, row(b)) > strings.Index(page, row(a)) {
		t.Error("B is not before A")
	}
	w.done(orderPath, url.Values{"item": {"folder:" + string(b)}, "in": {string(a)}}, "Moved B.")
	f, err := w.a.Folder(t.Context(), w.caller, b)
	w.must(err)
	if placeOf(f.ParentID) != a {
		t.Errorf("B is in %q", placeOf(f.ParentID))
	}
}
