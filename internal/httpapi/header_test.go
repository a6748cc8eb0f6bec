package httpapi_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/console"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// Whatever it is, and whoever asks: no browser guesses what an answer is.
func TestHeaders_EveryAnswerSaysNosniff(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, func(c *httpapi.Config) {
		c.Console = console.New(console.Config{App: c.App, Log: c.Log, Now: c.Now})
	})
	c := a.Workspace(sheaf.Business).Client("")
	for path, status := range map[string]int{"/api/v1/projects": 200, "/api/v1/projects/x": 400, "/api/v1/none": 404, "/none": 404, "/api//v1": 404,
		"/healthz": 200, "/readyz": 200, "/docs": 200, "/openapi.json": 200, "/docs/none": 404, "/sign-in": 200, "/w/x/y": 404} {
		wantNosniff(t, path, c.GET(path).Want(t, status))
	}
	wantNosniff(t, "a change", c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201))
	wantNosniff(t, "a wrong method", c.Do("PUT", "/api/v1/projects", nil).Want(t, 405))
	wantNosniff(t, "no key", a.Client("").GET("/api/v1/projects").Want(t, 401))
	first := c.GET("/api/v1/projects").Want(t, 200)
	wantNosniff(t, "nothing new", c.GET("/api/v1/projects", "If-None-Match: "+first.Header.Get("ETag")).Want(t, 304))
	a.Handler.Crowd(httpapi.MaxWorking)
	defer a.Handler.Crowd(-httpapi.MaxWorking)
	wantNosniff(t, "no room", c.GET("/api/v1/projects").Want(t, 503))
}

func wantNosniff(t *testing.T, what string, got *apitest.Response) {
	t.Helper()
	if h := got.Header["X-Content-Type-Options"]; len(h) != 1 || h[0] != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options is %q", what, h)
	}
}

// Whatever the length.
func TestHeaders_ContentLengthIsToldAtEveryLength(t *testing.T) {
	t.Parallel()
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	for _, n := range []int{1, 1500, 1700, 1720, 1740, 1760, 1780, 1800, 1820, 2000} {
		made := c.POST("/api/v1/projects", map[string]any{"name": "a", "description": strings.Repeat("x", n)}).Want(t, 201)
		for _, method := range []string{"GET", "HEAD"} {
			got := c.Do(method, "/api/v1/projects/"+made.Text(t, "id"), nil).Want(t, 200)
			if h := got.Header["Content-Length"]; len(h) != 1 || h[0] == "0" || got.Header.Get("Transfer-Encoding") != "" {
				t.Errorf("%s of a description of %d: Content-Length is %q", method, n, h)
			}
		}
	}
}
