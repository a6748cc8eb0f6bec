package app

import (
	"context"
	"maps"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// minutesAtOnce bounds the workspaces of one transaction, and so how long other writes wait.
const minutesAtOnce = 200

// AddMinute adds the counts of this process to the charts, minutesAtOnce workspaces at a time. With
// an error, the workspaces that were not reached are left out.
func (a *App) AddMinute(ctx context.Context, at time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) error {
	// In one order, so that two nodes cannot deadlock.
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

// Minutes returns the counts of all nodes since `since`, oldest first. Minutes without counts are
// left out. The counts are of the whole workspace, so a restricted caller gets Forbidden.
func (a *App) Minutes(ctx context.Context, c Caller, since time.Time) ([]sheaf.Minute, error) {
	return read(ctx, a, c, whole(sheaf.EventsRead), func(r *store.Reader) ([]sheaf.Minute, error) { return r.Minutes(c.Workspace, since) })
}
