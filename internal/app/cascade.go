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
// subscription. docs/decisions/0016 gives the reasons for this design.

// Cascades bounds what a cascade does in one transaction.
type Cascades struct {
	// Whole is the largest number of records that a cascade changes in a single transaction. A
	// larger cascade is split into chunks, one transaction each.
	Whole int64
	// Rows is about how many rows a chunk writes, including deliveries. On SQLite all other writes
	// wait meanwhile.
	Rows int64
	// Moved is the largest number of documents below a document that is moved. They move in one
	// transaction. 0 means the usual bound.
	Moved int
	// Touched is the largest number of documents that a proposal changes, with those that are deleted,
	// restored or moved along with the documents of its changes. Accepting changes them in one
	// transaction. 0 means the usual bound.
	Touched int
	// Between, if set, is called between two chunks. Tests use it.
	Between func()
}

// WithCascades returns a copy of the rules with other bounds, so that tests of chunks need few
// records.
func (a *App) WithCascades(c Cascades) *App {
	other := *a
	other.cascades = c
	if c.Moved == 0 {
		other.cascades.Moved = standardCascades.Moved
	}
	if c.Touched == 0 {
		other.cascades.Touched = standardCascades.Touched
	}
	return &other
}

// standardCascades are the bounds in production. 3,000 rows are written in 30 to 45 ms.
var standardCascades = Cascades{Whole: 2_000, Rows: 3_000, Moved: 10_000, Touched: maxTouched}

// maxTouched is the usual Cascades.Touched.
const maxTouched = 10_000

const (
	// chunkMost bounds the records of a chunk. A record and its event may be 18 KB each.
	chunkMost = 250
	// cascadePage folders are read at a time, and at most flushEvents events are held in memory
	// before they are written. Of the records to change, mostShared are read at a time. Together
	// these bound the memory of a cascade.
	cascadePage = 250
	flushEvents = 250
	// lightRows is the largest number of rows of a light write, which need not wait for its turn
	// among the heavy ones.
	lightRows = 500
)

// stage is how far a cascade has got.
type stage int

const (
	light  stage = iota // nothing is done yet, and only a little may be
	heavy               // nothing is written yet, and this transaction holds the lock for large cascades
	chunks              // some chunks are done
)

// match checks a precondition before anything is done. Later chunks do not check it again: a 412
// would mean that nothing was done.
func (at stage) match(m sheaf.Match, revision int64) error {
	if at == chunks {
		return nil
	}
	return m.Check(revision)
}

// progress is what a transaction of a cascade did.
type progress int

const (
	nothing progress = iota // there is more than a light write may do
	part                    // a chunk
	all                     // the rest
)

// cascade runs act in one transaction after another until act returns `all`. Each transaction
// checks the caller's rights again and leaves everything consistent: after an error, the same
// request continues where this one ended. When the caller leaves, no further transaction begins.
//
// A workspace has at most one heavy cascade at a time. Other writes run between two of its
// transactions.
func (a *App) cascade(ctx context.Context, c Caller, needs need, act func(w *work, s stage) (progress, error)) error {
	if err := firstError(needs(c), c.Refusal); err != nil {
		return err
	}
	write := a.store.WriteIn
	for at := light; ; {
		var did progress
		err := write(ctx, c.Workspace, c.sight(), func(tx *store.Tx) (err error) {
			did, err = perform(tx, a, c, needs, func(w *work) (progress, error) { return act(w, at) })
			return err
		})
		if err != nil || did == all {
			return err
		}
		if at == light {
			leave, err := a.store.LockCascade(ctx, c.Workspace)
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

// writeWhole is write for a change of many records that must be one transaction. It calls act with
// the light stage first. If act returns errHeavy, writeWhole waits for this workspace's turn among
// the heavy writes and calls act again.
func writeWhole[T any](ctx context.Context, a *App, c Caller, needs need, fault error, act func(w *work, s stage) (T, error)) (T, error) {
	out, err := write(ctx, a, c, needs, fault, func(w *work) (T, error) {
		w.light = true
		return act(w, light)
	})
	if !errors.Is(err, errHeavy) {
		return out, err
	}
	leave, err := a.store.LockCascade(ctx, c.Workspace)
	if err != nil {
		return out, err
	}
	defer leave()
	err = a.store.WriteHeavyIn(ctx, c.Workspace, c.sight(), func(tx *store.Tx) (err error) {
		out, err = perform(tx, a, c, needs, func(w *work) (T, error) { return act(w, heavy) })
		return err
	})
	return out, err
}

// atOnce returns the largest number of documents that are deleted or restored in this transaction along
// with one document. Accepting a proposal is all or nothing, so its bound is the larger one.
func (w *work) atOnce() int64 {
	if w.writer != nil {
		return int64(w.app.cascades.Touched)
	}
	return w.app.cascades.Whole
}

// errHeavy is returned by the act of writeWhole, before it has changed anything, if there is more
// to do than a light write may.
var errHeavy = errors.New("this is for a transaction among the heavy ones")

// portion returns how many of the n records that are left this transaction may change: all of them
// (MaxInt64), a chunk, or 0 if there are too many for a light write. The more subscriptions there
// are, the more rows a record takes, and the smaller is a chunk.
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

// pages calls next for up to `most` records, one page at a time, until a page is not full. After
// each page it writes the events if there are many. It returns the number of records.
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

// flush writes the collected events if there are flushEvents or more.
func (w *work) flush() error {
	if len(w.events) < flushEvents || w.misplaced != nil {
		return w.misplaced
	}
	err := w.AppendEvents(&w.ws, w.events)
	clear(w.events)
	w.events = w.events[:0]
	return err
}
