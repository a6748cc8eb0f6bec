package console

import (
	"net/http"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// accountPage is the data of account.html.
type accountPage struct {
	Form, Done string // the form that was refused, or the text after a change
	Name       string
	Sessions   []app.SignedIn
	Factor     app.Factor
	Apps       []app.GrantOf
	basis      // of the form that changes the name
}

// showAccount shows the page, with the error of the form that was refused.
func (v *visit) showAccount(p accountPage, refused error) error {
	var err error
	if p.Sessions, err = v.console.app.SignedIn(v.r.Context(), v.session); err != nil {
		return err
	}
	if p.Factor, err = v.console.app.Factor(v.r.Context(), v.session); err != nil {
		return err
	}
	if p.Apps, err = v.console.app.OwnGrants(v.r.Context(), v.session); err != nil {
		return err
	}
	if refused != nil {
		return v.again("account", p, refused)
	}
	return v.show(http.StatusOK, "account", p)
}

// accountPage returns the page with the stored values.
func (v *visit) accountPage() accountPage {
	name := v.session.User.Name
	return accountPage{Name: name, basis: basis{Was: []field{nameField(name)}}}
}

// account answers GET /account: the person's own settings.
func (c *Console) account(v *visit) error {
	p := v.accountPage()
	p.Done = map[string]string{"name": "Name changed.",
		"password":   "Password changed. Every other browser was signed out.",
		"factor-off": "Second factor turned off. Every other browser was signed out.",
		"app":        "The app was disconnected.",
		"session":    "That browser was signed out."}[v.r.URL.Query().Get("done")]
	return v.showAccount(p, nil)
}

// renamePerson answers POST /account/name: it changes the person's name.
func (c *Console) renamePerson(v *visit) error {
	p := accountPage{Form: "name", Name: v.typed("name"), basis: v.basis([]field{nameField("")})}
	err := v.saveValue(&p.basis, nameField(p.Name), func(was string) error {
		return c.app.Rename(v.r.Context(), v.session, p.Name, sheaf.Some(was))
	}, func() (field, error) { return nameField(v.session.User.Name), nil })
	if err != nil {
		return v.showAccount(p, err)
	}
	return v.done(c.base + "/account?done=name")
}

// changePassword answers POST /account/password: it changes the person's password, and signs them
// out in all other browsers.
func (c *Console) changePassword(v *visit) error {
	form := v.r.PostForm
	p := v.accountPage()
	p.Form = "password"
	if !v.typedTwice() {
		return v.showAccount(p, errPasswordsDiffer)
	}
	s, err := c.app.ChangePassword(v.r.Context(), v.session, form.Get("current"), form.Get("password"), v.browser())
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		err = errWrongCurrent
	}
	if err != nil {
		return v.showAccount(p, err)
	}
	v.setSession(s)
	return v.done(c.base + "/account?done=password")
}

var errWrongCurrent = sheaf.InvalidField("current", "The current password is wrong.")

// endSession answers POST /account/sessions/{id}/end: it signs the person out in one of their browsers.
func (c *Console) endSession(v *visit) error {
	if err := c.app.EndSession(v.r.Context(), v.session, v.r.PathValue("id")); err != nil {
		return err
	}
	return v.done(c.base + "/account?done=session")
}
