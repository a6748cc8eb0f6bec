package store

import (
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

const (
	grantKeyColumns = `k.id, k.name, k.prefix, k.scopes, k.user_id, k.expires_at, k.last_used_at, k.created_at, k.revoked_at, k.number, k.owner, k.rotation, k.old_until,
  k.restriction, k.restricted_to, k.resource, k.secret_until, k.within`

	selectGrants = `
SELECT ` + grantKeyColumns + `, g.client, g.redirect, g.code_hash, g.challenge, g.salt, g.ends_at, g.follows, g.renewed_at
FROM api_keys k
JOIN grants g ON g.ws = k.ws AND g.id = k.id
WHERE k.ws = $1`
)

// scanGrant reads a row of selectGrants.
func scanGrant(w *row) sheaf.Grant {
	return sheaf.Grant{Key: scanKey(w), Client: w.Text(), Redirect: w.Text(), CodeHash: [32]byte(w.Blob()), Challenge: w.Text(), Salt: w.Blob(),
		EndsAt: w.OptTime(), Follows: w.Bool(), RenewedAt: w.Time()}
}

const insertGrant = `
INSERT INTO grants (ws, id, client, redirect, code_hash, challenge, salt, ends_at, follows, renewed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// InsertGrant stores a grant. `hash` is that of a secret that nobody has: there is no access token yet.
func (tx *Tx) InsertGrant(ws sheaf.WorkspaceID, g sheaf.Grant, hash sheaf.KeyHash) error {
	if err := tx.InsertKey(ws, g.Key, hash); err != nil {
		return err
	}
	err := tx.exec(insertGrant, ws, g.ID, g.Client, g.Redirect, g.CodeHash[:], g.Challenge, g.Salt, g.EndsAt, g.Follows, g.RenewedAt)
	if err != nil {
		return fmt.Errorf("insert grant %s: %w", g.ID, err)
	}
	return nil
}

// Grant returns a grant, live or not, or NotFound.
func (r *Reader) Grant(ws sheaf.WorkspaceID, id sheaf.KeyID) (sheaf.Grant, error) {
	return mustFind(r, "grant", selectGrants+` AND k.id = $2`, scanGrant, ws, id)
}

const (
	grantByCode = `
SELECT w.id, g.id
FROM grants g
JOIN workspaces w ON w.ws = g.ws
WHERE g.code_hash = $1`

	grantByToken = `
SELECT w.id, k.id
FROM api_keys k
JOIN workspaces w ON w.ws = k.ws
WHERE k.resource <> '' AND (k.hash = $1 OR k.old_hash = $1)`

	grantByID = `
SELECT w.id, g.id
FROM api_keys k
JOIN grants g ON g.ws = k.ws AND g.id = k.id
JOIN workspaces w ON w.ws = k.ws
WHERE k.id = $1`
)

// GrantByCode returns the grant whose code has that hash, live or not, and its workspace, or NotFound.
func (r *Reader) GrantByCode(hash []byte) (sheaf.WorkspaceID, sheaf.Grant, error) {
	return r.findGrant(grantByCode, hash)
}

// GrantByToken returns the grant whose access token has that hash, live or not, and its workspace, or NotFound.
func (r *Reader) GrantByToken(hash sheaf.KeyHash) (sheaf.WorkspaceID, sheaf.Grant, error) {
	return r.findGrant(grantByToken, hash[:])
}

// GrantByID returns a grant, live or not, and its workspace, or NotFound. It is for apps, whose refresh tokens name the
// grant alone.
func (r *Reader) GrantByID(id sheaf.KeyID) (sheaf.WorkspaceID, sheaf.Grant, error) {
	return r.findGrant(grantByID, id)
}

func (r *Reader) findGrant(query string, by any) (ws sheaf.WorkspaceID, g sheaf.Grant, err error) {
	id, err := mustFind(r, "grant", query, func(w *row) sheaf.KeyID {
		ws = readID[sheaf.WorkspaceID](w)
		return readID[sheaf.KeyID](w)
	}, by)
	if err == nil {
		g, err = r.Grant(ws, id)
	}
	return ws, g, err
}

const liveGrant = ` AND k.resource <> '' AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2)`

// Grants returns the live grants of the workspace, the oldest first. There are at most sheaf.MaxGrants.
func (r *Reader) Grants(ws sheaf.WorkspaceID, now time.Time) ([]sheaf.Grant, error) {
	return all(r, selectGrants+liveGrant+` ORDER BY k.number`, scanGrant, ws, now)
}

// GrantsOf returns the live grants of a user in the workspace, the oldest first. There are at most
// sheaf.MaxGrantsOfPerson.
func (r *Reader) GrantsOf(ws sheaf.WorkspaceID, u sheaf.UserID, now time.Time) ([]sheaf.Grant, error) {
	return all(r, selectGrants+liveGrant+` AND k.user_id = $3 ORDER BY k.number`, scanGrant, ws, now, u)
}

const countGrants = `
SELECT COUNT(*)
FROM api_keys k
WHERE k.ws = $1` + liveGrant

// CountGrants counts the live grants of the workspace.
func (r *Reader) CountGrants(ws sheaf.WorkspaceID, now time.Time) (int64, error) {
	return r.count(countGrants, ws, now)
}

const deleteUnredeemed = `
DELETE FROM api_keys
WHERE id IN (SELECT id FROM api_keys WHERE resource <> '' AND rotation = 0 AND expires_at <= $1 LIMIT $2)`

// DeleteUnredeemedGrants deletes up to `most` grants whose code ended at or before `before`, and was not redeemed. It returns how
// many it deleted; fewer than `most` means none are left.
func (tx *Tx) DeleteUnredeemedGrants(before time.Time, most int) (int64, error) {
	return tx.changed(deleteUnredeemed, before, most)
}

const (
	renewKey = `
UPDATE api_keys
SET hash = $3, prefix = $4, rotation = $5, secret_until = $6, expires_at = $7, old_until = $8,
  old_hash = CASE WHEN CAST($8 AS BIGINT) IS NULL THEN NULL ELSE hash END
WHERE ws = $1 AND id = $2 AND revoked_at IS NULL`

	renewGrant = `
UPDATE grants
SET renewed_at = $3
WHERE ws = $1 AND id = $2`
)

// RenewGrant stores the state of a grant that got a new access token, with the token's hash. The previous token works
// until g.OldUntil; nil ends it.
func (tx *Tx) RenewGrant(ws sheaf.WorkspaceID, g sheaf.Grant, hash sheaf.KeyHash) error {
	tx.note.Credentials = true
	if err := tx.mustChange("grant", renewKey, ws, g.ID, hash[:], g.Prefix, g.Rotation, g.SecretUntil, g.ExpiresAt, g.OldUntil); err != nil {
		return err
	}
	return tx.exec(renewGrant, ws, g.ID, g.RenewedAt)
}

const restrictGrant = `
UPDATE api_keys
SET restriction = $3, restricted_to = $4, within = $5
WHERE ws = $1 AND id = $2`

// RestrictGrant stores what a grant is restricted to, after the restriction of its person has changed.
func (tx *Tx) RestrictGrant(ws sheaf.WorkspaceID, g sheaf.Grant) error {
	tx.note.Credentials = true
	return tx.exec(restrictGrant, ws, g.ID, restrictionNumber(g.RestrictedTo), g.RestrictedTo.String(), g.Within)
}

// Covers reports whether everything that `what` names is visible under the restriction `under`.
func (r *Reader) Covers(ws sheaf.WorkspaceID, under, what *sheaf.Restriction) (bool, error) {
	part, err := r.CoveredPart(ws, under, what)
	return len(part.Projects) == len(what.Projects) && len(part.Folders) == len(what.Folders), err
}

// CoveredPart returns what of `what` is visible under the restriction `under`.
func (r *Reader) CoveredPart(ws sheaf.WorkspaceID, under, what *sheaf.Restriction) (part sheaf.Restriction, err error) {
	seen := r.SeenBy(Restricted(under, false))
	for _, id := range what.Projects {
		switch err := seen.CheckProject(ws, id); {
		case err == nil:
			part.Projects = append(part.Projects, id)
		case sheaf.KindOf(err) != sheaf.NotFound:
			return part, err
		}
	}
	for _, id := range what.Folders {
		switch _, err := seen.Folder(ws, id); {
		case err == nil:
			part.Folders = append(part.Folders, id)
		case sheaf.KindOf(err) != sheaf.NotFound:
			return part, err
		}
	}
	return part, nil
}

const clientColumns = `id, name, uri, redirects, created_at`

func scanClient(w *row) sheaf.OAuthClient {
	return sheaf.OAuthClient{ID: w.Text(), Name: w.Text(), URI: w.Text(), Redirects: strings.Split(w.Text(), "\n"), CreatedAt: w.Time()}
}

// OAuthClient returns a registered app, or NotFound.
func (r *Reader) OAuthClient(id string) (sheaf.OAuthClient, error) {
	return mustFind(r, "app", `SELECT `+clientColumns+` FROM oauth_clients WHERE id = $1`, scanClient, id)
}

const insertClient = `
INSERT INTO oauth_clients (id, name, uri, redirects, address, created_at)
VALUES ($1, $2, $3, $4, $5, $6)`

// InsertOAuthClient stores an app that registered from this address.
func (tx *Tx) InsertOAuthClient(c sheaf.OAuthClient, address string) error {
	return tx.exec(insertClient, c.ID, c.Name, c.URI, strings.Join(c.Redirects, "\n"), address, c.CreatedAt)
}

// OAuthClientsSince returns when apps registered from the address after `since`, the oldest first.
func (r *Reader) OAuthClientsSince(address string, since time.Time) ([]time.Time, error) {
	return all(r, `SELECT created_at FROM oauth_clients WHERE address = $1 AND created_at > $2 ORDER BY created_at`, (*row).Time, address, since)
}

// CountOAuthClients counts the registered apps, up to `most`.
func (r *Reader) CountOAuthClients(most int) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM (SELECT id FROM oauth_clients LIMIT $1) AS registered`, most)
}

const deleteClients = `
DELETE FROM oauth_clients
WHERE id IN (SELECT c.id FROM oauth_clients c
  WHERE c.created_at <= $1 AND NOT EXISTS (SELECT 1 FROM grants g WHERE g.client = c.id)
  LIMIT $2)`

// DeleteUnusedOAuthClients deletes up to `most` apps that registered at or before `before` and have no grant. It returns
// how many it deleted; fewer than `most` means none are left.
func (tx *Tx) DeleteUnusedOAuthClients(before time.Time, most int) (int64, error) {
	return tx.changed(deleteClients, before, most)
}
