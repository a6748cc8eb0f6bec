package console

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// suggestion is the form that proposes an edit of a document, or a new document: the data of
// document-suggest.html.
type suggestion struct {
	Document                 sheaf.DocumentID // empty for a new document
	Project                  sheaf.ProjectID  // of a new document; empty for none
	Parent                   sheaf.DocumentID // the document above a new one; empty for none
	Base                     int64            // version that the person saw
	WasTitle, WasDescription string
	About, Message           string // title and message of the proposal
	Title, Description       string // of the document
	Content                  string
	Typed                    bool // the fields have what the person typed

	// The proposal whose conflict is resolved; empty: the form makes a new proposal.
	Proposal  sheaf.ProposalID
	Change    int
	Revision  int64 // of the proposal
	Conflicts []sheaf.ProposalConflict
}

// New reports whether a new document is proposed.
func (s suggestion) New() bool { return s.Document == "" }

// ID returns the document's id. The template of the text calls it.
func (s suggestion) ID() sheaf.DocumentID { return s.Document }

// Conflicting returns false: accepting the proposal merges what others changed meanwhile.
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
	s := suggestion{Document: d.ID, Base: d.Version, WasTitle: d.Title, WasDescription: text(d.Description),
		Title: d.Title, Description: text(d.Description), Content: d.Content}
	q := v.r.URL.Query()
	if q.Has("proposal") {
		if err := v.fillResolution(&s, q.Get("proposal"), q.Get("change")); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, "document-suggest", s)
}

// fillResolution fills the form with what a change of a proposal proposes for the document.
func (v *visit) fillResolution(s *suggestion, proposal, change string) error {
	id, ok := sheaf.ParseUUID(proposal)
	if !ok {
		return sheaf.Missing("proposal")
	}
	ctx, a := v.r.Context(), v.console.app
	p, err := a.Proposal(ctx, v.caller, sheaf.ProposalID(id))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(change)
	if err != nil || n < 0 || n >= len(p.Changes) || p.Changes[n].Op != sheaf.ProposeEdit || p.Changes[n].DocumentID != s.Document {
		return sheaf.Missing("change")
	}
	preview, err := a.PreviewChange(ctx, v.caller, p.ID, n)
	if err != nil {
		return err
	}
	s.Proposal, s.Change, s.Revision, s.Conflicts = p.ID, n, p.Revision, preview.Conflicts
	s.About, s.Message = p.Title, text(p.Message)
	if d := preview.Change.Document; d.Title.Set {
		s.Title = d.Title.Value
	}
	if d := preview.Change.Document; d.Description.Set {
		s.Description = d.Description.Value
	}
	if merged := cmp.Or(preview.Merged, preview.Draft, preview.Proposed); merged != nil {
		s.Content = *merged
	}
	return nil
}

// resolved returns the changes of the proposal with its change of this document replaced. The other
// changes stay as they are.
func (v *visit) resolved(s suggestion, change sheaf.ProposedChange) ([]sheaf.ProposedChange, error) {
	ctx, a := v.r.Context(), v.console.app
	p, err := a.Proposal(ctx, v.caller, s.Proposal)
	if err != nil {
		return nil, err
	}
	if s.Change < 0 || s.Change >= len(p.Changes) || p.Changes[s.Change].DocumentID != s.Document {
		return nil, errForm
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if i != s.Change && c.Document.Content.Set {
			preview, err := a.PreviewChange(ctx, v.caller, p.ID, i)
			if err != nil {
				return nil, err
			}
			if preview.Proposed == nil { // the proposal was changed meanwhile
				return nil, errForm
			}
			c.Document.Content = sheaf.Some(*preview.Proposed)
		}
	}
	c := &p.Changes[s.Change]
	c.BaseVersion = change.BaseVersion
	c.Document.Title, c.Document.Description, c.Document.Content = change.Document.Title, change.Document.Description, change.Document.Content
	return p.Changes, nil
}

// saveSuggestion makes the proposal, or changes the one whose conflict is resolved.
func (v *visit) saveSuggestion(s suggestion) (p sheaf.Proposal, err error) {
	change, err := v.suggested(s)
	if err != nil {
		return p, err
	}
	ctx, a := v.r.Context(), v.console.app
	if s.Proposal == "" {
		return a.CreateProposal(ctx, v.caller, change)
	}
	changes, err := v.resolved(s, change.Changes.Value[0])
	if err != nil {
		return p, err
	}
	change.Changes = sheaf.Some(changes)
	p, err = a.UpdateProposal(ctx, v.caller, s.Proposal, change, sheaf.Match{Asked: true, Revisions: []int64{s.Revision}})
	if sheaf.KindOf(err) == sheaf.PreconditionFailed {
		err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "The proposal was changed while you were writing, and your text is not saved. Copy your text, and open the proposal again"}
	}
	return p, err
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
	if proposal := v.field("proposal"); proposal != "" {
		id, err := asID(sheaf.ProposalID(proposal), "proposal")
		if err != nil {
			return err
		}
		s.Proposal = id.Value
		s.Change, _ = strconv.Atoi(v.field("change"))
		s.Revision, _ = strconv.ParseInt(v.field("proposal_revision"), 10, 64)
	}
	p, err := v.saveSuggestion(s)
	if err != nil {
		return v.again("document-suggest", s, forSuggestion(err))
	}
	return v.done(v.at("proposals", string(p.ID)) + "?saved")
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
		return out, sheaf.Conflictf("the version that you began with is no longer kept. Copy your text, open the page again, and paste it there")
	case err != nil:
		return out, err
	case asForm(base.Content) != s.Content:
		d.Content = sheaf.Some(s.Content)
	}
	if d.Empty() {
		return out, sheaf.Invalidf("you have not changed anything yet: change the title, the description or the text, then propose the change")
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

// suggestNewForm answers GET /w/{workspace}/documents/suggest: an empty editor, which saves a proposal of a
// new document. The parameter "in" names the project of the document, or "below" the document that it goes
// below.
func (c *Console) suggestNewForm(v *visit) error {
	q := v.r.URL.Query()
	s := suggestion{}
	if q.Get("below") != "" {
		id, err := asID(sheaf.DocumentID(q.Get("below")), "document")
		if err != nil {
			return err
		}
		above, err := c.app.Document(v.r.Context(), v.caller, id.Value)
		if err != nil {
			return err
		}
		s.Project, s.Parent = sheaf.ProjectID(projectIDOf(above)), above.ID
	} else if q.Get("in") != "" {
		id, err := asID(sheaf.ProjectID(q.Get("in")), "project")
		if err != nil {
			return err
		}
		if _, err := c.app.Project(v.r.Context(), v.caller, id.Value); err != nil {
			return err
		}
		s.Project = id.Value
	}
	if err := v.locateNew(&s); err != nil {
		return err
	}
	return v.show(http.StatusOK, "document-suggest", s)
}

// locateNew sets where the proposed document goes. If the document above it was deleted, it goes to the top
// level of its project.
func (v *visit) locateNew(s *suggestion) error {
	if err := v.locate(s.Project); err != nil || s.Parent == "" {
		return err
	}
	if err := v.locateAbove(&s.Parent); err != nil {
		return err
	}
	if len(v.above) == 0 {
		s.Parent = ""
	}
	return nil
}

// suggestNew answers POST /w/{workspace}/documents/suggest: it makes a proposal that creates a document.
func (c *Console) suggestNew(v *visit) error {
	s := suggestion{About: v.field("about"), Message: v.field("message"), Title: v.field("title"), Description: v.field("description"),
		Content: v.field("content"), Typed: true}
	project, err := optID[sheaf.ProjectID](v, "project", "project")
	if err != nil {
		return err
	}
	parent, err := optID[sheaf.DocumentID](v, "parent", "document")
	if err != nil {
		return err
	}
	s.Project, s.Parent = project.Value, parent.Value
	in := sheaf.ProposalChange{Title: sheaf.Some(s.About), Changes: sheaf.Some([]sheaf.ProposedChange{{Op: sheaf.ProposeCreate, Document: s.newDocument()}})}
	if s.Message != "" {
		in.Message = sheaf.Some(s.Message)
	}
	p, err := c.app.CreateProposal(v.r.Context(), v.caller, in)
	if err != nil {
		return v.suggestNewAgain(s, forSuggestion(err))
	}
	return v.done(v.at("proposals", string(p.ID)) + "?saved")
}

// newDocument returns the document that the form proposes.
func (s suggestion) newDocument() sheaf.DocumentChange {
	d := sheaf.DocumentChange{Title: sheaf.Some(s.Title), Content: sheaf.Some(s.Content)}
	if s.Description != "" {
		d.Description = sheaf.Some(s.Description)
	}
	if s.Project != "" {
		d.ProjectID = sheaf.Some(s.Project)
	}
	if s.Parent != "" {
		d.ParentID = sheaf.Some(s.Parent)
	}
	return d
}

// suggestNewAgain shows the form of a new document with what was typed, and the error.
func (v *visit) suggestNewAgain(s suggestion, cause error) error {
	parent := s.Parent
	if err := v.locateNew(&s); err != nil {
		return err
	}
	if parent != s.Parent {
		cause = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
			Text: "The document above this one was deleted while you were writing. Propose it again to put it at the top level of its project"}
	}
	return v.again("document-suggest", s, cause)
}
