package doctor

import (
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkProjects are the promises about projects.
var checkProjects = []check{
	// Its folder is there, in the same workspace, and holds projects.
	{name: "project folder", judge: tells("project %s is in folder %s, of type %s"), sql: `
SELECT p.id, p.folder_id, f.entity_type
FROM projects p
LEFT JOIN folders f ON f.ws = p.ws AND f.id = p.folder_id
WHERE p.ws = $1 AND p.folder_id IS NOT NULL AND (f.id IS NULL OR f.entity_type <> 'project')`},

	// It counts its documents, the deleted ones aside.
	{name: "project count", judge: tells("project %s counts %s documents and has %s"), sql: `
SELECT id, says, has
FROM (
  SELECT id, document_count AS says,
    (SELECT COUNT(*) FROM documents d
     WHERE d.ws = projects.ws AND d.project_id = projects.id AND d.deleted_at IS NULL) AS has
  FROM projects
  WHERE ws = $1) c
WHERE says <> has`},

	// No two have the same creation number, by which they are in order: no index has all of them to refuse it.
	{name: "number twice", judge: tells("%s projects have the creation number %s"), sql: `
SELECT n, number
FROM (
  SELECT COUNT(*) AS n, number
  FROM projects
  WHERE ws = $1
  GROUP BY number) c
WHERE n > 1`},

	// What is searched is what is shown, folded.
	{name: "project search", judge: folded("project"), sql: `
SELECT id, name, name_folded, description, description_folded
FROM projects
WHERE ws = $1`},

	// It equals the payload of its newest event.
	{name: "project event", sql: withNewest(store.ProjectColumns, "projects", "project"), judge: func(p *patient, r *engine.Row) string {
		v := store.ScanProject(r)
		return p.sameAsEvent(r, logged{noun: "project", id: string(v.ID), record: &v, changed: v.UpdatedAt})
	}},

	// What the log says exists is there.
	{name: "project lost", sql: lost("projects", "project"), judge: tells("project %s is not there, and its newest event, number %s, is %s")},
}
