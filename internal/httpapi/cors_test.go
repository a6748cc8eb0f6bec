package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

const friend, stranger = "https://app.example.com", "https://evil.example"

func withOrigins(origins ...string) apitest.Option {
	return func(c *apitest.Config) { c.Origins = origins }
}

// preflight asks as a browser does before a page of the origin may send PATCH. It has no key.
func preflight(a *apitest.API, path, origin string) *apitest.Response {
	return a.Client("").Do("OPTIONS", path, nil, "Origin: "+origin, "Access-Control-Request-Method: PATCH", "Access-Control-Request-Headers: authorization,content-type")
}

// corsHeaders are the names of the headers of an answer that open it to other origins.
func corsHeaders(h http.Header) (names []string) {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			names = append(names, name)
		}
	}
	return names
}

// D208: without --cors-origins nothing is open, and OPTIONS is what it was.
func TestCORS_IsOffByDefault(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	preflight(a, "/api/v1/projects", friend).WantError(t, 401, "UNAUTHORIZED")
	got := c.GET("/api/v1/projects", "Origin: "+friend).Want(t, 200)
	if names := corsHeaders(got.Header); names != nil || got.Header.Get("Vary") != "" {
		t.Errorf("the answer has %v, and Vary %q", names, got.Header.Get("Vary"))
	}
}

// D208: only a listed origin is allowed, exactly as it is listed. Every answer varies by the origin, also one from the
// cache, an error and a 304.
func TestCORS_OnlyListedOrigins(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withOrigins("https://other.example", friend), apitest.PlanLimits)
	c := a.Workspace(sheaf.Business).Client("")
	made := c.POST("/api/v1/projects", map[string]any{"name": "a"}, "Origin: "+friend).Want(t, 201)
	path := "/api/v1/projects/" + made.Text(t, "id")
	tag := c.GET(path).Header.Get("ETag")
	answers := map[string]func(origin string) *apitest.Response{
		"a read":                func(o string) *apitest.Response { return c.GET(path, "Origin: "+o).Want(t, 200) },
		"the same from a cache": func(o string) *apitest.Response { return c.GET(path, "Origin: "+o).Want(t, 200) },
		"a 304": func(o string) *apitest.Response {
			return c.GET(path, "Origin: "+o, "If-None-Match: "+tag).Want(t, 304)
		},
		"no key":    func(o string) *apitest.Response { return a.Client("").GET(path, "Origin: "+o).Want(t, 401) },
		"no route":  func(o string) *apitest.Response { return c.GET("/api/v1/nothing", "Origin: "+o).Want(t, 404) },
		"a method":  func(o string) *apitest.Response { return c.Do("PUT", path, nil, "Origin: "+o).Want(t, 405) },
		"a request": func(o string) *apitest.Response { return c.Do("OPTIONS", path, nil, "Origin: "+o).Want(t, 405) },
		"tus": func(o string) *apitest.Response {
			return c.Do("OPTIONS", "/api/v1/uploads", nil, "Origin: "+o).Want(t, 204)
		},
		"a question": func(o string) *apitest.Response {
			return preflight(a, path, o).Want(t, 204)
		},
	}
	for name, ask := range answers {
		if h := ask(friend).Header; h.Get("Access-Control-Allow-Origin") != friend || h.Get("Vary") != "Origin" {
			t.Errorf("%s for a listed origin: %v", name, h)
		}
		for _, origin := range []string{stranger, "null", "*", "https://app.example.com:8443", "http://app.example.com", "https://app.example.com.evil.example", "https://APP.example.com", ""} {
			if h := ask(origin).Header; len(corsHeaders(h)) > 0 || h.Get("Vary") != "Origin" {
				t.Errorf("%s for %q: %v", name, origin, h)
			}
		}
	}
	h := answers["a read"](friend).Header
	for name := range h {
		if strings.HasPrefix(name, "Ratelimit") || name == "Etag" || name == "X-Request-Id" {
			if !strings.Contains(strings.ToLower(h.Get("Access-Control-Expose-Headers"))+",", strings.ToLower(name)+",") {
				t.Errorf("a script cannot read %s", name)
			}
		}
	}
	for _, h := range []http.Header{h, preflight(a, path, friend).Header} {
		if h.Get("Access-Control-Allow-Credentials") != "" {
			t.Error("cookies are allowed")
		}
	}
}

// D208: a preflight needs no key, counts against no limit and does not ask the store. It is answered under overload too.
func TestCORS_PreflightsAreCheap(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withOrigins(friend))
	got := preflight(a, "/api/v1/projects", friend).Want(t, 204)
	for name, want := range map[string]string{"Methods": "PATCH", "Headers": "Authorization", "Max-Age": "7200"} {
		if !strings.Contains(got.Header.Get("Access-Control-Allow-"+name)+got.Header.Get("Access-Control-"+name), want) {
			t.Errorf("%s lacks %s: %v", name, want, got.Header)
		}
	}
	if err := a.Store.Close(); err != nil {
		t.Fatal(err)
	}
	preflight(a, "/api/v1/projects", friend).Want(t, 204)
	if got := a.Client("").GET("/readyz"); got.Status != 503 {
		t.Fatalf("the store still answers: %d", got.Status)
	}
	refused := apitest.SQLite(t, withOrigins(friend), func(c *apitest.Config) {
		c.Beside = append(c.Beside, front.Mount{Edge: refusing{c.Origins}, Name: "refusing", Paths: []string{"/api/v1/projects"}})
	})
	preflight(refused, "/api/v1/projects", friend).Want(t, 204)
	if h := refused.Client("").GET("/api/v1/projects", "Origin: "+friend).Want(t, 503).Header; h.Get("Access-Control-Allow-Origin") != friend {
		t.Errorf("a page cannot read that the server is full: %v", h)
	}
}

// refusing answers every request as the API answers one that the front refuses.
type refusing struct{ origins []string }

func (r refusing) Serve(x *front.Exchange) {
	httpapi.New(httpapi.Config{Origins: r.origins}).Refuse(x, &front.Refusal{Status: 503, Text: "full"})
}
func (r refusing) Refuse(*front.Exchange, *front.Refusal) {}
func (r refusing) Panicked(*front.Exchange)               {}

// D208: * opens the API to every origin, and nothing else.
func TestCORS_EveryOriginReachesTheAPIAlone(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withOrigins("*"), apitest.WithConsole, apitest.WithShares)
	c := a.Workspace(sheaf.Business).Client("")
	for _, origin := range []string{stranger, "null", ""} {
		if h := c.GET("/api/v1/projects", "Origin: "+origin).Want(t, 200).Header; h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%q: %v", origin, h)
		}
	}
	preflight(a, "/api/v1/projects", stranger).Want(t, 204)
	for _, path := range []string{"/", "/login", "/account", "/s/unknown", "/docs", "/openapi.json", "/healthz", "/nothing"} {
		for _, method := range []string{"GET", "OPTIONS", "POST"} {
			got := c.Do(method, path, nil, "Origin: "+stranger, "Access-Control-Request-Method: POST")
			if names := corsHeaders(got.Header); names != nil {
				t.Errorf("%s %s has %v", method, path, names)
			}
		}
	}
}
