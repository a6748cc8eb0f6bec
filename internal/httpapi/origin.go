package httpapi

import (
	"net"
	"net/http"

	"sheaf.dev/internal/forwarded"
)

// origin is the scheme and host under which the client reached the service. A
// proxy's word counts only when the proxy is trusted. A client of HTTP/1.0 need
// not say which host it asks: then it is the address that it connected to.
func (x *exchange) origin() (scheme, host string) {
	scheme, host = "http", x.request.Host
	if x.request.TLS != nil {
		scheme = "https"
	}
	if host == "" {
		if local, ok := x.request.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	if len(x.server.TrustedProxy) == 0 {
		return scheme, host
	}
	said := forwarded.Of(x.request, x.server.TrustedProxy)
	if p := said.Proto(); p == "http" || p == "https" {
		scheme = p
	}
	if h := said.Host(); saneHost(h) {
		host = h
	}
	return scheme, host
}

// saneHost reports whether h can stand in a URL and a header.
func saneHost(h string) bool {
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
