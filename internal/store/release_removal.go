package store

import (
	"fmt"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const (
	liftChildren = `
UPDATE release_documents
SET parent_id = (SELECT d.parent_id FROM release_documents d WHERE d.ws = $1 AND d.release = $2 AND d.document_id = $3)
WHERE ws = $1 AND release = $2 AND parent_id = $3`
	dropReleased = `
DELETE FROM release_documents
WHERE ws = $1 AND release = $2 AND document_id = $3
RETURNING content_hash, fields_hash`
)

// DropFromReleases removes a document from at most `most` releases. The documents below it go below its
// parent. It lowers the workspace's storage. more says that there are further releases; `unused` is media
// whose bytes no row has any more.
func (tx *Tx) DropFromReleases(w *sheaf.Workspace, id sheaf.DocumentID, most int) (unused []sheaf.Medium, more bool, err error) {
	releases, err := all(&tx.Reader, releasesOfDocument+" LIMIT $3", ScanRelease, w.ID, id, most+1)
	if err != nil {
		return nil, false, err
	}
	for _, r := range releases[:min(most, len(releases))] {
		gone, err := tx.dropFromRelease(w, r, id)
		if err != nil {
			return nil, false, fmt.Errorf("remove document %s from release %s: %w", id, r.ID, err)
		}
		unused = append(unused, gone...)
	}
	return unused, len(releases) > most, nil
}

func (tx *Tx) dropFromRelease(w *sheaf.Workspace, r sheaf.Release, id sheaf.DocumentID) (unused []sheaf.Medium, err error) {
	if err := tx.exec(liftChildren, w.ID, r.Number, id); err != nil {
		return nil, err
	}
	dropped, err := all(&tx.Reader, dropReleased, scanHashes, w.ID, r.Number, id)
	if err != nil {
		return nil, err
	}
	r.Documents -= int64(len(dropped))
	r.Revision++
	if err := tx.UpdateRelease(w.ID, r); err != nil {
		return nil, err
	}
	hashes := slices.Concat(dropped...)
	ids, err := tx.mediaOfHashes(w.ID, hashes)
	if err != nil {
		return nil, err
	}
	rows := make([][]any, len(ids))
	for i, medium := range ids {
		rows[i] = []any{w.ID, r.Number, medium}
	}
	if err := tx.run(lowerMentions, rows, nothing); err != nil {
		return nil, err
	}
	gone, err := all(&tx.Reader, dropUnnamed, scanReleaseMedium, w.ID, r.Number)
	if err != nil {
		return nil, err
	}
	if unused, err = tx.freeMedia(w, gone); err != nil {
		return nil, err
	}
	return unused, tx.dropReleaseTexts(w, hashes)
}

// scanHashes reads the hashes of a document's text and fields.
func scanHashes(r *row) [][]byte { return [][]byte{r.OptBlob(), r.OptBlob()} }

const mediaOfHash = `
SELECT media
FROM release_texts
WHERE ws = $1 AND hash = $2 AND media IS NOT NULL`

// mediaOfHashes returns the ids of media that the texts name.
func (r *Reader) mediaOfHashes(ws sheaf.WorkspaceID, hashes [][]byte) (ids []sheaf.MediumID, err error) {
	for _, hash := range hashes {
		if hash == nil {
			continue
		}
		err = r.query(mediaOfHash, func(w *row) { ids = append(ids, readMedia(w.Blob())...) }, ws, hash)
		if err != nil {
			return nil, err
		}
	}
	return once(ids), nil
}

var lowerMentions = engine.NewBulk(`
UPDATE release_media
SET mentions = mentions - 1
{rows}
WHERE release_media.ws = {workspace} AND release_media.release = {release} AND release_media.medium_id = {wanted}`, "",
	"workspace int", "release int", "wanted id")

const dropUnnamed = `
DELETE FROM release_media
WHERE ws = $1 AND release = $2 AND mentions <= 0
RETURNING medium_id, filename, content_type, bytes, hash, width, height, created_at`

const dropReleaseText = `
DELETE FROM release_texts
WHERE ws = $1 AND hash = $2 AND until IS NULL
  AND NOT EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = $1 AND d.content_hash = release_texts.hash)
  AND NOT EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = $1 AND d.fields_hash = release_texts.hash)
RETURNING bytes`

// dropReleaseTexts deletes those of the texts that no release has.
func (tx *Tx) dropReleaseTexts(w *sheaf.Workspace, hashes [][]byte) error {
	seen := map[string]bool{}
	for _, hash := range hashes {
		if hash == nil || seen[string(hash)] {
			continue
		}
		seen[string(hash)] = true
		if err := tx.query(dropReleaseText, func(r *row) { w.Storage -= r.Int() }, w.ID, hash); err != nil {
			return fmt.Errorf("delete a text of releases: %w", err)
		}
	}
	return nil
}

// HideRelease marks a release as deleted. EmptyRelease removes its rows.
func (tx *Tx) HideRelease(ws sheaf.WorkspaceID, id sheaf.ReleaseID) error {
	return tx.mustChange("release", `UPDATE releases SET removing = 1, notes = NULL WHERE ws = $1 AND id = $2 AND removing = 0`, ws, id)
}

const firstRemoving = `
SELECT number
FROM releases
WHERE ws = $1 AND removing = 1
ORDER BY number
LIMIT 1`

const (
	someReleased = `
SELECT document_id, content_hash, fields_hash, content_bytes
FROM release_documents
WHERE ws = $1 AND release = $2
LIMIT $3`

	someReleaseMedia = `
DELETE FROM release_media
WHERE ws = $1 AND release = $2 AND medium_id IN (SELECT medium_id FROM release_media WHERE ws = $1 AND release = $2 LIMIT $3)
RETURNING medium_id, filename, content_type, bytes, hash, width, height, created_at`
)

// emptiedMost is the largest number of documents or media of a deleted release that one transaction
// removes.
const emptiedMost = 500

// EmptyRelease removes a part of a deleted release, or of one whose import was given up before `now`:
// documents with their texts, then media, then the release itself. The transaction has locked the
// workspace, and saves it. more is false if no such release is left. `unused` is media whose bytes no
// row has any more.
func (tx *Tx) EmptyRelease(w *sheaf.Workspace, now time.Time) (unused []sheaf.Medium, more bool, err error) {
	if err := tx.exec(giveUpImporting, w.ID, now); err != nil {
		return nil, false, err
	}
	number, found, err := one(&tx.Reader, firstRemoving, (*row).Int, w.ID)
	if err != nil || !found {
		return nil, false, err
	}
	type released struct {
		id     sheaf.DocumentID
		hashes [][]byte
		bytes  int64
	}
	documents, err := all(&tx.Reader, someReleased, func(r *row) released {
		return released{readID[sheaf.DocumentID](r), scanHashes(r), r.Int()}
	}, w.ID, number, emptiedMost)
	if err != nil {
		return nil, false, err
	}
	var hashes [][]byte
	var bytes int64
	for _, d := range documents {
		if bytes >= purgedBytes {
			break
		}
		if err := tx.exec(dropReleased, w.ID, number, d.id); err != nil {
			return nil, false, err
		}
		hashes = append(hashes, d.hashes...)
		bytes += d.bytes
	}
	if len(documents) > 0 {
		return nil, true, tx.dropReleaseTexts(w, hashes)
	}
	gone, err := all(&tx.Reader, someReleaseMedia, scanReleaseMedium, w.ID, number, emptiedMost)
	if err != nil {
		return nil, false, err
	}
	if len(gone) > 0 {
		unused, err = tx.freeMedia(w, gone)
		return unused, true, err
	}
	return nil, true, tx.exec(`DELETE FROM releases WHERE ws = $1 AND number = $2`, w.ID, number)
}

const (
	mediumKept = `
SELECT COUNT(*)
FROM (SELECT 1 FROM release_media WHERE ws = $1 AND medium_id = $2 LIMIT 1) AS q`
	bytesKept = `
SELECT COUNT(*)
FROM (SELECT 1 FROM release_media WHERE ws = $1 AND hash = $2 LIMIT 1) AS q`
	mediumStored = `
SELECT COUNT(*)
FROM media
WHERE ws = $1 AND id = $2 AND state <> 2`
)

// freeMedia subtracts the bytes of media from the workspace's storage after the media were removed
// from a release. It leaves out media that another release has, or that exist outside of releases. It
// returns those whose bytes no row has any more.
func (tx *Tx) freeMedia(w *sheaf.Workspace, gone []sheaf.Medium) (unused []sheaf.Medium, err error) {
	for _, m := range gone {
		kept, err := tx.count(mediumKept, w.ID, m.ID)
		if err != nil || kept > 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		stored, err := tx.count(mediumStored, w.ID, m.ID)
		if err != nil {
			return nil, err
		}
		if stored == 0 {
			w.Storage -= m.Bytes
		}
		has, err := tx.HasBytes(w.ID, m.SHA256)
		if err != nil {
			return nil, err
		}
		if !has {
			unused = append(unused, m)
		}
	}
	return unused, nil
}

const pendingTexts = `
SELECT w.id
FROM release_texts t
JOIN workspaces w ON w.ws = t.ws
WHERE t.until <= $1 AND w.deleted_at = 0
LIMIT $2`

const removingReleases = `
SELECT w.id
FROM releases r
JOIN workspaces w ON w.ws = r.ws
WHERE r.removing = 1 AND w.deleted_at = 0
LIMIT $1`

// UnfinishedReleases returns the workspaces that have rows to remove: rows of deleted releases,
// releases whose import was given up before `now`, or texts that were copied for a release that was
// not made by then.
func (r *Reader) UnfinishedReleases(now time.Time, most int) ([]sheaf.WorkspaceID, error) {
	ids, err := all(r, removingReleases, readID[sheaf.WorkspaceID], most)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{pendingTexts, abandonedImports} {
		more, err := all(r, sql, readID[sheaf.WorkspaceID], now, most)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return once(ids), nil
}

const dropPending = `
DELETE FROM release_texts
WHERE ws = $1 AND hash IN (SELECT hash FROM release_texts WHERE ws = $1 AND until <= $2 LIMIT $3)
RETURNING bytes`

// DropPendingTexts deletes up to `most` texts for releases that were not made by `before`, and returns
// how many. The transaction has locked the workspace, and saves it.
func (tx *Tx) DropPendingTexts(w *sheaf.Workspace, before time.Time, most int64) (n int64, err error) {
	err = tx.query(dropPending, func(r *row) {
		w.Storage -= r.Int()
		n++
	}, w.ID, before, most)
	return n, err
}

const sharesWithRelease = `
SELECT id
FROM shares
WHERE ws = $1 AND release_id = $2
ORDER BY number
LIMIT 1`

// ShareOfRelease returns the id of a share that shows the release; found is false if there is none.
func (r *Reader) ShareOfRelease(ws sheaf.WorkspaceID, id sheaf.ReleaseID) (share sheaf.ShareID, found bool, err error) {
	return one(r, sharesWithRelease, readID[sheaf.ShareID], ws, id)
}

const sharesReleases = `
SELECT COUNT(*)
FROM (SELECT 1 FROM shares WHERE ws = $1 AND resource_id = $2 AND (newest_release = 1 OR show_releases = 1) AND (expires_at IS NULL OR expires_at > $3) LIMIT 1) AS q`

// SharesReleases reports whether a share that has not expired at `now` shows each new release of the
// project.
func (r *Reader) SharesReleases(ws sheaf.WorkspaceID, project sheaf.ProjectID, now time.Time) (bool, error) {
	n, err := r.count(sharesReleases, ws, project, now)
	return n > 0, err
}
