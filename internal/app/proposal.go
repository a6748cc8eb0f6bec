package app

import (
	"context"
	"fmt"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A proposal is a batch that waits for a decision. What it proposes is checked and stored when it is
// made, and checked again when it is accepted (proposal_accept.go): between the two anything may
// happen to the documents.

// Proposals returns a page of the workspace's proposals, oldest first.
func (a *App) Proposals(ctx context.Context, c Caller, f sheaf.ProposalFilter) (sheaf.Page[sheaf.Proposal], error) {
	return read(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader) (sheaf.Page[sheaf.Proposal], error) {
		return r.Proposals(c.Workspace, f)
	})
}

// OpenProposals counts the open proposals that the caller sees, up to `most`.
func (a *App) OpenProposals(ctx context.Context, c Caller, most int) (int64, error) {
	return read(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader) (int64, error) {
		return r.OpenProposals(c.Workspace, most)
	})
}

// CreateProposal stores changes of documents for a decision. The author must see every document and
// project that they name (NotFound). A base version that never existed is Invalid, and one that is no
// longer kept is a CONFLICT. The plan must include proposals (PLAN_REQUIRED), and limits the open
// ones (PROPOSAL_LIMIT_REACHED). The quota must have room for the texts (QUOTA_REACHED).
func (a *App) CreateProposal(ctx context.Context, c Caller, in sheaf.ProposalChange) (sheaf.Proposal, error) {
	return createProposal(ctx, a, c, scope(sheaf.ProposalsWrite), in, nil)
}

// createProposal is CreateProposal for a caller who needs more scopes. If `known` is not nil, it has the
// fields that the author of each change saw; nil: those of the present.
func createProposal(ctx context.Context, a *App, c Caller, needs need, in sheaf.ProposalChange, known []*sheaf.ProposalBase) (sheaf.Proposal, error) {
	fault := firstError(in.CheckNew(), checkProposedFields(in.Changes.Value))
	texts := proposedTexts(in.Changes.Value, fault)
	return write(ctx, a, c, needs, fault, func(w *work) (sheaf.Proposal, error) {
		p := in.Apply(sheaf.Proposal{State: sheaf.ProposalOpen, User: w.caller.User, Revision: 1})
		if key := w.caller.Key.ID; key != "" {
			p.Key = &key
		}
		var err error
		if p.Changes, err = w.proposed(in.Changes.Value, texts); err != nil {
			return p, err
		}
		for i, base := range known {
			if b := p.Changes[i].Base; b != nil && base != nil {
				b.Title, b.Description, b.ExternalID, b.URL, b.Metadata = base.Title, base.Description, base.ExternalID, base.URL, base.Metadata
			}
		}
		if err := w.oneMoreProposal(); err != nil {
			return p, err
		}
		p.Reviewer(p.User).Wrote = true
		p.ID, p.Number, p.CreatedAt = sheaf.ProposalID(w.app.newID()), w.nextNumber(), w.createdAt()
		p.UpdatedAt = p.CreatedAt
		if err := w.InsertProposal(w.ws.ID, p); err != nil {
			return p, err
		}
		if err := w.keepProposed(p, texts); err != nil {
			return p, err
		}
		w.emit(sheaf.ProposalCreated, string(p.ID), &p)
		return p, nil
	})
}

// checkProposedFields returns the error that the operation of each change would return for its
// fields.
func checkProposedFields(changes []sheaf.ProposedChange) error {
	for i := range changes {
		o := changes[i].Operation()
		if err := checkWritten(&o); err != nil {
			return sheaf.AtChange(i, err)
		}
	}
	return nil
}

// proposedTexts prepares the texts of the changes before the transaction.
func proposedTexts(changes []sheaf.ProposedChange, fault error) []store.Text {
	texts := make([]store.Text, len(changes))
	for i := range changes {
		texts[i] = newText(changes[i].Document, fault)
	}
	return texts
}

// oneMoreProposal returns PROPOSAL_LIMIT_REACHED if the workspace or the caller has the largest
// allowed number of open proposals. It is called under the workspace's lock, so the limits are exact.
func (w *work) oneMoreProposal() error {
	if err := w.ws.Plan.AllowProposals(); err != nil {
		return err
	}
	open, err := w.CountOpenProposals(w.ws.ID)
	if err != nil {
		return err
	}
	if most := w.ws.Plan.MaxProposals(); open >= int64(most) {
		return proposalLimit("the %s plan allows %d open proposals: decide about some, or upgrade the plan", w.ws.Plan, most)
	}
	own, err := w.CountOpenOf(w.ws.ID, w.caller.User)
	if err == nil && own >= sheaf.MaxOpenOfUser {
		err = proposalLimit("one user may have %d open proposals, with all keys together: withdraw some, or wait for a decision", sheaf.MaxOpenOfUser)
	}
	return err
}

func proposalLimit(format string, args ...any) error {
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeProposalLimit, Text: fmt.Sprintf(format, args...)}
}

// proposed returns the changes as they are stored: with the sizes and hashes of their texts, and
// with the present state of their documents.
func (w *work) proposed(in []sheaf.ProposedChange, texts []store.Text) ([]sheaf.ProposedChange, error) {
	changes := slices.Clone(in)
	room := w.app.cascades.Touched
	for i := range changes {
		c := &changes[i]
		if err := w.proposedChange(c, changes[:i], &room); err != nil {
			return nil, sheaf.AtChange(i, err)
		}
		if c.Document.Content.Set {
			c.ContentBytes, c.ContentSHA256 = texts[i].Bytes(), texts[i].SHA256()
		}
	}
	return changes, nil
}

// proposedChange checks that the caller sees what the change names, and sets its base. `room` is
// the number of documents that this change and later ones may touch. `earlier` are the changes before it.
func (w *work) proposedChange(c *sheaf.ProposedChange, earlier []sheaf.ProposedChange, room *int) error {
	var d *sheaf.Document
	if c.DocumentID != "" {
		find := w.Document
		if c.Op == sheaf.ProposeRestore || restores(earlier, c.DocumentID) {
			find = w.AnyDocument
		}
		found, err := find(w.ws.ID, c.DocumentID)
		if err != nil {
			return err
		}
		d = &found
	}
	if err := w.proposedPlace(c, earlier); err != nil {
		return err
	}
	if c.Op == sheaf.ProposeEdit || c.Op == sheaf.ProposeCreate {
		if err := w.mayName(d, c.Document.Content); err != nil {
			return err
		}
	}
	below, err := w.touched(c, room)
	if err != nil {
		return err
	}
	if c.Op != sheaf.ProposeEdit && c.Op != sheaf.ProposeDelete {
		return nil
	}
	if c.BaseVersion > d.Version {
		return sheaf.InvalidField("base_version", "base_version is %d, but the document has only %d versions: send the version that you have read", c.BaseVersion, d.Version)
	}
	v, err := w.VersionOf(w.ws.ID, d.ID, c.BaseVersion)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return sheaf.Conflictf("version %d of document %s is no longer kept: read the document again, and send its present version as base_version", c.BaseVersion, d.ID)
	}
	if err != nil {
		return err
	}
	c.Base = sheaf.BaseOf(*d)
	c.Base.Title, c.Base.ContentSHA256 = v.Title, v.ContentSHA256
	if c.Op == sheaf.ProposeDelete {
		c.Base.Below = below
	}
	return nil
}

// touched subtracts from room how many documents the change would change now. If there are too many for
// one transaction, it returns CONFLICT, as accepting would. It returns the documents below a document that
// is deleted or moved.
func (w *work) touched(c *sheaf.ProposedChange, room *int) (below []sheaf.DocumentID, err error) {
	*room--
	along := 0
	switch c.Op {
	case sheaf.ProposeDelete, sheaf.ProposeMove:
		tree, err := w.Descendants(w.ws.ID, c.DocumentID, max(*room, 0)+1)
		if err != nil {
			return nil, err
		}
		below, along = tree.IDs, len(tree.IDs)
	case sheaf.ProposeRestore:
		_, group, err := w.deletedWith(c.DocumentID)
		if err != nil {
			return nil, err
		}
		along = max(0, len(group)-1)
	}
	if *room -= along; *room < 0 {
		return nil, w.tooManyTouched()
	}
	return below, nil
}

// tooManyTouched returns the CONFLICT of a proposal that changes too many documents.
func (w *work) tooManyTouched() error {
	return sheaf.Conflictf("the proposal would change more than %d documents at once, with those that are deleted, restored or moved along: make several proposals that change fewer",
		w.app.cascades.Touched)
}

// restores reports whether one of the changes restores the document. A later change of the same proposal
// may then name it.
func restores(changes []sheaf.ProposedChange, id sheaf.DocumentID) bool {
	return slices.ContainsFunc(changes, func(c sheaf.ProposedChange) bool { return c.Op == sheaf.ProposeRestore && c.DocumentID == id })
}

// proposedPlace returns NotFound unless the caller sees the project and the documents of a place.
func (w *work) proposedPlace(c *sheaf.ProposedChange, earlier []sheaf.ProposedChange) error {
	t := placesOf(c)
	for _, id := range t.Projects {
		if _, err := w.Project(w.ws.ID, id); err != nil {
			return err
		}
	}
	for _, id := range t.Documents {
		find := w.Document
		if restores(earlier, id) {
			find = w.AnyDocument
		}
		if _, err := find(w.ws.ID, id); err != nil {
			return err
		}
	}
	if t.Unfiled && w.restricted() {
		return w.outside("document", "project_id")
	}
	return nil
}

// placesOf returns what a change names beside its document.
func placesOf(c *sheaf.ProposedChange) (t store.Targets) {
	for _, id := range []sheaf.Opt[sheaf.ProjectID]{c.Document.ProjectID, c.Move.ProjectID} {
		if id.Given() {
			t.Projects = append(t.Projects, id.Value)
		}
	}
	for _, id := range []sheaf.Opt[sheaf.DocumentID]{c.Document.ParentID, c.Move.ParentID, c.Move.BeforeID, c.Move.AfterID} {
		if _, made := sheaf.ParseMadeBy(string(id.Value)); id.Given() && !made {
			t.Documents = append(t.Documents, id.Value)
		}
	}
	t.Unfiled = c.Op == sheaf.ProposeCreate && !c.Document.ProjectID.Given() || c.Move.ProjectID.Null
	return t
}

// targetsOf returns everything that the changes of a proposal name.
func targetsOf(changes []sheaf.ProposedChange) (all store.Targets) {
	for i := range changes {
		c := &changes[i]
		t := placesOf(c)
		if c.DocumentID != "" {
			t.Documents = append(t.Documents, c.DocumentID)
		}
		all.Documents = append(all.Documents, t.Documents...)
		all.Projects = append(all.Projects, t.Projects...)
		all.Unfiled = all.Unfiled || t.Unfiled
	}
	return all
}

// storedTargets returns everything that the changes name, and the people whom the proposal waits for.
func storedTargets(p sheaf.Proposal) store.Targets {
	t := targetsOf(p.Changes)
	t.Asked = p.Asked()
	return t
}

// keepProposed stores the proposed texts, the texts that they change, and what the proposal names.
func (w *work) keepProposed(p sheaf.Proposal, texts []store.Text) error {
	for i := range p.Changes {
		c := &p.Changes[i]
		if !c.Document.Content.Set {
			continue
		}
		if err := w.checkStorage("", texts[i]); err != nil {
			return sheaf.AtChange(i, err)
		}
		grown, err := w.InsertProposalText(w.ws.ID, p.ID, texts[i])
		w.ws.Storage += grown
		if err == nil && c.Base != nil {
			grown, err = w.CopyProposalText(w.ws.ID, p.ID, c.DocumentID, c.Base.ContentSHA256)
			w.ws.Storage += grown
			if most := w.app.quota(w.ws.Plan); err == nil && most > 0 && grown > 0 && w.ws.Storage > most {
				w.ws.Storage -= grown
				err = sheaf.AtChange(i, storageReached(w.ws, most, "text", grown))
			}
		}
		if err != nil {
			return err
		}
	}
	return w.SetTargets(w.ws.ID, p.Number, storedTargets(p))
}

// UpdateProposal changes the sent fields of an open proposal. Its author may do this, and so may
// everyone who may approve proposals. New changes replace all earlier ones, and remove all approvals.
func (a *App) UpdateProposal(ctx context.Context, c Caller, id sheaf.ProposalID, in sheaf.ProposalChange, match sheaf.Match) (sheaf.Proposal, error) {
	fault := firstError(checkChange(in.Empty(), "title, message, changes", in.Check()), checkProposedFields(in.Changes.Value))
	texts := proposedTexts(in.Changes.Value, fault)
	return write(ctx, a, c, scope(sheaf.ProposalsWrite), fault, func(w *work) (sheaf.Proposal, error) {
		before, err := w.openProposal(id, match)
		if err != nil {
			return before, err
		}
		if before.User != w.caller.User && !w.caller.May(sheaf.ProposalsApprove) {
			return before, sheaf.Forbiddenf("only the author of a proposal, and those who may approve it, may change it")
		}
		p := in.Apply(before)
		if !in.Changes.Set && sheaf.SameFields(&before, &p) {
			return before, nil
		}
		if in.Changes.Set {
			if p.Changes, err = w.proposed(in.Changes.Value, texts); err != nil {
				return before, err
			}
			p.People = slices.Clone(p.People)
			p.ForgetApprovals()
			p.Reviewer(w.caller.User).Wrote = true
			freed, err := w.DeleteProposalTexts(w.ws.ID, id)
			w.ws.Storage -= freed
			if err == nil {
				err = w.keepProposed(p, texts)
			}
			if err != nil {
				return before, err
			}
		}
		p.Revision++
		return w.saveProposal(sheaf.ProposalUpdated, before, p)
	})
}

// openProposal returns a proposal that is open, or NotFound, CONFLICT or PRECONDITION_FAILED.
func (w *work) openProposal(id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
	p, err := w.Proposal(w.ws.ID, id)
	if err != nil {
		return p, err
	}
	return p, firstError(isOpen(p), match.Check(p.Revision))
}

func isOpen(p sheaf.Proposal) error {
	if p.State == sheaf.ProposalOpen {
		return nil
	}
	return sheaf.Conflictf("the proposal is already %s and can no longer change: make another one", p.State)
}

// saveProposal writes a changed proposal with its event.
func (w *work) saveProposal(t sheaf.EventType, before, p sheaf.Proposal) (sheaf.Proposal, error) {
	p.UpdatedAt = w.updatedAt(before.UpdatedAt)
	var payload sheaf.Record = &p
	if t == sheaf.ProposalUpdated {
		payload = &sheaf.Updated{Before: &before, After: &p}
	}
	w.emit(t, string(p.ID), payload)
	return p, w.UpdateProposal(w.ws.ID, p)
}

// WithdrawProposal ends an open proposal of the caller. Nobody else may withdraw it (FORBIDDEN).
func (a *App) WithdrawProposal(ctx context.Context, c Caller, id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
	return write(ctx, a, c, scope(sheaf.ProposalsWrite), nil, func(w *work) (sheaf.Proposal, error) {
		before, err := w.openProposal(id, match)
		if err == nil && before.User != w.caller.User {
			err = sheaf.Forbiddenf("only the author may withdraw a proposal: reject it instead")
		}
		if err != nil {
			return before, err
		}
		return w.decide(before, sheaf.ProposalStateWithdrawn, sheaf.ProposalWithdrawn, nil)
	})
}

// RejectProposal ends an open proposal without making its changes. The note is the reason, or nil.
func (a *App) RejectProposal(ctx context.Context, c Caller, id sheaf.ProposalID, note *string, match sheaf.Match) (sheaf.Proposal, error) {
	var fault error
	if note != nil {
		fault = sheaf.CheckLength("note", *note, sheaf.MaxMessage)
	}
	return write(ctx, a, c, scope(sheaf.ProposalsApprove), fault, func(w *work) (sheaf.Proposal, error) {
		before, err := w.openProposal(id, match)
		if err != nil {
			return before, err
		}
		return w.decide(before, sheaf.ProposalStateRejected, sheaf.ProposalRejected, note)
	})
}

// decide ends a proposal.
func (w *work) decide(before sheaf.Proposal, state sheaf.ProposalState, t sheaf.EventType, note *string) (sheaf.Proposal, error) {
	return w.saveProposal(t, before, w.decided(before, state, note))
}

func (w *work) decided(p sheaf.Proposal, state sheaf.ProposalState, note *string) sheaf.Proposal {
	p.State, p.Note, p.DecidedAt, p.DecidedBy = state, note, &w.now, &w.caller.User
	p.Revision++
	return p
}

// ApproveProposal records that the caller approves the proposal as it is. The author may not approve
// it, and neither may a user who changed it (FORBIDDEN). match is required (Invalid). If the caller's user has approved it
// already, nothing happens.
func (a *App) ApproveProposal(ctx context.Context, c Caller, id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
	return write(ctx, a, c, scope(sheaf.ProposalsApprove), mustMatch(match), func(w *work) (sheaf.Proposal, error) {
		before, err := w.openProposal(id, match)
		if err != nil {
			return before, err
		}
		p := before
		p.People = slices.Clone(p.People)
		r := p.Reviewer(w.caller.User)
		switch {
		case r.Wrote:
			return before, sheaf.Forbiddenf("you wrote this proposal, or a part of it, so another person has to approve it")
		case r.ApprovedAt != nil:
			return before, nil
		}
		r.ApprovedAt = &w.now
		if key := w.caller.Key.ID; key != "" {
			r.Key = &key
		}
		if err := w.SetAsked(w.ws.ID, p.Number, p.Asked()); err != nil {
			return before, err
		}
		return w.saveProposal(sheaf.ProposalApproved, before, p)
	})
}

// mustMatch returns Invalid unless an If-Match with a revision was sent: a caller decides only about what
// they have read.
func mustMatch(match sheaf.Match) error {
	if match.Asked && !match.Any {
		return nil
	}
	return sheaf.Invalidf("If-Match is required: send the ETag of the proposal as you have read it")
}

// TakeBackApproval removes the caller's approval. Without one, nothing happens.
func (a *App) TakeBackApproval(ctx context.Context, c Caller, id sheaf.ProposalID, match sheaf.Match) error {
	return do(ctx, a, c, scope(sheaf.ProposalsApprove), nil, func(w *work) error {
		before, err := w.openProposal(id, match)
		if err != nil {
			return err
		}
		p := before
		p.People = slices.Clone(p.People)
		r := p.Reviewer(w.caller.User)
		if r.ApprovedAt == nil {
			return nil
		}
		r.ApprovedAt, r.Key = nil, nil
		if err := w.SetAsked(w.ws.ID, p.Number, p.Asked()); err != nil {
			return err
		}
		_, err = w.saveProposal(sheaf.ProposalUpdated, before, p)
		return err
	})
}
