package apitest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

func TestEach_ServesTheAPIOnEitherEngineAndOnTwoNodes(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		made := c.POST("/api/v1/projects", map[string]any{"name": "<Guides>"}).Want(t, 201)
		got := c.GET("/api/v1/projects/"+made.Text(t, "id")).Want(t, 200)
		if got.Text(t, "name") != "<Guides>" {
			t.Errorf("got %s", got.Body)
		}
		if ids := c.GET("/api/v1/projects").IDs(t); len(ids) != 1 || ids[0] != made.Text(t, "id") {
			t.Errorf("got %q", ids)
		}
		a.Client("").GET("/api/v1/projects").WantError(t, 401, "UNAUTHORIZED", "Bearer")
		ws.Client(ws.Key(sheaf.DocumentsRead)).GET("/api/v1/projects").WantError(t, 403, "FORBIDDEN", "projects:read")
	})
}

// A body arrives although the test has set the clock back: the deadline of its socket is in real
// time.
func TestClock_InThePastAcceptsBodies(t *testing.T) {
	a := apitest.SQLite(t)
	a.Clock.Set(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	c := a.Workspace(sheaf.Pro).Client("")
	made := c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
	if got := made.Text(t, "created_at"); got != "2020-01-02T03:04:05.000Z" {
		t.Errorf("created at %s", got)
	}
}

// A file is sent too, which has write deadlines.
func TestClock_InThePastSendsFiles(t *testing.T) {
	a := apitest.SQLite(t)
	a.Clock.Set(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	c := a.Workspace(sheaf.Pro).Client("")
	made := c.POST("/api/v1/media", "some words", "Content-Type: application/octet-stream").Want(t, 201)
	if got := c.GET(made.Text(t, "url")).Want(t, 200); string(got.Body) != "some words" {
		t.Errorf("got %q", got.Body)
	}
}

func TestOptions_PlanLimits(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Freeze()
	if got := a.Workspace(sheaf.Business).Client("").GET("/api/v1/me").Want(t, 200).Header.Get("RateLimit-Limit"); got != "500" {
		t.Errorf("the limit is %q", got)
	}
}
