package sweep

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// If the clock was set far ahead by mistake, everything would be deleted within a minute. So each
// sweep compares the time that the clock shows with the expected time:
//
//	Trusted ─────── ran ───────▶ expected time ─────── ahead ───────▶ time that the clock shows
//
// Trusted is the time of the last sweep that trusted the clock. ran is how long servers have run
// since then, measured by a monotonic clock. Both are stored (store.SweepClock), since a process
// may end between two sweeps, and another node may do the next one.
//
// The slack of a chore is how far ahead a clock may be: a quarter of the time for which the chore
// keeps things. So what is deleted too early is deleted only a little too early. A server that was
// really switched off for longer than the slack cannot be told from a wrong clock. Such a clock is
// trusted once servers have run with it for as long as the slack, or when an operator confirms it
// with sheaf confirm-clock.

const (
	// shortest is the shortest time for which something is kept that would be missed: the answers
	// to requests with an Idempotency-Key. It is also used for chores that delete what has ended,
	// such as sessions, and so keep nothing.
	shortest = sheaf.AnswersKept
	// leastSlack is how far ahead a clock may be for any chore, however short it keeps things.
	leastSlack = time.Hour
	// noteEvery is how often the state of the clock is stored while nothing unusual happens.
	noteEvery = 10 * time.Minute
	// warnEvery is how often the log repeats that the clock is not trusted.
	warnEvery = time.Hour
)

// clock is what this process remembers between two sweeps. Only the sweep itself uses it, and only
// one runs at a time, so it needs no lock.
type clock struct {
	stored   store.SweepClock // values in the store after the last poll
	storedAt time.Duration    // Elapsed when this process first saw stored
	known    bool             // stored and storedAt are set

	wall time.Time     // time shown at the last look; zero before the first
	at   time.Duration // Elapsed at the last look

	warned   time.Duration // Elapsed when the log last warned about the clock
	doubtful bool          // the last sweep did not trust the clock
}

// view is what one sweep found out about the clock.
type view struct {
	now   time.Time
	ahead time.Duration // how far the clock is ahead of the expected time; negative if it is behind
	ran   time.Duration // time that servers have run since the clock was last trusted or set
}

// slack returns how far ahead a clock may be for a chore that keeps things for `keep`.
func slack(keep time.Duration) time.Duration { return max(keep/4, leastSlack) }

// believed reports whether a chore that keeps things for `keep` may use the clock.
func (v view) believed(keep time.Duration) bool {
	return v.ahead <= slack(keep) || v.ran >= slack(keep)
}

// checkClock compares the clock with the expected time. If the result differs enough from the stored
// state, it stores the new state for the next sweep.
func (s *Sweeper) checkClock(ctx context.Context) (view, error) {
	// Round drops the monotonic reading: only the wall clock counts here.
	now, at := s.Now().Round(0), s.Elapsed()
	var last store.SweepClock
	var found bool
	err := s.Store.Read(ctx, func(r *store.Reader) (err error) {
		if last, found, err = r.SweepClock(); err == nil && !found {
			last.Trusted, err = firstTrusted(r, now)
		}
		return err
	})
	if err != nil {
		return view{}, err
	}
	c := &s.clock
	if !c.known || c.stored != last {
		// This process begins, or another one stored this: its time is counted from here on.
		c.stored, c.storedAt, c.known = last, at, true
	}
	v := view{now: now, ran: last.Ran + at - c.storedAt}
	v.ahead = now.Sub(last.Trusted.Add(v.ran))
	next := store.SweepClock{Trusted: last.Trusted, Ran: v.ran}
	set := !c.wall.IsZero() && now.Sub(c.wall)-(at-c.at) > leastSlack
	if set {
		// The clock was set ahead since the last look. That servers ran until then proves nothing
		// about the new time, so the count starts again.
		next, v.ran = store.SweepClock{Trusted: last.Trusted.Add(v.ran)}, 0
	}
	c.wall, c.at = now, at
	if !s.doubts(v) {
		next = store.SweepClock{Trusted: later(last.Trusted, now)}
		if last.Trusted.Sub(now) > leastSlack {
			next = s.clockBehind(last.Trusted, v)
		}
	}
	if found && !set && next.Trusted.Sub(last.Trusted) < noteEvery && next.Ran-last.Ran < noteEvery && next.Ran >= last.Ran {
		return v, nil
	}
	return v, s.note(ctx, next, at)
}

// clockBehind returns what to trust while the clock shows a time before the trusted one. A machine
// without a battery starts like this and is soon corrected, so the trusted time stays at first. But
// if servers have run like this for long, the trusted time was in the future. It is dropped,
// because otherwise the next clock that is ahead would look right.
func (s *Sweeper) clockBehind(trusted time.Time, v view) store.SweepClock {
	if v.ran < s.Retention/4 {
		return store.SweepClock{Trusted: trusted, Ran: v.ran}
	}
	return store.SweepClock{Trusted: v.now}
}

// doubts reports whether the clock is not trusted for something that would be missed.
func (s *Sweeper) doubts(v view) bool {
	return !v.believed(shortest) || !v.believed(s.Retention) || s.TrashRetention > 0 && !v.believed(s.TrashRetention) ||
		s.VersionRetention > 0 && !v.believed(s.VersionRetention) || s.ProposalRetention > 0 && !v.believed(s.ProposalRetention) || s.AuditRetention > 0 && !v.believed(s.AuditRetention)
}

// firstTrusted returns the time to trust in a store that has none yet: that of its newest event or,
// without events, the present time of the clock.
func firstTrusted(r *store.Reader, now time.Time) (time.Time, error) {
	newest, err := r.NewestEvent()
	if newest == nil {
		return now, err
	}
	return *newest, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// note stores the state of the clock, truncated to milliseconds as the store keeps it, so that the
// next look finds the same value.
func (s *Sweeper) note(ctx context.Context, c store.SweepClock, at time.Duration) error {
	c = store.SweepClock{Trusted: time.UnixMilli(c.Trusted.UnixMilli()).UTC(), Ran: c.Ran.Truncate(time.Millisecond)}
	if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetSweepClock(c) }); err != nil {
		return err
	}
	s.clock.stored, s.clock.storedAt, s.clock.known = c, at, true
	return nil
}

// logClock logs that the clock is not trusted, at once and then every hour, and when it is trusted
// again.
func (s *Sweeper) logClock(v view) {
	c := &s.clock
	doubtful := s.doubts(v)
	s.doubted.Store(doubtful)
	switch {
	case doubtful && (!c.doubtful || c.at-c.warned >= warnEvery):
		c.warned = c.at
		s.Log.Warn("did not remove what is old: the clock is further ahead than the server has run; correct it, or confirm it with sheaf confirm-clock",
			"clock", v.now.UTC(), "ahead", v.ahead.Round(time.Second), "believed_after", (slack(max(s.Retention, s.TrashRetention, s.VersionRetention, s.ProposalRetention, s.AuditRetention, shortest)) - v.ran).Round(time.Second))
	case !doubtful && c.doubtful:
		s.Log.Info("removes what is old again: the clock is believed", "clock", v.now.UTC())
	}
	c.doubtful = doubtful
}
