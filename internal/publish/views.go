package publish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

const (
	// viewsEvery is how often views are written, and viewsAtOnce the number of shares in one
	// transaction.
	viewsEvery  = 5 * time.Second
	viewsAtOnce = 500
	// maxViewed is the largest number of shares held in memory. If more are viewed within
	// viewsEvery, the views of the others are not counted.
	maxViewed = 20_000
)

// views collects the views of shares, so that no page waits for a write.
type views struct {
	mu sync.Mutex // guards by
	by map[sheaf.ShareID]app.ShareViews
}

func newViews() *views { return &views{by: map[sheaf.ShareID]app.ShareViews{}} }

// note counts one view.
func (w *views) note(s sheaf.Shared, at time.Time) {
	w.add(app.ShareViews{Workspace: s.Workspace, Share: s.ID, Count: 1, At: at.UTC().Truncate(time.Millisecond)})
}

func (w *views) add(seen app.ShareViews) {
	w.mu.Lock()
	defer w.mu.Unlock()
	has, known := w.by[seen.Share]
	if !known && len(w.by) >= maxViewed {
		return
	}
	seen.Count += has.Count
	if has.At.After(seen.At) {
		seen.At = has.At
	}
	w.by[seen.Share] = seen
}

// drain returns what was collected, and resets the counts.
func (w *views) drain() (all []app.ShareViews) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, seen := range w.by {
		all = append(all, seen)
	}
	clear(w.by)
	return all
}

// run writes what was collected until ctx ends, and then the rest.
func (w *views) run(ctx context.Context, a *app.App, log *slog.Logger) error {
	tick := time.NewTicker(viewsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			w.flush(context.WithoutCancel(ctx), a, log)
			return nil
		case <-tick.C:
			w.flush(ctx, a, log)
		}
	}
}

// flush writes what was collected. If it fails, it is retried the next time.
func (w *views) flush(ctx context.Context, a *app.App, log *slog.Logger) {
	all := w.drain()
	for len(all) > 0 {
		n := min(len(all), viewsAtOnce)
		if err := a.CountViews(ctx, all[:n]); err != nil {
			log.Warn("could not write how often shares were seen", "error", err)
			for _, seen := range all {
				w.add(seen)
			}
			return
		}
		all = all[n:]
	}
}
