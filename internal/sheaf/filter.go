package sheaf

import (
	"slices"
	"strings"
)

// MaxFilterIDs is how many identifiers the filter of a subscription may have, of all kinds together.
const MaxFilterIDs = 100

// Filter narrows what a subscription gets to what lies in a place, or is one of some records. An event
// that fits any of its identifiers passes.
//
// An identifier stays in it when what it names is deleted: it then fits nothing more. So a filter never
// lets more pass than it was made for.
type Filter struct {
	Projects  []ProjectID // the project itself, and what is in it
	Folders   []FolderID  // the folder itself, and what is in it and in all below
	Resources []string    // the record itself, of whatever kind, and its shares and files
}

// Fields appends the filter.
func (f *Filter) Fields(o *Object) {
	o.Texts("project_ids", textsOf(f.Projects))
	o.Texts("folder_ids", textsOf(f.Folders))
	o.Texts("resource_ids", f.Resources)
}

func textsOf[T ~string](ids []T) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}

// Check returns Invalid for a filter that names nothing, or too much.
func (f *Filter) Check() error {
	switch n := len(f.Projects) + len(f.Folders) + len(f.Resources); {
	case n == 0:
		return InvalidField("filter", "filter names nothing: give it project_ids, folder_ids or resource_ids, or null to get events of everything")
	case n > MaxFilterIDs:
		return InvalidField("filter", "filter has %d ids, at most %d are allowed: name a folder with what is in it, or make several subscriptions", n, MaxFilterIDs)
	}
	return nil
}

// Once returns the filter with each identifier once.
func (f *Filter) Once() *Filter {
	return &Filter{Projects: once(f.Projects), Folders: once(f.Folders), Resources: once(f.Resources)}
}

func once[T comparable](ids []T) []T {
	out := []T{}
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Places are where an event's record was before the change and is after it: the project or document
// that it belongs to, and every folder above.
type Places struct {
	Projects  []ProjectID
	Folders   []FolderID
	Resources []string // the resources that it is part of, besides the one that the event names
}

// Passes reports whether the filter lets an event about that resource pass. Without places only the
// resource itself fits.
func (f *Filter) Passes(resource string, at *Places) bool {
	if slices.Contains(f.Resources, resource) {
		return true
	}
	return at != nil && (meets(f.Projects, at.Projects) || meets(f.Folders, at.Folders) || meets(f.Resources, at.Resources))
}

func meets[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(v T) bool { return slices.Contains(b, v) })
}

// A filter is stored as one text, each identifier behind the letter of its kind.
const (
	filteredProject  = 'p'
	filteredFolder   = 'f'
	filteredResource = 'r'
)

// String is the filter as it is stored. That of none is empty.
func (f *Filter) String() string {
	if f == nil {
		return ""
	}
	var parts []string
	for _, id := range f.Projects {
		parts = append(parts, string(filteredProject)+string(id))
	}
	for _, id := range f.Folders {
		parts = append(parts, string(filteredFolder)+string(id))
	}
	for _, id := range f.Resources {
		parts = append(parts, string(filteredResource)+id)
	}
	return strings.Join(parts, ",")
}

// ParseFilter reads what String writes. What it does not know lets nothing pass.
func ParseFilter(s string) *Filter {
	if s == "" {
		return nil
	}
	f := &Filter{Projects: []ProjectID{}, Folders: []FolderID{}, Resources: []string{}}
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		switch id := part[1:]; part[0] {
		case filteredProject:
			f.Projects = append(f.Projects, ProjectID(id))
		case filteredFolder:
			f.Folders = append(f.Folders, FolderID(id))
		case filteredResource:
			f.Resources = append(f.Resources, id)
		}
	}
	return f
}
