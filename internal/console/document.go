package console

import (
	"net/http"

	"sheaf.dev/internal/app"
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

// documentForm is for a new document, or a change of one.
type documentForm struct {
	ID          sheaf.DocumentID // empty: a new one
	Title       string
	Description string
	Project     sheaf.ProjectID
	Projects    []sheaf.Project // that it may be in
}

// withProjects fills in the choice of projects.
func (v *visit) withProjects(f documentForm) (documentForm, error) {
	page, err := v.console.app.Projects(v.r.Context(), v.caller, sheaf.ProjectFilter{Sort: sheaf.ByName, Paging: sheaf.Paging{Limit: app.MaxTree}})
	f.Projects = page.Items
	return f, err
}

func (v *visit) showDocument(f documentForm) error {
	f, err := v.withProjects(f)
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "document-form", string(f.Project), f)
}

func (v *visit) documentAgain(f documentForm, cause error) error {
	f, err := v.withProjects(f)
	if err != nil {
		return err
	}
	return v.again("document-form", f, cause)
}

func (c *Console) newDocument(v *visit) error {
	id, _ := sheaf.ParseUUID(v.r.URL.Query().Get("in"))
	return v.showDocument(documentForm{Project: sheaf.ProjectID(id)})
}

func (v *visit) documentForm() (documentForm, sheaf.DocumentChange, error) {
	f := documentForm{Title: v.field("title"), Description: v.field("description"), Project: sheaf.ProjectID(v.field("project"))}
	project, err := optID[sheaf.ProjectID](v, "project", "project")
	return f, sheaf.DocumentChange{Title: sheaf.Some(f.Title), Description: v.optField("description"), ProjectID: project}, err
}

func (c *Console) createDocument(v *visit) error {
	form, change, err := v.documentForm()
	if err != nil {
		return v.documentAgain(form, err)
	}
	d, err := c.app.CreateDocument(v.r.Context(), v.caller, change)
	if err != nil {
		return v.documentAgain(form, err)
	}
	return v.done(v.home(d.ProjectID))
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

func (c *Console) editDocument(v *visit) error {
	d, err := v.documentOf()
	if err != nil {
		return err
	}
	f := documentForm{ID: d.ID, Title: d.Title, Description: text(d.Description)}
	if d.ProjectID != nil {
		f.Project = *d.ProjectID
	}
	return v.showDocument(f)
}

func (c *Console) updateDocument(v *visit) error {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return err
	}
	form, change, err := v.documentForm()
	form.ID = id
	if err != nil {
		return v.documentAgain(form, err)
	}
	d, err := c.app.UpdateDocument(v.r.Context(), v.caller, id, change, sheaf.Match{})
	if err != nil {
		return v.documentAgain(form, err)
	}
	return v.done(v.home(d.ProjectID))
}

func (c *Console) deleteDocumentForm(v *visit) error {
	d, err := v.documentOf()
	if err != nil {
		return err
	}
	return v.showBeside(http.StatusOK, "document-delete", "", d)
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
