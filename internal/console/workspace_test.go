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

// Who chooses a smaller plan is told what of theirs stops, in numbers.
func TestSettings_APlanSaysWhatStops(t *testing.T) {
	w := newTown(t)
	_, err := w.a.CreateFolder(t.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some("Brands"), EntityType: sheaf.Some("branding")})
	w.must(err)
	page := w.ask(http.MethodGet, w.address("/w/{workspace}/settings"), w.owner).Body.String()
	w.wantIn(page, true, "1 webhook gets nothing more", "1 project folder stays and can no longer be changed", "1 branding folder stays and can no longer be changed")
	w.wantIn(page, true, "keys are refused")
	if n := strings.Count(page, "With this plan"); n != 2 { // not of the present one
		t.Errorf("%d plans stop something", n)
	}
	for _, test := range []struct {
		to, now sheaf.Plan
		keys    int64
		want    string
	}{
		{sheaf.Free, sheaf.Free, 0, ""},
		{sheaf.Business, sheaf.Pro, 5, ""},
		{sheaf.Pro, sheaf.Business, 6, "With this plan no new key can be made while there are more than 5."},
		{sheaf.Free, sheaf.Pro, 1, "With this plan 1 key is refused."},
	} {
		if got := stopsOn(test.to, sheaf.Workspace{Plan: test.now}, test.keys, nil); got != test.want {
			t.Errorf("from %s to %s: %q", test.now, test.to, got)
		}
	}
}

// A webhook that does not reach its endpoint is seen on every page, and said on the first.
func TestTroubled_WebhooksAreSeenEverywhere(t *testing.T) {
	w := newTown(t)
	look := func(path string) string { return w.ask(http.MethodGet, w.address(path), w.owner).Body.String() }
	w.wantIn(look("/w/{workspace}/projects"), false, "failing or deactivated", "does not reach")
	w.failWebhook()
	w.wantIn(look("/w/{workspace}/projects"), true, "1 webhook does not reach its endpoint", "1<span class=\"sr\"> failing or deactivated</span>")
	w.wantIn(look("/w/{workspace}/keys"), true, "1<span class=\"sr\"> failing or deactivated</span>")
}

// A delivery's row, and its page, name what its event is about.
func TestDelivery_NamesItsResource(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"/w/{workspace}/webhooks/{id}", "/w/{workspace}/deliveries/{id}"} {
		w.wantIn(w.ask(http.MethodGet, w.address(path), w.owner).Body.String(), true, "<code>document.created</code> “&lt;b&gt;Sent&lt;/b&gt;”")
	}
}

// The menu of a row works without a script: it is a link to the page with the same acts.
func TestTree_TheMenuOfARowIsALink(t *testing.T) {
	w := newTown(t)
	page := w.look("projects", opened(w.ids["folders"]))
	for _, path := range []string{"/w/{workspace}/projects/{id}", "/w/{workspace}/folders/{id}"} {
		w.wantIn(page, true, `href="`+w.address(path)+`#acts"`)
		w.wantIn(w.ask(http.MethodGet, w.address(path), w.owner).Body.String(), true, `id="acts">`, `href="`+w.address(path)+`/edit"`)
	}
}

// failWebhook lets the webhook of the town have failed three times.
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

// A new workspace says what to do first, with what is done ticked off; who may change nothing is not asked
// to.
func TestSteps_AreTickedOff(t *testing.T) {
	w := newTown(t)
	look := func(who string) string {
		return w.ask(http.MethodGet, w.address("/w/{workspace}/projects"), who).Body.String()
	}
	page := look(w.owner)
	w.wantIn(page, true, "First steps", "3 of 5 done", "Bring a folder of Markdown", "sheaf import-markdown ./docs --source docs")
	w.wantIn(look(w.member), false, "First steps")
	if n := strings.Count(page, `class="done"`); n != 3 { // a project, a document, a webhook
		t.Errorf("%d are ticked off", n)
	}
	_, err := w.a.CreateDocument(t.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some("t"), ExternalID: sheaf.Some("docs:t.md")})
	w.must(err)
	w.wantIn(look(w.owner), true, "4 of 5 done")
	w.must(w.a.TouchKeys(t.Context(), []app.KeyUse{{Workspace: w.caller.Workspace, Key: sheaf.KeyID(w.ids["keys"]), At: time.Now()}}))
	w.wantIn(look(w.owner), false, "First steps")
}
