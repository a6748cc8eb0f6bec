// Package sweep does periodic chores: it deletes what has been kept long enough, in small
// transactions between which other writes run.
//
// It deletes nothing that a rule still needs, and nothing by a clock that it does not trust
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
	// every is the interval between two sweeps.
	every = time.Minute
	// batch bounds one transaction, and so how long other writes wait.
	batch = 200
	// failures is how long failed sign-ins are kept: twice as long as they count.
	failures = 2 * time.Hour
	// unusedApps is how long an app that registered may stay without a person who connects it.
	unusedApps = 24 * time.Hour
	// unredeemed is how long a consent stays whose code no app redeemed: long enough for the clocks of all nodes.
	unredeemed = time.Hour
	// charts is how long the counts of each minute are kept: the longest chart is of a day.
	charts = 48 * time.Hour
	// heldEvents is how far behind the newest event of its workspace an event may be that is kept
	// longer only because a held delivery needs it. It bounds the growth caused by a subscription
	// that is never activated again.
	heldEvents = 10_000
	// roundMost is the number of workspaces that one sweep checks, as a part of a round over all:
	// each of 100,000 idle workspaces is checked every twenty minutes. grownBack is added to the
	// interval since the last sweep in which it looks for workspaces that deleted documents, because
	// a commit may end later than the time in its event's id.
	roundMost = 5000
	grownBack = 10 * time.Second
	// versionBatch bounds the versions deleted in one transaction, because each may have a megabyte
	// of text. documentBatch bounds the documents that are read at once.
	versionBatch  = 50
	documentBatch = 1_000
	// proposalBatch bounds the proposals deleted in one transaction.
	proposalBatch = 50
	// strayEvery is how often it looks for bytes of media without a row. It begins a day after the
	// start: an operator who restored an old backup has that time to notice.
	strayEvery = 24 * time.Hour
)

// Config has the settings and dependencies of a Sweeper.
type Config struct {
	Store *store.Store
	Log   *slog.Logger
	Now   func() time.Time // decides what is old: see clock.go
	// PurgeTrash permanently deletes trashed documents of a workspace up to `end`, at most `most`
	// in one call, and returns the number processed. It is app's PurgeTrash, which also emits the
	// events.
	PurgeTrash func(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd, most int) (int64, error)
	// MostTrash is the largest number of trashed documents kept per workspace. 0: there is no
	// limit.
	MostTrash int
	// RemoveWorkspaces removes the deleted workspaces whose time is over at `now`. nil: the sweep removes
	// none.
	RemoveWorkspaces func(ctx context.Context, now time.Time) error
	Retention        time.Duration // how long events, deliveries, and revoked or expired keys are kept
	// TrashRetention is how long trashed documents are kept. 0: forever.
	TrashRetention time.Duration
	// VersionRetention is how long old versions of a document are kept, besides the newest. 0:
	// forever.
	VersionRetention time.Duration
	// ProposalRetention is how long decided proposals are kept. 0: forever.
	ProposalRetention time.Duration
	// AuditRetention is how long audit lines are kept. 0: forever.
	AuditRetention time.Duration
	// SettleMedia ends uploads and deletions of media that did not complete, at each sweep.
	// StrayMedia removes bytes that no medium has, once a day. Both use their own clock. nil: there
	// are no media.
	SettleMedia, StrayMedia func(context.Context) error
	// FinishReleases removes what is left of deleted releases, and of releases that were not made. nil: there
	// are none.
	FinishReleases func(context.Context) error
	// Elapsed returns the time since some moment, by a monotonic clock.
	Elapsed func() time.Duration
}

// Sweeper does the chores.
type Sweeper struct {
	Config
	clock   clock
	round   store.Round   // position of the round over all workspaces
	looked  time.Time     // when the last look began that found every log that had grown
	strays  time.Duration // when to call StrayMedia next, by Elapsed
	doubted atomic.Bool   // the clock is not trusted, so old data is kept; for the metric
}

// New returns a Sweeper. It does nothing before Run.
func New(c Config) *Sweeper { return &Sweeper{Config: c, strays: strayEvery} }

// Register adds the metrics to r.
func (s *Sweeper) Register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_sweep_clock_doubted",
		Help: "1 while old data is not removed because the clock is further ahead than is believed."}, func() float64 {
		if s.doubted.Load() {
			return 1
		}
		return 0
	}))
}

// Run does the chores now and every minute until ctx ends. Of several nodes, one sweeps at a time.
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

// Once does every chore completely, as far as the clock is trusted. If the bytes of media cannot be
// reached, all other chores are still done.
func (s *Sweeper) Once(ctx context.Context) error {
	return errors.Join(s.rows(ctx), s.releases(ctx), s.media(ctx))
}

// releases does the chore of releases. It comes before that of media, whose bytes it may free.
func (s *Sweeper) releases(ctx context.Context) error {
	if s.FinishReleases == nil {
		return nil
	}
	if err := s.FinishReleases(ctx); err != nil {
		return fmt.Errorf("finish releases: %w", err)
	}
	return nil
}

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

// rows does the chores of the store. Deliveries go before their events, because they need them to
// be sent.
func (s *Sweeper) rows(ctx context.Context) error {
	v, err := s.checkClock(ctx)
	if err != nil {
		return err
	}
	s.logClock(v)
	if err := s.drain(ctx, func(tx *store.Tx) (int64, error) { return tx.DeleteOrphans(batch) }); err != nil {
		return err
	}
	for _, chore := range []struct {
		keep time.Duration // how long records are kept
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
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeletePendingSignInsEnded(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteUsedSignInsEnded(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteInvitationsEnded(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.ForgetOldKeys(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteMailRates(now, batch) }},
		{shortest, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteUnredeemedGrants(now.Add(-unredeemed), batch)
		}},
		{unusedApps, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteUnusedOAuthClients(now.Add(-unusedApps), batch)
		}},
		{store.ResetsKept, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteResets(now.Add(-store.ResetsKept), batch)
		}},
		{store.LettersKept, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteOldLetters(now.Add(-store.LettersKept), batch)
		}},
		{failures, func(tx *store.Tx, now time.Time) (int64, error) { return tx.DeleteFailures(now.Add(-failures), batch) }},
		{s.Retention, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteKeysEnded(now.Add(-max(s.Retention, store.KeysKept)), batch)
		}},
		{s.Retention, func(tx *store.Tx, now time.Time) (int64, error) {
			return tx.DeleteMemberEvents(now.Add(-s.Retention), batch)
		}},
		{s.AuditRetention, func(tx *store.Tx, now time.Time) (int64, error) {
			if s.AuditRetention == 0 {
				return 0, nil
			}
			return tx.DeleteAudit(now.Add(-s.AuditRetention), batch)
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
	if s.RemoveWorkspaces != nil && v.believed(shortest) {
		if err := s.RemoveWorkspaces(ctx, v.now); err != nil {
			return fmt.Errorf("remove deleted workspaces: %w", err)
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

// grownTrash deletes surplus trashed documents, oldest first, in the workspaces whose log grew
// since the last sweep. If there may be more of these than one look finds, the round handles the
// others.
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
			if last > int64(s.MostTrash) { // with fewer events it cannot have deleted that many
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

// someWorkspaces does the chores of the next workspaces of the round: it deletes trashed documents
// that are too many or too old, old decided proposals, and old deliveries and events. No snapshot is
// open meanwhile, because it would keep the engine from reusing the space.
func (s *Sweeper) someWorkspaces(ctx context.Context, v view) error {
	oldTrash, err := s.oldTrash(ctx, v)
	if err != nil {
		return err
	}
	old := store.Old{Log: time.UnixMilli(0), Trash: oldTrash, Proposals: time.UnixMilli(0)}
	if v.believed(s.Retention) {
		old.Log = v.now.Add(-s.Retention)
	}
	if s.ProposalRetention > 0 && v.believed(s.ProposalRetention) {
		old.Proposals = v.now.Add(-s.ProposalRetention)
	}
	var some []store.Upkeep
	var next store.Round
	err = s.Store.Read(ctx, func(r *store.Reader) (err error) {
		some, next, err = r.UpkeepAfter(s.round, roundMost, old)
		return err
	})
	for _, w := range some {
		if err == nil && s.MostTrash > 0 && w.Numbers > int64(s.MostTrash) { // with fewer records it cannot have deleted that many
			err = s.tooMuchTrash(ctx, w.Workspace)
		}
		if err == nil && w.OldTrash {
			err = s.purge(ctx, w.Workspace, store.TrashBefore(old.Trash))
		}
		if err == nil && w.OldProposals {
			err = s.drainBy(ctx, proposalBatch, func(tx *store.Tx) (int64, error) {
				return tx.DeleteProposals(w.Workspace, old.Proposals, proposalBatch)
			})
		}
		if err == nil && w.OldLog {
			err = s.events(ctx, w.Workspace, old.Log)
		}
	}
	if err == nil {
		s.round = next
	}
	return err
}

// tooMuchTrash deletes the trashed documents of a workspace beyond MostTrash.
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

// oldTrash returns the time up to which documents must have been trashed to be deleted for their
// age. Documents that were trashed before the first sweep count as trashed at that sweep: until
// then no one could know that the trash is emptied. The first sweep that trusts the clock stores
// its time.
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

// purge deletes trashed documents of a workspace up to `end`, one batch at a time, until a batch is
// not full.
func (s *Sweeper) purge(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd) error {
	for ctx.Err() == nil {
		if n, err := s.PurgeTrash(ctx, ws, end, batch); err != nil || n < batch {
			return err
		}
	}
	return nil
}

// oldVersions deletes old versions of documents that have many.
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

// someVersions deletes the old versions of up to documentBatch documents, and returns the number of
// documents.
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

// events deletes old deliveries of a workspace, and then old events up to the first that is still
// to be delivered. Waiting deliveries are soon sent or held. Held ones wait for a person, which may
// take longer than anything is kept, but not forever.
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
	return s.forget(ctx, old, func(tx *store.Tx) (int64, error) {
		if err := tx.EndIdleRestrictions(ws, s.Now()); err != nil {
			return 0, err
		}
		return tx.DeleteEvents(ws, needed-1, batch)
	})
}

// forget is drain for what the doctor would miss: it also stores how far the sweep has deleted.
func (s *Sweeper) forget(ctx context.Context, old time.Time, chore func(*store.Tx) (int64, error)) error {
	return s.drain(ctx, func(tx *store.Tx) (int64, error) {
		n, err := chore(tx)
		if err == nil && n > 0 {
			err = tx.NoteSwept(old)
		}
		return n, err
	})
}

// drain repeats a chore, each time in its own transaction, until it finds less than a batch.
func (s *Sweeper) drain(ctx context.Context, chore func(*store.Tx) (int64, error)) error {
	return s.drainBy(ctx, batch, chore)
}

// drainBy is drain with batches of another size.
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
