package store

import (
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

const subscriptionColumns = `s.id, s.name, s.url, s.events, l.active, s.failure_count, s.created_at, s.updated_at, s.deactivated_at,
  s.deactivation_reason, s.last_error, s.header_names, s.number, s.revision, s.since_event, s.events_since, s.filter, s.filter_since,
  s.restriction, s.restricted_to, s.sub, l.held, l.taken, CASE WHEN l.active = 1 THEN '' ELSE (SELECT w.given FROM workspaces w WHERE w.ws = s.ws) END`

// withLane joins a subscription with its lane, which stores whether the subscription is active.
const withLane = `subscriptions s JOIN lanes l ON l.ws = s.ws AND l.sub = s.sub`

// scanSubscription reads a row of subscriptionColumns. The row was read by one statement, so
// HeldCount is exact.
func scanSubscription(r *row) sheaf.Subscription {
	s := sheaf.Subscription{
		ID: readID[sheaf.SubscriptionID](r), Name: r.Text(), URL: r.Text(), Events: splitEvents(r.Text()), Active: r.Bool(),
		FailureCount: r.Int(), CreatedAt: r.Time(), UpdatedAt: r.Time(), DeactivatedAt: r.OptTime(),
		DeactivationReason: r.OptText(), LastError: r.OptText(), HeaderNames: SplitNames(r.Text()),
		Number: r.Int(), Revision: r.Int(), SinceEvent: r.Int(), EventsSince: r.Int(),
		Filter: sheaf.ParseFilter(r.Text()), FilterSince: r.Int(), Restriction: sheaf.ParseRestriction(r.Int(), r.Text()),
	}
	l := lane{active: s.Active, sub: r.Int(), laneCount: laneCount{holds: r.Int(), taken: r.Int()}}
	s.HeldCount = l.heldCount(r.Text())
	return s
}

// splitEvents parses the stored list of event types.
func splitEvents(s string) []sheaf.EventType {
	var out []sheaf.EventType
	for _, name := range SplitNames(s) {
		out = append(out, sheaf.EventType(name))
	}
	return out
}

// SplitNames parses a stored comma-separated list.
func SplitNames(s string) []string {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, ",")
}

// joinEvents is the inverse of splitEvents.
func joinEvents(types []sheaf.EventType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ",")
}

const selectSubscription = `
SELECT ` + subscriptionColumns + `
FROM ` + withLane + `
WHERE s.ws = $1 AND s.id = $2`

// Subscription returns the workspace's subscription, or NotFound.
func (r *Reader) Subscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (sheaf.Subscription, error) {
	and, args := r.sameRestriction(ws, id)
	return mustFind(r, "subscription", selectSubscription+and, scanSubscription, args...)
}

// Subscriptions returns a page of the workspace's subscriptions, oldest first.
func (r *Reader) Subscriptions(ws sheaf.WorkspaceID, p sheaf.Paging) (sheaf.Page[sheaf.Subscription], error) {
	l := listing{columns: subscriptionColumns, table: withLane, order: []string{"s.number"}, total: -1}
	l.where.And("s.ws = ?", ws)
	if to := r.sight.restriction; to != nil {
		l.where.And("s.restriction = ?", to.Number)
	}
	return list(r, l, p, scanSubscription)
}

const countTroubled = `
SELECT COUNT(*)
FROM ` + withLane + `
WHERE s.ws = $1 AND (l.active = 1 AND s.failure_count > 0 OR s.deactivation_reason = $2)`

// TroubledSubscriptions counts the workspace's active subscriptions that are failing, and those
// that were deactivated because of failures.
func (r *Reader) TroubledSubscriptions(ws sheaf.WorkspaceID) (int64, error) {
	and, args := r.sameRestriction(ws, sheaf.ByFailures)
	return r.count(countTroubled+and, args...)
}

// EventSubscriptions returns all of the workspace's subscriptions, oldest first.
func (r *Reader) EventSubscriptions(ws sheaf.WorkspaceID) ([]sheaf.Subscription, error) {
	and, args := r.sameRestriction(ws)
	return all(r, `SELECT `+subscriptionColumns+` FROM `+withLane+` WHERE s.ws = $1`+and+` ORDER BY s.number`, scanSubscription, args...)
}

// Sealed is the encrypted part of a subscription.
type Sealed struct {
	Secret         []byte
	OldSecret      []byte     // also signs, until OldSecretUntil
	OldSecretUntil *time.Time // nil: there is no old secret
	Headers        []byte     // nil: none
}

// SealedColumns are what ScanSealed reads, in its order.
const SealedColumns = `secret, old_secret, old_secret_until, headers`

// ScanSealed reads a row of SealedColumns.
func ScanSealed(r *row) Sealed {
	return Sealed{Secret: r.Blob(), OldSecret: r.OptBlob(), OldSecretUntil: r.OptTime(), Headers: r.OptBlob()}
}

const selectSealed = `
SELECT ` + SealedColumns + `
FROM subscriptions
WHERE ws = $1 AND id = $2`

// SealedOf returns the encrypted part of a subscription that the caller has read, or NotFound.
func (r *Reader) SealedOf(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (Sealed, error) {
	return mustFind(r, "subscription", selectSealed, ScanSealed, ws, id)
}

const insertSubscription = `
INSERT INTO subscriptions (sub, ws, id, name, url, events, failure_count, created_at, updated_at, deactivated_at,
  deactivation_reason, last_error, header_names, number, revision, since_event, events_since, secret, headers, filter, filter_since,
  restriction, restricted_to, made_by_key)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)`

// InsertSubscription adds a subscription with its sealed secret and headers. It gets no deliveries
// of earlier events.
func (tx *Tx) InsertSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription, sealed Sealed) error {
	tx.subscriptionsChanged(ws)
	sub, err := tx.nextNumber("subscription")
	if err != nil {
		return err
	}
	var heldFrom *int64
	if !s.Active {
		heldFrom = &s.SinceEvent
	}
	if err := tx.exec(insertLane, ws, sub, s.Active, s.SinceEvent, heldFrom); err != nil {
		return fmt.Errorf("insert the lane of subscription %s: %w", s.ID, err)
	}
	err = tx.exec(insertSubscription, sub, ws, s.ID, s.Name, s.URL, joinEvents(s.Events), s.FailureCount, s.CreatedAt, s.UpdatedAt,
		s.DeactivatedAt, s.DeactivationReason, s.LastError, strings.Join(s.HeaderNames, ","), s.Number, s.Revision,
		s.SinceEvent, s.EventsSince, sealed.Secret, optBlob(sealed.Headers), s.Filter.String(), s.FilterSince,
		restrictionNumber(s.Restriction), s.Restriction.String(), s.MadeByKey)
	if err != nil {
		return fmt.Errorf("insert subscription %s: %w", s.ID, err)
	}
	return nil
}

// optBlob binds nil as NULL, not as an empty blob.
func optBlob(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

const updateSubscription = `
UPDATE subscriptions
SET name = $3, url = $4, events = $5, failure_count = $6, updated_at = $7, deactivated_at = $8,
  deactivation_reason = $9, last_error = $10, header_names = $11, revision = $12, events_since = $13, filter = $14, filter_since = $15
WHERE ws = $1 AND id = $2`

// UpdateSubscription writes everything except the sealed part. If the subscription is deactivated,
// its waiting deliveries become held. If it is reactivated, held deliveries stay held until a
// client asks for recovery.
func (tx *Tx) UpdateSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription) error {
	tx.note.Changed = append(tx.note.Changed, s.ID)
	l, err := tx.lockLane(ws, s.ID)
	if err != nil {
		return err
	}
	if err := tx.switchLane(&l, s.Active); err != nil {
		return err
	}
	return tx.saveSubscription(ws, s)
}

// saveSubscription writes the fields that an attempt or a client may change, except those of the
// lane.
func (tx *Tx) saveSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription) error {
	tx.subscriptionsChanged(ws)
	err := tx.exec(updateSubscription, ws, s.ID, s.Name, s.URL, joinEvents(s.Events), s.FailureCount, s.UpdatedAt,
		s.DeactivatedAt, s.DeactivationReason, s.LastError, strings.Join(s.HeaderNames, ","), s.Revision, s.EventsSince,
		s.Filter.String(), s.FilterSince)
	if err != nil {
		return fmt.Errorf("update subscription %s: %w", s.ID, err)
	}
	return nil
}

// subscriptionsChanged adds to the commit's Note that pages showing the workspace's subscriptions
// must reload them.
func (tx *Tx) subscriptionsChanged(ws sheaf.WorkspaceID) {
	tx.note.Subscriptions = true
	tx.note.Workspaces.Add(ws)
}

const updateSealed = `
UPDATE subscriptions
SET secret = $3, old_secret = $4, old_secret_until = $5, headers = $6
WHERE ws = $1 AND id = $2`

// SealAnew replaces the sealed part of a subscription.
func (tx *Tx) SealAnew(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, s Sealed) error {
	tx.note.Changed = append(tx.note.Changed, id)
	return tx.exec(updateSealed, ws, id, s.Secret, optBlob(s.OldSecret), s.OldSecretUntil, optBlob(s.Headers))
}

// DeleteSubscription deletes a subscription with its lane, leases and notices. Readers and senders
// no longer see its deliveries; DeleteOrphans deletes their rows later, in small batches.
func (tx *Tx) DeleteSubscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, now time.Time) error {
	tx.subscriptionsChanged(ws)
	tx.note.Changed = append(tx.note.Changed, id)
	l, err := tx.lockLane(ws, id)
	if err != nil {
		return err
	}
	for _, table := range []string{"lanes", "leases", "notices", "subscriptions"} {
		if err := tx.exec(`DELETE FROM `+table+` WHERE ws = $1 AND sub = $2`, l.ws, l.sub); err != nil {
			return fmt.Errorf("delete subscription %s: %w", id, err)
		}
	}
	return tx.exec(`INSERT INTO deleted_subscriptions (id, sub, ws, deleted_at) VALUES ($1, $2, $3, $4)`, id, l.sub, l.ws, now)
}

// LockSubscription is Subscription, and locks the subscription and its lane until the transaction
// ends. It reads them only after they are locked: a statement of PostgreSQL that waits for a lock
// returns the newest row that it locks, beside an older row of the workspace.
func (tx *Tx) LockSubscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (sheaf.Subscription, error) {
	if _, err := tx.lockLane(ws, id); err != nil {
		return sheaf.Subscription{}, err
	}
	return tx.Subscription(ws, id)
}
