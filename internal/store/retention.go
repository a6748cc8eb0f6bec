package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

const oldDeliveries = `
SELECT workspace_id, id
FROM deliveries
WHERE created_at < $1
ORDER BY created_at
LIMIT $2`

type deliveryKey struct {
	workspace sheaf.WorkspaceID
	id        sheaf.DeliveryID
}

func scanDeliveryKey(r *row) deliveryKey {
	return deliveryKey{sheaf.WorkspaceID(r.text()), sheaf.DeliveryID(r.text())}
}

// DeleteDeliveries removes at most that many deliveries from before a time,
// with their attempts, and returns how many it removed.
func (tx *Tx) DeleteDeliveries(before time.Time, most int) (int64, error) {
	keys, err := all(&tx.Reader, oldDeliveries, scanDeliveryKey, before, most)
	if err != nil {
		return 0, err
	}
	return int64(len(keys)), tx.removeDeliveries(keys)
}

// removeDeliveries removes a delivery before its attempts: an attempt that is
// being recorded holds the delivery, and is there to be removed after it.
func (tx *Tx) removeDeliveries(keys []deliveryKey) error {
	for _, k := range keys {
		if err := tx.exec(`DELETE FROM deliveries WHERE workspace_id = $1 AND id = $2`, k.workspace, k.id); err != nil {
			return err
		}
		if err := tx.exec(`DELETE FROM attempts WHERE workspace_id = $1 AND delivery_id = $2`, k.workspace, k.id); err != nil {
			return err
		}
	}
	return nil
}

const firstDeleted = `
SELECT id
FROM deleted_subscriptions
ORDER BY deleted_at, id
LIMIT 1`

const deliveriesOf = `
SELECT workspace_id, id
FROM deliveries
WHERE subscription_id = $1
LIMIT $2`

// DeleteOrphans removes at most that many deliveries of subscriptions that were
// deleted, and returns how many it removed; it has found them all when they are
// fewer than asked for.
func (tx *Tx) DeleteOrphans(most int) (int64, error) {
	id, found, err := one(&tx.Reader, firstDeleted, (*row).text)
	if err != nil || !found {
		return 0, err
	}
	keys, err := all(&tx.Reader, deliveriesOf, scanDeliveryKey, id, most)
	if err != nil {
		return 0, err
	}
	if err := tx.removeDeliveries(keys); err != nil {
		return 0, err
	}
	if len(keys) < most {
		// This subscription is done, and there may be another.
		return int64(most), tx.exec(`DELETE FROM deleted_subscriptions WHERE id = $1`, id)
	}
	return int64(len(keys)), nil
}

// The statements remove at most $2 rows of one sort that no rule needs.
const (
	expiredSessions = `
DELETE FROM sessions
WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= $1 LIMIT $2)`
	expiredInvitations = `
DELETE FROM invitations
WHERE hash IN (SELECT hash FROM invitations WHERE expires_at <= $1 LIMIT $2)`
	oldFailures = `
DELETE FROM sign_in_failures
WHERE name IN (SELECT name FROM sign_in_failures WHERE failed_at <= $1 LIMIT $2)`
)

// DeleteSessionsEnded removes at most that many sessions and returns how many.
func (tx *Tx) DeleteSessionsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredSessions, now, most)
}

// DeleteInvitationsEnded removes at most that many invitations and returns how
// many.
func (tx *Tx) DeleteInvitationsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredInvitations, now, most)
}

// DeleteFailures removes at most that many names under which nobody failed to
// sign in since, and returns how many.
func (tx *Tx) DeleteFailures(before time.Time, most int) (int64, error) {
	return tx.changed(oldFailures, before, most)
}

const longestDeleted = `
DELETE FROM documents
WHERE workspace_id = $1 AND deleted_at IS NOT NULL AND id IN (
  SELECT id
  FROM documents
  WHERE workspace_id = $1 AND deleted_at IS NOT NULL
  ORDER BY deleted_at, id
  LIMIT $2)`

// DeleteTrash removes, of the workspace's deleted documents, those that were
// deleted longest ago, at most that many at once, until so many are kept. It
// returns how many it removed.
func (tx *Tx) DeleteTrash(ws sheaf.WorkspaceID, keep, most int) (int64, error) {
	// Nobody restores one meanwhile.
	if _, err := tx.LockWorkspace(ws); err != nil {
		return 0, err
	}
	n, err := tx.count(`SELECT COUNT(*) FROM documents WHERE workspace_id = $1 AND deleted_at IS NOT NULL`, ws)
	if err != nil || n <= int64(keep) {
		return 0, err
	}
	return tx.changed(longestDeleted, ws, min(n-int64(keep), int64(most)))
}
