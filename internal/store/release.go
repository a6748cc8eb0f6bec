package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A release has rows of its own for its documents and media, and shares its texts with the other
// releases of the workspace:
//
//	releases ─── release_documents ─── release_texts (by hash: the text, and the fields)
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
	releaseDocumentColumns = `document_id, parent_id, sort_order, number, title, version, content_bytes, content_hash, created_at, updated_at`

	freezeDocuments = `
INSERT INTO release_documents (ws, release, ` + releaseDocumentColumns + `, fields_hash)
SELECT ws, $3, id, parent_id, ` + documentPosition + `, number, title, version, content_bytes, content_hash, created_at, updated_at, fields_hash
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL`

	keepTexts = `
UPDATE release_texts
SET until = NULL
WHERE ws = $1 AND until IS NOT NULL AND (hash IN (SELECT content_hash FROM release_documents WHERE ws = $1 AND release = $2)
  OR hash IN (SELECT fields_hash FROM release_documents WHERE ws = $1 AND release = $2))`

	mediaOfDocuments = `
SELECT t.media
FROM release_documents d
JOIN release_texts t ON t.ws = d.ws AND t.hash = d.content_hash
WHERE d.ws = $1 AND d.release = $2 AND t.media IS NOT NULL`

	mentionsOfMedia = `
SELECT CAST(COALESCE(SUM(octet_length(t.media)), 0) / 16 AS BIGINT)
FROM release_documents d
JOIN release_texts t ON t.ws = d.ws AND t.hash = d.content_hash
WHERE d.ws = $1 AND d.release = $2 AND t.media IS NOT NULL`
)

var insertReleaseMedia = engine.NewBulkInsert("release_media", "ws int", "release int", "medium_id id", "filename", "content_type", "bytes int",
	"hash bytes", "width int", "height int", "mentions int", "created_at int")

// Freeze fills a new release with the documents of its project as they are, and with the media that
// their texts name. All texts and fields must be there (MissingReleaseTexts). It returns the number of
// documents. If the texts name media more than mostMedia times, it returns Invalid.
func (tx *Tx) Freeze(ws sheaf.WorkspaceID, r sheaf.Release, mostMedia int64) (documents int64, err error) {
	if documents, err = tx.changed(freezeDocuments, ws, r.ProjectID, r.Number); err != nil {
		return 0, fmt.Errorf("insert the documents of release %s: %w", r.ID, err)
	}
	if err := tx.exec(keepTexts, ws, r.Number); err != nil {
		return 0, fmt.Errorf("keep the texts of release %s: %w", r.ID, err)
	}
	mentions, err := tx.mentionsIn(ws, r.Number, mostMedia)
	if err != nil || len(mentions) == 0 {
		return documents, err
	}
	found, err := tx.MediaByID(ws, slices.Collect(maps.Keys(mentions)))
	if err != nil {
		return 0, err
	}
	return documents, tx.InsertReleaseMedia(ws, r.Number, found, mentions)
}

// mentionsIn returns how many documents of a release have a text that names each medium. If they name
// media more than `most` times, it returns Invalid.
func (r *Reader) mentionsIn(ws sheaf.WorkspaceID, release, most int64) (map[sheaf.MediumID]int64, error) {
	if n, err := r.count(mentionsOfMedia, ws, release); err != nil || n > most {
		if err == nil {
			err = sheaf.Invalidf("the texts of this project name media %d times, and a release may have %d: divide the project into several", n, most)
		}
		return nil, err
	}
	mentions := map[sheaf.MediumID]int64{}
	err := r.query(mediaOfDocuments, func(w *row) {
		for _, id := range once(readMedia(w.Blob())) {
			mentions[id]++
		}
	}, ws, release)
	return mentions, err
}

// readMedia is the inverse of storedMedia.
func readMedia(stored []byte) (ids []sheaf.MediumID) {
	for ; len(stored) >= 16; stored = stored[16:] {
		ids = append(ids, sheaf.MediumID(sheaf.FormatUUID([16]byte(stored))))
	}
	return ids
}

var setMentions = engine.NewBulk(`
UPDATE release_media
SET mentions = {mentions}
{rows}
WHERE release_media.ws = {workspace} AND release_media.release = {release} AND release_media.medium_id = {wanted}`, "",
	"workspace int", "release int", "wanted id", "mentions int")

// CountMentions sets how many documents of an imported release name each of its media. If they name media
// more than `most` times, it returns Invalid.
func (tx *Tx) CountMentions(ws sheaf.WorkspaceID, release, most int64) error {
	mentions, err := tx.mentionsIn(ws, release, most)
	if err != nil {
		return err
	}
	var rows [][]any
	for id, n := range mentions {
		rows = append(rows, []any{ws, release, id, n})
	}
	return tx.run(setMentions, rows, nothing)
}

// InsertReleaseMedia adds media to a release. `mentions` says how many of its documents name each.
func (tx *Tx) InsertReleaseMedia(ws sheaf.WorkspaceID, release int64, media []sheaf.Medium, mentions map[sheaf.MediumID]int64) error {
	rows := make([][]any, len(media))
	for i, m := range media {
		rows[i] = []any{ws, release, m.ID, m.Filename, m.ContentType, m.Bytes, mediumHash(m.SHA256), m.Width, m.Height, mentions[m.ID], m.CreatedAt}
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
	comparedColumns = `, fields_hash, content_hash`

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

func (r *Reader) compared(sql string, args ...any) ([]sheaf.ReleasedDocument, error) {
	digests := map[sheaf.DocumentID][32]byte{}
	entries, err := all(r, sql, func(w *row) sheaf.TreeEntry {
		e := scanTreeEntry(w)
		digests[e.ID] = digest(e.Title, w.OptBlob(), w.OptBlob())
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

// digest hashes the title, and the hashes of the fields and of the text, which are nil or 32 bytes.
func digest(title string, fields, text []byte) [32]byte {
	b := append([]byte{byte(len(fields)), byte(len(text))}, fields...)
	return sha256.Sum256(append(append(b, text...), title...))
}

// releasedFields joins the columns of ScanText for the fields of a release's documents d.
const releasedFields = `
LEFT JOIN (SELECT hash, form, bytes, body FROM release_texts WHERE ws = $1) f ON f.hash = d.fields_hash`

const selectReleasedText = `
SELECT ` + releaseDocumentColumns + `, f.form, f.bytes, f.body, t.form, t.bytes, t.body
FROM release_documents d` + releasedFields + `
LEFT JOIN (SELECT hash, form, bytes, body FROM release_texts WHERE ws = $1) t ON t.hash = d.content_hash
WHERE d.ws = $1 AND d.release = $2 AND d.document_id = $3`

// ReleasedText returns a document of a release with its text, or NotFound. The caller has read the
// release.
func (r *Reader) ReleasedText(ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.DocumentID) (sheaf.DocumentText, error) {
	var unread error
	d, err := mustFind(r, "document", selectReleasedText, func(w *row) (d sheaf.DocumentText) {
		d.Document, unread = scanReleased(w)
		d.ProjectID = &release.ProjectID
		var err error
		if d.Content, err = ScanText(w); unread == nil {
			unread = err
		}
		return d
	}, ws, release.Number, id)
	if err == nil && unread == nil && int64(len(d.Content)) != d.ContentBytes {
		unread = fmt.Errorf("document %s of release %s lacks its text", id, release.ID)
	}
	if err == nil {
		err = unread
	}
	return d, err
}

// scanReleased reads a row of releaseDocumentColumns, and then the fields.
func scanReleased(r *row) (sheaf.Document, error) {
	d := sheaf.Document{ID: readID[sheaf.DocumentID](r), ParentID: optID[sheaf.DocumentID](r), SortOrder: r.Int(), Number: r.Int(), Title: r.Text(),
		Version: r.Int(), ContentBytes: r.Int(), ContentSHA256: readHash(r), CreatedAt: r.Time(), UpdatedAt: r.Time(), Revision: 1}
	return d, scanFields(&d, r)
}

const selectReleasedDocument = `
SELECT ` + releaseDocumentColumns + `, f.form, f.bytes, f.body
FROM release_documents d` + releasedFields + `
WHERE d.ws = $1 AND d.release = $2 AND d.document_id = $3`

// ReleasedDocument returns a document of a release, or NotFound. The caller has read the release.
func (r *Reader) ReleasedDocument(ws sheaf.WorkspaceID, release sheaf.Release, id sheaf.DocumentID) (sheaf.Document, error) {
	var unread error
	d, err := mustFind(r, "document", selectReleasedDocument, func(w *row) (d sheaf.Document) {
		d, unread = scanReleased(w)
		return d
	}, ws, release.Number, id)
	d.ProjectID = &release.ProjectID
	if err == nil {
		err = unread
	}
	return d, err
}

var findableReleased = engine.NewBulk(`
SELECT d.title, d.updated_at, f.form, f.bytes, f.body, t.form, t.bytes, t.body
FROM release_documents d
LEFT JOIN release_texts f ON f.ws = d.ws AND f.hash = d.fields_hash
LEFT JOIN release_texts t ON t.ws = d.ws AND t.hash = d.content_hash
WHERE d.ws = {workspace} AND d.release = {release} AND d.document_id = {wanted}`, "", "workspace int", "release int", "wanted id")

// FindableReleased returns documents of a release as a search reads them. The caller has read the release.
func (r *Reader) FindableReleased(ws sheaf.WorkspaceID, release sheaf.Release, entries []sheaf.TreeEntry) ([]Findable, error) {
	rows, out := make([][]any, len(entries)), make([]Findable, len(entries))
	for i, e := range entries {
		rows[i] = []any{ws, release.Number, e.ID}
	}
	var unread error
	err := r.run(findableReleased, rows, func(i int, w *row) {
		f := Findable{Type: sheaf.SearchDocument, ID: string(entries[i].ID), Title: w.Text(), Project: &release.ProjectID, Parent: entries[i].ParentID, UpdatedAt: w.Time()}
		var d sheaf.Document
		unread = cmp.Or(unread, scanFields(&d, w))
		if d.Description != nil {
			f.Description = *d.Description
		}
		var err error
		f.Content, err = ScanText(w)
		unread = cmp.Or(unread, err)
		out[i] = f
	})
	return out, cmp.Or(err, unread)
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
