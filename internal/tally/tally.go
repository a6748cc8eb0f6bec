// Package tally counts requests and deliveries in memory, by workspace, and hands the counts on now
// and then, so that no request writes for a chart.
package tally

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/sheaf"
)

// every is how often the counts are handed on.
const every = 10 * time.Second

// Tally counts for every workspace. The nil Tally counts nothing. It is safe for concurrent use.
type Tally struct {
	now func() time.Time
	// workspaces has a *Counter by sheaf.WorkspaceID. Counters are never removed (some hundred
	// bytes each), so a caller may keep one and count in it forever.
	workspaces sync.Map
}

// New returns a Tally that has counted nothing. The clock tells which minute counts belong to.
func New(now func() time.Time) *Tally { return &Tally{now: now} }

// Of returns the counter of a workspace, the same each time. Callers that count often keep it.
func (t *Tally) Of(ws sheaf.WorkspaceID) *Counter {
	if t == nil {
		return nil
	}
	c, known := t.workspaces.Load(ws)
	if !known {
		c, _ = t.workspaces.LoadOrStore(ws, new(Counter))
	}
	return c.(*Counter)
}

// Counter counts what happened in one workspace since the counts were last handed on. The nil
// Counter counts nothing. It is safe for concurrent use, and no method blocks.
type Counter struct {
	requests, rateLimited, delivered, retried, failed atomic.Int64
	// tookSum and tookMax are how long attempts took, in nanoseconds: all together, and the
	// longest.
	tookSum, tookMax atomic.Int64
	// took counts attempts by how long they took, in the classes of sheaf.TookClass.
	took [len(sheaf.TookBounds) + 1]atomic.Int64
}

// Request counts a request to the API that came with a valid key.
func (c *Counter) Request() {
	if c != nil {
		c.requests.Add(1)
	}
}

// RateLimited counts a request that the rate limit refused. Request counts it too.
func (c *Counter) RateLimited() {
	if c != nil {
		c.rateLimited.Add(1)
	}
}

// Attempt counts an attempt to deliver an event: how long it took, whether the endpoint took the
// event (ok), and if not, whether the schedule has another attempt (more).
func (c *Counter) Attempt(took time.Duration, ok, more bool) {
	if c == nil {
		return
	}
	switch {
	case ok:
		c.delivered.Add(1)
	case more:
		c.retried.Add(1)
	default:
		c.failed.Add(1)
	}
	c.tookSum.Add(int64(took))
	c.took[sheaf.TookClass(took)].Add(1)
	for old := c.tookMax.Load(); int64(took) > old && !c.tookMax.CompareAndSwap(old, int64(took)); old = c.tookMax.Load() {
	}
}

// drain returns the counts and begins at zero again. What is counted meanwhile is in this drain or
// in the next, a part of one attempt perhaps in each.
func (c *Counter) drain() (out sheaf.Counts) {
	out = sheaf.Counts{Requests: c.requests.Swap(0), RateLimited: c.rateLimited.Swap(0), Delivered: c.delivered.Swap(0),
		Retried: c.retried.Swap(0), Failed: c.failed.Swap(0), TookSum: time.Duration(c.tookSum.Swap(0)), TookMax: time.Duration(c.tookMax.Swap(0))}
	for i := range c.took {
		out.Took[i] = c.took[i].Swap(0)
	}
	return out
}

// Take returns the minute that the counts are added to, and those of every workspace in which
// something happened; they begin at zero again.
func (t *Tally) Take() (minute time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) {
	by = map[sheaf.WorkspaceID]sheaf.Counts{}
	t.workspaces.Range(func(ws, c any) bool {
		if counts := c.(*Counter).drain(); counts != (sheaf.Counts{}) {
			by[ws.(sheaf.WorkspaceID)] = counts
		}
		return true
	})
	return t.now().Truncate(time.Minute), by
}

// Write adds counts to what is stored for a minute. It gets the same minute several times, each
// time with what happened since the last.
type Write func(ctx context.Context, minute time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) error

// Run hands the counts on until ctx ends, and once more then. Counts that could not be written are
// lost: they are for charts, and must not pile up.
func (t *Tally) Run(ctx context.Context, write Write, log *slog.Logger) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			t.flush(context.WithoutCancel(ctx), write, log)
			return nil
		case <-tick.C:
			t.flush(ctx, write, log)
		}
	}
}

func (t *Tally) flush(ctx context.Context, write Write, log *slog.Logger) {
	minute, by := t.Take()
	if len(by) == 0 {
		return
	}
	if err := write(ctx, minute, by); err != nil {
		log.Warn("could not write the counts for the charts", "error", err)
	}
}
