package app

import (
	"context"
	"fmt"
	"slices"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// noParent returns the refusal of a parent that does not exist or is deleted.
func noParent() error { return sheaf.Missing("parent document (parent_id)") }

// placed is the result of placing a document: what is below it.
type placed struct {
	below []sheaf.DocumentID
	carry bool // the documents below must get the document's project
}

// checkPlace checks the place of d: its project and parent. `before` is nil if d is new. It returns
// NotFound if the parent does not exist, Invalid if the parent is d itself, below d, in another
// project or too deep, and CONFLICT if too many documents are below d. If the place is as before,
// nothing is read.
func (w *work) checkPlace(before *sheaf.Document, d sheaf.Document) (p placed, err error) {
	isThere := before != nil && before.Deleted == nil
	if isThere && sheaf.SameID(before.ProjectID, d.ProjectID) && sheaf.SameID(before.ParentID, d.ParentID) {
		return p, nil
	}
	var above []store.Ancestor
	if d.ParentID != nil {
		if above, err = w.Ancestors(w.ws.ID, *d.ParentID); err != nil {
			return p, err
		}
		if len(above) == 0 || above[0].Deleted != nil {
			return p, noParent()
		}
	}
	levels := 1
	if isThere {
		tree, err := w.Descendants(w.ws.ID, d.ID, w.app.cascades.Moved+1)
		if err != nil {
			return p, err
		}
		p.below, levels = tree.IDs, 1+tree.Levels
		p.carry = !sheaf.SameID(before.ProjectID, d.ProjectID)
	}
	if err := checkParent(d, above, levels); err != nil {
		return p, err
	}
	if most := w.app.cascades.Moved; len(p.below) > most {
		return p, sheaf.Conflictf("more than %d documents are below this one: move them separately first", most)
	}
	return p, nil
}

// newPlace is checkPlace for a change of a stored document. A project that does not exist is
// NotFound.
func (w *work) newPlace(before, d sheaf.Document) (placed, error) {
	if !sheaf.SameID(before.ProjectID, d.ProjectID) {
		if err := w.projectExists(d.ProjectID); err != nil {
			return placed{}, err
		}
	}
	return w.checkPlace(&before, d)
}

// returnTo sets the place of d, which is being restored: below its parent, or at the top level if
// the parent is deleted, in another project or too deep.
func (w *work) returnTo(d *sheaf.Document) error {
	_, err := w.checkPlace(nil, *d)
	switch sheaf.KindOf(err) {
	case sheaf.NotFound, sheaf.Invalid:
		d.ParentID, err = nil, nil
	}
	return err
}

// checkParent returns Invalid if d, which has `levels` levels with itself, cannot be below the
// documents `above`, the nearest first.
func checkParent(d sheaf.Document, above []store.Ancestor, levels int) error {
	switch {
	case len(above) == 0:
		return nil
	case above[0].ID == d.ID:
		return sheaf.InvalidField("parent_id", "parent_id names the document itself: choose another document, or null for the top level").
			ForPerson("A document cannot be below itself: choose another one.")
	case slices.ContainsFunc(above, func(a store.Ancestor) bool { return a.ID == d.ID }):
		return sheaf.InvalidField("parent_id", "parent_id names a document below this one: choose one outside of it, or null for the top level").
			ForPerson("A document cannot be below a document that is below it: choose another one.")
	case !sheaf.SameID(above[0].ProjectID, d.ProjectID):
		return sheaf.InvalidField("parent_id", "parent_id names a document in another project: choose one of the same project, or send the project_id of that parent too").
			ForPerson("That document is in another project: choose one of the same project.")
	case len(above)+levels > sheaf.MaxLevels:
		return sheaf.InvalidField("parent_id", "parent_id: documents nest at most %d levels, and this would make %d: choose a parent nearer to the top level", sheaf.MaxLevels, len(above)+levels).
			ForPerson(fmt.Sprintf("Documents nest at most %d levels deep: choose one nearer to the top level.", sheaf.MaxLevels))
	}
	return nil
}

// carry gives the documents `ids`, which are below `top`, the project of top. Each gets an event.
func (w *work) carry(top sheaf.Document, ids []sheaf.DocumentID) error {
	return w.changeMany(ids, func(d *sheaf.Document) { d.ProjectID = top.ProjectID })
}

// changeMany applies `change`, which may set the project and the order, to the documents `ids`, a
// page at a time. Each document that changes gets an event.
func (w *work) changeMany(ids []sheaf.DocumentID, change func(d *sheaf.Document)) error {
	for page := range slices.Chunk(ids, mostShared) {
		before, err := w.DocumentsByID(w.ws.ID, page)
		if err != nil {
			return err
		}
		after := slices.Clone(before)
		at := w.updatedTogether()
		for i := range after {
			d := &after[i]
			change(d)
			d.Revision++
			d.UpdatedAt = at
			if err := w.mayShow(&before[i], *d, sheaf.Opt[string]{}); err != nil {
				return err
			}
			w.emit(sheaf.DocumentUpdated, string(d.ID), &sheaf.Updated{Before: &before[i], After: d})
		}
		if err := w.UpdatePlaces(w.ws.ID, before, after); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
	}
	return nil
}

// DocumentTree returns all documents of a project in reading order, or NotFound. If there are more
// than sheaf.MaxTree, it returns Invalid.
func (a *App) DocumentTree(ctx context.Context, c Caller, id sheaf.ProjectID) ([]sheaf.TreeEntry, error) {
	return read(ctx, a, c, scope(sheaf.ProjectsRead, sheaf.DocumentsRead), func(r *store.Reader) ([]sheaf.TreeEntry, error) {
		p, err := r.Project(c.Workspace, id)
		if err != nil {
			return nil, err
		}
		if p.DocumentCount > sheaf.MaxTree {
			return nil, sheaf.Invalidf("the project has %d documents, and a tree has at most %d: read it level by level, beginning with "+
				"GET /api/v1/documents?project_id=%s&parent_id=null&sort=sort_order", p.DocumentCount, sheaf.MaxTree, id)
		}
		return r.DocumentTree(c.Workspace, id)
	})
}

// DocumentLevel returns a page of the documents directly below `parent`, in their order. With a nil
// parent it returns those at the top level of the project, or outside of all projects if `project`
// is nil too. A parent that does not exist is NotFound.
func (a *App) DocumentLevel(ctx context.Context, c Caller, project *sheaf.ProjectID, parent *sheaf.DocumentID, p sheaf.Paging) (sheaf.Page[sheaf.TreeEntry], error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) (out sheaf.Page[sheaf.TreeEntry], err error) {
		f := sheaf.DocumentFilter{Sort: sheaf.DocumentsByOrder, Paging: p}
		depth := 1
		if parent != nil {
			f.Parent = sheaf.Some(*parent)
			path, err := pathOf(r, c.Workspace, *parent)
			if err != nil {
				return out, err
			}
			depth += len(path)
		} else {
			f.Parent, f.Project = sheaf.Nil[sheaf.DocumentID](), optional(project)
		}
		page, err := r.Documents(c.Workspace, f)
		if err != nil {
			return out, err
		}
		ids := make([]sheaf.DocumentID, len(page.Items))
		for i := range page.Items {
			ids[i] = page.Items[i].ID
		}
		children, err := r.CountChildren(c.Workspace, ids)
		if err != nil {
			return out, err
		}
		out = sheaf.Page[sheaf.TreeEntry]{Total: page.Total, Paging: page.Paging}
		for i := range page.Items {
			d := &page.Items[i]
			out.Items = append(out.Items, sheaf.TreeEntry{ID: d.ID, Title: d.Title, ParentID: d.ParentID, Depth: depth, SortOrder: d.SortOrder,
				Children: children[i], Version: d.Version, UpdatedAt: d.UpdatedAt, Number: d.Number})
		}
		return out, nil
	})
}

// DocumentPath returns the documents from the top level down to the document `id`, which is the
// last, or NotFound.
func (a *App) DocumentPath(ctx context.Context, c Caller, id sheaf.DocumentID) ([]sheaf.PathEntry, error) {
	return read(ctx, a, c, scope(sheaf.DocumentsRead), func(r *store.Reader) ([]sheaf.PathEntry, error) {
		return pathOf(r, c.Workspace, id)
	})
}

// pathOf returns the documents from the top level down to the document `id`, or NotFound if it does
// not exist or is deleted.
func pathOf(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.DocumentID) ([]sheaf.PathEntry, error) {
	above, err := r.Ancestors(ws, id)
	if err != nil {
		return nil, err
	}
	if len(above) == 0 || above[0].Deleted != nil {
		return nil, sheaf.Missing("document")
	}
	path := make([]sheaf.PathEntry, len(above))
	for i, d := range above {
		path[len(above)-1-i] = sheaf.PathEntry{ID: d.ID, Title: d.Title}
	}
	return path, nil
}
