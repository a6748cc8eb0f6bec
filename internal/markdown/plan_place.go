package markdown

import (
	"cmp"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// In a project the files also decide on the places of documents. Orders are compared, not numbers:
// if the documents are in the right order, their numbers stay.

// place is where a document is on the server, and when it was created among all.
type place struct {
	Document
	created int
}

// places returns the fields of existing documents that must change so that each is in the project,
// below its parent and in order. It sets SortOrder of these and of the entries to create.
func (l *Library) places(have []Document, ids map[*Entry]string) map[*Entry][]string {
	byID := map[string]place{}
	for i, d := range have {
		byID[d.ID] = place{d, i}
	}
	moved := map[*Entry][]string{}
	for parent, siblings := range l.below {
		var now []*place // those already below the parent; nil for others
		for _, e := range siblings {
			d, there := byID[ids[e]]
			above, known := ids[parent]
			if there && d.ProjectID != l.Home {
				moved[e] = append(moved[e], "project_id")
			}
			if there && d.ParentID != above || parent != nil && !known && there {
				moved[e] = append(moved[e], "parent_id")
			}
			if !there || moved[e] != nil {
				now = append(now, nil)
				continue
			}
			now = append(now, &d)
		}
		for i, order := range sortOrders(now) {
			e := siblings[i]
			if e.SortOrder = order; ids[e] != "" && (moved[e] != nil || now[i].SortOrder != order) {
				moved[e] = append(moved[e], "sort_order")
			}
		}
	}
	return moved
}

// sortOrders returns increasing numbers for siblings. As many of the existing ones as possible keep
// theirs; nil has none yet.
func sortOrders(now []*place) []int64 {
	keep, out := increasing(now), make([]int64, len(now))
	for i := 0; i < len(now); {
		if keep[i] {
			out[i] = now[i].SortOrder
			i++
			continue
		}
		end := i
		for end < len(now) && !keep[end] {
			end++
		}
		n := int64(end - i)
		first, step := int64(sheaf.OrderStep), int64(sheaf.OrderStep)
		switch {
		case i > 0 && end < len(now):
			step = (now[end].SortOrder - out[i-1]) / (n + 1)
			first = out[i-1] + step
		case i > 0:
			first = out[i-1] + step
		case end < len(now):
			first = now[end].SortOrder - n*step
		}
		if last := first + (n-1)*step; step == 0 || first < -sheaf.MaxNumber || last > sheaf.MaxNumber {
			return sortOrders(make([]*place, len(now))) // there is no room: all get new ones
		}
		for ; i < end; i++ {
			out[i] = first
			first += step
		}
	}
	return out
}

// increasing marks a longest sequence of siblings that are in order already.
func increasing(now []*place) []bool {
	less := func(a, b int) int {
		return cmp.Or(cmp.Compare(now[a].SortOrder, now[b].SortOrder), cmp.Compare(now[a].created, now[b].created))
	}
	ends, before := []int{}, make([]int, len(now)) // ends[n] ends the best sequence of n+1 siblings
	for i, d := range now {
		if d == nil {
			continue
		}
		at, _ := slices.BinarySearchFunc(ends, i, less)
		if before[i] = -1; at > 0 {
			before[i] = ends[at-1]
		}
		if at == len(ends) {
			ends = append(ends, i)
		} else {
			ends[at] = i
		}
	}
	keep := make([]bool, len(now))
	if len(ends) > 0 {
		for at := ends[len(ends)-1]; at >= 0; at = before[at] {
			keep[at] = true
		}
	}
	return keep
}

// carried returns the documents that move, and that are now below others that move too. If they
// were carried along, they could be too deep for a moment.
func (l *Library) carried(have []Document, ids map[*Entry]string, moved map[*Entry][]string) (out []Document) {
	moving, parents := map[string]bool{}, map[string]string{}
	for e, fields := range moved {
		moving[ids[e]] = moving[ids[e]] || slices.Contains(fields, "parent_id") || slices.Contains(fields, "project_id")
	}
	for _, d := range have {
		parents[d.ID] = d.ParentID
	}
	for _, d := range have {
		if !moving[d.ID] {
			continue
		}
		for at, level := parents[d.ID], 0; at != "" && level < sheaf.MaxLevels; at, level = parents[at], level+1 {
			if moving[at] {
				out = append(out, d)
				break
			}
		}
	}
	return out
}
