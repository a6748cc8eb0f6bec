package front

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
)

// Client returns the client's address: that of the peer, or the one that trusted proxies report. It
// returns the zero value if the peer has no address.
func (x *Exchange) Client() netip.Addr { return proxiesOf(x.Request, x.front.TrustedProxy).client }

// Address returns the text under which the client is limited and logged: its address, or of IPv6 its /64,
// such as "2001:db8::/64", because one client has all addresses of such a network.
func (x *Exchange) Address() string {
	ip := x.Client()
	if ip.Is6() {
		network, _ := ip.Prefix(64) // 64 bits are valid for IPv6
		return network.String()
	}
	return ip.String()
}

// Secure reports whether the browser uses HTTPS: to us, to a trusted proxy, or because the scheme of the
// public address is https. public may be nil.
func (x *Exchange) Secure(public *url.URL) bool {
	scheme, _ := x.Origin()
	return scheme == "https" || x.Request.TLS != nil || public != nil && public.Scheme == "https"
}

// ProtectPage sets the headers that limit what a page may do in a browser. `policy` is its
// Content-Security-Policy. The page is not cached, unless the edge sets another Cache-Control.
func (x *Exchange) ProtectPage(policy string, public *url.URL) {
	h := x.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer") // the addresses of shares and of one-time links are secrets
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	h.Set("Cache-Control", "no-store")
	if x.Secure(public) {
		// Without subdomains, because other services may run there.
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// Origin returns the scheme and host that the client used. Headers of a proxy count only if the proxy
// is trusted. If an HTTP/1.0 client sends no Host, the host is the address that it connected to.
func (x *Exchange) Origin() (scheme, host string) {
	scheme, host = "http", x.Request.Host
	if x.Request.TLS != nil {
		scheme = "https"
	}
	if host == "" {
		if local, ok := x.Request.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	if len(x.front.TrustedProxy) == 0 {
		return scheme, host
	}
	chain := proxiesOf(x.Request, x.front.TrustedProxy)
	if p := chain.proto(); p == "http" || p == "https" {
		scheme = p
	}
	if h := chain.host(); isHost(h) {
		host = h
	}
	return scheme, host
}

// isHost reports whether h can stand in a URL and a header.
func isHost(h string) bool {
	if h == "" || len(h) > 255 {
		return false
	}
	for _, c := range []byte(h) {
		if !(c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z') {
			return false
		}
	}
	return true
}
