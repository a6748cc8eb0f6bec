package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Reading that renders, compares or searches has a limit for each person in each workspace. Other
// reading has none.
func TestLimit_OfReadingThatCosts(t *testing.T) {
	w := newTown(t)
	costly := []string{"GET /oauth/authorize", "GET /w/{workspace}/connect",
		"GET /w/{workspace}/search", "GET /w/{workspace}/jump", "POST /w/{workspace}/documents/preview",
		"GET /w/{workspace}/documents/{id}", "GET /w/{workspace}/documents/{id}/versions/{n}",
		"GET /w/{workspace}/documents/{id}/linked", "GET /w/{workspace}/documents/{id}/versions/compare",
		"GET /w/{workspace}/proposals/{id}",
		"GET /w/{workspace}/projects/{id}/releases/compare", "GET /w/{workspace}/releases/{id}/documents/{document}",
		"GET /w/{workspace}/releases/{id}/documents/{document}/compare",
	}
	asked := map[string]bool{}
	w.c.AdmitReading = func(_ context.Context, name string, _ time.Time) time.Duration {
		asked[name] = true
		return 23 * time.Second
	}
	found := 0
	for _, r := range w.c.allRoutes() {
		if r.who.level < bySignedIn {
			continue
		}
		want := slices.Contains(costly, r.method+" "+r.path)
		if want {
			found++
		}
		if r.method != http.MethodGet && !r.has(readOnly) {
			continue // a change has another limit
		}
		got := w.ask(r.method, w.address(r.path), w.owner)
		if limited := got.Code == http.StatusTooManyRequests; limited != want {
			t.Errorf("%s %s: %d", r.method, r.path, got.Code)
		} else if limited && (got.Header().Get("Retry-After") != "23" || !strings.Contains(got.Body.String(), "Try again in 23s.")) {
			t.Errorf("%s %s: %v %s", r.method, r.path, got.Header(), got.Body)
		}
		if r.method == http.MethodGet && !want {
			if got := w.ask(r.method, w.address(r.path)+"?q=words", w.owner); got.Code != http.StatusTooManyRequests {
				t.Errorf("a search by GET %s: %d", r.path, got.Code)
			}
		}
	}
	if found != len(costly) {
		t.Errorf("%d of the routes exist, want %d", found, len(costly))
	}
	if person := "console reads " + string(w.caller.User) + " "; !asked[person+string(w.caller.Workspace)] {
		t.Errorf("asked for %v", asked)
	}
}
