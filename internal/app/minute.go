package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// minutesAtOnce bounds one transaction: a writer waits for one at most.
const minutesAtOnce = 200

// AddMinute adds what this process counted to the charts, some workspaces at a time. With an error
// those that were not reached are left out.
func (a *App) AddMinute(ctx context.Context, at time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) error {
	// In one order, so that two nodes do not wait for each other in a circle.
	for some := range slices.Chunk(slices.Sorted(maps.Keys(by)), minutesAtOnce) {
		err := a.writeUnasked(ctx, func(tx *store.Tx) error {
			for _, ws := range some {
				if err := tx.AddMinute(ws, sheaf.Minute{At: at, Counts: by[ws]}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Minutes returns what was counted since then, by all nodes, oldest first; a minute in which
// nothing happened is left out.
func (a *App) Minutes(ctx context.Context, c Caller, since time.Time) ([]sheaf.Minute, error) {
	return read(ctx, a, c, scope(sheaf.EventsRead), func(r *store.Reader) ([]sheaf.Minute, error) { return r.Minutes(c.Workspace, since) })
}
