package store

import (
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// In these queries CROSS JOIN makes SQLite look up the parent or the children of each document,
// instead of reading all documents for each level.

// walkMost bounds a walk up the tree, so that damaged data cannot make it endless.
const walkMost = 2 * sheaf.MaxLevels

var selectAncestors = engine.NewBulk(`
WITH RECURSIVE path (id, parent_id, level) AS (
  SELECT id, parent_id, 1 FROM documents WHERE ws = {workspace} AND id = {wanted}
  UNION ALL
  SELECT d.id, d.parent_id, path.level + 1 FROM path CROSS JOIN documents d
  WHERE d.ws = {workspace} AND d.id = path.parent_id AND path.level < {most})
SELECT path.level, d.id, d.title, d.project_id, d.number, d.deleted_at
FROM path CROSS JOIN documents d
WHERE d.ws = {workspace} AND d.id = path.id`, "", "workspace int", "wanted id", "most int")

// Ancestor is a document on the path from another one to the top level.
type Ancestor struct {
	ID        sheaf.DocumentID
	Title     string
	ProjectID *sheaf.ProjectID
	Number    int64
	Deleted   *time.Time
}

// Ancestors returns the document `id` and all documents above it, the nearest first. It is empty if
// the document does not exist. A deleted document is on the path too.
func (r *Reader) Ancestors(ws sheaf.WorkspaceID, id sheaf.DocumentID) ([]Ancestor, error) {
	found, err := r.AncestorsOf(ws, []sheaf.DocumentID{id})
	return found[0], err
}

// AncestorsOf returns the Ancestors of each of the documents `ids`. PostgreSQL answers in one round
// trip.
func (r *Reader) AncestorsOf(ws sheaf.WorkspaceID, ids []sheaf.DocumentID) ([][]Ancestor, error) {
	rows, found := make([][]any, len(ids)), make([][]Ancestor, len(ids))
	for i, id := range ids {
		rows[i] = []any{ws, id, walkMost}
	}
	err := r.run(selectAncestors, rows, func(i int, w *row) {
		level := int(w.Int()) // the rows of a join need not be sorted
		for len(found[i]) < level {
			found[i] = append(found[i], Ancestor{})
		}
		found[i][level-1] = Ancestor{readID[sheaf.DocumentID](w), w.Text(), optID[sheaf.ProjectID](w), w.Int(), w.OptTime()}
	})
	for i := range found {
		if err != nil || len(found[i]) == 0 {
			continue
		}
		var sees bool
		if sees, err = r.seesIn(ws, found[i][0].ProjectID); !sees {
			found[i] = nil
		}
	}
	return found, err
}

// selectDescendants reads the documents below document $2 of workspace $1 that are not deleted, with
// their distance from it.
const selectDescendants = `
WITH RECURSIVE below (id, number, level) AS (
  SELECT id, number, 1 FROM documents WHERE ws = $1 AND parent_id = $2 AND deleted_at IS NULL
  UNION ALL
  SELECT d.id, d.number, below.level + 1 FROM below CROSS JOIN documents d
  WHERE d.ws = $1 AND d.parent_id = below.id AND d.deleted_at IS NULL AND below.level < $3)
SELECT id, level
FROM (SELECT id, number, level FROM below LIMIT $4) AS b
ORDER BY level, number`

// selectLevel is the step of selectDescendants for PostgreSQL: it reads the children of the documents
// $2, an array, at once. If PostgreSQL looked for the children of each, it would often read the whole
// table for each, since it misjudges how many there are.
const selectLevel = `
SELECT id
FROM documents
WHERE ws = $1 AND parent_id = ANY(CAST($2 AS UUID[])) AND deleted_at IS NULL
ORDER BY number
LIMIT $3`

// arrayOf returns the text of a PostgreSQL array of ids.
func arrayOf[T ~string](ids []T) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = string(id)
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// Descendants is what is below a document: the ids of the documents, nearer ones first, and the number of
// levels they are on.
type Descendants struct {
	IDs    []sheaf.DocumentID
	Levels int
}

// Descendants returns what is below a document, without deleted documents. It returns at most `most` ids;
// then Levels is that of those returned.
func (r *Reader) Descendants(ws sheaf.WorkspaceID, id sheaf.DocumentID, most int) (b Descendants, err error) {
	if r.dialect().Postgres {
		for level := []sheaf.DocumentID{id}; len(level) > 0 && b.Levels < walkMost && len(b.IDs) < most; {
			level, err = all(r, selectLevel, readID[sheaf.DocumentID], ws, arrayOf(level), most-len(b.IDs))
			if err != nil {
				return b, err
			}
			if len(level) > 0 {
				b.Levels++
				b.IDs = append(b.IDs, level...)
			}
		}
		return b, nil
	}
	err = r.query(selectDescendants, func(w *row) {
		b.IDs = append(b.IDs, readID[sheaf.DocumentID](w))
		b.Levels = max(b.Levels, int(w.Int()))
	}, ws, id, walkMost, most)
	return b, err
}

var documentsByID = engine.NewBulk(`
SELECT `+DocumentColumns+`
FROM documents
WHERE ws = {workspace} AND id = {wanted}`, "", "workspace int", "wanted id")

// DocumentsByID returns the documents with these ids, deleted ones included, in the given order. An
// id without a document is an error.
func (r *Reader) DocumentsByID(ws sheaf.WorkspaceID, ids []sheaf.DocumentID) ([]sheaf.Document, error) {
	rows, found := make([][]any, len(ids)), make([]sheaf.Document, len(ids))
	for i, id := range ids {
		rows[i] = []any{ws, id}
	}
	n := 0
	err := r.run(documentsByID, rows, func(i int, w *row) {
		found[i] = ScanDocument(w)
		n++
	})
	if err == nil && n != len(ids) {
		err = fmt.Errorf("%d documents of %d are there", n, len(ids))
	}
	return found, err
}

var updatePlaces = engine.NewBulk(`
UPDATE documents
SET project_id = {project}, sort_order = {place}, revision = {next}, updated_at = {at}
{rows}
WHERE documents.ws = {workspace} AND documents.id = {wanted}`, "", "workspace int", "wanted id", "project id", "place int", "next int", "at int")

// UpdatePlaces writes the project, the order, the revision and the time of the documents. It
// updates the counts of their projects; before[i] is the previous state of after[i]. None of them
// may be deleted.
func (tx *Tx) UpdatePlaces(ws sheaf.WorkspaceID, before, after []sheaf.Document) error {
	rows := make([][]any, len(after))
	for i := range after {
		d := &after[i]
		rows[i] = []any{ws, d.ID, d.ProjectID, storedOrder(d), d.Revision, d.UpdatedAt}
	}
	if err := tx.run(updatePlaces, rows, nothing); err != nil {
		return fmt.Errorf("update %d documents: %w", len(after), err)
	}
	return tx.followMany(ws, before, after)
}

const treeColumns = `id, title, parent_id, version, updated_at, number, sort_order`

func scanTreeEntry(r *row) sheaf.TreeEntry {
	e := sheaf.TreeEntry{ID: readID[sheaf.DocumentID](r), Title: r.Text(), ParentID: optID[sheaf.DocumentID](r), Version: r.Int(), UpdatedAt: r.Time(), Number: r.Int()}
	e.SortOrder = e.Number * sheaf.OrderStep
	if order := r.OptInt(); order != nil {
		e.SortOrder = *order
	}
	return e
}

const selectTree = `
SELECT ` + treeColumns + `
FROM documents
WHERE ws = $1 AND project_id = $2 AND deleted_at IS NULL`

// DocumentTree returns the documents of a project in reading order.
func (r *Reader) DocumentTree(ws sheaf.WorkspaceID, project sheaf.ProjectID) ([]sheaf.TreeEntry, error) {
	if sees, err := r.seesIn(ws, &project); err != nil || !sees {
		return nil, err
	}
	entries, err := all(r, selectTree, scanTreeEntry, ws, project)
	return sheaf.ReadingOrder(entries), err
}

var countChildren = engine.NewBulk(`
SELECT COUNT(*)
FROM documents
WHERE ws = {workspace} AND parent_id = {wanted} AND deleted_at IS NULL`, "", "workspace int", "wanted id")

// countChildrenOf is countChildren for PostgreSQL, for the same reason as selectLevel.
const countChildrenOf = `
SELECT parent_id, COUNT(*)
FROM documents
WHERE ws = $1 AND parent_id = ANY(CAST($2 AS UUID[])) AND deleted_at IS NULL
GROUP BY parent_id`

// CountChildren returns the number of documents directly below each of the documents `ids`.
func (r *Reader) CountChildren(ws sheaf.WorkspaceID, ids []sheaf.DocumentID) ([]int64, error) {
	rows, counts := make([][]any, len(ids)), make([]int64, len(ids))
	if r.dialect().Postgres {
		below := map[sheaf.DocumentID]int64{}
		err := r.query(countChildrenOf, func(w *row) { below[readID[sheaf.DocumentID](w)] = w.Int() }, ws, arrayOf(ids))
		for i, id := range ids {
			counts[i] = below[id]
		}
		return counts, err
	}
	for i, id := range ids {
		rows[i] = []any{ws, id}
	}
	err := r.run(countChildren, rows, func(i int, w *row) { counts[i] = w.Int() })
	return counts, err
}

// TreeLevel is the level of a tree: the documents below a parent, or at the top of a project, or at
// the top outside of all projects.
type TreeLevel struct {
	Project *sheaf.ProjectID
	Parent  *sheaf.DocumentID
}

// Sibling is a document of a level, with what it is sorted by.
type Sibling struct {
	ID            sheaf.DocumentID
	Order, Number int64
}

// Siblings returns up to `most` documents of a level: those before `from` in the order of the
// level, the nearest first, or those after it. Without `from`, it begins at the end, or at the
// beginning. The document `except` is left out.
func (r *Reader) Siblings(ws sheaf.WorkspaceID, level TreeLevel, from *Sibling, before bool, except sheaf.DocumentID, most int) ([]Sibling, error) {
	l := listing{columns: "id, number, sort_order", table: "documents", order: documentOrder(sheaf.DocumentsByOrder)}
	l.where.And("ws = ?", ws)
	if level.Parent != nil {
		l.where.And("parent_id = ?", *level.Parent)
		l.table += r.dialect().By("documents_in_parent")
	} else {
		l.where.And("parent_id IS NULL")
		if level.Project != nil {
			l.where.And("project_id = ?", *level.Project)
		} else {
			l.where.And("project_id IS NULL")
		}
		l.table += r.dialect().By("documents_at_top")
	}
	l.where.And("deleted_at IS NULL")
	l.where.And("id <> ?", except)
	if from != nil {
		compare := ">"
		if before {
			compare = "<"
		}
		l.where.And("("+documentPosition+", number) "+compare+" (?, ?)", from.Order, from.Number)
	}
	return all(r, l.text(before), func(w *row) Sibling {
		e := Sibling{ID: readID[sheaf.DocumentID](w), Number: w.Int()}
		e.Order = e.Number * sheaf.OrderStep
		if order := w.OptInt(); order != nil {
			e.Order = *order
		}
		return e
	}, append(l.where.Args, most, 0)...)
}
