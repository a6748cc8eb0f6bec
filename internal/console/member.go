package console

import (
	"net/http"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// members answers GET /w/{workspace}/members: it lists the members.
func (c *Console) members(v *visit) error {
	m, err := c.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "members", m)
}

type memberPage struct {
	sheaf.Membership
	Self bool
}

// memberOf finds the member in the path, or NotFound.
func (v *visit) memberOf() (memberPage, error) {
	user, err := id[sheaf.UserID](v, "member")
	if err != nil {
		return memberPage{}, err
	}
	all, err := v.console.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return memberPage{}, err
	}
	i := slices.IndexFunc(all.Members, func(m sheaf.Membership) bool { return m.User.ID == user })
	if i < 0 {
		return memberPage{}, sheaf.Missing("member")
	}
	return memberPage{all.Members[i], user == v.caller.User}, nil
}

// roleForm answers GET /w/{workspace}/members/{id}/role: it asks for another role of a member.
func (c *Console) roleForm(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "member-role", m)
}

// setRole answers POST /w/{workspace}/members/{id}/role: it changes the role.
func (c *Console) setRole(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	role, err := sheaf.ParseRole(v.field("role"))
	if err == nil {
		err = c.app.SetRole(v.r.Context(), v.caller, m.User.ID, role)
	}
	if err != nil {
		return v.again("member-role", m, err)
	}
	return v.done(v.at("members"))
}

// removeMemberForm answers GET /w/{workspace}/members/{id}/remove: it asks whether to remove a
// member.
func (c *Console) removeMemberForm(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "member-remove", m)
}

// removeMember answers POST /w/{workspace}/members/{id}/remove: it removes a member.
func (c *Console) removeMember(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	if err := c.app.RemoveMember(v.r.Context(), v.caller, m.User.ID); err != nil {
		return v.again("member-remove", m, err)
	}
	if m.Self {
		return v.done(c.base + "/")
	}
	return v.done(v.at("members"))
}
