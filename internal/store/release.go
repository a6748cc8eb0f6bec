package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A release has rows of its own for its documents and media, and shares its texts with the other
// releases of the workspace:
//
//	releases ─── release_documents ─── release_texts (by hash)
//	        └─── release_media
//
// Copying texts takes long, so they are copied before the transaction that makes the release. Until
// that commits, column `until` of such a text is set, and the sweep deletes the text after that time.
// The transaction itself checks that all texts are there.
//
// A deleted release is invisible at once. Its documents, media and texts are then removed in chunks.
// One that is being imported is invisible too (import_release.go).

// ReleaseColumns are what ScanRelease reads, in its order.
const ReleaseColumns = `id, project_id, name, notes, documents, user_id, key_id, number, revision, created_at`

// ScanRelease reads a row of ReleaseColumns.
func ScanRelease(r *row) sheaf.Release {
	return sheaf.Release{ID: readID[sheaf.ReleaseID](r), ProjectID: readID[sheaf.ProjectID](r), Name: r.Text(), Notes: r.OptText(), Documents: r.Int(),
		User: readID[sheaf.UserID](r), Key: optID[sheaf.KeyID](r), Number: r.Int(), Revision: r.Int(), CreatedAt: r.Time()}
}

const selectRelease = `
SELECT ` + ReleaseColumns + `
FROM releases
WHERE ws = $1 AND id = $2 AND removing = 0`

// Release returns the workspace's release, or NotFound.
func (r *Reader) Release(ws sheaf.WorkspaceID, id sheaf.ReleaseID) (sheaf.Release, error) {
	out, err := mustFind(r, "release", selectRelease, ScanRelease, ws, id)
	if err == nil {
		err = must("release")(r.seesIn(ws, &out.ProjectID))
	}
	if err != nil {
		return sheaf.Release{}, err
	}
	return out, nil
}

// Releases returns a page of the project's releases, oldest first. The caller has read the project.
func (r *Reader) Releases(ws sheaf.WorkspaceID, project sheaf.ProjectID, f sheaf.ReleaseFilter) (sheaf.Page[sheaf.Release], error) {
	if sees, err := r.seesIn(ws, &project); err != nil || !sees {
		return sheaf.Page[sheaf.Release]{Paging: f.Paging}, err
	}
	l := listing{columns: ReleaseColumns, table: "releases", order: []string{"number"}, total: -1}
	l.where.And("ws = ?", ws)
	l.where.And("project_id = ?", project)
	l.where.And("removing = 0")
	if f.Name != "" {
		l.where.And("name = ?", f.Name)
	}
	return list(r, l, f.Paging, ScanRelease)
}

const newestRelease = `
SELECT ` + ReleaseColumns + `
FROM releases
WHERE ws = $1 AND project_id = $2 AND removing = 0
ORDER BY number DESC
LIMIT 1`

// NewestRelease returns the newest release of a project, or NotFound if it has none.
func (r *Reader) NewestRelease(ws sheaf.WorkspaceID, project sheaf.ProjectID) (sheaf.Release, error) {
	out, err := mustFind(r, "release", newestRelease, ScanRelease, ws, project)
	if err == nil {
		err = must("release")(r.seesIn(ws, &project))
	}
	return out, err
}

const insertRelease = `
INSERT INTO releases (ws, ` + ReleaseColumns + `)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

// InsertRelease adds a release without documents.
func (tx *Tx) InsertRelease(ws sheaf.WorkspaceID, r sheaf.Release) error {
	err := tx.exec(insertRelease, ws, r.ID, r.ProjectID, r.Name, r.Notes, r.Documents, r.User, r.Key, r.Number, r.Revision, r.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert release %s: %w", r.ID, err)
	}
	return nil
}

const updateRelease = `
UPDATE releases
SET notes = $3, documents = $4, revision = $5
WHERE ws = $1 AND id = $2`

// UpdateRelease writes the fields of a release that can change.
func (tx *Tx) UpdateRelease(ws sheaf.WorkspaceID, r sheaf.Release) error {
	return tx.mustChange("release", updateRelease, ws, r.ID, r.Notes, r.Documents, r.Revision)
}

const missingTexts = `
SELECT id, content_hash, content_bytes
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL AND content_hash IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM release_texts t WHERE t.ws = documents.ws AND t.hash = documents.content_hash)
LIMIT $3`

// TextSource is a document, and the hash and the length of its text.
type TextSource struct {
	Document sheaf.DocumentID
	SHA256   string
	Bytes    int64
}

// MissingReleaseTexts returns up to `most` documents of a project with a text that no release has.
func (r *Reader) MissingReleaseTexts(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int64) ([]TextSource, error) {
	return all(r, missingTexts, func(w *row) TextSource {
		return TextSource{readID[sheaf.DocumentID](w), readHash(w), w.Int()}
	}, ws, project, most)
}

const selectText = `
SELECT ` + TextColumns + `
FROM texts
WHERE ws = $1 AND document_id = $2 AND hash = $3`

// SourceText returns the text of a source; found is false if no version of the document has it any more.
func (r *Reader) SourceText(ws sheaf.WorkspaceID, s TextSource) (text string, found bool, err error) {
	var unpacked error
	text, found, err = one(r, selectText, func(w *row) (text string) {
		text, unpacked = ScanText(w)
		return text
	}, ws, s.Document, textHash(s.SHA256))
	if err == nil {
		err = unpacked
	}
	return text, found, err
}

const copyReleaseText = `
INSERT INTO release_texts (ws, hash, form, bytes, body, media, until)
SELECT ws, hash, form, bytes, body, $4, $5
FROM texts
WHERE ws = $1 AND document_id = $2 AND hash = $3
ON CONFLICT (hash, ws) DO NOTHING
RETURNING bytes`

// CopyReleaseText copies the text of a source for releases. `media` are the ids that the text names.
// Without a release, the text is kept until `until`. It returns by how many bytes the workspace's
// storage grows: 0 if the text is there already, or if no version of the document has it any more.
func (tx *Tx) CopyReleaseText(ws sheaf.WorkspaceID, s TextSource, media []sheaf.MediumID, until time.Time) (grown int64, err error) {
	err = tx.query(copyReleaseText, func(r *row) { grown += r.Int() }, ws, s.Document, textHash(s.SHA256), storedMedia(media), until)
	if err != nil {
		return 0, fmt.Errorf("copy a text of document %s for releases: %w", s.Document, err)
	}
	return grown, nil
}

// storedMedia returns the ids, one after the other; nil for none.
func storedMedia(ids []sheaf.MediumID) any {
	var out []byte
	for _, id := range ids {
		if u, ok := sheaf.UUIDBytes(string(id)); ok {
			out = append(out, u[:]...)
		}
	}
	if out == nil {
		return nil
	}
	return out
}

var mediaByID = engine.NewBulk(`
SELECT `+MediumColumns+`
FROM media
WHERE ws = {workspace} AND id = {wanted} AND state = 1`, "", "workspace int", "wanted id")

// MediaByID returns the media with these ids that exist.
func (r *Reader) MediaByID(ws sheaf.WorkspaceID, ids []sheaf.MediumID) (found []sheaf.Medium, err error) {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{ws, id}
	}
	err = r.run(mediaByID, rows, func(_ int, w *row) { found = append(found, ScanMedium(w)) })
	return found, err
}

const (
	releaseDocumentColumns = `document_id, parent_id, sort_order, number, title, description, external_id, url, metadata, version, content_bytes, content_hash, created_at, updated_at`

	freezeDocuments = `
INSERT INTO release_documents (ws, release, ` + releaseDocumentColumns + `)
SELECT ws, $3, id, parent_id, ` + documentPosition + `, number, title, description, external_id, url, metadata, version, content_bytes, content_hash, created_at, updated_at
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL`

	keepTexts = `
UPDATE release_texts
SET until = NULL
WHERE ws = $1 AND until IS NOT NULL AND hash IN (SELECT content_hash FROM release_documents WHERE ws = $1 AND release = $2)`

	mediaOfTexts = `
SELECT media
FROM release_texts
WHERE ws = $1 AND media IS NOT NULL AND hash IN (SELECT content_hash FROM release_documents WHERE ws = $1 AND release = $2)`

	mentionsOfMedia = `
SELECT CAST(COALESCE(SUM(octet_length(media)), 0) / 16 AS BIGINT)
FROM release_texts
WHERE ws = $1 AND media IS NOT NULL AND hash IN (SELECT content_hash FROM release_documents WHERE ws = $1 AND release = $2)`
)

var insertReleaseMedia = engine.NewBulkInsert("release_media", "ws int", "release int", "medium_id id", "filename", "content_type", "bytes int",
	"hash bytes", "width int", "height int", "created_at int")

// Freeze fills a new release with the documents of its project as they are, and with the media that
// their texts name. All texts must be there (MissingReleaseTexts). It returns the number of documents.
// If the texts name media more than mostMedia times, it returns Invalid.
func (tx *Tx) Freeze(ws sheaf.WorkspaceID, r sheaf.Release, mostMedia int64) (documents int64, err error) {
	if documents, err = tx.changed(freezeDocuments, ws, r.ProjectID, r.Number); err != nil {
		return 0, fmt.Errorf("insert the documents of release %s: %w", r.ID, err)
	}
	if err := tx.exec(keepTexts, ws, r.Number); err != nil {
		return 0, fmt.Errorf("keep the texts of release %s: %w", r.ID, err)
	}
	if n, err := tx.count(mentionsOfMedia, ws, r.Number); err != nil || n > mostMedia {
		if err == nil {
			err = sheaf.Invalidf("the texts of this project name media %d times, and a release may have %d: divide the project into several", n, mostMedia)
		}
		return 0, err
	}
	var ids []sheaf.MediumID
	err = tx.query(mediaOfTexts, func(w *row) {
		for stored := w.Blob(); len(stored) >= 16; stored = stored[16:] {
			ids = append(ids, sheaf.MediumID(sheaf.FormatUUID([16]byte(stored))))
		}
	}, ws, r.Number)
	if err != nil || len(ids) == 0 {
		return documents, err
	}
	found, err := tx.MediaByID(ws, once(ids))
	if err != nil {
		return 0, err
	}
	return documents, tx.InsertReleaseMedia(ws, r.Number, found)
}

// InsertReleaseMedia adds media to a release.
func (tx *Tx) InsertReleaseMedia(ws sheaf.WorkspaceID, release int64, media []sheaf.Medium) error {
	rows := make([][]any, len(media))
	for i, m := range media {
		rows[i] = []any{ws, release, m.ID, m.Filename, m.ContentType, m.Bytes, mediumHash(m.SHA256), m.Width, m.Height, m.CreatedAt}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.insertMany(insertReleaseMedia, rows); err != nil {
		return fmt.Errorf("insert the media of release %d: %w", release, err)
	}
	return nil
}

const selectReleased = `
SELECT document_id, title, parent_id, version, updated_at, number, sort_order
FROM release_documents
WHERE ws = $1 AND release = $2`

// ReleaseTree returns the documents of a release in reading order. The caller has read the release.
func (r *Reader) ReleaseTree(ws sheaf.WorkspaceID, release sheaf.Release) ([]sheaf.TreeEntry, error) {
	entries, err := all(r, selectReleased, scanTreeEntry, ws, release.Number)
	return sheaf.ReadingOrder(entries), err
}

const (
	comparedColumns = `, description, external_id, url, metadata, content_hash`

	comparedReleased = `
SELECT document_id, title, parent_id, version, updated_at, number, sort_order` + comparedColumns + `
FROM release_documents
WHERE ws = $1 AND release = $2`

	comparedPresent = `
SELECT ` + treeColumns + comparedColumns + `
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL`
)

// ComparedRelease returns the documents of a release in reading order, to compare them. The caller
// has read the release.
func (r *Reader) ComparedRelease(ws sheaf.WorkspaceID, release sheaf.Release) ([]sheaf.ReleasedDocument, error) {
	return r.compared(comparedReleased, ws, release.Number)
}

// ComparedProject is ComparedRelease for the documents of a project as they are now.
func (r *Reader) ComparedProject(ws sheaf.WorkspaceID, project sheaf.ProjectID) ([]sheaf.ReleasedDocument, error) {
	if sees, err := r.seesIn(ws, &project); err != nil || !sees {
		return nil, err
	}
	return r.compared(comparedPresent, ws, project)
}

// compared keeps only a digest of the fields that may be long.
func (r *Reader) compared(sql string, args ...any) ([]sheaf.ReleasedDocument, error) {
	digests := map[sheaf.DocumentID][32]byte{}
	entries, err := all(r, sql, func(w *row) sheaf.TreeEntry {
		e := scanTreeEntry(w)
		digests[e.ID] = digest(e.Title, w.OptText(), w.OptText(), w.OptText(), w.OptText(), w.OptBlob())
		return e
	}, args...)
	if err != nil {
		return nil, err
	}
	out := make([]sheaf.ReleasedDocument, len(entries))
	for i, e := range sheaf.ReadingOrder(entries) {
		out[i] = sheaf.ReleasedDocument{TreeEntry: e, Digest: digests[e.ID]}
	}
	return out, nil
}

// digest hashes the fields of a document.
func digest(title string, description, external, url, metadata *string, text []byte) [32]byte {
	var b []byte
	for _, field := range []*string{&title, description, external, url, metadata} {
		if field == nil {
			b = append(b, 0)
			continue
		}
		b = append(b, 1)
		b = binary.BigEndian.AppendUint64(b, uint64(len(*field)))
		b = append(b, *field...)
	}
	return sha256.Sum256(append(b, text...))
}

const selectReleasedText = `
SELECT ` + releaseDocumentColumns + `, ` + TextColumns + `
FROM release_documents d
LEFT JOIN (SELECT hash, form, bytes, body FROM release_texts WHERE ws = $1) t ON t.hash = d.content_hash
WHERE d.ws = $1 AND d.release = $2 AND d.document_id = $3`

// ReleasedText returns a document of a release with its text, or NotFound. The caller has read the
// release.
func (r *Reader) ReleasedText(ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.DocumentID) (sheaf.DocumentText, error) {
	var unpacked error
	d, err := mustFind(r, "document", selectReleasedText, func(w *row) (d sheaf.DocumentText) {
		d.Document = scanReleased(w)
		d.ProjectID = &release.ProjectID
		d.Content, unpacked = ScanText(w)
		return d
	}, ws, release.Number, id)
	if err == nil && unpacked == nil && int64(len(d.Content)) != d.ContentBytes {
		unpacked = fmt.Errorf("document %s of release %s lacks its text", id, release.ID)
	}
	if err == nil {
		err = unpacked
	}
	return d, err
}

// scanReleased reads a row of releaseDocumentColumns.
func scanReleased(r *row) sheaf.Document {
	return sheaf.Document{ID: readID[sheaf.DocumentID](r), ParentID: optID[sheaf.DocumentID](r), SortOrder: r.Int(), Number: r.Int(), Title: r.Text(),
		Description: r.OptText(), ExternalID: r.OptText(), URL: r.OptText(), Metadata: readMetadata(r), Version: r.Int(), ContentBytes: r.Int(),
		ContentSHA256: readHash(r), CreatedAt: r.Time(), UpdatedAt: r.Time(), Revision: 1}
}

const selectReleasedDocument = `
SELECT ` + releaseDocumentColumns + `
FROM release_documents
WHERE ws = $1 AND release = $2 AND document_id = $3`

// ReleasedDocument returns a document of a release, or NotFound. The caller has read the release.
func (r *Reader) ReleasedDocument(ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.DocumentID) (sheaf.Document, error) {
	d, err := mustFind(r, "document", selectReleasedDocument, scanReleased, ws, release.Number, id)
	d.ProjectID = &release.ProjectID
	return d, err
}

var findableReleased = engine.NewBulk(`
SELECT d.title, d.description, d.updated_at, t.form, t.bytes, t.body
FROM release_documents d
LEFT JOIN release_texts t ON t.ws = d.ws AND t.hash = d.content_hash AND {texts} = 1
WHERE d.ws = {workspace} AND d.release = {release} AND d.document_id = {wanted}`, "", "workspace int", "release int", "wanted id", "texts int")

// FindableReleased returns documents of a release as a search reads them, without their texts unless
// `texts` is set. The caller has read the release.
func (r *Reader) FindableReleased(ws sheaf.WorkspaceID, release sheaf.Release, entries []sheaf.TreeEntry, texts bool) ([]Findable, error) {
	rows, out := make([][]any, len(entries)), make([]Findable, len(entries))
	for i, e := range entries {
		rows[i] = []any{ws, release.Number, e.ID, texts}
	}
	var unpacked error
	err := r.run(findableReleased, rows, func(i int, w *row) {
		f := Findable{Type: sheaf.SearchDocument, ID: string(entries[i].ID), Title: w.Text(), Project: &release.ProjectID, Parent: entries[i].ParentID}
		if d := w.OptText(); d != nil {
			f.Description = *d
		}
		f.UpdatedAt = w.Time()
		var err error
		if f.Content, err = ScanText(w); err != nil {
			unpacked = err
		}
		out[i] = f
	})
	if err == nil {
		err = unpacked
	}
	return out, err
}

const selectReleaseMedium = `
SELECT medium_id, filename, content_type, bytes, hash, width, height, created_at
FROM release_media
WHERE ws = $1 AND release = $2 AND medium_id = $3`

func scanReleaseMedium(r *row) sheaf.Medium {
	return sheaf.Medium{ID: readID[sheaf.MediumID](r), Filename: r.Text(), ContentType: r.Text(), Bytes: r.Int(), SHA256: hex.EncodeToString(r.Blob()),
		Width: r.OptInt(), Height: r.OptInt(), CreatedAt: r.Time(), Revision: 1}
}

// ReleaseMedium returns a medium that a text of the release names, or NotFound. The caller has read the
// release.
func (r *Reader) ReleaseMedium(ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.MediumID) (sheaf.Medium, error) {
	return mustFind(r, "medium", selectReleaseMedium, scanReleaseMedium, ws, release.Number, id)
}

// ReleasesWith returns the numbers of the releases that have the document. The caller has read them.
func (r *Reader) ReleasesWith(ws sheaf.WorkspaceID, id sheaf.DocumentID) (map[int64]bool, error) {
	out := map[int64]bool{}
	err := r.query(`SELECT release FROM release_documents WHERE ws = $1 AND document_id = $2`, func(w *row) { out[w.Int()] = true }, ws, id)
	return out, err
}

const releasesOfDocument = `
SELECT r.id, r.project_id, r.name, r.notes, r.documents, r.user_id, r.key_id, r.number, r.revision, r.created_at
FROM release_documents d
JOIN releases r ON r.ws = d.ws AND r.number = d.release
WHERE d.ws = $1 AND d.document_id = $2 AND r.removing = 0
ORDER BY r.number`

// ReleasesOf returns the releases that have the document, oldest first: those of projects that the reader
// sees, and the number of the others.
func (r *Reader) ReleasesOf(ws sheaf.WorkspaceID, id sheaf.DocumentID) (seen []sheaf.Release, hidden int, err error) {
	found, err := all(r, releasesOfDocument, ScanRelease, ws, id)
	if err != nil {
		return nil, 0, err
	}
	for _, release := range found {
		sees, err := r.seesIn(ws, &release.ProjectID)
		if err != nil {
			return nil, 0, err
		}
		if sees {
			seen = append(seen, release)
		} else {
			hidden++
		}
	}
	return seen, hidden, nil
}

const (
	liftChildren = `
UPDATE release_documents
SET parent_id = (SELECT d.parent_id FROM release_documents d WHERE d.ws = $1 AND d.release = $2 AND d.document_id = $3)
WHERE ws = $1 AND release = $2 AND parent_id = $3`
	dropReleased = `
DELETE FROM release_documents
WHERE ws = $1 AND release = $2 AND document_id = $3
RETURNING content_hash`
)

// DropFromReleases removes a document from all releases. The documents below it go below its parent.
// It returns by how many bytes the workspace's storage shrinks, and the bytes of media that no row has
// any more.
func (tx *Tx) DropFromReleases(w *sheaf.Workspace, id sheaf.DocumentID) (unused []sheaf.Medium, err error) {
	releases, err := all(&tx.Reader, releasesOfDocument, ScanRelease, w.ID, id)
	if err != nil {
		return nil, err
	}
	for _, r := range releases {
		if err := tx.exec(liftChildren, w.ID, r.Number, id); err != nil {
			return nil, err
		}
		hashes, err := all(&tx.Reader, dropReleased, (*row).OptBlob, w.ID, r.Number, id)
		if err != nil {
			return nil, err
		}
		r.Documents -= int64(len(hashes))
		r.Revision++
		if err := tx.UpdateRelease(w.ID, r); err != nil {
			return nil, err
		}
		named, err := tx.mediaOfHashes(w.ID, hashes)
		if err != nil {
			return nil, err
		}
		gone, err := tx.dropUnnamedMedia(w, r.Number, named)
		if err != nil {
			return nil, err
		}
		unused = append(unused, gone...)
		if err := tx.dropReleaseTexts(w, hashes); err != nil {
			return nil, err
		}
	}
	return unused, nil
}

const mediaOfHash = `
SELECT media
FROM release_texts
WHERE ws = $1 AND hash = $2 AND media IS NOT NULL`

// mediaOfHashes returns the ids of media that the texts name.
func (r *Reader) mediaOfHashes(ws sheaf.WorkspaceID, hashes [][]byte) (ids []sheaf.MediumID, err error) {
	for _, hash := range hashes {
		err = r.query(mediaOfHash, func(w *row) {
			for stored := w.Blob(); len(stored) >= 16; stored = stored[16:] {
				ids = append(ids, sheaf.MediumID(sheaf.FormatUUID([16]byte(stored))))
			}
		}, ws, hash)
		if err != nil {
			return nil, err
		}
	}
	return once(ids), nil
}

// dropUnnamedMedia removes those of the media from a release that none of its texts names any more.
func (tx *Tx) dropUnnamedMedia(w *sheaf.Workspace, release int64, ids []sheaf.MediumID) (unused []sheaf.Medium, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	named := map[sheaf.MediumID]bool{}
	err = tx.query(mediaOfTexts, func(r *row) {
		for stored := r.Blob(); len(stored) >= 16; stored = stored[16:] {
			named[sheaf.MediumID(sheaf.FormatUUID([16]byte(stored)))] = true
		}
	}, w.ID, release)
	for _, id := range ids {
		if err != nil || named[id] {
			continue
		}
		var gone []sheaf.Medium
		if gone, err = all(&tx.Reader, dropReleaseMedium, scanReleaseMedium, w.ID, release, id); err == nil {
			gone, err = tx.freeMedia(w, gone)
			unused = append(unused, gone...)
		}
	}
	return unused, err
}

const dropReleaseMedium = `
DELETE FROM release_media
WHERE ws = $1 AND release = $2 AND medium_id = $3
RETURNING medium_id, filename, content_type, bytes, hash, width, height, created_at`

const dropReleaseText = `
DELETE FROM release_texts
WHERE ws = $1 AND hash = $2 AND until IS NULL
  AND NOT EXISTS (SELECT 1 FROM release_documents d WHERE d.ws = $1 AND d.content_hash = release_texts.hash)
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
SELECT document_id, content_hash, content_bytes
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
		id    sheaf.DocumentID
		hash  []byte
		bytes int64
	}
	documents, err := all(&tx.Reader, someReleased, func(r *row) released {
		return released{readID[sheaf.DocumentID](r), r.OptBlob(), r.Int()}
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
		hashes = append(hashes, d.hash)
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
