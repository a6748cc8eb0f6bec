package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// fieldsOf is the form that a page shows, with its hidden fields and these typed into it.
func (w *town) fieldsOf(path string, typed url.Values) url.Values {
	w.Helper()
	got := w.ask(http.MethodGet, w.address(path), w.owner, byDialog)
	if got.Code != http.StatusOK {
		w.Fatalf("%s: %d", path, got.Code)
	}
	form := hidden(got.Body.String())
	for name, values := range typed {
		form[name] = values
	}
	return form
}

// project reads the project of the town.
func (w *town) project() sheaf.Project {
	w.Helper()
	d, err := w.a.Project(w.Context(), w.caller, sheaf.ProjectID(w.ids["projects"]))
	w.must(err)
	return d.Project
}

// Somebody else changes the project while its form is open: both values of each field are shown, what
// the person left alone begins with the saved one, and what is chosen is saved.
func TestConflict_OfAProjectIsChosenFieldByField(t *testing.T) {
	w := newTown(t)
	const path = "/w/{workspace}/projects/{id}"
	form := w.fieldsOf(path+"/edit", url.Values{"name": {"Mine"}, "description": {""}, "icon": {"rocket"}, "color": {""}})
	_, err := w.a.UpdateProject(t.Context(), w.caller, w.project().ID, sheaf.ProjectChange{Name: sheaf.Some("Theirs"), Description: sheaf.Some("Their words")}, sheaf.Match{})
	w.must(err)
	got := w.sendAs(w.owner, path, form)
	page := got.Body.String()
	if got.Code != http.StatusPreconditionFailed || w.project().Name != "Theirs" {
		t.Fatalf("%d, the name is %s", got.Code, w.project().Name)
	}
	w.wantIn(page, true, "While you were editing, ada@example.com changed this.", ">Theirs<", ">Their words<",
		`name="keep-name" value="mine" checked`, `name="keep-description" value="saved" checked`, `name="keep-icon" value="mine" checked`)
	w.wantIn(page, false, `name="keep-color"`)
	// The page's own fields go back, with the choices as they begin, but for the icon.
	again := hidden(page)
	for _, pair := range [][2]string{{"name", "Mine"}, {"description", ""}, {"icon", "rocket"}, {"color", ""}, {"keep-name", "mine"}, {"keep-description", "saved"}, {"keep-icon", "saved"}} {
		again.Set(pair[0], pair[1])
	}
	if got := w.sendAs(w.owner, path, again); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if p := w.project(); p.Name != "Mine" || text(p.Description) != "Their words" || p.Icon != nil {
		t.Errorf("it is now %+v", p)
	}
}

// What is changed elsewhere in the record is no conflict, and a form without a revision is refused.
func TestConflict_OnlyWhereTheFormsFieldsChanged(t *testing.T) {
	w := newTown(t)
	const path = "/w/{workspace}/projects/{id}"
	typed := url.Values{"name": {"Mine"}, "description": {""}, "icon": {""}, "color": {""}}
	form := w.fieldsOf(path+"/edit", typed)
	_, err := w.a.MoveProject(t.Context(), w.caller, w.project().ID, nil, sheaf.Match{})
	w.must(err)
	if got := w.sendAs(w.owner, path, form); got.Code != http.StatusSeeOther || w.project().Name != "Mine" {
		t.Errorf("after a move: %d %s", got.Code, got.Body)
	}
	typed.Set("name", "Blind")
	if got := w.sendAs(w.owner, path, typed); got.Code != http.StatusPreconditionFailed || w.project().Name != "Mine" {
		t.Errorf("without a revision: %d", got.Code)
	}
}

func TestConflict_OfAFolderAndAWebhook(t *testing.T) {
	w := newTown(t)
	folder := w.fieldsOf("/w/{workspace}/folders/{id}/edit", url.Values{"name": {"Mine"}, "color": {"#6b7280"}})
	_, err := w.a.UpdateFolder(t.Context(), w.caller, sheaf.FolderID(w.ids["folders"]), sheaf.FolderChange{Name: sheaf.Some("Theirs")}, sheaf.Match{})
	w.must(err)
	if got := w.sendAs(w.owner, "/w/{workspace}/folders/{id}", folder); got.Code != http.StatusPreconditionFailed || !strings.Contains(got.Body.String(), ">Theirs<") {
		t.Errorf("the folder: %d %s", got.Code, got.Body)
	}
	hook := w.fieldsOf("/w/{workspace}/webhooks/{id}/edit", url.Values{"name": {"Webhook"}, "url": {"https://example.com/"}, "event": {"document.created", "project.created"}})
	_, err = w.a.UpdateSubscription(t.Context(), w.caller, sheaf.SubscriptionID(w.ids["webhooks"]), sheaf.SubscriptionChange{Events: sheaf.Some([]string{"folder.created"})}, sheaf.Match{})
	w.must(err)
	got := w.sendAs(w.owner, "/w/{workspace}/webhooks/{id}", hook)
	w.wantIn(got.Body.String(), true, "somebody changed this", ">folder.created<", ">document.created, project.created<")
	again := hidden(got.Body.String())
	again.Set("name", "Renamed")
	again.Set("url", "https://example.com/")
	again.Set("event", "document.created")
	again.Set("keep-event", "saved")
	if got := w.sendAs(w.owner, "/w/{workspace}/webhooks/{id}", again); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	s, err := w.a.Subscription(t.Context(), w.caller, sheaf.SubscriptionID(w.ids["webhooks"]))
	w.must(err)
	if s.Name != "Renamed" || len(s.Events) != 1 || s.Events[0] != sheaf.FolderCreated || len(s.HeaderNames) != 1 {
		t.Errorf("it is %+v", s)
	}
}

// Title, description and project of a document are chosen as well; the text has its lines.
func TestConflict_OfADocumentIsChosenFieldByField(t *testing.T) {
	w := newTown(t)
	form := w.fieldsOf(documentPath+"/edit", url.Values{"title": {"Document"}, "description": {"mine"}, "project": {w.ids["projects"]}, "content": {"my text"}})
	_, err := w.a.UpdateDocument(t.Context(), w.caller, sheaf.DocumentID(w.ids["documents"]), sheaf.DocumentChange{Title: sheaf.Some("Theirs"), ProjectID: sheaf.Nil[sheaf.ProjectID]()}, sheaf.Match{})
	w.must(err)
	got := w.sendAs(w.owner, documentPath, form)
	if got.Code != http.StatusPreconditionFailed {
		t.Fatalf("%d", got.Code)
	}
	w.wantIn(got.Body.String(), true, ">Theirs<", `name="keep-title" value="saved" checked`, `name="keep-description" value="mine" checked`, `name="keep-project" value="saved" checked`)
	again := hidden(got.Body.String())
	for _, pair := range [][2]string{{"title", "Document"}, {"description", "mine"}, {"project", w.ids["projects"]}, {"content", "my text"},
		{"keep-title", "saved"}, {"keep-description", "mine"}, {"keep-project", "saved"}} {
		again.Set(pair[0], pair[1])
	}
	if got := w.sendAs(w.owner, documentPath, again); got.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	if d := w.text(); d.Title != "Theirs" || text(d.Description) != "mine" || d.ProjectID != nil || d.Content != "my text" {
		t.Errorf("it is %+v", d)
	}
}

// Who moves what somebody moved meanwhile is told; any other change is no matter.
func TestConflict_OfAMove(t *testing.T) {
	w := newTown(t)
	other, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some("Other"), EntityType: sheaf.Some("project")})
	w.must(err)
	const path = "/w/{workspace}/projects/{id}/move"
	form := w.fieldsOf(path, url.Values{"folder": {string(other.ID)}})
	_, err = w.a.UpdateProject(t.Context(), w.caller, w.project().ID, sheaf.ProjectChange{Name: sheaf.Some("Renamed")}, sheaf.Match{})
	w.must(err)
	if got := w.sendAs(w.owner, path, form); got.Code != http.StatusSeeOther || *w.project().FolderID != other.ID {
		t.Fatalf("after a change of its name: %d %s", got.Code, got.Body)
	}
	form = w.fieldsOf(path, url.Values{"folder": {w.ids["folders"]}})
	_, err = w.a.MoveProject(t.Context(), w.caller, w.project().ID, nil, sheaf.Match{})
	w.must(err)
	got := w.sendAs(w.owner, path, form)
	if got.Code != http.StatusPreconditionFailed || w.project().FolderID != nil || !strings.Contains(got.Body.String(), "Somebody moved it") {
		t.Errorf("after a move: %d %s", got.Code, got.Body)
	}
}
