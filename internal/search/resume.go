package search

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

const selectAllSpaces = `
SELECT workspace, space, state, form, asked, cursor, mark
FROM search_spaces`

// selectToTend finds the spaces that have work for tend.
const selectToTend = `
SELECT DISTINCT at / 4294967296
FROM search_chunks
WHERE sealed = 0 OR live * 2 < places`

// resume records which workspaces are completely indexed. It reads all spaces once and the ends of
// all logs once, where step would need ten queries per workspace. Workspaces that are in doubt are
// left to step.
func (x *Index) resume(ctx context.Context) error {
	type reached struct {
		whole         bool // there is one space, and it only needs to follow
		asked, cursor int64
		mark          id
	}
	spaces := map[id]reached{}
	err := x.engine.Read(ctx, func(r *engine.Reader) error {
		toTend := map[int64]bool{}
		if err := r.Query(selectToTend, func(w *engine.Row) { toTend[w.Int()] = true }); err != nil {
			return err
		}
		return r.Query(selectAllSpaces, func(w *engine.Row) {
			ws, number, state, formOf := w.ID(), w.Int(), w.Int(), w.Int()
			_, second := spaces[ws]
			spaces[ws] = reached{!second && state == serving && formOf == form && !toTend[number], w.Int(), w.Int(), w.ID()}
		})
	})
	if err != nil {
		return err
	}
	return x.Store.ReadLong(ctx, func(r *store.Reader) error {
		asked, err := r.ReindexAsked()
		if err != nil {
			return err
		}
		x.figures.asked.Store(asked)
		return r.EachLogEnd(func(ws sheaf.WorkspaceID, last int64, event *sheaf.EventID) {
			s := spaces[idOf(string(ws))]
			// If the log does not have its newest event, it has none: see follows.
			goesOn := event == nil || s.mark == idOf(string(*event)[len(sheaf.EventPrefix):])
			if s.whole && s.asked >= asked && s.cursor == last && goesOn {
				x.known[ws] = last
			}
		})
	})
}
