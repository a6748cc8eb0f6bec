package main

import (
	"net"
	"net/netip"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
)

// baseURL is the address to give to a person: the public one, else the listen address. A server
// that listens on every address of the machine is reached from it as localhost.
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

// scheme is how clients reach the server: https where it has a certificate of its own.
func scheme(s *config.Settings) string {
	if s.TLSCert != "" {
		return "https"
	}
	return "http"
}

func setupURL(base string, link app.SetupLink) string { return base + "/setup/" + link.Token }
