package app

import (
	"context"
	"errors"
	"math"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A cascade is one request that changes many records. Deleting a folder moves all its projects,
// deleting a project unlinks all its documents. Each record has an event, with a delivery for each
// subscription. docs/decisions/0016 says why it is done like this.

// Cascades bounds what a cascade does in one transaction.
type Cascades struct {
	// Whole is the number of records up to which a cascade is one transaction. A larger one goes in
	// chunks, one transaction each.
	Whole int64
	// Rows is about how many rows a chunk writes, deliveries included. On SQLite everybody else waits
	// for the writer while they are written.
	Rows int64
	// Between, if it is set, is called between two chunks, by tests.
	Between func()
}

// WithCascades returns the rules with other bounds, so that tests of chunks need few records.
func (a *App) WithCascades(c Cascades) *App {
	other := *a
	other.cascades = c
	return &other
}

// standardCascades are the bounds in service. 3,000 rows are written in 30 to 45 ms.
var standardCascades = Cascades{Whole: 2_000, Rows: 3_000}

const (
	// chunkMost bounds the records of a chunk. A record and its event may be 18 KB each.
	chunkMost = 250
	// cascadePage is how many folders are read at a time, and flushEvents how many events are
	// gathered in memory before they are written: together they bound what a cascade holds. Of what
	// is changed, mostShared are read at a time.
	cascadePage = 250
	flushEvents = 250
	// lightRows is up to how many rows a cascade is a write as any other, which need not wait for
	// its turn among the heavy ones.
	lightRows = 500
)

// stage is how far a cascade has come.
type stage int

const (
	light  stage = iota // nothing was done, and little may be
	heavy               // nothing was done, and this transaction has its turn among the heavy ones
	chunks              // some chunks were done
)

// match judges a precondition before anything was done. Later chunks do not ask again: a 412 would
// say that nothing was done.
func (at stage) match(m sheaf.Match, revision int64) error {
	if at == chunks {
		return nil
	}
	return m.Check(revision)
}

// progress is what a transaction of a cascade did.
type progress int

const (
	nothing progress = iota // there is more than a light one may do
	part                    // a chunk
	all                     // the rest
)

// cascade runs act in one transaction after the other until act has done all. Each transaction asks
// again what the caller may do, and leaves everything consistent: after an error, the same request
// continues where this one ended. When the caller leaves, no further transaction begins.
//
// A workspace has one heavy cascade at a time. Between two transactions others write.
func (a *App) cascade(ctx context.Context, c Caller, needs need, act func(w *work, s stage) (progress, error)) error {
	if err := firstError(needs(c), c.Refusal); err != nil {
		return err
	}
	write := a.store.WriteIn
	for at := light; ; {
		var did progress
		err := write(ctx, c.Workspace, func(tx *store.Tx) (err error) {
			did, err = perform(tx, a, c, needs, func(w *work) (progress, error) { return act(w, at) })
			return err
		})
		if err != nil || did == all {
			return err
		}
		if at == light {
			leave, err := a.store.TurnOfHeavy(ctx, c.Workspace)
			if err != nil {
				return err
			}
			defer leave()
			write = a.store.WriteHeavyIn
			at = heavy
			continue
		}
		failpoint.Pass(failpoint.BetweenChunks)
		if a.cascades.Between != nil {
			a.cascades.Between()
		}
		at = chunks
	}
}

// writeWhole is write for a change of many records that must be one transaction. act is called as a
// light one first. If it returns errHeavy, it is called again when this workspace has its turn among
// the heavy ones.
func writeWhole[T any](ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work, s stage) (T, error)) (T, error) {
	out, err := write(ctx, a, c, needs, fault, func(w *work) (T, error) { return act(w, light) })
	if !errors.Is(err, errHeavy) {
		return out, err
	}
	leave, err := a.store.TurnOfHeavy(ctx, c.Workspace)
	if err != nil {
		return out, err
	}
	defer leave()
	err = a.store.WriteHeavyIn(ctx, c.Workspace, func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, c, needs, func(w *work) (T, error) { return act(w, heavy) })
		return err
	})
	return out, err
}

// errHeavy is returned by what writeWhole runs, before it has changed anything, when there is more to do
// than a write that waits for no turn may.
var errHeavy = errors.New("this is for a transaction among the heavy ones")

// portion returns how many of the n records that are left this transaction of a cascade may change:
// all of them, a chunk, or none, if there are too many for a transaction that has not waited for its
// turn. What a record costs depends on the number of subscriptions, and so does the size of a chunk.
func (w *work) portion(at stage, n int64) int64 {
	rows := 2 + w.ws.Subscriptions // the record, its event and the deliveries
	switch {
	case at == light && n*rows > min(lightRows, w.app.cascades.Rows):
		return 0
	case at != chunks && n <= w.app.cascades.Whole:
		return math.MaxInt64
	}
	return max(1, min(w.app.cascades.Rows/rows, chunkMost))
}

// pages calls next for at most `most` records, a page at a time, until a page is not full, and
// writes their events. It returns the number of records.
func (w *work) pages(most int64, next func(most int64) (n int64, err error)) (total int64, err error) {
	for total < most {
		page := min(mostShared, most-total)
		n, err := next(page)
		if err == nil {
			err = w.flush()
		}
		if err != nil {
			return total, err
		}
		total += n
		if n < page {
			break
		}
	}
	return total, nil
}

// flush writes the gathered events if there are many.
func (w *work) flush() error {
	if len(w.events) < flushEvents || w.misplaced != nil {
		return w.misplaced
	}
	err := w.AppendEvents(&w.ws, w.events)
	clear(w.events)
	w.events = w.events[:0]
	return err
}
