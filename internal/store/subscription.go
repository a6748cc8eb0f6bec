package store

import (
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

const subscriptionColumns = `id, name, url, events, active, failure_count, created_at, updated_at, deactivated_at,
  deactivation_reason, last_error, header_names, number, revision, since_event, events_since`

func scanSubscription(r *row) sheaf.Subscription {
	return sheaf.Subscription{
		ID: sheaf.SubscriptionID(r.Text()), Name: r.Text(), URL: r.Text(), Events: splitEvents(r.Text()), Active: r.Bool(),
		FailureCount: r.Int(), CreatedAt: r.Time(), UpdatedAt: r.Time(), DeactivatedAt: r.OptTime(),
		DeactivationReason: r.OptText(), LastError: r.OptText(), HeaderNames: SplitNames(r.Text()),
		Number: r.Int(), Revision: r.Int(), SinceEvent: r.Int(), EventsSince: r.Int(),
	}
}

func splitEvents(s string) []sheaf.EventType {
	var out []sheaf.EventType
	for _, name := range SplitNames(s) {
		out = append(out, sheaf.EventType(name))
	}
	return out
}

// SplitNames reads a list of names as a column has it.
func SplitNames(s string) []string {
	if s == "" {
		return []string{}
	}
	return strings.Split(s, ",")
}

func joinEvents(types []sheaf.EventType) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, ",")
}

const selectSubscription = `
SELECT ` + subscriptionColumns + `
FROM subscriptions
WHERE workspace_id = $1 AND id = $2`

// Subscription returns the workspace's subscription, or NotFound.
func (r *Reader) Subscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (sheaf.Subscription, error) {
	s, found, err := one(r, selectSubscription, scanSubscription, ws, id)
	if err == nil && !found {
		return s, sheaf.Missing("subscription")
	}
	if err == nil {
		s.HeldCount, err = r.heldCount(id)
	}
	return s, err
}

const countHeld = `
SELECT COUNT(*)
FROM deliveries
WHERE subscription_id = $1 AND state = 'held'`

func (r *Reader) heldCount(id sheaf.SubscriptionID) (int64, error) { return r.count(countHeld, id) }

// Subscriptions returns a page of the workspace's subscriptions, oldest first.
func (r *Reader) Subscriptions(ws sheaf.WorkspaceID, p sheaf.Paging) (sheaf.Page[sheaf.Subscription], error) {
	l := listing{columns: subscriptionColumns, table: "subscriptions", order: []string{"number"}, total: -1}
	l.where.And("workspace_id = ?", ws)
	page, err := list(r, l, p, scanSubscription)
	for i := range page.Items {
		if err == nil {
			page.Items[i].HeldCount, err = r.heldCount(page.Items[i].ID)
		}
	}
	return page, err
}

// allSubscriptions returns those of the workspace without their held counts.
func (r *Reader) allSubscriptions(ws sheaf.WorkspaceID) ([]sheaf.Subscription, error) {
	return all(r, `SELECT `+subscriptionColumns+` FROM subscriptions WHERE workspace_id = $1 ORDER BY number`, scanSubscription, ws)
}

// Sealed is what of a subscription only its key opens.
type Sealed struct {
	Secret         []byte
	OldSecret      []byte     // signs too until OldSecretUntil
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
WHERE workspace_id = $1 AND id = $2`

// SealedOf returns what is sealed of the workspace's subscription, or NotFound.
func (r *Reader) SealedOf(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (Sealed, error) {
	s, found, err := one(r, selectSealed, ScanSealed, ws, id)
	if err == nil && !found {
		err = sheaf.Missing("subscription")
	}
	return s, err
}

const insertSubscription = `
INSERT INTO subscriptions (workspace_id, ` + subscriptionColumns + `, secret, headers)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`

// InsertSubscription adds a subscription with its sealed secret and headers.
func (tx *Tx) InsertSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription, sealed Sealed) error {
	tx.subscriptionsChanged(ws)
	err := tx.exec(insertSubscription, ws, s.ID, s.Name, s.URL, joinEvents(s.Events), s.Active, s.FailureCount, s.CreatedAt, s.UpdatedAt,
		s.DeactivatedAt, s.DeactivationReason, s.LastError, strings.Join(s.HeaderNames, ","), s.Number, s.Revision,
		s.SinceEvent, s.EventsSince, sealed.Secret, optBlob(sealed.Headers))
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
SET name = $3, url = $4, events = $5, active = $6, failure_count = $7, updated_at = $8, deactivated_at = $9,
  deactivation_reason = $10, last_error = $11, header_names = $12, revision = $13, events_since = $14
WHERE workspace_id = $1 AND id = $2`

// UpdateSubscription writes all but what is sealed.
func (tx *Tx) UpdateSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription) error {
	tx.note.Changed = append(tx.note.Changed, s.ID)
	return tx.saveSubscription(ws, s)
}

func (tx *Tx) saveSubscription(ws sheaf.WorkspaceID, s sheaf.Subscription) error {
	tx.subscriptionsChanged(ws)
	err := tx.exec(updateSubscription, ws, s.ID, s.Name, s.URL, joinEvents(s.Events), s.Active, s.FailureCount, s.UpdatedAt,
		s.DeactivatedAt, s.DeactivationReason, s.LastError, strings.Join(s.HeaderNames, ","), s.Revision, s.EventsSince)
	if err != nil {
		return fmt.Errorf("update subscription %s: %w", s.ID, err)
	}
	return nil
}

// subscriptionsChanged notes that pages which show the workspace's subscriptions
// have to look again.
func (tx *Tx) subscriptionsChanged(ws sheaf.WorkspaceID) {
	tx.note.Subscriptions = true
	tx.note.Workspaces.Add(ws)
}

const updateSealed = `
UPDATE subscriptions
SET secret = $3, old_secret = $4, old_secret_until = $5, headers = $6
WHERE workspace_id = $1 AND id = $2`

// SealAnew replaces what is sealed of a subscription.
func (tx *Tx) SealAnew(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, s Sealed) error {
	tx.note.Changed = append(tx.note.Changed, id)
	return tx.exec(updateSealed, ws, id, s.Secret, optBlob(s.OldSecret), s.OldSecretUntil, optBlob(s.Headers))
}

const deleteSubscription = `
DELETE FROM subscriptions
WHERE workspace_id = $1 AND id = $2`

const insertDeleted = `
INSERT INTO deleted_subscriptions (id, workspace_id, deleted_at)
VALUES ($1, $2, $3)`

// DeleteSubscription removes a subscription. Its deliveries are gone for
// readers and senders at once; their rows follow in small batches.
func (tx *Tx) DeleteSubscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID, now time.Time) error {
	tx.subscriptionsChanged(ws)
	tx.note.Changed = append(tx.note.Changed, id)
	if err := tx.exec(deleteSubscription, ws, id); err != nil {
		return fmt.Errorf("delete subscription %s: %w", id, err)
	}
	return tx.exec(insertDeleted, id, ws, now)
}

// LockSubscription is Subscription, and holds it until the transaction ends.
func (tx *Tx) LockSubscription(ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (sheaf.Subscription, error) {
	if _, _, err := one(&tx.Reader, selectSubscription+tx.dialect().ForUpdate(), scanSubscription, ws, id); err != nil {
		return sheaf.Subscription{}, err
	}
	return tx.Subscription(ws, id)
}
