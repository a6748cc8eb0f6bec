package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxURLLength is the longest url a subscription may have, in code points.
const maxURLLength = 2048

// CheckURL judges a subscription's url before it is stored. It returns nil, or an error whose text
// is written for the person who sent the url: it begins with "url", says what is wrong and what to
// do. The url must be https with a host, without user info or fragment, at most 2048 characters, on
// a port that is not forbidden. A host that is an address, in any spelling that some program
// understands, must be one that [Guard.Address] admits, and be written so that it can be dialled;
// localhost needs loopback to be allowed. Other names are accepted: they are judged by
// [Guard.Control] each time they are dialled.
func (g *Guard) CheckURL(raw string) error {
	if err := checkText(raw); err != nil {
		return err
	}
	authority, err := splitAuthority(raw)
	if err != nil {
		return err
	}
	host, err := splitPort(authority)
	if err != nil {
		return err
	}
	if err := g.checkHost(host); err != nil {
		return err
	}
	// What was judged above must be what the HTTP client will read.
	u, err := url.Parse(raw)
	if err != nil || u.Host != authority || u.Scheme != "https" || u.User != nil {
		return errors.New("url cannot be read: check it for stray characters, and percent-encode those in the path and the query")
	}
	return nil
}

// checkText refuses what is wrong with the url as a text, before any parsing.
func checkText(raw string) error {
	switch {
	case raw == "":
		return errors.New("url is empty: give the https address that deliveries are sent to")
	case !utf8.ValidString(raw):
		return errors.New("url is not valid UTF-8: percent-encode the bytes that are not")
	case utf8.RuneCountInString(raw) > maxURLLength:
		return fmt.Errorf("url has %d characters: at most %d are allowed", utf8.RuneCountInString(raw), maxURLLength)
	case strings.ContainsFunc(raw, invisible):
		return errors.New("url contains a space, a control character or an invisible one: remove it or percent-encode it")
	case strings.Contains(raw, `\`):
		return errors.New(`url contains a backslash: write /, or %5C if it is part of a name`)
	case strings.Contains(raw, "#"):
		return errors.New("url has a fragment: remove the # and what follows it, it would never be sent")
	}
	return nil
}

// invisible reports whether a reader of the url would not see r.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
}

// splitAuthority returns what stands between https:// and the path.
func splitAuthority(raw string) (string, error) {
	const scheme = "https://"
	if len(raw) < len(scheme) || !strings.EqualFold(raw[:len(scheme)], scheme) {
		return "", errors.New("url must begin with https://: a program on your laptop gets the events by: sheaf listen --forward-to http://localhost:3000/hook")
	}
	authority := raw[len(scheme):]
	if end := strings.IndexAny(authority, "/?"); end >= 0 {
		authority = authority[:end]
	}
	switch {
	case authority == "":
		return "", errors.New("url has no host: write it as https://host/path")
	case strings.Contains(authority, "@"):
		return "", errors.New("url carries a user name or a password: remove all up to the @, and authenticate with the subscription's headers or its signature")
	case strings.Contains(authority, "%"):
		return "", errors.New("url has a percent sign in its host (an encoded character or a zone): write the plain host name or address")
	}
	return authority, nil
}

// splitPort judges the port, if there is one, and returns the host with the brackets of an IPv6
// address.
func splitPort(authority string) (string, error) {
	from := strings.LastIndexByte(authority, ']') + 1
	colon := strings.IndexByte(authority[from:], ':')
	if colon < 0 {
		return authority, nil
	}
	host, text := authority[:from+colon], authority[from+colon+1:]
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return "", errors.New("url has a port that is not a number from 1 to 65535: correct it, or leave it and its colon out for 443 (an IPv6 address goes in brackets)")
	}
	if !portAllowed(uint16(port)) {
		return "", fmt.Errorf("url uses port %d, which belongs to mail or remote login and is never used for deliveries: use another, 443 if you can", port)
	}
	return host, nil
}

// checkHost judges a host as far as that is possible before it is dialled: an address in any
// spelling, and localhost. Other names are only looked at for their form.
func (g *Guard) checkHost(host string) error {
	if strings.ContainsAny(host, "[]") {
		inner, ok := strings.CutPrefix(host, "[")
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		if !ok || !closed || err != nil || !ip.Is6() {
			return errors.New("url has brackets around something that is not an IPv6 address: correct it, or write the host name without brackets")
		}
		return g.checkLiteral(ip)
	}
	name, err := asciiHost(host)
	if err != nil {
		return err
	}
	// The operator may have opened this machine, by either version of IP.
	if isLocalhost(name) && !g.Allowed(netip.AddrFrom4([4]byte{127, 0, 0, 1})) && !g.Allowed(netip.IPv6Loopback()) {
		return errors.New("url names localhost, which deliveries may not reach: use a public host name, or, on your laptop: sheaf listen --forward-to http://localhost:3000/hook; an operator may allow it with --webhook-allow-cidr 127.0.0.0/8, and its certificate with --webhook-ca-file")
	}
	if !endsInNumber(name) {
		return nil
	}
	// Programs read such a name as an IPv4 address.
	ip, ok := parseIPv4(name)
	if !ok {
		return errors.New("url has a host that ends in a number but is not an IPv4 address: write four decimal numbers from 0 to 255, or a host name")
	}
	if err := g.checkLiteral(ip); err != nil {
		return err
	}
	if name != ip.String() {
		return fmt.Errorf("url has an address in a spelling that cannot be dialled: write %s", ip)
	}
	return nil
}

// checkLiteral judges an address that the url itself names.
func (g *Guard) checkLiteral(ip netip.Addr) error {
	if g.Address(ip) != nil {
		return errors.New("url leads to an address that deliveries may not reach (loopback, private, link-local or otherwise special): use a public host, or have the operator allow its range with --webhook-allow-cidr")
	}
	return nil
}
