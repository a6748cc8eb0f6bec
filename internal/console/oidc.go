package console

import (
	"errors"
	"net/http"
	"net/url"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// A person signs in at the provider and comes back:
//
//	GET /sign-in/provider, /invite/…/provider ──▶ the provider ──▶ /sign-in/provider/callback ─┬─▶ a session ──▶ the page to go to
//	                                                                                            └─▶ /sign-in/bind ──▶ a session
//
// It begins with a link and not with a form: the Content-Security-Policy lets no form lead to another site. What is needed on the
// way back is sealed in a cookie. That cookie is SameSite=Lax, because the provider's site sends the browser back.

// ProviderCallback is the path that the provider sends the browser back to.
const ProviderCallback = "/sign-in/provider/callback"

const (
	providerSuffix = "-provider"
	bindingSuffix  = "-binding"
)

// mostNext bounds the address that is kept while a person is at the provider.
const mostNext = 2000

// beginAtProvider answers GET /sign-in/provider: it leads to the provider.
func (c *Console) beginAtProvider(v *visit) error {
	return v.leadToProvider(v.signInPage().Next, "")
}

// joinAtProvider answers GET /invite/{token}/provider: it leads to the provider, and the sign-in there accepts the invitation.
func (c *Console) joinAtProvider(v *visit) error {
	return v.leadToProvider("", v.r.PathValue("token"))
}

func (v *visit) leadToProvider(next, invitation string) error {
	if len(next) > mostNext {
		next = ""
	}
	s, err := v.console.app.BeginProviderSignIn(v.r.Context(), next, invitation, v.browser())
	if err != nil {
		return v.refuseProvider(next, err)
	}
	http.SetCookie(v, v.providerCookie(providerSuffix, s.Sealed))
	return v.redirect(s.Address)
}

// providerCookie returns a cookie for the way to the provider and back. It ends with the browser's session; what is sealed in it
// ends sooner. An empty value deletes it.
func (v *visit) providerCookie(suffix, value string) *http.Cookie {
	c := &http.Cookie{Name: v.cookieName() + suffix, Value: value, Path: "/", HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// takeCookie returns the value of a cookie, or "".
func (v *visit) takeCookie(suffix string) string {
	c, err := v.r.Cookie(v.cookieName() + suffix)
	if err != nil {
		return ""
	}
	return c.Value
}

// refuseProvider shows the sign-in page with one sentence, and logs the reason, which the page does not reveal.
func (v *visit) refuseProvider(next string, err error) error {
	var refused *app.OIDCRefusal
	var shown *sheaf.Error
	if !errors.As(err, &refused) || !errors.As(err, &shown) {
		return err
	}
	v.console.Log.Info("signing in at the provider failed", "address", v.Address(), "reason", string(refused.Reason), "cause", refused.Cause)
	v.retryAfter(shown)
	p := v.page(signInPage{Next: next, Open: v.exposed()})
	p.Fault = faultIn("sign-in", shown)
	return v.render(front.Status(shown.Kind), "sign-in", p)
}

// backFromProvider answers GET /sign-in/provider/callback: it redeems the provider's code and signs the person in.
func (c *Console) backFromProvider(v *visit) error {
	q := v.r.URL.Query()
	in := app.ProviderAnswer{Sealed: v.takeCookie(providerSuffix), State: q.Get("state"), Code: q.Get("code"), Error: q.Get("error")}
	http.SetCookie(v, v.providerCookie(providerSuffix, "")) // it works once
	s, err := c.app.FinishProviderSignIn(v.r.Context(), in, v.browser(), v.token)
	if err != nil {
		return v.refuseProvider("", err)
	}
	if s.Binding != "" {
		http.SetCookie(v, v.providerCookie(bindingSuffix, s.Binding))
		return v.redirect(c.base + "/sign-in/bind")
	}
	v.setSession(s.NewSession)
	return v.redirect(c.base + "/" + trimSlash(safeNext(s.Next)))
}

func trimSlash(s string) string {
	if s == "" {
		return s
	}
	return s[1:]
}

// bindPage is the data of sign-in-bind.html.
type bindPage struct {
	app.Binding
	Email string
	Open  bool // a password would be sent unencrypted
}

// bindForm answers GET /sign-in/bind: it asks for the password of the account, once.
func (c *Console) bindForm(v *visit) error {
	return v.showBinding(nil)
}

// showBinding shows the form that asks for the password, with the error of the form that was refused.
func (v *visit) showBinding(refused error) error {
	b, err := v.console.app.Binding(v.r.Context(), v.takeCookie(bindingSuffix))
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		http.SetCookie(v, v.providerCookie(bindingSuffix, ""))
		return v.redirect(v.console.base + "/sign-in")
	}
	if err != nil {
		return err
	}
	p := bindPage{Binding: b, Open: v.exposed()}
	if b.User.Email != nil {
		p.Email = *b.User.Email
	}
	if refused != nil {
		return v.again("sign-in-bind", p, refused)
	}
	return v.show(http.StatusOK, "sign-in-bind", p)
}

// bind answers POST /sign-in/bind: it binds the account at the provider and signs the person in.
func (c *Console) bind(v *visit) error {
	form := v.r.PostForm
	s, err := c.app.BindProvider(v.r.Context(), v.takeCookie(bindingSuffix), form.Get("password"), form.Get("code"), v.browser(), v.token)
	var refused *app.OIDCRefusal
	switch {
	case errors.As(err, &refused):
		http.SetCookie(v, v.providerCookie(bindingSuffix, ""))
		return v.refuseProvider("", err)
	case sheaf.KindOf(err) == sheaf.Unauthorized:
		http.SetCookie(v, v.providerCookie(bindingSuffix, ""))
		return v.again("sign-in", signInPage{Open: v.exposed()}, err)
	case err != nil:
		if kind := sheaf.KindOf(err); kind == sheaf.Invalid || kind == sheaf.RateLimited {
			c.Log.Info("binding an account at the provider failed", "address", v.Address())
		}
		return v.showBinding(err)
	}
	http.SetCookie(v, v.providerCookie(bindingSuffix, ""))
	v.setSession(s.NewSession)
	return v.done(c.base + "/" + trimSlash(safeNext(s.Next)))
}

// Return returns the query of the link to the provider: the page to go to afterwards. A form that was interrupted cannot be kept
// on the way, so it is the page of the form.
func (p signInPage) Return() string {
	to := p.Next
	if p.Method == http.MethodPost {
		to = p.Page
	}
	if to == "" {
		return ""
	}
	return "?next=" + url.QueryEscape(to)
}
