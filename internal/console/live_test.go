package console

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A change between the making of a page and the beginning of its stream is announced at once.
func TestFollow_AnnouncesChangesSinceThePageWasMade(t *testing.T) {
	w := newTown(t)
	made := time.Now()
	w.c.Wake(SignDeliveries, sheaf.WorkspaceSet{All: true})
	for name, test := range map[string]struct {
		since string
		want  bool
	}{
		"before":  {fmt.Sprint(made.UnixMilli()), true},
		"after":   {fmt.Sprint(made.Add(time.Hour).UnixMilli()), false},
		"unknown": {"x", false},
	} {
		got := w.ask(http.MethodGet, w.address("/w/{workspace}/live")+"?since="+test.since, w.owner)
		if announced := strings.Contains(got.Body.String(), "event: deliveries"); announced != test.want {
			t.Errorf("a page made %s: told %v, body %q", name, announced, got.Body)
		}
	}
}

// A page shows the endpoint's answer, also in the dialog.
func TestWebhook_TheTestShowsTheAnswer(t *testing.T) {
	w := newTown(t)
	for _, target := range []string{"", "dialog-body"} {
		got := w.ask(http.MethodPost, w.address("/w/{workspace}/webhooks/{id}/test"), w.owner, func(r *http.Request) {
			if target != "" {
				r.Header.Set("HX-Request", "true")
				r.Header.Set("HX-Target", target)
			}
		})
		if body := got.Body.String(); got.Code != http.StatusOK || !strings.Contains(body, "the endpoint answered 500") || !strings.Contains(body, "&lt;b&gt;") {
			t.Errorf("%d %s", got.Code, body)
		}
	}
}

// A change wakes the open pages of its own workspace, and no page of another.
func TestLive_WakesThePagesOfTheWorkspace(t *testing.T) {
	c := &Console{Config: Config{Now: time.Now}, live: newLive()}
	for _, ws := range []sheaf.WorkspaceID{"here", "there"} {
		remove, ok := c.live.addPage(ws, "ada")
		if !ok {
			t.Fatal("refused")
		}
		defer remove()
	}
	woken, before := c.live.watch("here")
	other, calm := c.live.watch("there")
	var changed sheaf.WorkspaceSet
	changed.Add("here")
	c.Wake(SignDeliveries, changed)
	select {
	case <-woken:
	default:
		t.Error("the page here was not woken")
	}
	select {
	case <-other:
		t.Error("the page there was woken")
	default:
	}
	if _, now := c.live.watch("here"); now == before {
		t.Error("the page here would not be told")
	}
	if _, now := c.live.watch("there"); now != calm {
		t.Error("the page there would be told")
	}
}

func TestLive_ForgetsAWorkspaceWithItsLastPage(t *testing.T) {
	l := newLive()
	first, _ := l.addPage("w", "ada")
	second, _ := l.addPage("w", "ada")
	first()
	if len(l.pages) != 1 {
		t.Error("forgotten while a page is open")
	}
	second()
	if len(l.pages) != 0 {
		t.Errorf("kept of a workspace without a page: %v", l.pages)
	}
}

// If a person was signed out or is no longer a member, the streams of their pages end. One query
// checks all open pages, and those of others stay open.
func TestLive_EndsWithTheSession(t *testing.T) {
	w := newTown(t)
	member := w.callerOf(w.member)
	pages := map[string]string{"owner": w.owner, "owner elsewhere": w.signIn("ada@example.com"), "member": w.member, "stranger": w.stranger, "made up": "x"}
	open := map[string]bool{}
	for name, token := range pages {
		open[name] = true
		defer w.c.live.addStream(&stream{visit: app.NewVisit(token, w.caller.Workspace, nil), end: func() { delete(open, name) }})()
	}
	left := func(when string, want ...string) {
		t.Helper()
		w.c.checkSessions(t.Context())
		if got := slices.Sorted(maps.Keys(open)); !slices.Equal(got, want) {
			t.Errorf("%s: open are %q, want %q", when, got, want)
		}
	}
	left("at first", "member", "owner", "owner elsewhere")
	w.must(w.a.SignOut(t.Context(), w.owner, app.Browser{}))
	left("signed out in one browser", "member", "owner elsewhere")
	w.must(w.a.RemoveMember(t.Context(), w.caller, member.User))
	left("removed from the workspace", "owner elsewhere")
}

// After the end of a session or of a membership, open pages are checked at once.
func TestLive_SessionsThatEndAreAnnounced(t *testing.T) {
	w := newTown(t)
	member := w.callerOf(w.member)
	checks := 0
	w.store.OnCommit(func(n store.Note) {
		if n.Credentials || n.Sessions {
			checks++
		}
	})
	for name, end := range map[string]func() error{
		"sign out": func() error { return w.a.SignOut(t.Context(), w.stranger, app.Browser{}) },
		"sign out everywhere": func() error {
			return w.a.SignOutEverywhere(t.Context(), app.Session{User: sheaf.User{ID: w.caller.User}})
		},
		"removal": func() error { return w.a.RemoveMember(t.Context(), w.caller, member.User) },
	} {
		before := checks
		w.must(end())
		if checks == before {
			t.Errorf("%s was not announced", name)
		}
	}
}

// An open page keeps its session alive, with very few writes.
func TestLive_AnOpenPageKeepsTheSession(t *testing.T) {
	w := newTown(t)
	passed := time.Duration(0)
	w.c, w.a, _, _ = consoleOver(t, w.store, w.index, func() time.Time { return time.Now().Add(passed) })
	ended := false
	defer w.c.live.addStream(&stream{visit: app.NewVisit(w.owner, w.caller.Workspace, nil), end: func() { ended = true }})()
	for range 20 {
		passed += time.Hour
		if w.c.checkSessions(t.Context()); ended {
			t.Fatalf("the session of an open page ended after %v", passed)
		}
	}
	passed += 13 * time.Hour
	if w.c.checkSessions(t.Context()); !ended {
		t.Error("a session that was not used for 13 hours goes on")
	}
}
