package httpapi

import (
	"net"
	"net/netip"
	"strings"
)

// origin is the scheme and host under which the client reached the service. A
// proxy's word counts only when the proxy is trusted.
func (x *exchange) origin() (scheme, host string) {
	scheme, host = "http", x.request.Host
	if x.request.TLS != nil {
		scheme = "https"
	}
	if !x.fromTrustedProxy() {
		return scheme, host
	}
	if p := firstOf(x.request.Header.Get("X-Forwarded-Proto")); p == "http" || p == "https" {
		scheme = p
	}
	if h := firstOf(x.request.Header.Get("X-Forwarded-Host")); saneHost(h) {
		host = h
	}
	return scheme, host
}

func (x *exchange) fromTrustedProxy() bool {
	if len(x.server.TrustedProxy) == 0 {
		return false
	}
	host, _, err := net.SplitHostPort(x.request.RemoteAddr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	for _, p := range x.server.TrustedProxy {
		if p.Contains(ip.Unmap()) {
			return true
		}
	}
	return false
}

func firstOf(list string) string {
	first, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(first)
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
