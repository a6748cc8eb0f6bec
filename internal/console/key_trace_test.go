package console

import (
	"net/http"
	"net/url"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// D202: the page of a key shows what was made with it, and ends all of it.
func TestKeyTrace_OnItsPage(t *testing.T) {
	w := newTown(t)
	leaked, err := w.a.CreateKey(t.Context(), w.caller, app.NewKey{Name: "Leaked <key>", Scopes: sheaf.Admin.Scopes(), OfWorkspace: true})
	w.must(err)
	c, err := w.a.Authenticate(t.Context(), *leaked.Secret)
	w.must(err)
	thief := app.Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key}
	_, err = w.a.CreateKey(t.Context(), thief, app.NewKey{Name: "Hidden key", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
	w.must(err)
	hook, err := w.a.CreateSubscription(t.Context(), thief, sheaf.SubscriptionChange{Name: sheaf.Some("Hidden hook"), URL: sheaf.Some("https://example.com/"), Events: sheaf.Some([]string{"document.created"})})
	w.must(err)
	_, err = w.a.CreateShare(t.Context(), thief, sheaf.ShareChange{ResourceType: sheaf.Some("document"), ResourceID: sheaf.Some(w.ids["documents"])})
	w.must(err)

	w.ids["keys"] = string(leaked.ID)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/keys/{id}"), w.owner).Body.String()
	for _, want := range []string{"Leaked &lt;key&gt;", "Hidden key", "Hidden hook", "A share of a document", "webhook.created", "share.created", "Revoke all of it"} {
		w.wantIn(page, true, want)
	}
	w.wantIn(page, false, *leaked.Secret)
	member := w.ask(http.MethodGet, w.address("/w/{workspace}/keys/{id}"), w.member).Body.String()
	w.wantIn(member, true, "Hidden key")
	w.wantIn(member, false, "Revoke all of it", "Rights and settings that it changed", "webhook.created")
	got := w.sendAs(w.owner, "/w/{workspace}/keys/{id}/revoke-all", url.Values{})
	if got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	w.wantIn(got.Body.String(), true, "2 keys revoked, 1 webhook and 1 share deleted.")
	w.wantIn(got.Body.String(), true, "The key has ended")
	again := w.sendAs(w.owner, "/w/{workspace}/keys/{id}/revoke-all", url.Values{})
	w.wantIn(again.Body.String(), true, "There was nothing left to revoke.")
	if _, err := w.a.Subscription(t.Context(), w.caller, hook.ID); sheaf.KindOf(err) != sheaf.NotFound {
		t.Errorf("the webhook: %v", err)
	}
	for what, id := range map[string]string{"an unknown key": "0190b0a0-0000-7000-8000-000000000000", "no key": string(sheaf.NoKey), "a key of another workspace": w.foreignKey()} {
		w.ids["keys"] = id
		if got := w.ask(http.MethodGet, w.address("/w/{workspace}/keys/{id}"), w.owner); got.Code != http.StatusNotFound {
			t.Errorf("the page of %s: %d", what, got.Code)
		}
		if got := w.sendAs(w.owner, "/w/{workspace}/keys/{id}/revoke-all", url.Values{}); got.Code != http.StatusNotFound {
			t.Errorf("revoking %s: %d", what, got.Code)
		}
	}
}

// foreignKey returns the id of a key of another workspace.
func (w *town) foreignKey() string {
	w.Helper()
	other, err := w.a.Operator().CreateWorkspace(w.Context(), app.NewWorkspace{Name: "Third", Plan: sheaf.Business, OwnerEmail: "mallory@example.com"})
	w.must(err)
	k, err := w.a.Operator().CreateKey(w.Context(), other.ID, app.NewKey{Name: "Foreign", Scopes: sheaf.Admin.Scopes()})
	w.must(err)
	return string(k.ID)
}
