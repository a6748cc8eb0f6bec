package console

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// trashPage is the data of trash.html.
type trashPage struct {
	Documents []app.Trashed
	Count     int64 // of all deleted documents
	List      listing
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

// purge answers POST /w/{workspace}/trash/{id}/delete: it deletes a document of the trash
// permanently.
func (c *Console) purge(v *visit) error {
	d, err := find(v, "document", c.app.TrashedDocument)
	if err != nil {
		return err
	}
	if err := c.app.PurgeDocument(v.r.Context(), v.caller, d.ID, v.r.FormValue("releases") == "true", sheaf.Match{}); err != nil {
		return v.again("trash-delete", d, err)
	}
	return v.done(v.at("trash"))
}
