package app

import (
	"context"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A member can be asked to approve an open proposal. The ask is stored with the proposal and removes
// nothing: it only marks the proposal for that member, and requests a mail. internal/mail sends the mail.

// ToAsk returns the members whom the caller can ask to approve an open proposal: those who may approve it,
// neither wrote nor approved it, and were not asked in the last sheaf.AskedApart. It returns none if the
// caller may not ask, or the proposal is decided.
func (a *App) ToAsk(ctx context.Context, c Caller, p sheaf.Proposal) ([]sheaf.UserID, error) {
	return read(ctx, a, c, scope(sheaf.ProposalsWrite), func(r *store.Reader) ([]sheaf.UserID, error) {
		if isOpen(p) != nil || mayAsk(c, &p) != nil {
			return nil, nil
		}
		users, err := r.Approvers(c.Workspace, p.ID)
		return slices.DeleteFunc(users, func(u sheaf.UserID) bool { return u == c.User || !asksFor(&p, u) || askedLately(&p, u, a.now()) }), err
	})
}

// mayAsk returns FORBIDDEN unless the caller is the author of the proposal or may approve it.
func mayAsk(c Caller, p *sheaf.Proposal) error {
	if p.User == c.User && c.May(sheaf.ProposalsWrite) || c.May(sheaf.ProposalsApprove) {
		return nil
	}
	return sheaf.Forbiddenf("only the author of a proposal, and those who may approve it, may ask others to approve it")
}

// asksFor reports whether an approval by the user would be new and would count.
func asksFor(p *sheaf.Proposal, u sheaf.UserID) bool {
	return u != p.User && !slices.ContainsFunc(p.People, func(r sheaf.Reviewer) bool { return r.User == u && (r.Wrote || r.ApprovedAt != nil) })
}

// askedLately reports whether the user was asked in the last sheaf.AskedApart.
func askedLately(p *sheaf.Proposal, u sheaf.UserID, now time.Time) bool {
	return slices.ContainsFunc(p.People, func(r sheaf.Reviewer) bool {
		return r.User == u && r.AskedAt != nil && now.Sub(*r.AskedAt) < sheaf.AskedApart
	})
}

// AskReviewer asks a member to approve an open proposal. The author of the proposal may ask, and so may
// everyone who may approve it (FORBIDDEN). It returns CONFLICT for a user who wrote the proposal, has
// approved it or may not approve it, and if sheaf.MaxAsked others were asked. If the member was asked in
// the last sheaf.AskedApart, nothing happens. An ask changes neither the revision nor updated_at, and has
// no event.
func (a *App) AskReviewer(ctx context.Context, c Caller, id sheaf.ProposalID, u sheaf.UserID) (sheaf.Proposal, error) {
	return write(ctx, a, c, scope(sheaf.ProposalsWrite), nil, func(w *work) (sheaf.Proposal, error) {
		before, err := w.openProposal(id, sheaf.Match{})
		if err == nil {
			err = mayAsk(w.caller, &before)
		}
		if err == nil {
			err = w.canBeAsked(&before, u)
		}
		if err != nil {
			return before, err
		}
		p := before
		p.People = slices.Clone(p.People)
		if askedLately(&p, u, w.now) {
			return before, nil
		}
		r := p.Reviewer(u)
		r.AskedAt, r.AskedBy = &w.now, &w.caller.User
		if err := w.SetAsked(w.ws.ID, p.Number, p.Asked()); err != nil {
			return before, err
		}
		if err := w.NotifyAsked(w.ws.ID, &p, u, w.now); err != nil {
			return before, err
		}
		return p, w.UpdateProposal(w.ws.ID, p)
	})
}

// canBeAsked returns CONFLICT unless the caller can ask the user to approve the proposal.
func (w *work) canBeAsked(p *sheaf.Proposal, u sheaf.UserID) error {
	asked := 0
	for i := range p.People {
		if p.People[i].AskedAt != nil && p.People[i].User != u {
			asked++
		}
	}
	switch {
	case u == w.caller.User:
		return sheaf.Conflictf("you cannot ask yourself: ask another person")
	case !asksFor(p, u):
		return sheaf.Conflictf("that person wrote this proposal or a part of it, or has approved it already: ask another person")
	case asked >= sheaf.MaxAsked:
		return sheaf.Conflictf("%d people were asked to approve this proposal, which is the maximum: wait for one of them", asked)
	}
	may, err := w.MayApprove(w.ws.ID, u, p.ID)
	if err == nil && !may {
		err = sheaf.Conflictf("that person may not approve this proposal, or does not see all of it: ask another person")
	}
	return err
}
