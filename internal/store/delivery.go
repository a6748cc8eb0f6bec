package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const deliveryColumns = `id, event_id, event_type, subscription_id, state, attempt_count, next_attempt_at,
  last_status_code, last_error, created_at, finished_at`

func scanDelivery(r *row) sheaf.Delivery {
	d := sheaf.Delivery{
		ID: sheaf.DeliveryID(r.Text()), EventID: sheaf.EventID(r.Text()), EventType: sheaf.EventType(r.Text()),
		SubscriptionID: sheaf.SubscriptionID(r.Text()), State: sheaf.DeliveryState(r.Text()), AttemptCount: r.Int(),
		NextAttemptAt: r.OptTime(), LastStatusCode: r.OptInt(), LastError: r.OptText(), CreatedAt: r.Time(), FinishedAt: r.OptTime(),
	}
	if d.State == sheaf.Waiting || d.State == sheaf.Sending {
		d.FinishedAt = nil // it was finished once, and somebody asked for one more attempt
	}
	return d
}

var insertDeliveries = engine.NewBulkInsert("deliveries", "workspace_id", "id", "subscription_id", "event_number int", "event_id", "event_type",
	"state", "attempt_count int", "tries int", "retry int", "next_attempt_at int", "created_at int")

// enqueue adds a delivery of each event for each subscription that wants it, in
// the transaction of the events themselves: waiting where it is active, held
// where it is not.
func (tx *Tx) enqueue(ws sheaf.WorkspaceID, events []sheaf.Event, newID func() string) error {
	subscriptions, err := tx.allSubscriptions(ws)
	if err != nil {
		return err
	}
	var rows [][]any
	for i := range subscriptions {
		s := &subscriptions[i]
		for j := range events {
			e := &events[j]
			if !s.Wants(e.Type) {
				continue
			}
			state, due := sheaf.Held, (*time.Time)(nil)
			if s.Active {
				state, due = sheaf.Waiting, &e.At
				tx.note.due(ws, s.ID)
			}
			rows = append(rows, []any{ws, newID(), s.ID, e.Number, e.ID, e.Type, state, 0, 0, 0, due, e.At})
		}
	}
	if err := tx.insertMany(insertDeliveries, rows); err != nil {
		return fmt.Errorf("enqueue deliveries: %w", err)
	}
	return nil
}

const selectDelivery = `
SELECT ` + deliveryColumns + `
FROM deliveries
WHERE workspace_id = $1 AND id = $2
  AND subscription_id IN (SELECT id FROM subscriptions WHERE workspace_id = $1)`

// Delivery returns the workspace's delivery, or NotFound, also when its
// subscription is gone.
func (r *Reader) Delivery(ws sheaf.WorkspaceID, id sheaf.DeliveryID) (sheaf.Delivery, error) {
	d, found, err := one(r, selectDelivery, scanDelivery, ws, id)
	if err == nil && !found {
		err = sheaf.Missing("delivery")
	}
	return d, err
}

// Deliveries returns a page of the deliveries of a subscription of the
// workspace, in the order of their events; state "" is every one.
func (r *Reader) Deliveries(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, state sheaf.DeliveryState, p sheaf.Paging) (sheaf.Page[sheaf.Delivery], error) {
	l := listing{columns: deliveryColumns, table: "deliveries", order: []string{"event_number"}, total: -1}
	l.where.And("workspace_id = ?", ws)
	l.where.And("subscription_id = ?", s)
	switch state {
	case "":
	case sheaf.Failed, sheaf.Held: // in the text, where their partial indexes are found by it
		l.where.And("state = '" + string(state) + "'")
	default:
		l.where.And("state = ?", state)
	}
	return list(r, l, p, scanDelivery)
}

const selectByEvent = `
SELECT ` + deliveryColumns + `
FROM deliveries
WHERE workspace_id = $1 AND subscription_id = $2 AND event_number = $3`

// DeliveryOf returns the delivery of an event for a subscription; found is
// false when there is none.
func (r *Reader) DeliveryOf(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, event int64) (d sheaf.Delivery, found bool, err error) {
	return one(r, selectByEvent, scanDelivery, ws, s, event)
}

// EventSubscriptions returns the workspace's subscriptions, oldest first.
func (r *Reader) EventSubscriptions(ws sheaf.WorkspaceID) ([]sheaf.Subscription, error) {
	return r.allSubscriptions(ws)
}

const attemptColumns = `number, started_at, duration_us, status_code, error_class, error, remote_address,
  dns_us, connect_us, tls_us, first_byte_us, body_us, response_body`

func scanAttempt(r *row) sheaf.Attempt {
	return sheaf.Attempt{
		Number: r.Int(), StartedAt: r.Time(), Duration: r.Micros(), StatusCode: int(r.Int()), Class: r.Text(), Error: r.Text(),
		RemoteAddress: r.Text(), Timings: sheaf.Timings{DNS: r.Micros(), Connect: r.Micros(), TLS: r.Micros(),
			FirstByte: r.Micros(), Body: r.Micros()}, ResponseBody: r.Text(),
	}
}

const selectAttempts = `
SELECT ` + attemptColumns + `
FROM attempts
WHERE workspace_id = $1 AND delivery_id = $2
ORDER BY number DESC
LIMIT $3`

// AttemptsMost bounds the attempts that are shown of one delivery, which can be
// asked for again and again.
const AttemptsMost = 100

// Attempts returns the newest attempts of a delivery, the first one first.
func (r *Reader) Attempts(ws sheaf.WorkspaceID, id sheaf.DeliveryID) ([]sheaf.Attempt, error) {
	newest, err := all(r, selectAttempts, scanAttempt, ws, id, AttemptsMost)
	slices.Reverse(newest)
	return newest, err
}

func holdWaiting(d engine.Dialect) string {
	return `
UPDATE deliveries ` + d.By("deliveries_waiting") + `
SET state = 'held', next_attempt_at = NULL
WHERE workspace_id = $1 AND subscription_id = $2 AND state = 'waiting' AND back_state IS NULL`
}

// HoldDeliveries makes the waiting deliveries of a subscription held: it has
// just become inactive. One that somebody asked for by hand goes on.
func (tx *Tx) HoldDeliveries(ws sheaf.WorkspaceID, s sheaf.SubscriptionID) error {
	return tx.exec(holdWaiting(tx.dialect()), ws, s)
}

const recoverDeliveries = `
UPDATE deliveries
SET state = 'waiting', tries = 0, retry = 0, next_attempt_at = $4, finished_at = NULL, back_state = NULL, back_at = NULL
WHERE workspace_id = $1 AND subscription_id = $2 AND created_at >= $3
  AND (state IN ('failed', 'held') OR state = 'waiting' AND back_state IN ('failed', 'held'))`

const recoverSending = `
UPDATE deliveries
SET back_state = 'waiting', back_at = $4, tries = 0, finished_at = NULL
WHERE workspace_id = $1 AND subscription_id = $2 AND created_at >= $3
  AND state = 'sending' AND back_state IN ('failed', 'held')`

// Recover makes the failed and held deliveries of events since then run the
// whole schedule again, and returns how many they are. Those among them that
// were also asked for by hand are no exception; an attempt by hand that is
// under way comes before.
func (tx *Tx) Recover(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, since, now time.Time) (int64, error) {
	tx.note.due(ws, s)
	n, err := tx.changed(recoverDeliveries, ws, s, since, now)
	if err != nil {
		return n, err
	}
	sending, err := tx.changed(recoverSending, ws, s, since, now)
	return n + sending, err
}

const redeliver = `
UPDATE deliveries
SET back_state = state, back_at = next_attempt_at, state = 'waiting', retry = 0, next_attempt_at = $3, again = 0
WHERE workspace_id = $1 AND id = $2 AND state <> 'sending' AND back_state IS NULL`

const sendAgain = `
UPDATE deliveries
SET again = 1
WHERE workspace_id = $1 AND id = $2 AND state = 'sending'`

// Redeliver asks for one more attempt: now, or when the one that is under way
// has ended. After it an unsuccessful delivery is again what it was. Of one that
// waits for such an attempt already there is no second.
func (tx *Tx) Redeliver(ws sheaf.WorkspaceID, d sheaf.Delivery, now time.Time) error {
	tx.note.due(ws, d.SubscriptionID)
	if err := tx.exec(redeliver, ws, d.ID, now); err != nil {
		return err
	}
	return tx.exec(sendAgain, ws, d.ID)
}
