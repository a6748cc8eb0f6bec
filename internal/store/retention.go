package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const oldDeliveries = `
SELECT workspace_id, id
FROM deliveries
WHERE created_at < $1 AND state IN ('delivered', 'failed')
ORDER BY created_at
LIMIT $2`

type deliveryKey struct {
	workspace sheaf.WorkspaceID
	id        sheaf.DeliveryID
}

func scanDeliveryKey(r *row) deliveryKey {
	return deliveryKey{sheaf.WorkspaceID(r.Text()), sheaf.DeliveryID(r.Text())}
}

// DeleteDeliveries removes at most that many deliveries from before a time that
// are done, with their attempts, and returns how many it removed. They are locked
// where they are read: to whoever recovers or redelivers one meanwhile it is
// promised that it will be sent.
func (tx *Tx) DeleteDeliveries(before time.Time, most int) (int64, error) {
	keys, err := all(&tx.Reader, oldDeliveries+tx.dialect().SkipLocked("deliveries"), scanDeliveryKey, before, most)
	if err != nil {
		return 0, err
	}
	return int64(len(keys)), tx.removeDeliveries(keys)
}

// heldBehind reads what is held alone; left to itself SQLite may read every
// delivery of a subscription.
func heldBehind(d engine.Dialect) string {
	return `
SELECT d.workspace_id, d.id
FROM subscriptions s
JOIN deliveries d ` + d.By("deliveries_held") + ` ON d.subscription_id = s.id AND d.state = 'held'
WHERE s.workspace_id = $1 AND d.event_number <= $2 AND d.created_at < $3
LIMIT $4`
}

// DeleteHeld removes at most that many of the workspace's held deliveries that
// are from before a time and of events up to a number, and returns how many.
func (tx *Tx) DeleteHeld(ws sheaf.WorkspaceID, upTo int64, before time.Time, most int) (int64, error) {
	keys, err := all(&tx.Reader, heldBehind(tx.dialect())+tx.dialect().SkipLocked("d"), scanDeliveryKey, ws, upTo, before, most)
	if err != nil {
		return 0, err
	}
	return int64(len(keys)), tx.removeDeliveries(keys)
}

// unfinished are the queries for the lowest number of an event among the
// workspace's deliveries that are held, that wait and that are being sent. Each
// reads the index of that state alone.
func unfinished(d engine.Dialect) []string {
	lowest := func(state string) string {
		return `
SELECT MIN(d.event_number)
FROM subscriptions s
JOIN deliveries d ` + d.By("deliveries_"+state) + ` ON d.subscription_id = s.id AND d.state = '` + state + `'
WHERE s.workspace_id = $1`
	}
	return []string{lowest("held"), lowest("waiting"), `
SELECT MIN(event_number)
FROM deliveries ` + d.By("deliveries_sending") + `
WHERE state = 'sending' AND lease_until > 0 AND workspace_id = $1`}
}

// NeededEvent returns the number of the oldest event of the workspace that is
// still to be delivered, or one behind the newest.
func (r *Reader) NeededEvent(ws sheaf.WorkspaceID) (int64, error) {
	w, err := r.Workspace(ws)
	needed := w.LastEvent + 1
	for _, sql := range unfinished(r.dialect()) {
		if err != nil {
			return 0, err
		}
		var lowest *int64
		if lowest, _, err = one(r, sql, (*row).OptInt, ws); lowest != nil {
			needed = min(needed, *lowest)
		}
	}
	return needed, err
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
	id, found, err := one(&tx.Reader, firstDeleted, (*row).Text)
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
