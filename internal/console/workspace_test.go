package console

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The page says, in numbers, what would stop working on a smaller plan.
func TestSettings_APlanSaysWhatStops(t *testing.T) {
	w := newTown(t)
	_, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some("Brands"), EntityType: sheaf.Some("branding")})
	w.must(err)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/settings"), w.owner).Body.String()
	w.wantIn(page, true, "1 webhook gets nothing more", "1 project folder stays and can no longer be changed", "1 branding folder stays and can no longer be changed")
	w.wantIn(page, true, "keys are refused")
	if n := strings.Count(page, "With this plan"); n != 2 { // not on the current one
		t.Errorf("%d plans stop something", n)
	}
	for _, test := range []struct {
		to, now sheaf.Plan
		keys    int64
		want    string
	}{
		{sheaf.Free, sheaf.Free, 0, ""},
		{sheaf.Business, sheaf.Pro, 5, ""},
		{sheaf.Pro, sheaf.Business, 6, "With this plan you cannot create a key while there are more than 5."},
		{sheaf.Free, sheaf.Pro, 1, "With this plan 1 key is refused."},
	} {
		if got := stopsOn(test.to, sheaf.Workspace{Plan: test.now}, test.keys, nil); got != test.want {
			t.Errorf("from %s to %s: %q", test.now, test.to, got)
		}
	}
}

// A failing webhook is marked on every page, and described on the first.
func TestTroubled_WebhooksAreSeenEverywhere(t *testing.T) {
	w := newTown(t)
	get := func(path string) string { return w.ask(http.MethodGet, w.address(path), w.owner).Body.String() }
	w.wantIn(get("/w/{workspace}/projects"), false, "failing or deactivated", "does not reach")
	w.failWebhook()
	w.wantIn(get("/w/{workspace}/projects"), true, "1 webhook cannot reach its endpoint", "1<span class=\"sr\"> failing or deactivated</span>")
	w.wantIn(get("/w/{workspace}/keys"), true, "1<span class=\"sr\"> failing or deactivated</span>")
}

// A delivery's row and its page name the event's record.
func TestDelivery_NamesItsResource(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"/w/{workspace}/webhooks/{id}", "/w/{workspace}/deliveries/{id}"} {
		w.wantIn(w.ask(http.MethodGet, w.address(path), w.owner).Body.String(), true, "<code>document.created</code> “&lt;b&gt;Sent&lt;/b&gt;”")
	}
}

// The menu of a row works without a script: it is a link to the page with the same actions.
func TestTree_TheMenuOfARowIsALink(t *testing.T) {
	w := newTown(t)
	page := w.get("projects", opened(w.ids["folders"]))
	for _, path := range []string{"/w/{workspace}/projects/{id}", "/w/{workspace}/folders/{id}"} {
		w.wantIn(page, true, `href="`+w.address(path)+`#acts"`)
		w.wantIn(w.ask(http.MethodGet, w.address(path), w.owner).Body.String(), true, `id="acts">`, `href="`+w.address(path)+`/edit"`)
	}
}

// failWebhook makes the webhook of the town fail three times.
func (w *town) failWebhook() {
	w.Helper()
	w.must(w.store.Write(w.Context(), func(tx *store.Tx) error {
		s, err := tx.LockSubscription(w.caller.Workspace, sheaf.SubscriptionID(w.ids["webhooks"]))
		if err != nil {
			return err
		}
		s.FailureCount = 3
		return tx.UpdateSubscription(w.caller.Workspace, s)
	}))
}

// A new workspace shows the first steps, with those that are done ticked. A person does
// not see those that they may not do.
func TestSteps_AreTickedOff(t *testing.T) {
	w := newTown(t)
	get := func(who string) string {
		return w.ask(http.MethodGet, w.address("/w/{workspace}/projects"), who).Body.String()
	}
	page := get(w.owner)
	w.wantIn(page, true, "First steps", "3 of 5 done", "Import a folder of Markdown", "sheaf import-markdown ./docs --source docs")
	w.wantIn(get(w.member), false, "First steps")
	w.wantIn(get(w.join("dan@example.com", "Dan", sheaf.Editor)), false, "First steps") // a key and a webhook are not for editors
	if n := strings.Count(page, `class="done"`); n != 3 {                               // a project, a document, a webhook
		t.Errorf("%d are ticked off", n)
	}
	_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("t"), ExternalID: sheaf.Some("docs:t.md")})
	w.must(err)
	w.wantIn(get(w.owner), true, "4 of 5 done")
	w.must(w.a.TouchKeys(t.Context(), []app.KeyUse{{Workspace: w.caller.Workspace, Key: sheaf.KeyID(w.ids["keys"]), At: time.Now()}}))
	w.wantIn(get(w.owner), false, "First steps")
}

// D207: a person makes a key of the workspace by the form, and rotates it. Each secret is shown once.
func TestKeys_OfTheWorkspaceInTheConsole(t *testing.T) {
	w := newTown(t)
	theirs, err := w.a.CreateKey(t.Context(), w.caller, app.NewKey{Name: "Ada's", Scopes: sheaf.AllScopes})
	w.must(err)
	post := func(path string, form url.Values) string {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, w.address(path), strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "sheaf", Value: w.owner})
		got := ask(t, w.c, r)
		if got.Code != http.StatusOK {
			t.Fatalf("POST %s: %d %s", path, got.Code, got.Body)
		}
		return got.Body.String()
	}
	list := func() string { return w.ask(http.MethodGet, w.address("/w/{workspace}/keys"), w.owner).Body.String() }
	works := func(secret string) bool {
		_, err := w.a.Authenticate(t.Context(), secret)
		return err == nil
	}
	shown := regexp.MustCompile(`shf_[0-9A-Za-z]{46}`)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/keys/new"), w.owner).Body.String(), true, `name="owner" value="workspace"`)
	first := shown.FindString(post("/w/{workspace}/keys", url.Values{"name": {"Pipeline"}, "scope": {"projects:read"}, "owner": {"workspace"}}))
	w.wantIn(list(), true, "Pipeline", "of the workspace")
	page, err := w.a.Keys(t.Context(), w.caller, sheaf.Paging{Limit: 100})
	w.must(err)
	made := page.Items[len(page.Items)-1]
	if made.Owner() != sheaf.OwnerWorkspace || theirs.Owner() != sheaf.OwnerUser {
		t.Errorf("the keys are %+v", page.Items)
	}
	// Another admin rotates the workspace's keys, and none that acts in Ada's name.
	eve := w.join("eve@example.com", "Eve", sheaf.Admin)
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/keys"), eve).Body.String(), false, string(theirs.ID)+"/rotate")
	if got := w.sendAs(eve, "/w/{workspace}/keys/"+string(theirs.ID)+"/rotate", url.Values{"grace": {"now"}}); got.Code != http.StatusForbidden {
		t.Errorf("an admin rotates a key of another user: %d", got.Code)
	}
	rotate := "/w/{workspace}/keys/" + string(made.ID) + "/rotate"
	w.wantIn(w.ask(http.MethodGet, w.address(rotate), w.owner).Body.String(), true, "Pipeline", "At once", "In an hour", "In a day")
	second := shown.FindString(post(rotate, url.Values{"grace": {"hour"}}))
	w.wantIn(list(), true, "old secret ends")
	if !works(first) || !works(second) {
		t.Error("within the grace a secret does not work")
	}
	third := shown.FindString(post(rotate, url.Values{"grace": {"now"}}))
	if works(first) || works(second) || !works(third) {
		t.Error("at once: an old secret works, or the new one does not")
	}
	after := list()
	w.wantIn(after, false, "old secret ends", first, second, third)
}

// The first steps can be closed. They stay closed for that person, and for nobody else.
func TestSteps_StayClosedForThePerson(t *testing.T) {
	w := newTown(t)
	eve := w.join("eve@example.com", "Eve", sheaf.Owner)
	see := func(token string) string {
		return w.ask(http.MethodGet, w.address("/w/{workspace}/projects"), token).Body.String()
	}
	w.wantIn(see(w.owner), true, "First steps", `action="`+w.address("/w/{workspace}/steps/close")+`"`)
	for range 2 { // twice is once
		if got := w.sendAs(w.owner, "/w/{workspace}/steps/close", nil); got.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	w.wantIn(see(w.owner), false, "First steps")
	w.wantIn(see(w.signIn("ada@example.com")), false, "First steps")
	w.wantIn(see(eve), true, "First steps")
}

// The time on a project's page is that of its newest change, also of a document in it.
func TestProject_ItsChangeCountsItsDocuments(t *testing.T) {
	w := newTown(t)
	id := sheaf.ProjectID(w.ids["projects"])
	p, err := w.a.Project(t.Context(), w.caller, id)
	w.must(err)
	d, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("Newest"), ProjectID: sheaf.Some(id)})
	w.must(err)
	if !d.UpdatedAt.After(p.UpdatedAt) {
		t.Fatalf("the document changed at %v, the project at %v", d.UpdatedAt, p.UpdatedAt)
	}
	w.wantIn(w.get("projects/"+string(id)), true, `changed <time datetime="`+d.UpdatedAt.Format(sheaf.TimeFormat)+`"`)
	name := sheaf.ProjectChange{Name: sheaf.Some("Later")}
	p2, err := w.a.UpdateProject(t.Context(), w.caller, id, name, sheaf.Match{})
	w.must(err)
	w.wantIn(w.get("projects/"+string(id)), true, `changed <time datetime="`+p2.UpdatedAt.Format(sheaf.TimeFormat)+`"`)
}
