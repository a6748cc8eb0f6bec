package console

import (
	"cmp"
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// home answers GET /: it redirects to a workspace, or to the sign-in.
func (c *Console) home(v *visit) error {
	if !v.in {
		return v.redirect(c.base + "/sign-in")
	}
	if len(v.session.Memberships) == 0 {
		return v.redirect(c.base + "/account")
	}
	return v.redirect(c.base + "/w/" + string(v.session.Memberships[0].Workspace.ID) + "/projects")
}

// signInPage reads the sign-in form. The page to go to afterwards is a field of the form, or a
// parameter of its address.
func (v *visit) signInPage() signInPage {
	form := v.r.PostForm
	p := signInPage{Email: strings.TrimSpace(form.Get("email")), Next: safeNext(cmp.Or(form.Get("next"), v.r.URL.Query().Get("next"))),
		Open: v.exposed(), interrupted: interrupted{Method: form.Get("resume"), Form: form.Get("form")}}
	if p.Method == http.MethodPost {
		p.Page = safeNext(v.console.pageAbove(p.Next))
	}
	return p
}

// signInForm answers GET /sign-in: it asks for e-mail and password.
func (c *Console) signInForm(v *visit) error {
	p := v.signInPage()
	if v.in {
		return v.done(c.base + "/" + strings.TrimPrefix(p.Next, "/"))
	}
	p.Reset = v.r.URL.Query().Get("done") == "reset"
	var err error
	if p.Pending, err = c.app.SetupPending(v.r.Context()); err != nil {
		return err
	}
	return v.show(http.StatusOK, "sign-in", p)
}

// signIn answers POST /sign-in: it signs a person in, or leads to the second factor.
func (c *Console) signIn(v *visit) error {
	p := v.signInPage()
	s, err := c.app.SignIn(v.r.Context(), app.SignIn{Email: p.Email, Password: v.r.PostForm.Get("password"), Address: v.Address(), Agent: v.r.UserAgent(), RequestID: v.RequestID(), Device: v.device()}, v.token)
	if err != nil {
		if sheaf.KindOf(err) == sheaf.Unauthorized || sheaf.KindOf(err) == sheaf.RateLimited {
			c.Log.Info("signing in failed", "address", v.Address())
		}
		return v.again("sign-in", p, err)
	}
	return v.enter(s, p)
}

// signOut answers POST /sign-out: it signs out in this browser.
func (c *Console) signOut(v *visit) error {
	if err := c.app.SignOut(v.r.Context(), v.token, v.browser()); err != nil {
		return err
	}
	v.clearSession()
	return v.redirect(c.base + "/sign-in")
}

// signOutEverywhere answers POST /sign-out-everywhere: it signs out in every browser.
func (c *Console) signOutEverywhere(v *visit) error {
	if err := c.app.SignOutEverywhere(v.r.Context(), v.session); err != nil {
		return err
	}
	v.clearSession()
	return v.redirect(c.base + "/sign-in")
}
