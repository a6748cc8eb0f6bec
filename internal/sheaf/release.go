package sheaf

import (
	"cmp"
	"slices"
	"time"
)

// Limits of releases.
const (
	MaxReleaseName  = 100    // characters
	MaxReleaseNotes = 10_000 // characters
	MaxReleases     = 100    // of a project
)

// Release is the state of a project's documents at one moment, under a name. What it shows never
// changes, except that a document can be deleted from it for good.
type Release struct {
	ID        ReleaseID
	ProjectID ProjectID
	Name      string // unique in the project
	Notes     *string
	Documents int64 // number of its documents
	User      UserID
	Key       *KeyID // nil in the console
	CreatedAt time.Time

	// Number counts the records created in the workspace. Releases are sorted by it.
	Number int64
	// Revision rises when the notes change. ETag and If-Match carry it.
	Revision int64
}

// Fields appends the release as lists, answers and events show it.
func (r *Release) Fields(o *Object) {
	o.Text("id", string(r.ID))
	o.Text("project_id", string(r.ProjectID))
	o.Text("name", r.Name)
	o.OptText("notes", r.Notes)
	o.Int("documents", r.Documents)
	o.Text("user_id", string(r.User))
	o.OptText("key_id", (*string)(r.Key))
	o.Time("created_at", r.CreatedAt)
}

// ReleaseChange is what a client sends to make a release or to change one.
type ReleaseChange struct {
	Name  Opt[string] // only of a new release
	Notes Opt[string]
}

// CheckNew returns Invalid for the first bad field of a new release.
func (c ReleaseChange) CheckNew() error {
	if !c.Name.Given() {
		return InvalidField("name", "name is required: 1 to %d characters, such as 1.0", MaxReleaseName)
	}
	if err := CheckName("name", c.Name.Value, MaxReleaseName); err != nil {
		return err
	}
	return c.Check()
}

// Check returns Invalid if the notes are too long.
func (c ReleaseChange) Check() error { return CheckLength("notes", c.Notes.Value, MaxReleaseNotes) }

// Apply returns r with the notes that were sent.
func (c ReleaseChange) Apply(r Release) Release {
	if c.Notes.Set {
		r.Notes = c.Notes.Pointer()
	}
	return r
}

// ReleaseFilter limits a list of releases.
type ReleaseFilter struct {
	Name string // empty: any
	Paging
}

// ReleasedDocument is a document of a release or, in a comparison, of a project as it is now.
type ReleasedDocument struct {
	TreeEntry
	// Digest is equal for documents whose title, text and further fields are equal.
	Digest [32]byte
}

// DocumentName is a document in a list of a ReleaseDiff.
type DocumentName struct {
	ID    DocumentID
	Title string
}

// Fields appends the id and the title.
func (d *DocumentName) Fields(o *Object) {
	o.Text("id", string(d.ID))
	o.Text("title", d.Title)
}

// ReleaseDiff is what differs between two states of a project. Each list is in reading order: of
// the later state or, for removed documents, of the earlier one.
type ReleaseDiff struct {
	Added, Removed []DocumentName
	Changed        []DocumentName // with another title, text or other field
	Moved          []DocumentName // below another document, or in another order among the same ones
}

// Fields appends the lists.
func (d *ReleaseDiff) Fields(o *Object) {
	for _, l := range []struct {
		name string
		list []DocumentName
	}{{"added", d.Added}, {"removed", d.Removed}, {"changed", d.Changed}, {"moved", d.Moved}} {
		list := []byte{'['}
		for i := range l.list {
			list = appendItem(list, &l.list[i])
		}
		o.Raw(l.name, append(list, ']'))
	}
}

// Equal reports whether both states are the same.
func (d *ReleaseDiff) Equal() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed)+len(d.Moved) == 0
}

// CompareReleased returns what differs between two states of a project, both in reading order.
func CompareReleased(from, to []ReleasedDocument) (d ReleaseDiff) {
	was := make(map[DocumentID]*ReleasedDocument, len(from))
	at := make(map[DocumentID]int, len(from)) // positions in `from`
	for i := range from {
		was[from[i].ID], at[from[i].ID] = &from[i], i
	}
	is := make(map[DocumentID]bool, len(to))
	stayed := map[DocumentID][]int{} // indexes in `to` of the documents that have the same parent as before, by parent
	moved := map[DocumentID]bool{}
	for i := range to {
		e := &to[i]
		is[e.ID] = true
		before := was[e.ID]
		switch {
		case before == nil:
			d.Added = append(d.Added, DocumentName{e.ID, e.Title})
			continue
		case before.Digest != e.Digest:
			d.Changed = append(d.Changed, DocumentName{e.ID, e.Title})
		}
		if !SameID(before.ParentID, e.ParentID) {
			moved[e.ID] = true
			continue
		}
		var parent DocumentID
		if e.ParentID != nil {
			parent = *e.ParentID
		}
		stayed[parent] = append(stayed[parent], i)
	}
	for _, siblings := range stayed {
		positions := make([]int, len(siblings))
		for i, n := range siblings {
			positions[i] = at[to[n].ID]
		}
		for i, kept := range risingRun(positions) {
			if !kept {
				moved[to[siblings[i]].ID] = true
			}
		}
	}
	for i := range to {
		if moved[to[i].ID] {
			d.Moved = append(d.Moved, DocumentName{to[i].ID, to[i].Title})
		}
	}
	for i := range from {
		if !is[from[i].ID] {
			d.Removed = append(d.Removed, DocumentName{from[i].ID, from[i].Title})
		}
	}
	return d
}

// risingRun marks the members of a longest increasing subsequence. The numbers must differ from
// each other. The members kept their order, and as few others as possible have moved.
func risingRun(numbers []int) []bool {
	var ends []int                      // the index of the smallest end of a run of each length
	before := make([]int, len(numbers)) // the member before each one in its run, or -1
	for i, n := range numbers {
		length, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return cmp.Compare(numbers[end], n) })
		before[i] = -1
		if length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	kept := make([]bool, len(numbers))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			kept[i] = true
		}
	}
	return kept
}
