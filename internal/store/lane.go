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
// records the decision that the subscription gets the event; it is written in the event's own
// commit. Most rows hold nothing else until their attempt is recorded. Such a row is fresh: its
// state follows from the lane.
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
// A change to the whole lane therefore updates one row, the lane's:
//
//	cut          the next fresh rows become a lease, the cursor moves past them (claim.go)
//	deactivate   active = 0; waiting retries, which are few, are marked as held
//	reactivate   active = 1; the cursor moves to the newest row: rows added meanwhile stay held
//	recover      the cursor moves back; deliveries that failed since then become fresh (recover.go)
//
// Once a row has a due time, the cursor no longer decides its state. A row gets a due time as a
// retry, when a client asks for one more attempt, or when its claim is given back. From then on it
// is leased by a token of its own.
//
// A transaction that makes a row fresh, or relies on a row being fresh, locks the lane's row: cut,
// give back, deactivate, reactivate, recover, redeliver. Recording an outcome does not lock the
// lane: the outcome's lease, or the row's own token, is enough. Every transaction locks in this
// order: the workspace, the lane with its subscription, the lease, the deliveries.
type lane struct {
	ws, sub int64
	id      sheaf.SubscriptionID
	number  int64 // number of the subscription in its workspace
	active  bool
	cursor  int64
	// heldFrom and heldTo bound the numbers of held rows, so that these are found without reading
	// the whole lane. heldFrom is nil if no row is held. heldTo is nil while the lane is inactive:
	// the range has no upper end.
	heldFrom, heldTo *int64
	// recoveredTo is the cursor's position before recovery moved it back at recoveredAt. Fresh rows
	// up to recoveredTo have been waiting since recoveredAt. Both are nil if the lane was never
	// recovered.
	recoveredTo *int64
	recoveredAt *time.Time
	laneCount
}

const selectLane = `
SELECT ` + laneColumns + `
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.ws = $1 AND `

const laneColumns = `s.ws, s.sub, s.id, s.number, l.active, l.cursor, l.held_from, l.held_to, l.recovered_to, l.recovered_at,
  l.held, l.taken, l.held_version`

func scanLane(r *row) lane {
	return lane{ws: r.Int(), sub: r.Int(), id: readID[sheaf.SubscriptionID](r), number: r.Int(), active: r.Bool(), cursor: r.Int(),
		heldFrom: r.OptInt(), heldTo: r.OptInt(), recoveredTo: r.OptInt(), recoveredAt: r.OptTime(),
		laneCount: laneCount{holds: r.Int(), taken: r.Int(), version: r.Int()}}
}

// lane returns the lane of the workspace's subscription, or NotFound.
func (r *Reader) lane(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (lane, error) {
	and, args := r.sameRestriction(ws, id)
	return mustFind(r, "subscription", selectLane+"s.id = $2"+and, scanLane, args...)
}

// lockLane is lane, and locks the lane and its subscription until the transaction ends.
func (tx *Tx) lockLane(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (lane, error) {
	and, args := tx.sameRestriction(ws, id)
	return mustFind(&tx.Reader, "subscription", selectLane+"s.id = $2"+and+tx.dialect().ForUpdate(), scanLane, args...)
}

const insertLane = `
INSERT INTO lanes (ws, sub, active, cursor, held_from)
VALUES ($1, $2, $3, $4, $5)`

const updateLane = `
UPDATE lanes
SET active = $3, cursor = $4, held_from = $5, held_to = $6, recovered_to = $7, recovered_at = $8,
  held = $9, taken = $10, held_version = $11
WHERE ws = $1 AND sub = $2`

// saveLane writes a lane that this transaction has locked.
func (tx *Tx) saveLane(l *lane) error {
	failpoint.Pass(failpoint.MovingCursor)
	return tx.exec(updateLane, l.ws, l.sub, l.active, l.cursor, l.heldFrom, l.heldTo, l.recoveredTo, l.recoveredAt, l.holds, l.taken, l.version)
}

// mayHold widens the range of held rows to include `number`. A row added to an inactive lane needs
// no call: the range of such a lane has no upper end.
func (l *lane) mayHold(number int64) {
	if l.heldFrom == nil || number < *l.heldFrom {
		l.heldFrom = &number
	}
	if l.active && (l.heldTo == nil || number > *l.heldTo) {
		l.heldTo = &number
	}
}

// held returns the range of numbers in which held rows may be, both ends included. The range is
// empty (to < from) if no row is held.
func (l *lane) held() (from, to int64) {
	switch {
	case l.heldFrom == nil:
		return 1, 0
	case l.heldTo == nil:
		return *l.heldFrom, 1<<62 - 1
	}
	return *l.heldFrom, *l.heldTo
}

// fresh is the condition for a fresh row, whose state follows from its lane. leased is the
// condition for a row in a lease; it is slow, and unleased evaluates it for few rows only.
const (
	fresh  = `state = 0 AND due IS NULL AND token IS NULL`
	leased = `EXISTS (SELECT 1 FROM leases x WHERE x.ws = deliveries.ws AND x.sub = deliveries.sub AND deliveries.number BETWEEN x.lo AND x.hi)`
)

// The states as they are stored. An open delivery is waiting, being sent or held, depending on its
// other columns and its lane.
const (
	stateOpen = iota
	stateDelivered
	stateFailed
	stateHeld
)

// where adds to w the condition that deliveries of the lane are in `state`, and the bounds within
// which such deliveries can be. It is stored.stands in SQL: the two must agree.
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

// The queries on the partial indexes, which contain few rows, name only the subscription, as those
// indexes do. sub is unique across all workspaces.

// lowest returns the one number that sql reads from the lane. If it reads none, lowest returns
// 1<<62, which is higher than any number.
func (r *Reader) lowest(l *lane, sql string, args ...any) (int64, error) {
	n, _, err := one(r, sql, (*row).OptInt, append([]any{l.sub}, args...)...)
	if n == nil {
		return 1 << 62, err
	}
	return *n, err
}

// lease is a range of rows that one node has cut from a lane.
type lease struct {
	token  string
	lo, hi int64
	open   int64 // fresh rows that are neither recorded nor given back
}

const selectLeases = `
SELECT token, lo, hi, open
FROM leases
WHERE ws = $1 AND sub = $2`

func scanLease(r *row) lease { return lease{r.Text(), r.Int(), r.Int(), r.Int()} }

// leases returns the lane's leases, lowest first.
func (r *Reader) leases(l *lane) ([]lease, error) {
	leases, err := all(r, selectLeases, scanLease, l.ws, l.sub)
	slices.SortFunc(leases, func(a, b lease) int { return cmp.Compare(a.lo, b.lo) })
	return leases, err
}

// unleased is the condition for a row in no lease. Its parameters are the span of all leases: two
// comparisons settle it for every row outside the span. Testing leased on a million rows takes
// seconds.
const unleased = `(number < ? OR number > ? OR NOT ` + leased + `)`

// span returns the first and the last number of `leases`, which must be sorted lowest first.
// Without leases, lo > hi.
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

// holdRetries returns the statement that marks waiting retries as held, except those that a client
// asked for by hand.
func holdRetries(d engine.Dialect) string {
	return `
UPDATE deliveries ` + d.By("deliveries_due") + `
SET state = 3, stopped = 1, due = NULL
WHERE sub = $1 AND due IS NOT NULL AND hand = 0`
}

// switchLane makes a lane that this transaction has locked active or inactive. Deactivating holds
// every waiting delivery, except those that a client asked for by hand. Reactivating releases none
// of them.
func (tx *Tx) switchLane(l *lane, active bool) error {
	if l.active == active {
		return nil
	}
	if !active {
		lowest, err := tx.lowest(l, `SELECT MIN(number) FROM deliveries WHERE sub = $1 AND due IS NOT NULL AND hand = 0`)
		if err != nil {
			return err
		}
		n, err := tx.changed(holdRetries(tx.dialect()), l.sub)
		if err != nil {
			return fmt.Errorf("hold retries of subscription %s: %w", l.id, err)
		}
		l.active = false
		l.holds += n
		l.mayHold(min(lowest, l.cursor+1))
		l.heldTo = nil
		return tx.saveLane(l)
	}
	end, given, err := tx.end(l)
	if err != nil {
		return err
	}
	// Count the rows above the cursor as held: the cursor is about to move past them.
	l.holds += given - l.taken
	l.taken = given
	l.active, l.cursor = true, end
	if l.heldTo = &l.cursor; l.heldFrom != nil && *l.heldFrom > l.cursor {
		l.heldFrom, l.heldTo = nil, nil
	}
	return tx.saveLane(l)
}
