package console

import (
	"html/template"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// documentPage is the data of document.html.
type documentPage struct {
	Document sheaf.Document
	HTML     template.HTML    // of its text, without its title
	Heading  string           // id of the title in the text
	By       string           // the author of the current version
	Saved    bool             // the form that leads here has just saved it
	Below    documentLevel    // the documents below it
	List     listing          // of these
	Open     []sheaf.Proposal // the open proposals that name it, newest first
	MoreOpen bool             // there are more of them
	People   people           // who made them
}

// document answers GET /w/{workspace}/documents/{id}: the text of a document.
func (c *Console) document(v *visit) error {
	d, err := find(v, "document", c.app.DocumentText)
	if err != nil {
		return err
	}
	data := documentPage{Document: d.Document, Saved: v.r.URL.Query().Has("saved")}
	if data.HTML, data.Heading, err = v.renderText(d.Content, d.Title, d.ID); err != nil {
		return err
	}
	if data.By, err = v.author(d.ID); err != nil {
		return err
	}
	data.List = v.listing("document", "from", app.MaxLevel, []order{{}})
	data.List.Query = ""
	if data.Below, err = v.documentTree(&data.List, nil, &d.ID); err != nil {
		return err
	}
	if err := v.fillOpen(&data); err != nil {
		return err
	}
	return v.showDocument("document", d.Document, data)
}

// documentRemoval is the data of document-delete.html.
type documentRemoval struct {
	sheaf.Document
	Below bool // documents are below it
}

// deleteDocumentForm answers GET /w/{workspace}/documents/{id}/delete: it asks for confirmation.
// If the document is in a project that needs review, the page suggests the deletion.
func (c *Console) deleteDocumentForm(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggests(d); {
	case err != nil:
		return err
	case suggests:
		return suggestActForm(suggestDelete)(v)
	}
	below, err := c.app.DocumentLevel(v.r.Context(), v.caller, nil, &d.ID, sheaf.Paging{Limit: 1})
	if err != nil {
		return err
	}
	return v.showDocument("document-delete", d, documentRemoval{d, below.Total > 0})
}

// deleteDocument answers POST /w/{workspace}/documents/{id}/delete: it moves a document to the
// trash, with everything below it.
func (c *Console) deleteDocument(v *visit) error {
	d, err := find(v, "document", c.app.Document)
	if err != nil {
		return err
	}
	v.LiftDeadlines() // there may be thousands below it
	if err := c.app.DeleteDocument(v.r.Context(), v.caller, d.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.documentsAddress(d.ProjectID) + "?deleted=" + string(d.ID))
}

// restoreDocument answers POST /w/{workspace}/documents/{id}/restore: it restores a document from
// the trash, with the documents that went along with it.
func (c *Console) restoreDocument(v *visit) error {
	v.LiftDeadlines() // thousands may have gone along with it
	d, err := find(v, "document", c.app.RestoreDocument)
	if err != nil {
		return err
	}
	return v.done(v.documentsAddress(d.ProjectID))
}
