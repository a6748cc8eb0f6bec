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
	now        func() time.Time
	workspaces sync.Map // of *Counter by sheaf.WorkspaceID; one that was seen stays, at some hundred bytes
}

// New returns a Tally on that clock.
func New(now func() time.Time) *Tally { return &Tally{now: now} }

// Of returns the counter of a workspace, the same each time: whoever counts often keeps it.
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

// Counter counts for one workspace, since it was last taken. The nil Counter counts nothing.
type Counter struct {
	requests, rateLimited, delivered, retried, failed atomic.Int64
	tookSum, tookMax                                  atomic.Int64                            // of attempts, in nanoseconds
	took                                              [len(sheaf.TookBounds) + 1]atomic.Int64 // attempts by how long they took, as sheaf.TookClass has it
}

// Request counts one of the API.
func (c *Counter) Request() {
	if c != nil {
		c.requests.Add(1)
	}
}

// RateLimited counts a request that was refused for being one too many.
func (c *Counter) RateLimited() {
	if c != nil {
		c.rateLimited.Add(1)
	}
}

// Attempt counts one of a delivery. more says that another one follows.
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

// Write keeps the counts of a minute.
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
