package app

import (
	"context"
	"errors"
	"slices"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Accepting a proposal takes two steps. Merging texts takes time, and every write of the workspace
// would wait for it; on SQLite every write of every workspace would. So the texts are merged first, in a snapshot. The
// transaction then compares the revisions of the documents with those of the snapshot. If one rose,
// it writes nothing, and everything starts over.
//
//	snapshot      planned: each document as it is, merged with what is proposed
//	transaction   accept: same revisions? then the operations of a batch, or nothing

// errAgain is returned by the transaction if a document changed after it was merged.
var errAgain = errors.New("a document changed after it was merged")

// AcceptProposal makes all changes of a proposal in one transaction, or none. What changed in a
// document since its base version is merged line by line. If that is not possible, it returns
// CONFLICT with the Conflicts. Versions get the proposal's author, and events the caller. match is
// required (Invalid). The caller must also be allowed to make each change directly.
func (a *App) AcceptProposal(ctx context.Context, c Caller, id sheaf.ProposalID, match sheaf.Match) (sheaf.Proposal, error) {
	needs, fault := scope(sheaf.ProposalsApprove, sheaf.DocumentsWrite), mustMatch(match)
	if err := firstError(needs(c), c.Refusal, fault); err != nil {
		return sheaf.Proposal{}, err
	}
	for {
		m, err := merging(ctx, a, c, needs, func(r *store.Reader, merges bool) (mergePlan, error) {
			p, err := r.Proposal(c.Workspace, id)
			if err != nil || isOpen(p) != nil || match.Check(p.Revision) != nil {
				return mergePlan{}, err // the transaction refuses it, unless it repeats a request
			}
			return planned(r, c.Workspace, p, merges)
		})
		if err != nil {
			return sheaf.Proposal{}, err
		}
		for i := range m.steps {
			m.steps[i].text = newText(m.steps[i].change, nil)
		}
		p, err := writeWhole(ctx, a, c, needs, fault, func(w *work, at stage) (sheaf.Proposal, error) {
			return w.accept(id, match, m, at)
		})
		if !errors.Is(err, errAgain) {
			return p, err
		}
	}
}

// accept makes the changes of a proposal as they were merged, or returns errAgain.
func (w *work) accept(id sheaf.ProposalID, match sheaf.Match, m mergePlan, at stage) (sheaf.Proposal, error) {
	failpoint.Pass(failpoint.Accepting)
	before, err := w.openProposal(id, match)
	if err != nil {
		return before, err
	}
	if before.Revision != m.of {
		return before, errAgain
	}
	if err := w.unchanged(before, m); err != nil {
		return before, err
	}
	if len(m.conflicts) > 0 {
		err := sheaf.Conflictf("the proposal conflicts with its documents as they are now: PATCH it with changes that have the present version as base_version")
		err.Conflicts = shownTo(w.caller, m.conflicts)
		return before, err
	}
	b := batch{operations: make([]sheaf.BatchOperation, len(m.steps)), texts: make([]store.Text, len(m.steps))}
	for i := range m.steps {
		b.operations[i] = before.Changes[i].Operation()
		b.operations[i].Document, b.texts[i] = m.steps[i].change, m.steps[i].text
	}
	if at == light {
		n, err := b.size(w)
		if err != nil {
			return before, err
		}
		if w.portion(light, n) == 0 {
			return before, errHeavy
		}
	}
	p := w.decided(before, sheaf.ProposalStateAccepted, nil)
	p.UpdatedAt = w.updatedAt(before.UpdatedAt)
	w.emit(sheaf.ProposalAccepted, string(p.ID), &p)
	w.writer = &sheaf.Author{User: p.User, Proposal: p.ID}
	if p.Key != nil {
		w.writer.Key = *p.Key
	}
	p.Changes = slices.Clone(p.Changes)
	if err := w.perform(b, m, p.Changes); err != nil {
		return p, err
	}
	if err := w.UpdateProposal(w.ws.ID, p); err != nil {
		return p, err
	}
	return p, w.approved(before)
}

// unchanged returns errAgain if a document is no longer as it was when it was merged.
func (w *work) unchanged(p sheaf.Proposal, m mergePlan) error {
	for id, revision := range m.seen {
		d, err := w.AnyDocument(w.ws.ID, id)
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return errAgain
		case err != nil:
			return err
		case seenRevision(d) != revision:
			return errAgain
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		planned := slices.ContainsFunc(m.conflicts, func(x sheaf.ProposalConflict) bool { return x.Change == i })
		if c.Op != sheaf.ProposeDelete || m.steps[i].skip || planned {
			continue
		}
		more, err := appeared(&w.Reader, w.ws.ID, c)
		if err != nil {
			return err
		}
		if more {
			return errAgain
		}
	}
	return nil
}

// perform makes the operations of a proposal, and notes in the changes what each of them did. It skips a
// change whose document is as proposed already.
func (w *work) perform(b batch, m mergePlan, changes []sheaf.ProposedChange) error {
	made := make([]sheaf.BatchResult, 0, len(b.operations))
	left := room{touched: int64(w.app.cascades.Touched)}
	for i, o := range b.operations {
		r := sheaf.BatchResult{ID: o.ID}
		if !m.steps[i].skip && (o.Action != sheaf.BatchUpdate || !o.Document.Empty()) {
			done, err := w.beforeChange(&changes[i])
			if err == nil {
				r, err = w.operation(o, b.texts[i], made, &left, heavy)
			}
			if err != nil {
				return sheaf.AtChange(i, err)
			}
			noteDone(done, &changes[i], r)
		}
		made = append(made, r)
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}
