package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const brandingColumns = `id, name, folder_id, logo_media_id, color_primary, font, footer, sort_order,
  created_at, updated_at, number, revision`

// scanBranding reads a row of brandingColumns.
func scanBranding(r *row) sheaf.Branding {
	return sheaf.Branding{
		ID: readID[sheaf.BrandingID](r), Name: r.Text(), FolderID: optID[sheaf.FolderID](r), LogoMediaID: optID[sheaf.MediumID](r),
		ColorPrimary: r.Text(), Font: sheaf.Font(r.Text()), Footer: r.OptText(), SortOrder: int32(r.Int()),
		CreatedAt: r.Time(), UpdatedAt: r.Time(), Number: r.Int(), Revision: r.Int(),
	}
}

const selectBranding = `
SELECT ` + brandingColumns + `
FROM brandings
WHERE ws = $1 AND id = $2`

// Branding returns the workspace's branding, or NotFound.
func (r *Reader) Branding(ws sheaf.WorkspaceID, id sheaf.BrandingID) (sheaf.Branding, error) {
	if !r.seesBrandings() {
		return sheaf.Branding{}, sheaf.Missing("branding")
	}
	return mustFind(r, "branding", selectBranding, scanBranding, ws, id)
}

// Brandings returns a page of the workspace's brandings.
func (r *Reader) Brandings(ws sheaf.WorkspaceID, f sheaf.BrandingFilter) (sheaf.Page[sheaf.Branding], error) {
	l := listing{columns: brandingColumns, table: "brandings", order: projectOrder(f.Sort), total: -1}
	l.where.And("ws = ?", ws)
	if !r.seesBrandings() {
		return sheaf.Page[sheaf.Branding]{Paging: f.Paging}, nil
	}
	byFolder(&l.where, "folder_id", f.Folder)
	byReference(&l.where, "", f.UpdatedSince)
	switch sorted := f.Sort != sheaf.ByOrder; { // use the index of the filter, not that of the sort order
	case f.Folder.Set && sorted:
		l.table += r.dialect().By("brandings_in_folder")
	case f.UpdatedSince != nil && !f.Folder.Set:
		l.table += r.dialect().By("brandings_by_update")
	}
	if f.Query != "" {
		l.where.And(r.dialect().Contains("name_folded"), Fold(f.Query))
	}
	if err := r.brandingTotal(&l, ws, f); err != nil {
		return sheaf.Page[sheaf.Branding]{}, err
	}
	return list(r, l, f.Paging, scanBranding)
}

// brandingTotal sets l.total from a counter if there is one for this filter.
func (r *Reader) brandingTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.BrandingFilter) (err error) {
	inFolder := sheaf.BrandingFilter{Folder: f.Folder, Sort: f.Sort, Paging: f.Paging}
	switch {
	case f != inFolder || f.Folder.Null: // another filter is set: count the rows
	case f.Folder.Set:
		l.total, err = r.count(`SELECT branding_count FROM folders WHERE ws = $1 AND id = $2`, ws, f.Folder.Value)
	default:
		l.total, err = r.count(`SELECT brandings FROM workspaces WHERE ws = $1`, ws)
	}
	return err
}

var insertBrandings = engine.NewBulkInsert("brandings", "ws int", "id id", "folder_id id", "name", "name_folded", "logo_media_id id",
	"color_primary", "font", "footer", "sort_order int", "number int", "revision int", "created_at int", "updated_at int")

var countAllBrandings = engine.NewBulk(`
UPDATE folders
SET branding_count = branding_count + {more}
{rows}
WHERE folders.ws = {workspace} AND folders.id = {folder}`, "", "workspace int", "folder id", "more int")

// InsertBranding adds a branding and raises its folder's count.
func (tx *Tx) InsertBranding(ws sheaf.WorkspaceID, b sheaf.Branding) error {
	return tx.InsertBrandings(ws, []*sheaf.Branding{&b})
}

// InsertBrandings is InsertBranding for many.
func (tx *Tx) InsertBrandings(ws sheaf.WorkspaceID, brandings []*sheaf.Branding) error {
	rows := make([][]any, len(brandings))
	filed := map[sheaf.FolderID]int64{}
	for i, b := range brandings {
		rows[i] = []any{ws, b.ID, b.FolderID, b.Name, Fold(b.Name), b.LogoMediaID, b.ColorPrimary, string(b.Font), b.Footer,
			b.SortOrder, b.Number, b.Revision, b.CreatedAt, b.UpdatedAt}
		if b.FolderID != nil {
			filed[*b.FolderID]++
		}
	}
	if err := tx.insertMany(insertBrandings, rows); err != nil {
		return fmt.Errorf("insert %d brandings: %w", len(brandings), err)
	}
	return tx.run(countAllBrandings, counts(ws, filed), nothing)
}

// UpdateBranding writes a branding's own fields and updates the counts of its folders.
func (tx *Tx) UpdateBranding(ws sheaf.WorkspaceID, before, b sheaf.Branding) error {
	var set assignments
	set.to("logo_media_id", b.LogoMediaID)
	set.to("color_primary", b.ColorPrimary)
	set.to("font", string(b.Font))
	set.to("footer", b.Footer)
	set.to("revision", b.Revision)
	set.to("updated_at", b.UpdatedAt)
	if b.Name != before.Name {
		set.to("name", b.Name)
		set.to("name_folded", Fold(b.Name))
	}
	if !sheaf.SameID(b.FolderID, before.FolderID) {
		set.to("folder_id", b.FolderID)
	}
	if b.SortOrder != before.SortOrder {
		set.to("sort_order", b.SortOrder)
	}
	if err := set.update(tx, "brandings", ws, b.ID); err != nil {
		return fmt.Errorf("update branding %s: %w", b.ID, err)
	}
	if sheaf.SameID(before.FolderID, b.FolderID) {
		return nil
	}
	if err := tx.countBrandings(ws, before.FolderID, -1); err != nil {
		return err
	}
	return tx.countBrandings(ws, b.FolderID, +1)
}

const countBrandings = `
UPDATE folders
SET branding_count = branding_count + $3
WHERE ws = $1 AND id = $2`

func (tx *Tx) countBrandings(ws sheaf.WorkspaceID, folder *sheaf.FolderID, by int64) error {
	if folder == nil {
		return nil
	}
	return tx.exec(countBrandings, ws, folder, by)
}

// CountBrandings adds `by` to the folder's count.
func (tx *Tx) CountBrandings(ws sheaf.WorkspaceID, folder sheaf.FolderID, by int64) error {
	return tx.countBrandings(ws, &folder, by)
}

const deleteBranding = `
DELETE FROM brandings
WHERE ws = $1 AND id = $2`

// DeleteBranding deletes a branding that is not in use.
func (tx *Tx) DeleteBranding(ws sheaf.WorkspaceID, b sheaf.Branding) error {
	if err := tx.exec(deleteBranding, ws, b.ID); err != nil {
		return fmt.Errorf("delete branding %s: %w", b.ID, err)
	}
	return tx.countBrandings(ws, b.FolderID, -1)
}

const setDefaultBranding = `
UPDATE workspaces
SET default_branding = $2
WHERE ws = $1`

// SetDefaultBranding sets the branding that the workspace uses if none is named; nil: none.
func (tx *Tx) SetDefaultBranding(ws sheaf.WorkspaceID, id *sheaf.BrandingID) error {
	return tx.exec(setDefaultBranding, ws, id)
}

const selectFiledBrandings = `
SELECT ` + brandingColumns + `
FROM brandings
WHERE ws = $1 AND folder_id = $2
ORDER BY sort_order, number
LIMIT $3`

// FiledBrandings returns up to `most` of the brandings directly in the folder, in their order.
func (r *Reader) FiledBrandings(ws sheaf.WorkspaceID, folder sheaf.FolderID, most int64) ([]sheaf.Branding, error) {
	return all(r, selectFiledBrandings, scanBranding, ws, folder, most)
}

const unfileBrandings = `
UPDATE brandings
SET folder_id = NULL, revision = revision + 1, updated_at = $3
WHERE ws = $1 AND folder_id = $2 AND (sort_order, number) <= ($4, $5)`

// UnfileBrandings moves the brandings directly in the folder, up to and including `last`, which
// FiledBrandings returned, to the root level, with updated_at = at. It does not change the folder's
// count: see CountBrandings.
func (tx *Tx) UnfileBrandings(ws sheaf.WorkspaceID, folder sheaf.FolderID, at time.Time, last sheaf.Branding) error {
	return tx.exec(unfileBrandings, ws, folder, at, last.SortOrder, last.Number)
}

const selectWithLogo = `
SELECT ` + brandingColumns + `
FROM brandings
WHERE ws = $1 AND logo_media_id = $2
ORDER BY number
LIMIT $3`

// BrandingsWithLogo returns up to `most` brandings that have the medium as their logo, oldest
// first.
func (r *Reader) BrandingsWithLogo(ws sheaf.WorkspaceID, id sheaf.MediumID, most int64) ([]sheaf.Branding, error) {
	return all(r, selectWithLogo, scanBranding, ws, id, most)
}

const countWithLogo = `
SELECT COUNT(*)
FROM (SELECT 1 FROM brandings WHERE ws = $1 AND logo_media_id = $2 LIMIT $3) AS q`

// CountWithLogo counts the brandings that have the medium as their logo, up to `most`.
func (r *Reader) CountWithLogo(ws sheaf.WorkspaceID, id sheaf.MediumID, most int64) (int64, error) {
	return r.count(countWithLogo, ws, id, most)
}

const dropLogo = `
UPDATE brandings
SET logo_media_id = NULL, revision = revision + 1, updated_at = $3
WHERE ws = $1 AND logo_media_id = $2 AND number <= $4`

// DropLogo clears the logo of all brandings up to and including `last`, which BrandingsWithLogo
// returned, with updated_at = at.
func (tx *Tx) DropLogo(ws sheaf.WorkspaceID, id sheaf.MediumID, at time.Time, last sheaf.Branding) error {
	return tx.exec(dropLogo, ws, id, at, last.Number)
}

var knownBrandings = newKnown("brandings")

// KnownBrandings reports which of the brandings exist in the workspace.
func (r *Reader) KnownBrandings(ws sheaf.WorkspaceID, ids []sheaf.BrandingID) (map[sheaf.BrandingID]bool, error) {
	return known(r, knownBrandings, ws, ids)
}

const exportBrandings = `
SELECT ` + brandingColumns + `
FROM brandings
WHERE ws = $1
ORDER BY number`

// EachBranding calls each for the workspace's brandings in the order of their creation.
func (r *Reader) EachBranding(ws sheaf.WorkspaceID, each func(sheaf.Branding) error) error {
	return r.each(exportBrandings, func(w *row) error { return each(scanBranding(w)) }, ws)
}
