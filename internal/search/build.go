package search

import (
	"context"
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// manyBuilt is the number of indexed records after which tidy returns memory to the system.
const manyBuilt = 2000

// build adds the next batch of the workspace's records to `built`, a space that is being filled.
// Once it has every kind of record, `built` follows the log. It starts to serve, in place of
// `serves`, when it has caught up and all its chunks are sealed.
func (x *Index) build(ctx context.Context, ws sheaf.WorkspaceID, serves, built *space) error {
	x.figures.builds(ws, x.Now())
	if int(built.kind) == len(kinds) {
		more, err := x.advance(ctx, ws, built)
		if err != nil || more {
			return err
		}
		return x.replaceServing(ctx, serves, built)
	}
	b, err := x.next(ctx, ws, built)
	if err != nil {
		return fmt.Errorf("read what to build: %w", err)
	}
	x.built += len(b.ids)
	after := *built
	after.kind, after.upTo = b.kind, b.upTo
	return x.writeBatch(ctx, built, after, b)
}

// next reads the next batch of records to build, from one snapshot of the store.
func (x *Index) next(ctx context.Context, ws sheaf.WorkspaceID, s *space) (b batch, err error) {
	var found []store.Findable
	t := kinds[s.kind]
	err = x.Store.Read(ctx, func(r *store.Reader) error {
		b, found = batch{kind: s.kind + 1}, nil
		list, err := r.NumberedAfter(ws, t, s.upTo, batchChanges)
		if err != nil || len(list) == 0 {
			return err
		}
		var n int
		found, n, err = readGroups(r, ws, list, func(at *store.Numbered) (sheaf.SearchType, string) { return t, at.ID })
		if err != nil {
			return err
		}
		b.kind, b.upTo = s.kind, list[n-1].Number
		for _, at := range list[:n] {
			b.ids = append(b.ids, idOf(at.ID))
		}
		return nil
	})
	b.fold(found)
	return b, err
}

// replaceServing makes `built` the space that searches read, and marks `serves`, if there is one,
// for removal.
func (x *Index) replaceServing(ctx context.Context, serves, built *space) error {
	return x.engine.Write(ctx, func(tx *engine.Tx) error {
		if serves != nil {
			if err := serves.markLeaving(tx); err != nil {
				return err
			}
		}
		if err := built.hold(tx); err != nil {
			return err
		}
		after := *built
		after.state = serving
		return after.save(tx)
	})
}

const countBuilt = `
SELECT COUNT(*)
FROM search_spaces
WHERE state = 1 AND form = $1 AND asked >= $2`

// Built returns how many workspaces have been reindexed since the reindex request number `asked`,
// and how many workspaces there are.
func (x *Index) Built(ctx context.Context, asked int64) (done, all int, err error) {
	if err := x.Open(ctx); err != nil {
		return 0, 0, err
	}
	err = x.engine.Read(ctx, func(r *engine.Reader) error {
		n, err := r.Count(countBuilt, form, asked)
		done = int(n)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	err = x.Store.Read(ctx, func(r *store.Reader) error {
		return r.EachLog(func(sheaf.WorkspaceID, int64) { all++ })
	})
	return min(done, all), all, err
}
