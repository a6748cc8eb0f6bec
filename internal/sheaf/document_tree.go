package sheaf

import (
	"cmp"
	"slices"
	"time"
)

// The documents of a project, or those in no project, form a forest: a document is at the top level
// or below its parent. Documents with the same parent are sorted by SortOrder, and documents that
// are equal in it by creation.

// Limits of the tree of documents.
const (
	MaxLevels = 5 // levels of documents; a document at the top level is at level 1
	// OrderStep is the distance between the default orders of two consecutive creations.
	OrderStep = 1 << 20
)

// DefaultOrder returns the SortOrder of a document that was given none. It follows the order of
// creation.
func (d *Document) DefaultOrder() int64 { return d.Number * OrderStep }

// SameID reports whether two optional values are equal.
func SameID[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// MaxTree is the largest number of documents of a project that is read as one tree.
const MaxTree = 10_000

// TreeEntry is a document in the tree of its project.
type TreeEntry struct {
	ID        DocumentID
	Title     string
	ParentID  *DocumentID // nil: at the top level
	Depth     int         // its level, from 1 to MaxLevels
	SortOrder int64
	Children  int64 // documents directly below it
	Version   int64
	UpdatedAt time.Time
	Number    int64 // as in Document
}

// Fields appends the entry as the tree of a project shows it.
func (e *TreeEntry) Fields(o *Object) {
	o.Text("id", string(e.ID))
	o.Text("title", e.Title)
	o.OptText("parent_id", (*string)(e.ParentID))
	o.Int("depth", int64(e.Depth))
	o.Int("sort_order", e.SortOrder)
	o.Int("children", e.Children)
	o.Int("version", e.Version)
	o.Time("updated_at", e.UpdatedAt)
}

// ReadingOrder sorts the documents of a project in reading order: each is followed by the documents
// below it. It sets Depth and Children. A document whose parent is not among them is at the top
// level.
func ReadingOrder(entries []TreeEntry) []TreeEntry {
	slices.SortFunc(entries, func(a, b TreeEntry) int {
		return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), cmp.Compare(a.Number, b.Number))
	})
	known := make(map[DocumentID]bool, len(entries))
	for i := range entries {
		known[entries[i].ID] = true
	}
	below := map[DocumentID][]*TreeEntry{} // "" for the top level
	for i := range entries {
		e := &entries[i]
		var in DocumentID
		if e.ParentID != nil && known[*e.ParentID] {
			in = *e.ParentID
		}
		below[in] = append(below[in], e)
	}
	out := make([]TreeEntry, 0, len(entries))
	var add func(in DocumentID, depth int)
	add = func(in DocumentID, depth int) {
		for _, e := range below[in] {
			e.Depth, e.Children = depth, int64(len(below[e.ID]))
			out = append(out, *e)
			add(e.ID, depth+1)
		}
	}
	add("", 1)
	return out
}

// DocumentMove is what a client sends to move a document: where to, and before or after which
// document of the new level.
type DocumentMove struct {
	ProjectID Opt[ProjectID]  `json:"project_id,omitzero"`
	ParentID  Opt[DocumentID] `json:"parent_id,omitzero"`
	BeforeID  Opt[DocumentID] `json:"before_id,omitzero"`
	AfterID   Opt[DocumentID] `json:"after_id,omitzero"`
}

// Check returns Invalid if the fields contradict each other.
func (m DocumentMove) Check() error {
	if m.BeforeID.Given() && m.AfterID.Given() {
		return Invalidf("send before_id or after_id, not both")
	}
	return nil
}

// Empty reports whether no field was sent.
func (m DocumentMove) Empty() bool {
	return !(m.ProjectID.Set || m.ParentID.Set || m.BeforeID.Set || m.AfterID.Set)
}

// Neighbour returns the document next to which the moved one goes, and the field that names it; nil
// if it goes to the end.
func (m DocumentMove) Neighbour() (id *DocumentID, field string) {
	switch {
	case m.BeforeID.Given():
		return m.BeforeID.Pointer(), "before_id"
	case m.AfterID.Given():
		return m.AfterID.Pointer(), "after_id"
	}
	return nil, ""
}

// PathEntry is a document on the path from the top level to another one.
type PathEntry struct {
	ID    DocumentID
	Title string
}
