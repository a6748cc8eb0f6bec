package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// accountPage is the data of account.html.
type accountPage struct {
	Form, Done string // which of its forms was refused, or what was done
	Name       string
	basis      // of the form of the name
}

// accountPage is the page as it is stored.
func (v *visit) accountPage() accountPage {
	name := v.session.User.Name
	return accountPage{Name: name, basis: basisOf(0, []field{nameField(name)})}
}

// accountAgain shows the page with what was wrong with its form of the password.
func (v *visit) accountAgain(err error) error {
	p := v.accountPage()
	p.Form = "password"
	return v.again("account", p, err)
}

// account answers GET /account: it shows the person their own settings.
func (c *Console) account(v *visit) error {
	p := v.accountPage()
	p.Done = map[string]string{"name": "Your name is changed.",
		"password": "Your password is changed, and every other browser is signed out."}[v.r.URL.Query().Get("done")]
	return v.show(http.StatusOK, "account", p)
}

// renamePerson answers POST /account/name: it changes the name of a person.
func (c *Console) renamePerson(v *visit) error {
	p := accountPage{Form: "name", Name: v.typed("name"), basis: v.basis([]field{nameField("")})}
	err := v.saveValue(&p.basis, nameField(p.Name), func(was string) error {
		return c.app.Rename(v.r.Context(), v.session, p.Name, sheaf.Some(was))
	}, func() (field, error) { return nameField(v.session.User.Name), nil })
	if err != nil {
		return v.again("account", p, err)
	}
	return v.done(c.base + "/account?done=name")
}

// changePassword answers POST /account/password: it changes the password of a person, and signs
// them out everywhere else.
func (c *Console) changePassword(v *visit) error {
	form := v.r.PostForm
	if !v.typedTwice() {
		return v.accountAgain(errPasswordsDiffer)
	}
	s, err := c.app.ChangePassword(v.r.Context(), v.session, form.Get("current"), form.Get("password"))
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		err = sheaf.InvalidField("current", "The current password is wrong.")
	}
	if err != nil {
		return v.accountAgain(err)
	}
	v.keep(s)
	return v.done(c.base + "/account?done=password")
}

// typedTwice reports whether both fields have the same password. A program that sends one field
// does not mistype.
func (v *visit) typedTwice() bool {
	form := v.r.PostForm
	return !form.Has("again") || form.Get("password") == form.Get("again")
}

var errPasswordsDiffer = sheaf.InvalidField("again", "The two passwords differ. Type the same one twice.")
