package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const (
	// searchTurn is how long a search waits for a slot of its workspace, and then again for a slot
	// among all searches.
	searchTurn = 10 * time.Second
	// searchWithin bounds the time of a search once it has its slots.
	searchWithin = 5 * time.Second
	// catchUpLook is how often a search checks again whether an index that lags too far has caught
	// up.
	catchUpLook = 50 * time.Millisecond
	// pairFrom is the number of candidates from which a search reads on two connections.
	pairFrom = 4000
	// denseFrom is the number of candidates in a chunk from which the whole chunk is read in order.
	// Reading in order costs a third as much per record.
	denseFrom = chunkPlaces / 3
)

// Refusals of a search that has begun.
var (
	errSlow = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
		Text: "the search took longer than 5 seconds and was ended: look for longer or for more words, or in one project"}
	errBehind = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
		Text: "the index of this workspace is being built or has much to catch up with: repeat the search after the seconds that Retry-After names"}
	errCrowded = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
		Text: "more searches are under way than can be served: repeat it after the seconds that Retry-After names"}
)

// View is a workspace's index as of one moment, with the parts that a search has to read.
type View struct {
	ctx   context.Context
	index *Index
	ws    sheaf.WorkspaceID
	query sheaf.SearchQuery
	words words
	space space // zero if there is no index; that is an empty one
	// readers are one or two snapshots of the index, the older one first. Two share the parts.
	readers []*engine.Reader
	parts   []part
}

// part is a range of places that a search reads: the records in `set` of a sealed chunk, or a whole
// chunk that is not sealed.
type part struct {
	first, end int64
	set        set
	n          int  // number of candidates
	terms      bool // the chunk has terms and heads
	live       int  // number of records in the chunk
	gone       set  // records that have left the chunk since it was full
}

// View calls fn with the current index. fn must take its snapshot of the store afterwards: then no
// change between the two goes unnoticed (Find). If the index lags too far, fn runs again on a newer
// view.
//
// View blocks until the search gets its turn. It returns Unavailable if the turn does not come, or
// if the search takes too long.
func (x *Index) View(ctx context.Context, ws sheaf.WorkspaceID, q sheaf.SearchQuery, fn func(context.Context, *View) error) error {
	w, err := parseWords(q)
	if err != nil {
		return err
	}
	began := x.Now()
	leave, err := x.place(ctx, ws)
	if err != nil {
		return err
	}
	defer leave()
	x.using.RLock()
	defer x.using.RUnlock()
	if err := x.Open(ctx); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, x.within, errSlow)
	defer cancel()
	v := &View{ctx: bounded, index: x, ws: ws, query: q, words: w}
	for err = v.attempt(fn); errors.Is(err, errBehind); err = v.attempt(fn) {
		select {
		case <-bounded.Done():
			return errBehind
		case <-time.After(catchUpLook):
		}
	}
	x.figures.took.Observe(x.Now().Sub(began).Seconds())
	if x.notice(err); err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return errSlow
	}
	return err
}

// place waits for a slot of the workspace, and then for a slot among all searches. leave gives both
// back.
func (x *Index) place(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	ended, err := x.turns.Acquire(ctx, string(ws))
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, cmp.Or(x.Patience, searchTurn), errCrowded)
	defer cancel()
	select {
	case x.places <- struct{}{}:
		return func() {
			<-x.places
			ended()
		}, nil
	case <-wait.Done():
		ended()
		if ctx.Err() != nil {
			return nil, sheaf.UnavailableError(ctx.Err())
		}
		return nil, errCrowded
	}
}

// attempt opens the view and calls fn.
func (v *View) attempt(fn func(context.Context, *View) error) error {
	return v.index.engine.Read(v.ctx, func(r *engine.Reader) error {
		serves, _, err := v.index.spacesOf(r, v.ws)
		if err != nil {
			return err
		}
		v.space, v.parts, v.readers = space{}, nil, []*engine.Reader{r}
		if serves == nil || serves.form != form {
			return fn(v.ctx, v)
		}
		v.space = *serves
		if err := v.findParts(r); err != nil {
			return err
		}
		if v.candidates() < v.index.pairs {
			return fn(v.ctx, v)
		}
		return v.index.engine.Read(v.ctx, func(second *engine.Reader) error {
			// The log names the records that changed between the two snapshots, but not records
			// that were only moved. If there may be any, one reader reads everything.
			again, _, err := v.index.spacesOf(second, v.ws)
			if err != nil {
				return err
			}
			if again != nil && again.number == v.space.number && again.moves == v.space.moves {
				v.readers = append(v.readers, second)
			}
			return fn(v.ctx, v)
		})
	})
}

func (v *View) candidates() (n int) {
	for i := range v.parts {
		n += v.parts[i].n
	}
	return n
}

// chunk is a full chunk.
type chunk struct {
	at     int64
	live   int
	sealed bool // it has grams, terms and heads
	gone   set
}

const selectChunks = `
SELECT at, live, sealed, gone
FROM search_chunks
WHERE at >= $1 AND at < $2 AND live > 0
ORDER BY at`

// findParts finds the parts that have to be read.
func (v *View) findParts(r *engine.Reader) error {
	scan := func(w *engine.Row) chunk { return chunk{w.Int(), int(w.Int()), w.Bool(), bitsOf(w.OptBlob())} }
	chunks, err := engine.All(r, selectChunks, scan, v.space.first(0), v.space.end())
	if err != nil {
		return err
	}
	var sealed []part
	for _, c := range chunks {
		p := part{first: c.at, end: c.at + chunkPlaces, set: all(), n: c.live, terms: c.sealed, live: c.live, gone: c.gone}
		if c.sealed {
			sealed = append(sealed, p)
		} else {
			v.parts = append(v.parts, p)
		}
	}
	if sealed, err = v.narrow(r, sealed); err != nil {
		return err
	}
	open := v.space.first(v.space.chunk)
	v.parts = append(append(sealed, v.parts...), part{first: open, end: open + chunkPlaces, set: all(), n: int(v.space.used)})
	slices.SortFunc(v.parts, func(a, b part) int { return int(a.first - b.first) })
	return nil
}

var selectSets = engine.NewBulk(`SELECT sets FROM search_grams WHERE at = {page}`, "", "page int")

// narrow keeps, in each sealed part, only the records that have all grams of all words. It drops
// parts without such records.
func (v *View) narrow(r *engine.Reader, parts []part) ([]part, error) {
	for _, word := range v.words.long {
		for _, bucket := range gramsOf(word) {
			if len(parts) == 0 {
				return nil, nil
			}
			pages := make([][]any, len(parts))
			for i := range parts {
				pages[i] = []any{parts[i].first + int64(bucket/perPage)}
			}
			sets := make([]set, len(parts)) // a missing page has only empty sets
			var page []byte
			err := r.Run(selectSets, pages, func(i int, w *engine.Row) {
				page = w.Into(page)
				sets[i] = readSet(page, bucket)
			})
			if err != nil {
				return nil, err
			}
			left := parts[:0]
			for i := range parts {
				if parts[i].set.keep(&sets[i]) {
					left = append(left, parts[i])
				}
			}
			parts = left
		}
	}
	for i := range parts {
		parts[i].n = min(parts[i].n, parts[i].set.count())
	}
	return parts, nil
}
