// Package sweep does the chores of the clock: it removes what is kept no longer, in small
// transactions between which everybody else writes.
//
// It removes nothing that a rule still needs, and nothing by a clock that it does not believe
// (clock.go).
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// every is how often the chores are looked at.
	every = time.Minute
	// batch bounds one transaction: a writer waits for one at most.
	batch = 200
	// failures is for how long failures to sign in are kept: twice as long as they count.
	failures = 2 * time.Hour
	// charts is for how long the counts of each minute are kept: the longest chart is of a day.
	charts = 48 * time.Hour
	// heldEvents is how far behind the newest event of its workspace one may be that is kept beyond
	// its time because a held delivery needs it. It bounds what a subscription that is never turned
	// on again makes grow.
	heldEvents = 10_000
	// roundMost is how many workspaces a sweep looks at, of a round over all: 100,000 idle ones cost a
	// look each twenty minutes. grownBack is how much further back than to the last sweep it looks for
	// those that deleted documents: a commit may come after the time in its event's id.
	roundMost = 5000
	grownBack = 10 * time.Second
	// versionBatch bounds the versions of one transaction, each of which may have a text of a
	// megabyte, and documentBatch the documents that are looked for at once.
	versionBatch  = 50
	documentBatch = 1_000
	// strayEvery is how often bytes of media are looked at that no row tells of. It begins a day after
	// the start: whoever has restored an old backup has that time to find out.
	strayEvery = 24 * time.Hour
)

// Config is what the chores need.
type Config struct {
	Store *store.Store
	Log   *slog.Logger
	Now   func() time.Time // the clock that decides what is old: see clock.go
	// PurgeTrash permanently deletes trashed documents of a workspace up to `end`, at most `most` in one
	// call, and returns the number processed. It is app's PurgeTrash, which also emits the events.
	PurgeTrash func(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd, most int) (int64, error)
	// MostTrash is how many deleted documents of a workspace are kept; 0 is any number.
	MostTrash int
	Retention time.Duration // of events and deliveries, and of keys that are dead
	// TrashRetention is for how long deleted documents are kept; 0 is for ever.
	TrashRetention time.Duration
	// VersionRetention is for how long versions of a document are kept beyond the newest; 0 is for
	// ever.
	VersionRetention time.Duration
	// SettleMedia ends what uploads and deletions of media left that did not end, each time;
	// StrayMedia removes bytes that no medium has, each day. Both know their own clock; nil: there are
	// no media.
	SettleMedia, StrayMedia func(context.Context) error
	// Elapsed is the time since some moment, by a clock that nobody sets.
	Elapsed func() time.Duration
}

// Sweeper does the chores.
type Sweeper struct {
	Config
	clock   clock
	round   store.Round   // how far the round over all workspaces is
	looked  time.Time     // when the last look began that found every log that had grown
	strays  time.Duration // by Elapsed, when StrayMedia is called next
	doubted atomic.Bool   // the clock is not believed, so that old data stays; for the metric
}

// New returns a Sweeper. Nothing happens before Run.
func New(c Config) *Sweeper { return &Sweeper{Config: c, strays: strayEvery} }

// Register adds the state of the chores to r.
func (s *Sweeper) Register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_sweep_clock_doubted",
		Help: "1 while old data is not removed because the clock is further ahead than is believed."}, func() float64 {
		if s.doubted.Load() {
			return 1
		}
		return 0
	}))
}

// Run does the chores now and every minute until ctx ends; of several nodes one at a time.
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

// Once does every chore to its end, as far as the clock is believed. That the bytes of media cannot be
// reached keeps none of the others from being done.
func (s *Sweeper) Once(ctx context.Context) error { return errors.Join(s.rows(ctx), s.media(ctx)) }

// media does the chores of media.
func (s *Sweeper) media(ctx context.Context) error {
	if s.SettleMedia == nil {
		return nil
	}
	if err := s.SettleMedia(ctx); err != nil {
		return fmt.Errorf("settle media: %w", err)
	}
	if s.Elapsed() < s.strays {
		return nil
	}
	if err := s.StrayMedia(ctx); err != nil {
		return fmt.Errorf("look for stray bytes of media: %w", err)
	}
	s.strays = s.Elapsed() + strayEvery
	return nil
}

// rows does the chores of the store. Deliveries go before their events, since they are sent with them.
func (s *Sweeper) rows(ctx context.Context) error {
	v, err := s.look(ctx)
	if err != nil {
		return err
	}
	s.tell(v)
	if err := s.drain(ctx, func(tx *store.Tx) (int64, error) { return tx.DeleteOrphans(batch) }); err != nil {
		return err
	}
	for _, chore := range []struct {
		keep time.Duration // for how long it keeps
		do   func(tx *store.Tx, now time.Time) (int64, error)
	}{
		{sheaf.AnswersKept, func(tx *store.Tx, now time.Time) (int64, error) {
			n, err := tx.DeleteAnswers(now.Add(-sheaf.AnswersKept), batch)
			if n > 0 {
				n = batch // other workspaces may have old answers
			}
			return n, err
		}},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteSessionsEnded(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteInvitationsEnded(now, batch) }},
		{failures, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteFailures(now.Add(-failures), batch) }},
		{s.Retention, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteKeysEnded(now.Add(-max(s.Retention, store.KeysKept)), batch)
		}},
		{charts, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteMinutes(now.Add(-charts), batch) }},
	} {
		if !v.believed(chore.keep) {
			continue
		}
		if err := s.drain(ctx, func(tx *store.Tx) (int64, error) { return chore.do(tx, v.now) }); err != nil {
			return err
		}
	}
	if err := s.oldVersions(ctx, v); err != nil {
		return err
	}
	if err := s.grownTrash(ctx); err != nil {
		return err
	}
	return s.someWorkspaces(ctx, v)
}

// grownTrash removes deleted documents that are too many from the workspaces whose log grew since the
// last sweep, the longest deleted first. If those may be more than one look finds, the round does it.
func (s *Sweeper) grownTrash(ctx context.Context) error {
	if s.MostTrash == 0 {
		return nil
	}
	began := s.Now().Round(0)
	since := s.looked
	if since.IsZero() || began.Before(since) {
		since = began
	}
	var grown []sheaf.WorkspaceID
	err := s.Store.Read(ctx, func(r *store.Reader) error {
		_, err := r.GrownSince(since.Add(-grownBack), func(ws sheaf.WorkspaceID, last int64) {
			if last > int64(s.MostTrash) { // it has deleted as many, if each of its events is a deletion
				grown = append(grown, ws)
			}
		})
		return err
	})
	for _, ws := range grown {
		if err == nil {
			err = s.tooMuchTrash(ctx, ws)
		}
	}
	if err == nil {
		s.looked = began
	}
	return err
}

// someWorkspaces does the chores of the next workspaces of the round: it removes deleted documents
// that are too many or old, and old deliveries and events. No snapshot is open meanwhile: it would
// keep the engine from reusing what is removed.
func (s *Sweeper) someWorkspaces(ctx context.Context, v view) error {
	oldTrash, err := s.oldTrash(ctx, v)
	if err != nil {
		return err
	}
	oldLog := time.UnixMilli(0)
	if v.believed(s.Retention) {
		oldLog = v.now.Add(-s.Retention)
	}
	var some []store.Upkeep
	var next store.Round
	err = s.Store.Read(ctx, func(r *store.Reader) (err error) {
		some, next, err = r.UpkeepAfter(s.round, roundMost, oldLog, oldTrash)
		return err
	})
	for _, w := range some {
		if err == nil && s.MostTrash > 0 && w.Numbers > int64(s.MostTrash) { // it has made as many
			err = s.tooMuchTrash(ctx, w.Workspace)
		}
		if err == nil && w.OldTrash {
			err = s.purge(ctx, w.Workspace, store.TrashBefore(oldTrash))
		}
		if err == nil && w.OldLog {
			err = s.events(ctx, w.Workspace, oldLog)
		}
	}
	if err == nil {
		s.round = next
	}
	return err
}

// tooMuchTrash removes the deleted documents of a workspace that are too many now.
func (s *Sweeper) tooMuchTrash(ctx context.Context, ws sheaf.WorkspaceID) error {
	var end store.TrashEnd
	found := false
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		end, found, err = r.TrashBeyond(ws, s.MostTrash)
		return err
	})
	if err != nil || !found {
		return err
	}
	return s.purge(ctx, ws, end)
}

// oldTrash returns up to when documents must have been deleted to be removed for their age. What was
// deleted before a program was here that removes them counts as deleted when that program began: no
// person could know that the trash is emptied. That moment is noted by the first sweep that believes
// the clock.
func (s *Sweeper) oldTrash(ctx context.Context, v view) (time.Time, error) {
	none := time.UnixMilli(0)
	if !v.believed(max(s.TrashRetention, shortest)) {
		return none, nil
	}
	var since *time.Time
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		since, err = r.TrashSince()
		return err
	})
	if err == nil && since == nil {
		return none, s.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetTrashSince(v.now) })
	}
	old := v.now.Add(-s.TrashRetention)
	if err != nil || since.After(old) || s.TrashRetention == 0 {
		return none, err
	}
	return old, nil
}

// purge removes deleted documents of a workspace up to an end, a batch at a time, until it finds less.
func (s *Sweeper) purge(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd) error {
	for ctx.Err() == nil {
		if n, err := s.PurgeTrash(ctx, ws, end, batch); err != nil || n < batch {
			return err
		}
	}
	return nil
}

// oldVersions removes old versions of documents that have many.
func (s *Sweeper) oldVersions(ctx context.Context, v view) error {
	if s.VersionRetention == 0 || !v.believed(s.VersionRetention) {
		return nil
	}
	for old := v.now.Add(-s.VersionRetention); ctx.Err() == nil; {
		if n, err := s.someVersions(ctx, old); err != nil || n < documentBatch {
			return err
		}
	}
	return nil
}

// someVersions removes the old versions of the documents that are found at once, and returns how many
// documents they are.
func (s *Sweeper) someVersions(ctx context.Context, old time.Time) (int, error) {
	var found []store.OldVersion
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		found, err = r.OldVersions(old, documentBatch)
		return err
	})
	for _, o := range found {
		if err == nil {
			err = s.drainBy(ctx, versionBatch, func(tx *store.Tx) (int64, error) { return tx.DeleteVersions(o, old, versionBatch) })
		}
	}
	return len(found), err
}

// events removes old deliveries of a workspace, and then old events up to the first that is still
// to be delivered. What waits is delivered soon or is held then; what is held waits for a person,
// who may take longer than anything is kept, but not for ever.
func (s *Sweeper) events(ctx context.Context, ws sheaf.WorkspaceID, old time.Time) error {
	var newest, last, needed int64
	err := s.Store.Read(ctx, func(r *store.Reader) error {
		w, err := r.Workspace(ws)
		if err == nil {
			newest = w.LastEvent
			last, err = r.LastOld(ws, old)
		}
		return err
	})
	if err == nil {
		err = s.forget(ctx, old, func(tx *store.Tx) (int64, error) { return tx.DeleteDeliveries(ws, last, batch) })
	}
	if err == nil {
		err = s.forget(ctx, old, func(tx *store.Tx) (int64, error) { return tx.DeleteHeld(ws, min(last, newest-heldEvents), batch) })
	}
	if err == nil {
		err = s.Store.Read(ctx, func(r *store.Reader) (err error) {
			needed, err = r.NeededEvent(ws, last)
			return err
		})
	}
	if err != nil {
		return err
	}
	return s.forget(ctx, old, func(tx *store.Tx) (int64, error) { return tx.DeleteEvents(ws, needed-1, batch) })
}

// forget is drain for what the doctor would miss: it is told.
func (s *Sweeper) forget(ctx context.Context, old time.Time, chore func(*store.Tx) (int64, error)) error {
	return s.drain(ctx, func(tx *store.Tx) (int64, error) {
		n, err := chore(tx)
		if err == nil && n > 0 {
			err = tx.NoteSwept(old)
		}
		return n, err
	})
}

// drain repeats a chore, each time in a transaction of its own, until it finds less than a batch.
func (s *Sweeper) drain(ctx context.Context, chore func(*store.Tx) (int64, error)) error {
	return s.drainBy(ctx, batch, chore)
}

// drainBy is drain for batches of another size.
func (s *Sweeper) drainBy(ctx context.Context, most int64, chore func(*store.Tx) (int64, error)) error {
	for ctx.Err() == nil {
		n := int64(0)
		err := s.Store.Write(ctx, func(tx *store.Tx) (err error) {
			n, err = chore(tx)
			return err
		})
		if err != nil || n < most {
			return err
		}
	}
	return nil
}
