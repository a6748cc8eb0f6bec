package search

import (
	"context"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// This file seals full chunks, empties sparse ones and removes spaces that are no longer needed.

const selectUnsealed = `
SELECT at
FROM search_chunks
WHERE at >= $1 AND at < $2 AND sealed = 0
ORDER BY at
LIMIT 1`

// sealing holds what is written for a chunk. It takes some megabytes, so it is allocated once for
// many chunks.
type sealing struct {
	grams gramSets
	terms *termSets
	heads heads
}

// tend does one piece of deferred work for a space, and reports whether there was any: it seals a
// chunk, or empties a sparse one.
func (x *Index) tend(ctx context.Context, s *space) (did bool, err error) {
	var at int64
	var what *sealing
	err = x.engine.Read(ctx, func(r *engine.Reader) error {
		if at, did, err = engine.One(r, selectUnsealed, (*engine.Row).Int, s.first(0), s.end()); err != nil {
			return err
		}
		if did {
			what = x.emptySealing()
			return what.read(r, at)
		}
		at, did, err = engine.One(r, selectSparse, (*engine.Row).Int, s.first(0), s.end())
		return err
	})
	switch {
	case err != nil || !did:
		return false, err
	case what != nil:
		return true, x.seal(ctx, at, what)
	}
	return true, x.gather(ctx, s, at)
}

// seal writes the sets, terms and heads of a full chunk. Until then every search reads the whole
// chunk.
func (x *Index) seal(ctx context.Context, at int64, what *sealing) error {
	var grams, terms [][]any
	for p := range pagesOfChunk {
		if page := what.grams.page(p); page != nil {
			grams = append(grams, []any{at + int64(p), page})
		}
	}
	what.terms.pages(func(names string, sets []byte) {
		terms = append(terms, []any{at + int64(len(terms)), names, sets})
	})
	return x.engine.Write(ctx, func(tx *engine.Tx) error {
		// Since it was read, records may have left the chunk, but none can have been added. So the
		// sets contain all its records and perhaps some too many, and the chunk notes which ones
		// are gone.
		n, err := tx.Changed(`UPDATE search_chunks SET sealed = 1 WHERE at = $1 AND sealed = 0`, at)
		if err != nil || n == 0 {
			return err
		}
		if err := tx.Run(insertGrams, grams, engine.Nothing); err != nil {
			return err
		}
		if err := tx.Run(insertTerms, terms, engine.Nothing); err != nil {
			return err
		}
		return tx.Exec(`INSERT INTO search_heads (at, heads) VALUES ($1, $2)`, at, what.heads.bytes())
	})
}

// emptySealing returns the empty buffers for sealing a chunk.
func (x *Index) emptySealing() *sealing {
	if x.sealing == nil {
		x.sealing = &sealing{terms: newTermSets()}
		return x.sealing
	}
	x.sealing.grams = gramSets{}
	x.sealing.terms.reset()
	x.sealing.heads = heads{rest: x.sealing.heads.rest[:0]}
	return x.sealing
}

const selectTextsOf = `
SELECT at, kind, id, parent, updated_at, title, body
FROM search_texts
WHERE at >= $1 AND at < $2
ORDER BY at`

// read collects grams, terms and heads of the chunk's records. It holds one record at a time.
func (s *sealing) read(r *engine.Reader, first int64) error {
	var one head
	var body []byte
	err := r.Query(selectTextsOf, func(w *engine.Row) {
		place := int(w.Int() - first)
		one.kind, one.id, one.parent, one.updated = w.Int(), w.ID(), w.ID(), w.Int()
		one.title = w.Into(one.title)
		body = w.Into(body)
		s.heads.add(place, &one)
		for _, text := range [][]byte{one.title, body} {
			s.grams.add(place, text)
			s.terms.add(place, text)
		}
	}, first, first+chunkPlaces)
	s.heads.unlisted = s.terms.unlisted
	return err
}

const selectSparse = `
SELECT at
FROM search_chunks
WHERE at >= $1 AND at < $2 AND sealed = 1 AND live * 2 < places
ORDER BY at
LIMIT 1`

var moveTexts = engine.NewBulk(`UPDATE search_texts SET at = {to} {rows} WHERE search_texts.at = {place}`, "", "place int", "to int")

// gather empties a chunk that has lost more than half of its records: the others move to the open
// chunk.
func (x *Index) gather(ctx context.Context, s *space, at int64) error {
	after := *s
	err := x.engine.Write(ctx, func(tx *engine.Tx) (err error) {
		after = *s
		if err := after.hold(tx); err != nil { // else another follower may have moved the records
			return err
		}
		moving, err := engine.All(&tx.Reader, `SELECT at, LENGTH(title) + LENGTH(body) FROM search_texts WHERE at >= $1 AND at < $2`,
			func(w *engine.Row) [2]int64 { return [2]int64{w.Int(), w.Int()} }, at, at+chunkPlaces)
		if err != nil {
			return err
		}
		for len(moving) > 0 {
			n, err := after.moveIn(tx, moving)
			if err != nil {
				return err
			}
			moving = moving[n:]
		}
		if err := dropChunk(tx, at); err != nil {
			return err
		}
		after.moves++
		return after.save(tx)
	})
	if err == nil {
		*s = after
	}
	return err
}

// moveIn moves records to the open chunk until that is full, and then closes the chunk. `moving`
// has the key and size of each record. moveIn returns the number of records moved.
func (s *space) moveIn(tx *engine.Tx, moving [][2]int64) (n int, err error) {
	var rows [][]any
	for ; n < len(moving) && !s.full(); n++ {
		rows = append(rows, []any{moving[n][0], s.first(s.chunk) + s.used})
		s.used++
		s.bytes += moving[n][1]
	}
	if err := tx.Run(moveTexts, rows, engine.Nothing); err != nil || !s.full() {
		return n, err
	}
	return n, s.close(tx)
}

// dropChunk deletes a chunk that has no records.
func dropChunk(tx *engine.Tx, at int64) error {
	for _, table := range []string{"search_grams", "search_terms", "search_heads"} {
		if err := tx.Exec(fmt.Sprintf("DELETE FROM %s WHERE at >= $1 AND at < $2", table), at, at+chunkPlaces); err != nil {
			return err
		}
	}
	return tx.Exec(`DELETE FROM search_chunks WHERE at = $1`, at)
}

// markLeaving marks the space for removal. removeSome deletes it in pieces.
func (s *space) markLeaving(tx *engine.Tx) error {
	if err := s.hold(tx); err != nil {
		return err
	}
	after := *s
	after.state = leaving
	return after.save(tx)
}

// leaveBatch is the number of rows of a leaving space that one transaction deletes.
const leaveBatch = 500

const selectLeaving = `
SELECT space
FROM search_spaces
WHERE state = 2
ORDER BY space
LIMIT 1`

// removeSome deletes one batch of rows of a leaving space, and reports whether there is such a
// space. Every pass calls it, so it reads before it writes: usually there is none. A space that is
// leaving never returns, so it may be read outside the transaction.
func (x *Index) removeSome(ctx context.Context) (found bool, err error) {
	var number int64
	err = x.engine.Read(ctx, func(r *engine.Reader) (err error) {
		number, found, err = engine.One(r, selectLeaving, (*engine.Row).Int)
		return err
	})
	if err != nil || !found {
		return false, err
	}
	return true, x.engine.Write(ctx, func(tx *engine.Tx) error {
		s := space{number: number}
		for _, table := range []string{"search_texts", "search_grams", "search_terms", "search_heads", "search_chunks"} {
			n, err := tx.Changed(fmt.Sprintf("DELETE FROM %s WHERE at IN (SELECT at FROM %s WHERE at >= $1 AND at < $2 ORDER BY at LIMIT $3)", table, table),
				s.first(0), s.end(), leaveBatch)
			if err != nil || n > 0 {
				return err
			}
		}
		return tx.Exec(`DELETE FROM search_spaces WHERE space = $1`, number)
	})
}

// Forget removes the index of a workspace that is being removed, and returns when nothing of it is left.
func (x *Index) Forget(ctx context.Context, ws sheaf.WorkspaceID) error {
	if err := x.Open(ctx); err != nil {
		return err
	}
	err := x.engine.Write(ctx, func(tx *engine.Tx) error {
		return tx.Exec(`UPDATE search_spaces SET state = 2, turn = turn + 1 WHERE workspace = $1 AND state <> 2`, wsBytes(ws))
	})
	for found := true; found && err == nil; {
		if err = ctx.Err(); err == nil {
			found, err = x.removeSome(ctx)
		}
	}
	if err == nil {
		x.engine.EmptyLog()
	}
	return err
}

// forgetGone marks the spaces of workspaces that no longer exist for removal.
func (x *Index) forgetGone(ctx context.Context) error {
	there := map[sheaf.WorkspaceID]int64{}
	err := x.Store.Read(ctx, func(r *store.Reader) error {
		return r.EachLog(func(ws sheaf.WorkspaceID, last int64) { there[ws] = last })
	})
	if err != nil {
		return err
	}
	return x.forget(ctx, there)
}

// forget marks all spaces of workspaces that are not in `there` for removal.
func (x *Index) forget(ctx context.Context, there map[sheaf.WorkspaceID]int64) error {
	var gone [][]byte
	err := x.engine.Read(ctx, func(r *engine.Reader) error {
		return r.Query(`SELECT DISTINCT workspace FROM search_spaces WHERE state <> 2`, func(w *engine.Row) {
			ws := w.ID()
			if _, ok := there[sheaf.WorkspaceID(sheaf.FormatUUID(ws))]; !ok {
				gone = append(gone, ws[:])
			}
		})
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return x.engine.Write(ctx, func(tx *engine.Tx) error {
		for _, ws := range gone {
			if err := tx.Exec(`UPDATE search_spaces SET state = 2, turn = turn + 1 WHERE workspace = $1`, ws); err != nil {
				return err
			}
		}
		return nil
	})
}
