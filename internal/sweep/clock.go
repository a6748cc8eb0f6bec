package sweep

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A clock that was set far ahead by mistake would have everything removed in a minute. So each
// sweep compares it with where it should be: the time of the last sweep that believed it, and for
// how long this process has run since by the clock that nobody sets. A chore that keeps things for
// some time believes a clock that is ahead by a quarter of that time at most. A server that was
// really switched off for longer cannot be told from a clock that is wrong: its clock is believed
// when servers have run with it for a quarter of that time, or when an operator says so with sheaf
// confirm-clock.

const (
	// shortest is the time that the strictest chores keep, and what counts for those that remove
	// what has ended.
	shortest = sheaf.AnswersKept
	// leastDoubt is by how much any clock may be ahead.
	leastDoubt = time.Hour
	// noteEvery is how often the state of the clock is stored.
	noteEvery = 10 * time.Minute
	// warnEvery is how often a clock that is not believed is told of.
	warnEvery = time.Hour
)

// clock is what this process remembers of its last look.
type clock struct {
	stored   store.SweepClock // as it was read or written last
	storedAt time.Duration    // by Elapsed, when this process first saw it
	known    bool             // stored is set

	wall time.Time     // at the last look
	at   time.Duration // and by Elapsed

	warned   time.Duration // by Elapsed, when it was told of last
	doubtful bool
}

// view is what a sweep thinks of the clock.
type view struct {
	now   time.Time
	ahead time.Duration // of where it should be
	ran   time.Duration // for how long servers have run while it was doubted
}

// doubt is by how much a clock may be ahead for a chore that keeps so long.
func doubt(keep time.Duration) time.Duration { return max(keep/4, leastDoubt) }

func (v view) believed(keep time.Duration) bool {
	return v.ahead <= doubt(keep) || v.ran >= doubt(keep)
}

// look compares the clock with where it should be, and stores what it found.
func (s *Sweeper) look(ctx context.Context) (view, error) {
	now, at := s.Now().Round(0), s.Elapsed() // of the wall alone
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
	if !c.known || c.stored != last { // another process stored it
		c.stored, c.storedAt, c.known = last, at, true
	}
	v := view{now: now, ran: last.Ran + at - c.storedAt}
	v.ahead = now.Sub(last.Trusted.Add(v.ran))
	next := store.SweepClock{Trusted: last.Trusted, Ran: v.ran}
	set := !c.wall.IsZero() && now.Sub(c.wall)-(at-c.at) > leastDoubt
	if set { // how it ran before says nothing for it
		next, v.ran = store.SweepClock{Trusted: last.Trusted.Add(v.ran)}, 0
	}
	c.wall, c.at = now, at
	if !s.doubts(v) {
		next = store.SweepClock{Trusted: later(last.Trusted, now)}
		if last.Trusted.Sub(now) > leastDoubt {
			next = s.behind(last.Trusted, v)
		}
	}
	if found && !set && next.Trusted.Sub(last.Trusted) < noteEvery && next.Ran-last.Ran < noteEvery && next.Ran >= last.Ran {
		return v, nil
	}
	return v, s.note(ctx, next, at)
}

// behind is what to trust while the clock is before a time that was trusted. A machine without a
// battery begins like this and is soon set right. But where it runs evenly, the time that was
// trusted lay in the future, and must not vouch for the next clock that is ahead.
func (s *Sweeper) behind(trusted time.Time, v view) store.SweepClock {
	if v.ran < s.Retention/4 {
		return store.SweepClock{Trusted: trusted, Ran: v.ran}
	}
	return store.SweepClock{Trusted: v.now}
}

// doubts tells whether some chore does not believe the clock.
func (s *Sweeper) doubts(v view) bool { return !v.believed(shortest) || !v.believed(s.Retention) }

// firstTrusted is for a store that no sweep of this kind has seen.
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

// note stores the state of the clock, to the millisecond.
func (s *Sweeper) note(ctx context.Context, c store.SweepClock, at time.Duration) error {
	c = store.SweepClock{Trusted: time.UnixMilli(c.Trusted.UnixMilli()).UTC(), Ran: c.Ran.Truncate(time.Millisecond)}
	if err := s.Store.Write(ctx, func(tx *store.Tx) error { return tx.SetSweepClock(c) }); err != nil {
		return err
	}
	s.clock.stored, s.clock.storedAt, s.clock.known = c, at, true
	return nil
}

// tell warns of a clock that is not believed, and says when it is again.
func (s *Sweeper) tell(v view) {
	c := &s.clock
	doubtful := s.doubts(v)
	s.doubted.Store(doubtful)
	switch {
	case doubtful && (!c.doubtful || c.at-c.warned >= warnEvery):
		c.warned = c.at
		s.Log.Warn("did not remove what is old: the clock is further ahead than the server has run; correct it, or confirm it with sheaf confirm-clock",
			"clock", v.now.UTC(), "ahead", v.ahead.Round(time.Second), "believed_after", (doubt(max(s.Retention, shortest)) - v.ran).Round(time.Second))
	case !doubtful && c.doubtful:
		s.Log.Info("removes what is old again: the clock is believed", "clock", v.now.UTC())
	}
	c.doubtful = doubtful
}
