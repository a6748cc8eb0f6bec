// Package crash kills the program, as it is built for users, in the middle of
// its work, and looks whether anything it promised is missing.
package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	kills   = 8
	clients = 4
	within  = 30 * time.Second // for what is left to be delivered at the end
)

// Every committed event reaches the receiver, nothing reaches it that is not in
// the log, and what was acknowledged is there, over kills at random moments.
func TestKill_NothingIsLostOrInvented(t *testing.T) {
	p := newProgram(t)
	r := newReceiver(t)
	s := p.start(t, r)
	s.subscribe(t, r.url)
	l := startLoad(s)
	for range kills {
		time.Sleep(time.Duration(50+rand.IntN(500)) * time.Millisecond)
		s.kill(t)
		s = p.start(t, r)
		l.target(s)
	}
	time.Sleep(200 * time.Millisecond)
	made := l.stop()
	if len(made) < 10*kills {
		t.Fatalf("only %d creates were acknowledged: too little load to tell anything", len(made))
	}
	f := s.settle(t, r)
	f.acknowledged = made
	for _, complaint := range f.reconcile() {
		t.Error(complaint)
	}
	again := 0
	for _, n := range f.arrived {
		again += n - 1
	}
	t.Logf("%d kills: %d creates acknowledged, %d events, all delivered, %d of them again", kills, len(made), len(f.log), again)
	f.checkReconciler(t)
	s.terminate(t)
}

// findings is what is compared in the end.
type findings struct {
	log          []string       // ids of events
	arrived      map[string]int // at the receiver, how often
	acknowledged []string       // ids of projects
	projects     []string
}

// reconcile returns everything that contradicts the promise.
func (f findings) reconcile() (complaints []string) {
	for _, id := range f.log {
		if f.arrived[id] == 0 {
			complaints = append(complaints, "event "+id+" is in the log and did not arrive")
		}
	}
	for id := range f.arrived {
		if !slices.Contains(f.log, id) {
			complaints = append(complaints, "event "+id+" arrived and is not in the log")
		}
	}
	for _, id := range f.acknowledged {
		if !slices.Contains(f.projects, id) {
			complaints = append(complaints, "project "+id+" was acknowledged and is gone")
		}
	}
	if len(f.log) != len(f.projects) {
		complaints = append(complaints, fmt.Sprintf("%d projects were created by %d events", len(f.projects), len(f.log)))
	}
	return complaints
}

// checkReconciler takes one thing away after the other: each must be missed.
func (f findings) checkReconciler(t *testing.T) {
	t.Helper()
	without := map[string]int{}
	for _, id := range f.log[1:] {
		without[id] = 1
	}
	for what, g := range map[string]findings{
		"an arrival": {f.log, without, f.acknowledged, f.projects},
		"an event":   {f.log[1:], f.arrived, f.acknowledged, f.projects},
		"a project":  {f.log, f.arrived, f.acknowledged, f.projects[1:]},
	} {
		if len(g.reconcile()) == 0 {
			t.Errorf("%s was taken away, and nobody noticed", what)
		}
	}
}

// load creates projects from several clients until it is stopped.
type load struct {
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu     sync.Mutex // guards what follows
	server *server
	made   []string
}

func startLoad(s *server) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, server: s}
	for i := range clients {
		l.group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.create(fmt.Sprintf("project %d of client %d", n, i))
			}
		})
	}
	return l
}

// create makes one project; while the server is away it only waits a little.
func (l *load) create(name string) {
	l.mu.Lock()
	s := l.server
	l.mu.Unlock()
	var answer struct{ ID string }
	status, err := s.call(http.MethodPost, "/api/v1/projects", map[string]any{"name": name}, &answer)
	if err != nil || status != http.StatusCreated {
		time.Sleep(5 * time.Millisecond)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, answer.ID)
}

func (l *load) target(s *server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = s
}

func (l *load) stop() []string {
	l.cancel()
	l.group.Wait()
	return l.made
}
