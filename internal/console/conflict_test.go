package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// fieldsOf returns the form of a page with its hidden fields, and with these values typed into it.
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

// If another person changes the project while its form is open, both values of each field are
// shown. The saved value of an untouched field is preselected, and the chosen values are saved.
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
	w.wantIn(page, true, "While you were editing, Ada changed this.", ">Theirs<", ">Their words<",
		`name="keep-name" value="mine" checked`, `name="keep-description" value="saved" checked`, `name="keep-icon" value="mine" checked`)
	w.wantIn(page, false, `name="keep-color"`)
	// The form is sent back with the preselected choices, except for the icon.
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

// A change of other fields of the record is no conflict. A form without a revision is refused.
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
	w.wantIn(got.Body.String(), true, "someone changed this", ">folder.created<", ">document.created, project.created<")
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

// Title, description and project of a document are chosen too; of the text a diff is shown.
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

// A move is refused if another person moved the record meanwhile. Any other change does not matter.
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
	if got.Code != http.StatusPreconditionFailed || w.project().FolderID != nil || !strings.Contains(got.Body.String(), "Another person moved it") {
		t.Errorf("after a move: %d %s", got.Code, got.Body)
	}
}

// A form of one field is refused too if another person changed it meanwhile, and both values are
// shown.
func TestConflict_OfFormsWithOneField(t *testing.T) {
	w := newTown(t)
	ctx, bob := t.Context(), w.callerOf(w.member).User
	settings := w.fieldsOf("/w/{workspace}/settings", nil)
	role := w.fieldsOf("/w/{workspace}/members/"+string(bob)+"/role", url.Values{"role": {"owner"}})
	file := w.fieldsOf("/w/{workspace}/media/{id}/rename", url.Values{"filename": {"mine.png"}})
	branding := sheaf.BrandingID(w.ids["brandings"])
	w.must(w.a.RenameWorkspace(ctx, w.caller, "Theirs", sheaf.Opt[string]{}))
	w.must(w.a.SetDefaultBranding(ctx, w.caller, &branding, sheaf.Opt[sheaf.BrandingID]{}))
	w.must(w.a.SetRole(ctx, w.caller, bob, sheaf.Admin, sheaf.Opt[sheaf.Role]{}))
	_, err := w.a.ChangeMedium(ctx, w.caller, sheaf.MediumID(w.ids["media"]), sheaf.MediumChange{Filename: sheaf.Some("theirs.png")}, sheaf.Match{})
	w.must(err)
	w.must(w.a.ChangePlan(ctx, w.caller, sheaf.Pro, sheaf.Opt[sheaf.Plan]{}))

	with := func(form url.Values, pairs ...string) url.Values {
		out := url.Values{}
		for name, values := range form {
			out[name] = values
		}
		for i := 0; i < len(pairs); i += 2 {
			out.Set(pairs[i], pairs[i+1])
		}
		return out
	}
	for path, c := range map[string]struct {
		form url.Values
		want []string
	}{
		"/w/{workspace}/settings/name":                    {with(settings, "name", "Mine"), []string{">Theirs<", ">Mine<", `name="keep-name" value="mine" checked`}},
		"/w/{workspace}/settings/plan":                    {with(settings, "plan", "free"), []string{">pro<", ">free<", `name="keep-plan" value="mine" checked`}},
		"/w/{workspace}/settings/branding":                {with(settings, "branding", ""), []string{">Branding<", ">None<", `name="keep-branding" value="saved" checked`}},
		"/w/{workspace}/members/" + string(bob) + "/role": {role, []string{">admin<", ">owner<", `name="keep-role" value="mine" checked`}},
		"/w/{workspace}/media/{id}/rename":                {file, []string{">theirs.png<", ">mine.png<"}},
	} {
		got := w.sendAs(w.owner, path, c.form)
		if got.Code != http.StatusPreconditionFailed {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
		w.wantIn(got.Body.String(), true, append(c.want, "changed this. Your changes are not saved yet")...)
	}
	// The choice is saved.
	again := w.sendAs(w.owner, "/w/{workspace}/settings/name", url.Values{"was-name": {"Theirs"}, "keep-name": {"mine"}, "name": {"Mine"}})
	if got := w.page("/settings"); again.Code != http.StatusSeeOther || !strings.Contains(got, `value="Mine"`) {
		t.Errorf("chosen: %d %s", again.Code, got)
	}
}

// A person's own name that was changed in another window is not overwritten without a question.
func TestConflict_OfAPersonsName(t *testing.T) {
	w := newTown(t)
	form, other := w.fieldsOf("/account", url.Values{"name": {"Ada in one window"}}), w.fieldsOf("/account", url.Values{"name": {"Ada in another"}})
	if got := w.sendAs(w.owner, "/account/name", other); got.Code != http.StatusSeeOther {
		t.Fatalf("the first: %d %s", got.Code, got.Body)
	}
	got := w.sendAs(w.owner, "/account/name", form)
	if got.Code != http.StatusPreconditionFailed {
		t.Fatalf("the second: %d %s", got.Code, got.Body)
	}
	w.wantIn(got.Body.String(), true, ">Ada in another<", ">Ada in one window<", `name="keep-name" value="mine" checked`)
	chosen := url.Values{"was-name": {"Ada in another"}, "keep-name": {"mine"}, "name": {"Ada in one window"}}
	if got := w.sendAs(w.owner, "/account/name", chosen); got.Code != http.StatusSeeOther {
		t.Errorf("chosen: %d", got.Code)
	}
}

// If two people change one link, the second sees both values and chooses. A changed password is no
// conflict.
func TestConflict_OfAShare(t *testing.T) {
	w := newTown(t)
	s := w.shares()[0]
	w.ids["shares"] = string(s.ID)
	form := w.fieldsOf("/w/{workspace}/"+string(s.ResourceType)+"s/"+s.ResourceID+"/share", url.Values{"expires": {"7"}, "branding": {""}})
	_, err := w.a.UpdateShare(t.Context(), w.caller, s.ID, sheaf.ShareChange{Password: sheaf.Some("open sesame")}, sheaf.Match{})
	w.must(err)
	if got := w.sendAs(w.owner, "/w/{workspace}/shares/{id}", form); got.Code != http.StatusSeeOther {
		t.Fatalf("after a password: %d %s", got.Code, got.Body)
	}
	form = w.fieldsOf("/w/{workspace}/"+string(s.ResourceType)+"s/"+s.ResourceID+"/share", url.Values{"expires": {"30"}, "branding": {""}})
	_, err = w.a.UpdateShare(t.Context(), w.caller, s.ID, sheaf.ShareChange{ExpiresAt: sheaf.Nil[time.Time](), Listed: sheaf.Some(true)}, sheaf.Match{})
	w.must(err)
	got := w.sendAs(w.owner, "/w/{workspace}/shares/{id}", form)
	page := got.Body.String()
	if got.Code != http.StatusPreconditionFailed {
		t.Fatalf("%d %s", got.Code, page)
	}
	w.wantIn(page, true, `name="keep-expires" value="mine" checked`, ">never<", `name="keep-listed" value="saved" checked`, "listed", "not listed")
	form.Set("keep-expires", "saved")
	form.Set("keep-listed", "saved")
	for name, values := range hidden(page) {
		form[name] = values
	}
	if got := w.sendAs(w.owner, "/w/{workspace}/shares/{id}", form); got.Code != http.StatusSeeOther {
		t.Fatalf("chosen: %d %s", got.Code, got.Body)
	}
	if now := w.shares()[0]; now.ExpiresAt != nil || !now.Listed {
		t.Errorf("it is now %+v", now)
	}
}
