package console

import (
	"net/http"
	"slices"

	"sheaf.dev/internal/app"
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

// accessPage is the data of member-access.html.
type accessPage struct {
	memberPage
	Seen  string // the stored form of the restriction when the form was made
	Reach reach
}

// accessForm answers GET /w/{workspace}/members/{id}/access: what the member sees.
func (c *Console) accessForm(v *visit) error {
	p, err := v.accessPage()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "member-access", p)
}

// accessPage returns the form with what is stored.
func (v *visit) accessPage() (p accessPage, err error) {
	if p.memberPage, err = v.memberOf(); err != nil {
		return p, err
	}
	p.Seen = p.RestrictedTo.String()
	p.Reach, err = v.newReach(p.RestrictedTo)
	return p, err
}

// setAccess answers POST /w/{workspace}/members/{id}/access: it restricts the member, or lifts the
// restriction.
func (c *Console) setAccess(v *visit) error {
	m, err := v.memberOf()
	if err != nil {
		return err
	}
	p := accessPage{memberPage: m, Seen: v.field("seen")}
	var to *app.RestrictTo
	if p.Reach, to, err = v.readReach(); err != nil {
		return err
	}
	if p.Reach.Searched {
		return v.show(http.StatusOK, "member-access", p)
	}
	if err = p.Reach.checkRole(m.Role); err == nil {
		err = c.app.Restrict(v.r.Context(), v.caller, m.User.ID, to, sheaf.Some(p.Seen))
	}
	if sheaf.KindOf(err) == sheaf.PreconditionFailed {
		if p, err = v.accessPage(); err != nil {
			return err
		}
		err = &sheaf.Error{Kind: sheaf.PreconditionFailed, Code: sheaf.CodePreconditionFailed,
			Text: "Another owner changed this while you were choosing. The form below shows what is saved now: choose again"}
	}
	if err != nil {
		return v.again("member-access", p, err)
	}
	return v.done(v.at("members"))
}

// memberToRemove is memberOf for people who may remove the member: owners, and the member.
func (v *visit) memberToRemove() (memberPage, error) {
	m, err := v.memberOf()
	if err == nil && !m.Self {
		err = v.caller.AuthorizeOwner()
	}
	return m, err
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
