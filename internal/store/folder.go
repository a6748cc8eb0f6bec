package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// FolderColumns are what ScanFolder reads, in its order.
const FolderColumns = `id, name, entity_type, parent_id, color, sort_order, external_id, depth, project_count,
  branding_count, created_at, updated_at, number, revision`

// ScanFolder reads a row of FolderColumns.
func ScanFolder(r *row) sheaf.Folder {
	return sheaf.Folder{
		ID: readID[sheaf.FolderID](r), Name: r.Text(), EntityType: sheaf.EntityType(r.Text()), ParentID: optID[sheaf.FolderID](r),
		Color: r.Text(), SortOrder: int32(r.Int()), ExternalID: r.OptText(), Depth: int(r.Int()), ProjectCount: r.Int(),
		BrandingCount: r.Int(),
		CreatedAt:     r.Time(), UpdatedAt: r.Time(), Number: r.Int(), Revision: r.Int(),
	}
}

const selectFolder = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ws = $1 AND id = $2`

// Folder returns the workspace's folder, or NotFound.
func (r *Reader) Folder(ws sheaf.WorkspaceID, id sheaf.FolderID) (sheaf.Folder, error) {
	f, found, err := one(r, selectFolder, ScanFolder, ws, id)
	if err == nil && found {
		found, err = r.seesThis(ws, &f)
	}
	if err == nil && !found {
		return sheaf.Folder{}, sheaf.Missing("folder")
	}
	return f, err
}

// seesThis reports whether the folder is visible.
func (r *Reader) seesThis(ws sheaf.WorkspaceID, f *sheaf.Folder) (bool, error) {
	switch {
	case r.sight.restriction == nil:
		return true, nil
	case f.EntityType == sheaf.BrandingFolder:
		return r.sight.brandings, nil
	}
	return r.seesFolder(ws, &f.ID)
}

const selectFolderWith = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ws = $1 AND external_id = $2`

// FolderWith returns the workspace's folder with that external id; found is false if there is none.
func (r *Reader) FolderWith(ws sheaf.WorkspaceID, externalID string) (f sheaf.Folder, found bool, err error) {
	f, found, err = one(r, selectFolderWith, ScanFolder, ws, externalID)
	if err == nil && found {
		found, err = r.seesThis(ws, &f)
	}
	return f, found, err
}

// Folders returns a page of the workspace's folders.
func (r *Reader) Folders(ws sheaf.WorkspaceID, f sheaf.FolderFilter) (sheaf.Page[sheaf.Folder], error) {
	l := listing{columns: FolderColumns, table: "folders", order: projectOrder(f.Sort), total: -1}
	l.where.And("ws = ?", ws)
	if f.Top {
		f.Parent = r.top(&l.where, ws, "parent_id", f.Parent)
	}
	r.seeFolders(&l.where, ws)
	if f.EntityType != "" {
		l.where.And("entity_type = ?", f.EntityType)
	}
	byFolder(&l.where, "parent_id", f.Parent)
	byReference(&l.where, f.ExternalID, f.UpdatedSince)
	switch sorted := f.Sort != sheaf.ByOrder; { // use the index of the filter, not that of the sort order
	case f.ExternalID != "":
		l.table += r.dialect().By("folders_by_external_id")
	case f.Parent.Set && sorted:
		l.table += r.dialect().By("folders_in_parent")
	case f.EntityType != "" && sorted:
		l.table += r.dialect().By("folders_of_type")
	case f.UpdatedSince != nil && !f.Parent.Set && f.EntityType == "":
		l.table += r.dialect().By("folders_by_update")
	}
	if f.Query != "" {
		l.where.And(r.dialect().Contains("name_folded"), Fold(f.Query))
	}
	return list(r, l, f.Paging, ScanFolder)
}

const selectChildren = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ws = $1 AND parent_id = $2
ORDER BY sort_order, number`

// Subtree returns the folder and all below it, parents before their children.
func (r *Reader) Subtree(ws sheaf.WorkspaceID, top sheaf.Folder) ([]sheaf.Folder, error) {
	tree := []sheaf.Folder{top}
	for i := 0; i < len(tree); i++ {
		children, err := all(r, selectChildren, ScanFolder, ws, tree[i].ID)
		if err != nil {
			return nil, err
		}
		tree = append(tree, children...)
	}
	return tree, nil
}

// countedAtOnce is the number of folders per statement of Subfolders. It is fixed, so that the text
// is always the same.
const countedAtOnce = 50

var countSubfolders = `
SELECT parent_id, COUNT(*)
FROM folders
WHERE ws = $1 AND parent_id IN (` + ordinals(2, countedAtOnce) + `)
GROUP BY parent_id`

// ordinals returns n consecutive parameters, starting with $from.
func ordinals(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(list, ", ")
}

// Subfolders counts the folders directly in each of the folders `of`. A folder without any has no
// entry.
func (r *Reader) Subfolders(ws sheaf.WorkspaceID, of []sheaf.FolderID) (map[sheaf.FolderID]int64, error) {
	counts := map[sheaf.FolderID]int64{}
	for some := range slices.Chunk(of, countedAtOnce) {
		args := []any{ws}
		for i := range countedAtOnce {
			args = append(args, some[min(i, len(some)-1)]) // pad with the last id
		}
		err := r.query(countSubfolders, func(w *row) { counts[readID[sheaf.FolderID](w)] = w.Int() }, args...)
		if err != nil {
			return nil, fmt.Errorf("count the folders in %d: %w", len(of), err)
		}
	}
	return counts, nil
}

// inTree is the condition for folder $2 of workspace $1 and all folders below it. CROSS JOIN makes
// SQLite look up the children of each folder. With JOIN it reads all folders of the workspace for each.
const inTree = `ws = $1 AND id IN (
  WITH RECURSIVE tree (id) AS (
    SELECT id FROM folders WHERE ws = $1 AND id = $2
    UNION ALL
    SELECT f.id FROM tree CROSS JOIN folders f WHERE f.ws = $1 AND f.parent_id = tree.id)
  SELECT id FROM tree)`

// TreeSize is the number of folders in a tree, the top included, and of the projects or brandings
// in them (Filed). All folders of a tree have the same entity type. Deepest is the greatest depth.
type TreeSize struct {
	Folders, Filed int64
	Deepest        int
}

const selectTreeSize = `
SELECT COUNT(*), CAST(COALESCE(SUM(project_count + branding_count), 0) AS BIGINT), COALESCE(MAX(depth), 0)
FROM folders
WHERE ` + inTree

// TreeSize returns the size of the tree below and including top.
func (r *Reader) TreeSize(ws sheaf.WorkspaceID, top sheaf.FolderID) (TreeSize, error) {
	size, _, err := one(r, selectTreeSize, func(w *row) TreeSize { return TreeSize{w.Int(), w.Int(), int(w.Int())} }, ws, top)
	return size, err
}

const selectFiledFolders = `
SELECT id
FROM folders
WHERE project_count + branding_count > 0 AND ` + inTree + `
ORDER BY depth DESC, number
LIMIT $3`

// FiledFolders returns up to `most` folders of the tree that contain projects or brandings.
func (r *Reader) FiledFolders(ws sheaf.WorkspaceID, top sheaf.FolderID, most int64) ([]sheaf.FolderID, error) {
	return all(r, selectFiledFolders, func(w *row) sheaf.FolderID { return readID[sheaf.FolderID](w) }, ws, top, most)
}

const selectLowest = `
SELECT ` + FolderColumns + `
FROM folders
WHERE ` + inTree + `
ORDER BY depth DESC, number
LIMIT $3`

// LowestFolders returns up to `most` folders of the tree, deepest first, so that children come
// before their parents.
func (r *Reader) LowestFolders(ws sheaf.WorkspaceID, top sheaf.FolderID, most int64) ([]sheaf.Folder, error) {
	return all(r, selectLowest, ScanFolder, ws, top, most)
}

const insertFolder = `
INSERT INTO folders (ws, id, entity_type, parent_id, name, name_folded, color, sort_order, external_id, depth,
  project_count, branding_count, number, revision, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

// InsertFolder adds a folder.
func (tx *Tx) InsertFolder(ws sheaf.WorkspaceID, f sheaf.Folder) error {
	err := tx.exec(insertFolder, ws, f.ID, f.EntityType, f.ParentID, f.Name, Fold(f.Name), f.Color, f.SortOrder, f.ExternalID, f.Depth,
		f.ProjectCount, f.BrandingCount, f.Number, f.Revision, f.CreatedAt, f.UpdatedAt)
	if err != nil {
		return fmt.Errorf("insert folder %s: %w", f.ID, err)
	}
	return nil
}

const updateFolder = `
UPDATE folders
SET parent_id = $3, name = $4, name_folded = $5, color = $6, sort_order = $7, depth = $8, revision = $9, updated_at = $10,
  external_id = $11
WHERE ws = $1 AND id = $2`

// UpdateFolder writes a folder's own fields, and its depth.
func (tx *Tx) UpdateFolder(ws sheaf.WorkspaceID, f sheaf.Folder) error {
	err := tx.exec(updateFolder, ws, f.ID, f.ParentID, f.Name, Fold(f.Name), f.Color, f.SortOrder, f.Depth, f.Revision, f.UpdatedAt,
		f.ExternalID)
	if err != nil {
		return fmt.Errorf("update folder %s: %w", f.ID, err)
	}
	return nil
}

const deepenFolders = `
UPDATE folders
SET depth = depth + $3
WHERE id <> $2 AND ` + inTree

// DeepenFolders adds `by` to the depth of all folders below top.
func (tx *Tx) DeepenFolders(ws sheaf.WorkspaceID, top sheaf.FolderID, by int) error {
	return tx.exec(deepenFolders, ws, top, by)
}

const deleteFolder = `
DELETE FROM folders
WHERE ws = $1 AND id = $2`

// DeleteFolder deletes an empty folder.
func (tx *Tx) DeleteFolder(ws sheaf.WorkspaceID, id sheaf.FolderID) error {
	if err := tx.exec(deleteFolder, ws, id); err != nil {
		return fmt.Errorf("delete folder %s: %w", id, err)
	}
	return nil
}

// CountFolders returns how many folders the workspace has.
func (r *Reader) CountFolders(ws sheaf.WorkspaceID) (int64, error) {
	return r.count(`SELECT COUNT(*) FROM folders WHERE ws = $1`, ws)
}
