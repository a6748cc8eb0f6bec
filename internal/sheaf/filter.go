package sheaf

import (
	"slices"
	"strings"
)

// MaxFilterIDs is the largest number of identifiers in a subscription's filter, of all kinds
// together.
const MaxFilterIDs = 100

// Filter limits a subscription to the events of some places or records. An event passes if it
// matches any of the identifiers.
//
// An identifier stays in the filter when its record is deleted, and then matches nothing more. So a
// filter never lets more pass than it was made for.
type Filter struct {
	Projects  []ProjectID // the project itself, and what is in it
	Folders   []FolderID  // the folder itself, and what is in it and in all folders below
	Resources []string    // the record itself, of any kind, and its shares and files
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
		return InvalidField("filter", "filter is empty: give it project_ids, folder_ids or resource_ids, or send null to get all events")
	case n > MaxFilterIDs:
		return InvalidField("filter", "filter has %d ids, at most %d are allowed: name a folder instead of its contents, or use several subscriptions", n, MaxFilterIDs)
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
	// Restriction is the number of the restriction that the event's subscription has. 0: none.
	Restriction int64
}

// Passes reports whether the filter lets an event about `resource` pass. Without places, only the
// resource itself can match.
func (f *Filter) Passes(resource string, at *Places) bool {
	if slices.Contains(f.Resources, resource) {
		return true
	}
	return at != nil && (meets(f.Projects, at.Projects) || meets(f.Folders, at.Folders) || meets(f.Resources, at.Resources))
}

func meets[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(v T) bool { return slices.Contains(b, v) })
}

// A filter is stored as one text. Each identifier follows the letter of its kind.
const (
	filteredProject  = 'p'
	filteredFolder   = 'f'
	filteredResource = 'r'
)

// String returns the stored form of the filter, "" for nil.
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

// ParseFilter reads what String returns. Kinds that it does not know are ignored, so they let
// nothing pass.
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
