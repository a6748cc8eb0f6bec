package console

import (
	"net/http"

	"sheaf.dev/internal/sheaf"
)

// accountPage says which of its forms was refused, or what was done.
type accountPage struct{ Form, Done string }

// account answers GET /account: it shows the person their own settings.
func (c *Console) account(v *visit) error {
	done := v.r.URL.Query().Get("done")
	return v.show(http.StatusOK, "account", accountPage{Done: map[string]string{
		"name": "Your name is changed.", "password": "Your password is changed, and every other browser is signed out."}[done]})
}

// renamePerson answers POST /account/name: it changes the name of a person.
func (c *Console) renamePerson(v *visit) error {
	if err := c.app.Rename(v.r.Context(), v.session, v.field("name")); err != nil {
		return v.again("account", accountPage{Form: "name"}, err)
	}
	return v.done(c.base + "/account?done=name")
}

// changePassword answers POST /account/password: it changes the password of a person, and signs
// them out everywhere else.
func (c *Console) changePassword(v *visit) error {
	form := v.r.PostForm
	if !v.typedTwice() {
		return v.again("account", accountPage{Form: "password"}, errPasswordsDiffer)
	}
	s, err := c.app.ChangePassword(v.r.Context(), v.session, form.Get("current"), form.Get("password"))
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		err = sheaf.Invalidf("The current password is wrong.").At("current")
	}
	if err != nil {
		return v.again("account", accountPage{Form: "password"}, err)
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

var errPasswordsDiffer = sheaf.Invalidf("The two passwords differ. Type the same one twice.").At("again")
