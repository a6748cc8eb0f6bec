package app

import (
	"context"
	"fmt"
	"slices"

	"sheaf.dev/internal/merge"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A revert is a new proposal that undoes an accepted one. Accepting a proposal notes in each change what
// it did. The revert undoes the changes from the last to the first:
//
//	edit     the fields and the text as they were before, based on the version that accepting made. So what
//	         others changed since is kept, or conflicts, as in every proposal
//	create   the document is deleted, as it is when the revert is proposed
//	delete   the document is restored
//	restore  the document is deleted again
//	move     the document goes back to its place
//
// What was undone meanwhile needs no change.

// beforeChange returns what a change will do, as far as that is known before it is made.
func (w *work) beforeChange(c *sheaf.ProposedChange) (*sheaf.ProposalDone, error) {
	done := &sheaf.ProposalDone{}
	if c.Op != sheaf.ProposeEdit && c.Op != sheaf.ProposeMove {
		return done, nil
	}
	d, err := w.Document(w.ws.ID, c.DocumentID)
	if err != nil {
		return nil, err
	}
	if c.Op == sheaf.ProposeEdit {
		done.Was = sheaf.BaseOf(d)
		return done, nil
	}
	from, err := placeOf(&w.Reader, w.ws.ID, d)
	done.From = &from
	return done, err
}

// placeOf returns the place of a live document.
func placeOf(r *store.Reader, ws sheaf.WorkspaceID, d sheaf.Document) (sheaf.DocumentPlace, error) {
	at := sheaf.DocumentPlace{ProjectID: d.ProjectID, ParentID: d.ParentID}
	from := &store.Sibling{ID: d.ID, Order: d.SortOrder, Number: d.Number}
	for _, side := range []struct {
		before bool
		id     *sheaf.DocumentID
	}{{true, &at.AfterID}, {false, &at.BeforeID}} {
		next, err := r.Siblings(ws, store.TreeLevel{Project: d.ProjectID, Parent: d.ParentID}, from, side.before, d.ID, 1)
		if err != nil {
			return at, err
		}
		if len(next) > 0 {
			*side.id = next[0].ID
		}
	}
	return at, nil
}

// noteDone notes in the change what it did.
func noteDone(done *sheaf.ProposalDone, c *sheaf.ProposedChange, r sheaf.BatchResult) {
	switch d, _ := r.Record.(*sheaf.Document); {
	case c.Op == sheaf.ProposeCreate:
		done.DocumentID = sheaf.DocumentID(r.ID)
	case c.Op == sheaf.ProposeEdit:
		done.Is, done.Version = sheaf.BaseOf(*d), d.Version
	}
	c.Done = done
}

// RevertProposal makes a new open proposal, by the caller, that undoes an accepted one. It returns CONFLICT
// if the proposal was not accepted, if a change cannot be undone, or if nothing is left to undo. Its other
// errors are those of CreateProposal.
func (a *App) RevertProposal(ctx context.Context, c Caller, id sheaf.ProposalID) (sheaf.Proposal, error) {
	needs := scope(sheaf.ProposalsWrite, sheaf.ProposalsRead, sheaf.DocumentsRead)
	u, err := merging(ctx, a, c, needs, func(r *store.Reader, merges bool) (*undoing, error) {
		p, err := r.Proposal(c.Workspace, id)
		if err == nil && p.State != sheaf.ProposalStateAccepted {
			err = sheaf.Conflictf("the proposal is %s, and only an accepted one can be undone", p.State)
		}
		if err != nil {
			return nil, err
		}
		u := &undoing{r: r, ws: c.Workspace, p: p, merges: merges}
		return u, u.run()
	})
	if err != nil {
		return sheaf.Proposal{}, err
	}
	in := sheaf.ProposalChange{Title: sheaf.Some(revertTitle(u.p.Title)), Message: sheaf.Some(fmt.Sprintf("Undoes proposal %d.", u.p.Number)),
		Changes: sheaf.Some(u.changes)}
	return createProposal(ctx, a, c, needs, in, u.bases)
}

// revertTitle returns the title of a revert. The end of a long title is left out.
func revertTitle(title string) string {
	runes := []rune(title)
	if most := sheaf.MaxName - len([]rune("Revert “”…")); len(runes) > most {
		return "Revert “" + string(runes[:most]) + "…”"
	}
	return "Revert “" + title + "”"
}

// undoing collects the changes that undo a proposal.
type undoing struct {
	r       *store.Reader
	ws      sheaf.WorkspaceID
	p       sheaf.Proposal
	merges  bool // it is the workspace's turn to merge texts
	changes []sheaf.ProposedChange
	bases   []*sheaf.ProposalBase // the fields that accepting left, of each change
	bytes   int                   // of the texts
	moved   map[sheaf.DocumentID]sheaf.DocumentPlace
}

func (u *undoing) run() error {
	u.moved = map[sheaf.DocumentID]sheaf.DocumentPlace{}
	for i, c := range slices.Backward(u.p.Changes) {
		if c.Done == nil {
			continue
		}
		var err error
		switch c.Op {
		case sheaf.ProposeCreate:
			err = u.delete(c.Done.DocumentID)
		case sheaf.ProposeRestore:
			err = u.delete(c.DocumentID)
		case sheaf.ProposeDelete:
			err = u.restore(i, c.DocumentID)
		case sheaf.ProposeMove:
			err = u.moveBack(i, &c)
		case sheaf.ProposeEdit:
			err = u.editBack(i, &c)
		}
		if err != nil {
			return err
		}
	}
	if len(u.changes) == 0 {
		return sheaf.Conflictf("nothing is left to undo: the documents are as they were before the proposal")
	}
	return nil
}

func (u *undoing) add(c sheaf.ProposedChange, base *sheaf.ProposalBase) {
	u.changes, u.bases = append(u.changes, c), append(u.bases, base)
}

// cannot returns the error of a change that cannot be undone.
func (u *undoing) cannot(i int, why string) error {
	title := "a document"
	if base := u.p.Changes[i].Base; base != nil {
		title = "“" + base.Title + "”"
	}
	return sheaf.AtChange(i, sheaf.Conflictf("this change cannot be undone: %s", why).ForPerson("The change of "+title+" cannot be undone: "+why))
}

// live returns the document. If it is deleted, and the revert does not restore it, live returns CONFLICT.
func (u *undoing) live(i int, id sheaf.DocumentID, which string) (sheaf.Document, error) {
	d, err := u.r.AnyDocument(u.ws, id)
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound:
		return d, u.cannot(i, which+" was deleted for good")
	case err == nil && d.Deleted != nil && !restores(u.changes, id):
		return d, u.cannot(i, which+" is in the trash: restore it first")
	}
	return d, err
}

func (u *undoing) delete(id sheaf.DocumentID) error {
	d, err := u.r.AnyDocument(u.ws, id)
	if sheaf.KindOf(err) == sheaf.NotFound || err == nil && d.Deleted != nil {
		return nil
	}
	u.add(sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: id, BaseVersion: d.Version}, nil)
	return err
}

func (u *undoing) restore(i int, id sheaf.DocumentID) error {
	d, err := u.r.AnyDocument(u.ws, id)
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound:
		return u.cannot(i, "the document was deleted for good")
	case err != nil || d.Deleted == nil:
		return err
	}
	u.add(sheaf.ProposedChange{Op: sheaf.ProposeRestore, DocumentID: id}, nil)
	return nil
}

// moveBack adds the move of a document to the place that it had, beside a neighbour that is still there.
func (u *undoing) moveBack(i int, c *sheaf.ProposedChange) error {
	d, err := u.live(i, c.DocumentID, "the document")
	if err != nil {
		return err
	}
	from := *c.Done.From
	now, err := placeOf(u.r, u.ws, d)
	if err != nil {
		return err
	}
	if now.AfterID == from.AfterID && now.BeforeID == from.BeforeID && sheaf.SameID(now.ProjectID, from.ProjectID) && sheaf.SameID(now.ParentID, from.ParentID) {
		return nil
	}
	move := sheaf.DocumentMove{ProjectID: optional(from.ProjectID), ParentID: optional(from.ParentID)}
	if from.ProjectID != nil {
		_, err := u.r.Project(u.ws, *from.ProjectID)
		if sheaf.KindOf(err) == sheaf.NotFound {
			return u.cannot(i, "the project that the document was in is gone")
		}
		if err != nil {
			return err
		}
	}
	if from.ParentID != nil {
		if _, err := u.live(i, *from.ParentID, "the document that it was below"); err != nil {
			return err
		}
	}
	after, err := u.isAt(from.AfterID, from)
	if err != nil {
		return err
	}
	before := false
	if !after {
		if before, err = u.isAt(from.BeforeID, from); err != nil {
			return err
		}
	}
	switch {
	case after:
		move.AfterID = sheaf.Some(from.AfterID)
	case before:
		move.BeforeID = sheaf.Some(from.BeforeID)
	}
	u.moved[c.DocumentID] = from
	u.add(sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: c.DocumentID, Move: move}, nil)
	return nil
}

// isAt reports whether a document is on the level of a place, after the changes of the revert so far.
func (u *undoing) isAt(id sheaf.DocumentID, place sheaf.DocumentPlace) (bool, error) {
	if id == "" {
		return false, nil
	}
	is, moved := u.moved[id]
	if !moved {
		d, err := u.r.AnyDocument(u.ws, id)
		if sheaf.KindOf(err) == sheaf.NotFound || err == nil && d.Deleted != nil && !restores(u.changes, id) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		is = sheaf.DocumentPlace{ProjectID: d.ProjectID, ParentID: d.ParentID}
	}
	return sheaf.SameID(is.ProjectID, place.ProjectID) && sheaf.SameID(is.ParentID, place.ParentID), nil
}

// editBack adds an edit that takes back what accepting changed.
func (u *undoing) editBack(i int, c *sheaf.ProposedChange) error {
	d, err := u.live(i, c.DocumentID, "the document")
	if err != nil {
		return err
	}
	was, is := c.Done.Was, c.Done.Is
	out := sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: d.ID, BaseVersion: c.Done.Version, Document: fieldsBack(was, is, sheaf.BaseOf(d))}
	v, err := u.r.VersionOf(u.ws, d.ID, c.Done.Version)
	kept := err == nil && v.ContentSHA256 == is.ContentSHA256
	if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
		return err
	}
	if !kept {
		out.BaseVersion = d.Version
	}
	if was.ContentSHA256 != is.ContentSHA256 && was.ContentSHA256 != d.ContentSHA256 {
		text, err := u.textBack(i, c, d, kept)
		if err != nil {
			return err
		}
		if u.bytes += len(text); u.bytes > sheaf.MaxProposedTexts {
			return sheaf.Conflictf("the earlier texts of the documents are longer than 4 MiB together: restore their earlier versions instead")
		}
		out.Document.Content = sheaf.Some(text)
	}
	if !out.Document.Empty() {
		u.add(out, is)
	}
	return nil
}

// fieldsBack returns a change that sets the fields that accepting changed to their earlier values. It
// leaves out the text, and the fields that have the earlier value now.
func fieldsBack(was, is, now *sheaf.ProposalBase) (back sheaf.DocumentChange) {
	if was.Title != is.Title && was.Title != now.Title {
		back.Title = sheaf.Some(was.Title)
	}
	for _, f := range []struct {
		was, is, now *string
		back         *sheaf.Opt[string]
	}{{was.Description, is.Description, now.Description, &back.Description}, {was.ExternalID, is.ExternalID, now.ExternalID, &back.ExternalID},
		{was.URL, is.URL, now.URL, &back.URL}} {
		if !sheaf.SameID(f.was, f.is) && !sheaf.SameID(f.was, f.now) {
			*f.back = optional(f.was)
		}
	}
	if entries := metadataBack(was.Metadata, is.Metadata); len(entries) > 0 && was.Metadata != now.Metadata {
		back.Metadata = sheaf.Some(sheaf.MetadataChange{Merge: true, Entries: entries})
	}
	return back
}

// metadataBack returns the entries that differ, with their earlier values.
func metadataBack(was, is sheaf.Metadata) (back []sheaf.MetadataEntry) {
	now := map[string]string{}
	for _, e := range is.Entries() {
		now[e.Name] = *e.Value
	}
	for _, e := range was.Entries() {
		if value, has := now[e.Name]; !has || value != *e.Value {
			back = append(back, e)
		}
		delete(now, e.Name)
	}
	for _, e := range is.Entries() {
		if _, added := now[e.Name]; added {
			back = append(back, sheaf.MetadataEntry{Name: e.Name})
		}
	}
	return back
}

// textBack returns the text of a document without what accepting changed in it. If the version that
// accepting made is `kept`, and the text before it is kept with the proposal or as a version, that is
// the text before. Otherwise the proposed change is taken out of the present text.
func (u *undoing) textBack(i int, c *sheaf.ProposedChange, d sheaf.Document, kept bool) (string, error) {
	was := c.Done.Was.ContentSHA256
	if kept && c.Base != nil && was == c.Base.ContentSHA256 {
		return u.r.ProposalText(u.ws, u.p.ID, was)
	}
	if kept {
		v, err := u.r.Version(u.ws, d.ID, c.Done.Version-1)
		if err == nil && v.ContentSHA256 == was {
			return v.Content, nil
		}
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return "", err
		}
	}
	if !u.merges {
		return "", errMerge
	}
	number := d.Version
	if kept {
		number = c.Done.Version
	}
	v, err := u.r.Version(u.ws, d.ID, number)
	if err != nil {
		return "", err
	}
	proposed, err := u.r.ProposalText(u.ws, u.p.ID, c.ContentSHA256)
	if err != nil {
		return "", err
	}
	base, err := u.r.ProposalText(u.ws, u.p.ID, c.Base.ContentSHA256)
	if err != nil {
		return "", err
	}
	text, hunks := merge.Lines(proposed, v.Content, base)
	if len(hunks) > 0 {
		return "", u.cannot(i, "the text was changed in the same places since, and the earlier versions are no longer kept")
	}
	return text, nil
}
