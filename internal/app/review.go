package app

import (
	"fmt"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// If a project needs review, its documents change only by accepted proposals. The project says how many
// other people must have approved a proposal.
//
// There are many ways to change a document: POST, PUT, PATCH, a batch, an edit, a move, a version or a
// deleted document that is restored, the console, tools for agents. Each has an event, so emit is the
// door through which all of them go. It notes the first change that needed a review, and finish then
// refuses the whole transaction. Only PurgeDocument has no event, and asks mayPurge itself.
//
// Imports and restores by the operator, and the sweep, need no review.

// review is the review that the changes of a transaction need.
type review struct {
	approvals map[sheaf.ProjectID]int64 // that each project asks for; only projects that were looked up
	most      int64                     // the largest number that a project of the changed documents asks for
	removing  bool                      // the documents move out of a project that an admin deletes
	fault     error                     // REVIEW_REQUIRED, or an error of the lookup
}

// removal allows documents to move out of a project that is deleted, until the returned function is
// called. The caller has checked mayEndReview.
func (r *review) removal() (end func()) {
	r.removing = true
	return func() { r.removing = false }
}

// review notes what the change of a record needs. emit returns no error, so review keeps an error until
// the end of the transaction.
func (w *work) review(payload sheaf.Record) {
	operator := w.caller.Key.ID == "" && w.caller.Role == ""
	if w.ws.Reviewed == 0 || w.unreviewed.removing || w.unreviewed.fault != nil || operator {
		return
	}
	switch r := payload.(type) {
	case *sheaf.Updated:
		w.review(r.Before)
		w.review(r.After)
	case *sheaf.Document:
		w.unreviewed.fault = w.reviewIn(r.ProjectID)
	}
}

// reviewIn notes what the change of a document in the project needs. It returns REVIEW_REQUIRED if the
// project needs review, and the change is not by an accepted proposal.
func (w *work) reviewIn(id *sheaf.ProjectID) error {
	n, err := w.approvalsOf(id)
	switch {
	case err != nil || n == 0:
		return err
	case w.writer != nil:
		w.unreviewed.most = max(w.unreviewed.most, n)
		return nil
	}
	return &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeReviewRequired,
		Text:   fmt.Sprintf("the documents of project %s change only by accepted proposals: propose the change with POST /api/v1/proposals", *id),
		Person: "The documents of this project change only after a review: suggest the change as a proposal."}
}

// approvalsOf returns how many approvals a change of the project's documents needs. It returns 0 if id is
// nil: documents without a project need no review.
func (w *work) approvalsOf(id *sheaf.ProjectID) (int64, error) {
	if id == nil || w.ws.Reviewed == 0 {
		return 0, nil
	}
	if w.unreviewed.approvals == nil {
		w.unreviewed.approvals = map[sheaf.ProjectID]int64{}
	}
	return approvalsIn(&w.Reader, w.ws.ID, id, w.unreviewed.approvals)
}

// approvalsIn returns how many approvals a change of the project's documents needs. `known` has those that
// were read before. It returns 0 if id is nil, or if the project was deleted.
func approvalsIn(r *store.Reader, ws sheaf.WorkspaceID, id *sheaf.ProjectID, known map[sheaf.ProjectID]int64) (int64, error) {
	if id == nil {
		return 0, nil
	}
	if n, read := known[*id]; read {
		return n, nil
	}
	n, err := r.ApprovalsOf(ws, *id)
	known[*id] = n
	return n, err
}

// setReview counts the projects that need review, and returns FORBIDDEN unless the caller may set or lift
// the review of a project. The plan must include proposals (PLAN_REQUIRED), unless it is lifted.
func (w *work) setReview(before, p sheaf.Project) error {
	if before.Approvals == p.Approvals {
		return nil
	}
	if err := scope(sheaf.ProjectsAdmin)(w.caller); err != nil {
		return err
	}
	if p.Approvals > 0 {
		if err := w.ws.Plan.AllowProposals(); err != nil {
			return err
		}
		w.ws.Reviewed++
	}
	w.reviewEnds(before)
	w.audit(sheaf.ActionProjectReviewChanged, string(p.ID), reviewFacts(before), reviewFacts(p))
	return nil
}

// reviewEnds corrects the count of projects that need review, after a project was deleted or its review
// was changed.
func (w *work) reviewEnds(before sheaf.Project) {
	delete(w.unreviewed.approvals, before.ID)
	if before.Approvals > 0 {
		w.ws.Reviewed--
	}
}

// mayEndReview returns FORBIDDEN if the project needs review and the caller lacks projects:admin.
func mayEndReview(c Caller, p sheaf.Project) error {
	if p.Approvals == 0 {
		return nil
	}
	return scope(sheaf.ProjectsAdmin)(c)
}

// mayPurge returns FORBIDDEN if the document's project needs review and the caller lacks projects:admin.
func (w *work) mayPurge(d sheaf.Document) error {
	n, err := w.approvalsOf(d.ProjectID)
	if err != nil || n == 0 {
		return err
	}
	return scope(sheaf.ProjectsAdmin)(w.caller)
}

// approved returns APPROVALS_MISSING unless the proposal has the approvals that its changes need. It is
// called after the changes were made.
func (w *work) approved(p sheaf.Proposal) error {
	need := w.unreviewed.most
	if need == 0 {
		return nil
	}
	counted, err := countedApprovals(&w.Reader, w.ws.ID, p)
	if err != nil || int64(len(counted)) >= need {
		return err
	}
	return &sheaf.Error{Kind: sheaf.Conflict, Code: sheaf.CodeApprovalsMissing,
		Text: fmt.Sprintf("the proposal has %d of the %d approvals that it needs by people who did not write it and may approve it now: ask others to approve it", len(counted), need)}
}

// countedApprovals returns the people whose approvals of the proposal count now: they did not write it, and
// may approve it at this moment.
func countedApprovals(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal) (users []sheaf.UserID, err error) {
	for _, one := range p.People {
		if one.ApprovedAt == nil || one.Wrote || one.User == p.User {
			continue
		}
		counts, err := r.MayApprove(ws, one.User, p.ID)
		if err != nil {
			return nil, err
		}
		if counts {
			users = append(users, one.User)
		}
	}
	return users, nil
}

// approvalsNeeded returns how many approvals the changes of an open proposal need, as its documents and
// projects are now: the largest number that a project asks for in which a document is, or to which it goes.
func approvalsNeeded(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, m mergePlan) (most int64, err error) {
	known := map[sheaf.ProjectID]int64{}
	in := make([]*sheaf.ProjectID, len(p.Changes)) // the project of each document after its change
	for i := range p.Changes {
		c := &p.Changes[i]
		before, err := projectOf(r, ws, c.DocumentID, nil)
		if err != nil {
			return 0, err
		}
		if in[i], err = targetOf(r, ws, c, before, in[:i]); err != nil {
			return 0, err
		}
		if m.steps[i].skip || c.Op == sheaf.ProposeEdit && m.steps[i].change.Empty() {
			continue // the document is as proposed already
		}
		for _, id := range []*sheaf.ProjectID{before, in[i]} {
			n, err := approvalsIn(r, ws, id, known)
			if err != nil {
				return 0, err
			}
			most = max(most, n)
		}
	}
	return most, nil
}

// targetOf returns the project of a document after a change. `before` is its project now, and `earlier` are
// the projects after the earlier changes of the proposal.
func targetOf(r *store.Reader, ws sheaf.WorkspaceID, c *sheaf.ProposedChange, before *sheaf.ProjectID, earlier []*sheaf.ProjectID) (*sheaf.ProjectID, error) {
	if c.Op != sheaf.ProposeCreate && c.Op != sheaf.ProposeMove {
		return before, nil
	}
	for _, id := range []sheaf.Opt[sheaf.ProjectID]{c.Document.ProjectID, c.Move.ProjectID} {
		if id.Set {
			return id.Pointer(), nil
		}
	}
	for _, id := range []sheaf.Opt[sheaf.DocumentID]{c.Document.ParentID, c.Move.ParentID, c.Move.BeforeID, c.Move.AfterID} {
		if id.Given() {
			return projectOf(r, ws, id.Value, earlier)
		}
	}
	return before, nil
}

// projectOf returns the project of a document, which may be one that an earlier change makes. It returns nil
// if the document has no project, or no longer exists.
func projectOf(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.DocumentID, earlier []*sheaf.ProjectID) (*sheaf.ProjectID, error) {
	if n, made := sheaf.ParseMadeBy(string(id)); made && n < len(earlier) {
		return earlier[n], nil
	} else if id == "" || made {
		return nil, nil
	}
	d, err := r.AnyDocument(ws, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = nil
	}
	return d.ProjectID, err
}
