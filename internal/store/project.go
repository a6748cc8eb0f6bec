package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// ProjectColumns are what ScanProject reads, in its order.
const ProjectColumns = `id, name, description, icon, color, folder_id, sort_order, visibility, document_count,
  created_at, updated_at, number, revision`

// ScanProject reads a row of ProjectColumns.
func ScanProject(r *row) sheaf.Project {
	return sheaf.Project{
		ID: readID[sheaf.ProjectID](r), Name: r.Text(), Description: r.OptText(), Icon: r.OptText(), Color: r.OptText(),
		FolderID: optID[sheaf.FolderID](r), SortOrder: int32(r.Int()), Visibility: r.Text(), DocumentCount: r.Int(),
		CreatedAt: r.Time(), UpdatedAt: r.Time(), Number: r.Int(), Revision: r.Int(),
	}
}

const selectProject = `
SELECT ` + ProjectColumns + `
FROM projects
WHERE ws = $1 AND id = $2`

// Project returns the workspace's project, or NotFound.
func (r *Reader) Project(ws sheaf.WorkspaceID, id sheaf.ProjectID) (sheaf.Project, error) {
	p, found, err := one(r, selectProject, ScanProject, ws, id)
	if err == nil && !found {
		err = sheaf.Missing("project")
	}
	return p, err
}

// Projects returns a page of the workspace's projects.
func (r *Reader) Projects(ws sheaf.WorkspaceID, f sheaf.ProjectFilter) (sheaf.Page[sheaf.Project], error) {
	l := listing{columns: ProjectColumns, table: "projects", order: projectOrder(f.Sort), total: -1}
	l.where.And("ws = ?", ws)
	byFolder(&l.where, "folder_id", f.Folder)
	if f.Folder.Set && f.Sort != sheaf.ByOrder {
		l.table += r.dialect().By("projects_in_folder") // and not all projects, in the order that is asked for
	}
	if f.Query != "" {
		q := Fold(f.Query)
		l.where.And("("+r.dialect().Contains("name_folded")+" OR "+r.dialect().Contains("description_folded")+")", q, q)
	}
	if err := r.projectTotal(&l, ws, f); err != nil {
		return sheaf.Page[sheaf.Project]{}, err
	}
	return list(r, l, f.Paging, ScanProject)
}

// projectTotal takes the total from a counter where there is one.
func (r *Reader) projectTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.ProjectFilter) (err error) {
	inFolder := sheaf.ProjectFilter{Folder: f.Folder, Sort: f.Sort, Paging: f.Paging}
	switch {
	case f != inFolder || f.Folder.Null: // something else narrows it: the rows are counted
	case f.Folder.Set:
		l.total, err = r.count(`SELECT project_count FROM folders WHERE ws = $1 AND id = $2`, ws, f.Folder.Value)
	default:
		l.total, err = r.count(`SELECT projects FROM workspaces WHERE ws = $1`, ws)
	}
	return err
}

// byFolder adds the filter of a parent: an id, null for the root level, or none.
func byFolder(w *engine.Conditions, column string, parent sheaf.Opt[sheaf.FolderID]) {
	switch {
	case parent.Null:
		w.And(column + " IS NULL")
	case parent.Set:
		w.And(column+" = ?", parent.Value)
	}
}

// projectOrder is the order of projects and of folders.
func projectOrder(s sheaf.ProjectSort) []string {
	switch s {
	case sheaf.ByName:
		return []string{"name_folded", "number"}
	case sheaf.ByCreated:
		return []string{"number"}
	case sheaf.ByUpdated:
		return []string{"updated_at", "number"}
	}
	return []string{"sort_order", "number"}
}

const insertProject = `
INSERT INTO projects (ws, id, folder_id, name, name_folded, description, description_folded, icon, color,
  sort_order, visibility, document_count, number, revision, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// InsertProject adds a project; its folder's count rises.
func (tx *Tx) InsertProject(ws sheaf.WorkspaceID, p sheaf.Project) error {
	err := tx.exec(insertProject, ws, p.ID, p.FolderID, p.Name, Fold(p.Name), p.Description, foldOpt(p.Description),
		p.Icon, p.Color, p.SortOrder, p.Visibility, p.DocumentCount, p.Number, p.Revision, p.CreatedAt, p.UpdatedAt)
	if err != nil {
		return fmt.Errorf("insert project %s: %w", p.ID, err)
	}
	return tx.countProjects(ws, p.FolderID, +1)
}

const updateProject = `
UPDATE projects
SET folder_id = $3, name = $4, name_folded = $5, description = $6, description_folded = $7, icon = $8, color = $9,
  sort_order = $10, visibility = $11, revision = $12, updated_at = $13
WHERE ws = $1 AND id = $2`

// UpdateProject writes a project's own fields; the folders' counts follow.
func (tx *Tx) UpdateProject(ws sheaf.WorkspaceID, before, p sheaf.Project) error {
	err := tx.exec(updateProject, ws, p.ID, p.FolderID, p.Name, Fold(p.Name), p.Description, foldOpt(p.Description),
		p.Icon, p.Color, p.SortOrder, p.Visibility, p.Revision, p.UpdatedAt)
	if err != nil {
		return fmt.Errorf("update project %s: %w", p.ID, err)
	}
	if sameID(before.FolderID, p.FolderID) {
		return nil
	}
	if err := tx.countProjects(ws, before.FolderID, -1); err != nil {
		return err
	}
	return tx.countProjects(ws, p.FolderID, +1)
}

func sameID[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

const countProjects = `
UPDATE folders
SET project_count = project_count + $3
WHERE ws = $1 AND id = $2`

func (tx *Tx) countProjects(ws sheaf.WorkspaceID, folder *sheaf.FolderID, by int64) error {
	if folder == nil {
		return nil
	}
	return tx.exec(countProjects, ws, folder, by)
}

const deleteProject = `
DELETE FROM projects
WHERE ws = $1 AND id = $2`

// DeleteProject removes a project from which the documents were unlinked.
func (tx *Tx) DeleteProject(ws sheaf.WorkspaceID, p sheaf.Project) error {
	if err := tx.exec(deleteProject, ws, p.ID); err != nil {
		return fmt.Errorf("delete project %s: %w", p.ID, err)
	}
	return tx.countProjects(ws, p.FolderID, -1)
}

const selectFiled = `
SELECT ` + ProjectColumns + `
FROM projects
WHERE ws = $1 AND folder_id = $2
ORDER BY sort_order, number
LIMIT $3`

const unfileProjects = `
UPDATE projects
SET folder_id = NULL, revision = revision + 1,
  updated_at = CASE WHEN updated_at < $3 THEN $3 ELSE updated_at + 1 END
WHERE ws = $1 AND folder_id = $2 AND (sort_order, number) <= ($4, $5)`

// UnfileProjects moves the first of the folder's direct projects, at most that
// many, to the root level, and returns them as they were. The folder's count is
// left as it is: see CountProjects.
func (tx *Tx) UnfileProjects(ws sheaf.WorkspaceID, folder sheaf.FolderID, now time.Time, most int64) ([]sheaf.Project, error) {
	before, err := all(&tx.Reader, selectFiled, ScanProject, ws, folder, most)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	last := &before[len(before)-1]
	return before, tx.exec(unfileProjects, ws, folder, now, last.SortOrder, last.Number)
}

// CountProjects changes the folder's count by that much.
func (tx *Tx) CountProjects(ws sheaf.WorkspaceID, folder sheaf.FolderID, by int64) error {
	return tx.countProjects(ws, &folder, by)
}

const countDocuments = `
UPDATE projects
SET document_count = document_count + $3
WHERE ws = $1 AND id = $2`

func (tx *Tx) countDocuments(ws sheaf.WorkspaceID, project *sheaf.ProjectID, by int64) error {
	if project == nil || by == 0 {
		return nil
	}
	return tx.exec(countDocuments, ws, project, by)
}

// CountDocuments changes the project's count by that much.
func (tx *Tx) CountDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, by int64) error {
	return tx.countDocuments(ws, &project, by)
}
