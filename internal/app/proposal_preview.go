package app

import (
	"context"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"sheaf.dev/internal/merge"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// ProposalDetail is a proposal with its conflicts and its approvals at the moment of reading.
type ProposalDetail struct {
	sheaf.Proposal
	Conflicts []sheaf.ProposalConflict

	// Of an open proposal:
	Needs   int64          // approvals that accepting it needs; 0: none
	Counted []sheaf.UserID // people whose approvals count
}

// MissingApprovals returns how many approvals an open proposal lacks.
func (d *ProposalDetail) MissingApprovals() int64 { return max(0, d.Needs-int64(len(d.Counted))) }

// Fields appends the proposal, and its conflicts.
func (d *ProposalDetail) Fields(o *sheaf.Object) {
	d.Proposal.Fields(o)
	sheaf.AppendConflicts(o, d.Conflicts)
}

// Proposal returns one proposal with its present conflicts and approvals, or NotFound. Texts in the conflicts are
// only for a caller who may read documents.
func (a *App) Proposal(ctx context.Context, c Caller, id sheaf.ProposalID) (ProposalDetail, error) {
	return merging(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader, merges bool) (d ProposalDetail, err error) {
		d.Proposal, err = r.Proposal(c.Workspace, id)
		if err != nil || d.State != sheaf.ProposalOpen {
			return d, err
		}
		m, err := planned(r, c.Workspace, d.Proposal, merges)
		d.Conflicts = shownTo(c, m.conflicts)
		if err == nil {
			d.Needs, err = approvalsNeeded(r, c.Workspace, d.Proposal, m)
		}
		if err == nil {
			d.Counted, err = countedApprovals(r, c.Workspace, d.Proposal)
		}
		return d, err
	})
}

// ProposalPreview is one change of a proposal with its texts: what the author saw, what is proposed,
// what the document has now, and what it would have after acceptance. A text that does not exist is nil.
type ProposalPreview struct {
	Index                           int
	Change                          sheaf.ProposedChange
	Base, Proposed, Present, Merged *string
	Draft                           *string // of a text that conflicts: merged, with the proposed lines in each conflict; nil if that is not possible
	Diff                            *string // unified, from the present text to the merged one, or the proposed one if they conflict
	Conflicts                       []sheaf.ProposalConflict
}

// Fields appends the preview.
func (v *ProposalPreview) Fields(o *sheaf.Object) {
	o.Int("change", int64(v.Index))
	v.Change.Fields(o)
	o.OptText("base", v.Base)
	o.OptText("proposed", v.Proposed)
	o.OptText("present", v.Present)
	o.OptText("merged", v.Merged)
	o.OptText("diff", v.Diff)
	sheaf.AppendConflicts(o, v.Conflicts)
}

// PreviewChange returns a change of a proposal with its texts, or NotFound. After the decision, only
// the base and the proposed text are there.
func (a *App) PreviewChange(ctx context.Context, c Caller, id sheaf.ProposalID, index int) (ProposalPreview, error) {
	return merging(ctx, a, c, scope(sheaf.ProposalsRead, sheaf.DocumentsRead), func(r *store.Reader, merges bool) (ProposalPreview, error) {
		v := ProposalPreview{Index: index}
		p, err := r.Proposal(c.Workspace, id)
		if err == nil && index >= len(p.Changes) {
			err = sheaf.Missing("change")
		}
		if err != nil {
			return v, err
		}
		v.Change = p.Changes[index]
		if p.State == sheaf.ProposalOpen && !merges && mustMerge(r, c.Workspace, &v.Change) {
			return v, errMerge
		}
		if v.Change.Document.Content.Set {
			if v.Proposed, err = textOf(r, c.Workspace, p.ID, v.Change.ContentSHA256); err != nil {
				return v, err
			}
			if v.Change.Base != nil {
				if v.Base, err = textOf(r, c.Workspace, p.ID, v.Change.Base.ContentSHA256); err != nil {
					return v, err
				}
			}
		}
		if p.State != sheaf.ProposalOpen {
			v.Diff = difference(v.Base, v.Proposed)
			return v, nil
		}
		m := mergePlan{seen: map[sheaf.DocumentID]int64{}, steps: make([]step, len(p.Changes))}
		if err := m.plan(r, c.Workspace, p, index); err != nil {
			return v, err
		}
		s := m.steps[index]
		v.Conflicts = m.conflicts
		v.Present, v.Merged = s.present, s.merged
		if s.merged == nil && v.Base != nil && v.Present != nil {
			v.Draft = draftOf(*v.Base, *v.Present, *v.Proposed, v.Conflicts)
		}
		v.Diff = difference(v.Present, v.Merged)
		if v.Merged == nil {
			v.Diff = difference(v.Present, v.Proposed)
		}
		return v, nil
	})
}

// draftOf merges texts that conflict, and takes the proposed lines in each conflict. It returns nil if
// that is not possible.
func draftOf(base, present, proposed string, conflicts []sheaf.ProposalConflict) *string {
	// In this base, each conflict has the present lines. So only the proposal changes them.
	lines, at := strings.SplitAfter(base, "\n"), 0
	var agreed strings.Builder
	for i := range conflicts {
		for _, h := range conflicts[i].Hunks {
			from := h.BaseLine - 1
			to := from + len(slices.Collect(strings.Lines(h.Base)))
			if from < at || to > len(lines) {
				return nil
			}
			agreed.WriteString(strings.Join(lines[at:from], "") + h.Present)
			at = to
		}
	}
	agreed.WriteString(strings.Join(lines[at:], ""))
	draft, left := merge.Lines(agreed.String(), present, proposed)
	if len(left) > 0 {
		return nil
	}
	return &draft
}

func textOf(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.ProposalID, sha256 string) (*string, error) {
	text, err := r.ProposalText(ws, id, sha256)
	return &text, err
}

// difference returns a unified diff, or nil if there is no new text or a text is too long. A missing
// old text counts as empty.
func difference(from, to *string) *string {
	if to == nil {
		return nil
	}
	var old string
	if from != nil {
		old = *from
	}
	if checkLines("", old) != nil || checkLines("", *to) != nil {
		return nil
	}
	diff := udiff.Unified("present", "proposed", old, *to)
	return &diff
}
