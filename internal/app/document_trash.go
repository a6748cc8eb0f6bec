package app

import (
	"context"
	"errors"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A document is deleted together with everything below it. The documents of one deletion share its
// number, so that a restore finds them again: the document that was deleted itself has the negative
// number. A document that was deleted alone has none.
//
// A deletion or restore of many documents takes several transactions. Until the last one, the
// document itself is live and has the number. Repeating the request then continues with the same
// documents. Children are deleted before their parents and restored after them, so no live document
// is ever below a deleted one.

// DeleteDocument soft-deletes the document and everything below it: they are in no list or count
// until they are restored. More than 2,000 documents are deleted in chunks, the document itself
// last.
func (a *App) DeleteDocument(ctx context.Context, c Caller, id sheaf.DocumentID, match sheaf.Match) error {
	return a.cascade(ctx, c, scope(sheaf.DocumentsWrite), func(w *work, at stage) (progress, error) {
		before, err := w.Document(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, before.Revision); err != nil {
			return nothing, err
		}
		below, err := w.Descendants(w.ws.ID, id, int(w.app.cascades.Whole)+1)
		if err != nil {
			return nothing, err
		}
		n := int64(1 + len(below.IDs))
		most := w.portion(at, n)
		switch {
		case most == 0:
			return nothing, nil
		case n > most:
			return part, w.deleteSome(before, most)
		}
		return all, w.deleteTree(before, below.IDs)
	})
}

// deleteDocument is DeleteDocument in one transaction.
func (w *work) deleteDocument(id sheaf.DocumentID, match sheaf.Match) error {
	before, err := w.Document(w.ws.ID, id)
	if err != nil {
		return err
	}
	if err := match.Check(before.Revision); err != nil {
		return err
	}
	below, err := w.Descendants(w.ws.ID, id, int(w.atOnce())+1)
	if err != nil {
		return err
	}
	return w.deleteTree(before, below.IDs)
}

// deleteTree deletes `top` and all documents below it, which are nearer ones first.
func (w *work) deleteTree(top sheaf.Document, below []sheaf.DocumentID) error {
	deletion := max(top.Deletion, -top.Deletion)
	if deletion == 0 && len(below) > 0 {
		deletion = w.nextNumber()
	}
	lowestFirst := slices.Clone(below)
	slices.Reverse(lowestFirst)
	if err := w.trash(lowestFirst, deletion); err != nil {
		return err
	}
	return w.trash([]sheaf.DocumentID{top.ID}, -deletion)
}

// deleteSome deletes at most `most` of the documents below `top`, and notes the deletion on top.
func (w *work) deleteSome(top sheaf.Document, most int64) error {
	if top.Deletion == 0 {
		top.Deletion = -w.nextNumber()
		if err := w.NoteDeletion(w.ws.ID, top.ID, top.Deletion); err != nil {
			return err
		}
	}
	_, err := w.pages(most, func(most int64) (int64, error) {
		ids, err := w.LowestDocuments(w.ws.ID, top.ID, int(most))
		if err != nil {
			return 0, err
		}
		if err := w.trash(ids, -top.Deletion); err != nil || len(ids) == 0 {
			return 0, err
		}
		return most, nil // another parent may have more
	})
	return err
}

// trash deletes the documents `ids`, a page at a time, with their events.
func (w *work) trash(ids []sheaf.DocumentID, deletion int64) error {
	return w.eachPage(ids, func(before []sheaf.Document) ([]sheaf.Document, error) {
		after := slices.Clone(before)
		for i := range after {
			d := &after[i]
			d.Deleted, d.Deletion = &w.now, deletion
			w.ws.Documents--
			w.emit(sheaf.DocumentDeleted, string(d.ID), &before[i])
		}
		return after, nil
	})
}

// eachPage reads the documents `ids`, a page at a time, and writes what `change` returns: their
// parents, and whether they are deleted.
func (w *work) eachPage(ids []sheaf.DocumentID, change func(before []sheaf.Document) (after []sheaf.Document, err error)) error {
	for page := range slices.Chunk(ids, mostShared) {
		before, err := w.DocumentsByID(w.ws.ID, page)
		if err != nil {
			return err
		}
		after, err := change(before)
		if err != nil {
			return err
		}
		if err := w.UpdateTrash(w.ws.ID, before, after); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// RestoreDocument undoes a deletion: it restores the document, and the documents below it that were
// deleted together with it. A document that is not deleted is left as it is. A document whose
// project was deleted meanwhile is in no project; one whose parent is deleted, in another project
// or too deep goes to the top level. The plan must have room for all of them (QUOTA_REACHED). More
// than 2,000 are restored in chunks, the document itself first.
func (a *App) RestoreDocument(ctx context.Context, c Caller, id sheaf.DocumentID) (sheaf.Document, error) {
	for {
		out, err := writeWhole(ctx, a, c, scope(sheaf.DocumentsWrite), nil, func(w *work, at stage) (sheaf.Document, error) {
			return w.restoreDocument(id, sheaf.Match{}, at)
		})
		if !errors.Is(err, errMany) {
			return out, err
		}
		one := c
		one.Once = nil // only the last transaction keeps the answer
		err = a.cascade(ctx, one, scope(sheaf.DocumentsWrite), func(w *work, at stage) (progress, error) {
			top, group, err := w.deletedWith(id)
			if err != nil || !w.isMany(group) {
				return all, err
			}
			if at == light {
				return nothing, nil
			}
			if err := w.checkRestore(top, group); err != nil {
				return nothing, err
			}
			return part, w.restoreGroup(top, group[:w.portion(chunks, int64(len(group)))], true)
		})
		if err != nil {
			return sheaf.Document{}, err
		}
	}
}

// isMany reports whether a group of deleted documents is too large to be restored in one
// transaction. The document itself does not count, as in a deletion.
func (w *work) isMany(group []sheaf.DocumentID) bool {
	return int64(len(group)-1) > w.atOnce()
}

// checkRestore returns QUOTA_REACHED if the plan has no room for the whole group. A restore that has
// begun has its room: until it ends, checkRecords counts the documents that are still to come.
func (w *work) checkRestore(top sheaf.Document, group []sheaf.DocumentID) error {
	if top.Deleted == nil && top.Deletion != 0 {
		return nil
	}
	return w.checkRecordsFor(int64(len(group)))
}

// errMany is returned by restoreDocument if there is more to restore than one transaction may.
var errMany = errors.New("this takes several transactions")

// restoreDocument is RestoreDocument in one transaction. If there are too many documents for that,
// it returns errMany.
func (w *work) restoreDocument(id sheaf.DocumentID, match sheaf.Match, at stage) (sheaf.Document, error) {
	top, group, err := w.deletedWith(id)
	if err == nil {
		err = match.Check(top.Revision)
	}
	if err != nil || len(group) == 0 {
		return top, err
	}
	switch {
	case w.isMany(group):
		return top, errMany
	case at == light && w.portion(light, int64(len(group))) == 0:
		return top, errHeavy
	}
	if err := w.checkRestore(top, group); err != nil {
		return top, err
	}
	if err := w.restoreGroup(top, group, false); err != nil {
		return top, err
	}
	return w.Document(w.ws.ID, id)
}

// deletedWith returns a document, deleted or not, and the ids of the deleted documents that a
// restore of it restores: itself, and those that were deleted together with it, as far as they are
// below it. Parents come before their children.
func (w *work) deletedWith(id sheaf.DocumentID) (top sheaf.Document, group []sheaf.DocumentID, err error) {
	top, err = w.AnyDocument(w.ws.ID, id)
	var together []store.TrashEntry
	if err == nil && top.Deletion != 0 {
		together, err = w.DeletedTogether(w.ws.ID, max(top.Deletion, -top.Deletion))
	}
	if err != nil {
		return top, nil, err
	}
	return top, restoredWith(top, together), nil
}

// restoredWith returns the group of deletedWith for a document; `together` are the documents that
// were deleted with it.
func restoredWith(top sheaf.Document, together []store.TrashEntry) (group []sheaf.DocumentID) {
	id := top.ID
	if top.Deleted != nil {
		group = append(group, id)
	}
	below := map[sheaf.DocumentID][]store.TrashEntry{}
	known := map[sheaf.DocumentID]bool{id: true}
	for _, e := range together {
		known[e.ID] = true
	}
	var loose []store.TrashEntry // their parent is not in the group any more
	for _, e := range together {
		switch {
		case e.ID == id:
		case e.Parent != nil && known[*e.Parent]:
			below[*e.Parent] = append(below[*e.Parent], e)
		default:
			loose = append(loose, e)
		}
	}
	add := func(from sheaf.DocumentID) {
		for level := below[from]; len(level) > 0; {
			var next []store.TrashEntry
			for _, e := range level {
				group = append(group, e.ID)
				next = append(next, below[e.ID]...)
			}
			level = next
		}
	}
	add(id)
	if top.Deletion < 0 { // all that went together, wherever it is now
		for _, e := range loose {
			group = append(group, e.ID)
			add(e.ID)
		}
	}
	return group
}

// Trashed is a deleted document as the trash shows it.
type Trashed struct {
	sheaf.Document
	Along     int64 // number of other documents that a restore of it restores
	Approvals int64 // that its project asks for; 0: it needs no review
}

// Trash returns the deleted documents, without those that went along with a document above them.
// With a query it returns all that match.
func (a *App) Trash(ctx context.Context, c Caller, f sheaf.DocumentFilter) (sheaf.Page[Trashed], error) {
	f.Deleted, f.Apart = true, f.Query == ""
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (out sheaf.Page[Trashed], err error) {
		page, err := r.Documents(c.Workspace, f)
		if err != nil {
			return out, err
		}
		out = sheaf.Page[Trashed]{Total: page.Total, Paging: page.Paging}
		read, approvals := map[int64][]store.TrashEntry{}, map[sheaf.ProjectID]int64{}
		for _, d := range page.Items {
			t, err := trashed(r, c.Workspace, d, read)
			if err == nil {
				t.Approvals, err = approvalsIn(r, c.Workspace, d.ProjectID, approvals)
			}
			if err != nil {
				return out, err
			}
			out.Items = append(out.Items, t)
		}
		return out, nil
	})
}

// TrashedDocument returns a deleted document, or NotFound.
func (a *App) TrashedDocument(ctx context.Context, c Caller, id sheaf.DocumentID) (Trashed, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (Trashed, error) {
		d, err := r.AnyDocument(c.Workspace, id)
		if err != nil {
			return Trashed{}, err
		}
		if d.Deleted == nil {
			return Trashed{}, sheaf.Missing("document")
		}
		t, err := trashed(r, c.Workspace, d, map[int64][]store.TrashEntry{})
		if err == nil {
			t.Approvals, err = approvalsIn(r, c.Workspace, d.ProjectID, map[sheaf.ProjectID]int64{})
		}
		return t, err
	})
}

// trashed counts the documents that went along with a deleted one. `read` has the deletions that were
// read before, by their numbers.
func trashed(r *store.Reader, ws sheaf.WorkspaceID, d sheaf.Document, read map[int64][]store.TrashEntry) (t Trashed, err error) {
	t.Document = d
	switch {
	case d.Deletion < 0: // it was deleted itself: a restore restores all of them
		t.Along, err = r.CountDeletedTogether(ws, -d.Deletion)
	case d.Deletion > 0:
		together, known := read[d.Deletion]
		if !known {
			if together, err = r.DeletedTogether(ws, d.Deletion); err != nil {
				return t, err
			}
			read[d.Deletion] = together
		}
		t.Along = int64(len(restoredWith(d, together)) - 1)
	}
	return t, err
}

// restoreGroup restores the deleted documents `ids`, parents before their children, with their
// events. If `more` are to follow, it keeps the number of the deletion on top.
func (w *work) restoreGroup(top sheaf.Document, ids []sheaf.DocumentID, more bool) error {
	levels := map[sheaf.DocumentID]int{} // of restored documents
	projects := map[sheaf.DocumentID]*sheaf.ProjectID{}
	err := w.eachPage(ids, func(before []sheaf.Document) ([]sheaf.Document, error) {
		after := slices.Clone(before)
		at := w.updatedTogether()
		for i := range after {
			d := &after[i]
			if err := w.restorePlace(d, levels, projects); err != nil {
				return nil, err
			}
			d.Deleted, d.Deletion = nil, 0
			if more && d.ID == top.ID {
				d.Deletion = top.Deletion
			}
			d.Revision++
			d.UpdatedAt = at
			if err := w.mayShow(&before[i], *d, sheaf.Opt[string]{}); err != nil {
				return nil, err
			}
			w.ws.Documents++
			w.emit(sheaf.DocumentCreated, string(d.ID), d)
		}
		return after, nil
	})
	if err == nil && !more && top.Deleted == nil {
		err = w.NoteDeletion(w.ws.ID, top.ID, 0)
	}
	return err
}

// restorePlace sets the parent of d, which is being restored. `levels` and `projects` have the
// documents that this transaction has restored; d is added.
func (w *work) restorePlace(d *sheaf.Document, levels map[sheaf.DocumentID]int, projects map[sheaf.DocumentID]*sheaf.ProjectID) error {
	level := 1
	if d.ParentID != nil {
		above, known := levels[*d.ParentID]
		switch {
		case !known:
			if err := w.returnTo(d); err != nil {
				return err
			}
			if d.ParentID != nil {
				path, err := w.Ancestors(w.ws.ID, *d.ParentID)
				if err != nil {
					return err
				}
				level = len(path) + 1
			}
		case above == sheaf.MaxLevels || !sheaf.SameID(projects[*d.ParentID], d.ProjectID):
			d.ParentID = nil
		default:
			level = above + 1
		}
	}
	levels[d.ID], projects[d.ID] = level, d.ProjectID
	return nil
}
