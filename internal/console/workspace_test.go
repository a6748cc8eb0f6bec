package console

import (
	"net/http"
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
		{sheaf.Pro, sheaf.Business, 6, "With this plan you cannot make a key while there are more than 5."},
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
	w.wantIn(get("/w/{workspace}/projects"), true, "1 webhook does not reach its endpoint", "1<span class=\"sr\"> failing or deactivated</span>")
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

// A new workspace shows the first steps, with those that are done ticked. A person who may not
// change anything does not see them.
func TestSteps_AreTickedOff(t *testing.T) {
	w := newTown(t)
	get := func(who string) string {
		return w.ask(http.MethodGet, w.address("/w/{workspace}/projects"), who).Body.String()
	}
	page := get(w.owner)
	w.wantIn(page, true, "First steps", "3 of 5 done", "Import a folder of Markdown", "sheaf import-markdown ./docs --source docs")
	w.wantIn(get(w.member), false, "First steps")
	if n := strings.Count(page, `class="done"`); n != 3 { // a project, a document, a webhook
		t.Errorf("%d are ticked off", n)
	}
	_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("t"), ExternalID: sheaf.Some("docs:t.md")})
	w.must(err)
	w.wantIn(get(w.owner), true, "4 of 5 done")
	w.must(w.a.TouchKeys(t.Context(), []app.KeyUse{{Workspace: w.caller.Workspace, Key: sheaf.KeyID(w.ids["keys"]), At: time.Now()}}))
	w.wantIn(get(w.owner), false, "First steps")
}
