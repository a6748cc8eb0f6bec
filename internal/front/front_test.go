package front_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"sheaf.dev/internal/console"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
)

// named is an edge that answers with its name.
type named string

func (n named) Serve(x *front.Exchange) { fmt.Fprint(x, n) }

func (n named) Refuse(x *front.Exchange, why *front.Refusal) {
	x.WriteHeader(why.Status)
	fmt.Fprint(x, n)
}

func (n named) Panicked(x *front.Exchange) {
	x.WriteHeader(http.StatusInternalServerError)
	fmt.Fprint(x, n)
}

func newFront(mounts ...front.Mount) *front.Front {
	return front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now}, mounts...)
}

// Each path leads to its edge, and whatever is nobody's, or not clean, to the one that has "/":
// with the paths as the program mounts them.
func TestFront_EveryPathHasItsEdge(t *testing.T) {
	f := newFront(front.Mount{Edge: named("api"), Paths: []string{"/"}},
		front.Mount{Edge: named("probes"), Paths: httpapi.ProbePaths, Unbounded: true},
		front.Mount{Edge: named("console"), Paths: console.Paths})
	for edge, paths := range map[string][]string{
		"console": {"/", "/setup/x", "/invite/x", "/assets/console.css", "/sign-in", "/sign-in/code", "/sign-in/x", "/sign-in/reset/x", "/sign-out", "/account", "/account/name", "/w/x/projects", "/w/nothing/like/it"},
		"probes":  {"/healthz", "/readyz"},
		"api": {"/api", "/api/v1/me", "/api//v1", "//api", "/docs", "/openapi.json", "/x", "/setup", "/invite", "/w", "/healthz/", "//healthz", "/./healthz",
			"/w//x", "/w/", "/w/../x", "/account/", "/accounts", "//", "/favicon.icon", "*", ""},
	} {
		for _, path := range paths {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.URL = &url.URL{Path: path}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if got := w.Body.String(); got != edge {
				t.Errorf("%q leads to %s, want %s", path, got, edge)
			}
		}
	}
}

func TestFront_NeedsAnEdgeForWhateverIsNobodys(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a front without an edge on / was made")
		}
	}()
	newFront(front.Mount{Edge: named("x"), Paths: []string{"/w/", "/{$}"}})
}

// A full house turns away by the edge that was asked for, and asks probes all the same.
func TestFront_TheEdgeThatWasAskedTurnsAway(t *testing.T) {
	f := newFront(front.Mount{Edge: named("rest"), Paths: []string{"/"}}, front.Mount{Edge: named("page"), Paths: []string{"/w/"}},
		front.Mount{Edge: named("probe"), Paths: []string{"/healthz"}, Unbounded: true})
	f.Crowd(front.MaxWorking)
	for path, want := range map[string]string{"/w/x": "503 page", "/x": "503 rest", "/w//x": "503 rest", "/healthz": "200 probe"} {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := fmt.Sprint(w.Code, " ", w.Body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if l := f.Load(); l.Working != front.MaxWorking || l.Refused != 3 {
		t.Errorf("%+v", l)
	}
}

// routed is an edge whose routes are the methods and paths themselves.
type routed struct{ *front.Routes[[2]string] }

func (r routed) Refuse(*front.Exchange, *front.Refusal) {}
func (r routed) Panicked(*front.Exchange)               {}

func (r routed) Serve(x *front.Exchange) {
	route, allow := r.Find(x)
	if route == nil {
		fmt.Fprint(x, "none ", allow)
		return
	}
	fmt.Fprint(x, route[0], " ", route[1], " ", x.Request.PathValue("id"))
}

func TestRoutes_AreFoundByPathAndThenByMethod(t *testing.T) {
	table := routed{front.NewRoutes([][2]string{{"GET", "/a"}, {"POST", "/a"}, {"GET", "/a/{id}"}, {"DELETE", "/a/{id}"}, {"POST", "/b/{id}/act"}},
		func(r *[2]string) (string, string) { return r[0], r[1] })}
	f := newFront(front.Mount{Edge: table, Paths: []string{"/"}})
	for asked, want := range map[[2]string]string{
		{"GET", "/a"}:                "GET /a ",
		{"HEAD", "/a"}:               "GET /a ",
		{"PUT", "/a"}:                "none GET, HEAD, POST",
		{"OPTIONS", "/a/1"}:          "none DELETE, GET, HEAD",
		{"GET", "/a/1%2F2"}:          "GET /a/{id} 1/2",
		{"POST", "/b/x/act"}:         "POST /b/{id}/act x",
		{"GET", "/b/x/act"}:          "none POST",
		{"GET", "/"}:                 "none ",
		{"GET", "/a/"}:               "none ",
		{"GET", "/a/b/c"}:            "none ",
		{"GET", "//a"}:               "none ",
		{"GET", "/a/../a"}:           "none ",
		{"CONNECT", "/a"}:            "none GET, HEAD, POST",
		{"GET", "/a/.well-known"}:    "GET /a/{id} .well-known",
		{"DELETE", "/a/%E2%82%AC"}:   "DELETE /a/{id} €",
		{"GET", "/a/%2F%2Fx?y=/../"}: "none ",
	} {
		r := httptest.NewRequest(http.MethodGet, asked[1], nil)
		r.Method = asked[0]
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if got := w.Body.String(); got != want || w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %q, want %q", asked[0], asked[1], w.Code, got, want)
		}
	}
	for path, want := range map[string]bool{"/a": true, "/a/x": true, "/": false, "/b": false, "/b/x/act": true} {
		if got := table.Has(path); got != want {
			t.Errorf("Has(%s) is %v", path, got)
		}
	}
}
