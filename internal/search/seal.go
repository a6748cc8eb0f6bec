package search

import (
	"context"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// What is done to chunks once they are full, and to spaces that nobody needs.

const selectUnsealed = `
SELECT at
FROM search_chunks
WHERE at >= $1 AND at < $2 AND sealed = 0
ORDER BY at
LIMIT 1`

// seal writes the sets of one full chunk of the space that has none yet, and reports whether there
// was one. Until then the chunk is read whole by whoever searches.
func (x *Index) seal(ctx context.Context, s *space) (did bool, err error) {
	var at int64
	var grams *gramSets
	err = x.engine.Read(ctx, func(r *engine.Reader) error {
		if at, did, err = engine.One(r, selectUnsealed, (*engine.Row).Int, s.first(0), s.end()); err != nil || !did {
			return err
		}
		grams = x.emptyGrams()
		return readGrams(r, at, grams)
	})
	if err != nil || !did {
		return false, err
	}
	rows := make([][]any, 0, pagesOfChunk)
	for p := range pagesOfChunk {
		if page := grams.page(p); page != nil {
			rows = append(rows, []any{at + int64(p), page})
		}
	}
	return true, x.engine.Write(ctx, func(tx *engine.Tx) error {
		// Records may have left the chunk meanwhile, and none came: the sets are never too small.
		n, err := tx.Changed(`UPDATE search_chunks SET sealed = 1 WHERE at = $1 AND sealed = 0`, at)
		if err != nil || n == 0 {
			return err
		}
		return tx.Run(insertGrams, rows, engine.Nothing)
	})
}

// emptyGrams returns the sets of a chunk, all empty. They are three megabytes, and made once while
// many chunks are sealed.
func (x *Index) emptyGrams() *gramSets {
	if x.grams == nil {
		x.grams = new(gramSets)
	} else {
		*x.grams = gramSets{}
	}
	return x.grams
}

const selectTextsOf = `
SELECT at, title, body
FROM search_texts
WHERE at >= $1 AND at < $2`

// readGrams gathers the grams of the chunk's records, of which it holds one at a time.
func readGrams(r *engine.Reader, first int64, grams *gramSets) error {
	var text []byte
	return r.Query(selectTextsOf, func(w *engine.Row) {
		place := int(w.Int() - first)
		text = w.Into(text)
		grams.add(place, text)
		text = w.Into(text)
		grams.add(place, text)
	}, first, first+chunkPlaces)
}

const selectSparse = `
SELECT at
FROM search_chunks
WHERE at >= $1 AND at < $2 AND sealed = 1 AND live * 2 < places
ORDER BY at
LIMIT 1`

var moveTexts = engine.NewBulk(`UPDATE search_texts SET at = {to} {rows} WHERE search_texts.at = {place}`, "", "place int", "to int")

// gather empties one chunk of which more than half is gone: its records move to the open chunk. It
// reports whether there was one.
func (x *Index) gather(ctx context.Context, s *space) (did bool, err error) {
	after := *s
	err = x.engine.Write(ctx, func(tx *engine.Tx) (err error) {
		after = *s
		if err := after.hold(tx); err != nil {
			return err
		}
		var at int64
		if at, did, err = engine.One(&tx.Reader, selectSparse, (*engine.Row).Int, s.first(0), s.end()); err != nil || !did {
			return err
		}
		moving, err := engine.All(&tx.Reader, `SELECT at, LENGTH(title) + LENGTH(body) FROM search_texts WHERE at >= $1 AND at < $2`,
			func(w *engine.Row) [2]int64 { return [2]int64{w.Int(), w.Int()} }, at, at+chunkPlaces)
		if err != nil {
			return err
		}
		for len(moving) > 0 {
			n, err := after.takeIn(tx, moving)
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
	if err == nil && did {
		*s = after
	}
	return did, err
}

// takeIn moves as many records as the open chunk takes to it, each given by its key and its size,
// and closes it when it is full.
func (s *space) takeIn(tx *engine.Tx, moving [][2]int64) (n int, err error) {
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

// dropChunk forgets a chunk that has no records.
func dropChunk(tx *engine.Tx, at int64) error {
	if err := tx.Exec(`DELETE FROM search_grams WHERE at >= $1 AND at < $2`, at, at+chunkPlaces); err != nil {
		return err
	}
	return tx.Exec(`DELETE FROM search_chunks WHERE at = $1`, at)
}

// leaveBatch is how many rows of a space that leaves are removed in a transaction.
const leaveBatch = 500

const selectLeaving = `
SELECT space
FROM search_spaces
WHERE state = 2
ORDER BY space
LIMIT 1`

// removeSome removes some rows of a space that leaves, and reports whether there was one.
func (x *Index) removeSome(ctx context.Context) (did bool, err error) {
	err = x.engine.Write(ctx, func(tx *engine.Tx) error {
		number, found, err := engine.One(&tx.Reader, selectLeaving, (*engine.Row).Int)
		if did = found; err != nil || !found {
			return err
		}
		s := space{number: number}
		for _, table := range []string{"search_texts", "search_grams", "search_chunks"} {
			n, err := tx.Changed(fmt.Sprintf("DELETE FROM %s WHERE at IN (SELECT at FROM %s WHERE at >= $1 AND at < $2 ORDER BY at LIMIT $3)", table, table),
				s.first(0), s.end(), leaveBatch)
			if err != nil || n > 0 {
				return err
			}
		}
		return tx.Exec(`DELETE FROM search_spaces WHERE space = $1`, number)
	})
	return did, err
}

// forget has all spaces of workspaces leave that are no longer there.
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
