package console

import (
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Those who may not move or delete a document suggest it. The form is short, and opens in the dialog.

// mostNaming is the number of open proposals that the page of a document lists.
const mostNaming = 20

// fillOpen sets the open proposals that name the document, as far as the reader sees them.
func (v *visit) fillOpen(p *documentPage) error {
	if !v.caller.May(sheaf.ProposalsRead) {
		return nil
	}
	page, err := v.console.app.Proposals(v.r.Context(), v.caller, sheaf.ProposalFilter{State: sheaf.ProposalOpen, Document: p.Document.ID,
		Paging: sheaf.Paging{Limit: mostNaming, Desc: true}})
	if err != nil {
		return err
	}
	p.Open, p.MoreOpen = page.Items, page.More()
	var users []sheaf.UserID
	for i := range p.Open {
		users = append(users, p.Open[i].User)
	}
	if len(users) > 0 {
		p.People, err = v.people(users...)
	}
	return err
}

// actSuggestion is the form that proposes to move or delete a document: the data of
// document-suggest-act.html.
type actSuggestion struct {
	Document       sheaf.Document
	Base           int64 // version that the person saw
	About, Message string
	Moves          bool
	Below          bool // documents are below it
	Places         pick // where it may go, if it is moved
}

// Act returns the last part of the form's address.
func (s actSuggestion) Act() string {
	if s.Moves {
		return "suggest-move"
	}
	return "suggest-delete"
}

// actSuggestion returns the form as it is at first. `to` is where the document was chosen to go; nil:
// nothing was chosen yet.
func (v *visit) actSuggestion(moves bool, to *string) (s actSuggestion, err error) {
	d, err := find(v, "document", v.console.app.Document)
	if err != nil {
		return s, err
	}
	s = actSuggestion{Document: d, Base: d.Version, About: aboutAct("Delete", d.Title), Moves: moves}
	below, err := v.console.app.DocumentLevel(v.r.Context(), v.caller, nil, &d.ID, sheaf.Paging{Limit: 1})
	if err != nil {
		return s, err
	}
	s.Below = below.Total > 0
	if moves {
		s.About = aboutAct("Move", d.Title)
		chosen, err := v.readSelection([]string{string(sheaf.BatchDocument) + ":" + string(d.ID)})
		if err != nil {
			return s, err
		}
		if s.Places, err = v.pickPlaces(chosen, v.r.URL.Query().Get("q"), to); err != nil {
			return s, err
		}
	}
	return s, nil
}

// aboutAct returns the usual title of a proposal to move or delete a document.
func aboutAct(act, title string) string {
	if runes := []rune(title); len(runes) > sheaf.MaxName-len([]rune(act+" “”…")) {
		title = string(runes[:sheaf.MaxName-len([]rune(act+" “”…"))]) + "…"
	}
	return act + " “" + title + "”"
}

// suggestActForm returns the handler of GET /w/{workspace}/documents/{id}/suggest-move and suggest-delete.
func suggestActForm(moves bool) func(*visit) error {
	return func(v *visit) error {
		s, err := v.actSuggestion(moves, nil)
		if err != nil {
			return err
		}
		return v.showDocument("document-suggest-act", s.Document, s)
	}
}

// suggestAct returns the handler of POST /w/{workspace}/documents/{id}/suggest-move and suggest-delete: it
// makes a proposal. The version in the form is the one that the person saw.
func suggestAct(moves bool) func(*visit) error {
	return func(v *visit) error {
		to := v.field("to")
		s, err := v.actSuggestion(moves, &to)
		if err != nil {
			return err
		}
		if err := v.locateDocument(s.Document); err != nil {
			return err
		}
		if s.Base, err = strconv.ParseInt(v.field("base_version"), 10, 64); err != nil || s.Base < 1 {
			return errForm
		}
		s.About, s.Message = v.field("about"), v.field("message")
		c := sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: s.Document.ID, BaseVersion: s.Base}
		if moves {
			c, err = v.suggestedMove(s.Document, to)
		}
		in := sheaf.ProposalChange{Title: sheaf.Some(s.About), Changes: sheaf.Some([]sheaf.ProposedChange{c})}
		if s.Message != "" {
			in.Message = sheaf.Some(s.Message)
		}
		var p sheaf.Proposal
		if err == nil {
			p, err = v.console.app.CreateProposal(v.r.Context(), v.caller, in)
		}
		if err != nil {
			return v.again("document-suggest-act", s, forSuggestion(err))
		}
		return v.done(v.at("proposals", string(p.ID)) + "?saved")
	}
}

// suggestedMove returns the change that moves the document to a place of the form: a project, none, or
// below another document.
func (v *visit) suggestedMove(d sheaf.Document, to string) (sheaf.ProposedChange, error) {
	c := sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: d.ID}
	here := projectIDOf(d)
	if d.ParentID != nil {
		here = belowPrefix + string(*d.ParentID)
	}
	if to == here {
		return c, sheaf.Invalidf("the document is there already: choose another place")
	}
	below := sheaf.Opt[sheaf.DocumentID]{Set: true, Null: true}
	if id, ok := strings.CutPrefix(to, belowPrefix); ok {
		parent, err := asID(sheaf.DocumentID(id), "document")
		if err != nil {
			return c, err
		}
		in, err := v.console.app.Document(v.r.Context(), v.caller, parent.Value)
		if err != nil {
			return c, err
		}
		below, to = parent, projectIDOf(in)
	} else if _, err := asID(sheaf.ProjectID(to), "project"); err != nil {
		return c, err
	}
	c.Move = moveTo(sheaf.BatchDocument, string(d.ID), to).Move
	c.Move.ParentID = below
	return c, nil
}
