package search

import (
	"bytes"
	"context"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

const selectAllSpaces = `
SELECT workspace, space, state, form, asked, cursor, mark
FROM search_spaces`

// selectToTend finds the spaces for which tend has something to do.
const selectToTend = `
SELECT DISTINCT at / 4294967296
FROM search_chunks
WHERE sealed < 2 OR live * 2 < places`

// resume notes which workspaces the index has taken in whole, by one look at all spaces and one at
// the ends of all logs: step would ask ten times for each. What is in doubt is left to step.
func (x *Index) resume(ctx context.Context) error {
	spaces := map[sheaf.WorkspaceID][]space{}
	toTend := map[int64]bool{}
	err := x.engine.Read(ctx, func(r *engine.Reader) error {
		err := r.Query(selectAllSpaces, func(w *engine.Row) {
			ws := sheaf.WorkspaceID(sheaf.FormatUUID(w.ID()))
			spaces[ws] = append(spaces[ws], space{number: w.Int(), state: w.Int(), form: w.Int(), asked: w.Int(), cursor: w.Int(), mark: w.OptBlob()})
		})
		if err != nil {
			return err
		}
		return r.Query(selectToTend, func(w *engine.Row) { toTend[w.Int()] = true })
	})
	if err != nil {
		return fmt.Errorf("look at the index of search: %w", err)
	}
	return x.Store.Read(ctx, func(r *store.Reader) error {
		asked, err := r.ReindexAsked()
		if err != nil {
			return err
		}
		x.figures.asked.Store(asked)
		return r.EachLogEnd(func(ws sheaf.WorkspaceID, last int64, event *sheaf.EventID) {
			if len(spaces[ws]) != 1 {
				return
			}
			s := &spaces[ws][0]
			isWhole := s.state == serving && s.form == form && s.asked >= asked && !toTend[s.number]
			// Where the newest event is not kept, none is: see follows.
			if isWhole && s.cursor == last && (event == nil || bytes.Equal(s.mark, bytesOf(*event))) {
				x.known[ws] = last
			}
		})
	})
}
