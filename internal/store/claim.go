package store

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Lane is a subscription and how many of its deliveries may be claimed. Retries
// are how many of them first attempts, which go first, must leave to retries.
// Bytes bounds what their bodies have together; 0 is no bound of the lane's own.
type Lane struct {
	Subscription sheaf.SubscriptionID
	Room         int
	Retries      int
	Bytes        int64
}

// Budget is how many bytes the bodies of one claim may have together, and how
// many of them those may have that are larger than SmallBody.
type Budget struct{ All, Large int64 }

// Unbounded is a Budget that refuses nothing.
var Unbounded = Budget{All: math.MaxInt64, Large: math.MaxInt64}

const (
	// SmallBody is the largest body that a claim reads together with its
	// delivery. Larger ones are read when they are sure to be claimed, once for
	// all deliveries of their event.
	SmallBody = 16 << 10
	// LargestBody is what a body counts at most: an event's payload and what is
	// around it. A budget that has so much left takes any delivery.
	LargestBody = sheaf.MaxPayload + 32<<10
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

	number int64 // of its event
}

// Claimed is what a claim of several lanes found.
type Claimed struct {
	Claims []Claim
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
// asked for by hand.
func (tx *Tx) Claim(lanes []Lane, budget Budget, now, leaseUntil time.Time, token string) (Claimed, error) {
	out := Claimed{Next: map[sheaf.SubscriptionID]time.Time{}, TooLarge: map[sheaf.SubscriptionID]int64{}}
	queues, err := tx.queues(lanes)
	if err != nil {
		return out, fmt.Errorf("read subscriptions: %w", err)
	}
	if err := tx.fill(queues, now); err != nil {
		return out, fmt.Errorf("claim deliveries: %w", err)
	}
	var unfilled []*queue
	for _, q := range queues {
		q.take(token)
		if size := q.fit(&budget); size > 0 {
			out.TooLarge[q.Subscription] = size
		}
		out.Claims = append(out.Claims, q.claims...)
		if len(q.claims) < q.Room {
			unfilled = append(unfilled, q)
		}
	}
	if err := tx.nextDue(unfilled, now, out.Next); err != nil {
		return out, err
	}
	if out.Claims, err = tx.readBodies(out.Claims); err != nil {
		return out, fmt.Errorf("read events: %w", err)
	}
	return out, tx.lease(out.Claims, leaseUntil, token)
}

// queue is a lane being claimed for.
type queue struct {
	Lane
	active         bool
	url            string
	sealed         Sealed
	first, retries []Claim
	claims         []Claim
}

var selectEndpoints = engine.NewBulk(`
SELECT active, url, `+SealedColumns+`
FROM subscriptions
WHERE id = {id}`, "", "id")

// queues reads the lanes' subscriptions; those that are gone have none.
func (tx *Tx) queues(lanes []Lane) ([]*queue, error) {
	rows := make([][]any, len(lanes))
	for i, l := range lanes {
		rows[i] = []any{l.Subscription}
	}
	var out []*queue
	err := tx.run(selectEndpoints, rows, func(i int, r *row) {
		out = append(out, &queue{Lane: lanes[i], active: r.Bool(), url: r.Text(), sealed: ScanSealed(r)})
	})
	return out, err
}

// fill reads what may be claimed. Retries are looked for only where they can
// have a place.
func (tx *Tx) fill(queues []*queue, now time.Time) error {
	err := tx.queued(queues, 0, now, func(q *queue) int { return q.Room }, func(q *queue, c Claim) { q.first = append(q.first, c) })
	if err != nil {
		return err
	}
	places := func(q *queue) int { return max(q.Retries, q.Room-len(q.first)) }
	return tx.queued(queues, 1, now, places, func(q *queue, c Claim) { q.retries = append(q.retries, c) })
}

// take decides which of what was found are claimed.
func (q *queue) take(token string) {
	first := q.first[:min(len(q.first), q.Room-min(len(q.retries), q.Retries))]
	q.claims = append(first, q.retries[:min(len(q.retries), q.Room-len(first))]...)
	for i := range q.claims {
		c := &q.claims[i]
		c.Subscription, c.URL, c.Sealed, c.Token = q.Subscription, q.url, q.sealed, token
	}
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

// ClaimMost bounds what is claimed of one lane at a time. It stands in the text,
// where PostgreSQL's planner sees it: it would sort a lane if it had to expect
// that much of it is asked for.
const ClaimMost = 512

// selectQueued reads no more deliveries than are taken. Each one's event is
// looked up by itself, never joined from end to end. A body that is not small
// comes as its length, for which no JSON object can be taken.
var selectQueued = engine.NewBulk(fmt.Sprintf(`
SELECT q.workspace_id, q.id, q.event_id, q.event_number, q.attempt_count, q.tries, q.back_state,
  (SELECT CASE WHEN octet_length(e.body) <= %d THEN e.body ELSE CAST(octet_length(e.body) AS TEXT) END
   FROM events e
   WHERE e.workspace_id = q.workspace_id AND e.number = q.event_number)
FROM (
  SELECT d.workspace_id, d.id, d.event_id, d.event_number, d.attempt_count, d.tries, d.back_state
  FROM deliveries d
  WHERE d.subscription_id = {subscription} AND d.state = 'waiting' AND d.retry = {retry} AND d.next_attempt_at <= {now}
    AND (d.back_state IS NOT NULL OR {active} = 1)
  ORDER BY d.next_attempt_at
  LIMIT %d{lock}) AS q
LIMIT {most}`, SmallBody, ClaimMost), engine.Dialect{Postgres: true}.SkipLocked("d"), "subscription", "retry int", "now int", "active int", "most int")

// queued reads what is due in each queue, at most as many as most says.
func (tx *Tx) queued(queues []*queue, retry int, now time.Time, most func(*queue) int, add func(*queue, Claim)) error {
	var rows [][]any
	var asked []*queue
	for _, q := range queues {
		if n := most(q); n > 0 {
			rows = append(rows, []any{q.Subscription, retry, now, q.active, n})
			asked = append(asked, q)
		}
	}
	return tx.run(selectQueued, rows, func(i int, r *row) {
		c := Claim{Workspace: sheaf.WorkspaceID(r.Text()), Delivery: sheaf.DeliveryID(r.Text()), Event: sheaf.EventID(r.Text()),
			number: r.Int(), Attempts: r.Int(), Tries: r.Int()}
		c.ByHand = r.OptText() != nil
		if r.Null() {
			return // its event was removed: so will it be
		}
		c.Body = r.Blob()
		c.Size = int64(len(c.Body))
		if c.Size > 0 && c.Body[0] != '{' {
			c.Size, _ = strconv.ParseInt(string(c.Body), 10, 64)
			c.Body = nil
		}
		c.Size = min(c.Size, LargestBody)
		add(asked[i], c)
	})
}

var selectBodies = engine.NewBulk(`
SELECT body
FROM events
WHERE workspace_id = {workspace} AND number = {number}`, "", "workspace", "number int")

// readBodies reads the bodies that did not come with their deliveries, each once,
// and drops the claims whose event was removed meanwhile.
func (tx *Tx) readBodies(claims []Claim) ([]Claim, error) {
	type event struct {
		workspace sheaf.WorkspaceID
		number    int64
	}
	bodies := map[event][]byte{}
	var events []event
	var rows [][]any
	for i := range claims {
		e := event{claims[i].Workspace, claims[i].number}
		if _, asked := bodies[e]; claims[i].Body == nil && !asked {
			bodies[e] = nil
			events = append(events, e)
			rows = append(rows, []any{e.workspace, e.number})
		}
	}
	if len(rows) == 0 {
		return claims, nil
	}
	if err := tx.run(selectBodies, rows, func(i int, r *row) { bodies[events[i]] = r.Blob() }); err != nil {
		return nil, err
	}
	for i := range claims {
		if c := &claims[i]; c.Body == nil {
			c.Body = bodies[event{c.Workspace, c.number}]
			if failpoint.Planted(failpoint.Uncounted) {
				c.Body = bytes.Clone(c.Body)
			}
		}
	}
	return slices.DeleteFunc(claims, func(c Claim) bool { return c.Body == nil }), nil
}

var selectNextDue = engine.NewBulk(`
SELECT MIN(next_attempt_at)
FROM deliveries
WHERE subscription_id = {subscription} AND state = 'waiting' AND retry = {retry} AND next_attempt_at > {now}`,
	"", "subscription", "retry int", "now int")

// nextDue notes when the first delivery of each queue is due that is not yet.
func (tx *Tx) nextDue(queues []*queue, now time.Time, next map[sheaf.SubscriptionID]time.Time) error {
	var rows [][]any
	for _, q := range queues {
		rows = append(rows, []any{q.Subscription, 0, now}, []any{q.Subscription, 1, now})
	}
	return tx.run(selectNextDue, rows, func(i int, r *row) {
		id := queues[i/2].Subscription
		t := r.OptTime()
		if known, found := next[id]; t != nil && (!found || t.Before(known)) {
			next[id] = *t
		}
	})
}

var leaseClaims = engine.NewBulk(`
UPDATE deliveries
SET state = 'sending', next_attempt_at = NULL, lease_token = {token}, lease_until = {until}
{rows}
WHERE deliveries.workspace_id = {workspace} AND deliveries.id = {id}`, "", "workspace", "id", "token", "until int")

// lease marks the claims as being sent.
func (tx *Tx) lease(claims []Claim, until time.Time, token string) error {
	rows := make([][]any, len(claims))
	for i := range claims {
		rows[i] = []any{claims[i].Workspace, claims[i].Delivery, token, until}
	}
	if err := tx.run(leaseClaims, rows, nothing); err != nil {
		return fmt.Errorf("lease deliveries: %w", err)
	}
	return nil
}

// released is what a claim becomes whose attempt was not made, or not to the
// end: what it was, or held where its subscription has become inactive. The
// subscription must be locked.
const released = `
UPDATE deliveries
SET lease_token = NULL, lease_until = NULL,
  state = CASE WHEN ` + sendable + ` THEN 'waiting' ELSE 'held' END,
  next_attempt_at = CASE WHEN ` + sendable + ` THEN CAST($1 AS BIGINT) END
WHERE state = 'sending'`

const sendable = `(back_state IS NOT NULL
    OR EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = deliveries.subscription_id AND s.active = 1))`

const expiredLanes = `
SELECT subscription_id
FROM deliveries
WHERE state = 'sending' AND lease_until < $1`

// ReleaseExpired gives back what was claimed until before a time: its node has
// died. The attempt that it may have made is made again.
func (tx *Tx) ReleaseExpired(before, now time.Time) (int64, error) {
	lanes, err := all(&tx.Reader, expiredLanes, func(r *row) sheaf.SubscriptionID {
		return sheaf.SubscriptionID(r.Text())
	}, before)
	if err != nil {
		return 0, err
	}
	if err := tx.lockLanes(lanes); err != nil {
		return 0, err
	}
	return tx.changed(released+` AND lease_until < $2`, now, before)
}

// Release gives back claims whose attempts were not made.
func (tx *Tx) Release(claims []Claim, now time.Time) error {
	var lanes []sheaf.SubscriptionID
	for i := range claims {
		lanes = append(lanes, claims[i].Subscription)
	}
	if err := tx.lockLanes(lanes); err != nil {
		return err
	}
	for i := range claims {
		c := &claims[i]
		if err := tx.exec(released+` AND workspace_id = $2 AND id = $3 AND lease_token = $4`, now, c.Workspace, c.Delivery, c.Token); err != nil {
			return fmt.Errorf("release delivery %s: %w", c.Delivery, err)
		}
	}
	return nil
}

const selectLane = `
SELECT workspace_id
FROM subscriptions
WHERE id = $1`

// lockLanes holds subscriptions, in the order in which everybody does, and
// notes that something may be due for them.
func (tx *Tx) lockLanes(lanes []sheaf.SubscriptionID) error {
	slices.Sort(lanes)
	for _, id := range slices.Compact(lanes) {
		ws, found, err := one(&tx.Reader, selectLane+tx.dialect().ForUpdate(), (*row).Text, id)
		if err != nil {
			return fmt.Errorf("lock subscription %s: %w", id, err)
		}
		if found {
			tx.note.due(sheaf.WorkspaceID(ws), id)
		}
	}
	return nil
}

const countExpired = `
SELECT COUNT(*)
FROM deliveries
WHERE state = 'sending' AND lease_until < $1`

// Expired counts what was claimed until before a time and never came back.
func (r *Reader) Expired(before time.Time) (int64, error) { return r.count(countExpired, before) }

// waitingLanes walks over the index of what is waiting, from one subscription
// to the next, without reading the deliveries between.
const waitingLanes = `
WITH RECURSIVE lanes (id) AS (
  SELECT MIN(subscription_id)
  FROM deliveries
  WHERE state = 'waiting'
  UNION ALL
  SELECT (SELECT MIN(d.subscription_id) FROM deliveries d WHERE d.state = 'waiting' AND d.subscription_id > lanes.id)
  FROM lanes
  WHERE lanes.id IS NOT NULL)
SELECT lanes.id,
  (SELECT MIN(d.next_attempt_at) FROM deliveries d WHERE d.state = 'waiting' AND d.subscription_id = lanes.id AND d.retry = 0),
  (SELECT MIN(d.next_attempt_at) FROM deliveries d WHERE d.state = 'waiting' AND d.subscription_id = lanes.id AND d.retry = 1)
FROM lanes
WHERE EXISTS (SELECT 1 FROM subscriptions s WHERE s.id = lanes.id)`

// WaitingLanes returns the subscriptions that deliveries are waiting for, and
// when the first of them is due.
func (r *Reader) WaitingLanes() (map[sheaf.SubscriptionID]time.Time, error) {
	out := map[sheaf.SubscriptionID]time.Time{}
	err := r.query(waitingLanes, func(w *row) {
		id, first, retry := sheaf.SubscriptionID(w.Text()), w.OptTime(), w.OptTime()
		if first == nil || retry != nil && retry.Before(*first) {
			first = retry
		}
		if first != nil {
			out[id] = *first
		}
	})
	return out, err
}
