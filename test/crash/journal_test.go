package crash

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proof"
)

// within is the time in which the remaining deliveries must arrive at the end. It is longer than a lease.
const within = 5 * time.Minute

// project is the state of a project as its client knows it.
type project struct {
	name             string
	updates, deletes int  // acknowledged
	unsure           bool // the answer to the last request did not come: it may have happened
}

// load is clients that create, rename and delete projects until they are stopped.
type load struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	server *server
	known  map[string]*project
	acks   int
}

func startLoad(s *server) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, server: s, known: map[string]*project{}}
	for i := range clients {
		l.group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.work(fmt.Sprintf("project %d of client %d", n, i), n)
				time.Sleep(5 * time.Millisecond) // the pace of the load
			}
		})
	}
	return l
}

// work makes a project, renames every second, and deletes every sixth.
func (l *load) work(name string, n int) {
	var answer struct{ ID string }
	if ok := l.ask(http.MethodPost, "/api/v1/projects", map[string]any{"name": name}, &answer); !ok {
		return
	}
	p := &project{name: name}
	l.mu.Lock()
	l.known[answer.ID] = p
	l.mu.Unlock()
	if n%2 == 0 {
		ok := l.ask(http.MethodPatch, "/api/v1/projects/"+answer.ID, map[string]any{"name": name + ", renamed"}, nil)
		l.note(p, ok, func() { p.name, p.updates = name+", renamed", 1 })
	}
	if n%6 == 0 && !p.unsure {
		ok := l.ask(http.MethodDelete, "/api/v1/projects/"+answer.ID, nil, nil)
		l.note(p, ok, func() { p.deletes = 1 })
	}
}

func (l *load) note(p *project, ok bool, done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ok {
		done()
	} else {
		p.unsure = true
	}
}

// ask makes one request, and reports whether it was acknowledged. A server that is away is given a moment.
func (l *load) ask(method, path string, body, answer any) bool {
	l.mu.Lock()
	s := l.server
	l.mu.Unlock()
	status, err := s.call(method, path, body, answer)
	if err != nil || status/100 != 2 {
		time.Sleep(5 * time.Millisecond) // the server is away: the pace of trying again
		return false
	}
	l.mu.Lock()
	l.acks++
	l.mu.Unlock()
	return true
}

func (l *load) target(s *server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

// goesOn returns when some more has been acknowledged, for each client once or more.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	acks := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.acks
	}
	had := acks()
	sheaftest.Eventually(t, "the load goes on", func() bool { return acks() >= had+clients })
}

func (l *load) stop() {
	l.cancel()
	l.group.Wait()
}

// logged is what the log has of one project.
type logged struct{ created, updated, deleted int }

// findings is what is compared in the end.
type findings struct {
	kills, acks  int
	restarts     []time.Duration
	redeliveries []time.Duration

	known    map[string]*project // by the clients
	stored   map[string]string   // id → name, by the API
	events   map[string]string   // id → project, by the log
	changes  map[string]*logged  // by project, by the log
	arrivals map[string]int      // by event, at the receiver
	again    int                 // arrivals of what was already taken

	complaints          []string
	lost, missing, sick int
}

// settle stops the load, waits until everything has arrived or nothing more does, and gathers what all
// clients know.
func (f *findings) settle(t *testing.T, r *receiver, s *server, l *load) {
	t.Helper()
	l.goesOn(t)
	l.stop()
	f.known, f.acks = l.known, l.acks
	f.stored, f.events, f.changes = map[string]string{}, map[string]string{}, map[string]*logged{}
	s.each(t, "/api/v1/projects", func(i item) { f.stored[i.ID] = i.Name })
	s.each(t, "/api/v1/events", f.count)
	sheaftest.Within(within, func() bool {
		f.arrivals, f.again = r.arrived()
		return f.undelivered() == 0
	})
	f.redeliveries = r.redeliveries()
	f.reconcile()
}

func (f *findings) count(i item) {
	f.events[i.ID] = i.Resource
	c := f.changes[i.Resource]
	if c == nil {
		c = &logged{}
		f.changes[i.Resource] = c
	}
	switch i.Type {
	case "project.created":
		c.created++
	case "project.updated":
		c.updated++
	case "project.deleted":
		c.deleted++
	}
}

func (f *findings) undelivered() (n int) {
	for id := range f.events {
		if f.arrivals[id] == 0 {
			n++
		}
	}
	return n
}

// reconcile notes everything that contradicts the promise.
func (f *findings) reconcile() {
	f.complaints, f.lost, f.missing = nil, 0, 0
	for id, p := range f.known {
		f.compare(id, p)
	}
	for id, c := range f.changes {
		_, there := f.stored[id]
		if c.created != 1 || c.updated > 1 || c.deleted > 1 || there != (c.deleted == 0) {
			f.complain(&f.missing, "project %s: events %+v, in the list: %t", id, *c, there)
		}
	}
	for id := range f.stored {
		if f.changes[id] == nil {
			f.complain(&f.missing, "project %s is there without an event", id)
		}
	}
	for id := range f.events {
		if f.arrivals[id] == 0 {
			f.complain(&f.lost, "event %s is in the log and did not arrive", id)
		}
	}
	for id := range f.arrivals {
		if _, ok := f.events[id]; !ok {
			f.complain(&f.lost, "event %s arrived and is not in the log", id)
		}
	}
}

// compare compares the answers that a client got with what is stored.
func (f *findings) compare(id string, p *project) {
	name, there := f.stored[id]
	c := f.changes[id]
	switch {
	case c == nil:
		f.complain(&f.lost, "project %s was acknowledged and left no event", id)
	case !p.unsure && (there != (p.deletes == 0) || there && name != p.name):
		f.complain(&f.lost, "project %s: acknowledged as %+v, is %q (there: %t)", id, *p, name, there)
	case !p.unsure && (c.updated != p.updates || c.deleted != p.deletes), c.updated < p.updates, c.deleted < p.deletes:
		f.complain(&f.missing, "project %s: acknowledged as %+v, in the log %+v", id, *p, *c)
	}
}

func (f *findings) complain(count *int, format string, args ...any) {
	*count++
	f.complaints = append(f.complaints, fmt.Sprintf(format, args...))
}

// doctor examines the stored data.
func (f *findings) doctor(t *testing.T, p *program) {
	t.Helper()
	violations, err := sheaftest.Doctor(p.Binary, p.Flags()...)
	if err != nil {
		t.Fatalf("doctor: %v", err)
	}
	for _, v := range violations {
		f.complain(&f.sick, "doctor: %s: %s", v.Check, v.Text)
	}
}

func (f *findings) row(name string) proof.Row {
	return proof.Row{Name: name, Lost: f.lost + f.missing + f.sick, Figures: []proof.Figure{{Name: "kills", Value: f.kills},
		{Name: "acknowledged", Value: f.acks}, {Name: "events", Value: len(f.events)}, {Name: "events missing", Value: f.missing},
		{Name: "violations", Value: f.sick}, {Name: "duplicates", Value: f.again},
		{Name: "restart median", Value: median(f.restarts)}, {Name: "worst", Value: slices.Max(f.restarts).Round(time.Millisecond)},
		{Name: "first redelivery median", Value: median(f.redeliveries)}}}
}

func median(of []time.Duration) time.Duration {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2].Round(time.Millisecond)
}

// checkReconciler takes one thing away after the other: each must be missed.
func (f *findings) checkReconciler(t *testing.T) {
	t.Helper()
	for what, take := range map[string]func(*findings){
		"an arrival": func(g *findings) { removeAny(g.arrivals) },
		"an event":   func(g *findings) { removeAny(g.events) },
		"a change":   func(g *findings) { removeAny(g.changes) },
		"a project":  func(g *findings) { removeAny(g.stored) },
	} {
		g := *f
		g.arrivals, g.events, g.changes, g.stored = maps.Clone(f.arrivals), maps.Clone(f.events), maps.Clone(f.changes), maps.Clone(f.stored)
		take(&g)
		if g.reconcile(); len(g.complaints) == 0 {
			t.Errorf("%s was taken away, and nobody noticed", what)
		}
	}
}

func removeAny[V any](m map[string]V) {
	for k := range m {
		delete(m, k)
		return
	}
}
