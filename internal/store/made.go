package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// keyFamily selects the ids of key $2 of workspace $1, of the keys that it created or rotated, of the keys that those
// created or rotated, and so on, live or not. UNION ends the recursion if two keys rotated each other. CROSS JOIN makes
// SQLite begin with the family, and the plus sign keeps it from reading all keys of the workspace for each of the family.
const keyFamily = `
  WITH RECURSIVE family (id) AS (
    SELECT id FROM api_keys WHERE ws = $1 AND id = $2
    UNION
    SELECT k.id FROM family CROSS JOIN api_keys k WHERE +k.ws = $1 AND (k.made_by_key = family.id OR k.rotated_by_key = family.id))
  SELECT id FROM family`

const (
	selectKeysMadeBy = `
SELECT ` + keyColumns + `
FROM api_keys
WHERE ws = $1 AND id <> $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3) AND id IN (` + keyFamily + `)
ORDER BY number`
	selectSubscriptionsMadeBy = `
SELECT ` + subscriptionColumns + `
FROM ` + withLane + `
WHERE s.ws = $1 AND s.made_by_key IN (` + keyFamily + `)
ORDER BY s.number`
	selectSharesMadeBy = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND made_by_key IN (` + keyFamily + `)
ORDER BY number
LIMIT $3`
	countSharesMadeBy = `
SELECT COUNT(*)
FROM shares
WHERE ws = $1 AND made_by_key IN (` + keyFamily + `)`
)

// MadeBy returns what the key created that still works, with what the keys created that it created or rotated, and so
// on. It returns all live keys and webhooks, which a plan limits to a few, and up to `most` shares, oldest first.
func (r *Reader) MadeBy(ws sheaf.WorkspaceID, key sheaf.KeyID, now time.Time, most int64) (m sheaf.Made, err error) {
	if m.Keys, err = all(r, selectKeysMadeBy, scanKey, ws, key, now); err != nil {
		return m, err
	}
	if m.Subscriptions, err = all(r, selectSubscriptionsMadeBy, scanSubscription, ws, key); err != nil {
		return m, err
	}
	if m.ShareCount, err = r.count(countSharesMadeBy, ws, key); err != nil {
		return m, err
	}
	m.Shares, err = r.SharesMadeBy(ws, key, most)
	return m, err
}

// SharesMadeBy returns up to `most` of the shares that MadeBy returns.
func (r *Reader) SharesMadeBy(ws sheaf.WorkspaceID, key sheaf.KeyID, most int64) ([]sheaf.Share, error) {
	return all(r, selectSharesMadeBy, ScanShare, ws, key, most)
}

const (
	selectSubscriptionsOfUnknown = `
SELECT ` + subscriptionColumns + `
FROM ` + withLane + `
WHERE s.ws = $1 AND s.made_by_key IS NULL
ORDER BY s.number`
	selectSharesOfUnknown = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND made_by_key IS NULL
ORDER BY number
LIMIT $2`
)

// MadeByUnknown returns what still works in the workspace, but has no record of the key that created it: it was
// imported, or is older than that record.
func (r *Reader) MadeByUnknown(ws sheaf.WorkspaceID, now time.Time, most int64) (m sheaf.Made, err error) {
	unknown := liveKeys(ws, now)
	unknown.And("made_by_key IS NULL")
	keys, err := list(r, listing{columns: keyColumns, table: "api_keys", where: unknown, order: []string{"number"}, total: -1}, sheaf.Paging{Limit: int(most)}, scanKey)
	if err != nil {
		return m, err
	}
	m.Keys = keys.Items
	if m.Subscriptions, err = all(r, selectSubscriptionsOfUnknown, scanSubscription, ws); err != nil {
		return m, err
	}
	if m.ShareCount, err = r.count(`SELECT COUNT(*) FROM shares WHERE ws = $1 AND made_by_key IS NULL`, ws); err != nil {
		return m, err
	}
	m.Shares, err = all(r, selectSharesOfUnknown, ScanShare, ws, most)
	return m, err
}

const selectEventsOfKey = `
SELECT ` + EventColumns + `
FROM events
WHERE ws = $1 AND number > $3 AND key_number = $2
ORDER BY number DESC
LIMIT $4`

// EventsOfKey returns up to `most` events after number `after` that the key with the number `key` caused, newest first.
// No index has the keys of events, so it reads all of these events.
func (r *Reader) EventsOfKey(ws sheaf.WorkspaceID, key, after int64, most int) ([]sheaf.Event, error) {
	return all(r, selectEventsOfKey, ScanEvent, ws, key, after, most)
}
