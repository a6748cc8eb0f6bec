package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Recovery moves the cursor of a lane back, so that held deliveries above it wait again, and makes
// failed ones fresh. The answer includes their number, and the lane's count of held deliveries
// falls by it. Counting a million rows takes a second, in which no other transaction could write. So
// a snapshot counts them first (Recoverable), and the transaction only checks its lane's version:
// whether the counted rows are still held.

// Recoverable is the number of fresh rows that recovery would release, as counted in a snapshot. In
// the zero value, nothing was counted.
type Recoverable struct {
	counted bool
	version int64 // the lane's version when it was counted
	upTo    int64 // the last number included in the count
	fresh   int64 // fresh rows that are held
}

// Recoverable counts the fresh rows of events at or after `since` that are held. For an inactive
// subscription it counts what recovery would find if the subscription were reactivated now.
func (r *Reader) Recoverable(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, since time.Time) (Recoverable, error) {
	l, err := r.lane(ws, s)
	if err != nil {
		return Recoverable{}, err
	}
	first, found, err := r.firstSince(ws, since)
	if err != nil || !found {
		return Recoverable{}, err
	}
	end, _, err := r.end(&l)
	if err != nil {
		return Recoverable{}, err
	}
	from, to := l.held()
	out := Recoverable{counted: true, version: l.version, upTo: min(to, end)}
	out.fresh, err = r.countFresh(&l, max(from, first), out.upTo)
	return out, err
}

// laneEnd reads the newest row of a lane, and what its lanes were given, in one statement: so the
// two are of one state, without the workspace's lock.
const laneEnd = `
SELECT given, (SELECT MAX(d.number) FROM deliveries d WHERE d.ws = $1 AND d.sub = $2)
FROM workspaces
WHERE ws = $1`

// end returns the highest number at which a fresh row of the lane can be held. If the lane is
// inactive, end also returns how many rows the lane was given up to there.
func (r *Reader) end(l *lane) (number, given int64, err error) {
	if l.active {
		return l.cursor, 0, nil
	}
	number = l.cursor
	err = r.query(laneEnd, func(w *row) {
		given = givenTo(w.Text(), l.sub)
		if newest := w.OptInt(); newest != nil {
			number = max(number, *newest)
		}
	}, l.ws, l.sub)
	return number, given, err
}

// countFresh counts the fresh rows from lo to hi that are in no lease.
func (r *Reader) countFresh(l *lane, lo, hi int64) (int64, error) {
	if lo > hi {
		return 0, nil
	}
	leases, err := r.leases(l)
	if err != nil {
		return 0, err
	}
	var w engine.Conditions
	w.And("ws = ?", l.ws)
	w.And("sub = ?", l.sub)
	w.And("number BETWEEN ? AND ?", lo, hi)
	low, high := span(leases)
	w.And(fresh+" AND "+unleased, low, high)
	return r.count("SELECT COUNT(*) FROM deliveries "+w.SQL(), w.Args...)
}

const (
	firstStopped = `
SELECT MIN(number)
FROM deliveries
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`

	// countMarked counts the rows that are marked as held, except those that a client asked for by
	// hand, which wait or are being sent.
	countMarked = `
SELECT COUNT(*)
FROM deliveries
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL AND state = 3 AND due IS NULL AND token IS NULL`

	// recoverSending is for deliveries that a client asked for by hand and that are being sent:
	// that attempt ends before the schedule begins.
	recoverSending = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, back_at = $3
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL AND token IS NOT NULL`

	// recoverLeased is for rows within the range of a lease. The cursor skips that range, so they
	// get a due time.
	recoverLeased = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = $3
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL AND ` + leased

	recoverStopped = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = NULL
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`
)

// Recover makes the failed and held deliveries of events at or after `since` run the whole retry
// schedule again, and returns their number. They are sent in the order of their events, before
// newer ones. This includes deliveries that were also asked for by hand; an attempt by hand that is
// under way ends first. The subscription must be active.
//
// If the lane has not changed since `before` was counted, its count is reused and newly held rows
// are added. Otherwise the lane is counted again.
func (tx *Tx) Recover(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, since, now time.Time, before Recoverable) (int64, error) {
	tx.note.due(ws, s)
	l, err := tx.lockLane(ws, s)
	if err != nil {
		return 0, err
	}
	first, found, err := tx.firstSince(ws, since)
	if err != nil || !found {
		return 0, err
	}
	if !before.counted || before.version != l.version {
		before = Recoverable{}
	}
	from, to := l.held()
	from, to = max(from, first), min(to, l.cursor)
	held, err := tx.countFresh(&l, max(from, before.upTo+1), to)
	if err != nil {
		return 0, err
	}
	held += before.fresh
	l.holdFresh(-held)
	l.taken -= held
	lowest, restarted, err := tx.restart(&l, first, now)
	if err != nil {
		return 0, err
	}
	if from <= to {
		lowest = min(lowest, from)
	}
	l.rewind(lowest, now)
	l.heldBefore(first)
	return held + restarted, tx.saveLane(&l)
}

// restart makes rows at or above `first` fresh that failed or are marked as held. It returns their
// lowest number (1<<62 if there are none) and how many they are. The cursor must then be below all
// of them.
func (tx *Tx) restart(l *lane, first int64, now time.Time) (lowest, n int64, err error) {
	if lowest, err = tx.lowest(l, firstStopped, first); err != nil {
		return lowest, 0, err
	}
	marked, err := tx.count(countMarked, l.sub, first)
	if err != nil {
		return lowest, 0, err
	}
	l.holds -= marked
	for _, sql := range []string{recoverSending, recoverLeased, recoverStopped} {
		args := []any{l.sub, first, now}
		if sql == recoverStopped {
			args = args[:2]
		}
		changed, err := tx.changed(sql, args...)
		if err != nil {
			return lowest, n, fmt.Errorf("recover subscription %s: %w", l.id, err)
		}
		n += changed
		if sql == recoverStopped {
			l.taken -= changed
		}
	}
	return lowest, n, nil
}

// rewind moves the cursor back to just before `number`, which need not be a fresh row: a cut skips
// others.
func (l *lane) rewind(number int64, now time.Time) {
	if number > l.cursor {
		return
	}
	was := l.cursor
	if l.recoveredTo != nil {
		was = max(was, *l.recoveredTo)
	}
	l.cursor, l.recoveredTo, l.recoveredAt = number-1, &was, &now
}

// heldBefore removes `number` and everything above it from the range of held rows.
func (l *lane) heldBefore(number int64) {
	switch {
	case l.heldFrom == nil:
	case *l.heldFrom >= number:
		l.heldFrom, l.heldTo = nil, nil
	default:
		_, to := l.held()
		to = min(to, number-1)
		l.heldTo = &to
	}
}

// OldestHeld returns the time of the oldest event whose delivery is held; found is false if none
// is.
func (r *Reader) OldestHeld(ws sheaf.WorkspaceID, s sheaf.SubscriptionID) (at time.Time, found bool, err error) {
	l, err := r.lane(ws, s)
	if err != nil || l.heldFrom == nil {
		return at, false, err
	}
	in, err := r.heldRows(&l, "number")
	if err != nil {
		return at, false, err
	}
	text := fmt.Sprintf("SELECT e.at FROM (%s) AS q JOIN events e ON e.ws = $1 AND e.number = q.number", in.text(false))
	return one(r, text, (*row).Time, append(in.where.Args, 1, 0)...) // the first is the oldest
}
