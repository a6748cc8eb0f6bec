package console

import (
	"net/http"
	"slices"

	"sheaf.dev/internal/sheaf"
)

// members answers GET /w/{workspace}/members: the members.
func (c *Console) members(v *visit) error {
	m, err := c.app.Members(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "members", m)
}

// memberPage is a member, and the form of the role.
type memberPage struct {
	sheaf.Membership
	Self   bool
	Chosen sheaf.Role // the stored role, or the one that was chosen in the form
	basis
}

func roleField(r sheaf.Role) field { return field{Name: "role", Label: "Role", Value: string(r)} }

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
	m := all.Members[i]
	return memberPage{m, user == v.caller.User, m.Role, basis{Was: []field{roleField(m.Role)}}}, nil
}

// setRole answers POST /w/{workspace}/members/{id}/role: it changes the role.
func (c *Console) setRole(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	m.basis = v.basis([]field{roleField("")})
	role, err := sheaf.ParseRole(v.typed("role"))
	if err == nil {
		m.Chosen = role
		err = v.saveValue(&m.basis, roleField(role), func(was string) error {
			return c.app.SetRole(v.r.Context(), v.caller, m.User.ID, role, sheaf.Some(sheaf.Role(was)))
		}, func() (field, error) {
			now, err := v.memberOf()
			return roleField(now.Role), err
		})
	}
	if err != nil {
		return v.again("member-role", m, err)
	}
	return v.done(v.at("members"))
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
