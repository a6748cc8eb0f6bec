package httpapi

import "sheaf.dev/internal/forwarded"

// origin is the scheme and host under which the client reached the service. A
// proxy's word counts only when the proxy is trusted.
func (x *exchange) origin() (scheme, host string) {
	scheme, host = "http", x.request.Host
	if x.request.TLS != nil {
		scheme = "https"
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
