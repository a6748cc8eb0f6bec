package front_test

import (
	"testing"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// No browser may guess the type of an answer, whatever the answer and the client are.
func TestHeaders_EveryAnswerSaysNosniff(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, apitest.WithConsole)
	c := a.Workspace(sheaf.Business).Client("")
	for path, status := range map[string]int{"/api/v1/projects": 200, "/api/v1/projects/x": 400, "/api/v1/none": 404, "/none": 404, "/api//v1": 404,
		"/healthz": 200, "/readyz": 200, "/docs": 200, "/openapi.json": 200, "/docs/none": 404, "/sign-in": 200, "/w/x/y": 404} {
		wantNosniff(t, path, c.GET(path).Want(t, status))
	}
	wantNosniff(t, "a change", c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201))
	wantNosniff(t, "a wrong method", c.Do("DELETE", "/api/v1/projects", nil).Want(t, 405))
	wantNosniff(t, "no key", a.Client("").GET("/api/v1/projects").Want(t, 401))
	first := c.GET("/api/v1/projects").Want(t, 200)
	wantNosniff(t, "nothing new", c.GET("/api/v1/projects", "If-None-Match: "+first.Header.Get("ETag")).Want(t, 304))
	a.Front.Crowd(front.MaxWorking)
	defer a.Front.Crowd(-front.MaxWorking)
	wantNosniff(t, "no room", c.GET("/api/v1/projects").Want(t, 503))
}

func wantNosniff(t *testing.T, what string, got *apitest.Response) {
	t.Helper()
	if h := got.Header["X-Content-Type-Options"]; len(h) != 1 || h[0] != "nosniff" {
		t.Errorf("%s: X-Content-Type-Options is %q", what, h)
	}
}
