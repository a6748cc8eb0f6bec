package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// mostOpenShown bounds the number of open proposals in the navigation.
const mostOpenShown = 100

// proposalsPage is the data of proposals.html.
type proposalsPage struct {
	Proposals []sheaf.Proposal
	People    people
	State     string // the chosen state; "all" for all
	States    []proposalChoice
	List      listing
	You       sheaf.UserID // the reader; empty if they may not approve
}

// Waits reports whether the proposal waits for the reader.
func (p proposalsPage) Waits(of sheaf.Proposal) bool { return p.You != "" && of.WaitsFor(p.You) }

// proposalChoice is a state that the reader can choose, in the address and on the page.
type proposalChoice struct{ Value, Text string }

// proposalChoices are the states that the reader can choose. The default is the first.
var proposalChoices = []proposalChoice{{"", "Open"}, {"accepted", "Accepted"}, {"rejected", "Rejected"}, {"withdrawn", "Withdrawn"}, {"all", "All"}}

// waitingChoice is a further choice for those who may approve: open proposals that they were asked to
// approve.
var waitingChoice = proposalChoice{"waiting", "Waiting for you"}

// proposals answers GET /w/{workspace}/proposals: the proposals in a state, the newest first.
func (c *Console) proposals(v *visit) error {
	p := proposalsPage{States: proposalChoices, List: v.listing("proposal", "from", listPage, []order{{desc: true}})}
	f := sheaf.ProposalFilter{State: sheaf.ProposalOpen, Paging: p.List.Paging}
	if v.caller.May(sheaf.ProposalsApprove) {
		p.You, p.States = v.caller.User, slices.Insert(slices.Clone(proposalChoices), 1, waitingChoice)
	}
	asked := v.r.URL.Query().Get("state")
	if slices.ContainsFunc(p.States, func(c proposalChoice) bool { return c.Value == asked }) {
		p.State = asked
	}
	switch p.State {
	case "":
	case waitingChoice.Value:
		f.Asked = p.You
	case "all":
		f.State = ""
	default:
		f.State = sheaf.ProposalState(p.State)
	}
	page, err := c.app.Proposals(v.r.Context(), v.caller, f)
	if err != nil {
		return err
	}
	p.Proposals = page.Items
	p.List.setResult(page.Total, len(page.Items))
	var users []sheaf.UserID
	for i := range p.Proposals {
		users = append(users, p.Proposals[i].User)
	}
	if p.People, err = v.people(users...); err != nil {
		return err
	}
	return v.show(http.StatusOK, "proposals", p)
}

// Of returns the name of a user, and says whether a key was used.
func (p people) Of(user sheaf.UserID, key *sheaf.KeyID) string {
	return p.By(sheaf.Version{UserID: &user, KeyID: key})
}

// stateTone returns the colour of a proposal's state.
func stateTone(s sheaf.ProposalState) string {
	switch s {
	case sheaf.ProposalOpen:
		return "accent"
	case sheaf.ProposalStateAccepted:
		return "good"
	case sheaf.ProposalStateRejected:
		return "bad"
	}
	return ""
}

// changesPage is the number of changes of a proposal that a page shows. Together their diffs have at
// most shownLines lines.
const changesPage = 20

// proposalPage is the data of proposal.html.
type proposalPage struct {
	Proposal  sheaf.Proposal
	By        string
	DecidedBy string
	Approvals []approval
	Has       int64       // approvals that count, up to Needs
	Needs     int64       // approvals that accepting it needs; 0: none
	Asked     []approval  // people who were asked to approve it, and have not
	AskedBy   string      // who asked the person; empty: the proposal does not wait for them
	ToAsk     []choosable // the people whom the person can ask
	Mails     bool        // they get a mail
	Wrote     bool        // the person wrote the proposal, or a part of it
	Approved  bool        // the person has approved it
	Own       bool        // the person is its author
	Conflicts int         // changes that cannot be made
	Changes   []proposedChange
	List      listing // of the changes
	Alone     bool    // only one of several changes is shown
	View      string  // "" for the differences, "rendered" or "texts"
	Comments  []comment
	Talk      listing // of the comments
	Typed     commentForm
	Saved     bool // the person has just made the proposal
}

// Open reports whether the proposal can still be decided.
func (p proposalPage) Open() bool { return p.Proposal.State == sheaf.ProposalOpen }

// Missing returns how many approvals the proposal lacks.
func (p proposalPage) Missing() int64 { return p.Needs - p.Has }

// approval is a person who approved a proposal, or was asked to.
type approval struct {
	By   string
	At   time.Time
	Lost bool // the approval does not count, because the person may no longer approve the proposal
}

// choosable is a person whom the reader can choose.
type choosable struct {
	ID   sheaf.UserID
	Name string
}

// proposedChange is a change of a proposal as the page shows it.
type proposedChange struct {
	N         int // number of the change, from 0
	Op        string
	Title     string           // of the document
	Link      string           // of the document's page; empty if it has none
	Resolve   sheaf.DocumentID // document of an edit, whose conflict the editor resolves
	Fields    []changedField
	Diff      diffLines
	Note      string // why there is no diff
	Conflicts []sheaf.ProposalConflict
	Comments  []comment
	HasText   bool
	Texts     []shownText
	Rendered  []renderedText
}

// changedField is a field of a document that a change sets.
type changedField struct{ Label, Before, After string }

// shownText is one of the texts of a change.
type shownText struct{ Name, Text string }

// renderedText is a text as readers see it.
type renderedText struct {
	Name string
	HTML template.HTML
}

// proposal answers GET /w/{workspace}/proposals/{id}: a proposal with its changes and comments. The
// parameter "change" shows one change alone, and "view" its texts.
func (c *Console) proposal(v *visit) error {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return err
	}
	p, err := v.proposalPage(id)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "proposal", p)
}

// proposalPage reads everything that the page of a proposal shows.
func (v *visit) proposalPage(id sheaf.ProposalID) (p proposalPage, err error) {
	d, err := v.console.app.Proposal(v.r.Context(), v.caller, id)
	if err != nil {
		return p, err
	}
	q := v.r.URL.Query()
	p = proposalPage{Proposal: d.Proposal, Own: d.User == v.caller.User, Saved: q.Has("saved"), Needs: d.Needs, Has: d.Needs - d.MissingApprovals()}
	conflicting := map[int]bool{}
	for i := range d.Conflicts {
		conflicting[d.Conflicts[i].Change] = true
	}
	p.Conflicts = len(conflicting)
	users := []sheaf.UserID{d.User}
	for _, r := range d.People {
		users = append(users, r.User)
		if r.AskedBy != nil {
			users = append(users, *r.AskedBy)
		}
	}
	if d.DecidedBy != nil {
		users = append(users, *d.DecidedBy)
	}
	comments, err := v.readComments(&p, id)
	if err != nil {
		return p, err
	}
	for i := range comments {
		users = append(users, comments[i].User)
	}
	names, err := v.people(users...)
	if err != nil {
		return p, err
	}
	p.By = names.Of(d.User, d.Key)
	if d.DecidedBy != nil {
		p.DecidedBy = names.Of(*d.DecidedBy, nil)
	}
	for _, r := range d.People {
		own := r.User == v.caller.User
		p.Wrote = p.Wrote || own && r.Wrote
		if r.ApprovedAt != nil {
			p.Approved = p.Approved || own
			p.Approvals = append(p.Approvals, approval{names.Of(r.User, r.Key), *r.ApprovedAt, p.Open() && !slices.Contains(d.Counted, r.User)})
		}
		if p.Open() && r.Waits() {
			p.Asked = append(p.Asked, approval{By: names.Of(r.User, nil), At: *r.AskedAt})
			if own && r.AskedBy != nil {
				p.AskedBy = names.Of(*r.AskedBy, nil)
			}
		}
	}
	if err := v.fillToAsk(&p, names); err != nil {
		return p, err
	}
	if err := v.fillChanges(&p); err != nil {
		return p, err
	}
	return p, v.placeComments(&p, comments, names)
}

// fillToAsk sets the people whom the person can ask to approve the proposal, by name.
func (v *visit) fillToAsk(p *proposalPage, names people) error {
	p.Mails = v.console.Mails
	users, err := v.console.app.ToAsk(v.r.Context(), v.caller, p.Proposal)
	for _, u := range users {
		p.ToAsk = append(p.ToAsk, choosable{u, names.Of(u, nil)})
	}
	slices.SortStableFunc(p.ToAsk, func(a, b choosable) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return err
}

// fillChanges reads the changes that the page shows.
func (v *visit) fillChanges(p *proposalPage) error {
	all := p.Proposal.Changes
	p.List = v.listing("change", "from", changesPage, []order{{}})
	from := min(p.List.Offset, len(all))
	to := min(from+changesPage, len(all))
	q := v.r.URL.Query()
	if n, err := strconv.Atoi(q.Get("change")); err == nil && n >= 0 && n < len(all) {
		from, to, p.Alone = n, n+1, len(all) > 1
	}
	if view := q.Get("view"); to-from == 1 && (view == "rendered" || view == "texts") {
		p.View = view
	}
	if !p.Alone {
		p.List.setResult(int64(len(all)), to-from)
	}
	room := shownLines
	for n := from; n < to; n++ {
		c, err := v.proposedChange(p, n, &room)
		if err != nil {
			return err
		}
		p.Changes = append(p.Changes, c)
	}
	return nil
}

// Decisions about a proposal.

// approveProposal answers POST /w/{workspace}/proposals/{id}/approve.
func (c *Console) approveProposal(v *visit) error { return v.decideProposal(c.app.ApproveProposal) }

// acceptProposal answers POST /w/{workspace}/proposals/{id}/accept: it makes the changes.
func (c *Console) acceptProposal(v *visit) error {
	v.LiftDeadlines() // it may change many documents
	return v.decideProposal(c.app.AcceptProposal)
}

// withdrawProposal answers POST /w/{workspace}/proposals/{id}/withdraw.
func (c *Console) withdrawProposal(v *visit) error { return v.decideProposal(c.app.WithdrawProposal) }

// takeBackApproval answers POST /w/{workspace}/proposals/{id}/take-back: it removes the person's
// approval.
func (c *Console) takeBackApproval(v *visit) error {
	return v.decideProposal(func(ctx context.Context, by app.Caller, id sheaf.ProposalID, match sheaf.Match) (p sheaf.Proposal, err error) {
		return p, c.app.TakeBackApproval(ctx, by, id, match)
	})
}

// askReviewer answers POST /w/{workspace}/proposals/{id}/ask: it asks a member to approve the proposal.
func (c *Console) askReviewer(v *visit) error {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return err
	}
	if _, err := c.app.Proposal(v.r.Context(), v.caller, id); err != nil {
		return err
	}
	user, ok := sheaf.ParseUUID(v.field("user"))
	if !ok {
		return errForm
	}
	if _, err := c.app.AskReviewer(v.r.Context(), v.caller, id, sheaf.UserID(user)); err != nil {
		return v.proposalAgain(id, err, commentForm{})
	}
	return v.done(v.at("proposals", string(id)))
}

// revertProposal answers POST /w/{workspace}/proposals/{id}/revert: it makes a new proposal that undoes an
// accepted one.
func (c *Console) revertProposal(v *visit) error {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return err
	}
	p, err := c.app.RevertProposal(v.r.Context(), v.caller, id)
	if err != nil {
		return v.proposalAgain(id, err, commentForm{})
	}
	return v.done(v.at("proposals", string(p.ID)) + "?saved")
}

// rejectProposal answers POST /w/{workspace}/proposals/{id}/reject, with an optional note.
func (c *Console) rejectProposal(v *visit) error {
	var note *string
	if text := v.field("note"); text != "" {
		note = &text
	}
	return v.decideProposal(func(ctx context.Context, by app.Caller, id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
		return c.app.RejectProposal(ctx, by, id, note, match)
	})
}

// decideProposal makes a decision about the revision of the proposal that the person has read. If it
// is refused, the page says why, and shows the proposal as it is now.
func (v *visit) decideProposal(decide func(context.Context, app.Caller, sheaf.ProposalID, sheaf.Match) (sheaf.Proposal, error)) error {
	id, err := id[sheaf.ProposalID](v, "proposal")
	if err != nil {
		return err
	}
	revision, err := v.revision()
	if err != nil {
		if _, missing := v.console.app.Proposal(v.r.Context(), v.caller, id); missing != nil {
			return missing
		}
		return err
	}
	if _, err := decide(v.r.Context(), v.caller, id, sheaf.Match{Asked: true, Revisions: []int64{revision}}); err != nil {
		return v.proposalAgain(id, err, commentForm{Note: v.field("note")})
	}
	return v.done(v.at("proposals", string(id)))
}

// proposalAgain shows the page of a proposal with the error, and with what was typed. It returns an
// error that the person cannot correct.
func (v *visit) proposalAgain(id sheaf.ProposalID, cause error, typed commentForm) error {
	var refusal *sheaf.Error
	if !errors.As(cause, &refusal) || front.Status(refusal.Kind) >= 500 || refusal.Kind == sheaf.NotFound {
		return cause
	}
	p, err := v.proposalPage(id)
	if err != nil {
		return err
	}
	p.Typed = typed
	switch {
	case refusal.Kind == sheaf.PreconditionFailed:
		cause = &sheaf.Error{Kind: refusal.Kind, Code: refusal.Code,
			Text: "The proposal was changed while you were reading it, so your decision was not saved. Read the proposal again below, and then decide"}
	case len(refusal.Conflicts) > 0:
		cause = &sheaf.Error{Kind: refusal.Kind, Code: refusal.Code,
			Text: "Nothing was changed, because the proposal conflicts with its documents as they are now. The changes below say where"}
	}
	return v.again("proposal", p, cause)
}
