package sheaf

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxRestrictedTo is the largest number of projects and folders that a restriction names.
	MaxRestrictedTo = 100
	// MaxRestrictions is the largest number of different restrictions in a workspace.
	MaxRestrictions = 100
)

// Restriction limits a caller to some projects and folders of a workspace. What it does not cover
// does not exist for the caller. A folder covers everything below it, as things move. A caller
// without a restriction sees the whole workspace.
//
// Keys, subscriptions and people that name the same records share one restriction, and with it one
// log of events.
type Restriction struct {
	Number   int64 // number among the records of its workspace
	Projects []ProjectID
	Folders  []FolderID // folders of projects
}

// Fields appends the restriction as a key or a membership shows it.
func (r *Restriction) Fields(o *Object) {
	o.Texts("project_ids", textsOf(r.Projects))
	o.Texts("folder_ids", textsOf(r.Folders))
}

// Phrase says how much the restriction names, as "one project, 2 folders and what is in it".
func (r *Restriction) Phrase() string {
	count := func(n int, noun string) string {
		if n == 1 {
			return "one " + noun
		}
		return fmt.Sprintf("%d %ss", n, noun)
	}
	inside := " and what is in it"
	if len(r.Folders) > 1 {
		inside = " and what is in them"
	}
	switch projects, folders := len(r.Projects), len(r.Folders); {
	case folders == 0:
		return count(projects, "project")
	case projects == 0:
		return count(folders, "folder") + inside
	default:
		return count(projects, "project") + ", " + count(folders, "folder") + inside
	}
}

// Check returns Invalid for a restriction that names nothing, or too much.
func (r *Restriction) Check() error {
	switch n := len(r.Projects) + len(r.Folders); {
	case n == 0:
		return InvalidField("restricted_to", "restricted_to is empty: give it project_ids or folder_ids, or leave it out for the whole workspace")
	case n > MaxRestrictedTo:
		return InvalidField("restricted_to", "restricted_to has %d ids, at most %d are allowed: name a folder instead of its projects", n, MaxRestrictedTo)
	}
	return nil
}

// restrictable are the nouns whose scopes go with a restriction.
var restrictable = []string{"projects", "documents", "media", "shares", "proposals", "releases", "webhooks"}

// Restrictable reports whether a restricted caller may have the scope.
func (s Scope) Restrictable() bool {
	noun, _, _ := strings.Cut(string(s), ":")
	return slices.Contains(restrictable, noun) && s != ProjectsAdmin || s == EventsRead || s == BrandingsRead
}

// CheckScopes returns Invalid if one of the scopes does not go with a restriction.
func (r *Restriction) CheckScopes(scopes Scopes) error {
	for _, s := range scopes {
		if !s.Restrictable() {
			return InvalidField("scopes", "scopes: %s does not go with restricted_to, because it reaches beyond projects and folders: leave one of them out", s)
		}
	}
	return nil
}

// MayBeRestricted reports whether a person with the role can be restricted to part of a workspace.
// Admins and owners manage what belongs to the whole workspace.
func (r Role) MayBeRestricted() bool { return r == Editor || r == Member }

// CheckRole returns Invalid if a person with the role cannot be restricted.
func (r *Restriction) CheckRole(role Role) error {
	if !role.MayBeRestricted() {
		return InvalidField("restricted_to", "restricted_to is for editors and members only, not for %s: choose another role, or leave restricted_to out", role)
	}
	return nil
}

// filter returns the restriction as a filter of events.
func (r *Restriction) filter() *Filter { return &Filter{Projects: r.Projects, Folders: r.Folders} }

// String returns the stored form of what the restriction names, "" for nil. It is the same for
// restrictions that name the same records.
func (r *Restriction) String() string {
	if r == nil {
		return ""
	}
	f := r.filter().Once()
	slices.Sort(f.Projects)
	slices.Sort(f.Folders)
	return f.String()
}

// ParseRestriction reads a stored number and what String returns. It returns nil if the number is 0.
func ParseRestriction(number int64, ids string) *Restriction {
	if number == 0 {
		return nil
	}
	r := &Restriction{Number: number, Projects: []ProjectID{}, Folders: []FolderID{}}
	if f := ParseFilter(ids); f != nil {
		r.Projects, r.Folders = f.Projects, f.Folders
	}
	return r
}

// Is reports whether both are the same restriction, or both are none.
func (r *Restriction) Is(other *Restriction) bool { return r.number() == other.number() }

// number returns the restriction's number, 0 for nil.
func (r *Restriction) number() int64 {
	if r == nil {
		return 0
	}
	return r.Number
}

// Names reports whether the restriction names the project or the folder with that id.
func (r *Restriction) Names(id string) bool {
	return r != nil && (slices.Contains(r.Projects, ProjectID(id)) || slices.Contains(r.Folders, FolderID(id)))
}

// Covers reports whether an event belongs to the log of the restriction: it is about a record that
// was or is in one of its places, or about a subscription that has this restriction.
func (r *Restriction) Covers(e *Event) bool {
	return e.Places != nil && (e.Places.Restriction == r.Number || r.filter().Passes("", e.Places))
}
