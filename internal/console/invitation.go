package console

import (
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// invitationPage is the data of invitation.html.
type invitationPage struct {
	app.Offer
	Name string
	Open bool
}

// invitation answers GET /invite/{token}: the invitation that the link is for. It changes nothing.
func (c *Console) invitation(v *visit) error {
	o, err := c.app.Offer(v.r.Context(), v.r.PathValue("token"))
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.show(http.StatusNotFound, "invitation-closed", nil)
	}
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "invitation", invitationPage{Offer: o, Open: v.exposed()})
}

// join answers POST /invite/{token}: it uses the link up, and signs the person in.
func (c *Console) join(v *visit) error {
	o, err := c.app.Offer(v.r.Context(), v.r.PathValue("token"))
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.show(http.StatusNotFound, "invitation-closed", nil)
	}
	if err != nil {
		return err
	}
	p := invitationPage{Offer: o, Name: v.field("name")}
	password := v.r.PostForm.Get("password")
	p.Open = v.exposed()
	if !o.Known && !v.typedTwice() {
		return v.again("invitation", p, errPasswordsDiffer)
	}
	s, ws, err := c.app.Join(v.r.Context(),
		app.Join{Token: v.r.PathValue("token"), Name: p.Name, Password: password, Address: v.Address(), Agent: v.r.UserAgent(), RequestID: v.RequestID(), Device: v.device()}, v.token)
	if err != nil {
		return v.again("invitation", p, err)
	}
	return v.enter(s, signInPage{Next: "/w/" + string(ws) + "/projects"})
}

// invitePage is the data of invite.html.
type invitePage struct {
	Email string
	Role  sheaf.Role
	Reach reach
	Link  string // shown once
	Inner bool   // no public address is configured, so the link may work on this machine only
}

func (c *Console) inviteForm(v *visit) error {
	r, err := v.newReach(nil)
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "invite", invitePage{Role: sheaf.Member, Reach: r})
}

// invite answers POST /w/{workspace}/members/invite: it creates an invitation and shows its link,
// once. If the server sends mail, the person gets the link by mail too.
func (c *Console) invite(v *visit) error {
	p := invitePage{Email: strings.TrimSpace(v.field("email"))}
	var restrictTo *app.RestrictTo
	var err error
	if p.Reach, restrictTo, err = v.readReach(); err != nil {
		return err
	}
	if p.Role, err = sheaf.ParseRole(v.field("role")); err != nil {
		return v.again("invite", p, err)
	}
	if p.Reach.Searched {
		return v.show(http.StatusOK, "invite", p)
	}
	if err := p.Reach.checkRole(p.Role); err != nil {
		return v.again("invite", p, err)
	}
	i, err := c.app.Invite(v.r.Context(), v.caller, p.Email, p.Role, restrictTo)
	if err != nil {
		return v.again("invite", p, err)
	}
	p.Link = c.Address + "/invite/" + i.Token
	p.Inner = c.PublicURL == nil
	return v.show(http.StatusOK, "invite", p)
}

// withdraw answers POST /w/{workspace}/invitations/{id}/withdraw: it withdraws an invitation.
func (c *Console) withdraw(v *visit) error {
	i, err := id[sheaf.InvitationID](v, "invitation")
	if err != nil {
		return err
	}
	if err := c.app.Withdraw(v.r.Context(), v.caller, i); err != nil {
		return err
	}
	return v.done(v.at("members"))
}
