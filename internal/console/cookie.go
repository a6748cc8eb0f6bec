package console

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"sheaf.dev/internal/app"
)

// cookieName returns the name of the session cookie. With HTTPS it has the prefix __Host-, which
// binds the cookie to this host. Browsers send a cookie to every port of its host, so the name
// contains what distinguishes this instance from others on the host: the port, and the path of the
// public address.
func (v *visit) cookieName() string {
	name := "sheaf"
	_, host := v.Origin()
	if u := v.console.PublicURL; u != nil {
		host = u.Host
	}
	if port := (&url.URL{Host: host}).Port(); port != "" {
		name += "-" + port
	}
	if base := v.console.base; base != "" {
		sum := sha256.Sum256([]byte(base))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	if v.secure() {
		return "__Host-" + name
	}
	return name
}

// secure reports whether the browser uses HTTPS.
func (v *visit) secure() bool { return v.Secure(v.console.PublicURL) }

// setSession sets the cookie of the session and, after a sign-in with a password, the cookie that identifies the
// browser at the next sign-in. The second one outlives the session.
func (v *visit) setSession(s app.NewSession) {
	http.SetCookie(v, &http.Cookie{Name: v.cookieName(), Value: s.Token, Path: "/", Expires: s.ExpiresAt,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteLaxMode})
	if s.Device == "" {
		return
	}
	http.SetCookie(v, &http.Cookie{Name: v.cookieName() + deviceSuffix, Value: s.Device, Path: "/", Expires: s.DeviceExpiresAt,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteStrictMode})
}

// deviceSuffix is what the second cookie's name ends with.
const deviceSuffix = "-device"

// device returns the value that identifies the browser, or "".
func (v *visit) device() string {
	cookie, err := v.r.Cookie(v.cookieName() + deviceSuffix)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// pendingSuffix is what the name of the pending sign-in's cookie ends with.
const pendingSuffix = "-factor"

// setPending sets the cookie of a pending sign-in.
func (v *visit) setPending(p app.Pending) {
	v.pending = p.Token
	http.SetCookie(v, &http.Cookie{Name: v.cookieName() + pendingSuffix, Value: p.Token, Path: "/", Expires: p.ExpiresAt,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteStrictMode})
}

// pendingToken returns the token of the pending sign-in, or "".
func (v *visit) pendingToken() string {
	if v.pending != "" {
		return v.pending
	}
	cookie, err := v.r.Cookie(v.cookieName() + pendingSuffix)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// clearPending deletes the cookie of the pending sign-in.
func (v *visit) clearPending() {
	http.SetCookie(v, &http.Cookie{Name: v.cookieName() + pendingSuffix, Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteStrictMode})
}

// clearSession deletes the session cookie.
func (v *visit) clearSession() {
	http.SetCookie(v, &http.Cookie{Name: v.cookieName(), Path: "/", MaxAge: -1,
		HttpOnly: true, Secure: v.secure(), SameSite: http.SameSiteLaxMode})
}

// exposed reports whether a password would be sent unencrypted over a network.
func (v *visit) exposed() bool {
	host := (&url.URL{Host: v.r.Host}).Hostname()
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
	return !v.secure() && !local
}
