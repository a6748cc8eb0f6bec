package console

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// Those who may not move, delete or restore a document suggest it. The form is short, and opens in the
// dialog.

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

// suggestedAct is what a short form suggests.
type suggestedAct string

// The acts.
const (
	suggestMove    suggestedAct = "move"
	suggestDelete  suggestedAct = "delete"
	suggestRestore suggestedAct = "restore" // a document of the trash
	suggestVersion suggestedAct = "version" // an earlier version of a document
)

// actSuggestion is the form that proposes to move, delete or restore documents: the data of
// document-suggest-act.html.
type actSuggestion struct {
	selection // the documents: several only if they were selected in a list or the tree
	Act       suggestedAct
	Action    string // the address that the form is sent to
	FindAt    string // the address of the form, where a place is searched
	Base      int64  // version that the person saw, of a single document
	Version   int64  // to restore
	About     string
	Message   string
	Below     bool // documents are below one of them
	Places    pick // where they may go, if they are moved
}

// Document returns the document, if it is one.
func (s actSuggestion) Document() sheaf.Document { return s.selection[0].Document }

// Moves reports whether the documents are moved.
func (s actSuggestion) Moves() bool { return s.Act == suggestMove }

// suggestionOf returns the form for documents as it is at first. `to` is where the documents were chosen
// to go; nil: nothing was chosen yet.
func (v *visit) suggestionOf(act suggestedAct, chosen selection, to *string) (s actSuggestion, err error) {
	s = actSuggestion{selection: chosen, Act: act}
	does := "Delete"
	if act == suggestMove {
		does = "Move"
	}
	if len(chosen) == 1 {
		d := chosen[0].Document
		s.Base, s.About, s.Action = d.Version, aboutAct(does, d.Title), v.at("documents", string(d.ID), "suggest-"+string(act))
		s.FindAt = s.Action
	} else {
		s.About, s.Action, s.FindAt = does+" "+chosen.Summary(), v.at("selection", "suggest-"+string(act)), v.at("selection", string(act))
	}
	if act == suggestMove {
		s.Places, err = v.pickPlaces(chosen, v.r.URL.Query().Get("q"), to)
	}
	for i := 0; i < len(chosen) && err == nil && !s.Below; i++ {
		var below sheaf.Page[sheaf.TreeEntry]
		below, err = v.console.app.DocumentLevel(v.r.Context(), v.caller, nil, &chosen[i].Document.ID, sheaf.Paging{Limit: 1})
		s.Below = below.Total > 0
	}
	return s, err
}

// aboutAct returns the usual title of a proposal: what it does with the document.
func aboutAct(act, title string) string {
	if runes := []rune(title); len(runes) > sheaf.MaxName-len([]rune(act+" “”…")) {
		title = string(runes[:sheaf.MaxName-len([]rune(act+" “”…"))]) + "…"
	}
	return act + " “" + title + "”"
}

// pickedDocument returns the document in the path as a selection.
func (v *visit) pickedDocument() (selection, error) {
	id, err := id[sheaf.DocumentID](v, "document")
	if err != nil {
		return nil, err
	}
	p, err := v.pickedOne(sheaf.BatchDocument, string(id))
	return selection{p}, err
}

// suggestActForm returns the handler of GET /w/{workspace}/documents/{id}/suggest-move and suggest-delete.
func suggestActForm(act suggestedAct) func(*visit) error {
	return func(v *visit) error {
		chosen, err := v.pickedDocument()
		if err != nil {
			return err
		}
		return v.showSuggestion(act, chosen)
	}
}

// showSuggestion shows the form that suggests to move or delete documents.
func (v *visit) showSuggestion(act suggestedAct, chosen selection) error {
	s, err := v.suggestionOf(act, chosen, nil)
	if err != nil {
		return err
	}
	if len(chosen) == 1 {
		return v.showDocument("document-suggest-act", s.Document(), s)
	}
	return v.showWithTree(http.StatusOK, "document-suggest-act", "", s)
}

// suggestAct returns the handler of POST /w/{workspace}/documents/{id}/suggest-move and suggest-delete: it
// makes a proposal. The version in the form is the one that the person saw.
func suggestAct(act suggestedAct) func(*visit) error {
	return func(v *visit) error {
		chosen, err := v.pickedDocument()
		if err != nil {
			return err
		}
		to := v.field("to")
		s, err := v.suggestionOf(act, chosen, &to)
		if err != nil {
			return err
		}
		if err := v.locateDocument(s.Document()); err != nil {
			return err
		}
		if s.Base, err = v.baseVersion(); err != nil {
			return err
		}
		c := sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: s.Document().ID, BaseVersion: s.Base}
		if act == suggestMove {
			c, err = v.suggestedMove(s.Document(), to)
			if err == nil && placeOfDocument(s.Document()) == to {
				err = sheaf.Invalidf("the document is there already: choose another place")
			}
		}
		return v.proposeAct(s, []sheaf.ProposedChange{c}, err)
	}
}

// suggestSelected returns the handler of POST /w/{workspace}/selection/suggest-move and suggest-delete: it
// makes one proposal for all selected documents. If one of them was changed since the form was made, it
// asks again.
func suggestSelected(act suggestedAct) func(*visit) error {
	return func(v *visit) error {
		chosen, err := v.readTops(v.r.PostForm["item"])
		if err != nil {
			return err
		}
		if len(chosen) == 0 || !chosen.Documents() {
			return errForm
		}
		to := v.field("to")
		s, err := v.suggestionOf(act, chosen, &to)
		if err != nil {
			return err
		}
		var changes []sheaf.ProposedChange
		var fault error
		for _, p := range chosen {
			c := sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: p.Document.ID, BaseVersion: p.Document.Version}
			if act == suggestMove {
				if c, err = v.suggestedMove(p.Document, to); err != nil {
					return err
				}
			}
			if p.shown != 0 && p.shown != p.Revision && fault == nil {
				fault = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
					Text: "“" + p.Name + "” was changed meanwhile, and nothing was proposed. Check it, and try again."}
			}
			changes = append(changes, c)
		}
		return v.proposeAct(s, changes, fault)
	}
}

// baseVersion reads the version that the person saw from the form.
func (v *visit) baseVersion() (int64, error) {
	n, err := strconv.ParseInt(v.field("base_version"), 10, 64)
	if err != nil || n < 1 {
		return 0, errForm
	}
	return n, nil
}

// proposeAct makes the proposal of a short form. If that is refused, or if there is a fault, it shows
// the form again with what was typed.
func (v *visit) proposeAct(s actSuggestion, changes []sheaf.ProposedChange, fault error) error {
	s.About, s.Message = v.field("about"), v.field("message")
	in := sheaf.ProposalChange{Title: sheaf.Some(s.About), Changes: sheaf.Some(changes)}
	if s.Message != "" {
		in.Message = sheaf.Some(s.Message)
	}
	var p sheaf.Proposal
	if fault == nil || v.caller.Refusal != nil { // who has just signed in again is told that first
		p, fault = v.console.app.CreateProposal(v.r.Context(), v.caller, in)
	}
	if fault != nil {
		return v.again("document-suggest-act", s, forSuggestion(fault))
	}
	return v.done(v.at("proposals", string(p.ID)) + "?saved")
}

// suggestVersionForm answers GET /w/{workspace}/documents/{id}/versions/{n}/suggest: the form that
// proposes to restore a version.
func (c *Console) suggestVersionForm(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	return v.showDocument("document-suggest-act", d, v.versionSuggestion(d, x))
}

func (v *visit) versionSuggestion(d sheaf.Document, x sheaf.VersionText) actSuggestion {
	n := strconv.FormatInt(x.Number, 10)
	return actSuggestion{selection: selection{{Noun: sheaf.BatchDocument, ID: string(d.ID), Name: d.Title, Document: d}}, Act: suggestVersion,
		Base: d.Version, Version: x.Number, About: aboutAct("Restore version "+n+" of", d.Title),
		Action: v.at("documents", string(d.ID), "versions", n, "suggest")}
}

// suggestVersion answers POST /w/{workspace}/documents/{id}/versions/{n}/suggest: it proposes an edit that
// gives the document the title and the text of a version.
func (c *Console) suggestVersion(v *visit) error {
	d, x, err := v.versionOf()
	if err != nil {
		return err
	}
	if err := v.locateDocument(d); err != nil {
		return err
	}
	s := v.versionSuggestion(d, x)
	if s.Base, err = v.baseVersion(); err != nil {
		return err
	}
	base, err := c.app.Version(v.r.Context(), v.caller, d.ID, s.Base)
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = sheaf.Conflictf("the version that you began with is no longer kept. Open the page again")
	}
	change := sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: d.ID, BaseVersion: s.Base}
	if base.Title != x.Title {
		change.Document.Title = sheaf.Some(x.Title)
	}
	if base.Content != x.Content {
		change.Document.Content = sheaf.Some(x.Content)
	}
	if err == nil && change.Document.Empty() {
		err = sheaf.Invalidf("the document has the title and the text of version %d already", x.Number)
	}
	return v.proposeAct(s, []sheaf.ProposedChange{change}, err)
}

// suggestRestoreForm answers GET /w/{workspace}/trash/{id}/suggest: the form that proposes to restore a
// document from the trash.
func (c *Console) suggestRestoreForm(v *visit) error {
	s, err := v.restoreSuggestion()
	if err != nil {
		return err
	}
	return v.showWithTree(http.StatusOK, "document-suggest-act", "", s)
}

func (v *visit) restoreSuggestion() (actSuggestion, error) {
	t, err := find(v, "document", v.console.app.TrashedDocument)
	return actSuggestion{selection: selection{{Noun: sheaf.BatchDocument, ID: string(t.ID), Name: t.Title, Document: t.Document}}, Act: suggestRestore,
		About: aboutAct("Restore", t.Title), Below: t.Along > 0, Action: v.at("trash", string(t.ID), "suggest")}, err
}

// suggestRestore answers POST /w/{workspace}/trash/{id}/suggest: it makes the proposal.
func (c *Console) suggestRestore(v *visit) error {
	s, err := v.restoreSuggestion()
	if err != nil {
		return err
	}
	return v.proposeAct(s, []sheaf.ProposedChange{{Op: sheaf.ProposeRestore, DocumentID: s.Document().ID}}, nil)
}

// onlySuggests reports whether the person may suggest a change of one of the documents, but not make it:
// it is in a project that needs review.
func (v *visit) onlySuggests(documents ...sheaf.Document) (bool, error) {
	if !v.page(nil).MaySuggest() {
		return false, nil
	}
	seen := map[sheaf.ProjectID]bool{}
	for _, d := range documents {
		if d.ProjectID == nil || seen[*d.ProjectID] {
			continue
		}
		seen[*d.ProjectID] = true
		p, err := v.console.app.Project(v.r.Context(), v.caller, *d.ProjectID)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return false, err
		}
		if p.Approvals > 0 {
			return true, nil
		}
	}
	return false, nil
}

// needsReview reports whether a change was refused because a project needs review.
func needsReview(err error) bool {
	var refusal *sheaf.Error
	return errors.As(err, &refusal) && refusal.Code == sheaf.CodeReviewRequired
}

// onlySuggest is onlySuggests for selected records. It is false unless all of them are documents.
func (v *visit) onlySuggest(s selection) (bool, error) {
	if len(s) == 0 || !s.Documents() {
		return false, nil
	}
	var documents []sheaf.Document
	for _, p := range s {
		documents = append(documents, p.Document)
	}
	return v.onlySuggests(documents...)
}

// placeOfDocument returns the place of a document as the choice of places has it.
func placeOfDocument(d sheaf.Document) string {
	if d.ParentID != nil {
		return belowPrefix + string(*d.ParentID)
	}
	return projectIDOf(d)
}

// suggestedMove returns the change that moves the document to a place of the form: a project, none, or
// below another document.
func (v *visit) suggestedMove(d sheaf.Document, to string) (sheaf.ProposedChange, error) {
	c := sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: d.ID}
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
