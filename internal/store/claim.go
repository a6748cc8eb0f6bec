package store

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Claiming is cutting: the next fresh deliveries of a lane become one lease, which is one row for all
// of them, and the cursor of the lane moves behind them (lane.go has a drawing). What has a due time,
// retries and what was asked for by hand, is leased row by row: it is rare, or slow anyway.

// Lane is a subscription and how many of its deliveries may be claimed.
type Lane struct {
	Subscription sheaf.SubscriptionID
	Room         int
	Retries      int   // how many of Room first attempts, which go first, must leave to retries
	Bytes        int64 // bounds what the bodies have together; 0 is no bound of the lane's own
}

// Budget is how many bytes the bodies of one claim may have together, and how
// many of them those may have that are larger than SmallBody.
type Budget struct{ All, Large int64 }

// Unbounded is a Budget that refuses nothing.
var Unbounded = Budget{All: math.MaxInt64, Large: math.MaxInt64}

const (
	// SmallBody is the largest body that a claim reads together with its
	// event's head. Larger ones are read when they are sure to be claimed, once for
	// all deliveries of their event.
	SmallBody = 16 << 10
	// LargestBody is what a body counts at most: an event's payload and what is
	// around it. A budget that has so much left takes any delivery.
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

	ws, sub, number int64
	cut             bool // it belongs to a lease of its lane, and its row has no token
}

// Claimed is what a claim of several lanes found.
type Claimed struct {
	Claims []Claim
	// More are the lanes that were not filled though more may be behind what was read.
	More map[sheaf.SubscriptionID]bool
	// Next is when the earliest delivery that waits in a lane that had room
	// left is due; lanes that none waits in are missing.
	Next map[sheaf.SubscriptionID]time.Time
	// TooLarge is, for each lane that had room left, the size of the first due
	// delivery for which no bytes were left.
	TooLarge map[sheaf.SubscriptionID]int64
}

// Claim takes due deliveries of the lanes, first attempts before retries, under
// a lease until which nobody else takes them. Their bodies keep within the bytes
// of the lanes and of the budget; what does not fit holds up what is behind it in
// its lane. A lane whose subscription is gone or inactive yields only what was
// asked for by hand; one that another node is cutting yields nothing, and is to be
// looked at again in a moment.
func (tx *Tx) Claim(lanes []Lane, budget Budget, now, leaseUntil time.Time, token string) (Claimed, error) {
	out := Claimed{More: map[sheaf.SubscriptionID]bool{}, Next: map[sheaf.SubscriptionID]time.Time{}, TooLarge: map[sheaf.SubscriptionID]int64{}}
	queues, err := tx.lockQueues(lanes, now, out.Next)
	if err != nil {
		return out, fmt.Errorf("read subscriptions: %w", err)
	}
	if err := tx.fill(queues, now); err != nil {
		return out, fmt.Errorf("claim deliveries: %w", err)
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
	return out, tx.takeLeases(queues, leaseUntil, token)
}

// queue is a lane being claimed for.
type queue struct {
	Lane
	lane
	workspace sheaf.WorkspaceID
	url       string
	sealed    Sealed
	asked     []Claim // due now: by hand, or given back
	cut       []Claim // fresh
	retries   []Claim
	claims    []Claim // what is claimed of them
	reached   int64   // the newest row that was read for cut: nothing fresh is left up to it
	more      bool    // there may be fresh rows behind it
}

var selectQueues = engine.NewBulk(`
SELECT s.ws, s.sub, s.id, s.number, l.active, l.cursor, w.id, s.url, s.secret, s.old_secret, s.old_secret_until, s.headers
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
		out = append(out, &queue{Lane: lanes[i], lane: l, workspace: readID[sheaf.WorkspaceID](r), url: r.Text(), sealed: ScanSealed(r),
			reached: l.cursor})
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

// fill reads what may be claimed. Retries are looked for only where they can
// have a place.
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

// selectBodyHeads has a body that is not small as its length, for which no JSON
// object can be taken.
var selectBodyHeads = engine.NewBulk(fmt.Sprintf(`
SELECT e.id, CASE WHEN octet_length(e.body) <= %d THEN e.body ELSE CAST(octet_length(e.body) AS TEXT) END,
  (SELECT o.id FROM old_ids o WHERE o.ws = {ws} AND o.sub = {sub} AND o.number = {number})
FROM events e
WHERE e.ws = {ws} AND e.number = {number}`, SmallBody), "", "ws int", "sub int", "number int")

// readHeads reads the events of the queue's claims, with the bodies that are small.
func (tx *Tx) readHeads(q *queue) error {
	rows := make([][]any, len(q.claims))
	for i := range q.claims {
		rows[i] = []any{q.ws, q.sub, q.claims[i].number}
	}
	err := tx.run(selectBodyHeads, rows, func(i int, r *row) {
		c := &q.claims[i]
		c.Event, c.Body = readEventID(r), r.Blob()
		c.Size = int64(len(c.Body))
		if c.Size > 0 && c.Body[0] != '{' {
			c.Size, _ = strconv.ParseInt(string(c.Body), 10, 64)
			c.Body = nil
		}
		c.Size = min(c.Size, LargestBody)
		if old := optID[sheaf.DeliveryID](r); old != nil {
			c.Delivery = *old
		}
	})
	if err != nil {
		return err
	}
	// What has no event, which the doctor would tell of, cannot be sent.
	lost := func(c Claim) bool { return c.Event == "" }
	for i := range q.claims {
		if lost(q.claims[i]) {
			q.cut = slices.DeleteFunc(q.cut, func(c Claim) bool { return c.number == q.claims[i].number })
		}
	}
	q.claims = slices.DeleteFunc(q.claims, lost)
	return nil
}

// fit drops the claims that there are no bytes for, and returns the size of the
// first of them; 0 when there are none.
func (q *queue) fit(budget *Budget) (tooLarge int64) {
	if q.Bytes == 0 {
		q.Bytes = math.MaxInt64
	}
	for i := range q.claims {
		size := q.claims[i].Size
		large := size > SmallBody
		if size > min(q.Bytes, budget.All) || large && size > budget.Large {
			q.claims = q.claims[:i]
			return size
		}
		q.Bytes -= size
		budget.All -= size
		if large {
			budget.Large -= size
		}
	}
	return 0
}

var selectBodies = engine.NewBulk(`
SELECT body
FROM events
WHERE ws = {workspace} AND number = {number}`, "", "workspace int", "number int")

// readBodies reads the bodies that did not come with their events' heads, each once.
func (tx *Tx) readBodies(claims []Claim) error {
	type event struct{ ws, number int64 }
	bodies := map[event][]byte{}
	var events []event
	var rows [][]any
	for i := range claims {
		e := event{claims[i].ws, claims[i].number}
		if _, asked := bodies[e]; claims[i].Body == nil && !asked {
			bodies[e] = nil
			events = append(events, e)
			rows = append(rows, []any{e.ws, e.number})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.run(selectBodies, rows, func(i int, r *row) { bodies[events[i]] = r.Blob() }); err != nil {
		return err
	}
	for i := range claims {
		if c := &claims[i]; c.Body == nil {
			c.Body = bodies[event{c.ws, c.number}]
			if failpoint.Planted(failpoint.Uncounted) {
				c.Body = bytes.Clone(c.Body)
			}
		}
	}
	return nil
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

// takeLeases marks the claims as being sent: what was cut by a lease, the others one by one.
func (tx *Tx) takeLeases(queues []*queue, until time.Time, token string) error {
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

const (
	// dueAgain gives fresh rows of a range a due time.
	dueAgain = `
UPDATE deliveries
SET due = $5
WHERE ws = $1 AND sub = $2 AND number BETWEEN $3 AND $4 AND ` + fresh

	// releaseRow is for a row that has a token: what it was, or held where its lane is inactive and
	// nobody asked for it by hand.
	releaseRow = `
UPDATE deliveries
SET token = NULL, until = NULL, due = $5
WHERE ws = $1 AND sub = $2 AND number = $3 AND token = $4`

	holdRow = `
UPDATE deliveries
SET token = NULL, until = NULL, state = 3, stopped = 1
WHERE ws = $1 AND sub = $2 AND number = $3 AND token = $4`
)

// releaseCut gives fresh rows of a lease back to a lane that this transaction holds: they are due
// now, or stay fresh, and so are held, where it is inactive.
func (tx *Tx) releaseCut(l *lane, lo, hi int64, now time.Time) error {
	if l.active {
		return tx.exec(dueAgain, l.ws, l.sub, lo, hi, now)
	}
	l.mayHold(lo)
	return tx.saveLane(l)
}

// releaseOne is releaseCut for a row with a token.
func (tx *Tx) releaseOne(l *lane, number int64, token string, hand bool, now time.Time) error {
	if l.active || hand {
		return tx.exec(releaseRow, l.ws, l.sub, number, token, now)
	}
	n, err := tx.changed(holdRow, l.ws, l.sub, number, token)
	if err != nil || n == 0 {
		return err
	}
	l.mayHold(number)
	return tx.saveLane(l)
}

const (
	expiredLeases = `
SELECT w.id, s.id, x.token, x.lo, x.hi
FROM leases x
JOIN subscriptions s ON s.sub = x.sub
JOIN workspaces w ON w.ws = x.ws
WHERE x.until < $1
ORDER BY x.until
LIMIT $2`
	expiredRows = `
SELECT w.id, s.id, d.token, d.number, d.hand
FROM deliveries d
JOIN subscriptions s ON s.sub = d.sub
JOIN workspaces w ON w.ws = d.ws
WHERE d.until < $1 AND d.until IS NOT NULL
ORDER BY d.until
LIMIT $2`
	// expiredMost bounds the leases, and the rows, of one transaction.
	expiredMost = 1000
)

// ReleaseExpired gives back what was claimed until before a time, so far as one transaction should:
// its node has died. The attempt that it may have made is made again. It returns how many leases it
// ended; when it is 0 there are no more.
func (tx *Tx) ReleaseExpired(before, now time.Time) (int64, error) {
	type expired struct {
		ws      sheaf.WorkspaceID
		id      sheaf.SubscriptionID
		token   string
		lo, hi  int64
		hand    bool
		ofALane bool
	}
	found, err := all(&tx.Reader, expiredLeases, func(r *row) expired {
		return expired{ws: readID[sheaf.WorkspaceID](r), id: readID[sheaf.SubscriptionID](r), token: r.Text(), lo: r.Int(), hi: r.Int(), ofALane: true}
	}, before, expiredMost)
	if err != nil {
		return 0, err
	}
	rows, err := all(&tx.Reader, expiredRows, func(r *row) expired {
		return expired{ws: readID[sheaf.WorkspaceID](r), id: readID[sheaf.SubscriptionID](r), token: r.Text(), lo: r.Int(), hand: r.Bool()}
	}, before, expiredMost)
	if err != nil {
		return 0, err
	}
	found = append(found, rows...)
	slices.SortStableFunc(found, func(a, b expired) int { return strings.Compare(string(a.id), string(b.id)) })
	lanes := map[sheaf.SubscriptionID]*lane{}
	for _, x := range found {
		l := lanes[x.id]
		if l == nil {
			locked, err := tx.lockLane(x.ws, x.id)
			if sheaf.KindOf(err) == sheaf.NotFound {
				continue
			}
			if err != nil {
				return 0, err
			}
			l = &locked
			lanes[x.id] = l
			tx.note.due(x.ws, x.id)
		}
		if !x.ofALane {
			if err := tx.releaseOne(l, x.lo, x.token, x.hand, now); err != nil {
				return 0, err
			}
			continue
		}
		// It may have been recorded to its end, or released, meanwhile.
		n, err := tx.changed(`DELETE FROM leases WHERE ws = $1 AND sub = $2 AND token = $3`, l.ws, l.sub, x.token)
		if err == nil && n > 0 {
			err = tx.releaseCut(l, x.lo, x.hi, now)
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(found)), nil
}

// Release gives back claims whose attempts were not made.
func (tx *Tx) Release(claims []Claim, now time.Time) error {
	order := make([]*Claim, len(claims))
	for i := range claims {
		order[i] = &claims[i]
	}
	slices.SortFunc(order, func(a, b *Claim) int { return strings.Compare(string(a.Subscription), string(b.Subscription)) })
	var l lane
	for _, c := range order {
		var err error
		if l.id != c.Subscription {
			l, err = tx.lockLane(c.Workspace, c.Subscription)
			if sheaf.KindOf(err) == sheaf.NotFound {
				l = lane{}
				continue
			}
			tx.note.due(c.Workspace, c.Subscription)
		}
		if err == nil && c.cut {
			err = tx.releaseClaim(&l, c, now)
		} else if err == nil {
			err = tx.releaseOne(&l, c.number, c.Token, c.ByHand, now)
		}
		if err != nil {
			return fmt.Errorf("release delivery %s: %w", c.Delivery, err)
		}
	}
	return nil
}

// releaseClaim gives back one row of a lease, if that is still ours and the row was not recorded.
func (tx *Tx) releaseClaim(l *lane, c *Claim, now time.Time) error {
	leases, err := tx.lockLeases([]leaseKey{{c.ws, c.sub, c.Token}})
	if err != nil || leases[leaseKey{c.ws, c.sub, c.Token}] == nil {
		return err
	}
	d, found, err := one(&tx.Reader, selectStored, scanStored, c.ws, c.sub, c.number)
	if err != nil || !found || !d.fresh() || d.attempts != c.Attempts {
		return err
	}
	// Where the lane is inactive it stays fresh, and the lease must not speak of it any more.
	if !l.active {
		if err := tx.exec(`UPDATE deliveries SET state = 3, stopped = 1 WHERE ws = $1 AND sub = $2 AND number = $3`, c.ws, c.sub, c.number); err != nil {
			return err
		}
	}
	if err := tx.releaseCut(l, c.number, c.number, now); err != nil {
		return err
	}
	return tx.closeLeases(map[leaseKey]int64{{c.ws, c.sub, c.Token}: 1}, leases)
}

const (
	countExpired = `
SELECT (SELECT COUNT(*) FROM leases WHERE until < $1) + (SELECT COUNT(*) FROM deliveries WHERE until < $1 AND until IS NOT NULL)`
)

// Expired counts the leases until before a time that never came back.
func (r *Reader) Expired(before time.Time) (int64, error) { return r.count(countExpired, before) }

// dueLanes walks over the index of what has a due time, from one subscription
// to the next, without reading the deliveries between.
const dueLanes = `
WITH RECURSIVE lane_list (sub) AS (
  SELECT MIN(sub)
  FROM deliveries
  WHERE due IS NOT NULL
  UNION ALL
  SELECT (SELECT MIN(d.sub) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub > lane_list.sub)
  FROM lane_list
  WHERE lane_list.sub IS NOT NULL)
SELECT s.id,
  (SELECT MIN(d.due) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub = lane_list.sub AND d.retry = 0),
  (SELECT MIN(d.due) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub = lane_list.sub AND d.retry = 1)
FROM lane_list
JOIN subscriptions s ON s.sub = lane_list.sub`

// DueLanes returns the subscriptions that have deliveries with a due time, and when the first of
// them is due: retries, what was asked for by hand, and what was given back.
func (r *Reader) DueLanes() (map[sheaf.SubscriptionID]time.Time, error) {
	out := map[sheaf.SubscriptionID]time.Time{}
	err := r.query(dueLanes, func(w *row) {
		id, first, retry := readID[sheaf.SubscriptionID](w), w.OptTime(), w.OptTime()
		if first == nil || retry != nil && retry.Before(*first) {
			first = retry
		}
		if first != nil {
			out[id] = *first
		}
	})
	return out, err
}

// freshLanes has, of each active lane, since when the first delivery behind its cursor waits.
const freshLanes = `
SELECT q.id, CASE WHEN q.number <= q.recovered_to THEN q.recovered_at ELSE e.at END
FROM (
  SELECT s.id, l.ws, l.recovered_to, l.recovered_at, (
    SELECT MIN(number)
    FROM deliveries
    WHERE deliveries.ws = l.ws AND deliveries.sub = l.sub AND number > l.cursor AND ` + fresh + ` AND NOT ` + leased + `) AS number
  FROM lanes l
  JOIN subscriptions s ON s.sub = l.sub
  WHERE l.active = 1) AS q
JOIN events e ON e.ws = q.ws AND e.number = q.number`

// WaitingLanes returns the subscriptions that deliveries are waiting for, and
// when the first of them is due. It looks at every lane.
func (r *Reader) WaitingLanes() (map[sheaf.SubscriptionID]time.Time, error) {
	out, err := r.DueLanes()
	if err != nil {
		return nil, err
	}
	err = r.query(freshLanes, func(w *row) {
		id, at := readID[sheaf.SubscriptionID](w), w.Time()
		if known, found := out[id]; !found || at.Before(known) {
			out[id] = at
		}
	})
	return out, err
}
