package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// MoveDocument moves a document, with everything below it, to another place: below another document
// or to the top level, possibly of another project, and before or after another document there.
// Project, parent and neighbour must exist (NotFound), and the place must be one that UpdateDocument
// accepts. The neighbour must be on the new level (Invalid). Without a neighbour, the document goes
// to the end.
func (a *App) MoveDocument(ctx context.Context, c Caller, id sheaf.DocumentID, in sheaf.DocumentMove, match sheaf.Match) (sheaf.Document, error) {
	return writeWhole(ctx, a, c, scope(sheaf.DocumentsWrite), in.Check(), func(w *work, at stage) (sheaf.Document, error) {
		return w.moveDocument(id, in, match, at)
	})
}

func (w *work) moveDocument(id sheaf.DocumentID, in sheaf.DocumentMove, match sheaf.Match, at stage) (sheaf.Document, error) {
	before, err := w.Document(w.ws.ID, id)
	if err != nil {
		return before, err
	}
	next, field := in.Neighbour()
	var beside *sheaf.Document
	change := sheaf.DocumentChange{ProjectID: in.ProjectID, ParentID: in.ParentID}
	if next != nil {
		d, err := w.Document(w.ws.ID, *next)
		switch {
		case sheaf.KindOf(err) == sheaf.NotFound:
			return before, sheaf.Missing("document (" + field + ")")
		case err != nil:
			return before, err
		default:
			beside = &d
			if !change.ProjectID.Set {
				change.ProjectID = optional(d.ProjectID)
			}
			if !change.ParentID.Set {
				change.ParentID = optional(d.ParentID)
			}
		}
	}
	d := change.Apply(before)
	to, err := w.newPlace(before, d)
	if err == nil {
		err = besideIt(d, beside, field)
	}
	if err := firstMissing(err, match.Check(before.Revision)); err != nil {
		return before, err
	}
	if to.carry && at == light && w.portion(light, int64(1+len(to.below))) == 0 {
		return before, errHeavy
	}
	shifted, err := w.order(before, &d, beside, in.BeforeID.Given())
	if err != nil {
		return before, err
	}
	if err := w.mayShow(&before, d, sheaf.Opt[string]{}); err != nil {
		return before, err
	}
	if d, err = w.changeDocument(before, d, store.Text{}); err != nil {
		return d, err
	}
	if to.carry {
		if err := w.carry(d, to.below); err != nil {
			return d, err
		}
	}
	return d, w.shift(shifted)
}

// besideIt returns Invalid unless the neighbour, which `field` names, is another document on the
// level of d.
func besideIt(d sheaf.Document, beside *sheaf.Document, field string) error {
	switch {
	case beside == nil:
		return nil
	case beside.ID == d.ID:
		return sheaf.InvalidField(field, "%s names the document itself: choose another one, or leave it out to move to the end", field)
	case !sheaf.SameID(beside.ParentID, d.ParentID) || !sheaf.SameID(beside.ProjectID, d.ProjectID):
		return sheaf.InvalidField(field, "%s names a document under another parent: choose one with the same parent_id and project_id, or leave those out", field)
	}
	return nil
}

// maxShifted is the largest number of neighbours that get another order with a move.
const maxShifted = 1000

// order sets the order of d so that it is before or after `beside`, or last on its level. It
// returns the neighbours that must get another order, because there was no value between two of
// them; if these are more than maxShifted, it returns CONFLICT. If d is there already, nothing
// changes.
func (w *work) order(before sheaf.Document, d *sheaf.Document, beside *sheaf.Document, ahead bool) ([]store.Sibling, error) {
	level := store.TreeLevel{Project: d.ProjectID, Parent: d.ParentID}
	var from *store.Sibling
	if beside != nil {
		from = &store.Sibling{ID: beside.ID, Order: beside.SortOrder, Number: beside.Number}
	}
	// The documents on both sides of the new position, the nearest first.
	sides := func(most int) (left, right []store.Sibling, err error) {
		switch {
		case from == nil:
			left, err = w.Siblings(w.ws.ID, level, nil, true, d.ID, most)
			return left, nil, err
		case ahead:
			right = []store.Sibling{*from}
			left, err = w.Siblings(w.ws.ID, level, from, true, d.ID, most)
			if err == nil && most > 1 {
				var more []store.Sibling
				more, err = w.Siblings(w.ws.ID, level, from, false, d.ID, most-1)
				right = append(right, more...)
			}
			return left, right, err
		}
		left = []store.Sibling{*from}
		right, err = w.Siblings(w.ws.ID, level, from, false, d.ID, most)
		if err == nil && most > 1 {
			var more []store.Sibling
			more, err = w.Siblings(w.ws.ID, level, from, true, d.ID, most-1)
			left = append(left, more...)
		}
		return left, right, err
	}
	left, right, err := sides(1)
	if err != nil {
		return nil, err
	}
	stays := sheaf.SameID(before.ProjectID, d.ProjectID) && sheaf.SameID(before.ParentID, d.ParentID)
	if stays && isBetween(left, store.Sibling{Order: before.SortOrder, Number: before.Number}, right) {
		return nil, nil
	}
	if len(right) == 0 {
		// A new number: documents created later come after this one.
		if last := (w.ws.LastNumber + 1) * sheaf.OrderStep; last <= sheaf.MaxNumber && (len(left) == 0 || last > left[0].Order) {
			w.nextNumber()
			d.SortOrder = last
			return nil, nil
		}
	}
	if _, values, ok := makeRoom(left, right, 0); ok {
		d.SortOrder = values[0]
		return nil, nil
	}
	if left, right, err = sides(maxShifted + 1); err != nil {
		return nil, err
	}
	shifted, values, ok := makeRoom(left, right, maxShifted)
	if !ok {
		return nil, sheaf.Conflictf("there is no sort_order left between these two documents, and making room would change more than %d others: set sort_order of some of them first", maxShifted)
	}
	var out []store.Sibling
	for i, s := range shifted {
		if s == nil {
			d.SortOrder = values[i]
		} else {
			s.Order = values[i]
			out = append(out, *s)
		}
	}
	return out, nil
}

// isBetween reports whether s is after the nearest document on its left and before the nearest on its
// right.
func isBetween(left []store.Sibling, s store.Sibling, right []store.Sibling) bool {
	after := func(a, b store.Sibling) bool { return a.Order > b.Order || a.Order == b.Order && a.Number > b.Number }
	return (len(left) == 0 || after(s, left[0])) && (len(right) == 0 || after(right[0], s))
}

// makeRoom finds values for a document between `left` and `right`, both the nearest first, and for
// the fewest documents beside it that must get others, at most `most`. It returns these documents
// in their order, nil for the new one, and the value of each. If `left` or `right` has fewer than
// `most`+1 documents, the level ends there.
func makeRoom(left, right []store.Sibling, most int) (window []*store.Sibling, values []int64, ok bool) {
	for shifted := range most + 1 {
		for l := range min(shifted, len(left)) + 1 {
			r := shifted - l
			if r > len(right) {
				continue
			}
			n := int64(shifted + 1)
			low, high := int64(-sheaf.MaxNumber-1), int64(sheaf.MaxNumber+1)
			switch hasLow, hasHigh := l < len(left), r < len(right); {
			case hasLow && hasHigh:
				low, high = left[l].Order, right[r].Order
			case hasLow:
				low = left[l].Order
				high = min(high, low+(n+1)*sheaf.OrderStep)
			case hasHigh:
				high = right[r].Order
				low = max(low, high-(n+1)*sheaf.OrderStep)
			default:
				low, high = 0, (n+1)*sheaf.OrderStep
			}
			if high-low < n+1 {
				continue
			}
			for i := l; i > 0; i-- {
				window = append(window, &left[i-1])
			}
			window = append(window, nil)
			for i := range r {
				window = append(window, &right[i])
			}
			room := high - low
			for i := int64(1); i <= n; i++ {
				values = append(values, low+room/(n+1)*i+room%(n+1)*i/(n+1))
			}
			return window, values, true
		}
	}
	return nil, nil, false
}

// shift writes the new orders of the siblings, each with an event.
func (w *work) shift(siblings []store.Sibling) error {
	order := map[sheaf.DocumentID]int64{}
	ids := make([]sheaf.DocumentID, len(siblings))
	for i, s := range siblings {
		ids[i], order[s.ID] = s.ID, s.Order
	}
	return w.changeMany(ids, func(d *sheaf.Document) { d.SortOrder = order[d.ID] })
}
