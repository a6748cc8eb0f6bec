package doctor

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkFolders are the promises about folders: a forest of at most three levels, each tree of one
// type and one workspace. Since a child is one level below its parent, no folder is below itself.
var checkFolders = []check{
	// A parent is there, in the same workspace.
	{name: "folder parent", judge: tells("folder %s is in folder %s, which is not there"), sql: `
SELECT f.id, f.parent_id
FROM folders f
WHERE f.ws = $1 AND f.parent_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM folders p WHERE p.ws = f.ws AND p.id = f.parent_id)`},

	// A folder at the root is at level 1, any other one below its parent.
	{name: "folder depth", judge: tells("folder %s is at level %s, its parent at %s"), sql: `
SELECT f.id, f.depth, p.depth
FROM folders f
LEFT JOIN folders p ON p.ws = f.ws AND p.id = f.parent_id
WHERE f.ws = $1
  AND (f.depth > 3 OR f.parent_id IS NULL AND f.depth <> 1 OR f.depth <> p.depth + 1)`},

	// Its type exists, and is that of its parent.
	{name: "folder type", judge: tells("folder %s is of type %s, its parent of type %s"), sql: `
SELECT f.id, f.entity_type, p.entity_type
FROM folders f
LEFT JOIN folders p ON p.ws = f.ws AND p.id = f.parent_id
WHERE f.ws = $1 AND (f.entity_type NOT IN ('project', 'branding') OR f.entity_type <> p.entity_type)`},

	// It counts the projects that are directly in it.
	{name: "folder count", judge: tells("folder %s counts %s projects and has %s"), sql: `
SELECT id, says, has
FROM (
  SELECT id, project_count AS says,
    (SELECT COUNT(*) FROM projects p WHERE p.ws = folders.ws AND p.folder_id = folders.id) AS has
  FROM folders
  WHERE ws = $1) c
WHERE says <> has`},

	// The folded columns, which are searched, match the shown ones.
	{name: "folder search", judge: folded("folder"), sql: `
SELECT id, name, name_folded, NULL, NULL
FROM folders
WHERE ws = $1`},

	// It equals the payload of its newest event.
	{name: "folder event", sql: withNewest(store.FolderColumns, "folders", "folder"), judge: func(p *patient, r *engine.Row) string {
		f := store.ScanFolder(r)
		return p.sameAsEvent(r, logged{noun: "folder", id: string(f.ID), record: &f, changed: f.UpdatedAt})
	}},

	// Every record that exists according to the log is stored.
	{name: "folder lost", sql: lost("folders", "folder"), judge: tells("folder %s is not there, and its newest event, number %s, is %s")},
}

// folded returns the judge of id, a name and its folded form, a description and its folded form.
func folded(noun string) func(*patient, *engine.Row) string {
	return func(_ *patient, r *engine.Row) string {
		id, name, nameFolded, text, textFolded := show(r), r.Text(), r.Text(), r.OptText(), r.OptText()
		if store.Fold(name) != nameFolded || !sameFolded(text, textFolded) {
			return noun + " " + sheaf.Clip(id) + " is searched by another text than it has"
		}
		return ""
	}
}

// sameFolded reports whether has is the folded form of a text that may be NULL.
func sameFolded(text, has *string) bool {
	if text == nil || has == nil {
		return text == has
	}
	return store.Fold(*text) == *has
}
