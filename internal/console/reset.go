package console

import (
	"net/http"
	"strings"

	"sheaf.dev/internal/sheaf"
)

// forgotForm answers GET /sign-in/forgot: it asks for the e-mail. Without mail it leads to the sign-in, which says whom
// to ask.
func (c *Console) forgotForm(v *visit) error {
	ways, err := c.app.SignInWays(v.r.Context())
	if err != nil {
		return err
	}
	if !c.app.Mails() || !ways.Passwords {
		return v.redirect(c.base + "/sign-in")
	}
	return v.show(http.StatusOK, "forgot", nil)
}

// forgot answers POST /sign-in/forgot. The answer is the same for every e-mail.
func (c *Console) forgot(v *visit) error {
	if err := c.app.AskReset(v.r.Context(), strings.TrimSpace(v.field("email")), v.browser()); err != nil {
		return err
	}
	return v.show(http.StatusOK, "forgot-sent", nil)
}

// resetPage is the data of reset.html.
type resetPage struct {
	Email string
	Open  bool
}

// resetForm answers GET /sign-in/reset/{token}: the form. It changes nothing, because programs that open the links in
// mails must not use the link up.
func (c *Console) resetForm(v *visit) error {
	p, err := v.resetPage()
	if err != nil {
		return v.refuseReset(p, err)
	}
	return v.show(http.StatusOK, "reset", p)
}

// resetPage finds the person of the link, or returns NotFound.
func (v *visit) resetPage() (resetPage, error) {
	u, err := v.console.app.Reset(v.r.Context(), v.r.PathValue("token"))
	p := resetPage{Open: v.exposed()}
	if u.Email != nil {
		p.Email = *u.Email
	}
	return p, err
}

// reset answers POST /sign-in/reset/{token}: it uses the link up. The person then signs in as usual.
func (c *Console) reset(v *visit) error {
	p, err := v.resetPage()
	if err != nil {
		return v.refuseReset(p, err)
	}
	if !v.typedTwice() {
		return v.again("reset", p, errPasswordsDiffer)
	}
	if err := c.app.ResetPassword(v.r.Context(), v.r.PathValue("token"), v.r.PostForm.Get("password"), v.browser()); err != nil {
		return v.refuseReset(p, err)
	}
	c.Log.Info("a password was reset", "address", v.Address())
	return v.done(c.base + "/sign-in?done=reset")
}

// refuseReset shows that the link is not valid, or the form with its error.
func (v *visit) refuseReset(p resetPage, err error) error {
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.show(http.StatusNotFound, "reset-closed", v.console.app.Mails())
	}
	return v.again("reset", p, err)
}
