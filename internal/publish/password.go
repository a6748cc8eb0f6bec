package publish

import (
	"errors"
	"mime"
	"net/http"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
)

// maxForm is far above the size of a password form.
const maxForm = 8 << 10

// cookieName returns the name of the cookie. Over HTTPS it makes the browser send the cookie only
// over HTTPS.
func (v *visit) cookieName() string {
	if v.Secure(v.publisher.PublicURL) {
		return "__Secure-sheaf-share"
	}
	return "sheaf-share"
}

// unlocked reports whether the reader may see the share: it has no password, or the cookie proves
// that the right one was given.
func (v *visit) unlocked() bool {
	if v.share.PasswordHash == "" {
		return true
	}
	cookie, err := v.r.Cookie(v.cookieName())
	return err == nil && v.publisher.App.Unlocked(v.share, cookie.Value)
}

// locked is the data of the page that asks for a password.
type locked struct{ Fault string }

// askForPassword shows the page that asks for the password. If the shared record is gone, it
// returns NotFound instead. The page reveals nothing about the share.
func (v *visit) askForPassword() error {
	if err := v.publisher.App.ShareShows(v.r.Context(), v.share); err != nil {
		return err
	}
	return v.locked(http.StatusUnauthorized, "")
}

func (v *visit) locked(status int, fault string) error {
	body, err := v.page("locked", layout{Title: "Password required", Bare: true}, locked{fault})
	if err != nil {
		return err
	}
	v.Header().Set("Content-Type", htmlType)
	if status == http.StatusUnauthorized {
		v.Header().Set("WWW-Authenticate", `Form realm="share"`)
	}
	v.WriteHeader(status)
	if v.r.Method != http.MethodHead {
		_, _ = v.Write(body)
	}
	return nil
}

// unlock checks the password, and redirects the reader to the page that asked for it.
func (v *visit) unlock() error {
	if v.publisher.origin.Check(v.r) != nil {
		return &sheaf.Error{Kind: sheaf.Forbidden, Text: "Another site sent this request. It was refused."}
	}
	if err := v.publisher.App.ShareShows(v.r.Context(), v.share); err != nil {
		return err
	}
	if v.unlocked() {
		return v.onward()
	}
	password, err := v.password()
	if err != nil {
		return err
	}
	known := ""
	if cookie, err := v.r.Cookie(v.cookieName() + "-known"); err == nil {
		known = cookie.Value
	}
	open, err := v.publisher.App.UnlockShare(v.r.Context(), v.share, password, v.Address(), known)
	switch sheaf.KindOf(err) {
	case sheaf.Unauthorized, sheaf.RateLimited, sheaf.Unavailable:
		return v.refused(err)
	}
	if err != nil {
		return err
	}
	v.remember(v.cookieName(), open.Token, open.Expires)
	v.remember(v.cookieName()+"-known", open.Known, open.KnownUntil)
	return v.onward()
}

// password reads the form.
func (v *visit) password() (string, error) {
	kind, _, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	v.r.Body = http.MaxBytesReader(v, v.Body(), maxForm)
	if err != nil || kind != "application/x-www-form-urlencoded" || v.r.ParseForm() != nil {
		return "", sheaf.Invalidf("The form was incomplete. Go back, and send it again.")
	}
	return v.r.PostForm.Get("password"), nil
}

// refused asks for the password again, and says why.
func (v *visit) refused(err error) error {
	var refusal *sheaf.Error
	if !errors.As(err, &refusal) || refusal.Cause != nil {
		return err
	}
	if refusal.RetryAfter > 0 {
		v.RetryAfter(refusal.RetryAfter)
	}
	v.publisher.Log.Info("opening a share failed", "address", v.Address(), "share_id", v.share.ID)
	return v.locked(front.Status(refusal.Kind), refusal.Text)
}

// remember sets a cookie for this share only.
func (v *visit) remember(name, token string, expires time.Time) {
	http.SetCookie(v, &http.Cookie{Name: name, Value: token, Path: v.shareHome(), Expires: expires,
		HttpOnly: true, Secure: v.Secure(v.publisher.PublicURL), SameSite: http.SameSiteLaxMode})
}

// onward redirects the browser to the page whose form it sent.
func (v *visit) onward() error {
	address := v.publisher.base + v.path
	if v.r.URL.RawQuery != "" {
		address += "?" + v.r.URL.RawQuery
	}
	v.Header().Set("Location", address)
	v.WriteHeader(http.StatusSeeOther)
	return nil
}
