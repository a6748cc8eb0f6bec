package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A lane is the deliveries of one subscription, in the order of their events. A row in deliveries
// is the decision, made in the commit of its event, that the subscription gets it. Most rows then
// say nothing more until their attempt is recorded: they are fresh, and it is the lane that says
// what becomes of them.
//
//	number    1  2  3  4  5  6  7  8  9 10 11 12 13 14
//	          D  D  f  D  r  D [D  .  .] .  .  .  .  .
//	                            lo    hi  \__ waiting
//	                             lease ^
//	                                   cursor
//
//	D delivered   f failed   r a retry, which has a due time   . fresh
//
//	a fresh row                         is
//	in a lease                          being sent
//	above the cursor, lane active       waiting
//	above the cursor, lane inactive     held
//	below the cursor, in no lease       held
//
// So what happens to a whole lane happens to its row:
//
//	cut          the next fresh rows become a lease, the cursor moves behind them (claim.go)
//	deactivate   active = 0; due retries, which are few, are marked as held
//	reactivate   active = 1; the cursor goes to the newest row: what came meanwhile stays held
//	recover      the cursor goes back; what failed since then becomes fresh (recover.go)
//
// A row leaves the cursor's care for good when it gets a due time: as a retry, by hand, or because
// its claim was given back. It then is leased by a token of its own.
//
// Whoever makes a row fresh, or takes it for fresh, holds the lane's row: cut, give back,
// deactivate, reactivate, recover, redeliver. An outcome is recorded under its lease, or under the
// row's own token, without it. Everybody locks in one order: the workspace, the lane with its
// subscription, the lease, the deliveries.
type lane struct {
	ws, sub int64
	id      sheaf.SubscriptionID
	number  int64 // of the subscription in its workspace
	active  bool
	cursor  int64
	// heldFrom and heldTo are where held rows may be, so that they are found without reading the
	// lane; heldFrom is nil when there are none, heldTo while the lane is inactive: up to the end.
	heldFrom, heldTo *int64
	// recoveredTo is where the cursor was when it was moved back at recoveredAt: what is fresh up
	// to there waits since then. Both are nil when it never was.
	recoveredTo *int64
	recoveredAt *time.Time
}

const selectLane = `
SELECT ` + laneColumns + `
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.ws = $1 AND `

const laneColumns = `s.ws, s.sub, s.id, s.number, l.active, l.cursor, l.held_from, l.held_to, l.recovered_to, l.recovered_at`

func scanLane(r *row) lane {
	return lane{ws: r.Int(), sub: r.Int(), id: readID[sheaf.SubscriptionID](r), number: r.Int(), active: r.Bool(), cursor: r.Int(),
		heldFrom: r.OptInt(), heldTo: r.OptInt(), recoveredTo: r.OptInt(), recoveredAt: r.OptTime()}
}

// lane returns the lane of the workspace's subscription, or NotFound.
func (r *Reader) lane(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (lane, error) {
	return mustFind(r, "subscription", selectLane+"s.id = $2", scanLane, ws, id)
}

// lockLane is lane, and holds it, with its subscription, until the transaction ends.
func (tx *Tx) lockLane(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (lane, error) {
	return mustFind(&tx.Reader, "subscription", selectLane+"s.id = $2"+tx.dialect().ForUpdate(), scanLane, ws, id)
}

const insertLane = `
INSERT INTO lanes (ws, sub, active, cursor, held_from)
VALUES ($1, $2, $3, $4, $5)`

const updateLane = `
UPDATE lanes
SET active = $3, cursor = $4, held_from = $5, held_to = $6, recovered_to = $7, recovered_at = $8
WHERE ws = $1 AND sub = $2`

// saveLane writes a lane that this transaction holds.
func (tx *Tx) saveLane(l *lane) error {
	failpoint.Pass(failpoint.MovingCursor)
	return tx.exec(updateLane, l.ws, l.sub, l.active, l.cursor, l.heldFrom, l.heldTo, l.recoveredTo, l.recoveredAt)
}

// mayHold notes that a row which is not behind the cursor of an inactive lane may be held.
func (l *lane) mayHold(number int64) {
	if l.heldFrom == nil || number < *l.heldFrom {
		l.heldFrom = &number
	}
	if l.active && (l.heldTo == nil || number > *l.heldTo) {
		l.heldTo = &number
	}
}

// held returns where held rows may be: from, and up to.
func (l *lane) held() (from, to int64) {
	switch {
	case l.heldFrom == nil:
		return 1, 0
	case l.heldTo == nil:
		return *l.heldFrom, 1<<62 - 1
	}
	return *l.heldFrom, *l.heldTo
}

// fresh is the condition of a row that only its lane speaks of; leased that it is in a lease, which
// unleased asks of few rows.
const (
	fresh  = `state = 0 AND due IS NULL AND token IS NULL`
	leased = `EXISTS (SELECT 1 FROM leases x WHERE x.ws = deliveries.ws AND x.sub = deliveries.sub AND deliveries.number BETWEEN x.lo AND x.hi)`
)

// The states as they are stored; what is open waits, is sent or is held, as the rest of its row and
// its lane say.
const (
	stateOpen = iota
	stateDelivered
	stateFailed
	stateHeld
)

// where adds the condition that deliveries of the lane are in a state, and the bounds within which
// such ones can be. It is stored.stands in SQL.
func (r *Reader) where(w *engine.Conditions, l *lane, state sheaf.DeliveryState) error {
	const settled = " AND due IS NULL AND token IS NULL"
	switch state {
	case sheaf.Delivered:
		w.And("state = 1" + settled)
	case sheaf.Failed:
		w.And("stopped IS NOT NULL AND state = 2" + settled)
	case sheaf.Held:
		from, to := l.held()
		w.And("number BETWEEN ? AND ?", from, to)
		cursor := int64(1<<62 - 1)
		if l.active {
			cursor = l.cursor
		}
		leases, err := r.leases(l)
		if err != nil {
			return err
		}
		lo, hi := span(leases)
		w.And("(state = 3"+settled+" OR "+fresh+" AND number <= ? AND "+unleased+")", cursor, lo, hi)
	case sheaf.Waiting:
		lowest, err := r.lowest(l, `SELECT MIN(number) FROM deliveries WHERE sub = $1 AND due IS NOT NULL`)
		if err != nil {
			return err
		}
		if !l.active {
			w.And("number >= ? AND due IS NOT NULL", lowest)
			return nil
		}
		w.And("number >= ?", min(lowest, l.cursor+1))
		w.And("(due IS NOT NULL OR "+fresh+" AND number > ? AND NOT "+leased+")", l.cursor)
	case sheaf.Sending:
		row, err := r.lowest(l, `SELECT MIN(number) FROM deliveries WHERE sub = $1 AND until IS NOT NULL`)
		if err != nil {
			return err
		}
		batch, err := r.lowest(l, `SELECT MIN(lo) FROM leases WHERE sub = $1`)
		if err != nil {
			return err
		}
		w.And("number >= ?", min(row, batch))
		w.And("(token IS NOT NULL OR " + fresh + " AND " + leased + ")")
	}
	return nil
}

// The queries for the few rows that the partial indexes have name the subscription alone, as those
// indexes do: its number is that of one subscription in one workspace.

// lowest reads a number of the lane; none is higher than any.
func (r *Reader) lowest(l *lane, sql string, args ...any) (int64, error) {
	n, _, err := one(r, sql, (*row).OptInt, append([]any{l.sub}, args...)...)
	if n == nil {
		return 1 << 62, err
	}
	return *n, err
}

// lease is what one node has cut from a lane.
type lease struct {
	token  string
	lo, hi int64
	open   int64 // how many of its fresh rows are neither recorded nor given back
}

const selectLeases = `
SELECT token, lo, hi, open
FROM leases
WHERE ws = $1 AND sub = $2`

func scanLease(r *row) lease { return lease{r.Text(), r.Int(), r.Int(), r.Int()} }

// leases returns what is cut from the lane, lowest first.
func (r *Reader) leases(l *lane) ([]lease, error) {
	leases, err := all(r, selectLeases, scanLease, l.ws, l.sub)
	slices.SortFunc(leases, func(a, b lease) int { return cmp.Compare(a.lo, b.lo) })
	return leases, err
}

// unleased is the condition that a row is in no lease, told by two comparisons where it is outside
// the span of all of them: to ask of a million rows whether each is in a lease takes seconds.
const unleased = `(number < ? OR number > ? OR NOT ` + leased + `)`

// span is from the first number of the leases, lowest first, to the last.
func span(leases []lease) (lo, hi int64) {
	if len(leases) == 0 {
		return math.MaxInt64, 0
	}
	for _, x := range leases {
		hi = max(hi, x.hi)
	}
	return leases[0].lo, hi
}

func inLease(leases []lease, number int64) bool {
	return slices.ContainsFunc(leases, func(x lease) bool { return x.lo <= number && number <= x.hi })
}

// holdRetries is the statement that holds what waits for a retry, but for what somebody asked for
// by hand.
func holdRetries(d engine.Dialect) string {
	return `
UPDATE deliveries ` + d.By("deliveries_due") + `
SET state = 3, stopped = 1, due = NULL
WHERE sub = $1 AND due IS NOT NULL AND hand = 0`
}

const newestRow = `
SELECT MAX(number)
FROM deliveries
WHERE ws = $1 AND sub = $2`

// switchLane makes a lane that this transaction holds active or inactive. Turning inactive holds
// all that waits, but for what somebody asked for by hand; turning active sends none of it.
func (tx *Tx) switchLane(l *lane, active bool) error {
	if l.active == active {
		return nil
	}
	if !active {
		lowest, err := tx.lowest(l, `SELECT MIN(number) FROM deliveries WHERE sub = $1 AND due IS NOT NULL AND hand = 0`)
		if err != nil {
			return err
		}
		if err := tx.exec(holdRetries(tx.dialect()), l.sub); err != nil {
			return fmt.Errorf("hold retries of subscription %s: %w", l.id, err)
		}
		l.active = false
		l.mayHold(min(lowest, l.cursor+1))
		l.heldTo = nil
		return tx.saveLane(l)
	}
	end, err := tx.end(l)
	if err != nil {
		return err
	}
	l.active, l.cursor = true, end
	if l.heldTo = &l.cursor; l.heldFrom != nil && *l.heldFrom > l.cursor {
		l.heldFrom, l.heldTo = nil, nil
	}
	return tx.saveLane(l)
}
