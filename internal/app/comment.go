package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Comments returns a page of the comments of a proposal, oldest first.
func (a *App) Comments(ctx context.Context, c Caller, id sheaf.ProposalID, p sheaf.Paging) (sheaf.Page[sheaf.Comment], error) {
	return read(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader) (sheaf.Page[sheaf.Comment], error) {
		if _, err := r.Proposal(c.Workspace, id); err != nil {
			return sheaf.Page[sheaf.Comment]{}, err
		}
		return r.Comments(c.Workspace, id, p)
	})
}

// Comment returns one comment of a proposal, or NotFound.
func (a *App) Comment(ctx context.Context, c Caller, id sheaf.ProposalID, number int64) (sheaf.Comment, error) {
	return read(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader) (sheaf.Comment, error) {
		if _, err := r.Proposal(c.Workspace, id); err != nil {
			return sheaf.Comment{}, err
		}
		return r.Comment(c.Workspace, id, number)
	})
}

// CreateComment adds a comment to an open proposal. A proposal has at most sheaf.MaxComments
// (CONFLICT), and the quota must have room for it (QUOTA_REACHED).
func (a *App) CreateComment(ctx context.Context, c Caller, id sheaf.ProposalID, in sheaf.CommentChange) (sheaf.Comment, error) {
	return write(ctx, a, c, scope(sheaf.ProposalsWrite), in.Check(), func(w *work) (sheaf.Comment, error) {
		p, err := w.openProposal(id, sheaf.Match{})
		if err != nil {
			return sheaf.Comment{}, err
		}
		if n := in.Change; n.Given() && n.Value >= int64(len(p.Changes)) {
			return sheaf.Comment{}, sheaf.InvalidField("change", "change is %d, but the proposal has %d changes, counted from 0", n.Value, len(p.Changes))
		}
		n, err := w.CountComments(w.ws.ID, id)
		if err == nil && n >= sheaf.MaxComments {
			err = sheaf.Conflictf("the proposal has %d comments, which is the maximum: delete some", n)
		}
		if err == nil {
			err = w.checkComment(int64(len(in.Body.Value)))
		}
		if err != nil {
			return sheaf.Comment{}, err
		}
		out := sheaf.Comment{Proposal: id, Number: p.Comments + 1, Change: in.Change.Pointer(), Body: in.Body.Value, User: w.caller.User,
			CreatedAt: w.now, UpdatedAt: w.now, Revision: 1}
		if key := w.caller.Key.ID; key != "" {
			out.Key = &key
		}
		w.emit(sheaf.ProposalCommented, string(id), &sheaf.Commented{Proposal: &p, Comment: out})
		return out, w.InsertComment(&w.ws, out)
	})
}

// checkComment returns QUOTA_REACHED if the workspace has no room for a comment that grows by
// `bytes` bytes.
func (w *work) checkComment(bytes int64) error {
	if most := w.app.quota(w.ws.Plan); most > 0 && bytes > 0 && w.ws.Storage+bytes > most {
		return storageReached(w.ws, most, "comment", bytes)
	}
	return nil
}

// ownComment returns a comment of the caller's user on an open proposal.
func (w *work) ownComment(id sheaf.ProposalID, number int64, match sheaf.Match) (sheaf.Comment, error) {
	_, err := w.openProposal(id, sheaf.Match{})
	if err != nil {
		return sheaf.Comment{}, err
	}
	c, err := w.Comment(w.ws.ID, id, number)
	switch {
	case err != nil:
		return c, err
	case c.User != w.caller.User:
		return c, sheaf.Forbiddenf("only its author may change or delete a comment")
	}
	return c, match.Check(c.Revision)
}

// UpdateComment changes a comment of the caller's user while its proposal is open.
func (a *App) UpdateComment(ctx context.Context, c Caller, id sheaf.ProposalID, number int64, in sheaf.CommentChange, match sheaf.Match) (sheaf.Comment, error) {
	return write(ctx, a, c, scope(sheaf.ProposalsWrite), in.Check(), func(w *work) (sheaf.Comment, error) {
		before, err := w.ownComment(id, number, match)
		if err != nil || before.Body == in.Body.Value {
			return before, err
		}
		after := before
		after.Body, after.UpdatedAt = in.Body.Value, w.after(before.UpdatedAt)
		after.Revision++
		if err := w.checkComment(int64(len(after.Body) - len(before.Body))); err != nil {
			return before, err
		}
		w.changes()
		return after, w.UpdateComment(&w.ws, before, after)
	})
}

// DeleteComment deletes a comment of the caller's user while its proposal is open.
func (a *App) DeleteComment(ctx context.Context, c Caller, id sheaf.ProposalID, number int64, match sheaf.Match) error {
	c.deletes = true
	return do(ctx, a, c, scope(sheaf.ProposalsWrite), nil, func(w *work) error {
		before, err := w.ownComment(id, number, match)
		if err != nil {
			return err
		}
		w.changes()
		return w.DeleteComment(&w.ws, before)
	})
}
