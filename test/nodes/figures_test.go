package nodes

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// tenants is over how many workspaces the load is spread: the writes of one wait for each other.
const tenants = 8

// What one, two and three nodes do on this machine, all beside PostgreSQL and the clients.
func TestFigures_OfOneTwoAndThreeNodes(t *testing.T) {
	if !long {
		t.Parallel()
	}
	for count := 1; count <= scaled(2, 3); count++ {
		measureNodes(t, count)
	}
}

func measureNodes(t *testing.T, count int) {
	t.Helper()
	r := newReceiver(t)
	s := newSite(t, pgtest.URL(t), "--webhook-ca-file", r.roots, "--webhook-timeout", "2m") // none is cut off and sent again
	var nodes []*node
	for range count {
		nodes = append(nodes, s.start())
	}
	var keys, projects []string
	for range scaled(2, tenants) {
		ws := s.ask("workspace", "create", "--name", "Other", "--plan", "business")["id"].(string)
		keys = append(keys, s.ask("key", "create", "--workspace", ws, "--name", "test", "--scopes", "all")["key"].(string))
	}
	ask := func(method, path string, body any) func(turn int) bool {
		return func(turn int) bool {
			n := nodes[turn%len(nodes)]
			a, err := n.as(t.Context(), keys[turn/len(nodes)%len(keys)], method, path, body)
			return err == nil && a.status < 300
		}
	}
	create := ask("POST", "/api/v1/projects", map[string]any{"name": "p"})
	creates := rate(t, create)
	for _, key := range keys {
		a, err := nodes[0].as(t.Context(), key, "GET", "/api/v1/projects?limit=1", nil)
		if err != nil || a.status != 200 {
			t.Fatalf("list: %d, %v", a.status, err)
		}
		projects = append(projects, a.json["data"].([]any)[0].(map[string]any)["id"].(string))
	}
	reads := rate(t, func(turn int) bool {
		at := turn / len(nodes) % len(keys)
		a, err := nodes[turn%len(nodes)].as(t.Context(), keys[at], "GET", "/api/v1/projects/"+projects[at], nil)
		return err == nil && a.status == 200
	})
	lists := rate(t, ask("GET", "/api/v1/projects?limit=50", nil))
	figure(t, "%d nodes: %.0f creates/s, %.0f reads/s, %.0f lists of 50/s, %.0f deliveries/s", count, creates, reads, lists,
		deliveries(t, nodes, r))
	for _, n := range nodes {
		n.terminate()
	}
}

// rate lets 32 clients ask for a while, and returns how many answers a second they got.
func rate(t *testing.T, ask func(turn int) bool) float64 {
	t.Helper()
	var done, failed atomic.Int64
	var group sync.WaitGroup
	begun := time.Now()
	for i := range 32 {
		group.Go(func() {
			for turn := i; time.Since(begun) < scaled(200*time.Millisecond, 8*time.Second); turn++ {
				if ask(turn) {
					done.Add(1)
				} else {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d answers were none", failed.Load(), failed.Load()+done.Load())
	}
	return float64(done.Load()) / time.Since(begun).Seconds()
}

// deliveries returns how many deliveries a second the nodes make of a queue that is full.
func deliveries(t *testing.T, nodes []*node, r *receiver) float64 {
	t.Helper()
	subscriptions, events := scaled(2, 10), scaled(50, 1000)
	r.hold()
	for i := range subscriptions {
		nodes[0].subscribe(fmt.Sprint(r.url, "/", i))
	}
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := i; n < events; n += 16 {
				nodes[n%len(nodes)].newProject("p")
			}
		})
	}
	group.Wait()
	had := r.total()
	begun := time.Now()
	r.open()
	within(t, patience, "all is delivered", func() bool { return r.total() >= subscriptions*events })
	return float64(subscriptions*events-had) / time.Since(begun).Seconds()
}
