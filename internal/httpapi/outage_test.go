package httpapi_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/store"
)

// wantUnavailable ends the test unless the answer is a 503 that says when to come again.
func wantUnavailable(t *testing.T, r *apitest.Response) {
	t.Helper()
	r.WantError(t, 503, "UNAVAILABLE", "repeat")
	if n, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || n < 1 {
		t.Errorf("Retry-After is %q", r.Header.Get("Retry-After"))
	}
}

// D19: nothing is promised on a store that is closed, and nothing hangs.
func TestOutage_ClosedStore(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := c.POST("/api/v1/projects", `{"name":"a"}`).Text(t, "id")
		a.CloseStores()
		wantUnavailable(t, c.POST("/api/v1/projects", `{"name":"b"}`))
		wantUnavailable(t, c.PATCH("/api/v1/projects/"+id, `{"name":"b"}`))
		wantUnavailable(t, c.DELETE("/api/v1/projects/"+id))
		wantUnavailable(t, c.GET("/api/v1/projects/"+id))
		wantUnavailable(t, c.GET("/api/v1/events"))
		wantUnavailable(t, a.Client(otherKey()).GET("/api/v1/projects"))
		wantUnavailable(t, c.GET("/readyz"))
		c.GET("/healthz").Want(t, 200)
	})
}

// D19: while another process holds the file, reads go on, writes are 503 and not made later, and it
// recovers.
func TestOutage_LockedFile(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
	other, err := sqlite.OpenConn(filepath.Join(a.Options.Folder, store.FileName), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := sqlitex.ExecuteTransient(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	written := make(chan *apitest.Response)
	go func() { written <- c.POST("/api/v1/projects", `{"name":"b"}`) }()
	if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 1.0 {
		t.Errorf("got %s", got.Body)
	}
	wantUnavailable(t, <-written)
	if err := sqlitex.ExecuteTransient(other, "ROLLBACK", nil); err != nil {
		t.Fatal(err)
	}
	c.POST("/api/v1/projects", `{"name":"c"}`).Want(t, 201)
	if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 2.0 {
		t.Errorf("what was answered 503 was made: %s", got.Body)
	}
}

// D19: PostgreSQL stops and comes again; the service stays and recovers.
func TestOutage_PostgresRestarts(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	o := store.Options{DatabaseURL: cluster.URL()}
	if err := store.Migrate(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	c := apitest.Open(t, o).Workspace(sheaf.Pro).Client("")
	made := c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
	for _, mode := range []pgtest.Mode{pgtest.Fast, pgtest.Immediate} {
		if err := cluster.Stop(mode); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			wantUnavailable(t, c.POST("/api/v1/projects", `{"name":"b"}`))
			wantUnavailable(t, c.GET("/api/v1/projects/"+made.Text(t, "id")))
			wantUnavailable(t, c.GET("/readyz"))
		}
		if err := cluster.Restart(); err != nil {
			t.Fatal(err)
		}
		sheaftest.Eventually(t, "it is ready again", func() bool { return c.GET("/readyz").Status == 200 })
		got := c.GET("/api/v1/projects").Want(t, 200)
		if got.JSON["total"] != 1.0 {
			t.Errorf("what was answered 503 was made, or what was made is lost: %s", got.Body)
		}
		c.PATCH("/api/v1/projects/"+made.Text(t, "id"), map[string]any{"sort_order": mode}).Want(t, 200)
	}
}
