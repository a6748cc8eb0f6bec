package nodes

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaftest/pgtest"
)

// leaseSpare is what a claim lasts beyond an attempt's time.
const leaseSpare = 5 * time.Second

// However many nodes: an endpoint never gets more than nodes × cap requests at once.
func TestCap_OfOneEndpointAcrossNodes(t *testing.T) {
	t.Parallel()
	const nodes = 3
	r := newReceiver(t)
	s := newSite(t, pgtest.URL(t), "--webhook-ca-file", r.roots, "--webhook-timeout", "5m")
	var all []*node
	for range nodes {
		all = append(all, s.start())
	}
	all[0].subscribe(r.url)
	r.hold()
	events := nodes*deliver.LaneCap + 30
	var group sync.WaitGroup
	for i := range events {
		group.Go(func() { all[i%nodes].newProject(fmt.Sprint("p", i)) })
	}
	group.Wait()
	within(t, patience, "every node sends what it may", func() bool { now, _ := r.flight(); return now >= nodes*deliver.LaneCap })
	time.Sleep(time.Second) // two polls of each node, which must not find room
	_, most := r.flight()
	if most > nodes*deliver.LaneCap {
		t.Errorf("%d requests at once from %d nodes", most, nodes)
	}
	r.open()
	within(t, patience, "all arrive", func() bool { return len(r.counts()) == events })
	figure(t, "one endpoint, %d nodes: %d requests at once at most, %d allowed; all %d events arrived", nodes, most, nodes*deliver.LaneCap, events)
}

// What a killed node was sending is taken up by another within its lease and a second.
func TestKill_ClaimsAreTakenUp(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	r := newReceiver(t)
	s := newSite(t, pgtest.URL(t), "--webhook-ca-file", r.roots, "--webhook-timeout", timeout.String(),
		"--webhook-retry-delays", "1s,1s,30s") // more than a minute until an attempt that is held is the last
	dying, other := s.start(), s.start()
	dying.subscribe(r.url)
	other.signal(syscall.SIGSTOP) // so that all claims are the dying node's
	r.hold()
	const events = deliver.LaneCap
	var group sync.WaitGroup
	for i := range events {
		group.Go(func() { dying.newProject(fmt.Sprint("p", i)) })
	}
	group.Wait()
	within(t, patience, "all are being sent", func() bool { return len(r.counts()) == events })
	dying.kill()
	claimed := map[string]time.Time{}
	before := r.journal()
	for _, a := range before {
		claimed[a.event] = a.at // the last, if the machine is so slow that an attempt ran into its timeout
	}
	other.signal(syscall.SIGCONT)
	r.open()
	again := map[string]time.Duration{}
	within(t, patience, "all arrive again", func() bool {
		for _, a := range r.journal()[len(before):] {
			if _, seen := again[a.event]; !seen {
				again[a.event] = a.at.Sub(claimed[a.event])
			}
		}
		return len(again) == events
	})
	slowest := slices.Max(slices.Collect(maps.Values(again)))
	// A second for the look that finds it, and what a busy machine adds; without a lease it would never come.
	if limit := promised(2 * (timeout + leaseSpare)); slowest > limit {
		t.Errorf("the slowest was taken up after %v, want %v", slowest, limit)
	}
	figure(t, "%d attempts cut off by SIGKILL: all taken up by the other node, the slowest after %v (lease %v)", events,
		slowest.Round(time.Millisecond), timeout+leaseSpare)
}
