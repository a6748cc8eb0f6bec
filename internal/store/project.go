package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// ProjectColumns are what ScanProject reads, in its order.
const ProjectColumns = `id, name, description, icon, color, folder_id, sort_order, visibility, external_id, url, metadata,
  approvals, document_count, created_at, updated_at, number, revision`

// ScanProject reads a row of ProjectColumns.
func ScanProject(r *row) sheaf.Project {
	return sheaf.Project{
		ID: readID[sheaf.ProjectID](r), Name: r.Text(), Description: r.OptText(), Icon: r.OptText(), Color: r.OptText(),
		FolderID: optID[sheaf.FolderID](r), SortOrder: int32(r.Int()), Visibility: r.Text(), ExternalID: r.OptText(), URL: r.OptText(),
		Metadata: readMetadata(r), Approvals: r.Int(), DocumentCount: r.Int(),
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
	if err == nil && found {
		found, err = r.seesFiled(ws, id, p.FolderID)
	}
	if err == nil && !found {
		return sheaf.Project{}, sheaf.Missing("project")
	}
	return p, err
}

// CheckProject returns NotFound unless the workspace has the project. Without a restriction it reads
// only the primary key.
func (r *Reader) CheckProject(ws sheaf.WorkspaceID, id sheaf.ProjectID) error {
	if r.sight.restriction != nil {
		return must("project")(r.seesIn(ws, &id))
	}
	n, err := r.count(`SELECT 1 FROM projects WHERE ws = $1 AND id = $2`, ws, id)
	if err == nil && n == 0 {
		err = sheaf.Missing("project")
	}
	return err
}

// ApprovalsOf returns how many approvals changes of the project's documents need. It is 0 for a project
// that does not exist.
func (r *Reader) ApprovalsOf(ws sheaf.WorkspaceID, id sheaf.ProjectID) (int64, error) {
	return r.count(`SELECT approvals FROM projects WHERE ws = $1 AND id = $2`, ws, id)
}

const selectProjectWith = `
SELECT ` + ProjectColumns + `
FROM projects
WHERE ws = $1 AND external_id = $2`

// ProjectWith returns the workspace's project with that external id; found is false if there is
// none.
func (r *Reader) ProjectWith(ws sheaf.WorkspaceID, externalID string) (p sheaf.Project, found bool, err error) {
	p, found, err = one(r, selectProjectWith, ScanProject, ws, externalID)
	if err == nil && found {
		found, err = r.seesFiled(ws, p.ID, p.FolderID)
	}
	return p, found, err
}

// Projects returns a page of the workspace's projects.
func (r *Reader) Projects(ws sheaf.WorkspaceID, f sheaf.ProjectFilter) (sheaf.Page[sheaf.Project], error) {
	l := listing{columns: ProjectColumns, table: "projects", order: projectOrder(f.Sort), total: -1}
	l.where.And("ws = ?", ws)
	if f.Top {
		f.Folder, f.Top = r.top(&l.where, ws, "folder_id", f.Folder), false
	}
	r.seeProjects(&l.where, ws)
	byFolder(&l.where, "folder_id", f.Folder)
	byReference(&l.where, f.ExternalID, f.UpdatedSince)
	switch sorted := f.Sort != sheaf.ByOrder; { // use the index of the filter, not that of the sort order
	case f.ExternalID != "":
		l.table += r.dialect().By("projects_by_external_id")
	case f.Folder.Null && sorted:
		l.table += r.dialect().By("projects_at_root")
	case f.Folder.Set && sorted:
		l.table += r.dialect().By("projects_in_folder")
	case f.Folder.Set:
	case f.UpdatedSince != nil:
		l.table += r.dialect().By("projects_by_update")
	default:
		l.parts = projectParts(f.Sort)
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

// projectTotal sets l.total from a counter if there is one for this filter.
func (r *Reader) projectTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.ProjectFilter) (err error) {
	inFolder := sheaf.ProjectFilter{Folder: f.Folder, Sort: f.Sort, Paging: f.Paging}
	switch {
	case f != inFolder || f.Folder.Null || r.sight.restriction != nil: // another filter is set: count the rows
	case f.Folder.Set:
		l.total, err = r.count(`SELECT project_count FROM folders WHERE ws = $1 AND id = $2`, ws, f.Folder.Value)
	default:
		l.total, err = r.count(`SELECT projects FROM workspaces WHERE ws = $1`, ws)
	}
	return err
}

// byFolder adds the condition on the parent: an id, null for the root level, or no condition.
func byFolder(w *engine.Conditions, column string, parent sheaf.Opt[sheaf.FolderID]) {
	switch {
	case parent.Null:
		w.And(column + " IS NULL")
	case parent.Set:
		w.And(column+" = ?", parent.Value)
	}
}

// byReference adds the conditions on the external id, and on the earliest updated_at.
func byReference(w *engine.Conditions, externalID string, since *time.Time) {
	if externalID != "" {
		w.And("external_id = ?", externalID)
	}
	if since != nil {
		w.And("updated_at >= ?", *since)
	}
}

// readMetadata reads metadata; NULL becomes "".
func readMetadata(r *row) sheaf.Metadata {
	if m := r.OptText(); m != nil {
		return sheaf.Metadata(*m)
	}
	return ""
}

// storedMetadata is the inverse of readMetadata.
func storedMetadata(m sheaf.Metadata) any {
	if m == "" {
		return nil
	}
	return string(m)
}

// projectParts returns the conditions that split all projects into parts with one index each in the
// given order (see listing.parts); nil if one index has all of them.
//
//	index                 which projects, and in which order
//	projects_at_root      those at the root level: by sort_order, number
//	projects_filed        the others, in whatever folder: by sort_order, number
//	projects_by_creation  those with a sort_order other than 0: by number
//
// Most projects are at the root level and have sort_order 0. They are only in the first index,
// which lists them by creation too, since their sort_order is the same. One more index would make
// each creation 5 % slower.
func projectParts(s sheaf.ProjectSort) []string {
	switch s {
	case sheaf.ByName, sheaf.ByUpdated: // one index has all projects
		return nil
	case sheaf.ByCreated:
		return []string{"folder_id IS NULL AND sort_order = 0", "folder_id IS NOT NULL AND sort_order = 0", "sort_order <> 0"}
	}
	return []string{"folder_id IS NULL", "folder_id IS NOT NULL"}
}

// projectOrder returns the sort columns of projects, folders and brandings.
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

// InsertProject adds a project and raises its folder's count.
func (tx *Tx) InsertProject(ws sheaf.WorkspaceID, p sheaf.Project) error {
	return tx.InsertProjects(ws, []*sheaf.Project{&p})
}

// UpdateProject writes a project's own fields and updates the counts of its folders.
func (tx *Tx) UpdateProject(ws sheaf.WorkspaceID, before, p sheaf.Project) error {
	var set assignments
	set.to("description", p.Description)
	set.to("description_folded", foldOpt(p.Description))
	set.to("icon", p.Icon)
	set.to("color", p.Color)
	set.to("visibility", p.Visibility)
	set.to("url", p.URL)
	set.to("metadata", storedMetadata(p.Metadata))
	set.to("revision", p.Revision)
	set.to("updated_at", p.UpdatedAt)
	if p.Name != before.Name {
		set.to("name", p.Name)
		set.to("name_folded", Fold(p.Name))
	}
	if !sheaf.SameID(p.FolderID, before.FolderID) {
		set.to("folder_id", p.FolderID)
	}
	if p.SortOrder != before.SortOrder {
		set.to("sort_order", p.SortOrder)
	}
	if !sheaf.SameID(p.ExternalID, before.ExternalID) {
		set.to("external_id", p.ExternalID)
	}
	if p.Approvals != before.Approvals {
		set.to("approvals", p.Approvals)
	}
	err := set.update(tx, "projects", ws, p.ID)
	if err != nil {
		return fmt.Errorf("update project %s: %w", p.ID, err)
	}
	if sheaf.SameID(before.FolderID, p.FolderID) {
		return nil
	}
	if err := tx.countProjects(ws, before.FolderID, -1); err != nil {
		return err
	}
	return tx.countProjects(ws, p.FolderID, +1)
}

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

// DeleteProject deletes a project whose documents were unlinked before.
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

// FiledProjects returns up to `most` of the projects directly in the folder, in their order.
func (r *Reader) FiledProjects(ws sheaf.WorkspaceID, folder sheaf.FolderID, most int64) ([]sheaf.Project, error) {
	return all(r, selectFiled, ScanProject, ws, folder, most)
}

const unfileProjects = `
UPDATE projects
SET folder_id = NULL, revision = revision + 1, updated_at = $3
WHERE ws = $1 AND folder_id = $2 AND (sort_order, number) <= ($4, $5)`

// UnfileProjects moves the projects directly in the folder, up to and including `last`, which
// FiledProjects returned, to the root level, with updated_at = at. It does not change the folder's
// count: see CountProjects.
func (tx *Tx) UnfileProjects(ws sheaf.WorkspaceID, folder sheaf.FolderID, at time.Time, last sheaf.Project) error {
	return tx.exec(unfileProjects, ws, folder, at, last.SortOrder, last.Number)
}

// CountProjects adds `by` to the folder's count.
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

// CountDocuments adds `by` to the project's count.
func (tx *Tx) CountDocuments(ws sheaf.WorkspaceID, project sheaf.ProjectID, by int64) error {
	return tx.countDocuments(ws, &project, by)
}
