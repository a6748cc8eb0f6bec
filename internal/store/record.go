package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Outcome is what an attempt came to. Retry is when the next one is due; nil
// when there is none.
type Outcome struct {
	Claim
	Attempt sheaf.Attempt
	Ended   time.Time
	Retry   *time.Time
	// Deactivated is set by Record: the subscription has just become inactive.
	Deactivated bool
}

// Closes reports whether the delivery has failed for good with this attempt.
func (o *Outcome) Closes() bool {
	attempted := o.attempted(true)
	return attempted.Closes()
}

// attempted is the outcome as the rules ask for it.
func (o *Outcome) attempted(active bool) sheaf.Attempted {
	return sheaf.Attempted{OK: o.Attempt.OK(), Error: o.Attempt.Error, Ended: o.Ended, ByHand: o.ByHand, Active: active, Retry: o.Retry}
}

// Record writes the outcomes of attempts, and what follows for their
// subscriptions: a delivered one sets failure_count to 0, a failed one raises
// it, and the tenth in a row deactivates and holds what is waiting. An outcome
// whose lease somebody else has taken meanwhile is dropped.
func (tx *Tx) Record(outcomes []Outcome) error {
	tx.note.Recorded = true
	for i := range outcomes {
		tx.note.Workspaces.Add(outcomes[i].Workspace)
	}
	endpoints, err := tx.lockEndpoints(outcomes)
	if err != nil {
		return err
	}
	rest, err := tx.recordArrived(outcomes, endpoints)
	if err != nil {
		return err
	}
	var attempts [][]any
	for _, o := range rest {
		o.Deactivated = false // the transaction may run again
		kept, err := tx.settle(o, endpoints[o.Subscription])
		if err != nil {
			return fmt.Errorf("record delivery %s: %w", o.Delivery, err)
		}
		if kept {
			attempts = append(attempts, attemptRow(o))
		}
	}
	return tx.run(insertAttempts, attempts, nothing)
}

// recordArrived writes the mere successes, which change no subscription, and
// returns the others.
func (tx *Tx) recordArrived(outcomes []Outcome, endpoints map[sheaf.SubscriptionID]*target) ([]*Outcome, error) {
	var rest, arrived []*Outcome
	var rows [][]any
	for i := range outcomes {
		o := &outcomes[i]
		if !o.Attempt.OK() || endpoints[o.Subscription] != nil {
			rest = append(rest, o)
			continue
		}
		arrived = append(arrived, o)
		rows = append(rows, settledRow(o, sheaf.Delivered, nil, &o.Ended))
	}
	attempts := make([][]any, 0, len(rows))
	var again []*Outcome
	err := tx.settleAll(rows, func(i int, more bool) {
		attempts = append(attempts, attemptRow(arrived[i]))
		if more {
			again = append(again, arrived[i])
		}
	})
	for _, o := range again {
		if err == nil {
			err = tx.sendOnceMore(o)
		}
	}
	if err == nil {
		err = tx.run(insertAttempts, attempts, nothing)
	}
	if err != nil {
		return nil, fmt.Errorf("record deliveries: %w", err)
	}
	return rest, nil
}

// target is a subscription as the outcomes change it.
type target struct {
	workspace sheaf.WorkspaceID
	sheaf.Subscription
}

var selectFailing = engine.NewBulk(`
SELECT id
FROM subscriptions
WHERE workspace_id = {workspace} AND id = {id} AND (failure_count > 0 OR active = 0)`, "", "workspace", "id")

// lockEndpoints reads the subscriptions that the outcomes may change, and holds
// them: the workspaces of those that may be deactivated first, since whoever
// writes events holds these; then the subscriptions; each in one order, so that
// nobody waits in a circle. Those of mere successes are neither held nor returned.
func (tx *Tx) lockEndpoints(outcomes []Outcome) (map[sheaf.SubscriptionID]*target, error) {
	workspaces := map[sheaf.WorkspaceID]bool{}
	touched := map[sheaf.SubscriptionID]sheaf.WorkspaceID{}
	for i := range outcomes {
		o := &outcomes[i]
		if o.Closes() {
			workspaces[o.Workspace] = true
		}
		if !o.Attempt.OK() {
			touched[o.Subscription] = o.Workspace
		}
	}
	if err := tx.addFailing(outcomes, touched); err != nil {
		return nil, err
	}
	for _, ws := range slices.Sorted(maps.Keys(workspaces)) {
		if _, err := tx.LockWorkspace(ws); err != nil {
			return nil, err
		}
	}
	out := map[sheaf.SubscriptionID]*target{}
	for _, id := range slices.Sorted(maps.Keys(touched)) {
		s, found, err := one(&tx.Reader, selectSubscription+tx.dialect().ForUpdate(), scanSubscription, touched[id], id)
		if err != nil {
			return nil, err
		}
		if found {
			out[id] = &target{touched[id], s}
		}
	}
	return out, nil
}

// addFailing adds the subscriptions whose count a success will reset.
func (tx *Tx) addFailing(outcomes []Outcome, touched map[sheaf.SubscriptionID]sheaf.WorkspaceID) error {
	seen := map[sheaf.SubscriptionID]bool{}
	var rows [][]any
	for i := range outcomes {
		o := &outcomes[i]
		if o.Attempt.OK() && !o.ByHand && !seen[o.Subscription] {
			seen[o.Subscription] = true
			rows = append(rows, []any{o.Workspace, o.Subscription})
		}
	}
	return tx.run(selectFailing, rows, func(i int, r *row) {
		touched[rows[i][1].(sheaf.SubscriptionID)] = rows[i][0].(sheaf.WorkspaceID)
	})
}

// settle writes one outcome; kept is false when its lease is no longer ours.
func (tx *Tx) settle(o *Outcome, t *target) (kept bool, err error) {
	again, kept, err := tx.settleDelivery(o, t)
	if err != nil || !kept {
		return kept, err
	}
	if t != nil && !o.ByHand {
		if err := tx.judge(o, t); err != nil {
			return true, err
		}
	}
	if again {
		return true, tx.sendOnceMore(o)
	}
	return true, nil
}

// sendOnceMore is for what somebody asked for while this attempt was under way.
func (tx *Tx) sendOnceMore(o *Outcome) error {
	tx.note.due(o.Workspace, o.Subscription)
	return tx.exec(redeliver, o.Workspace, o.Delivery, o.Ended)
}

var settleDelivery = engine.NewBulk(`
UPDATE deliveries
SET attempt_count = {attempts}, last_status_code = {status}, last_error = {error}, state = {next}, next_attempt_at = {due},
  finished_at = {finished}, tries = {tried}, retry = 1, lease_token = NULL, lease_until = NULL, back_state = NULL, back_at = NULL
{rows}
WHERE deliveries.workspace_id = {workspace} AND deliveries.id = {id} AND lease_token = {token} AND state = 'sending'
RETURNING {row}again`, "", "workspace", "id", "token", "attempts int", "status int", "error", "next", "due int", "finished int", "tried int")

// settleOnly is settleDelivery where nobody asked for one more, and tells by how
// much it changed. RETURNING is a trigger to SQLite, which keeps a journal of
// its own for each statement with one: that was half of what recording cost.
var settleOnly = strings.Replace(settleDelivery.SQLite, "RETURNING again", "  AND again = 0", 1)

// settleAll settles deliveries and calls kept for those whose lease was still
// ours. again says that somebody asked for one more attempt meanwhile.
func (tx *Tx) settleAll(rows [][]any, kept func(i int, again bool)) error {
	if tx.dialect().Postgres {
		return tx.run(settleDelivery, rows, func(i int, r *row) { kept(i, r.Bool()) })
	}
	for i, row := range rows {
		n, err := tx.changed(settleOnly, row...)
		if err != nil {
			return err
		}
		if n == 1 {
			kept(i, false)
		} else if err := tx.settleAsked(row, func() { kept(i, true) }); err != nil {
			return err
		}
	}
	return nil
}

// settleAsked settles what settleOnly did not: somebody asked for one more, or
// the lease is no longer ours.
func (tx *Tx) settleAsked(args []any, kept func()) error {
	return tx.run(settleDelivery, [][]any{args}, func(int, *row) { kept() })
}

// settledRow is what becomes of a delivery with this outcome.
func settledRow(o *Outcome, state sheaf.DeliveryState, due, finished *time.Time) []any {
	return []any{o.Workspace, o.Delivery, o.Token, o.Attempts + 1, optStatus(o.Attempt.StatusCode), optError(o.Attempt), state, due, finished, o.Tries + 1}
}

// settleDelivery moves the delivery to the state that follows. again says that
// somebody asked for one more attempt while this one was under way.
func (tx *Tx) settleDelivery(o *Outcome, t *target) (again, kept bool, err error) {
	attempted := o.attempted(t != nil && t.Active)
	if attempted.ByHand && !attempted.OK {
		return tx.putBack(o, attempted.Active)
	}
	next := attempted.Delivery()
	if next.Due != nil {
		tx.note.due(o.Workspace, o.Subscription)
	}
	err = tx.settleAll([][]any{settledRow(o, next.State, next.Due, next.Finished)}, func(_ int, more bool) { again, kept = more, true })
	return again, kept, err
}

const putBack = `
UPDATE deliveries
SET attempt_count = $4, last_status_code = $5, last_error = $6,
  state = CASE WHEN back_state = 'waiting' AND $7 = 0 THEN 'held' ELSE back_state END,
  next_attempt_at = CASE WHEN $7 = 1 THEN back_at END, retry = CASE WHEN tries > 0 THEN 1 ELSE 0 END,
  lease_token = NULL, lease_until = NULL, back_state = NULL, back_at = NULL
WHERE workspace_id = $1 AND id = $2 AND lease_token = $3 AND state = 'sending'
RETURNING again`

// putBack makes a delivery that was asked for by hand, and did not arrive, what
// it was before. Only if that was waiting, and its subscription has become
// inactive meanwhile, it is held as all the others are.
func (tx *Tx) putBack(o *Outcome, active bool) (again, kept bool, err error) {
	tx.note.due(o.Workspace, o.Subscription)
	return one(&tx.Reader, putBack, (*row).Bool, o.Workspace, o.Delivery, o.Token, o.Attempts+1, optStatus(o.Attempt.StatusCode),
		optError(o.Attempt), active)
}

func optStatus(code int) any {
	if code == 0 {
		return nil
	}
	return code
}

func optError(a sheaf.Attempt) any {
	if a.OK() {
		return nil
	}
	return a.Error
}

// judge applies the failure policy to the subscription.
func (tx *Tx) judge(o *Outcome, t *target) error {
	attempted := o.attempted(t.Active)
	changed, deactivated := attempted.Subscription(&t.Subscription)
	switch {
	case deactivated:
		o.Deactivated = true
		if err := tx.UpdateSubscription(t.workspace, t.Subscription); err != nil {
			return err
		}
		return tx.HoldDeliveries(t.workspace, t.ID)
	case changed:
		return tx.saveSubscription(t.workspace, t.Subscription)
	}
	return nil
}

var insertAttempts = engine.NewBulkInsert("attempts", "workspace_id", "delivery_id", "number int", "started_at int", "duration_us int",
	"status_code int", "error_class", "error", "remote_address", "dns_us int", "connect_us int", "tls_us int", "first_byte_us int",
	"body_us int", "response_body")

func attemptRow(o *Outcome) []any {
	a := &o.Attempt
	return []any{o.Workspace, o.Delivery, o.Attempts + 1, a.StartedAt, a.Duration.Microseconds(), a.StatusCode, a.Class, a.Error,
		a.RemoteAddress, a.Timings.DNS.Microseconds(), a.Timings.Connect.Microseconds(), a.Timings.TLS.Microseconds(),
		a.Timings.FirstByte.Microseconds(), a.Timings.Body.Microseconds(), a.ResponseBody}
}
