package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

const uploadColumns = `id, owner, filename, document_id, length, received, state, reserved, expires_at`

func scanUpload(r *row) sheaf.Upload {
	return sheaf.Upload{ID: readID[sheaf.MediumID](r), Owner: readID[sheaf.KeyID](r), Filename: r.Text(), DocumentID: optID[sheaf.DocumentID](r),
		Length: r.Int(), Offset: r.Int(), State: r.Blob(), Reserved: r.Int(), Expires: r.Time()}
}

const selectUpload = `
SELECT ` + uploadColumns + `
FROM uploads
WHERE ws = $1 AND id = $2`

// Upload returns the workspace's upload; found is false if there is none.
func (r *Reader) Upload(ws sheaf.WorkspaceID, id sheaf.MediumID) (u sheaf.Upload, found bool, err error) {
	return one(r, selectUpload, scanUpload, ws, id)
}

const countUploads = `
SELECT COUNT(*)
FROM uploads
WHERE ws = $1 AND owner = $2`

// CountUploads counts the unfinished uploads of `owner`.
func (r *Reader) CountUploads(ws sheaf.WorkspaceID, owner sheaf.KeyID) (int64, error) {
	return r.count(countUploads, ws, owner)
}

const reservedByUploads = `
SELECT CAST(COALESCE(SUM(reserved), 0) AS BIGINT)
FROM uploads
WHERE ws = $1`

// ReservedByUploads returns the total that the workspace's unfinished uploads reserve. It reads all
// of them; their number is limited per key.
func (r *Reader) ReservedByUploads(ws sheaf.WorkspaceID) (int64, error) {
	return r.count(reservedByUploads, ws)
}

const insertUpload = `
INSERT INTO uploads (ws, ` + uploadColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// InsertUpload adds an upload and adds the bytes that it reserves to the workspace's storage.
func (tx *Tx) InsertUpload(w *sheaf.Workspace, u sheaf.Upload) error {
	w.Storage += u.Reserved
	err := tx.exec(insertUpload, w.ID, u.ID, u.Owner, u.Filename, u.DocumentID, u.Length, u.Offset, u.State, u.Reserved, u.Expires)
	if err != nil {
		return fmt.Errorf("insert upload %s: %w", u.ID, err)
	}
	return nil
}

const advanceUpload = `
UPDATE uploads
SET received = $4, state = $5, expires_at = $6
WHERE ws = $1 AND id = $2 AND received = $3`

// AdvanceUpload stores the progress of an upload that was at offset `from`. It reports whether the
// upload was still there: if two requests continue from the same offset, only one succeeds.
func (tx *Tx) AdvanceUpload(ws sheaf.WorkspaceID, from int64, u sheaf.Upload) (bool, error) {
	n, err := tx.changed(advanceUpload, ws, u.ID, from, u.Offset, u.State, u.Expires)
	return n > 0, err
}

const reserveUpload = `
UPDATE uploads
SET reserved = $3
WHERE ws = $1 AND id = $2`

// ReserveUpload changes the bytes that an upload reserves in the workspace's storage.
func (tx *Tx) ReserveUpload(w *sheaf.Workspace, u sheaf.Upload, reserved int64) error {
	w.Storage += reserved - u.Reserved
	return tx.exec(reserveUpload, w.ID, u.ID, reserved)
}

// DeleteUpload deletes an upload and releases the bytes that it reserves. The caller removes its
// content.
func (tx *Tx) DeleteUpload(w *sheaf.Workspace, u sheaf.Upload) error {
	w.Storage -= u.Reserved
	return tx.exec(`DELETE FROM uploads WHERE ws = $1 AND id = $2`, w.ID, u.ID)
}

const expiredUploads = `
SELECT w.id, u.id
FROM uploads u
JOIN workspaces w ON w.ws = u.ws
WHERE u.expires_at <= $1 AND w.deleted_at = 0
ORDER BY u.expires_at
LIMIT $2`

// OldUpload is an expired upload.
type OldUpload struct {
	Workspace sheaf.WorkspaceID
	ID        sheaf.MediumID
}

// ExpiredUploads returns up to `most` expired uploads, oldest first.
func (r *Reader) ExpiredUploads(now time.Time, most int) ([]OldUpload, error) {
	return all(r, expiredUploads, func(w *row) OldUpload {
		return OldUpload{readID[sheaf.WorkspaceID](w), readID[sheaf.MediumID](w)}
	}, now, most)
}
