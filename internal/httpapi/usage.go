package httpapi

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

const (
	// usageEvery is how often uses are written, each key at most once in
	// usageRest.
	usageEvery = time.Second
	usageRest  = time.Minute
)

// usage gathers when keys were used, so that no request writes.
type usage struct {
	mu      sync.Mutex // guards both maps
	pending map[sheaf.KeyID]app.KeyUse
	written map[sheaf.KeyID]time.Time
}

func newUsage() *usage {
	return &usage{pending: map[sheaf.KeyID]app.KeyUse{}, written: map[sheaf.KeyID]time.Time{}}
}

func (u *usage) note(c *app.Caller, at time.Time) {
	u.mu.Lock()
	u.pending[c.Key.ID] = app.KeyUse{Workspace: c.Workspace, Key: c.Key.ID, At: at}
	u.mu.Unlock()
}

// due takes the uses of keys that were not written lately, or with all every one.
func (u *usage) due(all bool) []app.KeyUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	var out []app.KeyUse
	for id, use := range u.pending {
		if all || use.At.Sub(u.written[id]) >= usageRest {
			out = append(out, use)
			u.written[id] = use.At
			delete(u.pending, id)
		}
	}
	return out
}

func (u *usage) run(ctx context.Context, a *app.App, log *slog.Logger) error {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			u.flush(context.WithoutCancel(ctx), a, log, true)
			return nil
		case <-tick.C:
			u.flush(ctx, a, log, false)
		}
	}
}

func (u *usage) flush(ctx context.Context, a *app.App, log *slog.Logger, all bool) {
	uses := u.due(all)
	if len(uses) == 0 {
		return
	}
	if err := a.TouchKeys(ctx, uses); err != nil {
		log.Warn("could not write when keys were used", "error", err)
	}
}
