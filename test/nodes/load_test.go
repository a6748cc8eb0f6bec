package nodes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
)

// success is a write that was acknowledged.
type success struct {
	name, id   string
	begun, end time.Time
}

// load creates projects from several clients until it is stopped. Each repeats what was not acknowledged, with the
// same Idempotency-Key and through another node, as the answer 503 advises.
type load struct {
	t       *testing.T
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup
	clients int
	// balanced says that a balancer is between, which answers 502 or 504 for a node that broke off.
	balanced bool

	mu       sync.Mutex // guards what follows
	nodes    []*node
	made     []success
	repeated int // writes that took more than one try
	unknown  int // given up at the end without an answer
}

func startLoad(t *testing.T, clients int, nodes ...*node) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{t: t, ctx: ctx, cancel: cancel, nodes: slices.Clone(nodes)}
	l.add(clients)
	t.Cleanup(l.stop)
	return l
}

// add lets more clients write.
func (l *load) add(clients int) {
	for i := l.clients; i < l.clients+clients; i++ {
		l.group.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				l.create(l.ctx, i+n, fmt.Sprintf("write %d of client %d", n, i))
			}
		})
	}
	l.clients += clients
}

// create makes one project, and does not give up before the load ends.
func (l *load) create(ctx context.Context, turn int, name string) {
	begun := time.Now()
	for try := 0; ; try++ {
		if try > 0 && ctx.Err() != nil {
			l.note(func() { l.unknown++ })
			return
		}
		if try == 1 {
			l.note(func() { l.repeated++ })
		}
		a, err := l.node(turn+try).do("POST", "/api/v1/projects", map[string]any{"name": name}, "Idempotency-Key: "+name)
		switch {
		case err == nil && a.status == 201:
			l.note(func() { l.made = append(l.made, success{name, a.text("id"), begun, time.Now()}) })
			return
		case err == nil && a.status != 503 && !(l.balanced && (a.status == 502 || a.status == 504)):
			l.t.Errorf("%s: answered with %d %s", name, a.status, a.body)
			return
		}
		time.Sleep(10 * time.Millisecond) // the pace of trying again
		begun = time.Now()
	}
}

func (l *load) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

func (l *load) node(turn int) *node {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[turn%len(l.nodes)]
}

// replace lets the clients use another node in place of one.
func (l *load) replace(old, next *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodes[slices.Index(l.nodes, old)] = next
}

// first returns when the first try that began after a moment has succeeded.
func (l *load) first(after time.Time) (end time.Time) {
	l.t.Helper()
	sheaftest.Eventually(l.t, "a write succeeds", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		at := slices.IndexFunc(l.made, func(s success) bool { return s.begun.After(after) })
		if at >= 0 {
			end = l.made[at].end
		}
		return at >= 0
	})
	return end
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made)
}

func (l *load) stop() {
	l.cancel()
	l.group.Wait()
}

// findings is what is compared in the end.
type findings struct {
	acknowledged map[string]string // names of projects by id
	projects     map[string]string // the same, as they are listed
	created      map[string]bool   // ids of the events of their creation
	arrived      map[string]int    // ids of events, how often
}

// settle waits until all that is in the log has arrived, or nothing more does.
func (l *load) settle(n *node, arrived func() map[string]int) findings {
	l.t.Helper()
	l.stop()
	f := findings{acknowledged: map[string]string{}, projects: map[string]string{}, created: map[string]bool{}}
	for _, s := range l.made {
		f.acknowledged[s.id] = s.name
	}
	for _, p := range n.all("/api/v1/projects") {
		f.projects[p["id"].(string)] = p["name"].(string)
	}
	for _, e := range n.all("/api/v1/events") {
		f.created[e["id"].(string)] = true
	}
	sheaftest.Within(patience, func() bool {
		f.arrived = arrived()
		return f.missing() == 0
	})
	return f
}

func (f findings) missing() (n int) {
	for id := range f.created {
		if f.arrived[id] == 0 {
			n++
		}
	}
	return n
}

// reconcile returns everything that contradicts the promises.
func (f findings) reconcile() (complaints []string) {
	say := func(format string, args ...any) { complaints = append(complaints, fmt.Sprintf(format, args...)) }
	for id, name := range f.acknowledged {
		if f.projects[id] != name {
			say("%q was acknowledged as %s and is lost", name, id)
		}
	}
	names := map[string]bool{}
	for id, name := range f.projects {
		if names[name] {
			say("%q was made twice: %s", name, id)
		}
		names[name] = true
	}
	for id := range f.created {
		if f.arrived[id] == 0 {
			say("event %s is in the log and did not arrive", id)
		}
	}
	for id := range f.arrived {
		if !f.created[id] {
			say("event %s arrived and is not in the log", id)
		}
	}
	if len(f.created) != len(f.projects) {
		say("%d projects were created by %d events", len(f.projects), len(f.created))
	}
	return complaints
}

// check reports the contradictions, and that each would have been noticed.
func (f findings) check(t *testing.T) {
	t.Helper()
	complaints := f.reconcile()
	for _, c := range complaints[:min(len(complaints), 20)] {
		t.Error(c)
	}
	if len(complaints) > 0 {
		t.Fatalf("%d contradictions", len(complaints))
	}
	for what, spoil := range map[string]func(g *findings){
		"a lost project":  func(g *findings) { g.acknowledged["id"] = "name" },
		"a second effect": func(g *findings) { g.projects["id"], g.projects["id2"] = "name", "name" },
		"a lost event":    func(g *findings) { g.created["id"] = true },
		"an invented one": func(g *findings) { g.arrived["id"] = 1 },
		"a missing event": func(g *findings) { g.projects["id"] = "name" },
	} {
		g := findings{map[string]string{}, map[string]string{}, map[string]bool{}, map[string]int{}}
		if spoil(&g); len(g.reconcile()) == 0 {
			t.Errorf("%s would not be noticed", what)
		}
	}
}

// again counts the arrivals that were not the first of their event.
func (f findings) again() (n int) {
	for _, times := range f.arrived {
		n += times - 1
	}
	return n
}
