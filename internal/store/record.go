package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Outcome is the result of one attempt. Retry is when the next attempt is due; nil if there is
// none.
type Outcome struct {
	Claim
	Attempt sheaf.Attempt
	Ended   time.Time
	Retry   *time.Time
	// Deactivated is set by Record if this outcome made the subscription inactive.
	Deactivated bool
	// holdsLane makes Record lock the lane although the attempt succeeded. Record sets it before it
	// asks to be rerun.
	holdsLane bool
}

// Closes reports whether the delivery fails for good with this attempt.
func (o *Outcome) Closes() bool {
	attempted := o.attempted(true)
	return attempted.Closes()
}

// attempted returns the outcome in the form that the rules of sheaf.Attempted take.
func (o *Outcome) attempted(active bool) sheaf.Attempted {
	return sheaf.Attempted{OK: o.Attempt.OK(), Error: o.Attempt.Error, Ended: o.Ended, ByHand: o.ByHand, Active: active, Retry: o.Retry}
}

// Record writes the outcomes of attempts, and changes their subscriptions as the rules of
// sheaf.Attempted say. An outcome whose lease no longer exists is dropped: another node sends that
// delivery. Record takes its locks in the order given in lane.go.
//
// If a subscription begins to fail or is deactivated, Record appends an event, which stamp
// identifies and dates (health.go).
func (tx *Tx) Record(outcomes []Outcome, stamp Stamp) error {
	tx.note.Recorded = true
	logs, err := tx.lockHealthLogs(outcomes)
	if err != nil {
		return err
	}
	keys := make([]leaseKey, 0, len(outcomes))
	for i := range outcomes {
		o := &outcomes[i]
		o.Deactivated = false // the transaction may run again, and then drop this outcome
		tx.note.Workspaces.Add(o.Workspace)
		if o.cut {
			keys = append(keys, leaseKey{o.ws, o.sub, o.Token})
		}
	}
	targets, err := tx.lockTargets(outcomes)
	if err != nil {
		return err
	}
	leases, err := tx.lockLeases(keys)
	if err != nil {
		return err
	}
	var arrived, rest []*Outcome
	for i := range outcomes {
		switch o := &outcomes[i]; {
		case o.cut && leases[leaseKey{o.ws, o.sub, o.Token}] == nil:
		case o.Attempt.OK() && targets[o.Subscription] == nil:
			arrived = append(arrived, o)
		default:
			rest = append(rest, o)
		}
	}
	closed := map[leaseKey]int64{}
	kept := func(o *Outcome) {
		if o.cut {
			closed[leaseKey{o.ws, o.sub, o.Token}]++
		}
	}
	if err := tx.recordArrived(arrived, kept); errors.Is(err, engine.ErrRerun) {
		return err
	} else if err != nil {
		return fmt.Errorf("record deliveries: %w", err)
	}
	for _, o := range rest {
		if err := tx.recordOne(o, targets[o.Subscription], logs, kept); err != nil {
			return fmt.Errorf("record delivery %s: %w", o.Delivery, err)
		}
	}
	failpoint.Pass(failpoint.Recording)
	if err := tx.appendHealth(logs, stamp); err != nil {
		return fmt.Errorf("tell of subscriptions: %w", err)
	}
	return tx.closeLeases(closed, leases)
}

// recordArrived writes successes that change no subscription. If a client meanwhile asked for one
// more attempt, the lane must be locked, and lanes are locked before deliveries. So on PostgreSQL
// the transaction is rerun, and locks the lane from the beginning. On SQLite no other transaction
// runs.
func (tx *Tx) recordArrived(outcomes []*Outcome, kept func(*Outcome)) error {
	rows := make([]settled, len(outcomes))
	for i, o := range outcomes {
		a := o.attempted(true)
		rows[i] = settled{o, a.Delivery(), o.Tries + 1}
	}
	var again []*Outcome
	err := tx.settle(rows, func(i int, more bool) {
		kept(outcomes[i])
		if more {
			again = append(again, outcomes[i])
		}
	})
	if err == nil && len(again) > 0 && tx.dialect().Postgres {
		for _, o := range again {
			o.holdsLane = true
		}
		return engine.ErrRerun
	}
	for _, o := range again {
		if err != nil {
			return err
		}
		var l lane
		if l, err = tx.lockLane(o.Workspace, o.Subscription); err == nil {
			err = tx.sendOnceMore(o, &l)
		} else if sheaf.KindOf(err) == sheaf.NotFound {
			err = nil
		}
	}
	return err
}

// recordOne writes an outcome that may change its subscription or lane. t is nil if the
// subscription was deleted; then nothing is written.
func (tx *Tx) recordOne(o *Outcome, t *target, logs map[sheaf.WorkspaceID]*healthLog, kept func(*Outcome)) error {
	if t == nil {
		return nil
	}
	a := o.attempted(t.Active)
	var finished *time.Time
	tries := o.Tries + 1
	if a.ByHand && !a.OK {
		d, found, err := one(&tx.Reader, selectStored, scanStored, o.ws, o.sub, o.number)
		if err != nil || !found {
			return err
		}
		a.Was, a.WasDue, finished = d.was(), d.backAt, d.finishedAt
		tries = d.tries // an attempt by hand is part of no run of the schedule, and a new run may have begun meanwhile
	}
	next, ours, again := a.Delivery(), false, false
	if next.Finished == nil {
		next.Finished = finished
	}
	if err := tx.settle([]settled{{o, next, tries}}, func(_ int, more bool) { ours, again = true, more }); err != nil || !ours {
		return err
	}
	kept(o)
	if next.State == sheaf.Held && next.Due == nil {
		t.lane.mayHold(o.number)
		t.lane.holds++
		if err := tx.saveLane(&t.lane); err != nil {
			return err
		}
	}
	if next.Due != nil {
		tx.note.due(o.Workspace, o.Subscription)
	}
	if err := tx.judge(o, &a, t, logs[o.Workspace]); err != nil || !again {
		return err
	}
	return tx.sendOnceMore(o, &t.lane)
}

// judge applies the failure policy to the subscription.
func (tx *Tx) judge(o *Outcome, a *sheaf.Attempted, t *target, log *healthLog) error {
	before := t.Subscription
	changed, deactivated := a.Subscription(&t.Subscription)
	if !changed {
		return nil
	}
	if event, is := sheaf.HealthChange(&before, &t.Subscription); is && log != nil {
		log.changes = append(log.changes, healthChange{event, t.Subscription, &t.lane})
	}
	if o.Deactivated = deactivated; deactivated {
		tx.note.Changed = append(tx.note.Changed, t.ID)
		if err := tx.switchLane(&t.lane, false); err != nil {
			return err
		}
	}
	return tx.saveSubscription(o.Workspace, t.Subscription)
}

// sendOnceMore makes the delivery due again, because a client asked for it while this attempt was
// under way.
func (tx *Tx) sendOnceMore(o *Outcome, l *lane) error {
	tx.note.due(o.Workspace, o.Subscription)
	return tx.sendByHand(l, o.number, o.Ended)
}

// target is a subscription, with its lane, as the outcomes change it.
type target struct {
	sheaf.Subscription
	lane lane
}

var selectFailing = engine.NewBulk(`
SELECT s.id
FROM subscriptions s
JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub
WHERE s.sub = {sub} AND (s.failure_count > 0 OR l.active = 0)`, "", "sub int")

// lockTargets reads the subscriptions that the outcomes may change and locks them with their lanes,
// in one order, so that no deadlock is possible. Subscriptions that a success does not change are
// neither locked nor returned.
func (tx *Tx) lockTargets(outcomes []Outcome) (map[sheaf.SubscriptionID]*target, error) {
	touched := map[sheaf.SubscriptionID]*Outcome{}
	var rows [][]any
	var asked []*Outcome
	seen := map[int64]bool{}
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case !o.Attempt.OK() || o.holdsLane:
			touched[o.Subscription] = o
		case !seen[o.sub]: // a success resets the failure count
			seen[o.sub] = true
			rows, asked = append(rows, []any{o.sub}), append(asked, o)
		}
	}
	if err := tx.run(selectFailing, rows, func(i int, _ *row) { touched[asked[i].Subscription] = asked[i] }); err != nil {
		return nil, err
	}
	order := make([]sheaf.SubscriptionID, 0, len(touched))
	for id := range touched {
		order = append(order, id)
	}
	slices.Sort(order)
	out := map[sheaf.SubscriptionID]*target{}
	for _, id := range order {
		l, err := tx.lockLane(touched[id].Workspace, id)
		if sheaf.KindOf(err) == sheaf.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		s, _, err := one(&tx.Reader, selectSubscription, scanSubscription, l.ws, id)
		if err != nil {
			return nil, err
		}
		out[id] = &target{s, l}
	}
	return out, nil
}

type leaseKey struct {
	ws, sub int64
	token   string
}

var selectLease = engine.NewBulk(`
SELECT token, lo, hi, open
FROM leases
WHERE ws = {ws} AND sub = {sub} AND token = {token}{lock}`, engine.Dialect{Postgres: true}.ForUpdate(), "ws int", "sub int", "token")

// lockLeases locks and returns those of the leases that still exist.
func (tx *Tx) lockLeases(keys []leaseKey) (map[leaseKey]*lease, error) {
	slices.SortFunc(keys, func(a, b leaseKey) int {
		return cmp.Or(cmp.Compare(a.sub, b.sub), strings.Compare(a.token, b.token))
	})
	keys = slices.Compact(keys)
	rows := make([][]any, len(keys))
	for i, k := range keys {
		rows[i] = []any{k.ws, k.sub, k.token}
	}
	out := map[leaseKey]*lease{}
	err := tx.run(selectLease, rows, func(i int, r *row) {
		x := scanLease(r)
		out[keys[i]] = &x
	})
	return out, err
}

// closeLeases subtracts `closed` from the open rows of each lease, and deletes leases without open
// rows.
func (tx *Tx) closeLeases(closed map[leaseKey]int64, leases map[leaseKey]*lease) error {
	for k, n := range closed {
		sql, args := `UPDATE leases SET open = open - $4 WHERE ws = $1 AND sub = $2 AND token = $3`, []any{k.ws, k.sub, k.token, n}
		if leases[k].open <= n {
			sql, args = `DELETE FROM leases WHERE ws = $1 AND sub = $2 AND token = $3`, args[:3]
		}
		if err := tx.exec(sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// settled is an outcome and the resulting state of its delivery.
type settled struct {
	*Outcome
	sheaf.Following
	tries int64 // attempts in this run of the retry schedule
}

// One update settles a delivery. It matches the row only as it was claimed: with the claim's token,
// or in its lease without one, and with the same number of attempts. An outcome that was recorded
// before, or whose claim is no longer ours, therefore changes nothing.
const settleRow = `
UPDATE deliveries
SET attempts = {made} + 1, tries = {tries}, state = {state}, stopped = {stopped}, due = {due}, retry = {retry}, finished_at = {finished},
  last_status = {status}, last_error = {error}, token = NULL, until = NULL, hand = 0, back_at = NULL`

const settleWhere = `
{rows}
WHERE deliveries.ws = {ws} AND deliveries.sub = {sub} AND deliveries.number = {number} AND deliveries.attempts = {made}
  AND (deliveries.token = {token} OR {token} = '' AND deliveries.token IS NULL AND deliveries.due IS NULL AND deliveries.state = 0)
`

const (
	andAgain  = `RETURNING {row}again`
	ifNoAgain = `  AND deliveries.again = 0`
)

var settleColumns = []string{"ws int", "sub int", "number int", "made int", "token", "tries int", "state int", "stopped int", "due int",
	"retry int", "finished int", "status int", "error"}

var firstColumns = []string{"started_at int", "duration_us int", "status_code int", "error_class", "attempt_error", "remote_address", "dns_us int",
	"connect_us int", "tls_us int", "first_byte_us int", "body_us int", "response_body"}

const settleFirstRow = settleRow + `, started_at = {started_at}, duration_us = {duration_us}, status_code = {status_code},
  error_class = {error_class}, error = {attempt_error}, remote_address = {remote_address}, dns_us = {dns_us}, connect_us = {connect_us},
  tls_us = {tls_us}, first_byte_us = {first_byte_us}, body_us = {body_us}, response_body = {response_body}` + settleWhere

var (
	settleFirst = engine.NewBulk(settleFirstRow+andAgain, "", slices.Concat(settleColumns, firstColumns)...)
	settleLater = engine.NewBulk(settleRow+settleWhere+andAgain, "", settleColumns...)

	// These update a row only if no client asked for one more attempt, and report the number of
	// rows changed. SQLite implements RETURNING as a trigger with a journal of its own per
	// statement, which was half the cost of recording.
	settleFirstOnly = engine.NewBulk(settleFirstRow+ifNoAgain, "", slices.Concat(settleColumns, firstColumns)...).SQLite
	settleLaterOnly = engine.NewBulk(settleRow+settleWhere+ifNoAgain, "", settleColumns...).SQLite

	insertAttempts = engine.NewBulkInsert("attempts", "ws int", "sub int", "event int", "number int", "started_at int", "duration_us int",
		"status_code int", "error_class", "error", "remote_address", "dns_us int", "connect_us int", "tls_us int", "first_byte_us int",
		"body_us int", "response_body")
)

// settle writes the outcomes and calls kept for each whose claim was still ours. again reports that
// a client asked for one more attempt meanwhile. The first attempt goes into the delivery's row,
// each later one into a row of its own.
func (tx *Tx) settle(all []settled, kept func(i int, again bool)) error {
	var first, later, attempts [][]any
	var firstAt, laterAt []int
	for i := range all {
		if s := &all[i]; s.Attempts == 0 {
			first, firstAt = append(first, append(s.row(), s.attemptRow()...)), append(firstAt, i)
		} else {
			later, laterAt = append(later, s.row()), append(laterAt, i)
		}
	}
	if err := tx.settleAll(settleFirst, settleFirstOnly, first, func(i int, again bool) { kept(firstAt[i], again) }); err != nil {
		return err
	}
	err := tx.settleAll(settleLater, settleLaterOnly, later, func(i int, again bool) {
		s := &all[laterAt[i]]
		attempts = append(attempts, append([]any{s.ws, s.sub, s.number, s.Attempts + 1}, s.attemptRow()...))
		kept(laterAt[i], again)
	})
	if err != nil {
		return err
	}
	return tx.run(insertAttempts, attempts, nothing)
}

// settleAll runs b for the rows. On SQLite it first tries `only`, the text without RETURNING, and
// runs b only for a row that `only` did not match.
func (tx *Tx) settleAll(b *engine.Bulk, only string, rows [][]any, kept func(i int, again bool)) error {
	if tx.dialect().Postgres {
		return tx.run(b, rows, func(i int, r *row) { kept(i, r.Bool()) })
	}
	for i, args := range rows {
		n, err := tx.changed(only, args...)
		if err != nil {
			return err
		}
		if n == 1 {
			kept(i, false)
		} else if err := tx.run(b, [][]any{args}, func(int, *row) { kept(i, true) }); err != nil {
			return err
		}
	}
	return nil
}

// row returns the arguments of settleColumns: the delivery's new state.
func (s *settled) row() []any {
	token, retry := s.Token, int64(0)
	if s.cut {
		token = ""
	}
	if s.Due != nil && s.tries > 0 {
		retry = 1
	}
	var status any
	if s.Attempt.StatusCode != 0 {
		status = s.Attempt.StatusCode
	}
	var text any
	if !s.Attempt.OK() {
		text = s.Attempt.Error
	}
	state := storedState(s.State)
	return []any{s.ws, s.sub, s.number, s.Attempts, token, s.tries, state, stopped(state), s.Due, retry, s.Finished, status, text}
}

// attemptRow returns the arguments of firstColumns.
func (o *Outcome) attemptRow() []any {
	a := &o.Attempt
	return []any{a.StartedAt, a.Duration.Microseconds(), a.StatusCode, a.Class, a.Error, a.RemoteAddress, a.Timings.DNS.Microseconds(),
		a.Timings.Connect.Microseconds(), a.Timings.TLS.Microseconds(), a.Timings.FirstByte.Microseconds(), a.Timings.Body.Microseconds(),
		a.ResponseBody}
}
