package store

import (
	"errors"
	"fmt"
	"math"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// To claim is to cut: the next fresh deliveries of a lane become one lease, which is one row for
// all of them, and the lane's cursor moves past them (see the drawing in lane.go). Deliveries with
// a due time, that is retries and those asked for by hand, are leased row by row: they are rare, or
// slow anyway.

// Lane names a subscription to claim for, and how much may be claimed for it.
type Lane struct {
	Subscription sheaf.SubscriptionID
	Room         int   // at most this many deliveries are claimed
	Retries      int   // places of Room reserved for retries; first attempts take the others first
	Bytes        int64 // limit on the total size of the bodies; 0: only the Budget limits it
}

// Budget limits the total bytes of the bodies in one claim: All of them, and those that are larger
// than SmallBody (Large).
type Budget struct{ All, Large int64 }

// Unbounded is a Budget that refuses nothing.
var Unbounded = Budget{All: math.MaxInt64, Large: math.MaxInt64}

const (
	// SmallBody is the largest body that a claim reads together with its event's head. Larger
	// bodies are read only once they are certain to be claimed, one time for all deliveries of
	// their event.
	SmallBody = 16 << 10
	// LargestBody is the most that one body can count: an event's payload and its envelope. Any
	// delivery fits into a budget that has this much left.
	LargestBody = sheaf.MaxPayload + 32<<10
	// ClaimMost is the most that is claimed of one lane at a time. It is a literal in the SQL, so
	// that PostgreSQL's planner sees it. With a parameter, the planner expects to read much of the
	// lane and sorts all of it.
	ClaimMost = 512
	// mostRetries is the number of waiting retries at which a lane starts no more first attempts.
	// Without it, an endpoint that refuses quickly would accumulate retries without limit, and they
	// would take time from the other lanes.
	mostRetries = 4096
	// LockedRest is the delay before a lane that another node is cutting is tried again.
	LockedRest = 5 * time.Millisecond
)

// Claim is a delivery that this node, and no other, must attempt now.
type Claim struct {
	Workspace    sheaf.WorkspaceID
	Delivery     sheaf.DeliveryID
	Subscription sheaf.SubscriptionID
	Event        sheaf.EventID
	Body         []byte // shared with the other claims of its event: read only
	Attempts     int64  // attempts made so far
	Tries        int64  // attempts of the current run of the retry schedule
	ByHand       bool   // asked for by redeliver: does not change the failure count
	URL          string
	Sealed       Sealed
	Token        string
	Size         int64 // the bytes that the body counts against a Budget

	ws, sub, number int64 // key of the row: workspace, subscription, and the event's number in the log
	cut             bool  // the row belongs to a lease of its lane and has no token of its own
}

// Claimed is the result of one Claim.
type Claimed struct {
	Claims []Claim
	// More marks the lanes that still had room, though rows beyond those read may be claimable.
	More map[sheaf.SubscriptionID]bool
	// Next is when the earliest waiting delivery is due, for each lane that still had room. A lane
	// in which nothing waits has no entry.
	Next map[sheaf.SubscriptionID]time.Time
	// TooLarge is the size of the first due delivery that did not fit the bytes left, for each lane
	// that still had room.
	TooLarge map[sheaf.SubscriptionID]int64
}

// Claim claims due deliveries of the lanes under a lease, first attempts before retries. Until the
// lease ends, no other node claims them. The bodies stay within the bytes of each lane and of the
// budget; a delivery that does not fit blocks the later ones in its lane. A lane whose subscription
// is deleted yields nothing. An inactive lane yields only deliveries asked for by hand. A lane that
// another node is cutting yields nothing, and Next asks the caller to try it again in a moment.
//
//	lockQueues     reads and locks the lanes
//	fill           reads the candidates: by hand, fresh, retries
//	readEndpoints  reads where to send them
//	choose         keeps as many as there are places for, and reserves places for retries
//	readHeads      reads the events, with the bodies that are small
//	fit            keeps as many as there are bytes for
//	readBodies     reads the other bodies
//	writeLeases    writes the leases and moves the cursors
func (tx *Tx) Claim(lanes []Lane, budget Budget, now, leaseUntil time.Time, token string) (Claimed, error) {
	out := Claimed{More: map[sheaf.SubscriptionID]bool{}, Next: map[sheaf.SubscriptionID]time.Time{}, TooLarge: map[sheaf.SubscriptionID]int64{}}
	queues, err := tx.lockQueues(lanes, now, out.Next)
	if err != nil {
		return out, fmt.Errorf("read subscriptions: %w", err)
	}
	if err := tx.fill(queues, now); err != nil {
		return out, fmt.Errorf("claim deliveries: %w", err)
	}
	if err := tx.readEndpoints(queues); err != nil {
		return out, fmt.Errorf("read endpoints: %w", err)
	}
	var unfilled []*queue
	for _, q := range queues {
		q.choose(token)
		if err := tx.readHeads(q); err != nil {
			return out, fmt.Errorf("read events: %w", err)
		}
		if size := q.fit(&budget); size > 0 {
			out.TooLarge[q.Subscription] = size
		}
		if len(q.claims) < q.Room {
			unfilled = append(unfilled, q)
			out.More[q.Subscription] = q.more
		}
		out.Claims = append(out.Claims, q.claims...)
	}
	if err := tx.nextDue(unfilled, now, out.Next); err != nil {
		return out, err
	}
	if err := tx.readBodies(out.Claims); err != nil {
		return out, fmt.Errorf("read events: %w", err)
	}
	return out, tx.writeLeases(queues, leaseUntil, token)
}

// queue is a lane during Claim.
type queue struct {
	Lane
	lane
	workspace sheaf.WorkspaceID
	url       string // url and sealed are read only if there is something to send
	sealed    Sealed
	asked     []Claim // due now: asked for by hand, or given back by another claim
	cut       []Claim // fresh rows above the cursor
	retries   []Claim // due retries
	claims    []Claim // rows of asked, cut and retries that are claimed
	reached   int64   // the last row read for cut: no other fresh row is at or below it
	more      bool    // there may be fresh rows above reached
}

var selectQueues = engine.NewBulk(`
SELECT s.ws, s.sub, s.id, s.number, l.active, l.cursor, w.id
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
JOIN workspaces w ON w.ws = s.ws
WHERE s.id = {id} AND w.deleted_at = 0{lock}`, engine.Dialect{Postgres: true}.SkipLocked("l"), "id id")

// lockQueues reads and locks the lanes. It leaves out the lanes that are gone and those that
// another node has locked. For the latter it sets next, so that they are tried again.
func (tx *Tx) lockQueues(lanes []Lane, now time.Time, next map[sheaf.SubscriptionID]time.Time) ([]*queue, error) {
	rows := make([][]any, len(lanes))
	for i, l := range lanes {
		rows[i] = []any{l.Subscription}
	}
	var out []*queue
	found := map[sheaf.SubscriptionID]bool{}
	err := tx.run(selectQueues, rows, func(i int, r *row) {
		l := lane{ws: r.Int(), sub: r.Int(), id: readID[sheaf.SubscriptionID](r), number: r.Int(), active: r.Bool(), cursor: r.Int()}
		out = append(out, &queue{Lane: lanes[i], lane: l, workspace: readID[sheaf.WorkspaceID](r), reached: l.cursor})
		found[l.id] = true
	})
	if err != nil || !tx.dialect().Postgres {
		return out, err
	}
	for _, l := range lanes {
		if !found[l.Subscription] {
			n, err := tx.count(`SELECT COUNT(*) FROM subscriptions s JOIN workspaces w ON w.ws = s.ws WHERE s.id = $1 AND w.deleted_at = 0`, l.Subscription)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				next[l.Subscription] = now.Add(LockedRest)
			}
		}
	}
	return out, nil
}

var selectEndpoints = engine.NewBulk(`
SELECT url, `+SealedColumns+`
FROM subscriptions
WHERE ws = {ws} AND id = {id}`, "", "ws int", "id id")

// readEndpoints reads the endpoints, after the deliveries. On PostgreSQL each statement sees what
// is committed by then. If endpoints were read first, a change between the two statements would
// send a later event to the old endpoint.
func (tx *Tx) readEndpoints(queues []*queue) error {
	var rows [][]any
	var found []*queue
	for _, q := range queues {
		if len(q.asked)+len(q.cut)+len(q.retries) > 0 {
			rows, found = append(rows, []any{q.ws, q.Subscription}), append(found, q)
		}
	}
	return tx.run(selectEndpoints, rows, func(i int, r *row) { found[i].url, found[i].sealed = r.Text(), ScanSealed(r) })
}

// fill reads the candidates for the claim. It reads retries only for queues that can have places
// for them.
func (tx *Tx) fill(queues []*queue, now time.Time) error {
	err := tx.due(queues, 0, now, func(q *queue) int { return q.Room }, func(q *queue, c Claim) { q.asked = append(q.asked, c) })
	if err != nil {
		return err
	}
	for _, q := range queues {
		if q.active && len(q.asked) < q.Room {
			if err := tx.readFresh(q, q.Room-len(q.asked)); err != nil {
				return err
			}
		}
	}
	places := func(q *queue) int { return max(q.Retries, q.Room-len(q.asked)-len(q.cut)) }
	return tx.due(queues, 1, now, places, func(q *queue, c Claim) { q.retries = append(q.retries, c) })
}

var selectDue = engine.NewBulk(fmt.Sprintf(`
SELECT q.number, q.attempts, q.tries, q.hand
FROM (
  SELECT number, attempts, tries, hand
  FROM deliveries
  WHERE sub = {sub} AND retry = {retry} AND due <= {now} AND due IS NOT NULL AND (hand = 1 OR {active} = 1)
  ORDER BY due, number
  LIMIT %d) AS q
LIMIT {most}`, ClaimMost), "", "sub int", "retry int", "now int", "active int", "most int")

// due reads the deliveries of each queue that are due, at most most(queue) of them.
func (tx *Tx) due(queues []*queue, retry int, now time.Time, most func(*queue) int, add func(*queue, Claim)) error {
	var rows [][]any
	var asked []*queue
	for _, q := range queues {
		if n := most(q); n > 0 {
			rows = append(rows, []any{q.sub, retry, now, q.active, n})
			asked = append(asked, q)
		}
	}
	return tx.run(selectDue, rows, func(i int, r *row) {
		add(asked[i], Claim{number: r.Int(), Attempts: r.Int(), Tries: r.Int(), ByHand: r.Bool()})
	})
}

// scanMost is the most rows that are read to find fresh ones. After recovery has moved a cursor
// back, other rows lie between them.
const scanMost = 1024

var errEnough = errors.New("enough rows were read")

var selectBehind = fmt.Sprintf(`
SELECT number, CASE WHEN %s THEN 1 ELSE 0 END, attempts
FROM deliveries
WHERE ws = $1 AND sub = $2 AND number > $3 AND number < $4
ORDER BY number
LIMIT $5`, fresh)

const countRetries = `
SELECT COUNT(*)
FROM (SELECT 1 FROM deliveries WHERE sub = $1 AND retry = 1 AND due IS NOT NULL ORDER BY sub, retry, due LIMIT $2) AS q`

// readFresh reads at most `most` fresh rows above the cursor, up to the next lease: leases of a
// lane never overlap. If mostRetries retries wait, it reads none.
func (tx *Tx) readFresh(q *queue, most int) error {
	waiting, err := tx.count(countRetries, q.sub, mostRetries)
	if err != nil || waiting >= mostRetries {
		return err
	}
	leases, err := tx.leases(&q.lane)
	if err != nil {
		return err
	}
	next := lease{lo: math.MaxInt64}
	for _, x := range leases {
		if x.hi <= q.reached {
			continue
		}
		if x.lo > q.reached+1 {
			next = x
			break
		}
		q.reached = x.hi
	}
	read, scan := 0, scanMost
	if tx.dialect().Postgres {
		scan = min(scanMost, 2*most+64) // PostgreSQL reads all rows before it returns the first
	}
	err = tx.each(selectBehind, func(r *row) error {
		if len(q.cut) == most {
			return errEnough
		}
		read++
		number := r.Int()
		if isFresh, attempts := r.Bool(), r.Int(); isFresh {
			q.cut = append(q.cut, Claim{number: number, Attempts: attempts, cut: true})
		}
		q.reached = number
		return nil
	}, q.ws, q.sub, q.reached, next.lo, scan)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case read == scan:
		q.more = true
	case err == nil && next.hi > 0:
		q.reached, q.more = next.hi, true // nothing is left before that lease
	}
	return err
}

// choose fills q.claims from the candidates, at most q.Room of them.
func (q *queue) choose(token string) {
	first := append(q.asked, q.cut...)
	first = first[:min(len(first), q.Room-min(len(q.retries), q.Retries))]
	q.claims = append(first, q.retries[:min(len(q.retries), q.Room-len(first))]...)
	for i := range q.claims {
		c := &q.claims[i]
		c.ws, c.sub, c.Workspace, c.Subscription, c.URL, c.Sealed, c.Token = q.ws, q.sub, q.workspace, q.Subscription, q.url, q.sealed, token
		c.Delivery = sheaf.NewDeliveryID(q.lane.number, c.number)
	}
}

var selectNextDue = engine.NewBulk(`
SELECT MIN(due)
FROM deliveries
WHERE sub = {sub} AND retry = {retry} AND due > {now} AND due IS NOT NULL`, "", "sub int", "retry int", "now int")

// nextDue sets in next when the earliest delivery of each queue that is not yet due becomes due.
func (tx *Tx) nextDue(queues []*queue, now time.Time, next map[sheaf.SubscriptionID]time.Time) error {
	var rows [][]any
	for _, q := range queues {
		rows = append(rows, []any{q.sub, 0, now}, []any{q.sub, 1, now})
	}
	return tx.run(selectNextDue, rows, func(i int, r *row) {
		id := queues[i/2].Subscription
		t := r.OptTime()
		if known, found := next[id]; t != nil && (!found || t.Before(known)) {
			next[id] = *t
		}
	})
}

var (
	leaseRows = engine.NewBulk(`
UPDATE deliveries
SET due = NULL, token = {token}, until = {until}
{rows}
WHERE deliveries.ws = {ws} AND deliveries.sub = {sub} AND deliveries.number = {number}`, "", "ws int", "sub int", "number int", "token", "until int")

	insertLeases = engine.NewBulkInsert("leases", "ws int", "sub int", "token", "lo int", "hi int", "open int", "until int")

	moveCursors = engine.NewBulk(`
UPDATE lanes
SET cursor = {at}, taken = lanes.taken + {cut}
{rows}
WHERE lanes.ws = {ws} AND lanes.sub = {sub}`, "", "ws int", "sub int", "at int", "cut int")
)

// writeLeases marks the claims as being sent: the rows that were cut by one lease per lane, the
// others one by one.
func (tx *Tx) writeLeases(queues []*queue, until time.Time, token string) error {
	var rows, leases, cursors [][]any
	for _, q := range queues {
		lo, hi, open := int64(0), int64(0), 0
		for i := range q.claims {
			switch c := &q.claims[i]; {
			case !c.cut:
				rows = append(rows, []any{c.ws, c.sub, c.number, token, until})
			case open == 0:
				lo, hi, open = c.number, c.number, 1
			default:
				hi, open = c.number, open+1
			}
		}
		if open > 0 {
			leases = append(leases, []any{q.ws, q.sub, token, lo, hi, open, until})
		}
		// Rows that were read but not claimed stay above the cursor.
		at := q.reached
		if open < len(q.cut) {
			at = q.cut[open].number - 1
		}
		if at != q.cursor {
			cursors = append(cursors, []any{q.ws, q.sub, at, open})
		}
	}
	if err := tx.run(leaseRows, rows, nothing); err != nil {
		return fmt.Errorf("lease deliveries: %w", err)
	}
	if err := tx.run(insertLeases, leases, nothing); err != nil {
		return fmt.Errorf("lease deliveries: %w", err)
	}
	if len(leases) > 0 {
		failpoint.Pass(failpoint.Cutting)
	}
	if err := tx.run(moveCursors, cursors, nothing); err != nil {
		return fmt.Errorf("move cursors: %w", err)
	}
	return nil
}
