package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A release is imported in several transactions. Until the last one it is invisible, with removing = 2, and
// each transaction says until when the import goes on. After that time, EmptyRelease removes it like a deleted
// release. All rows of it are counted when they are inserted, so both ends leave the counters right.

// ReleaseState is the state of a release, as it is stored.
type ReleaseState int64

// The states of a release. Only the first one is visible to others.
const (
	ReleaseVisible   ReleaseState = 0
	ReleaseRemoving  ReleaseState = 1
	ReleaseImporting ReleaseState = 2
)

const anyRelease = `
SELECT ` + ReleaseColumns + `, removing
FROM releases
WHERE ws = $1 AND id = $2`

// AnyRelease returns a release in whatever state; found is false if there is none with this id.
func (r *Reader) AnyRelease(ws sheaf.WorkspaceID, id sheaf.ReleaseID) (out sheaf.Release, state ReleaseState, found bool, err error) {
	out, found, err = one(r, anyRelease, func(w *row) sheaf.Release {
		release := ScanRelease(w)
		state = ReleaseState(w.Int())
		return release
	}, ws, id)
	return out, state, found, err
}

const insertImporting = `
INSERT INTO releases (ws, ` + ReleaseColumns + `, removing, until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 2, $12)`

// InsertImporting adds a release that is being imported until `until`. Its notes do not count yet.
func (tx *Tx) InsertImporting(ws sheaf.WorkspaceID, r sheaf.Release, until time.Time) error {
	err := tx.exec(insertImporting, ws, r.ID, r.ProjectID, r.Name, r.Notes, r.Documents, r.User, r.Key, r.Number, r.Revision, r.CreatedAt, until)
	if err != nil {
		return fmt.Errorf("insert release %s, which is imported: %w", r.ID, err)
	}
	return nil
}

// RenewImporting extends the import of a release.
func (tx *Tx) RenewImporting(ws sheaf.WorkspaceID, id sheaf.ReleaseID, until time.Time) error {
	return tx.mustChange("release", `UPDATE releases SET until = $3 WHERE ws = $1 AND id = $2 AND removing = 2`, ws, id, until)
}

// PublishImporting makes a release visible whose import is complete. The caller counts its notes.
func (tx *Tx) PublishImporting(ws sheaf.WorkspaceID, id sheaf.ReleaseID) error {
	return tx.mustChange("release", `UPDATE releases SET removing = 0, until = NULL WHERE ws = $1 AND id = $2 AND removing = 2`, ws, id)
}

const giveUpImporting = `
UPDATE releases
SET removing = 1, until = NULL, notes = NULL
WHERE ws = $1 AND removing = 2 AND until <= $2`

const abandonedImports = `
SELECT w.id
FROM releases r
JOIN workspaces w ON w.ws = r.ws
WHERE r.until <= $1 AND w.deleted_at = 0
LIMIT $2`

const insertReleaseText = `
INSERT INTO release_texts (ws, hash, form, bytes, body, media, until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (hash, ws) DO NOTHING
RETURNING bytes`

// InsertReleaseText adds a text for releases. `media` are the ids that it names. Without a release, the text is
// kept until `until`. It returns by how many bytes the workspace's storage grows: 0 if the text is there already.
func (tx *Tx) InsertReleaseText(ws sheaf.WorkspaceID, t Text, media []sheaf.MediumID, until time.Time) (grown int64, err error) {
	if t.bytes == 0 {
		return 0, nil
	}
	err = tx.query(insertReleaseText, func(r *row) { grown += r.Int() }, ws, t.hash[:], t.form, t.bytes, t.body, storedMedia(media), until)
	if err != nil {
		return 0, fmt.Errorf("insert a text of releases: %w", err)
	}
	return grown, nil
}

var knownReleaseTexts = engine.NewBulk(`
SELECT bytes
FROM release_texts
WHERE ws = {workspace} AND hash = {wanted}`, "", "workspace int", "wanted bytes")

// KnownReleaseTexts returns the lengths of those of the texts, by hash, that are stored for releases.
func (r *Reader) KnownReleaseTexts(ws sheaf.WorkspaceID, hashes []string) (map[string]int64, error) {
	rows, found := make([][]any, len(hashes)), map[string]int64{}
	for i, hash := range hashes {
		rows[i] = []any{ws, textHash(hash)}
	}
	err := r.run(knownReleaseTexts, rows, func(i int, w *row) { found[hashes[i]] = w.Int() })
	return found, err
}

// NewReleased is a document of a release to insert.
type NewReleased struct {
	Release int64 // number of the release
	sheaf.Document
}

var (
	insertReleased = engine.NewBulk(`
INSERT INTO release_documents (ws, release, `+releaseDocumentColumns+`, fields_hash)
SELECT {ws}, {release}, {document}, {parent}, {position}, {number}, {title}, {version}, {bytes}, {hash}, {created}, {updated}, {fields}
{rows}
WHERE 1 = 1
ON CONFLICT (ws, release, document_id) DO NOTHING`, "", "ws int", "release int", "document id", "parent id", "position int", "number int", "title",
		"version int", "bytes int", "hash bytes", "created int", "updated int", "fields bytes")

	keepText = engine.NewBulk(`
UPDATE release_texts
SET until = NULL
{rows}
WHERE release_texts.ws = {workspace} AND release_texts.hash = {wanted} AND release_texts.until IS NOT NULL
  AND (EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = release_texts.ws AND d.content_hash = release_texts.hash)
    OR EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = release_texts.ws AND d.fields_hash = release_texts.hash))`, "", "workspace int", "wanted bytes")
)

// InsertReleased adds documents to releases that are being imported, and their fields. Those that their release
// has already are left out. Their texts must be stored. It returns by how many bytes the workspace's storage
// grows. Fields that no document has after all are kept until `until`.
func (tx *Tx) InsertReleased(ws sheaf.WorkspaceID, documents []NewReleased, until time.Time) (grown int64, err error) {
	rows := make([][]any, len(documents))
	var kept [][]any
	for i, d := range documents {
		hash, fields := textHash(d.ContentSHA256), fieldsHash(&d.Document)
		rows[i] = []any{ws, d.Release, d.ID, d.ParentID, d.SortOrder, d.Number, d.Title, d.Version, d.ContentBytes, hash, d.CreatedAt, d.UpdatedAt, fields}
		if hash != nil {
			kept = append(kept, []any{ws, hash})
		}
		if fields != nil {
			kept = append(kept, []any{ws, fields})
			more, err := tx.InsertReleaseText(ws, NewText(fieldsOf(&d.Document)), nil, until)
			if err != nil {
				return 0, err
			}
			grown += more
		}
	}
	if err := tx.run(insertReleased, rows, nothing); err != nil {
		return 0, fmt.Errorf("insert %d documents of releases: %w", len(documents), err)
	}
	return grown, tx.run(keepText, kept, nothing)
}

// CountReleased returns how many documents of a release are stored.
func (r *Reader) CountReleased(ws sheaf.WorkspaceID, release int64) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM release_documents WHERE ws = $1 AND release = $2`, ws, release)
}

const otherBytes = `
SELECT COUNT(*)
FROM (SELECT hash FROM media WHERE ws = $1 AND id = $2 AND state <> 2
  UNION ALL SELECT hash FROM release_media WHERE ws = $1 AND medium_id = $2) m
WHERE hash <> $3`

// HasOtherBytes reports whether the workspace, or a release of it, has a medium with this id and other bytes.
func (r *Reader) HasOtherBytes(ws sheaf.WorkspaceID, id sheaf.MediumID, hash string) (bool, error) {
	n, err := r.count(otherBytes, ws, id, mediumHash(hash))
	return n > 0, err
}

// KeptByRelease reports whether a release has the medium.
func (r *Reader) KeptByRelease(ws sheaf.WorkspaceID, id sheaf.MediumID) (bool, error) {
	n, err := r.count(mediumKept, ws, id)
	return n > 0, err
}

const likeBytes = `
SELECT content_type, width, height
FROM (SELECT content_type, width, height FROM media WHERE ws = $1 AND hash = $2 AND state = 1
  UNION ALL SELECT content_type, width, height FROM release_media WHERE ws = $1 AND hash = $2) m
LIMIT 1`

// DescribeStored sets the type and the size of m to those of a stored medium with the same bytes; found is false
// if there is none.
func (r *Reader) DescribeStored(ws sheaf.WorkspaceID, m *sheaf.Medium) (found bool, err error) {
	like, found, err := one(r, likeBytes, func(w *row) sheaf.Medium {
		return sheaf.Medium{ContentType: w.Text(), Width: w.OptInt(), Height: w.OptInt()}
	}, ws, mediumHash(m.SHA256))
	if found {
		m.ContentType, m.Width, m.Height = like.ContentType, like.Width, like.Height
	}
	return found, err
}

const inRelease = `
SELECT COUNT(*)
FROM release_media
WHERE ws = $1 AND release = $2 AND medium_id = $3`

// KeepMedium adds a medium to a release that is being imported, unless the release has it. The medium counts in
// the workspace's storage, unless it exists or another release has it. Its bytes must be stored.
func (tx *Tx) KeepMedium(w *sheaf.Workspace, release int64, m sheaf.Medium) error {
	has, err := tx.count(inRelease, w.ID, release, m.ID)
	if err != nil || has > 0 {
		return err
	}
	kept, err := tx.count(mediumKept, w.ID, m.ID)
	if err != nil {
		return err
	}
	stored, err := tx.count(mediumStored, w.ID, m.ID)
	if err != nil {
		return err
	}
	if kept+stored == 0 {
		w.Storage += m.Bytes
	}
	return tx.InsertReleaseMedia(w.ID, release, []sheaf.Medium{m}, nil) // CountMentions follows
}

// KeepPending is KeepMedium for a medium whose bytes were stored for a pending row, which it deletes.
func (tx *Tx) KeepPending(w *sheaf.Workspace, release int64, pending sheaf.MediumID, m sheaf.Medium) error {
	if err := tx.mustChange("medium", dropMedium, w.ID, pending, mediumPending); err != nil {
		return err
	}
	w.Storage -= m.Bytes
	return tx.KeepMedium(w, release, m)
}
