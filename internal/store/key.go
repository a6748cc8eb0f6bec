package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const keyColumns = `id, name, prefix, scopes, user_id, expires_at, last_used_at, created_at, revoked_at, number, owner, rotation, old_until,
  restriction, restricted_to, resource, secret_until, within`

// scanKey reads a row of keyColumns.
func scanKey(r *row) sheaf.Key {
	return sheaf.Key{
		ID: readID[sheaf.KeyID](r), Name: r.Text(), Prefix: r.Text(), Scopes: splitScopes(r.Text()), UserID: readID[sheaf.UserID](r),
		ExpiresAt: r.OptTime(), LastUsedAt: r.OptTime(), CreatedAt: r.Time(), RevokedAt: r.OptTime(), Number: r.Int(),
		OfWorkspace: r.Text() == sheaf.OwnerWorkspace, Rotation: r.Int(), OldUntil: r.OptTime(),
		RestrictedTo: sheaf.ParseRestriction(r.Int(), r.Text()), Resource: r.Text(), SecretUntil: r.OptTime(), Within: r.Int(),
	}
}

// splitScopes parses the stored scopes of a key.
func splitScopes(s string) sheaf.Scopes {
	out := make(sheaf.Scopes, 0, 1+strings.Count(s, ","))
	for name := range strings.SplitSeq(s, ",") {
		out = append(out, sheaf.Scope(name))
	}
	return out
}

// #nosec G101 -- statements that read keys; they contain none
const (
	fromCredential = `
SELECT k.id, k.name, k.prefix, k.scopes, k.user_id, k.expires_at, k.last_used_at, k.created_at, k.revoked_at, k.number,
  k.owner, k.rotation, k.old_until, k.restriction, k.restricted_to, k.resource, k.secret_until, k.within, w.id, w.name, w.plan, w.personal, w.version
FROM api_keys k
JOIN workspaces w ON w.ws = k.ws
WHERE k.revoked_at IS NULL AND w.deleted_at = 0 AND `
	selectCredential    = fromCredential + `k.hash = $1`
	selectOldCredential = fromCredential + `k.old_hash = $1`
)

// selectPaidKeys and selectPaidOldKeys read as little as possible: they run every second or so for
// each open stream.
const fromPaidKeys = `
SELECT k.expires_at, k.old_until
FROM api_keys k
JOIN workspaces w ON w.ws = k.ws
WHERE k.revoked_at IS NULL AND w.plan <> 'free' AND w.deleted_at = 0 AND `

var (
	selectPaidKeys    = engine.NewBulk(fromPaidKeys+`k.hash = {hash}`, "", "hash bytes")
	selectPaidOldKeys = engine.NewBulk(fromPaidKeys+`k.old_hash = {hash}`, "", "hash bytes")
)

func scanCredential(w *row) sheaf.Credential {
	c := sheaf.Credential{Key: scanKey(w), Workspace: readID[sheaf.WorkspaceID](w), Name: w.Text(),
		Plan: sheaf.Plan(w.Text()), Personal: w.Bool(), Version: w.Int()}
	c.Until = c.Key.SecretUntil
	return c
}

// scanOldCredential reads a row of selectOldCredential.
func scanOldCredential(w *row) sheaf.Credential {
	c := scanCredential(w)
	c.Key.Rotation--
	c.Until = c.Key.OldUntil
	return c
}

// paidKeys returns those of these keys that are live at time now and whose workspace has a paid plan.
func (r *Reader) paidKeys(hashes []sheaf.KeyHash, now time.Time) (map[sheaf.KeyHash]bool, error) {
	found := make(map[sheaf.KeyHash]bool, len(hashes))
	ask := func(query *engine.Bulk, hashes []sheaf.KeyHash, old bool) error {
		rows := make([][]any, len(hashes))
		for i := range hashes {
			rows[i] = []any{hashes[i][:]}
		}
		return r.run(query, rows, func(i int, w *row) {
			c := sheaf.Credential{Key: sheaf.Key{ExpiresAt: w.OptTime(), OldUntil: w.OptTime()}}
			if old {
				c.Until = c.Key.OldUntil
			}
			found[hashes[i]] = c.Live(now)
		})
	}
	if err := ask(selectPaidKeys, hashes, false); err != nil {
		return nil, err
	}
	var rest []sheaf.KeyHash
	for _, hash := range hashes {
		if _, known := found[hash]; !known {
			rest = append(rest, hash)
		}
	}
	if len(rest) == 0 {
		return found, nil
	}
	return found, ask(selectPaidOldKeys, rest, true)
}

// credential returns what the key with that hash stands for, or Unauthorized. A hash that no key has
// is looked up among the previous secrets. A key that is rotated between the two reads is found: its
// hash only moves from the first to the second.
func (r *Reader) credential(hash sheaf.KeyHash) (sheaf.Credential, error) {
	c, found, err := one(r, selectCredential, scanCredential, hash[:])
	if err == nil && !found {
		c, found, err = one(r, selectOldCredential, scanOldCredential, hash[:])
	}
	if err == nil && !found {
		err = &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: "the API key is unknown, expired or revoked: create a new one"}
	}
	return c, err
}

const insertKey = `
INSERT INTO api_keys (ws, id, user_id, name, prefix, hash, scopes, expires_at, number, created_at, owner,
  restriction, restricted_to, resource, within, made_by_key)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// InsertKey stores a key with the hash of its secret.
func (tx *Tx) InsertKey(ws sheaf.WorkspaceID, k sheaf.Key, hash sheaf.KeyHash) error {
	tx.note.Credentials = true
	err := tx.exec(insertKey, ws, k.ID, k.UserID, k.Name, k.Prefix, hash[:], strings.Join(k.Scopes.Strings(), ","),
		k.ExpiresAt, k.Number, k.CreatedAt, k.Owner(), restrictionNumber(k.RestrictedTo), k.RestrictedTo.String(), k.Resource, k.Within, k.MadeByKey)
	if err != nil {
		return fmt.Errorf("insert key %s: %w", k.ID, err)
	}
	return nil
}

// LiveKeys counts the workspace's keys that are neither revoked nor expired at time now.
func (r *Reader) LiveKeys(ws sheaf.WorkspaceID, now time.Time) (int64, error) {
	w := liveKeys(ws, now)
	return r.count("SELECT COUNT(*) FROM api_keys "+w.SQL(), w.Args...)
}

// liveKeys returns the condition for the keys that LiveKeys counts.
func liveKeys(ws sheaf.WorkspaceID, now time.Time) engine.Conditions {
	var w engine.Conditions
	w.And("ws = ?", ws)
	w.And("resource = ''")
	w.And("revoked_at IS NULL")
	w.And("(expires_at IS NULL OR expires_at > ?)", now)
	return w
}

// Keys returns a page of the workspace's live keys, oldest first.
func (r *Reader) Keys(ws sheaf.WorkspaceID, now time.Time, p sheaf.Paging) (sheaf.Page[sheaf.Key], error) {
	return list(r, listing{columns: keyColumns, table: "api_keys", where: liveKeys(ws, now), order: []string{"number"}, total: -1}, p, scanKey)
}

const selectKeyName = `
SELECT name
FROM api_keys
WHERE ws = $1 AND number = $2 AND revoked_at IS NULL`

// KeyName returns the name of the workspace's key with that number; found is false if the key was
// revoked or deleted.
func (r *Reader) KeyName(ws sheaf.WorkspaceID, number int64) (name string, found bool, err error) {
	return one(r, selectKeyName, (*row).Text, ws, number)
}

// KeysKept is the least time for which a revoked or expired key is stored. The limit on the keys
// that a workspace creates within this time counts it.
const KeysKept = time.Hour

const nthNewestKey = `
SELECT created_at
FROM api_keys
WHERE ws = $1 AND resource = ''
ORDER BY created_at DESC
LIMIT 1 OFFSET $2`

// NthNewestKey returns when the workspace's nth newest key was created, revoked and expired ones
// included; found is false if it has fewer.
func (r *Reader) NthNewestKey(ws sheaf.WorkspaceID, nth int) (at time.Time, found bool, err error) {
	return one(r, nthNewestKey, (*row).Time, ws, nth-1)
}

const (
	revokedKeys = `
DELETE FROM api_keys
WHERE id IN (SELECT id FROM api_keys AS k WHERE revoked_at <= $1` + nothingLeft + ` LIMIT $2)`
	expiredKeys = `
DELETE FROM api_keys
WHERE id IN (SELECT id FROM api_keys AS k WHERE expires_at <= $1` + nothingLeft + ` LIMIT $2)`
	// nothingLeft is true unless something is stored that was made with key k: what was made with that in turn is found
	// by way of k. A key that k rotated counts while it is live, so that two keys that rotated each other do not stay.
	nothingLeft = `
  AND NOT EXISTS (SELECT 1 FROM shares m WHERE m.ws = k.ws AND m.made_by_key = k.id)
  AND NOT EXISTS (SELECT 1 FROM subscriptions m WHERE m.ws = k.ws AND m.made_by_key = k.id)
  AND NOT EXISTS (SELECT 1 FROM api_keys m WHERE m.made_by_key = k.id)
  AND NOT EXISTS (SELECT 1 FROM api_keys m WHERE m.rotated_by_key = k.id AND m.revoked_at IS NULL
    AND (m.expires_at IS NULL OR m.expires_at > $1))`
)

// DeleteKeysEnded deletes up to `most` keys that were revoked, and up to `most` that expired, at or
// before `before`. It returns how many it deleted; fewer than `most` means none are left. A key stays
// while something is stored that was made with it, because the page of a leaked key lists that.
func (tx *Tx) DeleteKeysEnded(before time.Time, most int) (int64, error) {
	revoked, err := tx.changed(revokedKeys, before, most)
	if err != nil {
		return 0, err
	}
	expired, err := tx.changed(expiredKeys, before, most)
	return revoked + expired, err
}

const selectKey = `
SELECT ` + keyColumns + `
FROM api_keys
WHERE ws = $1 AND id = $2`

// Key returns the workspace's key, live or not, or NotFound.
func (r *Reader) Key(ws sheaf.WorkspaceID, id sheaf.KeyID) (sheaf.Key, error) {
	return mustFind(r, "key", selectKey, scanKey, ws, id)
}

const selectKeyState = `
SELECT revoked_at, rotation, old_until, restriction, restricted_to, within
FROM api_keys
WHERE ws = $1 AND id = $2`

// RefreshKey returns k, which was read before, as it is now, or NotFound. It reads only what can
// change and decides whether the key works.
func (r *Reader) RefreshKey(ws sheaf.WorkspaceID, k sheaf.Key) (sheaf.Key, error) {
	return mustFind(r, "key", selectKeyState, func(w *row) sheaf.Key {
		k.RevokedAt, k.Rotation, k.OldUntil = w.OptTime(), w.Int(), w.OptTime()
		k.RestrictedTo, k.Within = sheaf.ParseRestriction(w.Int(), w.Text()), w.Int()
		return k
	}, ws, k.ID)
}

const revokeKey = `
UPDATE api_keys
SET revoked_at = $3
WHERE ws = $1 AND id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`

// RevokeKey revokes a live key, or returns NotFound.
func (tx *Tx) RevokeKey(ws sheaf.WorkspaceID, id sheaf.KeyID, now time.Time) error {
	tx.note.Credentials = true
	return tx.mustChange("key", revokeKey, ws, id, now)
}

const rotateKey = `
UPDATE api_keys
SET hash = $3, prefix = $4, rotation = rotation + 1, old_until = $5,
  old_hash = CASE WHEN CAST($5 AS BIGINT) IS NULL THEN NULL ELSE hash END
WHERE ws = $1 AND id = $2 AND revoked_at IS NULL`

const rotatedBy = `
UPDATE api_keys
SET rotated_by_key = $3
WHERE ws = $1 AND id = $2`

// RotateKey stores prefix and hash of a new secret of the key. The present secret works
// until `until`; nil ends it now. A secret before that ends in any case.
//
// The store keeps `by`, the other key that rotated it, because the holder of that key has the new secret. If `by` is
// sheaf.NoKey, the key that rotated it before is forgotten with its secret, unless that still works.
func (tx *Tx) RotateKey(ws sheaf.WorkspaceID, id, by sheaf.KeyID, prefix string, hash sheaf.KeyHash, until *time.Time) error {
	tx.note.Credentials = true
	if err := tx.mustChange("key", rotateKey, ws, id, hash[:], prefix, until); err != nil {
		return err
	}
	switch {
	case by == id: // a thief of the old secret may have done it
		return nil
	case by != sheaf.NoKey:
		return tx.exec(rotatedBy, ws, id, by)
	case until == nil:
		return tx.exec(rotatedBy, ws, id, nil)
	}
	return nil
}

const forgetOldKeys = `
UPDATE api_keys
SET old_hash = NULL, old_until = NULL
WHERE id IN (SELECT id FROM api_keys WHERE old_until <= $1 LIMIT $2)`

// ForgetOldKeys forgets up to `most` previous secrets that ended at or before `before`. It returns
// how many it forgot; fewer than `most` means none are left.
func (tx *Tx) ForgetOldKeys(before time.Time, most int) (int64, error) {
	return tx.changed(forgetOldKeys, before, most)
}

const liveKeysOf = `
SELECT ` + keyColumns + `
FROM api_keys
WHERE ws = $1 AND user_id = $2 AND owner = 'user' AND resource = '' AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)
ORDER BY number`

const revokeKeysOf = `
UPDATE api_keys
SET revoked_at = $3
WHERE ws = $1 AND user_id = $2 AND owner = 'user' AND resource = '' AND revoked_at IS NULL`

// RevokeKeysOf revokes every key of a user in the workspace, except those that belong to the
// workspace. It returns those that were live.
func (tx *Tx) RevokeKeysOf(ws sheaf.WorkspaceID, u sheaf.UserID, now time.Time) ([]sheaf.Key, error) {
	tx.note.Credentials = true
	live, err := all(&tx.Reader, liveKeysOf, scanKey, ws, u, now)
	if err != nil {
		return nil, err
	}
	return live, tx.exec(revokeKeysOf, ws, u, now)
}

// KeyByID returns a key and its workspace, or NotFound. It is for the operator, who does not name
// the workspace.
func (r *Reader) KeyByID(id sheaf.KeyID) (ws sheaf.WorkspaceID, k sheaf.Key, err error) {
	_, found, err := one(r, `SELECT `+keyColumns+`, (SELECT w.id FROM workspaces w WHERE w.ws = api_keys.ws) FROM api_keys WHERE id = $1`, func(w *row) bool {
		k, ws = scanKey(w), readID[sheaf.WorkspaceID](w)
		return true
	}, id)
	if err == nil && !found {
		err = sheaf.Missing("key")
	}
	return ws, k, err
}

const touchKey = `
UPDATE api_keys
SET last_used_at = $3
WHERE ws = $1 AND id = $2`

// KeyUse is when a key was last used.
type KeyUse struct {
	Workspace sheaf.WorkspaceID
	Key       sheaf.KeyID
	At        time.Time
}

// TouchKeys records when keys were used. It updates them in the order of their ids, so that nodes
// that update the same keys do not deadlock. It announces nothing, because no request depends on
// it.
func (tx *Tx) TouchKeys(uses []KeyUse) error {
	inOrder := slices.SortedFunc(slices.Values(uses), func(a, b KeyUse) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for _, u := range inOrder {
		if err := tx.exec(touchKey, u.Workspace, u.Key, u.At); err != nil {
			return fmt.Errorf("touch key %s: %w", u.Key, err)
		}
	}
	return nil
}
