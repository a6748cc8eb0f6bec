package publish

import "sheaf.dev/internal/sheaf"

// navMost is the largest number of documents that the navigation of a project shows completely. In a
// larger project it shows, at each level, only the documents beside the shown one and those above it.
const navMost = 500

// navItem is a document in the navigation of a shared project. In that of a shared folder, it can be
// a folder or a project too.
type navItem struct {
	Kind           string // "folder", "project", "rest" (a link to the rest of a folder) or, for a document, ""
	Title, Address string
	Current        bool // the page shows it
	Open           bool // the page shows it, or a document below it
	Items          []*navItem
}

// navigation returns the tree of a project's documents for the page of `current`. tree is in reading
// order.
func (v *visit) navigation(tree []sheaf.TreeEntry, current sheaf.DocumentID) []*navItem {
	root := &navItem{}
	path := []*navItem{root} // the items above the next one
	for i := range tree {
		e := &tree[i]
		item := &navItem{Title: e.Title, Address: v.documentAddress(e.ID), Current: e.ID == current}
		path = append(path[:e.Depth], item)
		above := path[e.Depth-1]
		above.Items = append(above.Items, item)
		if item.Current {
			for _, open := range path {
				open.Open = true
			}
		}
	}
	if len(tree) > navMost {
		for _, item := range root.Items {
			item.prune()
		}
	}
	return root.Items
}

// prune leaves out what is below documents that are not open.
func (n *navItem) prune() {
	if !n.Open {
		n.Items = nil
	}
	for _, item := range n.Items {
		item.prune()
	}
}

// place is where a document is in its project: the documents above it, the first level first, those
// directly below it, and those before and after it in reading order; nil if there is none.
type place struct {
	Above, Below   []*sheaf.TreeEntry
	Previous, Next *sheaf.TreeEntry
}

// neighbours are the documents before and after a page in reading order; nil if there is none. Home is
// the address of the share.
type neighbours struct {
	Home           string
	Previous, Next *sheaf.TreeEntry
}

// placeOf returns the place of a document in a tree. It is empty if the tree does not have it. A tree
// that is not whole does not show what comes before, after and below it.
func placeOf(tree []sheaf.TreeEntry, id sheaf.DocumentID, whole bool) (p place) {
	path := make([]*sheaf.TreeEntry, 0, sheaf.MaxLevels)
	for i := range tree {
		e := &tree[i]
		path = append(path[:e.Depth-1], e)
		if e.ID != id {
			continue
		}
		if p.Above = path[:e.Depth-1]; !whole {
			break
		}
		if i > 0 {
			p.Previous = &tree[i-1]
		}
		if i+1 < len(tree) {
			p.Next = &tree[i+1]
		}
		for j := i + 1; j < len(tree) && tree[j].Depth > e.Depth; j++ {
			if tree[j].Depth == e.Depth+1 {
				p.Below = append(p.Below, &tree[j])
			}
		}
		break
	}
	return p
}

// documentAddress returns the address of a document of a shared project or folder.
func (v *visit) documentAddress(id sheaf.DocumentID) string { return v.below(string(id)) }
