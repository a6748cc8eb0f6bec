package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// The rows of media are stored here, their bytes elsewhere, under workspace and hash, so that equal
// files of a workspace are stored once. No transaction covers both. So a row goes through states,
// and each is committed before the bytes are touched:
//
//	          InsertMedium            PublishMedium
//	(nothing) ────────────▶ pending ───────────────▶ live
//	                           │   bytes are written   │
//	                           │    between the two    │
//	                           ▼                       ▼
//	                        RemoveMedium: another row has the same bytes?
//	                           │ no                    │ yes
//	                           ▼                       ▼
//	                       deleting ──────────────▶ (nothing)
//	                         bytes are removed, then SettleMedium
//
// So a live row never lacks its bytes, whenever the program is killed. What may be left over are
// bytes without a row, or a row that is not live. A row that is not live belongs to one process
// until the time in `until`; after that, any process may take it over. While a row is deleting, no
// row with the same bytes can be added (RemovingBytes), because they might be removed after they
// were written.
//
// All of this happens under the lock of the workspace's row. Pending and live rows count in the
// workspace's storage, each with all of its bytes, even if another row has the same ones.

// The states of a row, as they are stored.
const (
	mediumPending  = 0
	mediumLive     = 1
	mediumDeleting = 2
)

// MediumColumns are what ScanMedium reads, in its order.
const MediumColumns = `id, filename, content_type, bytes, hash, width, height, document_id, number, revision, created_at`

// ScanMedium reads a row of MediumColumns.
func ScanMedium(r *row) sheaf.Medium {
	return sheaf.Medium{ID: readID[sheaf.MediumID](r), Filename: r.Text(), ContentType: r.Text(), Bytes: r.Int(), SHA256: hex.EncodeToString(r.Blob()),
		Width: r.OptInt(), Height: r.OptInt(), DocumentID: optID[sheaf.DocumentID](r), Number: r.Int(), Revision: r.Int(), CreatedAt: r.Time()}
}

const selectMedium = `
SELECT ` + MediumColumns + `
FROM media
WHERE ws = $1 AND id = $2 AND state = 1`

// Medium returns the workspace's medium, or NotFound.
func (r *Reader) Medium(ws sheaf.WorkspaceID, id sheaf.MediumID) (sheaf.Medium, error) {
	m, err := mustFind(r, "medium", selectMedium, ScanMedium, ws, id)
	if err == nil {
		err = must("medium")(r.seesDocument(ws, m.DocumentID))
	}
	return m, err
}

// Media returns a page of the workspace's media in the order of their creation.
func (r *Reader) Media(ws sheaf.WorkspaceID, f sheaf.MediumFilter) (sheaf.Page[sheaf.Medium], error) {
	l := listing{columns: MediumColumns, table: "media", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	l.where.And("state = 1")
	r.seeByDocument(&l.where, ws, "media.document_id")
	switch {
	case f.Document.Null:
		l.where.And("document_id IS NULL")
	case f.Document.Set:
		l.where.And("document_id = ?", f.Document.Value)
	}
	if f.ContentType != "" {
		l.where.And("content_type >= ?", f.ContentType)
		l.where.And("content_type < ?", f.ContentType+"\U0010FFFF")
	}
	switch { // use the index of the filter, not that of the order
	case f.Document.Set:
		l.table += r.dialect().By("media_of_document")
	case f.ContentType != "":
		l.table += r.dialect().By("media_of_type")
	}
	return list(r, l, f.Paging, ScanMedium)
}

const mediaAfter = `
SELECT ` + MediumColumns + `
FROM media
WHERE ws = $1 AND state = 1 AND number > $2
ORDER BY number
LIMIT $3`

// MediaAfter returns up to `most` media of the workspace with numbers above `number`, lowest first.
func (r *Reader) MediaAfter(ws sheaf.WorkspaceID, number int64, most int) ([]sheaf.Medium, error) {
	return all(r, mediaAfter, ScanMedium, ws, number, most)
}

const insertMedium = `
INSERT INTO media (ws, state, until, ` + MediumColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

// InsertMedium adds a medium whose bytes are about to be written. Before `until` no other process
// treats it as abandoned. It is invisible until PublishMedium, which also sets its Number and
// CreatedAt.
func (tx *Tx) InsertMedium(ws sheaf.WorkspaceID, m sheaf.Medium, until time.Time) error {
	return tx.insertMedium(ws, mediumPending, &until, m)
}

func (tx *Tx) insertMedium(ws sheaf.WorkspaceID, state int, until *time.Time, m sheaf.Medium) error {
	err := tx.exec(insertMedium, ws, state, until, m.ID, m.Filename, m.ContentType, m.Bytes, mediumHash(m.SHA256), m.Width, m.Height,
		m.DocumentID, m.Number, m.Revision, m.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert medium %s: %w", m.ID, err)
	}
	return nil
}

// mediumHash converts a record's hash to the stored form. An invalid hash becomes nil, which the
// column rejects.
func mediumHash(shown string) any {
	hash, err := hex.DecodeString(shown)
	if err != nil || len(hash) != 32 {
		return nil
	}
	return hash
}

const selectPending = `
SELECT ` + MediumColumns + `
FROM media
WHERE ws = $1 AND id = $2 AND state = 0`

// PendingMedium returns a medium whose bytes are being written; found is false if it was treated as
// abandoned.
func (r *Reader) PendingMedium(ws sheaf.WorkspaceID, id sheaf.MediumID) (m sheaf.Medium, found bool, err error) {
	return one(r, selectPending, ScanMedium, ws, id)
}

const publishMedium = `
UPDATE media
SET state = 1, until = NULL, document_id = $3, number = $4, created_at = $5, content_type = $6, width = $7, height = $8
WHERE ws = $1 AND id = $2 AND state = 0`

// PublishMedium makes a pending medium live. Its bytes must be stored.
func (tx *Tx) PublishMedium(ws sheaf.WorkspaceID, m sheaf.Medium) error {
	return tx.mustChange("medium", publishMedium, ws, m.ID, m.DocumentID, m.Number, m.CreatedAt, m.ContentType, m.Width, m.Height)
}

// ReplacePending deletes a pending medium and adds the live medium m, with another id, in its
// place. The bytes must be stored.
func (tx *Tx) ReplacePending(ws sheaf.WorkspaceID, pending sheaf.MediumID, m sheaf.Medium) error {
	if err := tx.mustChange("medium", dropMedium, ws, pending, mediumPending); err != nil {
		return err
	}
	return tx.insertMedium(ws, mediumLive, nil, m)
}

const updateMedium = `
UPDATE media
SET filename = $3, document_id = $4, revision = $5
WHERE ws = $1 AND id = $2 AND state = 1`

// UpdateMedium writes a medium's filename, document and revision.
func (tx *Tx) UpdateMedium(ws sheaf.WorkspaceID, m sheaf.Medium) error {
	return tx.mustChange("medium", updateMedium, ws, m.ID, m.Filename, m.DocumentID, m.Revision)
}

const unlinkMedia = `
UPDATE media
SET document_id = NULL, revision = revision + 1
WHERE ws = $1 AND document_id = $2`

const (
	othersOfBytes = `
SELECT COUNT(*)
FROM media
WHERE ws = $1 AND hash = $2 AND id <> $3`
	dropMedium = `
DELETE FROM media
WHERE ws = $1 AND id = $2 AND state = $3`
	beginRemoval = `
UPDATE media
SET state = 2, until = $3, document_id = NULL
WHERE ws = $1 AND id = $2`
)

// RemoveMedium removes a pending or live medium, and subtracts its bytes from the workspace's
// storage. If it returns true, the caller must remove the bytes before `until` and then call
// SettleMedium. If another row or a release has the same bytes, they stay, and it returns false. The
// bytes of a medium that a release has still count.
func (tx *Tx) RemoveMedium(w *sheaf.Workspace, m sheaf.Medium, until time.Time) (bytes bool, err error) {
	kept, err := tx.count(mediumKept, w.ID, m.ID)
	if err != nil {
		return false, err
	}
	if kept == 0 {
		w.Storage -= m.Bytes
	}
	n, err := tx.count(othersOfBytes, w.ID, mediumHash(m.SHA256), m.ID)
	if err == nil && n == 0 {
		n, err = tx.count(bytesKept, w.ID, mediumHash(m.SHA256))
	}
	switch {
	case err != nil:
		return false, err
	case n > 0:
		return false, tx.exec(`DELETE FROM media WHERE ws = $1 AND id = $2`, w.ID, m.ID)
	}
	return true, tx.exec(beginRemoval, w.ID, m.ID, until)
}

// SettleMedium deletes the row of a medium whose bytes were removed.
func (tx *Tx) SettleMedium(ws sheaf.WorkspaceID, id sheaf.MediumID) error {
	return tx.exec(dropMedium, ws, id, mediumDeleting)
}

// Removal is a row whose bytes are being removed, by a process that has until Until to do it.
type Removal struct {
	Workspace sheaf.WorkspaceID
	Medium    sheaf.Medium
	Until     time.Time
}

const removingBytes = `
SELECT ` + MediumColumns + `, until
FROM media
WHERE ws = $1 AND hash = $2 AND state = 2`

// RemovingBytes returns the removal of the bytes with that hash that is under way; found is false
// if there is none. Meanwhile these bytes must not be written.
func (r *Reader) RemovingBytes(ws sheaf.WorkspaceID, hash string) (rm Removal, found bool, err error) {
	return one(r, removingBytes, func(w *row) Removal {
		return Removal{Workspace: ws, Medium: ScanMedium(w), Until: w.Time()}
	}, ws, mediumHash(hash))
}

const unsettledMedia = `
SELECT w.id, m.state, m.id
FROM media m
JOIN workspaces w ON w.ws = m.ws
WHERE m.state <> 1 AND m.until <= $1 AND w.deleted_at = 0
  AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.ws = m.ws AND u.id = m.id)
ORDER BY m.until
LIMIT $2`

// Unsettled is a row that is not live and whose time is over.
type Unsettled struct {
	Workspace sheaf.WorkspaceID
	Pending   bool // its bytes were being written; otherwise they were being removed
	ID        sheaf.MediumID
}

// UnsettledMedia returns up to `most` rows that are not live and whose time is over: uploads whose
// process died, and removals that failed. The pending row of a resumable upload is left out while
// that upload exists.
func (r *Reader) UnsettledMedia(now time.Time, most int) ([]Unsettled, error) {
	return all(r, unsettledMedia, func(w *row) Unsettled {
		return Unsettled{Workspace: readID[sheaf.WorkspaceID](w), Pending: w.Int() == mediumPending, ID: readID[sheaf.MediumID](w)}
	}, now, most)
}

// AbandonMedia ends the time of every row that is not live, so that it can be taken over at once.
func (tx *Tx) AbandonMedia(now time.Time) error {
	return tx.exec(`UPDATE media SET until = $1 WHERE state <> 1 AND until > $1`, now)
}

const takeOverRemoval = `
UPDATE media
SET until = $4
WHERE ws = $1 AND id = $2 AND state = 2 AND until <= $3
RETURNING ` + MediumColumns

// TakeRemoval takes over, until `until`, a removal whose time is over; found is false if another
// process is still at it, or it is done.
func (tx *Tx) TakeRemoval(ws sheaf.WorkspaceID, id sheaf.MediumID, now, until time.Time) (m sheaf.Medium, found bool, err error) {
	return one(&tx.Reader, takeOverRemoval, ScanMedium, ws, id, now, until)
}

const releaseRemoval = `
UPDATE media
SET until = $4
WHERE ws = $1 AND id = $2 AND state = 2 AND until = $3`

// ReleaseRemoval gives up a removal, so that others may take it over at once. It does nothing if
// another process has already done so.
func (tx *Tx) ReleaseRemoval(r Removal, now time.Time) error {
	return tx.exec(releaseRemoval, r.Workspace, r.Medium.ID, r.Until, now)
}

const expiredPending = `
SELECT ` + MediumColumns + `
FROM media
WHERE ws = $1 AND id = $2 AND state = 0 AND until <= $3
  AND NOT EXISTS (SELECT 1 FROM uploads u WHERE u.ws = media.ws AND u.id = media.id)`

// AbandonedMedium returns a pending medium whose time is over; found is false if it is not one.
func (r *Reader) AbandonedMedium(ws sheaf.WorkspaceID, id sheaf.MediumID, now time.Time) (m sheaf.Medium, found bool, err error) {
	return one(r, expiredPending, ScanMedium, ws, id, now)
}

// HasBytes reports whether any row, in whatever state, or a release has the bytes with that hash.
func (r *Reader) HasBytes(ws sheaf.WorkspaceID, hash string) (bool, error) {
	n, err := r.count(`SELECT COUNT(*) FROM media WHERE ws = $1 AND hash = $2`, ws, mediumHash(hash))
	if err == nil && n == 0 {
		n, err = r.count(bytesKept, ws, mediumHash(hash))
	}
	return n > 0, err
}

// HasMedia reports whether there is a live medium in any workspace.
func (s *Store) HasMedia(ctx context.Context) (has bool, err error) {
	err = s.Read(ctx, func(r *Reader) error {
		n, err := r.count(`SELECT COUNT(*) FROM (SELECT 1 FROM media WHERE state = 1 LIMIT 1) AS found`)
		has = n > 0
		return err
	})
	return has, err
}

// InsertRemoval adds a row for bytes that have none, so that they can be removed like any others.
// The caller must remove them before `until` and then call SettleMedium.
func (tx *Tx) InsertRemoval(ws sheaf.WorkspaceID, m sheaf.Medium, until time.Time) error {
	return tx.insertMedium(ws, mediumDeleting, &until, m)
}
