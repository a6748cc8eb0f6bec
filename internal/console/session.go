package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// cookieName binds the cookie to this host where the browser can: the prefix __Host- needs HTTPS.
// Browsers send a cookie to every port of its host, so the name tells instances apart.
func (v *visit) cookieName() string {
	name := "sheaf" + v.instance()
	if v.secure() {
		return "__Host-" + name
	}
	return name
}

// instance is what distinguishes this instance from others on its host, as the browser sees them: the
// port, and the path of the public address. It is empty where there is neither.
func (v *visit) instance() (out string) {
	_, host := v.Origin()
	if u := v.console.PublicURL; u != nil {
		host = u.Host
	}
	if port := (&url.URL{Host: host}).Port(); port != "" {
		out = "-" + port
	}
	if base := v.console.base; base != "" {
		sum := sha256.Sum256([]byte(base))
		out += "-" + hex.EncodeToString(sum[:4])
	}
	return out
}

// secure reports whether the browser speaks HTTPS: to us, to a proxy that we trust, or to whatever
// stands at the public address.
func (c *Console) secure(x *front.Exchange) bool {
	scheme, _ := x.Origin()
	return scheme == "https" || x.Request.TLS != nil || c.PublicURL != nil && c.PublicURL.Scheme == "https"
}

func (v *visit) secure() bool { return v.console.secure(v.Exchange) }

// address is where the person is, as far as we know: an IPv6 network, since one has more addresses
// than anybody could count.
func (v *visit) address() string {
	ip := v.Client()
	if ip.Is6() {
		network, _ := ip.Prefix(64)
		return network.String()
	}
	return ip.String()
}

// keep hands the browser its session, and by what it is recognised when it signs in again, which
// outlives the session.
func (v *visit) keep(s app.NewSession) {
	http.SetCookie(v, &http.Cookie{Name: v.cookieName(), Value: s.Token, Path: "/", Expires: s.ExpiresAt,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteLaxMode})
	http.SetCookie(v, &http.Cookie{Name: v.cookieName() + deviceSuffix, Value: s.Device, Path: "/", Expires: s.DeviceExpiresAt,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteStrictMode})
}

// deviceSuffix tells the two cookies apart.
const deviceSuffix = "-device"

// device is by what the browser is recognised, or empty.
func (v *visit) device() string {
	cookie, err := v.r.Cookie(v.cookieName() + deviceSuffix)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// drop takes the session from the browser.
func (v *visit) drop() {
	http.SetCookie(v, &http.Cookie{Name: v.cookieName(), Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteLaxMode})
}

// home sends everybody where they want to go: into a workspace, or to sign in.
func (c *Console) home(v *visit) error {
	if !v.in {
		return v.redirect(c.base + "/sign-in")
	}
	if len(v.session.Memberships) == 0 {
		return v.redirect(c.base + "/account")
	}
	return v.redirect(c.base + "/w/" + string(v.session.Memberships[0].Workspace.ID) + "/projects")
}

// signInPage is the data of sign-in.html.
type signInPage struct {
	Email, Next string
	Pending     bool // nobody has a password yet
	Open        bool // the connection is not encrypted, and not of this machine
	interrupted
}

func (v *visit) signInPage() signInPage {
	form := v.r.PostForm
	return signInPage{Email: strings.TrimSpace(form.Get("email")), Next: safeNext(v.next()), Open: v.exposed(),
		interrupted: interrupted{Method: form.Get("resume"), Form: form.Get("form")}}
}

// next is where to go after signing in: as the form says, or the address of it.
func (v *visit) next() string {
	if s := v.r.PostForm.Get("next"); s != "" {
		return s
	}
	return v.r.URL.Query().Get("next")
}

// exposed reports whether a password would travel a network in the clear.
func (v *visit) exposed() bool {
	host := (&url.URL{Host: v.r.Host}).Hostname()
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
	return !v.secure() && !local
}

// safeNext returns the address if it is one of ours to go back to.
func safeNext(s string) string {
	if strings.HasPrefix(s, "/w/") || s == "/account" {
		return s
	}
	return ""
}

// signInForm answers GET /sign-in: it asks for e-mail and password.
func (c *Console) signInForm(v *visit) error {
	p := v.signInPage()
	if v.in {
		return v.done(c.base + "/" + strings.TrimPrefix(p.Next, "/"))
	}
	var err error
	if p.Pending, err = c.app.SetupPending(v.r.Context()); err != nil {
		return err
	}
	return v.show(http.StatusOK, "sign-in", p)
}

// signIn answers POST /sign-in: it signs a person in.
func (c *Console) signIn(v *visit) error {
	p := v.signInPage()
	s, err := c.app.SignIn(v.r.Context(), app.SignIn{Email: p.Email, Password: v.r.PostForm.Get("password"), Address: v.address(), Device: v.device()}, v.token)
	if err != nil {
		if sheaf.KindOf(err) == sheaf.Unauthorized || sheaf.KindOf(err) == sheaf.RateLimited {
			c.Log.Info("signing in failed", "address", v.address())
		}
		return v.again("sign-in", p, err)
	}
	v.keep(s)
	if p.Method != "" && p.Next != "" {
		return v.resume(p, s.Token)
	}
	if p.Next == "" {
		p.Next = "/"
	}
	return v.done(c.base + p.Next)
}

// signOut answers POST /sign-out: it signs out in this browser.
func (c *Console) signOut(v *visit) error {
	if err := c.app.SignOut(v.r.Context(), v.token); err != nil {
		return err
	}
	v.drop()
	return v.redirect(c.base + "/sign-in")
}

// signOutEverywhere answers POST /sign-out-everywhere: it signs out in every browser.
func (c *Console) signOutEverywhere(v *visit) error {
	if err := c.app.SignOutEverywhere(v.r.Context(), v.session); err != nil {
		return err
	}
	v.drop()
	return v.redirect(c.base + "/sign-in")
}
