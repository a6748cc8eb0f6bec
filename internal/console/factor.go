package console

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/boombuler/barcode/qr"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// A right password leads to a session, or to a pending sign-in:
//
//	POST /sign-in, /invite/…, /setup/… ──▶ a session ─────────────────────────────▶ the page to go to
//	                 │
//	                 ├─ a pending sign-in ──▶ /sign-in/code ──▶ a session ────────▶ the page to go to
//	                 └─ … without a factor ─▶ /sign-in/set-up ─▶ recovery codes ──▶ the page to go to
//
// The token of a pending sign-in is in a cookie of its own. Only the two pages under /sign-in read it.

// enter sets the cookies after the right password, and leads the person on to the page in p, or to the page of the
// second factor. An interrupted form cannot be in an address, so the page of the second factor is then the answer.
func (v *visit) enter(s app.NewSession, p signInPage) error {
	if s.Pending.Token == "" {
		v.setSession(s)
		return v.goOn(p, s.Token)
	}
	v.setPending(s.Pending)
	switch {
	case p.Method == "" && s.Pending.SetUp:
		return v.done(v.console.base + "/sign-in/set-up?next=" + url.QueryEscape(p.Next))
	case p.Method == "":
		return v.done(v.console.base + "/sign-in/code?next=" + url.QueryEscape(p.Next))
	case s.Pending.SetUp:
		return v.offerAtSignIn(p, "", nil)
	}
	return v.show(http.StatusOK, "sign-in-code", codePage{signInPage: p})
}

// goOn leads a person who has just signed in to the page that they wanted.
func (v *visit) goOn(p signInPage, token string) error {
	if p.Method != "" && p.Next != "" {
		return v.resume(p, token)
	}
	return v.done(v.console.base + cmp.Or(p.Next, "/"))
}

// browser returns the browser that sent the request.
func (v *visit) browser() app.Browser {
	return app.Browser{Address: v.Address(), Agent: v.r.UserAgent(), RequestID: v.RequestID(), Device: v.device()}
}

// codePage is the data of sign-in-code.html.
type codePage struct {
	signInPage
	Recovery bool // a recovery code was refused
}

// pendingForm returns the data of a form for the pending sign-in: of the one that sets up a second factor, or else of
// the one that asks for a code. If the person needs another form, it leads there, and ready is false.
func (c *Console) pendingForm(v *visit, setUp bool) (p signInPage, ready bool, err error) {
	p = v.signInPage()
	next := "?next=" + url.QueryEscape(p.Next)
	w, err := c.app.Waiting(v.r.Context(), v.pendingToken())
	switch {
	case sheaf.KindOf(err) == sheaf.Unauthorized:
		return p, false, v.redirect(c.base + "/sign-in" + next)
	case err != nil || w.SetUp == setUp:
		return p, err == nil, err
	case w.SetUp:
		return p, false, v.redirect(c.base + "/sign-in/set-up" + next)
	default:
		return p, false, v.redirect(c.base + "/sign-in/code" + next)
	}
}

// codeForm answers GET /sign-in/code: it asks for a code of the second factor.
func (c *Console) codeForm(v *visit) error {
	p, ready, err := c.pendingForm(v, false)
	if !ready {
		return err
	}
	return v.show(http.StatusOK, "sign-in-code", codePage{signInPage: p})
}

// signInWithCode answers POST /sign-in/code: it signs a person in who gave the right password before.
func (c *Console) signInWithCode(v *visit) error {
	p := v.signInPage()
	s, err := c.app.FinishSignIn(v.r.Context(), v.pendingToken(), v.r.PostForm.Get("code"), v.browser(), v.token)
	switch kind := sheaf.KindOf(err); {
	case err == nil:
	case kind == sheaf.Unauthorized:
		v.clearPending()
		return v.again("sign-in", p, err)
	default:
		if kind == sheaf.Invalid || kind == sheaf.RateLimited {
			c.Log.Info("a code of a second factor was refused", "address", v.Address())
		}
		return v.again("sign-in-code", codePage{p, v.r.PostForm.Has("recovery")}, err)
	}
	v.clearPending()
	v.setSession(s)
	return v.goOn(p, s.Token)
}

// factorPage is the data of second-factor.html.
type factorPage struct {
	signInPage
	app.FactorOffer
	Picture  template.URL // the QR code
	Side     int          // of the picture, in pixels
	Required bool         // the person is not signed in before it is set up
}

// Groups returns the secret in groups of four letters, which are easier to type.
func (p factorPage) Groups() string {
	var groups []string
	for group := range slices.Chunk([]byte(p.Secret), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, " ")
}

// showOffer shows the form to set up a second factor, with the offer that was sealed in the form, or else a new one.
func (v *visit) showOffer(p factorPage, u sheaf.User, token, sealed string, refused error) (err error) {
	p.FactorOffer, err = v.console.app.OfferFactor(u, token, sealed)
	if sheaf.KindOf(err) == sheaf.Conflict {
		refused = err
		p.FactorOffer, err = v.console.app.OfferFactor(u, token, "")
	}
	if err != nil {
		return err
	}
	if p.Picture, p.Side, err = qrCode(p.URL); err != nil {
		return err
	}
	if refused != nil {
		return v.again("second-factor", p, refused)
	}
	return v.show(http.StatusOK, "second-factor", p)
}

// offerAtSignIn is showOffer for the person of the pending sign-in.
func (v *visit) offerAtSignIn(p signInPage, sealed string, refused error) error {
	w, err := v.console.app.Waiting(v.r.Context(), v.pendingToken())
	if err != nil {
		return err
	}
	p.Email = ""
	if w.User.Email != nil {
		p.Email = *w.User.Email
	}
	return v.showOffer(factorPage{signInPage: p, Required: true}, w.User, v.pendingToken(), sealed, refused)
}

// offerForm answers GET /sign-in/set-up: the person must set up a second factor before they are signed in.
func (c *Console) offerForm(v *visit) error {
	p, ready, err := c.pendingForm(v, true)
	if !ready {
		return err
	}
	return v.offerAtSignIn(p, "", nil)
}

// setUpAtSignIn answers POST /sign-in/set-up: it sets up the second factor and signs the person in.
func (c *Console) setUpAtSignIn(v *visit) error {
	p, form := v.signInPage(), v.r.PostForm
	in := app.NewFactor{Sealed: form.Get("offer"), Code: form.Get("code")}
	s, codes, err := c.app.FinishWithFactor(v.r.Context(), v.pendingToken(), in, v.browser(), v.token)
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		v.clearPending()
		return v.again("sign-in", p, err)
	}
	if err != nil {
		return v.offerAtSignIn(p, in.Sealed, err)
	}
	v.clearPending()
	v.setSession(s)
	return v.show(http.StatusOK, "recovery-codes", recoveryPage{p, codes, true})
}

// recoveryPage is the data of recovery-codes.html.
type recoveryPage struct {
	signInPage
	Codes    []string // shown once
	Required bool     // the person goes on with the sign-in
}

// Lines returns the codes, one in a line.
func (p recoveryPage) Lines() string { return strings.Join(p.Codes, "\n") }

// continueSignIn answers POST /sign-in/continue: the person has kept the recovery codes.
func (c *Console) continueSignIn(v *visit) error { return v.goOn(v.signInPage(), v.token) }

// newFactor answers GET /account/second-factor: the form to set it up.
func (c *Console) newFactor(v *visit) error {
	f, err := c.app.Factor(v.r.Context(), v.session)
	if err != nil {
		return err
	}
	if f.On {
		return v.redirect(c.base + "/account")
	}
	return v.showOffer(factorPage{}, v.session.User, v.token, "", nil)
}

// setUpFactor answers POST /account/second-factor: it sets up the second factor, and signs the person out in all other
// browsers.
func (c *Console) setUpFactor(v *visit) error {
	form := v.r.PostForm
	in := app.NewFactor{Sealed: form.Get("offer"), Code: form.Get("code")}
	s, codes, err := c.app.SetUpFactor(v.r.Context(), v.session, in, form.Get("current"), v.browser())
	if sheaf.KindOf(err) == sheaf.Unauthorized {
		err = errWrongCurrent
	}
	if err != nil {
		return v.showOffer(factorPage{}, v.session.User, v.token, in.Sealed, err)
	}
	v.setSession(s)
	return v.show(http.StatusOK, "recovery-codes", recoveryPage{Codes: codes})
}

// newRecoveryCodes answers POST /account/second-factor/codes: it replaces the recovery codes and shows the new ones.
func (c *Console) newRecoveryCodes(v *visit) error {
	codes, err := c.app.NewRecoveryCodes(v.r.Context(), v.session, v.r.PostForm.Get("proof"))
	if err != nil {
		return v.refuseProof(err)
	}
	return v.show(http.StatusOK, "recovery-codes", recoveryPage{Codes: codes})
}

// turnOffFactor answers POST /account/second-factor/off: it removes the second factor, and signs the person out in all
// other browsers. If a second factor is required, the person sets up another at once.
func (c *Console) turnOffFactor(v *visit) error {
	s, err := c.app.TurnOffFactor(v.r.Context(), v.session, v.r.PostForm.Get("proof"), v.browser())
	if err != nil {
		return v.refuseProof(err)
	}
	if s.Pending.Token != "" {
		v.clearSession()
		return v.enter(s, signInPage{Next: "/account"})
	}
	v.setSession(s)
	return v.done(c.base + "/account?done=factor-off")
}

// refuseProof shows the account page with the error of its form about the second factor.
func (v *visit) refuseProof(err error) error {
	var refusal *sheaf.Error
	switch {
	case sheaf.KindOf(err) == sheaf.Unauthorized:
		err = sheaf.InvalidField("proof", "The password is wrong.")
	case errors.As(err, &refusal) && refusal.Field == "code":
		err = sheaf.InvalidField("proof", "%s", refusal.Text)
	}
	p := v.accountPage()
	p.Form = "factor"
	return v.showAccount(p, err)
}

// A QR code is drawn with squares of qrModule pixels and, as readers need, with qrMargin white squares on each side.
const (
	qrModule = 4
	qrMargin = 4
)

// qrCode returns a picture of the text as a QR code, and its width in pixels. The picture is in the address, so that
// no other request has the secret.
func qrCode(text string) (picture template.URL, side int, err error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return "", 0, fmt.Errorf("make a QR code: %w", err)
	}
	modules := code.Bounds().Dx()
	side = (modules + 2*qrMargin) * qrModule
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White, color.Black})
	for y := range modules * qrModule {
		for x := range modules * qrModule {
			if code.At(x/qrModule, y/qrModule) == color.Black {
				img.SetColorIndex(x+qrMargin*qrModule, y+qrMargin*qrModule, 1)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		return "", 0, fmt.Errorf("draw a QR code: %w", err)
	}
	// #nosec G203 -- it is base64
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), side, nil
}
