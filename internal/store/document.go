package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// DocumentColumns are what ScanDocument reads, in its order.
const DocumentColumns = `id, title, description, project_id, parent_id, external_id, url, metadata, version, content_bytes, content_hash,
  created_at, updated_at, number, revision, deleted_at, sort_order, deletion`

// ScanDocument reads a row of DocumentColumns.
func ScanDocument(r *row) sheaf.Document {
	d := sheaf.Document{
		ID: readID[sheaf.DocumentID](r), Title: r.Text(), Description: r.OptText(), ProjectID: optID[sheaf.ProjectID](r),
		ParentID: optID[sheaf.DocumentID](r), ExternalID: r.OptText(), URL: r.OptText(), Metadata: readMetadata(r), Version: r.Int(), ContentBytes: r.Int(), ContentSHA256: readHash(r),
		CreatedAt: r.Time(), UpdatedAt: r.Time(), Number: r.Int(), Revision: r.Int(), Deleted: r.OptTime(),
	}
	d.SortOrder = d.DefaultOrder()
	if order := r.OptInt(); order != nil {
		d.SortOrder = *order
	}
	if deletion := r.OptInt(); deletion != nil {
		d.Deletion = *deletion
	}
	return d
}

// storedOrder returns the sort_order to store: nil if it is the default one.
func storedOrder(d *sheaf.Document) any {
	if d.SortOrder == d.DefaultOrder() {
		return nil
	}
	return d.SortOrder
}

// documentPosition is the effective sort_order, as the index documents_in_parent has it.
// 1048576 is sheaf.OrderStep.
const documentPosition = `COALESCE(sort_order, number * 1048576)`

const selectDocument = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND id = $2`

// Document returns the workspace's document, or NotFound when there is none or
// it is deleted.
func (r *Reader) Document(ws sheaf.WorkspaceID, id sheaf.DocumentID) (sheaf.Document, error) {
	d, err := r.AnyDocument(ws, id)
	if err == nil && d.Deleted != nil {
		return sheaf.Document{}, sheaf.Missing("document")
	}
	return d, err
}

// AnyDocument is Document, but also returns deleted documents.
func (r *Reader) AnyDocument(ws sheaf.WorkspaceID, id sheaf.DocumentID) (sheaf.Document, error) {
	d, found, err := one(r, selectDocument, ScanDocument, ws, id)
	if err == nil && found {
		found, err = r.seesIn(ws, d.ProjectID)
	}
	if err == nil && !found {
		return sheaf.Document{}, sheaf.Missing("document")
	}
	return d, err
}

const selectDocumentWith = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND external_id = $2`

// DocumentWith returns the workspace's document with that external id, deleted or not; found is
// false if there is none.
func (r *Reader) DocumentWith(ws sheaf.WorkspaceID, externalID string) (d sheaf.Document, found bool, err error) {
	d, found, err = one(r, selectDocumentWith, ScanDocument, ws, externalID)
	if err == nil && found {
		found, err = r.seesIn(ws, d.ProjectID)
	}
	return d, found, err
}

// Documents returns a page of the workspace's documents: the deleted ones if f.Deleted is set,
// otherwise the others.
func (r *Reader) Documents(ws sheaf.WorkspaceID, f sheaf.DocumentFilter) (sheaf.Page[sheaf.Document], error) {
	l := listing{columns: DocumentColumns, table: "documents", order: documentOrder(f.Sort), total: -1}
	l.where.And("ws = ?", ws)
	byUpdate := "documents_by_update"
	if f.Deleted {
		l.where.And("deleted_at IS NOT NULL")
		byUpdate = "documents_deleted_by_update"
	} else {
		l.where.And("deleted_at IS NULL")
	}
	switch {
	case f.Project.Null:
		l.where.And("project_id IS NULL")
	case f.Project.Set:
		l.where.And("project_id = ?", f.Project.Value)
	}
	switch {
	case f.Parent.Null:
		l.where.And("parent_id IS NULL")
	case f.Parent.Set:
		l.where.And("parent_id = ?", f.Parent.Value)
	}
	if f.Apart {
		l.where.And(apart)
	}
	byReference(&l.where, f.ExternalID, f.UpdatedSince)
	switch sorted := f.Sort != sheaf.DocumentsByUpdated || f.Deleted; { // use the index of the filter, not that of the sort order
	case f.ExternalID != "":
		l.table += r.dialect().By("documents_by_external_id")
	case f.Parent.Given():
		l.table += r.dialect().By("documents_in_parent")
	case f.Parent.Null && f.Project.Set && !f.Deleted && f.Sort != sheaf.DocumentsByUpdated:
		l.table += r.dialect().By("documents_at_top")
	case f.Project.Set && sorted:
		l.table += r.dialect().By("documents_in_project")
	case f.UpdatedSince != nil && !f.Project.Set:
		l.table += r.dialect().By(byUpdate)
	}
	if f.Query != "" {
		q := Fold(f.Query)
		l.where.And("("+r.dialect().Contains("title_folded")+" OR "+r.dialect().Contains("description_folded")+")", q, q)
	}
	if err := r.documentTotal(&l, ws, f); err != nil {
		return sheaf.Page[sheaf.Document]{}, err
	}
	if err := r.listInOrder(&l, ws, f); err != nil {
		return sheaf.Page[sheaf.Document]{}, err
	}
	skips := false
	if r.sight.restriction != nil && l.table == "documents" {
		// A caller who sees few of many documents reads those and sorts them. One who sees many
		// skips the others in the index of the order.
		documents, err := r.count(`SELECT documents FROM workspaces WHERE ws = $1`, ws)
		if err != nil {
			return sheaf.Page[sheaf.Document]{}, err
		}
		few := l.total >= 0 && l.total < documents/4
		if few || f.Deleted {
			l.table += r.dialect().By("documents_in_project")
		}
		skips = l.total >= 0 && !few
	}
	r.seeDocuments(&l.where, ws, skips)
	return list(r, l, f.Paging, ScanDocument)
}

// worthSorting is the most documents of a project that a list always reads and sorts.
const worthSorting = 500

// listInOrder makes the list of a project that has at least half of the workspace's documents read
// them in their order, and skip the others. Reading all of them and sorting them costs 5 ms for
// 10,000; skipping never costs more than that, and the first page costs almost nothing.
func (r *Reader) listInOrder(l *listing, ws sheaf.WorkspaceID, f sheaf.DocumentFilter) error {
	if !f.Project.Set || f.Deleted || r.sight.restriction != nil || l.total <= worthSorting {
		return nil
	}
	index := "documents_in_order"
	switch f.Sort {
	case sheaf.DocumentsByTitle:
		index = "documents_by_title"
	case sheaf.DocumentsByUpdated, sheaf.DocumentsByOrder:
		return nil // documents_in_project and documents_at_top have these orders
	}
	all, err := r.count(`SELECT documents FROM workspaces WHERE ws = $1`, ws)
	if err == nil && l.total >= all/2 {
		l.table = "documents" + r.dialect().By(index)
	}
	return err
}

// documentTotal sets l.total from a counter if there is one for this filter.
func (r *Reader) documentTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.DocumentFilter) (err error) {
	inProject := sheaf.DocumentFilter{Project: f.Project, Sort: f.Sort, Paging: f.Paging}
	switch {
	case f != inProject || f.Project.Null: // another filter is set: count the rows
	case r.sight.restriction != nil && f.Project.Set:
		l.total = 0
		if sees, err := r.seesIn(ws, f.Project.Pointer()); err != nil || !sees {
			return err
		}
		l.total, err = r.count(`SELECT document_count FROM projects WHERE ws = $1 AND id = $2`, ws, f.Project.Value)
	case r.sight.restriction != nil:
		in, args := r.sight.inProjects(ws, "id", "folder_id")
		var w engine.Conditions
		w.And("ws = ?", ws)
		w.And(in, args...)
		l.total, err = r.count("SELECT CAST(COALESCE(SUM(document_count), 0) AS BIGINT) FROM projects "+w.SQL(), w.Args...)
	case f.Project.Set:
		l.total, err = r.count(`SELECT document_count FROM projects WHERE ws = $1 AND id = $2`, ws, f.Project.Value)
	default:
		l.total, err = r.count(`SELECT documents FROM workspaces WHERE ws = $1`, ws)
	}
	return err
}

func documentOrder(s sheaf.DocumentSort) []string {
	switch s {
	case sheaf.DocumentsByUpdated:
		return []string{"updated_at", "number"}
	case sheaf.DocumentsByTitle:
		return []string{"title_folded", "number"}
	case sheaf.DocumentsByOrder:
		return []string{documentPosition, "number"}
	case sheaf.DocumentsByDeleted:
		return []string{"deleted_at", "number"}
	}
	return []string{"number"}
}

const selectNewest = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL
ORDER BY updated_at DESC, number DESC
LIMIT $3`

// NewestDocuments returns up to `most` of the project's documents, latest change first. `most` is not
// much more than it has.
func (r *Reader) NewestDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int) ([]sheaf.Document, error) {
	if sees, err := r.seesIn(ws, &project); err != nil || !sees {
		return nil, err
	}
	documents := make([]sheaf.Document, 0, most)
	err := r.query(selectNewest, func(w *row) { documents = append(documents, ScanDocument(w)) }, ws, project, most)
	return documents, err
}

// InsertDocument adds a document, with `by` as the author of its first version, and raises its
// project's count. The caller adds a non-empty text with InsertText.
func (tx *Tx) InsertDocument(ws sheaf.WorkspaceID, d sheaf.Document, by sheaf.Author) error {
	first := sheaf.Version{UserID: &by.User, CreatedAt: d.CreatedAt}
	if by.Key != "" {
		first.KeyID = &by.Key
	}
	if by.Proposal != "" {
		first.ProposalID = &by.Proposal
	}
	return tx.InsertDocuments(ws, []NewDocument{{Document: &d, Present: first}})
}

const updateDocument = `
UPDATE documents
SET project_id = $3, title = $4, title_folded = $5, description = $6, description_folded = $7,
  revision = $8, updated_at = $9, deleted_at = $10, external_id = $11, url = $12, metadata = $13, parent_id = $14, sort_order = $15, deletion = $16, fields_hash = $17
WHERE ws = $1 AND id = $2`

// UpdateDocument writes a document's own fields and whether it is deleted, but not its version and
// text. It updates the counts of its projects.
func (tx *Tx) UpdateDocument(ws sheaf.WorkspaceID, before, d sheaf.Document) error {
	err := tx.exec(updateDocument, ws, d.ID, d.ProjectID, d.Title, Fold(d.Title), d.Description, foldOpt(d.Description),
		d.Revision, d.UpdatedAt, d.Deleted, d.ExternalID, d.URL, storedMetadata(d.Metadata), d.ParentID, storedOrder(&d), storedDeletion(d.Deletion), fieldsHash(&d))
	if err != nil {
		return fmt.Errorf("update document %s: %w", d.ID, err)
	}
	return tx.followCounts(ws, before, d)
}

// followCounts updates the document counts of the projects that d left or joined.
func (tx *Tx) followCounts(ws sheaf.WorkspaceID, before, d sheaf.Document) error {
	if sheaf.SameID(before.ProjectID, d.ProjectID) && (before.Deleted == nil) == (d.Deleted == nil) {
		return nil
	}
	if before.Deleted == nil {
		if err := tx.countDocuments(ws, before.ProjectID, -1); err != nil {
			return err
		}
	}
	if d.Deleted == nil {
		return tx.countDocuments(ws, d.ProjectID, +1)
	}
	return nil
}

const countLinked = `
SELECT COUNT(*)
FROM (SELECT 1 FROM documents WHERE ws = $1 AND project_id = $2 LIMIT $3) AS q`

// CountLinked counts the project's documents, including deleted ones, up to `most`.
func (r *Reader) CountLinked(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int64) (int64, error) {
	return r.count(countLinked, ws, project, most)
}

const selectLinked = `
SELECT ` + DocumentColumns + `
FROM documents
WHERE ws = $1 AND project_id = $2
ORDER BY updated_at, number
LIMIT $3`

// LinkedDocuments returns up to `most` of the project's documents, including deleted ones, earliest
// change first.
func (r *Reader) LinkedDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int64) ([]sheaf.Document, error) {
	return all(r, selectLinked, ScanDocument, ws, project, most)
}

const unlinkDocuments = `
UPDATE documents
SET project_id = NULL,
  revision = CASE WHEN deleted_at IS NULL THEN revision + 1 ELSE revision END,
  updated_at = CASE WHEN deleted_at IS NULL THEN $3 ELSE updated_at END
WHERE ws = $1 AND project_id = $2 AND (updated_at, number) <= ($4, $5)`

// UnlinkDocuments removes the project's documents, deleted ones included, from the project, up to
// and including `last`, which LinkedDocuments returned. Documents that are not deleted also get a
// new revision and updated_at = at. It does not change the project's count: see CountDocuments.
func (tx *Tx) UnlinkDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, at time.Time, last sheaf.Document) error {
	return tx.exec(unlinkDocuments, ws, project, at, last.UpdatedAt, last.Number)
}

// purgedBytes is roughly the most bytes of text that one transaction purges. To delete a text,
// SQLite visits all of its pages, and no other transaction can write meanwhile.
const purgedBytes = 32 << 20

// These permanently delete a deleted document, with its versions and texts.
const (
	purgeVersions = `
DELETE FROM versions
WHERE ws = $1 AND document_id = $2`
	purgeTexts = `
DELETE FROM texts
WHERE ws = $1 AND document_id = $2
RETURNING bytes`
	purgeDocument = `
DELETE FROM documents
WHERE ws = $1 AND id = $2 AND deleted_at IS NOT NULL`
	// Only deleted documents are below a deleted one.
	orphanChildren = `
UPDATE documents
SET parent_id = NULL
WHERE ws = $1 AND id IN (SELECT id FROM documents WHERE ws = $1 AND parent_id = $2 LIMIT $3)`
)

// orphanedMost is the largest number of documents that one transaction detaches from a document
// that is purged.
const orphanedMost = 1000

// Purged is the number of past versions and bytes of text that were deleted. Whole reports that the
// document itself was deleted too.
type Purged struct {
	Versions, Bytes int64
	Whole           bool
}

// PurgeDocument permanently deletes a deleted document, with its texts and versions. Its media
// stay, linked to no document, and deleted documents below it have no parent. The caller must have
// locked the workspace.
//
// If its past versions have more text than one transaction should delete, it deletes only the
// oldest of them, and must be called again in another transaction. The same holds if many documents
// are below it. A document that is restored in
// between has its text and the remaining versions.
func (tx *Tx) PurgeDocument(ws sheaf.WorkspaceID, id sheaf.DocumentID) (gone Purged, err error) {
	upTo, more, err := tx.oldestVersions(ws, id, purgedBytes)
	if err != nil {
		return gone, err
	}
	if more {
		gone.Versions, gone.Bytes, err = tx.DropVersions(ws, id, upTo)
		return gone, err
	}
	orphans, err := tx.changed(orphanChildren, ws, id, orphanedMost)
	if err != nil || orphans == orphanedMost {
		return gone, err
	}
	if gone.Versions, err = tx.changed(purgeVersions, ws, id); err != nil {
		return gone, fmt.Errorf("remove the versions of document %s: %w", id, err)
	}
	if err := tx.query(purgeTexts, func(r *row) { gone.Bytes += r.Int() }, ws, id); err != nil {
		return gone, fmt.Errorf("remove the texts of document %s: %w", id, err)
	}
	if err := tx.exec(unlinkMedia, ws, &id); err != nil {
		return gone, fmt.Errorf("unlink the media of document %s: %w", id, err)
	}
	if err := tx.exec(purgeDocument, ws, id); err != nil {
		return gone, fmt.Errorf("remove document %s: %w", id, err)
	}
	gone.Whole = true
	return gone, nil
}
