package app

import (
	"maps"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// exportProposal calls each for a proposal, its texts and its comments. It holds one text at a time.
func exportProposal(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, each func(Exported) error) error {
	if err := exportBases(r, ws, &p); err != nil {
		return err
	}
	if err := each(Exported{Proposal: &p}); err != nil {
		return err
	}
	for _, hash := range slices.Sorted(maps.Keys(sheaf.TextHashes(p.Changes))) {
		text, err := r.ProposalText(ws, p.ID, hash)
		if err == nil {
			err = each(Exported{Text: &text, TextOf: p.ID})
		}
		if err != nil {
			return err
		}
	}
	return r.EachComment(ws, p.ID, func(c sheaf.Comment) error { return each(Exported{Comment: &c}) })
}

// exportBases replaces the revision of each base. An imported document begins at revision 1. So a base has
// revision 1 if its document has not changed since, and otherwise 0, which no document has.
func exportBases(r *store.Reader, ws sheaf.WorkspaceID, p *sheaf.Proposal) error {
	p.Changes = slices.Clone(p.Changes)
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Base == nil {
			continue
		}
		d, err := r.Document(ws, c.DocumentID)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		base := *c.Base
		base.Revision = 0
		if err == nil && d.Revision == c.Base.Revision {
			base.Revision = 1
		}
		c.Base = &base
	}
	return nil
}

// ImportProposal is a proposal to import. Its texts and comments follow as records of their own.
type ImportProposal struct {
	Title         string
	Message, Note *string
	State         sheaf.ProposalState
	Changes       []sheaf.ProposedChange
	People        []sheaf.Reviewer
	User          sheaf.UserID
	Key           *sheaf.KeyID
	Revision      int64
	DecidedAt     *time.Time
	DecidedBy     *sheaf.UserID
}

// ImportComment is a comment to import.
type ImportComment struct {
	Number int64
	Change *int64
	Body   string
	User   sheaf.UserID
	Key    *sheaf.KeyID
}

// OfProposal reports whether the record is a part of a proposal. It must be in the same batch.
func (r *ImportRecord) OfProposal() bool { return r.ProposalText != nil || r.Comment != nil }

func (p *ImportProposal) check() error {
	title := sheaf.Some(p.Title)
	change := sheaf.ProposalChange{Title: title, Changes: sheaf.Some(p.Changes)}
	for name, text := range map[string]*string{"message": p.Message, "note": p.Note} {
		if text == nil {
			continue
		}
		if err := sheaf.CheckLength(name, *text, sheaf.MaxMessage); err != nil {
			return err
		}
	}
	decided := p.State != sheaf.ProposalOpen
	switch {
	case !slices.Contains([]sheaf.ProposalState{sheaf.ProposalOpen, sheaf.ProposalStateAccepted, sheaf.ProposalStateRejected, sheaf.ProposalStateWithdrawn}, p.State):
		return sheaf.InvalidField("state", "state must be open, accepted, rejected or withdrawn")
	case decided != (p.DecidedAt != nil) || decided != (p.DecidedBy != nil):
		return sheaf.InvalidField("decided_at", "decided_at and decided_by are required unless the proposal is open, and not allowed if it is")
	}
	return firstError(change.CheckNew(), checkProposedFields(p.Changes))
}

// acceptProposal accepts a proposal to import. What it names need not exist in the workspace, because a
// document can be deleted after a proposal has named it.
func (im *importing) acceptProposal(r ImportRecord) error {
	id, in := sheaf.ProposalID(r.ID), r.Proposal
	im.proposal = nil
	if im.proposals[id] {
		im.out.Skipped.Proposals++
		return nil
	}
	p := sheaf.Proposal{ID: id, Title: in.Title, Message: in.Message, State: in.State, Changes: in.Changes, People: in.People, User: in.User, Key: in.Key,
		Note: in.Note, Revision: max(in.Revision, 1), DecidedAt: in.DecidedAt, DecidedBy: in.DecidedBy}
	p.Number, p.CreatedAt, p.UpdatedAt = im.stamp(r)
	im.proposals[id] = true
	im.out.Added.Proposals++
	im.proposal = &acceptedProposal{Proposal: p, missing: sheaf.TextHashes(in.Changes)}
	im.newProposals = append(im.newProposals, im.proposal)
	im.created = append(im.created, creation{sheaf.ProposalCreated, r.ID, &im.proposal.Proposal})
	return nil
}

// acceptedProposal is a proposal to save, with its texts and comments.
type acceptedProposal struct {
	sheaf.Proposal
	texts    []store.Text
	comments []sheaf.Comment
	missing  map[string]bool // hashes of texts that were not accepted yet
}

// acceptPart accepts a text or a comment of the proposal that precedes it. If the proposal was skipped, the
// part is skipped too.
func (im *importing) acceptPart(r ImportRecord) error {
	p := im.proposal
	if p == nil && im.proposals[sheaf.ProposalID(r.ID)] {
		return nil
	}
	if p == nil || string(p.ID) != r.ID {
		return notEarlier("proposal_id", "proposal", r.ID)
	}
	if c := r.Comment; c != nil {
		created, updated := r.times(im.now)
		p.comments = append(p.comments, sheaf.Comment{Proposal: p.ID, Number: c.Number, Change: c.Change, Body: c.Body, User: c.User, Key: c.Key,
			CreatedAt: created, UpdatedAt: updated, Revision: 1})
		return nil
	}
	if !p.missing[r.text.SHA256()] {
		return sheaf.InvalidField("content", "content is a text that no change of the proposal names, or that an earlier line has already: leave the line out")
	}
	delete(p.missing, r.text.SHA256())
	p.texts = append(p.texts, r.text)
	return nil
}

// saveProposals writes the accepted proposals with their texts, comments and targets.
func (w *work) saveProposals(im *importing) error {
	for _, p := range im.newProposals {
		if err := w.InsertProposal(w.ws.ID, p.Proposal); err != nil {
			return err
		}
		for _, t := range p.texts {
			grown, err := w.InsertProposalText(w.ws.ID, p.ID, t)
			w.ws.Storage += grown
			if err != nil {
				return err
			}
		}
		for _, c := range p.comments {
			if err := w.InsertComment(&w.ws, c); err != nil {
				return err
			}
		}
		if err := w.SetTargets(w.ws.ID, p.Number, storedTargets(p.Proposal)); err != nil {
			return err
		}
	}
	return nil
}
