package console

import (
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// documentForm is the editor: of a new document, or of one that is there.
type documentForm struct {
	ID          sheaf.DocumentID // empty: a new one
	Title       string
	Description string
	Content     string
	Project     sheaf.ProjectID
	Projects    pick      // that it may be in
	Typed       bool      // the fields have what the person typed, not what is stored
	Conflict    *conflict // somebody saved meanwhile
	basis
}

// fields are those of the form that have one value. The text is compared line by line.
func (f documentForm) fields() []field {
	return []field{{Name: "title", Label: "Title", Value: f.Title}, {Name: "description", Label: "Description", Value: f.Description},
		{Name: "project", Label: "Project", Value: string(f.Project), Shown: f.Projects.Now()}}
}

// conflict is what somebody else saved while the person was writing.
type conflict struct {
	Saved sheaf.DocumentText
	By    string
	Diff  diffLines // from the saved text to the typed one
	Note  string    // why there is no diff
}

// showEditor shows the form as it is stored.
func (v *visit) showEditor(f documentForm) (err error) {
	if f.Projects, err = v.pickProjects(f.Project, ""); err != nil {
		return err
	}
	if err := v.locate(f.Project); err != nil {
		return err
	}
	return v.show(http.StatusOK, "document-form", f)
}

// editorAgain shows the form with what was typed, and what was wrong with it.
func (v *visit) editorAgain(f documentForm, cause error) (err error) {
	if f.Projects, err = v.pickProjects(f.Project, v.field("find-project")); err != nil {
		return err
	}
	if err := v.locate(f.Project); err != nil {
		return err
	}
	f.Typed = true
	if cause == nil {
		return v.show(http.StatusOK, "document-form", f)
	}
	return v.again("document-form", f, cause)
}

// newDocument answers GET /w/{workspace}/documents/new: it shows an empty editor.
func (c *Console) newDocument(v *visit) error {
	id, _ := sheaf.ParseUUID(v.r.URL.Query().Get("in"))
	return v.showEditor(documentForm{Project: sheaf.ProjectID(id)})
}

// documentForm reads the form of a document.
func (v *visit) documentForm() (documentForm, sheaf.DocumentChange, error) {
	f := documentForm{Title: v.typed("title"), Description: v.typed("description"), Content: v.field("content"), Project: sheaf.ProjectID(v.typed("project"))}
	f.basis = v.basis(f.fields())
	project, err := asID(f.Project, "project")
	return f, sheaf.DocumentChange{Title: sheaf.Some(f.Title), Description: v.typedOr("description"), ProjectID: project, Content: sheaf.Some(f.Content)}, err
}

// looksFor reports whether the form is sent to find a project to choose, and not to be saved: so it
// works where no script finds it meanwhile.
func (v *visit) looksFor() bool { return v.field("find") != "" }

// createDocument answers POST /w/{workspace}/documents: it makes a document.
func (c *Console) createDocument(v *visit) error {
	form, change, err := v.documentForm()
	if err != nil || v.looksFor() {
		return v.editorAgain(form, err)
	}
	d, err := c.app.CreateDocument(v.r.Context(), v.caller, change)
	if err != nil {
		return v.editorAgain(form, err)
	}
	return v.saved(d)
}

// saved leads to the page of the document. The header is for the script that stays in the editor.
func (v *visit) saved(d sheaf.Document) error {
	v.Header().Set("Sheaf-Revision", strconv.FormatInt(d.Revision, 10))
	return v.done(v.at("documents", string(d.ID)) + "?saved")
}

// editDocument answers GET /w/{workspace}/documents/{id}/edit: it shows the editor of a document.
func (c *Console) editDocument(v *visit) error {
	d, err := v.textOf()
	if err != nil {
		return err
	}
	return v.showEditor(formOfDocument(d))
}

// formOfDocument is the editor of a document as it is stored.
func formOfDocument(d sheaf.DocumentText) documentForm {
	f := documentForm{ID: d.ID, Title: d.Title, Description: text(d.Description), Content: d.Content}
	if d.ProjectID != nil {
		f.Project = *d.ProjectID
	}
	f.basis = basisOf(d.Revision, f.fields())
	return f
}

// revision is what the document was when the form was made. A form has it always.
func (v *visit) revision() (int64, error) {
	n, err := strconv.ParseInt(v.field("revision"), 10, 64)
	if err != nil {
		return 0, errForm
	}
	return n, nil
}

// updateDocument answers POST /w/{workspace}/documents/{id}: it saves what was written, unless
// somebody else saved since the person began. Whatever is refused, the form comes back with what was
// typed.
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
	if fault != nil || v.looksFor() {
		return v.editorAgain(form, fault)
	}
	return v.save(form, change, before)
}

// save saves over before, if the person began with that.
func (v *visit) save(form documentForm, change sheaf.DocumentChange, before sheaf.DocumentText) error {
	if asForm(before.Content) == form.Content {
		change.Content = sheaf.Opt[string]{} // else its CR LF would become LF though nobody touched them
	}
	d, err := v.console.app.UpdateDocument(v.r.Context(), v.caller, form.ID, change, form.match())
	switch {
	case sheaf.KindOf(err) == sheaf.PreconditionFailed:
		return v.bothTexts(form)
	case err != nil:
		return v.editorAgain(form, err)
	}
	return v.saved(d)
}

// asForm is a text as a form sends it back: every line ends with LF.
func asForm(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// editorOfDeleted keeps what was written into a document that is gone: the form makes a new one.
func (v *visit) editorOfDeleted(form documentForm) error {
	form.ID, form.basis = "", basis{}
	return v.editorAgain(form, &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
		Text: "The document was deleted while you were writing. What you wrote is below: save it as a new document"})
}

// bothTexts shows what somebody saved meanwhile beside what was typed. The form now begins with what
// is saved, so that saving it again is a choice.
func (v *visit) bothTexts(form documentForm) error {
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
	form.Conflict, form.basis = x, form.over(saved.Revision, form.fields(), stored.fields())
	return v.editorAgain(form, &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
		Text: "while you were writing, " + x.By + " saved this document. Nothing is lost: both texts are below"})
}
