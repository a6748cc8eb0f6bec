package console

import (
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// documentForm is the editor of a new document, or of a stored one.
type documentForm struct {
	ID          sheaf.DocumentID // empty for a new document
	Title       string
	Description string
	Content     string
	Project     sheaf.ProjectID
	Parent      sheaf.DocumentID // the document above a new one; empty for none
	Projects    pick             // to choose from
	Typed       bool             // the fields have what the person typed, not what is stored
	Conflict    *conflict        // nil unless another person saved the document meanwhile
	basis
}

// fields returns the fields except the text, which is compared line by line.
func (f documentForm) fields() []field {
	return []field{{Name: "title", Label: "Title", Value: f.Title}, {Name: "description", Label: "Description", Value: f.Description},
		{Name: "project", Label: "Project", Value: string(f.Project), Shown: f.Projects.Now()}}
}

// Conflicting reports whether another person saved the document meanwhile.
func (f documentForm) Conflicting() bool { return f.Conflict != nil }

// conflict is the version that another person saved while the person was writing.
type conflict struct {
	Saved sheaf.DocumentText
	By    string
	Diff  diffLines // from the saved text to the typed one
	Note  string    // why there is no diff
}

// showEditor shows the form with the stored values.
func (v *visit) showEditor(f documentForm) (err error) {
	if f.Projects, err = v.pickProjects(f.Project, ""); err != nil {
		return err
	}
	if err := v.locate(f.Project); err != nil {
		return err
	}
	return v.show(http.StatusOK, "document-form", f)
}

// editorAgain shows the form with what was typed, and the error if cause is not nil.
func (v *visit) editorAgain(f documentForm, cause error) (err error) {
	if f.Projects, err = v.pickProjects(f.Project, v.field("find-project")); err != nil {
		return err
	}
	if err := v.locate(f.Project); err != nil {
		return err
	}
	if f.ID != "" {
		d, err := v.console.app.Document(v.r.Context(), v.caller, f.ID)
		if err != nil {
			return err
		}
		if err := v.locateAbove(d.ParentID); err != nil {
			return err
		}
	} else if f.Parent != "" {
		if err := v.locateAbove(&f.Parent); err != nil {
			return err
		}
		if len(v.above) == 0 {
			f.Parent = ""
			cause = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
				Text: "The document above this one was deleted while you were writing. Save again to put this one at the top level of its project"}
		}
	}
	f.Typed = true
	if cause == nil {
		return v.show(http.StatusOK, "document-form", f)
	}
	return v.again("document-form", f, cause)
}

// newDocument answers GET /w/{workspace}/documents/new: an empty editor. The parameter "in" names the
// project of the new document, or "below" the document that it goes below. If the project needs review, the
// person suggests the document.
func (c *Console) newDocument(v *visit) error {
	q := v.r.URL.Query()
	if q.Get("below") == "" {
		id, _ := sheaf.ParseUUID(q.Get("in"))
		in := sheaf.ProjectID(id)
		switch suggests, err := v.onlySuggests(sheaf.Document{ProjectID: &in}); {
		case err != nil:
			return err
		case suggests:
			return v.redirect(v.at("documents", "suggest") + "?in=" + id)
		}
		return v.showEditor(documentForm{Project: in})
	}
	id, err := asID(sheaf.DocumentID(q.Get("below")), "document")
	if err != nil {
		return err
	}
	above, err := c.app.Document(v.r.Context(), v.caller, id.Value)
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggests(above); {
	case err != nil:
		return err
	case suggests:
		return v.redirect(v.at("documents", "suggest") + "?below=" + string(above.ID))
	}
	if err := v.locateAbove(&above.ID); err != nil {
		return err
	}
	return v.showEditor(documentForm{Project: sheaf.ProjectID(projectIDOf(above)), Parent: above.ID})
}

// documentForm reads the form, and returns the change that it asks for.
func (v *visit) documentForm() (documentForm, sheaf.DocumentChange, error) {
	f := documentForm{Title: v.typed("title"), Description: v.typed("description"), Content: v.field("content"), Project: sheaf.ProjectID(v.typed("project"))}
	f.basis = v.basis(f.fields())
	project, err := asID(f.Project, "project")
	return f, sheaf.DocumentChange{Title: sheaf.Some(f.Title), Description: v.typedOpt("description"), ProjectID: project, Content: sheaf.Some(f.Content)}, err
}

// createDocument answers POST /w/{workspace}/documents: it creates a document. If the field "find"
// is set, the form was sent only to search for a project, by a browser without scripts. If the chosen
// project needs review, the form comes back as one that suggests the document.
func (c *Console) createDocument(v *visit) error {
	form, change, err := v.documentForm()
	if parent := v.field("parent"); parent != "" {
		id, bad := asID(sheaf.DocumentID(parent), "document")
		if bad != nil {
			return bad
		}
		form.Parent, change.ParentID = id.Value, id
	}
	if err != nil || v.field("find") != "" {
		return v.editorAgain(form, err)
	}
	d, err := c.app.CreateDocument(v.r.Context(), v.caller, change)
	if needsReview(err) && v.page(nil).MaySuggest() {
		return v.suggestNewAgain(suggestion{Project: form.Project, Parent: form.Parent, About: aboutAct("Add", form.Title), Title: form.Title,
			Description: form.Description, Content: form.Content, Typed: true}, err)
	}
	if err != nil {
		return v.editorAgain(form, err)
	}
	return v.saved(d)
}

// saved redirects to the page of the document. The header is for the script that stays in the
// editor.
func (v *visit) saved(d sheaf.Document) error {
	v.Header().Set("Sheaf-Revision", strconv.FormatInt(d.Revision, 10))
	return v.done(v.at("documents", string(d.ID)) + "?saved")
}

// editDocument answers GET /w/{workspace}/documents/{id}/edit: the editor of a document. If it is in a
// project that needs review, the person suggests an edit.
func (c *Console) editDocument(v *visit) error {
	d, err := find(v, "document", c.app.DocumentText)
	if err != nil {
		return err
	}
	switch suggests, err := v.onlySuggests(d.Document); {
	case err != nil:
		return err
	case suggests:
		return v.redirect(v.at("documents", string(d.ID), "suggest"))
	}
	if err := v.locateAbove(d.ParentID); err != nil {
		return err
	}
	return v.showEditor(formOfDocument(d))
}

// formOfDocument returns the editor with the document's stored values.
func formOfDocument(d sheaf.DocumentText) documentForm {
	f := documentForm{ID: d.ID, Title: d.Title, Description: text(d.Description), Content: d.Content}
	if d.ProjectID != nil {
		f.Project = *d.ProjectID
	}
	f.basis = basis{Revision: d.Revision, Was: f.fields()}
	return f
}

// updateDocument answers POST /w/{workspace}/documents/{id}: it saves the form, unless another
// person saved the document since the form was made. If it is refused, the form comes back with
// what was typed.
func (c *Console) updateDocument(v *visit) error {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return err
	}
	form, change, fault := v.documentForm()
	form.ID = id
	before, err := c.app.DocumentText(v.r.Context(), v.caller, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.editorOfDeleted(form)
	}
	if err != nil {
		return err
	}
	if fault == nil {
		_, fault = v.revision()
	}
	if fault != nil || v.field("find") != "" {
		return v.editorAgain(form, fault)
	}
	if asForm(before.Content) == form.Content {
		change.Content = sheaf.Opt[string]{} // otherwise CR LF in an unchanged text would become LF
	}
	d, err := c.app.UpdateDocument(v.r.Context(), v.caller, form.ID, change, sheaf.Match{Asked: true, Revisions: []int64{form.Revision}})
	switch {
	case sheaf.KindOf(err) == sheaf.PreconditionFailed:
		return v.showConflict(form)
	case err != nil:
		return v.editorAgain(form, err)
	}
	return v.saved(d)
}

// asForm returns the text as a form sends it back: every line ends with LF.
func asForm(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// editorOfDeleted shows the form with the text that was written into a document that is now
// deleted. Saving it creates a new document.
func (v *visit) editorOfDeleted(form documentForm) error {
	form.ID, form.basis = "", basis{}
	return v.editorAgain(form, &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
		Text: "The document was deleted while you were writing. Your text is below: save it as a new document"})
}

// showConflict shows the text that another person saved meanwhile beside the one that was typed.
// The form's base is now the saved version, so saving it again replaces that deliberately.
func (v *visit) showConflict(form documentForm) error {
	saved, err := v.console.app.DocumentText(v.r.Context(), v.caller, form.ID)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.editorOfDeleted(form)
	}
	if err != nil {
		return err
	}
	x := &conflict{Saved: saved}
	if x.By, err = v.author(form.ID); err != nil {
		return err
	}
	unified, err := app.DiffTexts(asForm(saved.Content), form.Content)
	switch {
	case err != nil:
		x.Note = faultOf(err)
	case unified == "":
		x.Note = "The two texts are the same; the title, the description or the project was changed."
	}
	x.Diff = readDiff(unified)
	stored := formOfDocument(saved)
	if stored.Projects, err = v.pickProjects(stored.Project, ""); err != nil {
		return err
	}
	if form.Projects, err = v.pickProjects(form.Project, ""); err != nil {
		return err
	}
	form.Conflict, form.basis = x, form.rebase(saved.Revision, form.fields(), stored.fields())
	return v.editorAgain(form, &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
		Text: "while you were writing, " + x.By + " saved this document. Nothing is lost: both texts are below"})
}

// preview answers POST /w/{workspace}/documents/preview: the HTML of the text in the editor's form.
// It changes nothing.
func (c *Console) preview(v *visit) error {
	text := v.field("content")
	if err := sheaf.CheckContent("content", text); err != nil {
		return err
	}
	document, _ := sheaf.ParseUUID(v.r.URL.Query().Get("document"))
	html, _, err := v.renderText(text, "", sheaf.DocumentID(document))
	if err != nil {
		return err
	}
	if err := overloaded(v.HoldAnswer(len(html))); err != nil {
		return err
	}
	v.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.WriteHeader(http.StatusOK)
	v.Write([]byte(html))
	return nil
}
