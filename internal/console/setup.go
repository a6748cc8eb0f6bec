package console

import (
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

type setupPage struct{ Name, Email string }

// setup answers GET /setup/{token}: the form. It changes nothing, because programs that open the
// links in messages must not use the link up.
func (c *Console) setup(v *visit) error {
	if err := c.app.CheckSetupLink(v.r.Context(), v.r.PathValue("token")); err != nil {
		return v.refuseSetup(setupPage{}, err)
	}
	return v.show(http.StatusOK, "setup", setupPage{})
}

// completeSetup answers POST /setup/{token}: it uses the link up, and signs its user in.
func (c *Console) completeSetup(v *visit) error {
	p := setupPage{Name: v.typed("name"), Email: strings.TrimSpace(v.r.PostForm.Get("email"))}
	password := v.r.PostForm.Get("password")
	if !v.typedTwice() {
		return v.again("setup", p, errPasswordsDiffer)
	}
	if err := c.app.CompleteSetup(v.r.Context(), v.r.PathValue("token"), app.SetUp{Name: p.Name, Email: p.Email, Password: password, Browser: v.browser()}); err != nil {
		return v.refuseSetup(p, err)
	}
	c.Log.Info("set-up was completed")
	ways, err := c.app.SignInWays(v.r.Context())
	if err != nil {
		return err
	}
	if ways.PasswordsOff {
		return v.done(c.base + "/sign-in")
	}
	s, err := c.app.SignIn(v.r.Context(), app.SignIn{Email: p.Email, Password: password, Address: v.Address(), Agent: v.r.UserAgent(), RequestID: v.RequestID(), Expected: true}, v.token)
	if err != nil {
		return err
	}
	return v.enter(s, signInPage{})
}

// refuseSetup shows that the link is not valid, or the form with its error.
func (v *visit) refuseSetup(p setupPage, err error) error {
	if sheaf.KindOf(err) == sheaf.NotFound {
		return v.show(http.StatusNotFound, "setup-closed", nil)
	}
	return v.again("setup", p, err)
}
