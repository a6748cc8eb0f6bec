package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What is recorded between the making of a page and the beginning of its stream
// is told at once.
func TestFollow_TellsWhatChangedSinceThePageWasMade(t *testing.T) {
	w := newTown(t)
	made := time.Now()
	w.c.Wake(SignDeliveries)
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
