package app

import (
	"context"
	"math"

	"sheaf.dev/internal/sheaf"
)

// Lists stand in the order of sort_order, and what has the same in the order of its creation; at first all have 0. Whoever puts
// a record between two others gets a number between theirs. Where there is none, those before it get lower ones:
//
//	before:  a 0   b 0   c 0   d 0          d between a and b
//	after:   a -20 d -10 b 0   c 0          two are changed, b and all behind it are not

// maxArranged is how many records of a level can be arranged by hand: the first.
const maxArranged = sheaf.MaxLimit

// orderStep is the distance between two records that get new numbers, so that the next one finds a place.
const orderStep = 10

// Arranged is a record whose place was changed: where it was before, and its revision now.
type Arranged struct {
	ID        string
	In        *sheaf.FolderID
	SortOrder int32
	Revision  int64
}

// ArrangeProject puts the project right before another one in a folder, or with nil at the root level; without another one behind
// all that are there. It returns all projects whose place was changed.
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

// ArrangeFolder is ArrangeProject for a folder, which stands in another one or at the root level.
func (a *App) ArrangeFolder(ctx context.Context, c Caller, id sheaf.FolderID, in *sheaf.FolderID, before *sheaf.FolderID) ([]Arranged, error) {
	return write(ctx, a, c, scope(sheaf.ProjectsWrite), nil, func(w *work) ([]Arranged, error) {
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

// placeFolder moves a folder into another one, where it is not there yet, and gives it its number.
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

// sameFolder reports whether both are the same place.
func sameFolder(a, b *sheaf.FolderID) bool { return a == b || a != nil && b != nil && *a == *b }

// optional is the folder, or null for the root level.
func optional(f *sheaf.FolderID) sheaf.Opt[sheaf.FolderID] {
	if f == nil {
		return sheaf.Nil[sheaf.FolderID]()
	}
	return sheaf.Some(*f)
}

// sibling is a record of a level, and its sort_order.
type sibling struct {
	id    string
	order int64
}

// arrange puts the record of that id into a level, whose first records are given, right before another one or behind all. place gives
// a record its number, and may move it into the level.
func (w *work) arrange(id string, level []sibling, more bool, before *string, place func(id string, order int32) (Arranged, error)) ([]Arranged, error) {
	var ahead []sibling // that stay before it
	var next *sibling   // right behind it
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
		return nil, sheaf.Conflictf("only the first %d of a level can be arranged by hand: set sort_order by the API", maxArranged)
	}
	var out []Arranged
	for _, s := range between(ahead, next, id) {
		if s.order > math.MaxInt32 || s.order < math.MinInt32 {
			return nil, sheaf.Conflictf("the numbers of sort_order are used up here: set them anew by the API")
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

// between are the numbers that put a record behind those ahead of it and before the next one, which may be none: its own, and where
// there is no room new ones for those ahead, the first of which come first.
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
