package nodes

import (
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// choreLock is the advisory lock of a chore.
func choreLock(chore string) int64 {
	h := fnv.New64a()
	h.Write([]byte("sheaf chore " + chore))
	return int64(h.Sum64())
}

// D55: a key revoked through one node is refused by the other, within 2 s at most.
func TestRevocation_OnAnotherNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	a, b := s.start(), s.start()
	slowest, times := time.Duration(0), scaled(20, 200)
	for i := range times {
		made := a.must(201, "POST", "/api/v1/api-keys", map[string]any{"name": fmt.Sprint("key ", i), "scopes": []string{"projects:read"}})
		key, id := made.text("key"), made.text("id")
		if got := b.status(key, "/api/v1/projects"); got != 200 {
			t.Fatalf("a new key is answered with %d", got)
		}
		a.must(204, "DELETE", "/api/v1/api-keys/"+id, nil)
		slowest = max(slowest, within(t, promised(2*time.Second), "the other node refuses the key", func() bool {
			return b.status(key, "/api/v1/projects") == 401
		}))
	}
	figure(t, "%d revocations: the slowest was seen on the other node after %v", times, slowest.Round(10*time.Microsecond))
}

// D55: a plan that is changed, by the command line too, is in force on every node within 2 s.
func TestPlan_OnEveryNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	all := []*node{s.start(), s.start()}
	slowest, times := time.Duration(0), scaled(4, 40)
	for i := range times {
		plan, want := "free", 403
		if i%2 == 1 {
			plan, want = "business", 200
		}
		s.ask("workspace", "set-plan", s.workspace, plan)
		for _, n := range all {
			slowest = max(slowest, within(t, promised(2*time.Second), "the plan "+plan+" is in force", func() bool {
				return n.status(s.key, "/api/v1/projects") == want
			}))
		}
	}
	figure(t, "%d changes of plan: the slowest was in force on every node after %v", times, slowest.Round(10*time.Microsecond))
}

// A subscription edited through one node is in force for the events that the other takes and sends from then on.
func TestSubscription_EditedOnAnotherNode(t *testing.T) {
	t.Parallel()
	r := newReceiver(t)
	s := newSite(t, pgtest.URL(t), "--webhook-ca-file", r.roots, "--webhook-timeout", "5m") // none is cut off and sent again
	a, b := s.start(), s.start()
	id := a.subscribe(r.url)["id"].(string)
	slowest, times := time.Duration(0), scaled(20, 200)
	for i := range times {
		path := fmt.Sprintf("/hook/%d", i)
		a.must(200, "PATCH", "/api/webhooks/subscriptions/"+id, map[string]any{"url": strings.TrimSuffix(r.url, "/hook") + path})
		b.newProject(path)
		slowest = max(slowest, within(t, patience, "the event arrives", func() bool { return r.total() > i }))
		if got := r.journal()[i].path; got != path {
			t.Fatalf("an event of after the change went to %s instead of %s", got, path)
		}
	}
	figure(t, "%d edits of a subscription: each in force at once; the slowest delivery arrived after %v", times, slowest.Round(10*time.Microsecond))
}

// Read-your-writes over nodes: what was answered by one is never the future of another, whatever it has in its caches.
func TestReadYourWrites_AcrossNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, pgtest.URL(t))
	all := []*node{s.start(), s.start(), s.start()}
	var checks atomic.Int64
	var group sync.WaitGroup
	for client := range 4 {
		group.Go(func() {
			w := &writer{t: t, nodes: all, name: fmt.Sprint("client ", client)}
			w.id = all[0].newProject(w.name)
			for round := range scaled(50, 1000) {
				if !w.round(client+round, round) {
					return
				}
				checks.Add(3)
			}
		})
	}
	group.Wait()
	figure(t, "%d reads right after a write through another node: none from the past", checks.Load())
	w := &writer{name: "a", revision: `"2`}
	if w.fresh("a 0", `"2-x"`, 1) || w.fresh("a 1", `"1-x"`, 1) || !w.fresh("a 1", `"2-x"`, 1) {
		t.Error("the past would not be noticed")
	}
}

// writer changes a project through one node and reads it through the others.
type writer struct {
	t        *testing.T
	nodes    []*node
	id, name string
	revision string // which the last write made
}

// round returns false when a node answered from the past.
func (w *writer) round(turn, round int) bool {
	at := func(n int) *node { return w.nodes[(turn+n)%len(w.nodes)] }
	before, err := at(1).do("GET", "/api/v1/projects/"+w.id, nil)
	if err != nil || before.status != 200 {
		w.t.Errorf("read: %d %s, %v", before.status, before.body, err)
		return false
	}
	changed, err := at(0).do("PATCH", "/api/v1/projects/"+w.id, map[string]any{"name": fmt.Sprint(w.name, " ", round)})
	if err != nil || changed.status != 200 {
		w.t.Errorf("change: %d %s, %v", changed.status, changed.body, err)
		return false
	}
	w.revision = revision(changed.header.Get("ETag"))
	got, err := at(1).do("GET", "/api/v1/projects/"+w.id, nil, "If-None-Match: "+before.header.Get("ETag"))
	if err != nil || got.status != 200 || !w.fresh(got.text("name"), got.header.Get("ETag"), round) {
		w.t.Errorf("round %d: the project is %d %s %s, %v; revision %s was written", round, got.status, got.header.Get("ETag"), got.body, err, w.revision)
		return false
	}
	same, err := at(2).do("GET", "/api/v1/projects/"+w.id, nil, "If-None-Match: "+got.header.Get("ETag"))
	if err != nil || same.status != 304 {
		w.t.Errorf("round %d: one node answers the ETag of another with %d, %v", round, same.status, err)
		return false
	}
	list, err := at(1).do("GET", "/api/v1/projects?limit=100", nil)
	if err != nil || !strings.Contains(string(list.body), fmt.Sprintf("%q", fmt.Sprint(w.name, " ", round))) {
		w.t.Errorf("round %d: the list is %d %s, %v", round, list.status, list.body, err)
		return false
	}
	return true
}

// revision is the part of an ETag that names the version of the resource; the rest names the form it is shown in.
func revision(etag string) string {
	r, _, _ := strings.Cut(etag, "-")
	return r
}

// fresh reports whether what was read is what was written in that round.
func (w *writer) fresh(name, etag string, round int) bool {
	return name == fmt.Sprint(w.name, " ", round) && revision(etag) == w.revision
}
