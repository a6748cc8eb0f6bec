// Package sweep does the chores of the clock: it removes what is kept no
// longer, in small transactions between which everybody else writes.
//
// It removes nothing that a rule still needs.
package sweep

import (
	"context"
	"log/slog"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// every is how often the chores are looked at.
	every = time.Minute
	// batch bounds one transaction: a writer waits for one at most.
	batch = 200
	// answers is for how long a repeated request gets its first answer.
	answers = 24 * time.Hour
	// failures is for how long a failure to sign in may slow the next one down.
	failures = 2 * time.Hour
	// charts is for how long minutes are kept: the longest chart is of a day.
	charts = 48 * time.Hour
)

// Config is what the chores need.
type Config struct {
	Store *store.Store
	Log   *slog.Logger
	Now   func() time.Time
	// MaxRecords is how many records a workspace of that plan may have; of its
	// deleted documents as many are kept. 0 is any number, and so is nil.
	MaxRecords func(sheaf.Plan) int
	Retention  time.Duration // of events and deliveries, and of keys that are dead
}

// Sweeper does the chores.
type Sweeper struct{ Config }

// New returns a Sweeper.
func New(c Config) *Sweeper { return &Sweeper{c} }

// Run does the chores now and every minute until ctx ends; of several nodes one
// at a time.
func (s *Sweeper) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := s.Store.Alone(ctx, "sweep", s.Once); err != nil && ctx.Err() == nil {
			s.Log.Warn("could not remove what is kept no longer", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Once does every chore to its end. Deliveries go before their events, since
// they are sent with them.
func (s *Sweeper) Once(ctx context.Context) error {
	old := s.Now().Add(-s.Retention)
	for _, chore := range []func(*store.Tx) (int64, error){
		func(tx *store.Tx) (int64, error) { return tx.DeleteOrphans(batch) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteDeliveries(old, batch) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteAnswers(s.Now().Add(-answers), batch) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteSessionsEnded(s.Now(), batch) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteInvitationsEnded(s.Now(), batch) },
		func(tx *store.Tx) (int64, error) { return tx.DeleteFailures(s.Now().Add(-failures), batch) },
		func(tx *store.Tx) (int64, error) {
			return tx.DeleteKeysEnded(s.Now().Add(-max(s.Retention, store.KeysKept)), batch)
		},
		func(tx *store.Tx) (int64, error) { return tx.DeleteMinutes(s.Now().Add(-charts), batch) },
	} {
		if err := s.drain(ctx, chore); err != nil {
			return err
		}
	}
	if err := s.trash(ctx); err != nil {
		return err
	}
	return s.events(ctx, old)
}

// trash removes deleted documents that are too many, the longest deleted first.
func (s *Sweeper) trash(ctx context.Context) error {
	if s.MaxRecords == nil {
		return nil
	}
	var all []sheaf.Workspace
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		all, err = r.Workspaces()
		return err
	})
	for _, ws := range all {
		keep := s.MaxRecords(ws.Plan)
		// It has never made as many.
		if keep == 0 || ws.LastNumber <= int64(keep) || err != nil {
			continue
		}
		err = s.drain(ctx, func(tx *store.Tx) (int64, error) { return tx.DeleteTrash(ws.ID, keep, batch) })
	}
	return err
}

// events removes old events. No snapshot is open meanwhile: it would keep the
// engine from reusing what is removed.
func (s *Sweeper) events(ctx context.Context, old time.Time) error {
	var logs []sheaf.WorkspaceID
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		logs, err = r.OldLogs(old)
		return err
	})
	for _, ws := range logs {
		if err == nil {
			err = s.drain(ctx, func(tx *store.Tx) (int64, error) { return tx.DeleteEvents(ws, old, batch) })
		}
	}
	return err
}

// drain repeats a chore until it finds less than a batch.
func (s *Sweeper) drain(ctx context.Context, chore func(*store.Tx) (int64, error)) error {
	for ctx.Err() == nil {
		n := int64(0)
		err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = chore(tx)
			return err
		})
		if err != nil || n < batch {
			return err
		}
	}
	return nil
}
