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

	// What is searched is what is shown, folded.
	{name: "document search", judge: folded("document"), sql: `
SELECT id, title, title_folded, description, description_folded
FROM documents
WHERE ws = $1`},

	// It equals the payload of its newest event, which is its deletion when it is deleted. Only its
	// project may be gone since then.
	{name: "document event", sql: withNewest(store.DocumentColumns, "documents", "document"), judge: func(p *patient, r *engine.Row) string {
		d := store.ScanDocument(r)
		l := logged{noun: "document", id: string(d.ID), record: &d, changed: d.UpdatedAt}
		if d.Deleted != nil {
			l.deleted, l.changed = true, *d.Deleted
			l.mayLose = "project_id"
		}
		return p.sameAsEvent(r, l)
	}},

	// What the log says exists is there.
	{name: "document lost", sql: lost("documents", "document"), judge: tells("document %s is not there, and its newest event, number %s, is %s")},
}
