package console

import (
	"errors"
	"net/http"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// suggestion is the form that proposes an edit of a document: the data of document-suggest.html.
type suggestion struct {
	Document                 sheaf.DocumentID
	Base                     int64 // version that the person saw
	WasTitle, WasDescription string
	About, Message           string // title and message of the proposal
	Title, Description       string // of the document
	Content                  string
	Typed                    bool // the fields have what the person typed
}

// ID is the document's, for the template of the text.
func (s suggestion) ID() sheaf.DocumentID { return s.Document }

// Conflicting is false: what others changed meanwhile is merged when the proposal is accepted.
func (s suggestion) Conflicting() bool { return false }

// suggestForm answers GET /w/{workspace}/documents/{id}/suggest: the editor, which saves a proposal.
func (c *Console) suggestForm(v *visit) error {
	d, err := find(v, "document", c.app.DocumentText)
	if err != nil {
		return err
	}
	if err := v.locateDocument(d.Document); err != nil {
		return err
	}
	return v.show(http.StatusOK, "document-suggest", suggestion{Document: d.ID, Base: d.Version, WasTitle: d.Title, WasDescription: text(d.Description),
		Title: d.Title, Description: text(d.Description), Content: d.Content})
}

// locateDocument sets where a document is.
func (v *visit) locateDocument(d sheaf.Document) error {
	if err := v.locate(sheaf.ProjectID(projectIDOf(d))); err != nil {
		return err
	}
	return v.locateAbove(d.ParentID)
}

// suggest answers POST /w/{workspace}/documents/{id}/suggest: it makes a proposal of what the person
// changed in the version that they saw.
func (c *Console) suggest(v *visit) error {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return err
	}
	s := suggestion{Document: id, WasTitle: v.field("was-title"), WasDescription: v.field("was-description"), About: v.field("about"),
		Message: v.field("message"), Title: v.field("title"), Description: v.field("description"), Content: v.field("content"), Typed: true}
	d, err := c.app.Document(v.r.Context(), v.caller, id)
	if err != nil {
		return err
	}
	if err := v.locateDocument(d); err != nil {
		return err
	}
	if s.Base, err = strconv.ParseInt(v.field("base_version"), 10, 64); err != nil || s.Base < 1 {
		return errForm
	}
	change, err := v.suggested(s)
	if err == nil {
		var p sheaf.Proposal
		if p, err = c.app.CreateProposal(v.r.Context(), v.caller, change); err == nil {
			return v.done(v.at("proposals", string(p.ID)) + "?saved")
		}
	}
	return v.again("document-suggest", s, forSuggestion(err))
}

// suggested returns the proposal of what was changed.
func (v *visit) suggested(s suggestion) (out sheaf.ProposalChange, err error) {
	var d sheaf.DocumentChange
	if s.Title != s.WasTitle {
		d.Title = sheaf.Some(s.Title)
	}
	if s.Description != s.WasDescription {
		d.Description = sheaf.Nil[string]()
		if s.Description != "" {
			d.Description = sheaf.Some(s.Description)
		}
	}
	base, err := v.console.app.Version(v.r.Context(), v.caller, s.Document, s.Base)
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound:
		return out, sheaf.Conflictf("the version that you began with is no longer kept. Copy your text, open the page again, and put it in there")
	case err != nil:
		return out, err
	case asForm(base.Content) != s.Content:
		d.Content = sheaf.Some(s.Content)
	}
	if d.Empty() {
		return out, sheaf.Invalidf("you have not changed anything yet: change the title, the description or the text, and propose it then")
	}
	out.Title = sheaf.Some(s.About)
	if s.Message != "" {
		out.Message = sheaf.Some(s.Message)
	}
	out.Changes = sheaf.Some([]sheaf.ProposedChange{{Op: sheaf.ProposeEdit, DocumentID: s.Document, BaseVersion: s.Base, Document: d}})
	return out, nil
}

// forSuggestion puts an error about the proposal's own title at its field: the form has two titles.
func forSuggestion(err error) error {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) || refusal.Field != "title" || refusal.Index != nil {
		return err
	}
	out := *refusal
	out.Field, out.Person = "about", "What you propose: give it a title of 1 to 200 characters"
	return &out
}
