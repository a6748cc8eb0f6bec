package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// trashPage is the data of trash.html.
type trashPage struct {
	Documents []sheaf.Document
	List      listing
}

// trash answers GET /w/{workspace}/trash: it lists the deleted documents, the last deleted first.
func (c *Console) trash(v *visit) error {
	l := v.listing("deleted document", "from", listPage, trashOrders)
	page, err := c.app.Documents(v.r.Context(), v.caller, sheaf.DocumentFilter{Deleted: true, Query: l.Query, Sort: sheaf.DocumentSort(l.Order.sort), Paging: l.Paging})
	if err != nil {
		return err
	}
	l.has(page.Total, len(page.Items))
	return v.showBeside(http.StatusOK, "trash", "", trashPage{page.Items, l})
}

// inTrash finds the deleted document in the path, or NotFound.
func (v *visit) inTrash() (sheaf.Document, error) {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return sheaf.Document{}, err
	}
	return v.console.app.DeletedDocument(v.r.Context(), v.caller, id)
}

// purgeForm answers GET /w/{workspace}/trash/{id}/delete: it asks whether a document shall be gone
// for good.
func (c *Console) purgeForm(v *visit) error {
	d, err := v.inTrash()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "trash-delete", "", d)
}

// purge answers POST /w/{workspace}/trash/{id}/delete: it removes a deleted document for good.
func (c *Console) purge(v *visit) error {
	d, err := v.inTrash()
	if err != nil {
		return err
	}
	if err := c.app.PurgeDocument(v.r.Context(), v.caller, d.ID, sheaf.Match{}); err != nil {
		return v.again("trash-delete", d, err)
	}
	return v.done(v.at("trash"))
}
