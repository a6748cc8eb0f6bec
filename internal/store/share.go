package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// ShareColumns are what ScanShare reads, in its order.
const ShareColumns = `id, resource_type, resource_id, token, password_hash, expires_at, branding_id, listed, newest_release, release_id, show_releases, views, last_viewed_at,
  created_at, updated_at, number, revision`

// ScanShare reads a row of ShareColumns.
func ScanShare(r *row) sheaf.Share {
	return sheaf.Share{
		ID: readID[sheaf.ShareID](r), ResourceType: readShareable(r), ResourceID: readID[string](r), Token: r.Text(),
		PasswordHash: readPasswordHash(r), ExpiresAt: r.OptTime(), BrandingID: optID[sheaf.BrandingID](r), Listed: r.Bool(), Release: readShownRelease(r), ShowReleases: r.Bool(),
		Views: r.Int(), LastViewedAt: r.OptTime(), CreatedAt: r.Time(), UpdatedAt: r.Time(), Number: r.Int(), Revision: r.Int(),
	}
}

// shareables lists the kinds of shared records in the order of their stored numbers, which begin at
// 1.
var shareables = []sheaf.Shareable{sheaf.ShareOfDocument, sheaf.ShareOfProject, sheaf.ShareOfFolder}

// readShareable reads the kind of a shared record. An unknown number becomes a kind that does not
// exist.
func readShareable(r *row) sheaf.Shareable {
	n := r.Int()
	if n < 1 || n > int64(len(shareables)) {
		return sheaf.Shareable(fmt.Sprint("number ", n))
	}
	return shareables[n-1]
}

// shareableNumber is the inverse of readShareable.
func shareableNumber(s sheaf.Shareable) int64 { return int64(slices.Index(shareables, s) + 1) }

// readShownRelease reads which release a share shows: a mark for the newest one, and an id.
func readShownRelease(r *row) *string {
	newest, id := r.Bool(), optID[string](r)
	if newest {
		name := sheaf.NewestRelease
		return &name
	}
	return id
}

// storedRelease is the inverse of readShownRelease.
func storedRelease(s *sheaf.Share) (newest bool, id any) {
	if s.Release == nil {
		return false, nil
	}
	if *s.Release == sheaf.NewestRelease {
		return true, nil
	}
	return false, idBytes(*s.Release)
}

// readPasswordHash reads the hash of a share's password; NULL becomes "".
func readPasswordHash(r *row) string {
	if hash := r.OptText(); hash != nil {
		return *hash
	}
	return ""
}

// storedPasswordHash is the inverse of readPasswordHash.
func storedPasswordHash(hash string) any {
	if hash == "" {
		return nil
	}
	return hash
}

const selectShare = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND id = $2`

// Share returns the workspace's share, or NotFound.
func (r *Reader) Share(ws sheaf.WorkspaceID, id sheaf.ShareID) (sheaf.Share, error) {
	return r.oneShare(ws, selectShare, id)
}

// oneShare returns the visible share that a query selects, or NotFound.
func (r *Reader) oneShare(ws sheaf.WorkspaceID, query string, key any) (sheaf.Share, error) {
	s, err := mustFind(r, "share", query, ScanShare, ws, key)
	if err == nil {
		err = must("share")(r.seesShared(ws, &s))
	}
	return s, err
}

const selectShareWith = `
SELECT ` + ShareColumns + `
FROM shares
WHERE token = $2 AND ws = $1`

// ShareWith returns the workspace's share with that token, or NotFound.
func (r *Reader) ShareWith(ws sheaf.WorkspaceID, token string) (sheaf.Share, error) {
	return r.oneShare(ws, selectShareWith, token)
}

// Shares returns a page of the workspace's shares, oldest first.
func (r *Reader) Shares(ws sheaf.WorkspaceID, f sheaf.ShareFilter) (page sheaf.Page[sheaf.Share], err error) {
	l := listing{columns: ShareColumns, table: "shares", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	r.seeShares(&l.where, ws)
	if f.ResourceID != "" {
		l.where.And("resource_id = ?", idBytes(f.ResourceID))
		l.table += r.dialect().By("shares_of")
	} else if r.sight.restriction == nil {
		if l.total, err = r.count(`SELECT shares FROM workspaces WHERE ws = $1`, ws); err != nil {
			return page, err
		}
	}
	return list(r, l, f.Paging, ScanShare)
}

const selectSharesOf = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND resource_id = $2 AND resource_type = $3
ORDER BY number
LIMIT $4`

// SharesOf returns up to `most` shares of a document, project or folder, oldest first.
func (r *Reader) SharesOf(ws sheaf.WorkspaceID, kind sheaf.Shareable, id string, most int64) ([]sheaf.Share, error) {
	return all(r, selectSharesOf, ScanShare, ws, idBytes(id), shareableNumber(kind), most)
}

const selectSharesWith = `
SELECT ` + ShareColumns + `
FROM shares
WHERE ws = $1 AND branding_id = $2
ORDER BY number
LIMIT $3`

// SharesWith returns up to `most` shares that use a branding, oldest first.
func (r *Reader) SharesWith(ws sheaf.WorkspaceID, id sheaf.BrandingID, most int64) ([]sheaf.Share, error) {
	return all(r, selectSharesWith, ScanShare, ws, id, most)
}

const countSharesWith = `
SELECT COUNT(*)
FROM (SELECT 1 FROM shares WHERE ws = $1 AND branding_id = $2 LIMIT $3) AS q`

// CountSharesWith counts the shares that use a branding, up to `most`.
func (r *Reader) CountSharesWith(ws sheaf.WorkspaceID, id sheaf.BrandingID, most int64) (int64, error) {
	return r.count(countSharesWith, ws, id, most)
}

const isShared = `
SELECT COUNT(*)
FROM (SELECT 1 FROM shares WHERE ws = $1 AND resource_id = $2 AND resource_type = $3 AND (expires_at IS NULL OR expires_at > $4) LIMIT 1) AS q`

// IsShared reports whether a document or a project itself has a share that has not expired at now.
func (r *Reader) IsShared(ws sheaf.WorkspaceID, kind sheaf.Shareable, id string, now time.Time) (bool, error) {
	n, err := r.count(isShared, ws, idBytes(id), shareableNumber(kind), now)
	return n > 0, err
}

const countSharesOf = `
SELECT COUNT(*)
FROM (SELECT 1 FROM shares WHERE ws = $1 AND resource_id = $2 AND resource_type = $3 LIMIT $4) AS q`

// CountSharesOf counts the shares of a document, project or folder, up to `most`.
func (r *Reader) CountSharesOf(ws sheaf.WorkspaceID, kind sheaf.Shareable, id string, most int64) (int64, error) {
	return r.count(countSharesOf, ws, idBytes(id), shareableNumber(kind), most)
}

const isSharedAbove = `
WITH RECURSIVE up (id, parent_id) AS (
  SELECT id, parent_id FROM folders WHERE ws = $1 AND id = $2
  UNION ALL
  SELECT f.id, f.parent_id FROM up CROSS JOIN folders f WHERE f.ws = $1 AND f.id = up.parent_id)
SELECT COUNT(*)
FROM (
  SELECT 1
  FROM up CROSS JOIN shares s
  WHERE s.ws = $1 AND s.resource_id = up.id AND s.resource_type = $3 AND (s.expires_at IS NULL OR s.expires_at > $4)
  LIMIT 1) AS q`

// IsFolderShared reports whether a folder, or one above it, has a share that has not expired at now. With a
// restriction only shares of visible folders count.
func (r *Reader) IsFolderShared(ws sheaf.WorkspaceID, id sheaf.FolderID, now time.Time) (bool, error) {
	if r.sight.restriction != nil {
		return r.isVisiblyShared(ws, id, now)
	}
	n, err := r.count(isSharedAbove, ws, id, shareableNumber(sheaf.ShareOfFolder), now)
	return n > 0, err
}

// isVisiblyShared is IsFolderShared for a caller with a restriction. It reads the folder and the folders
// above it, one after the other, and stops at the first that is not visible.
func (r *Reader) isVisiblyShared(ws sheaf.WorkspaceID, id sheaf.FolderID, now time.Time) (bool, error) {
	for next := &id; next != nil; {
		f, err := r.Folder(ws, *next)
		if sheaf.KindOf(err) == sheaf.NotFound {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if shared, err := r.IsShared(ws, sheaf.ShareOfFolder, string(f.ID), now); err != nil || shared {
			return shared, err
		}
		next = f.ParentID
	}
	return false, nil
}

const countSharesBelow = `
SELECT COUNT(*)
FROM (
  SELECT 1
  FROM (SELECT id AS folder FROM folders WHERE ` + inTree + `) AS t CROSS JOIN shares s
  WHERE s.ws = $1 AND s.resource_id = t.folder AND s.resource_type = $3
  LIMIT $4) AS q`

// CountSharesBelow counts the shares of a folder and of all folders below it, up to `most`.
func (r *Reader) CountSharesBelow(ws sheaf.WorkspaceID, top sheaf.FolderID, most int64) (int64, error) {
	return r.count(countSharesBelow, ws, top, shareableNumber(sheaf.ShareOfFolder), most)
}

const selectSharedFolders = `
SELECT id
FROM folders
WHERE ` + inTree + ` AND EXISTS (
  SELECT 1 FROM shares s WHERE s.ws = $1 AND s.resource_id = folders.id AND s.resource_type = $3)
ORDER BY depth DESC, number
LIMIT $4`

// SharedFolders returns up to `most` folders of the tree that have shares.
func (r *Reader) SharedFolders(ws sheaf.WorkspaceID, top sheaf.FolderID, most int64) ([]sheaf.FolderID, error) {
	return all(r, selectSharedFolders, readID[sheaf.FolderID], ws, top, shareableNumber(sheaf.ShareOfFolder), most)
}

var documentsIn = engine.NewBulk(`
SELECT id
FROM documents
WHERE ws = {workspace} AND id = {wanted} AND project_id = {project} AND deleted_at IS NULL`, "", "workspace int", "wanted id", "project id")

// DocumentsIn reports which of the documents are in the project and not deleted.
func (r *Reader) DocumentsIn(ws sheaf.WorkspaceID, project sheaf.ProjectID, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	rows := wanted(ws, ids)
	for i := range rows {
		rows[i] = append(rows[i], project)
	}
	found := map[sheaf.DocumentID]bool{}
	err := r.run(documentsIn, rows, func(_ int, w *row) { found[readID[sheaf.DocumentID](w)] = true })
	return found, err
}

var documentsBelow = engine.NewBulk(`
WITH RECURSIVE up (id, parent_id) AS (
  SELECT f.id, f.parent_id
  FROM documents d CROSS JOIN projects p CROSS JOIN folders f
  WHERE d.ws = {workspace} AND d.id = {wanted} AND d.deleted_at IS NULL AND p.ws = d.ws AND p.id = d.project_id AND f.ws = d.ws AND f.id = p.folder_id
  UNION ALL
  SELECT f.id, f.parent_id FROM up CROSS JOIN folders f WHERE f.ws = {workspace} AND f.id = up.parent_id)
SELECT {wanted}
FROM up
WHERE id = {folder}`, "", "workspace int", "wanted id", "folder id")

// DocumentsBelow reports which of the documents are not deleted, and are in a project in the folder
// or in a folder below it.
func (r *Reader) DocumentsBelow(ws sheaf.WorkspaceID, folder sheaf.FolderID, ids []sheaf.DocumentID) (map[sheaf.DocumentID]bool, error) {
	rows := wanted(ws, ids)
	for i := range rows {
		rows[i] = append(rows[i], folder)
	}
	found := map[sheaf.DocumentID]bool{}
	err := r.run(documentsBelow, rows, func(_ int, w *row) { found[readID[sheaf.DocumentID](w)] = true })
	return found, err
}

// InsertShare adds a share.
func (tx *Tx) InsertShare(ws sheaf.WorkspaceID, s sheaf.Share) error {
	return tx.InsertShares(ws, []*sheaf.Share{&s})
}

var insertShares = engine.NewBulkInsert("shares", "ws int", "id id", "resource_type int", "resource_id id", "token", "password_hash",
	"expires_at int", "branding_id id", "listed int", "newest_release int", "release_id id", "show_releases int", "views int", "last_viewed_at int", "number int", "revision int", "created_at int", "updated_at int", "made_by_key id")

// InsertShares is InsertShare for many.
func (tx *Tx) InsertShares(ws sheaf.WorkspaceID, shares []*sheaf.Share) error {
	tx.note.Shares = tx.note.Shares || len(shares) > 0
	rows := make([][]any, len(shares))
	for i, s := range shares {
		newest, release := storedRelease(s)
		rows[i] = []any{ws, s.ID, shareableNumber(s.ResourceType), idBytes(s.ResourceID), s.Token, storedPasswordHash(s.PasswordHash),
			s.ExpiresAt, s.BrandingID, s.Listed, newest, release, s.ShowReleases, s.Views, s.LastViewedAt, s.Number, s.Revision, s.CreatedAt, s.UpdatedAt, s.MadeByKey}
	}
	if err := tx.insertMany(insertShares, rows); err != nil {
		return fmt.Errorf("insert %d shares: %w", len(shares), err)
	}
	return nil
}

const updateShare = `
UPDATE shares
SET password_hash = $3, expires_at = $4, branding_id = $5, listed = $6, revision = $7, updated_at = $8, newest_release = $9, release_id = $10, show_releases = $11
WHERE ws = $1 AND id = $2`

// UpdateShare writes the fields of a share that can change, except its views.
func (tx *Tx) UpdateShare(ws sheaf.WorkspaceID, s sheaf.Share) error {
	tx.note.Shares = true
	newest, release := storedRelease(&s)
	err := tx.exec(updateShare, ws, s.ID, storedPasswordHash(s.PasswordHash), s.ExpiresAt, s.BrandingID, s.Listed, s.Revision, s.UpdatedAt, newest, release, s.ShowReleases)
	if err != nil {
		return fmt.Errorf("update share %s: %w", s.ID, err)
	}
	return nil
}

const deleteShare = `
DELETE FROM shares
WHERE ws = $1 AND id = $2`

// DeleteShare removes a share.
func (tx *Tx) DeleteShare(ws sheaf.WorkspaceID, id sheaf.ShareID) error {
	tx.note.Shares = true
	if err := tx.exec(deleteShare, ws, id); err != nil {
		return fmt.Errorf("delete share %s: %w", id, err)
	}
	return nil
}

const deleteSharesOf = `
DELETE FROM shares
WHERE ws = $1 AND resource_id = $2 AND resource_type = $3 AND number <= $4`

// DeleteSharesOf deletes the shares of the record that `last` shares, up to and including `last`,
// which SharesOf returned.
func (tx *Tx) DeleteSharesOf(ws sheaf.WorkspaceID, last sheaf.Share) error {
	tx.note.Shares = true
	err := tx.exec(deleteSharesOf, ws, idBytes(last.ResourceID), shareableNumber(last.ResourceType), last.Number)
	if err != nil {
		return fmt.Errorf("delete the shares of %s %s: %w", last.ResourceType, last.ResourceID, err)
	}
	return nil
}

const selectShared = `
SELECT s.id, s.resource_type, s.resource_id, s.token, s.password_hash, s.expires_at, s.branding_id, s.listed, s.newest_release, s.release_id, s.show_releases, s.views, s.last_viewed_at,
  s.created_at, s.updated_at, s.number, s.revision, w.id, w.version
FROM shares s
JOIN workspaces w ON w.ws = s.ws
WHERE s.token = $1 AND w.deleted_at = 0`

// shared returns the share with that token, or NotFound. It takes no workspace, because a visitor
// has only the address.
func (r *Reader) shared(token string) (sheaf.Shared, error) {
	return mustFind(r, "share", selectShared, func(w *row) sheaf.Shared {
		return sheaf.Shared{Share: ScanShare(w), Workspace: readID[sheaf.WorkspaceID](w), Version: w.Int()}
	}, token)
}

// Shared returns the share with that token as of the newest commit, or NotFound. It checks neither
// its expiry nor whether the shared record exists. Its view count may be older.
func (s *Store) Shared(ctx context.Context, token string) (sheaf.Shared, error) {
	load := func() (out sheaf.Shared, version int64, err error) {
		err = s.engine.ReadOne(ctx, s.reading(func(r *Reader) error {
			out, err = r.shared(token)
			return err
		}))
		return out, out.Version, err
	}
	if s.shares == nil {
		out, _, err := load()
		return out, err
	}
	out, version, err := s.shares.Value(token, load)
	out.Version = version
	return out, err
}

// ShareViews is the number of views of a share that are not stored yet.
type ShareViews struct {
	Workspace sheaf.WorkspaceID
	Share     sheaf.ShareID
	Count     int64
	At        time.Time // time of the last view
}

const addViews = `
UPDATE shares
SET views = views + $3, last_viewed_at = CASE WHEN last_viewed_at > $4 THEN last_viewed_at ELSE $4 END
WHERE ws = $1 AND id = $2`

// AddViews adds views. It updates shares in the order of their ids, so that nodes that update the
// same shares do not deadlock. A deleted share is skipped. It announces nothing, because no page
// depends on it.
func (tx *Tx) AddViews(views []ShareViews) error {
	inOrder := slices.SortedFunc(slices.Values(views), func(a, b ShareViews) int { return strings.Compare(string(a.Share), string(b.Share)) })
	for _, v := range inOrder {
		if err := tx.exec(addViews, v.Workspace, v.Share, v.Count, v.At); err != nil {
			return fmt.Errorf("count the views of share %s: %w", v.Share, err)
		}
	}
	return nil
}
