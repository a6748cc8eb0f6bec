package nodes

import (
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgbouncertest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// D152: without a database every request is answered with 503 and Retry-After, by a node that is at it directly and by one
// behind a pooler, whether the database is gone or says nothing. Health says so, and all is well when it is back.
func TestLeaderless_IsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	cluster := pgtest.Start(t)
	// A busy machine may be silent for longer than the 1.5 seconds of the program, which only the long form has time for.
	direct := cluster.ImpatientURL() + scaled("&connect_timeout=10", "")
	pooler := pgbouncertest.Start(t, direct, pgbouncertest.Transaction, 20)
	s := newSite(t, cluster.URL())
	nodes := []*node{s.start("--database-url", direct), s.start("--database-url", pooler.URL(direct), "--database-direct-url", direct)}
	for _, n := range nodes {
		n.newProject("before")
	}
	for _, way := range []struct {
		what       string
		gone, back func() error
	}{
		{"frozen", cluster.Freeze, func() error { return cluster.Stop(pgtest.Kill) }},
		{"gone", func() error { return nil }, cluster.Restart},
	} {
		if err := way.gone(); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		took := make([]time.Duration, len(nodes))
		for i, n := range nodes {
			group.Go(func() { took[i] = refuses(t, n) })
		}
		group.Wait()
		slowest := slices.Max(took)
		if slowest > promised(2*time.Second) {
			t.Errorf("%s: the slowest answer came after %v", way.what, slowest)
		}
		figure(t, "PostgreSQL %s: 503 after %v at most", way.what, slowest.Round(time.Millisecond))
		if err := way.back(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		within(t, patience, "the node is ready again", func() bool { return n.status(n.key, "/readyz") == 200 })
		within(t, patience, "the node writes again", func() bool {
			a, err := n.do("POST", "/api/v1/projects", map[string]any{"name": "after"})
			return err == nil && a.status == 201
		})
	}
}

// refuses makes requests of every kind, all at once, and returns how long the slowest answer took. The first one after a
// fault may be in the middle of a transaction, which is the other half of the promise.
func refuses(t *testing.T, n *node) (slowest time.Duration) {
	t.Helper()
	if a, err := n.do("GET", "/api/v1/projects", nil); err != nil || a.status != 503 {
		t.Errorf("a first request: %d %s, %v", a.status, a.body, err)
	}
	requests := [][2]string{{"GET", "/readyz"}, {"GET", "/api/v1/projects"}, {"POST", "/api/v1/projects"}, {"GET", "/api/v1/search?q=before"}}
	took := make(chan time.Duration, len(requests))
	for _, r := range requests {
		go func() {
			begun := time.Now()
			a, err := n.do(r[0], r[1], nil)
			if err != nil || a.status != 503 || a.header.Get("Retry-After") == "" {
				t.Errorf("%s %s: %d %s, %v, want 503 with Retry-After", r[0], r[1], a.status, a.body, err)
			}
			took <- time.Since(begun)
		}()
	}
	for range requests {
		slowest = max(slowest, <-took)
	}
	if a, err := n.do("GET", "/healthz", nil); err != nil || a.status != 200 {
		t.Errorf("the process lives, and /healthz answers %d, %v", a.status, err)
	}
	return slowest
}
