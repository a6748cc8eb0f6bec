package console

import (
	"slices"

	"sheaf.dev/internal/sheaf"
)

// people has the names of the workspace's members, by their id.
type people map[sheaf.UserID]string

// people reads the names of the members.
func (v *visit) people() (people, error) {
	m, err := v.console.app.Members(v.r.Context(), v.caller)
	out := people{}
	for _, member := range m.Members {
		out[member.User.ID] = person(member.User)
	}
	return out, err
}

// By returns the name of a version's author. The name of a person who left the workspace is not
// known.
func (p people) By(v sheaf.Version) string {
	name := "somebody"
	switch {
	case v.UserID == nil:
	case p[*v.UserID] != "":
		name = p[*v.UserID]
	default:
		name = "somebody who left"
	}
	if v.KeyID != nil {
		name += ", with a key"
	}
	return name
}

// author returns the name of the author of the document's current version.
func (v *visit) author(id sheaf.DocumentID) (string, error) {
	names, err := v.people()
	if err != nil {
		return "", err
	}
	newest, err := v.console.app.Versions(v.r.Context(), v.caller, id, sheaf.Paging{Limit: 1, Desc: true})
	if err != nil || len(newest.Items) == 0 {
		return "somebody", err
	}
	return names.By(newest.Items[0]), nil
}

// nameOf returns the member's name; empty if the user is not a member.
func nameOf(members []sheaf.Membership, user sheaf.UserID) string {
	i := slices.IndexFunc(members, func(m sheaf.Membership) bool { return m.User.ID == user })
	if i < 0 {
		return ""
	}
	return person(members[i].User)
}
