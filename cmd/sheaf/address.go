package main

import (
	"net"
	"net/netip"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
)

// baseURL returns the address to show to a person: the public one, or else the listen address. If
// the server listens on every address of the machine, that is localhost.
func baseURL(s *config.Settings, addr string) string {
	if s.PublicURL != nil {
		return s.PublicURL.String()
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme(s) + "://" + addr
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme(s) + "://" + net.JoinHostPort(host, port)
}

// scheme returns https if the server has a certificate, otherwise http.
func scheme(s *config.Settings) string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

func setupURL(base string, link app.SetupLink) string { return base + "/setup/" + link.Token }
