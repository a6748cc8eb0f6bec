package store

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const lowestChildren = `
SELECT d.id, CASE WHEN EXISTS (SELECT 1 FROM documents c WHERE c.ws = $1 AND c.parent_id = d.id AND c.deleted_at IS NULL) THEN 1 ELSE 0 END
FROM documents d
WHERE d.ws = $1 AND d.parent_id = $2 AND d.deleted_at IS NULL
LIMIT $3`

// LowestDocuments returns up to `most` documents below a document that have no documents below
// them. It returns none if nothing is below the document.
func (r *Reader) LowestDocuments(ws sheaf.WorkspaceID, id sheaf.DocumentID, most int) ([]sheaf.DocumentID, error) {
	for range walkMost {
		var ids []sheaf.DocumentID
		var down *sheaf.DocumentID
		err := r.query(lowestChildren, func(w *row) {
			child := readID[sheaf.DocumentID](w)
			if ids = append(ids, child); w.Bool() {
				down = &child
			}
		}, ws, id, most)
		if err != nil || down == nil {
			return ids, err
		}
		id = *down
	}
	return nil, fmt.Errorf("document %s is on too low a level", id)
}

// together returns the conditions for the visible documents that deletion number `deletion` moved to the
// trash. These may be in several projects: if a deletion is interrupted, a document that is not deleted
// yet can be moved to another project before the deletion continues.
func (r *Reader) together(ws sheaf.WorkspaceID, deletion int64) (w engine.Conditions) {
	w.And("ws = ?", ws)
	w.And("deletion = ?", deletion)
	w.And("deleted_at IS NOT NULL")
	r.seeDocuments(&w, ws, false)
	return w
}

// TrashEntry is a deleted document, and its parent.
type TrashEntry struct {
	ID     sheaf.DocumentID
	Parent *sheaf.DocumentID
}

// DeletedTogether returns the visible documents that went to the trash with the deletion of that number,
// without the document that was deleted itself, in the order of creation.
func (r *Reader) DeletedTogether(ws sheaf.WorkspaceID, deletion int64) ([]TrashEntry, error) {
	in := r.together(ws, deletion)
	return all(r, "SELECT id, parent_id FROM documents "+in.SQL()+" ORDER BY number", func(w *row) TrashEntry {
		return TrashEntry{readID[sheaf.DocumentID](w), optID[sheaf.DocumentID](w)}
	}, in.Args...)
}

// apart is a condition on deleted documents: the document was not deleted together with its parent,
// or the parent is no longer in the trash.
const apart = `(deletion IS NULL OR deletion < 0 OR NOT EXISTS (
  SELECT 1
  FROM documents above
  WHERE above.ws = documents.ws AND above.id = documents.parent_id AND above.deleted_at IS NOT NULL
    AND above.deletion IN (documents.deletion, -documents.deletion)))`

// CountDeletedTogether returns the number of documents that DeletedTogether returns.
func (r *Reader) CountDeletedTogether(ws sheaf.WorkspaceID, deletion int64) (int64, error) {
	in := r.together(ws, deletion)
	return r.count("SELECT COUNT(*) FROM documents "+in.SQL(), in.Args...)
}

const noteDeletion = `
UPDATE documents
SET deletion = $3
WHERE ws = $1 AND id = $2`

// NoteDeletion sets the number of the deletion of a document that is not deleted yet, or was
// restored just now; 0: none.
func (tx *Tx) NoteDeletion(ws sheaf.WorkspaceID, id sheaf.DocumentID, deletion int64) error {
	return tx.exec(noteDeletion, ws, id, storedDeletion(deletion))
}

const countRestoring = `
SELECT COUNT(*)
FROM documents
WHERE ws = $1 AND deleted_at IS NOT NULL AND deletion IN (
  SELECT ABS(deletion) FROM documents WHERE ws = $1 AND deletion IS NOT NULL AND deleted_at IS NULL)`

// CountRestoring returns the number of deleted documents whose restore, or deletion, has begun and
// not ended: they share the number of the deletion with a document that is not deleted.
func (r *Reader) CountRestoring(ws sheaf.WorkspaceID) (int64, error) {
	return r.count(countRestoring, ws)
}

// storedDeletion returns the number of a deletion to store: nil for 0.
func storedDeletion(number int64) any {
	if number == 0 {
		return nil
	}
	return number
}

var updateTrash = engine.NewBulk(`
UPDATE documents
SET deleted_at = {deleted}, deletion = {deletion}, parent_id = {parent}, revision = {next}, updated_at = {at}
{rows}
WHERE documents.ws = {workspace} AND documents.id = {wanted}`, "", "workspace int", "wanted id", "deleted int", "deletion int", "parent id", "next int", "at int")

// UpdateTrash writes whether the documents are deleted, their parents, revisions and times. It
// updates the counts of their projects; before[i] is the previous state of after[i].
func (tx *Tx) UpdateTrash(ws sheaf.WorkspaceID, before, after []sheaf.Document) error {
	rows := make([][]any, len(after))
	for i := range after {
		d := &after[i]
		rows[i] = []any{ws, d.ID, d.Deleted, storedDeletion(d.Deletion), d.ParentID, d.Revision, d.UpdatedAt}
	}
	if err := tx.run(updateTrash, rows, nothing); err != nil {
		return fmt.Errorf("update %d documents: %w", len(after), err)
	}
	return tx.followMany(ws, before, after)
}

// followMany is followCounts for many documents.
func (tx *Tx) followMany(ws sheaf.WorkspaceID, before, after []sheaf.Document) error {
	moved := map[sheaf.ProjectID]int64{}
	for i := range after {
		if from := before[i].ProjectID; from != nil && before[i].Deleted == nil {
			moved[*from]--
		}
		if to := after[i].ProjectID; to != nil && after[i].Deleted == nil {
			moved[*to]++
		}
	}
	for project, by := range moved {
		if by != 0 {
			if err := tx.CountDocuments(ws, project, by); err != nil {
				return err
			}
		}
	}
	return nil
}
