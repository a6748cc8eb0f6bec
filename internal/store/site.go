package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A shared folder is read as one site. Its pages need few rows of it, however large it is: the
// statements in this file follow indexes from one folder to the next, and never read all folders,
// projects or documents of a workspace.

const selectSiteSize = `
WITH RECURSIVE tree (id, project_count) AS (
  SELECT id, project_count FROM folders WHERE ws = $1 AND id = $2
  UNION ALL
  SELECT f.id, f.project_count FROM tree CROSS JOIN folders f WHERE f.ws = $1 AND f.parent_id = tree.id)
SELECT COUNT(*), CAST(COALESCE(SUM(project_count), 0) AS BIGINT)
FROM (SELECT project_count FROM tree LIMIT $3) AS t`

// SiteSize counts the folders of a tree, up to `most`, and the projects in the folders that it
// counted.
func (r *Reader) SiteSize(ws sheaf.WorkspaceID, top sheaf.FolderID, most int) (folders, projects int64, err error) {
	size, _, err := one(r, selectSiteSize, func(w *row) [2]int64 { return [2]int64{w.Int(), w.Int()} }, ws, top, most)
	return size[0], size[1], err
}

const selectSiteFolders = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ` + inTree + `
ORDER BY depth, sort_order, number`

// SiteFolders returns the folders of a tree, the top first, by depth and then in their order.
func (r *Reader) SiteFolders(ws sheaf.WorkspaceID, top sheaf.FolderID) ([]sheaf.Folder, error) {
	return all(r, selectSiteFolders, ScanFolder, ws, top)
}

// selectSiteProjects begins with the folders. With IN, SQLite would read all projects of the
// workspace, because projects_filed has them in this order.
const selectSiteProjects = `
SELECT p.id, p.name, p.folder_id, p.document_count
FROM (SELECT id AS folder FROM folders WHERE ` + inTree + `) AS t CROSS JOIN projects p
WHERE p.ws = $1 AND p.folder_id = t.folder
ORDER BY p.sort_order, p.number`

// SiteProjects returns the projects in the folders of a tree, in their order. They have only their
// id, name, folder and number of documents.
func (r *Reader) SiteProjects(ws sheaf.WorkspaceID, top sheaf.FolderID) ([]sheaf.Project, error) {
	return all(r, selectSiteProjects, func(w *row) sheaf.Project {
		return sheaf.Project{ID: readID[sheaf.ProjectID](w), Name: w.Text(), FolderID: optID[sheaf.FolderID](w), DocumentCount: w.Int()}
	}, ws, top)
}

var selectTrees = engine.NewBulk(`
SELECT `+treeColumns+`
FROM documents
WHERE ws = {workspace} AND project_id = {wanted} AND deleted_at IS NULL`, "", "workspace int", "wanted id")

// DocumentTrees is DocumentTree for several projects. PostgreSQL answers in one round trip.
func (r *Reader) DocumentTrees(ws sheaf.WorkspaceID, projects []sheaf.ProjectID) ([][]sheaf.TreeEntry, error) {
	rows, trees := make([][]any, len(projects)), make([][]sheaf.TreeEntry, len(projects))
	for i, id := range projects {
		rows[i] = []any{ws, id}
	}
	err := r.run(selectTrees, rows, func(i int, w *row) { trees[i] = append(trees[i], scanTreeEntry(w)) })
	for i := range trees {
		trees[i] = sheaf.ReadingOrder(trees[i])
	}
	return trees, err
}

// Brief is what a list of all pages of a share has of a project or a document.
type Brief struct {
	ID, Title   string
	Description string // its first BriefText characters; empty for none
	UpdatedAt   time.Time
	Documents   int64 // of a project
}

// BriefText is the number of characters of a description in a Brief.
const BriefText = 300

const briefText = `SUBSTR(COALESCE(description, ''), 1, 300)`

// firstRunes returns the first n characters of s.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func scanBrief(r *row) Brief {
	return Brief{ID: readID[string](r), Title: r.Text(), Description: r.Text(), UpdatedAt: r.Time(), Documents: r.Int()}
}

// FoldersIn returns the first `most` folders directly in a folder, in their order.
func (r *Reader) FoldersIn(ws sheaf.WorkspaceID, parent sheaf.FolderID, most int) ([]sheaf.Folder, error) {
	l := listing{columns: FolderColumns, table: "folders" + r.dialect().By("folders_in_parent"), order: projectOrder(sheaf.ByOrder)}
	l.where.And("ws = ?", ws)
	l.where.And("parent_id = ?", parent)
	return all(r, l.text(false), ScanFolder, append(l.where.Args, most, 0)...)
}

// BriefProjects returns the first `most` projects directly in a folder, in their order.
func (r *Reader) BriefProjects(ws sheaf.WorkspaceID, folder sheaf.FolderID, most int) ([]Brief, error) {
	l := listing{columns: "id, name, " + briefText + ", updated_at, document_count", order: projectOrder(sheaf.ByOrder),
		table: "projects" + r.dialect().By("projects_in_folder")}
	l.where.And("ws = ?", ws)
	l.where.And("folder_id = ?", folder)
	return all(r, l.text(false), scanBrief, append(l.where.Args, most, 0)...)
}

// RecentDocuments returns `most` documents of a project, those that were changed last first.
func (r *Reader) RecentDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, most int) ([]Brief, error) {
	l := listing{columns: "id, title, " + briefText + ", updated_at, CAST(0 AS BIGINT)", order: []string{"updated_at", "number"},
		table: "documents" + r.dialect().By("documents_in_project")}
	l.where.And("ws = ?", ws)
	l.where.And("project_id = ?", project)
	l.where.And("deleted_at IS NULL")
	return all(r, l.text(true), scanBrief, append(l.where.Args, most, 0)...)
}

var selectDescriptions = engine.NewBulk(`
SELECT id, `+briefText+`
FROM documents
WHERE ws = {workspace} AND project_id = {wanted} AND deleted_at IS NULL AND description IS NOT NULL`, "", "workspace int", "wanted id")

// BriefDescriptions returns the first BriefText characters of the descriptions of all documents of the
// projects that have one.
func (r *Reader) BriefDescriptions(ws sheaf.WorkspaceID, projects []sheaf.ProjectID) (map[sheaf.DocumentID]string, error) {
	rows, found := make([][]any, len(projects)), map[sheaf.DocumentID]string{}
	for i, id := range projects {
		rows[i] = []any{ws, id}
	}
	err := r.run(selectDescriptions, rows, func(_ int, w *row) {
		id := readID[sheaf.DocumentID](w)
		found[id] = w.Text()
	})
	return found, err
}

const selectReleasedFields = `
SELECT d.document_id, f.form, f.bytes, f.body
FROM release_documents d
JOIN release_texts f ON f.ws = d.ws AND f.hash = d.fields_hash
WHERE d.ws = $1 AND d.release = $2`

// ReleasedDescriptions is BriefDescriptions for the documents of a release. The caller has read the release.
func (r *Reader) ReleasedDescriptions(ws sheaf.WorkspaceID, release sheaf.Release) (map[sheaf.DocumentID]string, error) {
	found := map[sheaf.DocumentID]string{}
	err := r.each(selectReleasedFields, func(w *row) error {
		var d sheaf.Document
		id := readID[sheaf.DocumentID](w)
		err := scanFields(&d, w)
		if d.Description != nil {
			found[id] = firstRunes(*d.Description, BriefText)
		}
		return err
	}, ws, release.Number)
	return found, err
}

// Place is the position of a folder or a project among those in the same folder.
type Place struct{ Order, Number int64 }

const countFoldersBefore = `
SELECT COUNT(*)
FROM folders
WHERE ws = $1 AND parent_id = $2 AND (sort_order, number) < ($3, $4)`

// FoldersBefore counts the folders in `parent` that come before a place.
func (r *Reader) FoldersBefore(ws sheaf.WorkspaceID, parent sheaf.FolderID, at Place) (int64, error) {
	return r.count(countFoldersBefore, ws, parent, at.Order, at.Number)
}

const countProjectsBefore = `
SELECT COUNT(*)
FROM projects
WHERE ws = $1 AND folder_id = $2 AND (sort_order, number) < ($3, $4)`

// ProjectsBefore counts the projects in `folder` that come before a place.
func (r *Reader) ProjectsBefore(ws sheaf.WorkspaceID, folder sheaf.FolderID, at Place) (int64, error) {
	return r.count(countProjectsBefore, ws, folder, at.Order, at.Number)
}

// ProjectBeside returns the project with documents in `folder` that is nearest before or after a
// place; found is false if there is none. Without a place it is the last or the first one.
func (r *Reader) ProjectBeside(ws sheaf.WorkspaceID, folder sheaf.FolderID, at *Place, before bool) (p sheaf.Project, found bool, err error) {
	l := listing{columns: ProjectColumns, table: "projects", order: projectOrder(sheaf.ByOrder)}
	l.table += r.dialect().By("projects_in_folder")
	l.where.And("ws = ?", ws)
	l.where.And("folder_id = ?", folder)
	l.where.And("document_count > 0")
	beside(&l.where, at, before)
	return one(r, l.text(before), ScanProject, append(l.where.Args, 1, 0)...)
}

// FoldersBeside returns up to `most` folders in `parent` before or after a place, the nearest first.
// Without a place it begins at the end or at the beginning. Folders that have neither projects nor
// folders are left out.
func (r *Reader) FoldersBeside(ws sheaf.WorkspaceID, parent sheaf.FolderID, at *Place, before bool, most int) ([]sheaf.Folder, error) {
	l := listing{columns: FolderColumns, table: "folders", order: projectOrder(sheaf.ByOrder)}
	l.table += r.dialect().By("folders_in_parent")
	l.where.And("ws = ?", ws)
	l.where.And("parent_id = ?", parent)
	l.where.And("(project_count > 0 OR EXISTS (SELECT 1 FROM folders c WHERE c.ws = folders.ws AND c.parent_id = folders.id))")
	beside(&l.where, at, before)
	return all(r, l.text(before), ScanFolder, append(l.where.Args, most, 0)...)
}

// beside adds the condition on what comes before or after a place.
func beside(where *engine.Conditions, at *Place, before bool) {
	if at == nil {
		return
	}
	compare := ">"
	if before {
		compare = "<"
	}
	where.And("(sort_order, number) "+compare+" (?, ?)", at.Order, at.Number)
}

// EndOfTree returns the first document of a project in reading order, or the last, with its title;
// nil if there is none. It reads one document per level.
func (r *Reader) EndOfTree(ws sheaf.WorkspaceID, project sheaf.ProjectID, last bool) (*sheaf.TreeEntry, error) {
	level, id := TreeLevel{Project: &project}, nowhere
	for range walkMost {
		ends, err := r.Siblings(ws, level, nil, last, nowhere, 1)
		if err != nil {
			return nil, fmt.Errorf("find the end of project %s: %w", project, err)
		}
		if len(ends) == 0 {
			break
		}
		if id = ends[0].ID; !last {
			break
		}
		level = TreeLevel{Parent: &id}
	}
	if id == nowhere {
		return nil, nil
	}
	d, err := r.Document(ws, id)
	return &sheaf.TreeEntry{ID: id, Title: d.Title}, err
}

// nowhere is the id of no document.
const nowhere = sheaf.DocumentID("00000000-0000-0000-0000-000000000000")
