package console

import (
	"cmp"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// unnamed stands for a member whose name and e-mail the reader does not see: a restricted person sees no
// e-mails of other people.
const unnamed = "Unnamed member"

// people has the names of the workspace's members by their id, and sheaf.ErasedUser for erased users.
type people map[sheaf.UserID]string

// people reads the names of the members, and finds those of the other users `also` that were erased.
func (v *visit) people(also ...sheaf.UserID) (people, error) {
	m, err := v.console.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return nil, err
	}
	out := people{}
	for _, member := range m.Members {
		out[member.User.ID] = cmp.Or(person(member.User), unnamed)
	}
	also = slices.DeleteFunc(also, func(id sheaf.UserID) bool { return id == "" || out[id] != "" })
	if len(also) == 0 {
		return out, nil
	}
	slices.Sort(also)
	erased, err := v.console.app.Erased(v.r.Context(), v.caller, slices.Compact(also))
	for id := range erased {
		out[id] = sheaf.ErasedUser
	}
	return out, err
}

// authors reads the names of the members and of the versions' authors.
func (v *visit) authors(of ...sheaf.Version) (people, error) {
	var ids []sheaf.UserID
	for _, x := range of {
		if x.UserID != nil {
			ids = append(ids, *x.UserID)
		}
	}
	return v.people(ids...)
}

// By returns the name of a version's author. The name of a person who left the workspace is not
// known.
func (p people) By(v sheaf.Version) string {
	name := "someone"
	switch {
	case v.UserID == nil:
	case p[*v.UserID] != "":
		name = p[*v.UserID]
	default:
		name = "a former member"
	}
	if v.KeyID != nil {
		name += ", with a key"
	}
	return name
}

// author returns the name of the author of the document's current version.
func (v *visit) author(id sheaf.DocumentID) (string, error) {
	newest, err := v.console.app.Versions(v.r.Context(), v.caller, id, sheaf.Paging{Limit: 1, Desc: true})
	if err != nil || len(newest.Items) == 0 {
		return "someone", err
	}
	names, err := v.authors(newest.Items[0])
	return names.By(newest.Items[0]), err
}

// nameOf returns the member's name; empty if the user is not a member.
func nameOf(members []sheaf.Membership, user sheaf.UserID) string {
	i := slices.IndexFunc(members, func(m sheaf.Membership) bool { return m.User.ID == user })
	if i < 0 {
		return ""
	}
	return cmp.Or(person(members[i].User), unnamed)
}
