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

// Claiming is cutting: the next fresh deliveries of a lane become one lease, which is one row for
// all of them, and the cursor of the lane moves behind them (lane.go has a drawing). What has a due
// time, retries and what was asked for by hand, is leased row by row: it is rare, or slow anyway.

// Lane is a subscription and how many of its deliveries may be claimed.
type Lane struct {
	Subscription sheaf.SubscriptionID
	Room         int   // how many deliveries may be claimed
	Retries      int   // how many of Room first attempts, which go first, must leave to retries
	Bytes        int64 // bounds what the bodies have together; 0 is no bound of the lane's own
}

// Budget is how many bytes the bodies of one claim may have together, and how many of them those
// may have that are larger than SmallBody.
type Budget struct{ All, Large int64 }

// Unbounded is a Budget that refuses nothing.
var Unbounded = Budget{All: math.MaxInt64, Large: math.MaxInt64}

const (
	// SmallBody is the largest body that a claim reads together with its event's head. Larger ones
	// are read when they are sure to be claimed, once for all deliveries of their event.
	SmallBody = 16 << 10
	// LargestBody is what a body counts at most: an event's payload and what is around it. A budget
	// that has so much left takes any delivery.
	LargestBody = sheaf.MaxPayload + 32<<10
	// ClaimMost bounds what is claimed of one lane at a time. It stands in the texts, where
	// PostgreSQL's planner sees it: it would sort a lane if it had to expect that much of it is
	// asked for.
	ClaimMost = 512
	// mostRetries is how many retries of a lane may wait before it begins first attempts again: an
	// endpoint that refuses quickly would have ever more of them, and take the time of the others.
	mostRetries = 4096
	// lockedRest is after how long a lane is looked at again that another node is cutting.
	lockedRest = 5 * time.Millisecond
)

// Claim is a delivery that this node, and no other, is to attempt now.
type Claim struct {
	Workspace    sheaf.WorkspaceID
	Delivery     sheaf.DeliveryID
	Subscription sheaf.SubscriptionID
	Event        sheaf.EventID
	Body         []byte // shared with the other claims of its event: not to be written to
	Attempts     int64  // made before
	Tries        int64  // of them in this run of the schedule
	ByHand       bool   // asked for by redeliver: not counted
	URL          string
	Sealed       Sealed
	Token        string
	Size         int64 // what the body counts against a Budget

	ws, sub, number int64 // its row: workspace, subscription, and the event in its log
	cut             bool  // it belongs to a lease of its lane, and its row has no token
}

// Claimed is what a claim of several lanes found.
type Claimed struct {
	Claims []Claim
	// More are the lanes that were not filled though more may be behind what was read.
	More map[sheaf.SubscriptionID]bool
	// Next is when the earliest delivery that waits in a lane that had room left is due; lanes that
	// none waits in are missing.
	Next map[sheaf.SubscriptionID]time.Time
	// TooLarge is, for each lane that had room left, the size of the first due delivery for which
	// no bytes were left.
	TooLarge map[sheaf.SubscriptionID]int64
}

// Claim claims due deliveries of the lanes, first attempts before retries, under a lease: until it
// ends nobody else claims them. Their bodies keep within the bytes
// of the lanes and of the budget; what does not fit holds up what is behind it in
// its lane. A lane whose subscription is gone or inactive yields only what was
// asked for by hand; one that another node is cutting yields nothing, and is to be
// looked at again in a moment.
//
//	lockQueues     reads the lanes and holds them
//	fill           reads what may be claimed: by hand, fresh, retries
//	readEndpoints  reads where that is to be sent
//	choose         leaves what there are places for, and gives retries their part
//	readHeads      reads the events, with the bodies that are small
//	fit            leaves what there are bytes for
//	readBodies     reads the other bodies
//	writeLeases    writes who has them, and moves the cursors
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

// queue is a lane being claimed for.
type queue struct {
	Lane
	lane
	workspace sheaf.WorkspaceID
	url       string // with sealed read where there is something to send
	sealed    Sealed
	asked     []Claim // due now: asked for by hand, or given back by another claim
	cut       []Claim // fresh rows behind the cursor
	retries   []Claim // due retries
	claims    []Claim // what is claimed of these three
	reached   int64   // the newest row that was read for cut: nothing fresh is left up to it
	more      bool    // there may be fresh rows behind it
}

var selectQueues = engine.NewBulk(`
SELECT s.ws, s.sub, s.id, s.number, l.active, l.cursor, w.id
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
JOIN workspaces w ON w.ws = s.ws
WHERE s.id = {id}{lock}`, engine.Dialect{Postgres: true}.SkipLocked("l"), "id id")

// lockQueues reads the lanes and holds them. Those that are gone are left out, and those that
// another node holds, which are to be looked at again.
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
			n, err := tx.count(`SELECT COUNT(*) FROM subscriptions WHERE id = $1`, l.Subscription)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				next[l.Subscription] = now.Add(lockedRest)
			}
		}
	}
	return out, nil
}

var selectEndpoints = engine.NewBulk(`
SELECT url, `+SealedColumns+`
FROM subscriptions
WHERE ws = {ws} AND id = {id}`, "", "ws int", "id id")

// readEndpoints reads where to send, once it is known what. On PostgreSQL each statement sees what
// is committed by then: read before the deliveries, the endpoint may have been changed between the
// two, and an event of after that would go to the old one.
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

// fill reads what may be claimed. Retries are looked for only where they can have a place.
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

// selectDue reads no more than is taken.
var selectDue = engine.NewBulk(fmt.Sprintf(`
SELECT q.number, q.attempts, q.tries, q.hand
FROM (
  SELECT number, attempts, tries, hand
  FROM deliveries
  WHERE sub = {sub} AND retry = {retry} AND due <= {now} AND due IS NOT NULL AND (hand = 1 OR {active} = 1)
  ORDER BY due, number
  LIMIT %d) AS q
LIMIT {most}`, ClaimMost), "", "sub int", "retry int", "now int", "active int", "most int")

// due reads what is due in each queue, at most as many as most says.
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

// scanMost is how many rows are read at most to find fresh ones: behind a cursor that recovery has
// moved back there are others between them.
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

// readFresh reads at most so many fresh rows behind the cursor, up to the next lease: leases of a
// lane never overlap.
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
		scan = min(scanMost, 2*most+64) // it reads all before the first is looked at
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

// choose decides which of what was found are claimed.
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

// nextDue notes when the first delivery of each queue is due that is not yet.
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
SET cursor = {at}
{rows}
WHERE lanes.ws = {ws} AND lanes.sub = {sub}`, "", "ws int", "sub int", "at int")
)

// writeLeases marks the claims as being sent: what was cut by a lease, the others one by one.
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
		// What was read and is not taken stays behind the cursor.
		at := q.reached
		if open < len(q.cut) {
			at = q.cut[open].number - 1
		}
		if at != q.cursor {
			cursors = append(cursors, []any{q.ws, q.sub, at})
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
