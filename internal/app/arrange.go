package app

import (
	"context"
	"math"

	"sheaf.dev/internal/sheaf"
)

// Lists are sorted by sort_order, and records with the same sort_order by creation. At first all
// have 0. A record that is put between two others gets a number between theirs. If there is none,
// the records before it get lower numbers:
//
//	before:  a 0   b 0   c 0   d 0          move d between a and b
//	after:   a -20 d -10 b 0   c 0          a and d are changed; b and all after it are not

// maxArranged is the number of records of a level that can be arranged by hand: the first ones.
const maxArranged = sheaf.MaxLimit

// orderStep is the distance between two renumbered records, so that another one fits between them.
const orderStep = 10

// Arranged is a record whose place was changed: its previous folder and sort_order, and its new
// revision.
type Arranged struct {
	ID        string
	In        *sheaf.FolderID
	SortOrder int32
	Revision  int64
}

// ArrangeProject puts the project right before the project `before` in the folder `in`, nil for the
// root level. If `before` is nil, the project becomes the last one. It returns all projects whose
// place was changed.
func (a *App) ArrangeProject(ctx context.Context, c Caller, id sheaf.ProjectID, in *sheaf.FolderID, before *sheaf.ProjectID) ([]Arranged, error) {
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), nil, func(w *work) ([]Arranged, error) {
		page, err := w.Projects(w.ws.ID, sheaf.ProjectFilter{Folder: optional(in), Paging: sheaf.Paging{Limit: maxArranged}})
		if err != nil {
			return nil, err
		}
		var level []sibling
		for _, p := range page.Items {
			level = append(level, sibling{string(p.ID), int64(p.SortOrder)})
		}
		return w.arrange(string(id), level, page.More(), (*string)(before), func(id string, order int32) (Arranged, error) {
			was, err := w.Project(w.ws.ID, sheaf.ProjectID(id))
			if err != nil {
				return Arranged{}, err
			}
			now, err := w.changeProject(was, sheaf.ProjectChange{FolderID: optional(in), SortOrder: sheaf.Some(order)}, sheaf.Match{})
			return Arranged{id, was.FolderID, was.SortOrder, now.Revision}, err
		})
	})
}

// ArrangeFolder is ArrangeProject for a folder, whose parent is another folder or the root level.
func (a *App) ArrangeFolder(ctx context.Context, c Caller, id sheaf.FolderID, in *sheaf.FolderID, before *sheaf.FolderID) ([]Arranged, error) {
	return writeWhole(ctx, a, c, scope(sheaf.ProjectsWrite), nil, func(w *work, _ stage) ([]Arranged, error) {
		moved, err := w.Folder(w.ws.ID, id)
		if err != nil {
			return nil, err
		}
		page, err := w.Folders(w.ws.ID, sheaf.FolderFilter{EntityType: moved.EntityType, Parent: optional(in), Paging: sheaf.Paging{Limit: maxArranged}})
		if err != nil {
			return nil, err
		}
		var level []sibling
		for _, f := range page.Items {
			level = append(level, sibling{string(f.ID), int64(f.SortOrder)})
		}
		return w.arrange(string(id), level, page.More(), (*string)(before), func(id string, order int32) (Arranged, error) {
			return w.placeFolder(sheaf.FolderID(id), in, order)
		})
	})
}

// placeFolder moves a folder into `in`, if it is not there yet, and sets its sort_order.
func (w *work) placeFolder(id sheaf.FolderID, in *sheaf.FolderID, order int32) (Arranged, error) {
	was, err := w.Folder(w.ws.ID, id)
	if err != nil {
		return Arranged{}, err
	}
	if !sameFolder(was.ParentID, in) {
		if _, err := w.moveFolder(id, in, sheaf.Match{}); err != nil {
			return Arranged{}, err
		}
		if err := w.flush(); err != nil {
			return Arranged{}, err
		}
	}
	now, err := w.updateFolder(id, sheaf.FolderChange{SortOrder: sheaf.Some(order)}, sheaf.Match{})
	return Arranged{string(id), was.ParentID, was.SortOrder, now.Revision}, err
}

// sameFolder reports whether a and b are the same folder, or both the root level.
func sameFolder(a, b *sheaf.FolderID) bool { return a == b || a != nil && b != nil && *a == *b }

// optional returns the value as one that was sent; nil as null.
func optional[T any](v *T) sheaf.Opt[T] {
	if v == nil {
		return sheaf.Nil[T]()
	}
	return sheaf.Some(*v)
}

// sibling is a record of a level with its sort_order.
type sibling struct {
	id    string
	order int64
}

// arrange puts the record `id` into a level, right before the record `before` or, if that is nil,
// at the end. `level` has the first records of the level. place sets the sort_order of a record,
// and may move it into the level.
func (w *work) arrange(id string, level []sibling, more bool, before *string, place func(id string, order int32) (Arranged, error)) ([]Arranged, error) {
	var ahead []sibling // the records before it
	var next *sibling   // the record right after it
	for i, s := range level {
		if before != nil && s.id == *before {
			next = &level[i]
			break
		}
		if s.id != id {
			ahead = append(ahead, s)
		}
	}
	if before != nil && next == nil || next == nil && more {
		return nil, sheaf.Conflictf("only the first %d of a level can be arranged here: set sort_order with the API", maxArranged)
	}
	var out []Arranged
	for _, s := range between(ahead, next, id) {
		if s.order > math.MaxInt32 || s.order < math.MinInt32 {
			return nil, sheaf.Conflictf("sort_order has no number left for this position: set new numbers with the API")
		}
		one, err := place(s.id, int32(s.order))
		if err != nil {
			return nil, err
		}
		out = append(out, one)
		if err := w.flush(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// between returns the new sort_orders that put the record `id` after those `ahead` and before
// `next`, which may be nil. If there is no number free, the records ahead get new ones too; they
// come first.
func between(ahead []sibling, next *sibling, id string) []sibling {
	n := len(ahead)
	switch {
	case n == 0 && next == nil:
		return []sibling{{id, 0}}
	case next == nil:
		return []sibling{{id, ahead[n-1].order + orderStep}}
	case n == 0:
		return []sibling{{id, next.order - orderStep}}
	case next.order-ahead[n-1].order >= 2:
		return []sibling{{id, ahead[n-1].order + (next.order-ahead[n-1].order)/2}}
	}
	var out []sibling
	for i, s := range append(ahead, sibling{id: id}) {
		out = append(out, sibling{s.id, next.order - int64(n+1-i)*orderStep})
	}
	return out
}
