package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Recovery moves the cursor of a lane back, so that held deliveries above it wait again, and makes
// failed ones fresh. The answer includes their number. Counting a million rows takes a second, in
// which no other transaction could write. So a snapshot counts them first (Recoverable), and the
// transaction only checks its lane: whether the counted deliveries are still held.

// Recoverable is the number of deliveries that recovery would send, as counted in a snapshot. In
// the zero value, nothing was counted.
type Recoverable struct {
	counted bool
	// The lane's state when it was counted. The transaction compares it with the present one.
	heldFrom    int64
	recoveredAt time.Time // zero: never
	upTo        int64     // the last number included in the count
	fresh       int64     // fresh rows that are held
	stopped     int64     // rows that failed, or are marked as held
}

const countStopped = `
SELECT COUNT(*)
FROM deliveries
WHERE sub = $1 AND number >= $2 AND stopped IS NOT NULL`

// Recoverable counts the failed and held deliveries of events at or after `since`. For an inactive
// subscription it counts what recovery would send if the subscription were reactivated now.
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

// end returns the highest number at which a fresh row of the lane can be held.
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

// holds reports whether everything that was counted is still held.
func (c *Recoverable) holds(l *lane) bool {
	from, to := l.held()
	return c.counted && c.heldFrom == from && c.recoveredAt.Equal(l.lastRecovered()) && min(to, l.cursor) >= c.upTo
}

// lastRecovered returns when the lane was last recovered, or the zero time.
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
	if known { // a row that was asked for by hand meanwhile was counted as fresh
		restarted = min(restarted, before.stopped)
	}
	if from <= to {
		lowest = min(lowest, from)
	}
	l.rewind(lowest, now)
	l.heldBefore(first)
	return before.fresh + held + restarted, tx.saveLane(&l)
}

// restart makes rows at or above `first` fresh that failed or are marked as held. It returns their
// lowest number (1<<62 if there are none) and how many they are.
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

// oldestMost is how many of the first held events OldestHeld compares. The first is not always the
// oldest, since nodes' clocks differ a little.
const oldestMost = 100

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
	text := fmt.Sprintf("SELECT MIN(e.at) FROM (%s) AS q JOIN events e ON e.ws = $1 AND e.number = q.number", in.text(false))
	oldest, _, err := one(r, text, (*row).OptTime, append(in.where.Args, oldestMost, 0)...)
	if err != nil || oldest == nil {
		return at, false, err
	}
	return *oldest, true, nil
}
