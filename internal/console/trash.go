package console

import (
	"net/http"
	"slices"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// trashPage is the data of trash.html.
type trashPage struct {
	Documents []app.Trashed
	Count     int64 // of all deleted documents
	List      listing
}

// Reviewed reports whether a document that is shown is in a project that needs review.
func (p trashPage) Reviewed() bool {
	return slices.ContainsFunc(p.Documents, func(t app.Trashed) bool { return t.Approvals > 0 })
}

// trash answers GET /w/{workspace}/trash: the deleted documents, the last deleted first. A document
// that was deleted with everything below it is one line. A search finds each of them.
func (c *Console) trash(v *visit) error {
	l := v.listing("deleted document", "from", listPage, trashOrders)
	page, err := c.app.Trash(v.r.Context(), v.caller, sheaf.DocumentFilter{Query: l.Query, Sort: sheaf.DocumentSort(l.Order.sort), Paging: l.Paging})
	if err != nil {
		return err
	}
	all, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Deleted: true, Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	l.setResult(page.Total, len(page.Items))
	l.Deep = all.Total > page.Total
	return v.showWithTree(http.StatusOK, "trash", "", trashPage{page.Items, all.Total, l})
}

// purgeForm is the data of trash-delete.html.
type purgeForm struct {
	app.Trashed
	With app.ReleasesWith // the releases that have it
	Also bool             // it is taken out of the releases too
}

// Released returns the number of releases that have the document.
func (f purgeForm) Released() int { return len(f.With.Seen) }

// Listed returns the releases that the page names.
func (f purgeForm) Listed() []sheaf.Release {
	return f.With.Seen[:min(len(f.With.Seen), mostReleasesNamed)]
}

// More returns the number of releases that the page does not name.
func (f purgeForm) More() int { return f.Released() - len(f.Listed()) }

// mostReleasesNamed is the number of releases that trash-delete.html names.
const mostReleasesNamed = 10

// trashed finds the deleted document in the path, and its releases.
func (v *visit) trashed() (f purgeForm, err error) {
	if f.Trashed, err = find(v, "document", v.console.app.TrashedDocument); err != nil || !v.caller.May(sheaf.ReleasesRead) {
		return f, err
	}
	f.With, err = v.console.app.ReleasesWith(v.r.Context(), v.caller, f.ID)
	return f, err
}

// purgeForm answers GET /w/{workspace}/trash/{id}/delete: it asks for confirmation.
func (c *Console) purgeForm(v *visit) error {
	f, err := v.trashed()
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "trash-delete", "", f)
}

// purge answers POST /w/{workspace}/trash/{id}/delete: it deletes a document of the trash
// permanently. A document that is in releases stays, unless the person says that they lose it too.
func (c *Console) purge(v *visit) error {
	f, err := v.trashed()
	if err != nil {
		return err
	}
	f.Also = v.field("releases") == "true"
	if err := c.app.PurgeDocument(v.r.Context(), v.caller, f.ID, f.Also, sheaf.Match{}); err != nil {
		return v.again("trash-delete", f, err)
	}
	return v.done(v.at("trash"))
}
