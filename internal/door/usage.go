package door

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

const (
	// usageEvery is the interval at which uses are written, each key at most once in usageRest.
	usageEvery = time.Second
	usageRest  = time.Minute
	// usageKept is the number of rounds for which an unused key is remembered.
	usageKept = 120
)

// usage collects when and how often keys were used, so that requests need not write that. A request takes
// no lock unless it is the first of its key.
type usage struct {
	tally *tally.Tally
	keys  sync.Map // of *keyUse by sheaf.KeyID
}

// keyUse is what is known of one key. Requests set last; the other fields belong to run.
type keyUse struct {
	workspace sheaf.WorkspaceID
	tally     *tally.Counter // counter of the workspace
	last      atomic.Int64   // when it was used last, in nanoseconds
	written   int64          // the last that was written
	idle      int            // rounds since it was last used
}

// pending is a use that must be written, and the entry to mark as written.
type pending struct {
	use  *keyUse
	last int64
	app.KeyUse
}

// note counts a request of a key, and returns the counter of its workspace.
func (u *usage) note(c *app.Caller, at time.Time) *tally.Counter {
	k, known := u.keys.Load(c.Key.ID)
	if !known {
		k, _ = u.keys.LoadOrStore(c.Key.ID, &keyUse{workspace: c.Workspace, tally: u.tally.Of(c.Workspace)})
	}
	use := k.(*keyUse)
	use.last.Store(at.UnixNano())
	use.tally.Request()
	return use.tally
}

// due returns the uses that were not written lately, or every use if all is true. It forgets keys that are
// no longer used.
func (u *usage) due(all bool) (out []pending) {
	u.keys.Range(func(id, k any) bool {
		use := k.(*keyUse)
		last := use.last.Load()
		switch {
		case last == use.written:
			u.forget(id, use)
		case all || last-use.written >= int64(usageRest):
			use.idle = 0
			out = append(out, pending{use, last, app.KeyUse{Workspace: use.workspace, Key: id.(sheaf.KeyID), At: time.Unix(0, last)}})
		}
		return true
	})
	return out
}

// forget drops a key that was idle for long enough, unless a request used it at the same moment.
func (u *usage) forget(id any, use *keyUse) {
	if use.idle++; use.idle <= usageKept {
		return
	}
	u.keys.Delete(id)
	if use.last.Load() != use.written {
		u.keys.LoadOrStore(id, use)
	}
}

// run writes uses until ctx ends, and then what is left.
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

// flush writes the uses that are due. Those that could not be written are due again.
func (u *usage) flush(ctx context.Context, a *app.App, log *slog.Logger, all bool) {
	uses := u.due(all)
	if len(uses) == 0 {
		return
	}
	touched := make([]app.KeyUse, len(uses))
	for i := range uses {
		touched[i] = uses[i].KeyUse
	}
	if err := a.TouchKeys(ctx, touched); err != nil {
		log.Warn("could not write when keys were used", "error", err)
		return // the next flush retries
	}
	for _, p := range uses {
		p.use.written = p.last
	}
}
