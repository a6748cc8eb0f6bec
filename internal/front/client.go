package front

import (
	"net"
	"net/http"
	"net/netip"

	"sheaf.dev/internal/forwarded"
)

// Client returns the client's address: that of the peer, or the one that trusted proxies report. It
// returns the zero value if the peer has no address.
func (x *Exchange) Client() netip.Addr { return forwarded.Of(x.Request, x.front.TrustedProxy).Client }

// Network returns the address under which the client is counted: see forwarded.Network.
func (x *Exchange) Network() netip.Addr { return forwarded.Network(x.Client()) }

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
	said := forwarded.Of(x.Request, x.front.TrustedProxy)
	if p := said.Proto(); p == "http" || p == "https" {
		scheme = p
	}
	if h := said.Host(); isHost(h) {
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
