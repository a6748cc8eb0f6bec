package doctor

import (
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkDocuments are the promises about documents, deleted ones included.
var checkDocuments = []check{
	// Its project is there, in the same workspace.
	{name: "document project", judge: tells("document %s is in project %s, which is not there"), sql: `
SELECT d.id, d.project_id
FROM documents d
WHERE d.ws = $1 AND d.project_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM projects p WHERE p.ws = d.ws AND p.id = d.project_id)`},

	// Its parent is there, and not deleted unless the document is too.
	{name: "document parent", judge: tells("document %s is below document %s, which is not there or is deleted"), sql: `
SELECT d.id, d.parent_id
FROM documents d
WHERE d.ws = $1 AND d.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM documents p WHERE p.ws = d.ws AND p.id = d.parent_id AND (p.deleted_at IS NULL OR d.deleted_at IS NOT NULL))`},

	// It is in the project of its parent. While a large project is deleted, one of the two may be in
	// none already.
	{name: "document tree", judge: tells("document %s is in project %s, its parent in project %s"), sql: `
SELECT d.id, d.project_id, p.project_id
FROM documents d
JOIN documents p ON p.ws = d.ws AND p.id = d.parent_id
WHERE d.ws = $1 AND d.parent_id IS NOT NULL AND d.deleted_at IS NULL AND d.project_id <> p.project_id`},

	// It is on one of five levels. 6 is sheaf.MaxLevels + 1. CROSS JOIN makes SQLite look up the
	// children of each document, instead of reading all documents for each level.
	{name: "document depth", judge: tells("document %s is on the sixth level, below document %s"), sql: `
WITH RECURSIVE down (id, parent_id, level) AS (
  SELECT id, parent_id, 1 FROM documents WHERE ws = $1 AND parent_id IS NULL AND deleted_at IS NULL
  UNION ALL
  SELECT d.id, d.parent_id, down.level + 1 FROM down CROSS JOIN documents d
  WHERE d.ws = $1 AND d.parent_id = down.id AND d.deleted_at IS NULL AND down.level < 6)
SELECT id, parent_id
FROM down
WHERE level = 6`},

	// It is not below itself: from documents without a parent, every document is reached.
	{name: "document cycle", judge: tells("document %s, whose parent is %s, is below itself or below a document that is"), sql: `
WITH RECURSIVE reached (id) AS (
  SELECT d.id FROM documents d
  WHERE d.ws = $1 AND (d.parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM documents p WHERE p.ws = d.ws AND p.id = d.parent_id))
  UNION ALL
  SELECT d.id FROM reached CROSS JOIN documents d WHERE d.ws = $1 AND d.parent_id = reached.id)
SELECT d.id, d.parent_id
FROM documents d
WHERE d.ws = $1 AND d.parent_id IS NOT NULL AND d.id NOT IN (SELECT id FROM reached)`},

	// Its deletion is a number that was given. Only the document that was deleted itself has the
	// negative one.
	{name: "document deletion", judge: tells("document %s has the deletion %s, which was never given or is that of another document too"), sql: `
SELECT d.id, d.deletion
FROM documents d
WHERE d.ws = $1 AND d.deletion IS NOT NULL
  AND (d.deletion = 0 OR ABS(d.deletion) > (SELECT w.last_number FROM workspaces w WHERE w.ws = d.ws)
    OR d.deletion < 0 AND EXISTS (SELECT 1 FROM documents o WHERE o.ws = d.ws AND o.deletion = d.deletion AND o.id <> d.id))`},

	// The folded columns, which are searched, match the shown ones.
	{name: "document search", judge: folded("document"), sql: `
SELECT id, title, title_folded, description, description_folded
FROM documents
WHERE ws = $1`},

	// It equals the payload of its newest event, which is its deletion when it is deleted. Only its
	// project and its parent may be gone since then.
	{name: "document event", sql: withNewest(store.DocumentColumns, "documents", "document"), judge: func(p *patient, r *engine.Row) string {
		d := store.ScanDocument(r)
		l := logged{noun: "document", id: string(d.ID), record: &d, changed: d.UpdatedAt}
		if d.Deleted != nil {
			l.deleted, l.changed = true, *d.Deleted
			l.mayLose = []string{"project_id", "parent_id"}
		}
		return p.sameAsEvent(r, l)
	}},

	// Every record that exists according to the log is stored.
	{name: "document lost", sql: lost("documents", "document"), judge: tells("document %s is not there, and its newest event, number %s, is %s")},
}
