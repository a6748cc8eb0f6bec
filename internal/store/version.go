package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
)

// The present version of a document is in the document's own row, so a document that never changes
// needs no other row. A change first copies it into a row of versions, then writes the new one. The
// numbers of the stored versions have no gaps, because always the oldest are deleted.

const versionColumns = `version, title, content_bytes, content_hash, user_id, key_id, proposal_id, created_at, restored`

func scanVersion(r *row) sheaf.Version {
	return sheaf.Version{Number: r.Int(), Title: r.Text(), ContentBytes: r.Int(), ContentSHA256: readHash(r),
		UserID: optID[sheaf.UserID](r), KeyID: optID[sheaf.KeyID](r), ProposalID: optID[sheaf.ProposalID](r), CreatedAt: r.Time(), Restored: r.OptInt()}
}

// presentVersion is versionColumns for the document's own row.
const presentVersion = `version, title, content_bytes, content_hash, version_user, version_key, version_proposal, COALESCE(version_at, created_at), version_restored`

const keepVersion = `
INSERT INTO versions (ws, document_id, ` + versionColumns + `)
SELECT ws, id, ` + presentVersion + `
FROM documents
WHERE ws = $1 AND id = $2`

const updateVersion = `
UPDATE documents
SET project_id = $3, title = $4, title_folded = $5, description = $6, description_folded = $7,
  revision = $8, updated_at = $9, deleted_at = $10, version = $11, version_at = $12, version_user = $13, version_key = $14,
  content_bytes = $15, content_hash = $16, external_id = $17, url = $18, metadata = $19, parent_id = $20, sort_order = $21, deletion = $22,
  version_restored = $23, version_proposal = $24, fields_hash = $25
WHERE ws = $1 AND id = $2`

// AddVersion is UpdateDocument for a change that makes a new version. It stores the previous
// version, and the text if it is new to the document. Beyond sheaf.MaxVersions the oldest version
// is deleted. It returns by how many bytes the workspace's texts grow, which may be negative.
func (tx *Tx) AddVersion(ws sheaf.WorkspaceID, before, d sheaf.Document, by sheaf.Author, t Text) (grown int64, err error) {
	if err := tx.exec(keepVersion, ws, d.ID); err != nil {
		return 0, fmt.Errorf("keep version %d of document %s: %w", before.Version, d.ID, err)
	}
	err = tx.exec(updateVersion, ws, d.ID, d.ProjectID, d.Title, Fold(d.Title), d.Description, foldOpt(d.Description),
		d.Revision, d.UpdatedAt, d.Deleted, d.Version, d.UpdatedAt, by.User, by.Key, d.ContentBytes, textHash(d.ContentSHA256),
		d.ExternalID, d.URL, storedMetadata(d.Metadata), d.ParentID, storedOrder(&d), storedDeletion(d.Deletion), by.Restored, by.Proposal, fieldsHash(&d))
	if err != nil {
		return 0, fmt.Errorf("update document %s: %w", d.ID, err)
	}
	if err := tx.followCounts(ws, before, d); err != nil {
		return 0, err
	}
	if grown, err = tx.InsertText(ws, d.ID, t); err != nil || d.Version <= sheaf.MaxVersions {
		return grown, err
	}
	_, freed, err := tx.DropVersions(ws, d.ID, d.Version-sheaf.MaxVersions)
	return grown - freed, err
}

const dropTexts = `
DELETE FROM texts
WHERE ws = $1 AND document_id = $2
  AND hash IN (SELECT v.content_hash FROM versions v WHERE v.ws = $1 AND v.document_id = $2 AND v.version <= $3)
  AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.ws = $1 AND v.document_id = $2 AND v.version > $3 AND v.content_hash = texts.hash)
  AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.ws = $1 AND d.id = $2 AND d.content_hash = texts.hash)
RETURNING bytes`

const dropVersions = `
DELETE FROM versions
WHERE ws = $1 AND document_id = $2 AND version <= $3`

// DropVersions deletes the document's past versions up to number `upTo`, with the texts that no
// other version has. It returns the number of versions and of bytes of text deleted.
func (tx *Tx) DropVersions(ws sheaf.WorkspaceID, id sheaf.DocumentID, upTo int64) (versions, freed int64, err error) {
	err = tx.query(dropTexts, func(r *row) { freed += r.Int() }, ws, id, upTo)
	if err != nil {
		return 0, 0, fmt.Errorf("remove texts of document %s: %w", id, err)
	}
	versions, err = tx.changed(dropVersions, ws, id, upTo)
	return versions, freed, err
}

const selectPresent = `
SELECT ` + presentVersion + `
FROM documents
WHERE ws = $1 AND id = $2 AND deleted_at IS NULL`

// presentOf returns the document's present version, or NotFound if there is no document or it is
// deleted.
func (r *Reader) presentOf(ws sheaf.WorkspaceID, id sheaf.DocumentID) (sheaf.Version, error) {
	v, found, err := one(r, selectPresent, scanVersion, ws, id)
	if err == nil && found {
		found, err = r.seesDocument(ws, &id)
	}
	if err == nil && !found {
		err = sheaf.Missing("document")
	}
	return v, err
}

const selectVersions = `
SELECT ` + versionColumns + `
FROM versions
WHERE ws = $1 AND document_id = $2 AND version >= $3
ORDER BY version
LIMIT $4`

// Versions returns a page of the document's versions by number. The highest is the present one.
func (r *Reader) Versions(ws sheaf.WorkspaceID, id sheaf.DocumentID, p sheaf.Paging) (sheaf.Page[sheaf.Version], error) {
	page := sheaf.Page[sheaf.Version]{Paging: p}
	present, err := r.presentOf(ws, id)
	if err != nil {
		return page, err
	}
	past, err := r.count(`SELECT COUNT(*) FROM versions WHERE ws = $1 AND document_id = $2`, ws, id)
	if err != nil {
		return page, err
	}
	page.Total = past + 1
	take := min(int64(p.Limit), page.Total-int64(p.Offset))
	if take <= 0 {
		return page, nil
	}
	// The numbers have no gaps.
	first := present.Number - past + int64(p.Offset)
	if p.Desc {
		first = present.Number - int64(p.Offset) - take + 1
	}
	if page.Items, err = all(r, selectVersions, scanVersion, ws, id, first, take); err != nil {
		return page, err
	}
	if first+take > present.Number {
		page.Items = append(page.Items, present)
	}
	if p.Desc {
		slices.Reverse(page.Items)
	}
	return page, nil
}

// oneVersion selects a version of a document, past or present.
const oneVersion = `
  SELECT ` + versionColumns + `
  FROM versions
  WHERE ws = $1 AND document_id = $2 AND version = $3
  UNION ALL
  SELECT ` + presentVersion + `
  FROM documents
  WHERE ws = $1 AND id = $2 AND version = $3`

// VersionOf returns one version of a document, or NotFound.
func (r *Reader) VersionOf(ws sheaf.WorkspaceID, id sheaf.DocumentID, number int64) (sheaf.Version, error) {
	v, found, err := one(r, oneVersion, scanVersion, ws, id, number)
	if err == nil && found {
		found, err = r.seesDocument(ws, &id)
	}
	if err == nil && !found {
		err = sheaf.Missing("version")
	}
	return v, err
}

const selectVersionText = `
SELECT v.*, ` + TextColumns + `
FROM (` + oneVersion + `) AS v
LEFT JOIN texts ON texts.ws = $1 AND texts.document_id = $2 AND texts.hash = v.content_hash`

// Version returns one version of a document with its text, or NotFound.
func (r *Reader) Version(ws sheaf.WorkspaceID, id sheaf.DocumentID, number int64) (sheaf.VersionText, error) {
	var unpacked error
	v, found, err := one(r, selectVersionText, func(w *row) (v sheaf.VersionText) {
		v.Version = scanVersion(w)
		v.Content, unpacked = ScanText(w)
		return v
	}, ws, id, number)
	if err == nil && found {
		found, err = r.seesDocument(ws, &id)
	}
	switch {
	case err != nil:
		return sheaf.VersionText{}, err
	case !found:
		return sheaf.VersionText{}, sheaf.Missing("version")
	}
	return v, unpacked
}

// OldVersion identifies a document that has versions past their retention time.
type OldVersion struct {
	Workspace sheaf.WorkspaceID
	Document  sheaf.DocumentID
}

// 100 is sheaf.KeptVersions, written as a literal so that the index documents_of_many_versions can
// be used.
const oldVersions = `
SELECT w.id, d.id
FROM documents d
JOIN workspaces w ON w.ws = d.ws
WHERE d.version > 100 AND w.deleted_at = 0
  AND EXISTS (SELECT 1 FROM versions v
    WHERE v.ws = d.ws AND v.document_id = d.id AND v.version <= d.version - 100 AND v.created_at < $1
      AND v.version = (SELECT MIN(o.version) FROM versions o WHERE o.ws = d.ws AND o.document_id = d.id))
LIMIT $2`

// OldVersions returns up to `most` documents whose oldest version is from before `before`, and is
// not among the newest sheaf.KeptVersions, which are always kept.
func (r *Reader) OldVersions(before time.Time, most int) ([]OldVersion, error) {
	return all(r, oldVersions, func(w *row) OldVersion {
		return OldVersion{readID[sheaf.WorkspaceID](w), readID[sheaf.DocumentID](w)}
	}, before, most)
}

const versionBytes = `
SELECT version, content_bytes
FROM versions
WHERE ws = $1 AND document_id = $2
ORDER BY version`

// oldestVersions returns the number up to which the oldest past versions of a document have just
// reached `bytes` bytes of text, and whether there are further ones.
func (r *Reader) oldestVersions(ws sheaf.WorkspaceID, id sheaf.DocumentID, bytes int64) (upTo int64, more bool, err error) {
	err = r.query(versionBytes, func(w *row) {
		number, size := w.Int(), w.Int()
		if more = bytes <= 0; !more {
			upTo, bytes = number, bytes-size
		}
	}, ws, id)
	return upTo, more, err
}

// PastBytes returns the total bytes of text of the document's past versions, even if it is deleted.
// A text that several versions share counts for each.
func (r *Reader) PastBytes(ws sheaf.WorkspaceID, id sheaf.DocumentID) (int64, error) {
	return r.count(`SELECT CAST(COALESCE(SUM(content_bytes), 0) AS BIGINT) FROM versions WHERE ws = $1 AND document_id = $2`, ws, id)
}

const versionSpan = `
SELECT MIN(version), MIN(CASE WHEN created_at >= $3 THEN version END), MAX(version)
FROM versions
WHERE ws = $1 AND document_id = $2`

// DeleteVersions deletes up to `most` of a document's oldest versions, and returns how many. They
// must be from before `before` and not among the newest sheaf.KeptVersions. A version that a fast
// clock dated too late keeps all newer ones.
func (tx *Tx) DeleteVersions(o OldVersion, before time.Time, most int64) (int64, error) {
	w, err := tx.LockWorkspace(o.Workspace)
	if err != nil {
		return 0, err
	}
	type span struct{ oldest, kept, newest *int64 }
	s, _, err := one(&tx.Reader, versionSpan, func(r *row) span { return span{r.OptInt(), r.OptInt(), r.OptInt()} }, o.Workspace, o.Document, before)
	if err != nil || s.oldest == nil {
		return 0, err
	}
	upTo := *s.newest + 1 - sheaf.KeptVersions // the present version is newest + 1
	if s.kept != nil {
		upTo = min(upTo, *s.kept-1)
	}
	upTo = min(upTo, *s.oldest+most-1)
	if upTo < *s.oldest {
		return 0, nil
	}
	n, freed, err := tx.DropVersions(o.Workspace, o.Document, upTo)
	if err != nil {
		return n, err
	}
	w.Storage -= freed
	return n, tx.SaveWorkspace(w)
}
