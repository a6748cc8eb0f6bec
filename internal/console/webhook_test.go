package console

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (w *town) activate(active bool) {
	w.Helper()
	_, err := w.a.UpdateSubscription(w.Context(), w.caller, sheaf.SubscriptionID(w.ids["webhooks"]), sheaf.SubscriptionChange{Active: sheaf.Some(active)}, sheaf.Match{})
	w.must(err)
}

func (w *town) write(title string) {
	w.Helper()
	_, err := w.a.CreateDocument(w.Context(), w.caller, sheaf.DocumentChange{Title: sheaf.Some(title)})
	w.must(err)
}

func (w *town) held() int64 {
	w.Helper()
	s, err := w.a.Subscription(w.Context(), w.caller, sheaf.SubscriptionID(w.ids["webhooks"]))
	w.must(err)
	return s.HeldCount
}

// However a webhook became active, its held deliveries can be sent.
func TestWebhook_AnActiveOneSendsWhatItHolds(t *testing.T) {
	w := newTown(t)
	get := func(who string) string {
		return w.ask(http.MethodGet, w.address("/w/{workspace}/webhooks/{id}"), who).Body.String()
	}
	w.wantIn(get(w.owner), false, "/recover", "still held")
	w.activate(false)
	w.write("Meanwhile")
	w.wantIn(get(w.owner), false, "/recover")
	w.activate(true) // as by the API: held deliveries are not sent
	held := w.held()
	if held != 2 { // and the one that waited
		t.Fatalf("%d are held", held)
	}
	w.wantIn(get(w.owner), true, "/recover", "2 deliveries are still held", "Send the 2 held deliveries")
	w.wantIn(get(w.member), false, "/recover")
	w.wantIn(get(w.member), true, "An admin or owner can send them.")
	for range 2 { // the second time there is nothing to send
		if got := w.ask(http.MethodPost, w.address("/w/{workspace}/webhooks/{id}/recover"), w.owner); got.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	if n := w.held(); n != 0 {
		t.Errorf("%d are still held", n)
	}
	w.wantIn(get(w.owner), false, "/recover", "still held")
}

// Reactivating and sending the held deliveries is one transaction: either both are done, or
// neither.
func TestWebhook_IsReactivatedAndSendsInOneTransaction(t *testing.T) {
	w := newTown(t)
	w.activate(false)
	w.write("Meanwhile")
	var mu sync.Mutex
	var commits []store.Note
	w.store.OnCommit(func(n store.Note) {
		mu.Lock()
		defer mu.Unlock()
		commits = append(commits, n)
	})
	reactivate := func(form string) {
		t.Helper()
		got := w.ask(http.MethodPost, w.address("/w/{workspace}/webhooks/{id}/reactivate"), w.owner, func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(form))
		})
		if got.Code != http.StatusSeeOther {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
	}
	reactivate("held=yes")
	if n := w.held(); n != 0 {
		t.Errorf("%d are still held", n)
	}
	mu.Lock()
	if len(commits) != 1 || !commits[0].Subscriptions || !commits[0].Deliveries {
		t.Errorf("it took %d transactions: %+v", len(commits), commits)
	}
	mu.Unlock()
	w.activate(false)
	w.write("Again")
	reactivate("")
	if n := w.held(); n == 0 {
		t.Error("what was held was sent, and nobody had asked for it")
	}
}

// A member sees no button whose action would be refused.
func TestPages_ShowAMemberNothingToManage(t *testing.T) {
	w := newTown(t)
	w.activate(false)
	for _, r := range w.c.allRoutes() {
		if r.method != http.MethodGet || r.who.level < byMember || strings.HasSuffix(r.path, "/remove") {
			continue
		}
		body := w.ask(r.method, w.address(r.path), w.member).Body.String()
		for _, button := range []string{"/new", "/edit", "/move", "/delete", "/rotate", "/pause", "/reactivate", "/revoke", "/test", "/redeliver",
			"/restore", "/role", "/invite", "/withdraw", "Change plan", "Save name"} {
			if strings.Contains(body, button+`"`) || strings.Contains(body, button+`?`) || strings.Contains(body, ">"+button) {
				t.Errorf("GET %s shows %s to a member", r.path, button)
			}
		}
	}
	// The same check finds the buttons of an owner.
	w.wantIn(w.ask(http.MethodGet, w.address("/w/{workspace}/webhooks/{id}"), w.owner).Body.String(), true, `/rotate"`, `/delete"`, `/reactivate"`, `/test"`, `/edit"`)
}

// The console is no way around the rate limit: after too many changes a person has to wait, and may
// read meanwhile.
func TestLimit_IsForChangesOfOnePersonInOneWorkspace(t *testing.T) {
	w := newTown(t)
	asked := map[string]sheaf.Plan{}
	full := false
	w.c.Admit = func(_ context.Context, name string, plan sheaf.Plan, _ time.Time) time.Duration {
		asked[name] = plan
		if full {
			return 17 * time.Second
		}
		return 0
	}
	before := w.everything()
	if got := w.ask(http.MethodPost, w.address("/w/{workspace}/webhooks/{id}/test"), w.owner); got.Code != http.StatusOK {
		t.Fatalf("%d %s", got.Code, got.Body)
	}
	full = true
	for _, r := range w.c.allRoutes() {
		if r.who.level < bySignedIn {
			continue
		}
		got := w.ask(r.method, w.address(r.path), w.owner)
		if limited := got.Code == http.StatusTooManyRequests; limited != (r.method == http.MethodPost && !r.has(readOnly)) {
			t.Errorf("%s %s: %d", r.method, r.path, got.Code)
		} else if limited && (got.Header().Get("Retry-After") != "17" || !strings.Contains(got.Body.String(), "Try again in 17s.")) {
			t.Errorf("%s %s: %v %s", r.method, r.path, got.Header(), got.Body)
		}
	}
	if w.everything() != before {
		t.Error("a change that was refused was made")
	}
	person := "console " + string(w.caller.User) + " "
	if len(asked) != 2 || asked[person+string(w.caller.Workspace)] != sheaf.Business || asked[person] != "" {
		t.Errorf("asked for %v", asked)
	}
}

// D171: the page of a webhook says what it gets events of, with the restriction of the key that created it.
func TestWebhook_SaysWhatItReceives(t *testing.T) {
	restricted, filter := &sheaf.Restriction{Folders: []sheaf.FolderID{"f"}}, &sheaf.Filter{Projects: []sheaf.ProjectID{"p"}}
	for want, s := range map[string]sheaf.Subscription{
		"everything in the workspace":                                         {},
		"one folder and what is in it, as the restricted key that created it": {Restriction: restricted},
		"1 project alone": {Filter: filter},
		"1 project alone, within one folder and what is in it, as the restricted key that created it": {Restriction: restricted, Filter: filter},
	} {
		if got := (webhookDetail{undelivered: undelivered{Subscription: s}}).Receives(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
