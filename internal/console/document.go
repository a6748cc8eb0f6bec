package console

import (
	"html/template"
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// looseDocuments shows the documents that are in no project.
func (c *Console) looseDocuments(v *visit) error {
	data := projectPage{Deleted: v.deleted()}
	if err := v.listDocuments(&data, sheaf.Nil[sheaf.ProjectID]()); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "documents", "", data)
}

// deleted is the document that can be brought back with one click.
func (v *visit) deleted() sheaf.DocumentID {
	id, _ := sheaf.ParseUUID(v.r.URL.Query().Get("deleted"))
	return sheaf.DocumentID(id)
}

// documentPage is the data of document.html.
type documentPage struct {
	Document sheaf.Document
	HTML     template.HTML // of its text
	By       string        // who made the present version
	Saved    bool          // just now, by the form that leads here
}

// document answers GET /w/{workspace}/documents/{id}: it shows the text of a document.
func (c *Console) document(v *visit) error {
	d, err := v.textOf()
	if err != nil {
		return err
	}
	data := documentPage{Document: d.Document, Saved: v.r.URL.Query().Has("saved")}
	if data.HTML, err = v.shown(d.Content); err != nil {
		return err
	}
	if data.By, err = v.author(d.ID); err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "document", v.here(d.Document), data)
}

// textOf finds the document in the path with its text, or NotFound.
func (v *visit) textOf() (sheaf.DocumentText, error) {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return sheaf.DocumentText{}, err
	}
	return v.console.app.DocumentText(v.r.Context(), v.caller, id)
}

// author says who made the present version of a document.
func (v *visit) author(id sheaf.DocumentID) (string, error) {
	names, err := v.people()
	if err != nil {
		return "", err
	}
	newest, err := v.console.app.Versions(v.r.Context(), v.caller, id, sheaf.Paging{Limit: 1, Desc: true})
	if err != nil || len(newest.Items) == 0 {
		return "somebody", err
	}
	return names.By(newest.Items[0]), nil
}

// here is what the tree marks beside a page about a document: its project.
func (v *visit) here(d sheaf.Document) string {
	if d.ProjectID == nil {
		return ""
	}
	return string(*d.ProjectID)
}

// home is the page that shows the documents of a project, or of none.
func (v *visit) home(p *sheaf.ProjectID) string {
	if p == nil {
		return v.at("documents")
	}
	return v.at("projects", string(*p))
}

// documentOf finds the document in the path, or NotFound.
func (v *visit) documentOf() (sheaf.Document, error) {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return sheaf.Document{}, err
	}
	return v.console.app.Document(v.r.Context(), v.caller, id)
}

func (c *Console) deleteDocumentForm(v *visit) error {
	d, err := v.documentOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "document-delete", v.here(d), d)
}

func (c *Console) deleteDocument(v *visit) error {
	d, err := v.documentOf()
	if err != nil {
		return err
	}
	if err := c.app.DeleteDocument(v.r.Context(), v.caller, d.ID, sheaf.Match{}); err != nil {
		return err
	}
	return v.done(v.home(d.ProjectID) + "?deleted=" + string(d.ID))
}

func (c *Console) restoreDocument(v *visit) error {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return err
	}
	d, err := c.app.RestoreDocument(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	return v.done(v.home(d.ProjectID))
}
