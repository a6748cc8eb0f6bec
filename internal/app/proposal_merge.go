package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/merge"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

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
	present *string // text of the document now, of an edit
	merged  *string // text of the document afterwards; nil: it does not change
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
		if !merges && mustMerge(r, ws, &p.Changes[i]) {
			return m, errMerge
		}
		if err := m.plan(r, ws, p, i); err != nil {
			return m, err
		}
		m.steps[i].present, m.steps[i].merged = nil, nil
	}
	return m, nil
}

// mustMerge reports whether the text of the document has changed since the change was proposed. It is
// false if the document cannot be read: plan returns that error.
func mustMerge(r *store.Reader, ws sheaf.WorkspaceID, c *sheaf.ProposedChange) bool {
	if c.Base == nil || !c.Document.Content.Set {
		return false
	}
	d, err := r.AnyDocument(ws, c.DocumentID)
	return err == nil && d.ContentSHA256 != c.Base.ContentSHA256
}

// errMerge is returned by planned if texts must be merged and the request has no turn for that yet.
var errMerge = errors.New("there are texts to merge")

// merging calls act in a read. It first passes `merges` = false: then act must return errMerge instead of
// merging texts. If it does, merging waits for a turn and calls act with true. Merging many long texts takes
// seconds and much memory, so at most one request of a workspace, and two of all workspaces, merge at a time.
// If no turn comes in time, merging returns Unavailable.
func merging[T any](ctx context.Context, a *App, c Caller, needs need, act func(r *store.Reader, merges bool) (T, error)) (out T, err error) {
	out, err = read(ctx, a, c, needs, func(r *store.Reader) (T, error) { return act(r, false) })
	if !errors.Is(err, errMerge) {
		return out, err
	}
	done, err := costlyTurn(ctx, a.merges, c.Workspace, "too many proposals are being merged at this moment: try again in a few seconds")
	if err != nil {
		return out, err
	}
	defer done()
	return read(ctx, a, c, needs, func(r *store.Reader) (T, error) { return act(r, true) })
}

// mergeTurns limits how many requests merge texts at a time, and how many wait.
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
	gone := d.Deleted != nil && (c.Op == sheaf.ProposeRestore || !restores(p.Changes[:i], d.ID))
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
	now, err := r.Descendants(ws, c.DocumentID, maxTouched+1)
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
	present, err := r.Version(ws, c.DocumentID, d.Version) // a deleted document that is restored first has a text too
	if err != nil {
		return err
	}
	s.present = &present.Content
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
