package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// What is recorded between the making of a page and the beginning of its stream is told at once.
func TestFollow_TellsWhatChangedSinceThePageWasMade(t *testing.T) {
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
		if told := strings.Contains(got.Body.String(), "event: deliveries"); told != test.want {
			t.Errorf("a page made %s: told %v, body %q", name, told, got.Body)
		}
	}
}

// A page that shows the answer of the endpoint is made, in the dialog too.
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

// A change wakes the open pages of its own workspace, and is told to no page of another.
func TestLive_WakesThePagesOfTheWorkspace(t *testing.T) {
	c := &Console{Config: Config{Now: time.Now}, live: newLive()}
	for _, ws := range []sheaf.WorkspaceID{"here", "there"} {
		leave, ok := c.live.enter(ws, "ada")
		if !ok {
			t.Fatal("refused")
		}
		defer leave()
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
	first, _ := l.enter("w", "ada")
	second, _ := l.enter("w", "ada")
	first()
	if len(l.pages) != 1 {
		t.Error("forgotten while a page is open")
	}
	second()
	if len(l.pages) != 0 {
		t.Errorf("kept of a workspace without a page: %v", l.pages)
	}
}
