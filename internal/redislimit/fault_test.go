package redislimit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/redistest"
)

// Redis gets lost under load in all ways we know, and comes back.
func TestAdmit_WithoutRedisEachNodeHasItsShareAndReturns(t *testing.T) {
	t.Parallel()
	const limit, window = 30, time.Second
	for _, test := range []struct {
		name        string
		fault, heal func(*redistest.Server)
	}{
		{"stopped", (*redistest.Server).Stop, (*redistest.Server).Restart},
		{"frozen", (*redistest.Server).Freeze, (*redistest.Server).Thaw},
		{"read-only",
			func(s *redistest.Server) { s.Do("REPLICAOF", "127.0.0.1", "1") },
			func(s *redistest.Server) { s.Do("REPLICAOF", "NO", "ONE") }},
		{"out of memory",
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "1") },
			func(s *redistest.Server) { s.Do("CONFIG", "SET", "maxmemory", "0") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			budget := ample
			if test.name == "frozen" {
				budget = short
			}
			nodes := cluster(t, s, 3, window, budget)
			clients := startFlood(nodes, limit)
			// fill lets a whole window pass that began with what was admitted before, and waits until one of those after it
			// is as full as it may be. It returns the fullest.
			fill := func(what string, from time.Time, least int) int {
				from = from.Add(window + 100*time.Millisecond)
				time.Sleep(time.Until(from.Add(2 * window))) // the windows themselves, by the clock of a real Redis
				sheaftest.Eventually(t, fmt.Sprint(least, " in a window ", what), func() bool { return most(clients.since(from), window) >= least })
				return most(clients.since(from), window)
			}
			fill("at first", time.Now(), limit-1)
			acquainted(t, nodes) // also when the machine has stalled for so long that they took each other for gone
			test.fault(s)
			for _, n := range nodes {
				n.awaitDegraded(t, true)
			}
			without := fill("without Redis", time.Now(), limit-3)
			healed := time.Now()
			test.heal(s)
			for _, n := range nodes {
				n.awaitDegraded(t, false)
			}
			back := time.Now()
			after := fill("after the return", back, limit-1)
			whole := most(clients.end(), window)

			t.Logf("of %d in a window: %d at most, %d without Redis, %d after, back in %v", limit, whole, without, after, back.Sub(healed))
			if whole > 2*limit || without > limit || after > limit {
				t.Errorf("in a window %d, without Redis %d, after the return %d; the limit is %d", whole, without, after, limit)
			}
			for _, n := range nodes {
				n.awaitDegraded(t, false)
				lost, found := n.said("lost Redis"), n.said("reached Redis again")
				if lost != found || lost == 0 || budget == ample && lost > 1 {
					t.Errorf("said that Redis was lost %d times and found %d times, want once:\n%s", lost, found, n.log)
				}
			}
		})
	}
}

func TestAdmit_DegradedRequestsDoNotWait(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNodeWithin(t, s.URL(), time.Minute, short)
	s.Freeze()
	began := time.Now()
	n.admit(1000)
	if d := time.Since(began); d < short {
		t.Errorf("the first took %v, want the budget of %v", d, short)
	}
	took := make([]time.Duration, 999)
	for i := range took {
		began := time.Now()
		if !n.admit(1000) {
			t.Fatalf("refused after %d", i)
		}
		took[i] = time.Since(began)
	}
	if n.admit(1000) {
		t.Error("admitted beyond the limit")
	}
	slices.Sort(took)
	t.Logf("median %v, longest %v", took[500], took[998])
	if took[500] >= short {
		t.Errorf("the median is %v: they wait for Redis", took[500])
	}
}

func TestNew_WithoutRedisBeginsDegradedAndReturns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Stop()
	n := newNode(t, s.URL(), time.Minute)
	if st := n.State(); !st.Degraded || st.Nodes != 1 || n.said("lost Redis") != 1 {
		t.Fatalf("got %+v and the log\n%s", st, n.log)
	}
	for range 4 {
		n.admit(10)
	}
	s.Restart()
	n.awaitDegraded(t, false)
	admitted := 0
	for range 20 {
		if n.admit(10) {
			admitted++
		}
	}
	if admitted != 6 {
		t.Errorf("admitted %d with Redis after 4 without it, want 6", admitted)
	}
}

// What a node admitted while Redis worked counts when it is gone, and when it returns empty every node keeps to its
// share, in which all it has admitted counts.
func TestAdmit_NeitherLossNorReturnHandsOutAFreshLimit(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	other := newNode(t, s.URL(), time.Minute)
	sheaftest.Eventually(t, "two nodes", func() bool { return n.State().Nodes == 2 && other.State().Nodes == 2 })
	for range 4 {
		n.admit(20)
	}
	s.Stop()
	admitted := 0
	for range 50 {
		if n.admit(20) {
			admitted++
		}
	}
	if admitted != 6 {
		t.Errorf("admitted %d alone, want 6: the share of 10, less the 4 admitted earlier", admitted)
	}
	s.Restart() // and it has lost all data
	n.awaitDegraded(t, false)
	other.awaitDegraded(t, false)
	for range 50 {
		if other.admit(20) {
			admitted++
		}
		if n.admit(20) {
			t.Fatal("the node that had its share was given more")
		}
	}
	if admitted != 6+10 {
		t.Errorf("admitted %d since the stop, want 16", admitted)
	}
	if st := n.State(); st.Losses != 1 || n.said(lostData) != 1 || st.Nodes != 2 {
		t.Errorf("got %+v and the log\n%s", st, n.log)
	}
}

// lostData is what a node says when it has noticed.
const lostData = "Redis has lost its data"

func TestAdmit_AFlushedRedisLeavesEachNodeItsShare(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	nodes := cluster(t, s, 2, time.Minute, ample)
	for i, n := range []int{6, 4} {
		for range n {
			nodes[i].admit(10)
		}
	}
	s.Flush()
	sheaftest.Eventually(t, "both have noticed", func() bool { return nodes[0].said(lostData) == 1 && nodes[1].said(lostData) == 1 })
	for i, want := range []int{0, 1} {
		got := 0
		for range 20 {
			if nodes[i].admit(10) {
				got++
			}
		}
		if st := nodes[i].State(); got != want || st.Degraded {
			t.Errorf("node %d admitted %d more, want %d of its share of 5: %+v", i, got, want, st)
		}
	}
}

// The first node with a heartbeat after Redis has lost its data finds no other. It keeps its previous share for as
// long as shares apply.
func TestAdmit_AFlushedRedisDoesNotHideTheOtherNodes(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var passed atomic.Int64 // on the nodes' clock, beside what really passes
	now := func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
	var nodes []*Limiter
	for _, id := range []string{"first", "late"} { // and no Run: the test beats
		l, err := newLimiter(Config{URL: s.URL(), NodeID: id, Log: slog.New(slog.DiscardHandler), Now: now}, time.Minute, ample)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		nodes = append(nodes, l)
	}
	first, late := nodes[0], nodes[1]
	beat := func(l *Limiter) {
		t.Helper()
		if err := l.sync(l.server.Load()); err != nil {
			t.Fatal(err)
		}
	}
	sheaftest.Eventually(t, "two nodes", func() bool {
		beat(late)
		beat(first)
		return first.State().Nodes == 2
	})
	passed.Store(int64(2 * aliveFor)) // long after the start, when others may not be there yet
	s.Flush()
	beat(first)
	admitted := 0
	for range 20 {
		if first.Admit(t.Context(), "k", 20, none, now()).Admitted {
			admitted++
		}
	}
	if st := first.State(); admitted != 10 || st.Nodes != 2 {
		t.Errorf("admitted %d as one of %d nodes, want the share of 10 as one of 2", admitted, st.Nodes)
	}
	passed.Add(int64(time.Minute))
	beat(first)
	if st := first.State(); st.Nodes != 1 {
		t.Errorf("a minute later it is one of %d nodes, want 1: the other has not come back", st.Nodes)
	}
}

// A whole window after Redis lost its data, it has all admissions that count, and one node may have the
// whole limit again.
func TestAdmit_AWindowAfterALossOfDataOneNodeHasItAll(t *testing.T) {
	t.Parallel()
	const limit, window = 20, time.Second
	s := redistest.Start(t)
	nodes := cluster(t, s, 2, window, ample)
	burst := func(key int) (admitted int) {
		for range limit {
			if nodes[0].Admit(context.Background(), fmt.Sprint("key ", key), limit, none, time.Now()).Admitted {
				admitted++
			}
		}
		return admitted
	}
	s.Flush()
	sheaftest.Eventually(t, "it has noticed", func() bool { return nodes[0].said(lostData) == 1 })
	if now := time.Now(); nodes[0].sharing(now) { // unless the machine has stalled for that window
		if got := burst(0); got != limit/2 && nodes[0].sharing(time.Now()) {
			t.Errorf("admitted %d, want the share of %d", got, limit/2)
		}
	}
	key := 0
	sheaftest.Eventually(t, "the whole limit", func() bool { key++; return burst(key) == limit })
}

// A node's own admissions bind it, be Redis without data or without memory.
func TestAdmit_OneNodeNeverExceedsTheLimitWhateverRedisSays(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	began, admitted := time.Now(), 0
	for range 100 {
		s.Do("DEL", "sheaf:rate:k")
		if n.admit(10) {
			admitted++
		}
	}
	if admitted != 10 {
		t.Errorf("admitted %d, want 10", admitted)
	}
	if d := n.Admit(context.Background(), "k", 10, none, time.Now()); d.RetryAfter < 59-int(time.Since(began).Seconds()) || d.RetryAfter > 60 {
		t.Errorf("got %+v, want to wait for the rest of the minute", d)
	}
	if got := s.Do("LLEN", "sheaf:rate:k"); got != int64(0) {
		t.Errorf("Redis counts %v requests that were refused, at the cost of other nodes", got)
	}
}

func TestAdmit_AFlushedScriptCacheGoesUnnoticed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	for i := range 5 {
		s.Do("SCRIPT", "FLUSH")
		if d := n.Admit(context.Background(), "k", 10, none, time.Now()); !d.Admitted || d.Remaining != 9-i {
			t.Errorf("request %d: got %+v", i, d)
		}
	}
	if n.State().Losses != 0 {
		t.Errorf("Redis was lost:\n%s", n.log)
	}
}

func TestAdmit_TheShareIsNeverNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	nodes := cluster(t, s, 3, time.Minute, ample)
	s.Stop()
	for i, n := range nodes {
		if first, second := n.admit(2), n.admit(2); !first || second {
			t.Errorf("node %d admitted %v, %v, want one", i, first, second)
		}
	}
}

func TestState_ANodeThatLeavesOrDiesIsNotCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := newNode(t, s.URL(), time.Minute)
	dead, err := newLimiter(Config{URL: s.URL(), NodeID: "dead", Log: n.Log, Now: time.Now}, time.Minute, ample) // and no Run
	if err != nil {
		t.Fatal(err)
	}
	defer dead.Close()
	t.Run("another", func(t *testing.T) {
		newNode(t, s.URL(), time.Minute)
		sheaftest.Eventually(t, "three nodes", func() bool {
			if err := dead.sync(dead.server.Load()); err != nil { // for the last time when all three are seen
				t.Fatal(err)
			}
			return n.State().Nodes == 3
		})
	})
	if left, err := redis.Int(s.Do("ZCARD", "sheaf:nodes"), nil); left != 2 || err != nil {
		t.Errorf("%d nodes are noted, want 2: %v", left, err)
	}
	sheaftest.Eventually(t, "one node", func() bool { return n.State().Nodes == 1 })
}
