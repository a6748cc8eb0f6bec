package redislimit

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests mostly wait for Redis to be lost and found
		panic(err)
	}
	goleak.VerifyTestMain(sheaftest.Patient(m))
}

var none ratewindow.Group // a request of a key alone

// node is a Limiter with what a test wants to know of it.
type node struct {
	*Limiter
	log *sheaftest.Output
}

// said is how often the log has a message.
func (n *node) said(message string) int { return strings.Count(n.log.String(), message) }

var names atomic.Int64

// Time limits of the tests for one request to Redis: one that no busy machine reaches, and one for tests that
// freeze Redis, which only a time-out detects.
const (
	ample = 5 * time.Minute
	short = 5 * time.Second
)

// newNode returns a running node with that window, which ends with the test.
func newNode(t testing.TB, url string, window time.Duration) *node {
	t.Helper()
	return newNodeWithin(t, url, window, ample)
}

// newNodeWithin returns a node with that budget.
func newNodeWithin(t testing.TB, url string, window, budget time.Duration) *node {
	t.Helper()
	n := &node{log: new(sheaftest.Output)}
	var err error
	n.Limiter, err = newLimiter(Config{
		URL:    url,
		NodeID: fmt.Sprint("node-", names.Add(1)),
		Log:    slog.New(slog.NewTextHandler(n.log, nil)),
		Now:    time.Now,
	}, window, budget)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return n
}

// admit asks once, now.
func (n *node) admit(limit int) bool {
	return n.Admit(context.Background(), "k", limit, none, time.Now()).Admitted
}

func (n *node) awaitDegraded(t testing.TB, want bool) {
	t.Helper()
	sheaftest.Eventually(t, fmt.Sprintf("degraded %v", want), func() bool { return n.State().Degraded == want })
}

// cluster is several nodes on one Redis, who know of each other.
func cluster(t testing.TB, s *redistest.Server, size int, window, budget time.Duration) []*node {
	t.Helper()
	nodes := make([]*node, size)
	for i := range nodes {
		nodes[i] = newNodeWithin(t, s.URL(), window, budget)
	}
	acquainted(t, nodes)
	return nodes
}

// acquainted returns when the nodes know of each other.
func acquainted(t testing.TB, nodes []*node) {
	t.Helper()
	sheaftest.Eventually(t, "all nodes see each other", func() bool {
		return !slices.ContainsFunc(nodes, func(n *node) bool { return n.State().Nodes != len(nodes) })
	})
}

// flood is 64 clients who ask the nodes for one key, until it is stopped.
type flood struct {
	stop    chan struct{}
	clients sync.WaitGroup
	refused atomic.Int64

	mu       sync.Mutex // guards admitted
	admitted []span     // in the order of the answers
}

func startFlood(nodes []*node, limit int) *flood {
	f := &flood{stop: make(chan struct{})}
	for i := range 64 {
		n := nodes[i%len(nodes)]
		f.clients.Go(func() {
			for {
				select {
				case <-f.stop:
					return
				default:
				}
				asked := time.Now()
				if n.Admit(context.Background(), "k", limit, none, asked).Admitted {
					f.mu.Lock()
					f.admitted = append(f.admitted, span{asked, time.Now()})
					f.mu.Unlock()
				} else {
					f.refused.Add(1)
					time.Sleep(time.Millisecond) // the pace of a client that is refused
				}
			}
		})
	}
	return f
}

// since returns the admissions that were asked after a moment, and answered by now.
func (f *flood) since(from time.Time) []span {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.admitted), func(s span) bool { return s.asked.Before(from) })
}

// end stops the clients, and returns all admissions.
func (f *flood) end() []span {
	close(f.stop)
	f.clients.Wait()
	return f.admitted
}

// span is when a request was asked and answered: it was admitted some time between.
type span struct{ asked, answered time.Time }

// most returns the most admissions that surely lie within one window, both ends included.
func most(admitted []span, window time.Duration) int {
	best := 0
	for _, from := range admitted {
		n := 0
		for _, s := range admitted {
			if !s.asked.Before(from.asked) && s.answered.Sub(from.asked) <= window {
				n++
			}
		}
		best = max(best, n)
	}
	return best
}
