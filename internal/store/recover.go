package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Recovery moves the cursor of a lane back, so that what is held behind it waits again, and makes
// fresh what has failed. How many those are is a part of the answer, and to count a million rows
// takes a second, in which nobody else could write. So they are counted before, in a snapshot
// (Recoverable), and the transaction looks only at its lane: whether what was counted is still
// held.

// Recoverable is how much recovery would send of a lane, as a snapshot has counted it. The zero value
// has counted nothing.
type Recoverable struct {
	counted bool
	// What the lane said then, by which the transaction knows whether it is as it was.
	heldFrom    int64
	recoveredAt time.Time // zero: never
	upTo        int64     // the last number that was counted
	fresh       int64     // held rows that only the lane speaks of
	stopped     int64     // rows that failed, or are held after an attempt
}

const countStopped = `
SELECT COUNT(*)
FROM deliveries
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`

// Recoverable counts the failed and held deliveries of events since then. Of an inactive
// subscription it counts what would be recovered if it were turned active now.
func (r *Reader) Recoverable(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, since time.Time) (Recoverable, error) {
	l, err := r.lane(ws, s)
	if err != nil {
		return Recoverable{}, err
	}
	first, found, err := r.firstSince(ws, since)
	if err != nil || !found {
		return Recoverable{}, err
	}
	end, err := r.end(&l)
	if err != nil {
		return Recoverable{}, err
	}
	from, to := l.held()
	out := Recoverable{counted: true, heldFrom: from, recoveredAt: l.lastRecovered(), upTo: min(to, end)}
	if out.fresh, err = r.countFresh(&l, max(from, first), out.upTo); err != nil {
		return out, err
	}
	out.stopped, err = r.count(countStopped, l.sub, first)
	return out, err
}

// end is up to where fresh rows of the lane can be held.
func (r *Reader) end(l *lane) (int64, error) {
	if l.active {
		return l.cursor, nil
	}
	newest, _, err := one(r, newestRow, (*row).OptInt, l.ws, l.sub)
	if err != nil || newest == nil {
		return l.cursor, err
	}
	return max(l.cursor, *newest), nil
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

// holds reports whether the lane still holds what was counted.
func (c *Recoverable) holds(l *lane) bool {
	from, to := l.held()
	return c.counted && c.heldFrom == from && c.recoveredAt.Equal(l.lastRecovered()) && min(to, l.cursor) >= c.upTo
}

// lastRecovered is when the lane was recovered last; zero when it never was.
func (l *lane) lastRecovered() time.Time {
	if l.recoveredAt == nil {
		return time.Time{}
	}
	return *l.recoveredAt
}

const (
	firstStopped = `
SELECT MIN(number)
FROM deliveries
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`

	// recoverSending is for what somebody asked for by hand and is being sent: that attempt comes
	// before the schedule.
	recoverSending = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, back_at = $3
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL AND token IS NOT NULL`

	// recoverLeased is for what is between the rows of a lease, which the cursor passes over.
	recoverLeased = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = $3
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL AND ` + leased

	recoverStopped = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = NULL
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`
)

// Recover makes the failed and held deliveries of events since then run the whole schedule again,
// in the order of their events and before what is newer, and returns how many they are. Those among
// them that were also asked for by hand are no exception; an attempt by hand that is under way
// comes before. The subscription must be active.
//
// Where before was counted and its lane holds that still, the number is that of before, with what
// came to be held since; else the lane is counted here.
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
	known := before.holds(&l)
	if !known {
		before = Recoverable{}
	}
	from, to := l.held()
	from, to = max(from, first), min(to, l.cursor)
	held, err := tx.countFresh(&l, max(from, before.upTo+1), to)
	if err != nil {
		return 0, err
	}
	lowest, restarted, err := tx.restart(&l, first, now)
	if err != nil {
		return 0, err
	}
	if known { // one that was asked for by hand meanwhile was counted as fresh
		restarted = min(restarted, before.stopped)
	}
	if from <= to {
		lowest = min(lowest, from)
	}
	l.rewind(lowest, now)
	l.heldBefore(first)
	return before.fresh + held + restarted, tx.saveLane(&l)
}

// restart makes fresh what has failed, or is held after an attempt, and returns how many they are
// and the lowest number of them, which is higher than any where there are none.
func (tx *Tx) restart(l *lane, first int64, now time.Time) (lowest, n int64, err error) {
	if lowest, err = tx.lowest(l, firstStopped, first); err != nil {
		return lowest, 0, err
	}
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
	}
	return lowest, n, nil
}

// rewind moves the cursor back to before a number. It need not be that of a fresh row: whoever cuts
// passes over the others.
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

// heldBefore notes that nothing is held any more from a number on.
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

// oldestMost is how many of the first held events are looked at for the oldest: nodes' clocks
// differ a little.
const oldestMost = 100

// OldestHeld returns the time of the oldest event that the subscription holds; found is false when
// it holds none.
func (r *Reader) OldestHeld(ws sheaf.WorkspaceID, s sheaf.SubscriptionID) (at time.Time, found bool, err error) {
	l, err := r.lane(ws, s)
	if err != nil || l.heldFrom == nil {
		return at, false, err
	}
	in, err := r.heldRows(&l, "number")
	if err != nil {
		return at, false, err
	}
	text := fmt.Sprintf("SELECT MIN(e.at) FROM (%s) AS q JOIN events e ON e.ws = $1 AND e.number = q.number", in.text(false))
	oldest, _, err := one(r, text, (*row).OptTime, append(in.where.Args, oldestMost, 0)...)
	if err != nil || oldest == nil {
		return at, false, err
	}
	return *oldest, true, nil
}
