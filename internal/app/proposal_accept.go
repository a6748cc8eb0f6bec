package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/merge"
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

// mergePlan is what accepting a proposal would do.
type mergePlan struct {
	of        int64 // revision of the proposal
	seen      map[sheaf.DocumentID]int64
	steps     []step
	conflicts []sheaf.ProposalConflict
	brief     bool // of all changes: what is not needed for acceptance is left out
	hunks     int  // bytes of the hunks
	texts     int  // bytes of the texts that will be written
}

// step is what one change would do.
type step struct {
	skip    bool // the document is as proposed already
	change  sheaf.DocumentChange
	text    store.Text
	present *sheaf.DocumentText // of an edit
	merged  *string             // text of the document afterwards; nil: it does not change
}

// Bounds of a proposal whose documents have changed since, in bytes.
const (
	maxHunks  = 1 << 20                    // of all hunks that are shown together; a preview shows those of one change
	maxMerged = 4 * sheaf.MaxProposedTexts // of all texts that are written together
)

// planned merges a proposal with its documents as they are now. If a text has to be merged and `merges` is
// false, it returns errMerge. Of the texts it keeps only those that will be written.
func planned(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, merges bool) (mergePlan, error) {
	m := mergePlan{of: p.Revision, seen: map[sheaf.DocumentID]int64{}, steps: make([]step, len(p.Changes)), brief: true}
	for i := range p.Changes {
		if c := &p.Changes[i]; !merges && c.Base != nil && c.Document.Content.Set {
			d, err := r.AnyDocument(ws, c.DocumentID)
			if err == nil && d.ContentSHA256 != c.Base.ContentSHA256 {
				return m, errMerge
			}
		}
		if err := m.plan(r, ws, p, i); err != nil {
			return m, err
		}
		m.steps[i].present, m.steps[i].merged = nil, nil
	}
	return m, nil
}

// errMerge is returned by planned if it is not the workspace's turn to merge texts.
var errMerge = errors.New("there are texts to merge")

// merging is read for an act that calls planned. Merging many long texts takes seconds, and much memory.
// So one request of a workspace merges at a time, and two of all. Without a turn in time, merging returns
// Unavailable. What needs no merge does not wait.
func merging[T any](ctx context.Context, a *App, c Caller, needs need, act func(r *store.Reader, merges bool) (T, error)) (out T, err error) {
	out, err = read(ctx, a, c, needs, func(r *store.Reader) (T, error) { return act(r, false) })
	if !errors.Is(err, errMerge) {
		return out, err
	}
	done, err := a.merges.Take(ctx, string(c.Workspace), 1)
	if errors.Is(err, fair.ErrBusy) {
		return out, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: turnWithin,
			Text: "too many proposals are being merged at this moment: try again in a few seconds"}
	}
	if err != nil {
		return out, sheaf.UnavailableError(err) // the client has gone
	}
	defer done()
	return read(ctx, a, c, needs, func(r *store.Reader) (T, error) { return act(r, true) })
}

// mergeTurns are the turns of merging.
var mergeTurns = fair.Limits{Places: 2, Each: 1, Waiting: 32, AllWaiting: 128, Wait: turnWithin}

// conflict adds a conflict of a change.
func (m *mergePlan) conflict(i int, c *sheaf.ProposedChange, reason string, hunks ...sheaf.ConflictHunk) {
	for _, h := range hunks {
		m.hunks += len(h.Base) + len(h.Present) + len(h.Proposed)
	}
	if m.brief && m.hunks > maxHunks {
		hunks = nil
	}
	m.conflicts = append(m.conflicts, sheaf.ProposalConflict{Change: i, DocumentID: c.DocumentID, Reason: reason, Hunks: hunks})
}

func (m *mergePlan) plan(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, i int) error {
	c, s := &p.Changes[i], &m.steps[i]
	s.change = c.Document
	if c.Op == sheaf.ProposeCreate {
		text, err := r.ProposalText(ws, p.ID, c.ContentSHA256)
		s.change.Content.Value, s.merged = text, &text
		return err
	}
	d, err := r.AnyDocument(ws, c.DocumentID)
	if sheaf.KindOf(err) == sheaf.NotFound {
		m.conflict(i, c, "the document was deleted for good")
		return nil
	}
	if err != nil {
		return err
	}
	m.seen[d.ID] = seenRevision(d)
	gone := d.Deleted != nil
	switch {
	case c.Op == sheaf.ProposeDelete && gone || c.Op == sheaf.ProposeRestore && !gone:
		s.skip = true
	case c.Op == sheaf.ProposeRestore:
	case gone:
		m.conflict(i, c, "the document was deleted")
	case c.Op == sheaf.ProposeDelete:
		if c.Base == nil || d.Version != c.BaseVersion || d.Revision != c.Base.Revision {
			m.conflict(i, c, "the document to delete was changed")
			return nil
		}
		more, err := appeared(r, ws, c)
		if err == nil && more {
			m.conflict(i, c, "another document appeared below the document to delete")
		}
		return err
	case c.Op == sheaf.ProposeEdit:
		return m.planEdit(r, ws, p, i, d)
	}
	return nil
}

// seenRevision returns the number by which the transaction recognizes that a document is the same as
// in the snapshot. It is negative for a deleted document.
func seenRevision(d sheaf.Document) int64 {
	if d.Deleted != nil {
		return -d.Revision
	}
	return d.Revision
}

// appeared reports whether a document is below the document to delete that was not there when the
// deletion was proposed.
func appeared(r *store.Reader, ws sheaf.WorkspaceID, c *sheaf.ProposedChange) (bool, error) {
	now, err := r.Descendants(ws, c.DocumentID, maxBelow+1)
	if err != nil || len(now.IDs) == 0 {
		return false, err
	}
	if c.Base == nil {
		return true, nil
	}
	known := make(map[sheaf.DocumentID]bool, len(c.Base.Below))
	for _, id := range c.Base.Below {
		known[id] = true
	}
	return slices.ContainsFunc(now.IDs, func(id sheaf.DocumentID) bool { return !known[id] }), nil
}

// planEdit merges an edit, field by field and line by line.
func (m *mergePlan) planEdit(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, i int, d sheaf.Document) error {
	c, s := &p.Changes[i], &m.steps[i]
	base := c.Base
	if base == nil {
		m.conflict(i, c, "the proposal does not have the document as its author saw it")
		return nil
	}
	for _, f := range []struct {
		name          string
		base, present *string
		proposed      *sheaf.Opt[string]
	}{
		{"title", &base.Title, &d.Title, &s.change.Title},
		{"description", base.Description, d.Description, &s.change.Description},
		{"external_id", base.ExternalID, d.ExternalID, &s.change.ExternalID},
		{"url", base.URL, d.URL, &s.change.URL},
	} {
		if !mergeField(f.base, f.present, f.proposed) {
			m.conflict(i, c, f.name+" was changed to another value")
		}
	}
	if s.change.Metadata.Set {
		proposed := s.change.Metadata
		after := func(m sheaf.Metadata) sheaf.Metadata {
			return sheaf.DocumentChange{Metadata: proposed}.Apply(sheaf.Document{Metadata: m}).Metadata
		}
		if !mergeMetadata(base.Metadata, d.Metadata, after(base.Metadata)) {
			m.conflict(i, c, "metadata was changed to other values")
		}
		if proposed.Null && base.Metadata != d.Metadata { // it removes what the author saw, and not what others added since
			names := base.Metadata.Entries()
			for n := range names {
				names[n].Value = nil
			}
			s.change.Metadata = sheaf.Some(sheaf.MetadataChange{Merge: true, Entries: names})
		}
	}
	if c.Document.Content.Set {
		return m.mergeContent(r, ws, p, i, d)
	}
	return nil
}

// mergeField drops a proposed value that changes nothing. It returns false if both sides changed the
// field to different values.
func mergeField(base, present *string, proposed *sheaf.Opt[string]) bool {
	if !proposed.Set {
		return true
	}
	want := proposed.Pointer()
	if sheaf.SameID(want, base) || sheaf.SameID(want, present) {
		*proposed = sheaf.Opt[string]{}
		return true
	}
	return sheaf.SameID(base, present)
}

// mergeMetadata returns false if both sides changed the same name to different values.
func mergeMetadata(base, present, proposed sheaf.Metadata) bool {
	values := func(m sheaf.Metadata) map[string]string {
		out := map[string]string{}
		for _, e := range m.Entries() {
			out[e.Name] = "=" + *e.Value // "" is none
		}
		return out
	}
	was, is, want := values(base), values(present), values(proposed)
	for _, names := range []map[string]string{was, is, want} {
		for name := range names {
			if was[name] != is[name] && was[name] != want[name] && is[name] != want[name] {
				return false
			}
		}
	}
	return true
}

// mergeContent merges the proposed text with the present one.
func (m *mergePlan) mergeContent(r *store.Reader, ws sheaf.WorkspaceID, p sheaf.Proposal, i int, d sheaf.Document) error {
	c, s := &p.Changes[i], &m.steps[i]
	s.change.Content = sheaf.Opt[string]{}
	if m.brief && c.ContentSHA256 == d.ContentSHA256 {
		return nil
	}
	proposed, err := r.ProposalText(ws, p.ID, c.ContentSHA256)
	if err != nil {
		return err
	}
	if m.brief && c.Base.ContentSHA256 == d.ContentSHA256 {
		s.change.Content = sheaf.Some(proposed)
		return nil
	}
	present, err := r.DocumentText(ws, c.DocumentID)
	if err != nil {
		return err
	}
	s.present = &present
	base := present.Content
	if d.ContentSHA256 != c.Base.ContentSHA256 {
		if base, err = r.ProposalText(ws, p.ID, c.Base.ContentSHA256); err != nil {
			return err
		}
	}
	merged, hunks := merge.Lines(base, present.Content, proposed)
	switch m.texts += len(merged); {
	case len(hunks) > 0:
		m.conflict(i, c, mergeReason(hunks), conflictHunks(hunks)...)
		return nil
	case len(merged) > sheaf.MaxContent:
		m.conflict(i, c, "the merged text is longer than 1 MiB")
		return nil
	case m.texts > maxMerged:
		m.conflict(i, c, "the merged texts of the proposal are longer than 16 MiB together")
		return nil
	}
	if merged != present.Content {
		s.change.Content = sheaf.Some(merged)
	}
	s.merged = &merged
	return nil
}

func mergeReason(hunks []merge.Hunk) string {
	if hunks[0].Rule == merge.TooLong {
		return "the text was changed, and it is too long to be merged"
	}
	return "the text was changed in the same places, or beside them"
}

func conflictHunks(hunks []merge.Hunk) []sheaf.ConflictHunk {
	out := make([]sheaf.ConflictHunk, len(hunks))
	for i, h := range hunks {
		// Clones: a part of a text would keep all of it in memory.
		out[i] = sheaf.ConflictHunk{BaseLine: h.Base.Line, Base: strings.Clone(h.Base.Text), PresentLine: h.Ours.Line, Present: strings.Clone(h.Ours.Text),
			ProposedLine: h.Theirs.Line, Proposed: strings.Clone(h.Theirs.Text)}
	}
	return out
}

// shownTo removes the texts from conflicts for a caller who may not read documents.
func shownTo(c Caller, conflicts []sheaf.ProposalConflict) []sheaf.ProposalConflict {
	if !c.May(sheaf.DocumentsRead) {
		for i := range conflicts {
			conflicts[i].Hunks = nil
		}
	}
	return conflicts
}

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
	p, err := w.decide(before, sheaf.ProposalStateAccepted, sheaf.ProposalAccepted, nil)
	if err != nil {
		return before, err
	}
	w.writer = &sheaf.Author{User: p.User, Proposal: p.ID}
	if p.Key != nil {
		w.writer.Key = *p.Key
	}
	if err := w.perform(b, m); err != nil {
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

// perform makes the operations of a proposal. It skips a change whose document is as proposed already.
func (w *work) perform(b batch, m mergePlan) error {
	made := make([]sheaf.BatchResult, 0, len(b.operations))
	left := room{deleted: w.app.cascades.Whole, moved: int64(w.app.cascades.Moved)}
	for i, o := range b.operations {
		r := sheaf.BatchResult{ID: o.ID}
		if !m.steps[i].skip && (o.Action != sheaf.BatchUpdate || !o.Document.Empty()) {
			var err error
			if r, err = w.operation(o, b.texts[i], made, &left, heavy); err != nil {
				return sheaf.AtChange(i, err)
			}
		}
		made = append(made, r)
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// ProposalDetail is a proposal with its conflicts at the moment of reading.
type ProposalDetail struct {
	sheaf.Proposal
	Conflicts []sheaf.ProposalConflict
}

// Fields appends the proposal, and its conflicts.
func (d *ProposalDetail) Fields(o *sheaf.Object) {
	d.Proposal.Fields(o)
	sheaf.AppendConflicts(o, d.Conflicts)
}

// Proposal returns one proposal with its present conflicts, or NotFound. Texts in the conflicts are
// only for a caller who may read documents.
func (a *App) Proposal(ctx context.Context, c Caller, id sheaf.ProposalID) (ProposalDetail, error) {
	return merging(ctx, a, c, scope(sheaf.ProposalsRead), func(r *store.Reader, merges bool) (d ProposalDetail, err error) {
		d.Proposal, err = r.Proposal(c.Workspace, id)
		if err != nil || d.State != sheaf.ProposalOpen {
			return d, err
		}
		m, err := planned(r, c.Workspace, d.Proposal, merges)
		d.Conflicts = shownTo(c, m.conflicts)
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
	v := ProposalPreview{Index: index}
	return read(ctx, a, c, scope(sheaf.ProposalsRead, sheaf.DocumentsRead), func(r *store.Reader) (ProposalPreview, error) {
		p, err := r.Proposal(c.Workspace, id)
		if err == nil && index >= len(p.Changes) {
			err = sheaf.Missing("change")
		}
		if err != nil {
			return v, err
		}
		v.Change = p.Changes[index]
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
		if s.present != nil {
			v.Present = &s.present.Content
		}
		v.Merged = s.merged
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
