package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// Several folders, projects or documents are shared at once: each gets a link of its own, on the same terms.

// selectionShare is the data of selection-share.html: the form, and afterwards the links.
type selectionShare struct {
	selection
	sharePage          // the terms
	Links     []link   // of the new shares
	Undo      []string // the undo of each share
}

// link is the name and address of a share.
type link struct{ Name, URL string }

// All returns every link with its name, to copy them all at once.
func (s selectionShare) All() (text string) {
	for _, l := range s.Links {
		text += l.Name + "\n" + l.URL + "\n\n"
	}
	return text
}

// shareSelectionForm answers GET /w/{workspace}/selection/share: the form with the terms.
func (c *Console) shareSelectionForm(v *visit) error {
	f, err := v.selectionToShare(v.r.URL.Query()["item"])
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "selection-share", "", f)
}

// selectionToShare returns the form that shares records.
func (v *visit) selectionToShare(items []string) (f selectionShare, err error) {
	if f.selection, err = v.readSelection(items); err != nil {
		return f, err
	}
	f.Plan, f.Inner = v.member.Workspace.Plan.AllowShares() == nil, v.console.PublicURL == nil
	brandings, err := v.console.app.Brandings(v.r.Context(), v.caller, sheaf.BrandingFilter{Paging: sheaf.Paging{Limit: maxShown}})
	f.Brandings = brandings.Items
	return f, err
}

// shareSelection answers POST /w/{workspace}/selection/share: it shares all records, or none.
func (c *Console) shareSelection(v *visit) error {
	f, err := v.selectionToShare(v.r.PostForm["item"])
	if err != nil {
		return err
	}
	form, terms, err := v.shareChange()
	if err != nil {
		return err
	}
	var operations []sheaf.BatchOperation
	for _, p := range f.selection {
		o := sheaf.BatchOperation{Action: sheaf.BatchCreate, Noun: sheaf.BatchShare, Share: terms}
		o.Share.ResourceType, o.Share.ResourceID = sheaf.Some(string(p.Noun)), sheaf.Some(p.ID)
		operations = append(operations, o)
	}
	results, err := c.app.Batch(v.r.Context(), v.caller, operations)
	if err != nil {
		f.Form = form
		return v.again("selection-share", f, err)
	}
	for i, r := range results {
		if s, ok := r.Record.(*sheaf.Share); ok {
			f.Links = append(f.Links, link{f.selection[i].Name, s.URL})
			f.Undo = append(f.Undo, "unshare:share:"+r.ID)
		}
	}
	return v.showWithTree(http.StatusOK, "selection-share", "", f)
}
