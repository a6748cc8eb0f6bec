package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// stored is the part of a deliveries row that clients see. The event's id, type and time are read
// from the event.
type stored struct {
	number     int64 // the event's number
	state      int64
	attempts   int64
	tries      int64      // attempts in this run of the retry schedule
	due        *time.Time // when the next attempt is due; nil: the lane decides, or there is none
	leased     bool       // the row has a token of its own
	hand       bool       // a client asked for one attempt, which is due or under way
	backAt     *time.Time // when the delivery is due again if that attempt fails; nil: never
	again      bool       // a client asked for one more attempt while this one is under way
	finishedAt *time.Time
	lastStatus *int64
	lastError  *string
}

const storedColumns = `number, state, attempts, tries, due, CASE WHEN token IS NULL THEN 0 ELSE 1 END, hand, back_at, again,
  finished_at, last_status, last_error`

// scanStored reads a row of storedColumns.
func scanStored(r *row) stored {
	return stored{number: r.Int(), state: r.Int(), attempts: r.Int(), tries: r.Int(), due: r.OptTime(), leased: r.Bool(), hand: r.Bool(),
		backAt: r.OptTime(), again: r.Bool(), finishedAt: r.OptTime(), lastStatus: r.OptInt(), lastError: r.OptText()}
}

// fresh reports whether the state of the row follows from its lane (see lane).
func (d *stored) fresh() bool { return d.state == stateOpen && d.due == nil && !d.leased }

// stands returns the state of the delivery, given its lane and the lane's leases.
//
//	the row has                         it is
//	a token                             sending
//	a due time                          waiting
//	state 1, 2, 3                       delivered, failed, held
//	none of these: it is fresh          sending in a lease, else waiting above the cursor of an
//	                                    active lane, else held
func (d *stored) stands(l *lane, leases []lease) sheaf.DeliveryState {
	switch {
	case d.leased:
		return sheaf.Sending
	case d.due != nil:
		return sheaf.Waiting
	case d.state == stateDelivered:
		return sheaf.Delivered
	case d.state == stateFailed:
		return sheaf.Failed
	case d.state == stateHeld:
		return sheaf.Held
	case inLease(leases, d.number):
		return sheaf.Sending
	case l.active && d.number > l.cursor:
		return sheaf.Waiting
	}
	return sheaf.Held
}

// was returns the state that the delivery had before a client asked for it by hand.
func (d *stored) was() sheaf.DeliveryState {
	return [...]sheaf.DeliveryState{sheaf.Waiting, sheaf.Delivered, sheaf.Failed, sheaf.Held}[d.state]
}

// storedState returns the number under which a state is stored. Waiting is stored as stateOpen.
func storedState(s sheaf.DeliveryState) int64 {
	return map[sheaf.DeliveryState]int64{sheaf.Delivered: stateDelivered, sheaf.Failed: stateFailed, sheaf.Held: stateHeld}[s]
}

var selectHeads = engine.NewBulk(`
SELECT e.id, e.type, e.at
FROM events e
WHERE e.ws = {ws} AND e.number = {number}`, "", "ws int", "number int")

// show converts rows of a lane to the deliveries that clients see.
func (r *Reader) show(l *lane, rows []stored) ([]sheaf.Delivery, error) {
	leases, err := r.leases(l)
	if err != nil {
		return nil, err
	}
	out, args := make([]sheaf.Delivery, len(rows)), make([][]any, len(rows))
	for i := range rows {
		d := &rows[i]
		args[i] = []any{l.ws, d.number}
		out[i] = sheaf.Delivery{SubscriptionID: l.id, State: d.stands(l, leases), AttemptCount: d.attempts, NextAttemptAt: d.due,
			LastStatusCode: d.lastStatus, LastError: d.lastError, FinishedAt: d.finishedAt}
		if out[i].State == sheaf.Waiting || out[i].State == sheaf.Sending {
			out[i].FinishedAt = nil // it finished once, and a client asked for one more attempt
		}
	}
	err = r.run(selectHeads, args, func(i int, w *row) {
		d := &out[i]
		d.EventID, d.EventType, d.CreatedAt = readEventID(w), ReadEventType(w), w.Time()
		d.ID = sheaf.NewDeliveryID(l.number, rows[i].number)
		if d.State == sheaf.Waiting && d.NextAttemptAt == nil {
			d.NextAttemptAt = &d.CreatedAt
			if l.recoveredTo != nil && rows[i].number <= *l.recoveredTo {
				d.NextAttemptAt = l.recoveredAt
			}
		}
	})
	return out, err
}

var insertDeliveries = engine.NewBulkInsert("deliveries", "ws int", "sub int", "number int")

const selectWanting = `
SELECT s.sub, s.id, s.events, l.active, s.filter, s.restriction, s.restricted_to
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.ws = $1`

// addDeliveries adds a delivery of each event for each subscription whose event types and filter
// match it. It runs in the transaction that appends the events.
//
// It counts the rows in w.Given, which then has the lanes that exist and no others.
func (tx *Tx) addDeliveries(w *sheaf.Workspace, events []sheaf.Event) error {
	number, err := tx.number(w.ID)
	if err != nil {
		return err
	}
	var rows [][]any
	var given []byte
	err = tx.query(selectWanting, func(r *row) {
		had := len(rows)
		sub, id := r.Int(), readID[sheaf.SubscriptionID](r)
		s := sheaf.Subscription{ID: id, Events: splitEvents(r.Text()), Active: r.Bool(), Filter: sheaf.ParseFilter(r.Text()),
			Restriction: sheaf.ParseRestriction(r.Int(), r.Text())}
		for i := range events {
			if s.Wants(events[i].Type) && s.Gets(&events[i]) {
				rows = append(rows, []any{number, sub, events[i].Number})
				if s.Active {
					tx.note.due(w.ID, id)
				}
			}
		}
		if n := givenTo(w.Given, sub) + int64(len(rows)-had); n > 0 {
			given = appendGiven(given, sub, n)
		}
	}, number)
	if err != nil {
		return err
	}
	w.Given = string(given)
	if err := tx.insertMany(insertDeliveries, rows); err != nil {
		return fmt.Errorf("add deliveries: %w", err)
	}
	return nil
}

const selectStored = `
SELECT ` + storedColumns + `
FROM deliveries
WHERE ws = $1 AND sub = $2 AND number = $3`

// locate returns the lane of a delivery and the number of its event. If the subscription was
// deleted, or the id names no delivery, it returns NotFound.
func (r *Reader) locate(ws sheaf.WorkspaceID, id sheaf.DeliveryID) (l lane, number int64, err error) {
	subscription, number, ok := id.Numbers()
	if !ok {
		return l, 0, sheaf.Missing("delivery")
	}
	and, args := r.sameRestriction(ws, subscription)
	l, err = mustFind(r, "delivery", selectLane+"s.number = $2"+and, scanLane, args...)
	return l, number, err
}

// Delivery returns the workspace's delivery. It returns NotFound also if the subscription was
// deleted.
func (r *Reader) Delivery(ws sheaf.WorkspaceID, id sheaf.DeliveryID) (sheaf.Delivery, error) {
	l, number, err := r.locate(ws, id)
	if err != nil {
		return sheaf.Delivery{}, err
	}
	d, found, err := r.showOne(&l, number)
	if err == nil && !found {
		err = sheaf.Missing("delivery")
	}
	return d, err
}

// showOne is show for one row; found is false if there is none.
func (r *Reader) showOne(l *lane, number int64) (d sheaf.Delivery, found bool, err error) {
	s, found, err := one(r, selectStored, scanStored, l.ws, l.sub, number)
	if err != nil || !found {
		return d, found, err
	}
	shown, err := r.show(l, []stored{s})
	return shown[0], true, err
}

// Deliveries returns a page of a subscription's deliveries in the given state, in the order of
// their events. An empty state selects all.
func (r *Reader) Deliveries(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, state sheaf.DeliveryState, p sheaf.Paging) (sheaf.Page[sheaf.Delivery], error) {
	l, err := r.lane(ws, s)
	if err != nil {
		return sheaf.Page[sheaf.Delivery]{}, err
	}
	in := listing{columns: storedColumns, table: "deliveries", order: []string{"number"}, total: -1}
	if state == sheaf.Failed {
		in.table += r.dialect().By("deliveries_stopped") // instead of reading the whole lane
	}
	in.where.And("ws = ?", l.ws)
	in.where.And("sub = ?", l.sub)
	if err := r.where(&in.where, &l, state); err != nil {
		return sheaf.Page[sheaf.Delivery]{}, err
	}
	rows, err := list(r, in, p, scanStored)
	page := sheaf.Page[sheaf.Delivery]{Paging: rows.Paging, Total: rows.Total}
	if err == nil {
		page.Items, err = r.show(&l, rows.Items)
	}
	return page, err
}

// DeliveryOf returns the delivery of the event with number `event` for a subscription; found is
// false if there is none.
func (r *Reader) DeliveryOf(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, event int64) (d sheaf.Delivery, found bool, err error) {
	l, err := r.lane(ws, s)
	if err != nil {
		return d, false, err
	}
	return r.showOne(&l, event)
}

// heldRows returns the listing of a lane's held deliveries. The lane must hold some.
func (r *Reader) heldRows(l *lane, columns string) (listing, error) {
	in := listing{columns: columns, table: "deliveries", order: []string{"number"}}
	in.where.And("ws = ?", l.ws)
	in.where.And("sub = ?", l.sub)
	return in, r.where(&in.where, l, sheaf.Held)
}

const attemptColumns = `started_at, duration_us, status_code, error_class, error, remote_address,
  dns_us, connect_us, tls_us, first_byte_us, body_us, response_body`

// scanAttempt reads an attempt's number and then attemptColumns.
func scanAttempt(r *row) sheaf.Attempt {
	return sheaf.Attempt{
		Number: r.Int(), StartedAt: r.Time(), Duration: r.Micros(), StatusCode: int(r.Int()), Class: r.Text(), Error: r.Text(),
		RemoteAddress: r.Text(), Timings: sheaf.Timings{DNS: r.Micros(), Connect: r.Micros(), TLS: r.Micros(),
			FirstByte: r.Micros(), Body: r.Micros()}, ResponseBody: r.Text(),
	}
}

// The first attempt is stored in the delivery's row, each later one in a row of its own.
const (
	selectFirst = `
SELECT 1, ` + attemptColumns + `
FROM deliveries
WHERE ws = $1 AND sub = $2 AND number = $3 AND attempts > 0`
	selectAttempts = `
SELECT number, ` + attemptColumns + `
FROM attempts
WHERE ws = $1 AND sub = $2 AND event = $3
ORDER BY number DESC
LIMIT $4`
)

// AttemptsMost is the most attempts shown of one delivery: a client can ask for attempts without
// limit.
const AttemptsMost = 100

// Attempts returns the newest attempts of a delivery, at most AttemptsMost, oldest of them first.
func (r *Reader) Attempts(ws sheaf.WorkspaceID, id sheaf.DeliveryID) ([]sheaf.Attempt, error) {
	l, number, err := r.locate(ws, id)
	if err != nil {
		return nil, err
	}
	attempts, err := all(r, selectAttempts, scanAttempt, l.ws, l.sub, number, AttemptsMost)
	if err != nil {
		return nil, err
	}
	if len(attempts) < AttemptsMost {
		first, found, err := one(r, selectFirst, scanAttempt, l.ws, l.sub, number)
		if err != nil {
			return nil, err
		}
		if found {
			attempts = append(attempts, first)
		}
	}
	slices.Reverse(attempts)
	return attempts, nil
}

const (
	askByHand = `
UPDATE deliveries
SET hand = 1, due = $4, retry = 0, back_at = $5, again = 0, state = $6, stopped = $7
WHERE ws = $1 AND sub = $2 AND number = $3`
	askAgain = `
UPDATE deliveries
SET again = 1
WHERE ws = $1 AND sub = $2 AND number = $3 AND attempts = $4`
)

// Redeliver asks for one more attempt: now, or when the attempt under way has ended. If the new
// attempt fails, the delivery returns to its previous state. If such an attempt is already due,
// Redeliver does nothing.
func (tx *Tx) Redeliver(ws sheaf.WorkspaceID, d sheaf.Delivery, now time.Time) error {
	l, err := tx.lockLane(ws, d.SubscriptionID)
	if err != nil {
		return err
	}
	_, number, err := tx.locate(ws, d.ID)
	if err != nil {
		return err
	}
	tx.note.due(ws, l.id)
	return tx.sendByHand(&l, number, now)
}

// sendByHand makes a delivery due by hand. This transaction must have locked the lane.
func (tx *Tx) sendByHand(l *lane, number int64, now time.Time) error {
	leases, err := tx.leases(l)
	if err != nil {
		return err
	}
	d, found, err := one(&tx.Reader, selectStored, scanStored, l.ws, l.sub, number)
	if err != nil || !found {
		return err
	}
	state, backAt := d.state, d.due
	switch stands := d.stands(l, leases); {
	case stands == sheaf.Sending:
		if n, err := tx.changed(askAgain, l.ws, l.sub, number, d.attempts); err != nil || n > 0 {
			return err
		}
		// Another node recorded its outcome after the row was read; recording does not lock the
		// lane. The row now has that outcome, and no other attempt begins while we lock the lane.
		return tx.sendByHand(l, number, now)
	case d.hand:
		return nil // an attempt by hand is already due
	case d.fresh() && stands == sheaf.Waiting:
		backAt = &now
		l.taken++
	case d.fresh():
		// It is held. Once it has a due time, its lane no longer says so.
		state = stateHeld
		l.mayHold(number)
		l.holdFresh(-1)
	case stands == sheaf.Held:
		l.holds--
	}
	if err := tx.saveLane(l); err != nil {
		return err
	}
	return tx.exec(askByHand, l.ws, l.sub, number, now, backAt, state, stopped(state))
}

// stopped returns the mark by which failed and held deliveries are found: nothing happens to them
// until a person acts.
func stopped(state int64) any {
	if state == stateFailed || state == stateHeld {
		return 1
	}
	return nil
}
