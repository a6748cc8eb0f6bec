package nodes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// stuck are the transactions on projects whose COMMIT waits for the standby, which keeps their locks; a node also notes
// by itself when keys were used. waiting counts them.
const (
	stuck = ` FROM pg_stat_activity a WHERE wait_event = 'SyncRep' AND EXISTS (
		SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND l.relation = 'projects'::regclass)`
	waiting = "SELECT count(*)" + stuck
)

// A COMMIT that waits for the standby is not cancelled when the client goes away: what it wrote is there later. One
// whose wait somebody else cancels is answered with 503, though PostgreSQL says COMMIT, and repeating it is safe, also
// after the failover in which it got lost.
func TestCommit_WaitsForTheStandby(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	standby := primary.Standby(t)
	s := newSite(t, pgtest.Either(primary, standby))
	n := s.start()
	n.newProject("before")
	c := connect(t, primary.SocketURL())

	stopStandby(t, standby, c)
	clientLeaves(t, n, c)
	if err := standby.Restart(); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "the wait ends with the standby's return", func() bool { return count(t, c, waiting) == 0 })
	if names := names(n); !strings.Contains(names, "left alone") {
		t.Errorf("what the client left alone was cancelled: %s", names)
	}

	stopStandby(t, standby, c)
	waitCancelled(t, n, c)
	if err := primary.Stop(pgtest.Kill); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(standby.Restart(), standby.Promote()); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "the node finds the new primary", func() bool {
		a, err := n.do("GET", "/readyz", nil)
		return err == nil && a.status == 200
	})
	if names := names(n); strings.Contains(names, "unknown") {
		t.Fatalf("the failover has not lost what it was to lose: %s", names)
	}
	n.must(201, "POST", "/api/v1/projects", map[string]any{"name": "unknown"}, "Idempotency-Key: unknown")
	again := n.must(201, "POST", "/api/v1/projects", map[string]any{"name": "unknown"}, "Idempotency-Key: unknown")
	if names := names(n); strings.Count(names, "unknown") != 1 || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repetition had more effects than one: %s", names)
	}
	figure(t, "client gone: the COMMIT went on; wait cancelled: 503; lost in the failover: repeated with its key, one effect")
}

func names(n *node) string {
	n.t.Helper()
	return string(n.must(200, "GET", "/api/v1/projects?limit=100", nil).body)
}

// stopStandby returns when the primary has noticed.
func stopStandby(t *testing.T, standby *pgtest.Cluster, primary *pgx.Conn) {
	t.Helper()
	if err := standby.Stop(pgtest.Immediate); err != nil {
		t.Fatal(err)
	}
	within(t, patience, "the standby is gone", func() bool {
		return count(t, primary, "SELECT count(*) FROM pg_stat_replication") == 0
	})
}

// clientLeaves makes a write whose client goes away in the middle of COMMIT.
func clientLeaves(t *testing.T, n *node, c *pgx.Conn) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	gone := make(chan error)
	go func() {
		_, err := n.as(ctx, n.key, "POST", "/api/v1/projects", map[string]any{"name": "left alone"})
		gone <- err
	}()
	within(t, patience, "the COMMIT waits", func() bool { return count(t, c, waiting) == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatalf("the client has not left: %v", err)
	}
	time.Sleep(500 * time.Millisecond) // for a cancellation to arrive, if there is one
	if got := count(t, c, waiting); got != 1 {
		t.Errorf("%d COMMITs wait after the client has left, want the one", got)
	}
}

// waitCancelled makes a write and cancels its wait for the standby.
func waitCancelled(t *testing.T, n *node, c *pgx.Conn) {
	t.Helper()
	type outcome struct {
		answer
		err error
	}
	done := make(chan outcome)
	go func() {
		a, err := n.do("POST", "/api/v1/projects", map[string]any{"name": "unknown"}, "Idempotency-Key: unknown")
		done <- outcome{a, err}
	}()
	within(t, patience, "the COMMIT waits", func() bool { return count(t, c, waiting) == 1 })
	count(t, c, "SELECT count(pg_cancel_backend(pid))"+stuck)
	got := <-done
	if got.err != nil || got.status != 503 || !strings.Contains(got.text("error"), "repeat") {
		t.Fatalf("a cancelled wait for the standby was answered with %d %s, %v", got.status, got.body, got.err)
	}
	// Without this the test shows nothing: the server has committed, and its warning says so.
	if n := count(t, c, "SELECT count(*) FROM projects WHERE name = 'unknown'"); n != 1 {
		t.Fatalf("%d rows were committed: the wait was not cancelled", n)
	}
}
