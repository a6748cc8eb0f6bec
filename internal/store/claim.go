package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Lane is a subscription and how many of its deliveries may be claimed. Retries
// are how many of them first attempts, which go first, must leave to retries.
type Lane struct {
	Subscription sheaf.SubscriptionID
	Room         int
	Retries      int
}

// Claim is a delivery that this node, and no other, is to attempt now.
type Claim struct {
	Workspace    sheaf.WorkspaceID
	Delivery     sheaf.DeliveryID
	Subscription sheaf.SubscriptionID
	Event        sheaf.EventID
	Body         []byte
	Attempts     int64 // made before
	Tries        int64 // of them in this run of the schedule
	ByHand       bool  // asked for by redeliver: not counted
	URL          string
	Sealed       Sealed
	Token        string
}

// Claimed is what a claim of several lanes found.
type Claimed struct {
	Claims []Claim
	// Next is when the earliest delivery that waits in a lane that had room
	// left is due; lanes that none waits in are missing.
	Next map[sheaf.SubscriptionID]time.Time
}

// Claim takes due deliveries of the lanes, first attempts before retries, under
// a lease until which nobody else takes them. A lane whose subscription is gone
// or inactive yields only what was asked for by hand.
func (tx *Tx) Claim(lanes []Lane, now, leaseUntil time.Time, token string) (Claimed, error) {
	out := Claimed{Next: map[sheaf.SubscriptionID]time.Time{}}
	for _, lane := range lanes {
		claims, err := tx.claimLane(lane, now, token)
		if err != nil {
			return out, fmt.Errorf("claim deliveries of %s: %w", lane.Subscription, err)
		}
		out.Claims = append(out.Claims, claims...)
		if len(claims) < lane.Room {
			next, found, err := tx.nextDue(lane.Subscription, now)
			if err != nil {
				return out, err
			}
			if found {
				out.Next[lane.Subscription] = next
			}
		}
	}
	return out, tx.lease(out.Claims, leaseUntil, token)
}

const selectEndpoint = `
SELECT active, url, ` + sealedColumns + `
FROM subscriptions
WHERE id = $1`

type endpoint struct {
	active bool
	url    string
	sealed Sealed
}

func (tx *Tx) claimLane(lane Lane, now time.Time, token string) ([]Claim, error) {
	e, found, err := one(&tx.Reader, selectEndpoint, func(r *row) endpoint {
		return endpoint{r.bool(), r.text(), scanSealed(r)}
	}, lane.Subscription)
	if err != nil || !found {
		return nil, err
	}
	first, err := tx.queued(lane.Subscription, 0, lane.Room, now, e.active)
	if err != nil {
		return nil, err
	}
	// Retries are looked for only where they can have a place.
	var retries []Claim
	if places := max(lane.Retries, lane.Room-len(first)); places > 0 {
		if retries, err = tx.queued(lane.Subscription, 1, places, now, e.active); err != nil {
			return nil, err
		}
	}
	first = first[:min(len(first), lane.Room-min(len(retries), lane.Retries))]
	claims := append(first, retries[:min(len(retries), lane.Room-len(first))]...)
	for i := range claims {
		claims[i].Subscription, claims[i].URL, claims[i].Sealed, claims[i].Token = lane.Subscription, e.url, e.sealed, token
	}
	return claims, nil
}

const selectQueued = `
SELECT d.workspace_id, d.id, d.event_id, d.attempt_count, d.tries, d.back_state, e.body
FROM deliveries d
JOIN events e ON e.workspace_id = d.workspace_id AND e.number = d.event_number
WHERE d.subscription_id = $1 AND d.state = 'waiting' AND d.retry = $2 AND d.next_attempt_at <= $3`

const queuedOrder = `
ORDER BY d.next_attempt_at
LIMIT $4`

func (tx *Tx) queued(s sheaf.SubscriptionID, retry, most int, now time.Time, active bool) ([]Claim, error) {
	sql := selectQueued
	if !active {
		sql += " AND d.back_state IS NOT NULL"
	}
	return all(&tx.Reader, sql+queuedOrder+tx.d.skipLocked("d"), func(r *row) Claim {
		c := Claim{Workspace: sheaf.WorkspaceID(r.text()), Delivery: sheaf.DeliveryID(r.text()), Event: sheaf.EventID(r.text()),
			Attempts: r.int(), Tries: r.int()}
		c.ByHand = r.optText() != nil
		c.Body = []byte(r.text())
		return c
	}, s, retry, now, most)
}

const selectNextDue = `
SELECT MIN(next_attempt_at)
FROM deliveries
WHERE subscription_id = $1 AND state = 'waiting' AND retry = $2 AND next_attempt_at > $3`

func (r *Reader) nextDue(s sheaf.SubscriptionID, now time.Time) (next time.Time, found bool, err error) {
	for retry := range 2 {
		t, _, err := one(r, selectNextDue, (*row).optTime, s, retry, now)
		if err != nil {
			return next, false, err
		}
		if t != nil && (!found || t.Before(next)) {
			next, found = *t, true
		}
	}
	return next, found, nil
}

const leaseClaims = `
UPDATE deliveries
SET state = 'sending', next_attempt_at = NULL, lease_token = $1, lease_until = $2
WHERE workspace_id = $3 AND id IN `

// lease marks the claims as being sent.
func (tx *Tx) lease(claims []Claim, until time.Time, token string) error {
	for _, group := range groupClaims(claims) {
		args := []any{token, until, group[0].Workspace}
		ids := make([]any, len(group))
		for i, c := range group {
			ids[i] = c.Delivery
		}
		if err := tx.execIn(leaseClaims, args, ids); err != nil {
			return fmt.Errorf("lease deliveries: %w", err)
		}
	}
	return nil
}

func groupClaims(claims []Claim) [][]Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b Claim) int {
		switch {
		case a.Workspace < b.Workspace:
			return -1
		case a.Workspace > b.Workspace:
			return 1
		}
		return 0
	})
	var out [][]Claim
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].Workspace == sorted[0].Workspace {
			n++
		}
		out = append(out, sorted[:n])
		sorted = sorted[n:]
	}
	return out
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
		return sheaf.SubscriptionID(r.text())
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
SELECT id
FROM subscriptions
WHERE id = $1`

// lockLanes holds subscriptions, in the order in which everybody does, and
// notes that something may be due for them.
func (tx *Tx) lockLanes(lanes []sheaf.SubscriptionID) error {
	slices.Sort(lanes)
	for _, id := range slices.Compact(lanes) {
		if _, _, err := one(&tx.Reader, selectLane+tx.d.forUpdate(), (*row).text, id); err != nil {
			return fmt.Errorf("lock subscription %s: %w", id, err)
		}
		tx.note.due(id)
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
		id, first, retry := sheaf.SubscriptionID(w.text()), w.optTime(), w.optTime()
		if first == nil || retry != nil && retry.Before(*first) {
			first = retry
		}
		if first != nil {
			out[id] = *first
		}
	})
	return out, err
}
