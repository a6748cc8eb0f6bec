// Package forwarded tells what proxies say of a client: where it is, and under which scheme and
// host it came. A proxy is believed when it is trusted, and of a list that it passes on only what
// trusted proxies added: whatever stands before that, the client may have made up.
package forwarded

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Chain is the way of a request, as far as trusted proxies know it.
type Chain struct {
	// Client is the last address that no trusted proxy has; the zero value when the peer has none.
	Client  netip.Addr
	proxies int // that are trusted, one after the other, up to us
	header  http.Header
}

// Of reads the way of a request from its peer and X-Forwarded-For. The prefixes are those of
// trusted proxies, with no IPv4 written as IPv6.
func Of(r *http.Request, trusted []netip.Prefix) Chain {
	c := Chain{header: r.Header}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return c
	}
	if c.Client, err = parse(host); err != nil || !Trusts(trusted, c.Client) {
		return c
	}
	c.proxies = 1
	hops := list(r.Header, "X-Forwarded-For")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := parseHop(hops[i])
		if err != nil {
			break
		}
		c.Client = hop
		if !Trusts(trusted, hop) {
			break
		}
		c.proxies++
	}
	return c
}

// Proto is the X-Forwarded-Proto that counts: empty for none.
func (c Chain) Proto() string { return c.value("X-Forwarded-Proto") }

// Host is the X-Forwarded-Host that counts, as it came: empty for none.
func (c Chain) Host() string { return c.value("X-Forwarded-Host") }

// value is the word of the trusted proxy that is farthest from us. Each adds one at the end, or
// replaces the list, which is shorter then.
func (c Chain) value(name string) string {
	all := list(c.header, name)
	if c.proxies == 0 || len(all) == 0 {
		return ""
	}
	return all[max(0, len(all)-c.proxies)]
}

// list returns the parts of a header that may be one line or several: a proxy may add a line of its
// own.
func list(h http.Header, name string) []string {
	lines := h.Values(name)
	if len(lines) == 0 {
		return nil
	}
	all := strings.Split(strings.Join(lines, ","), ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

func parse(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	return ip.Unmap().WithZone(""), err
}

// parseHop reads an address of X-Forwarded-For. Some proxies, such as those of Azure and IIS, add the
// port: 192.0.2.1:5000 or [2001:db8::1]:5000. Others put IPv6 in brackets without a port.
func parseHop(s string) (netip.Addr, error) {
	ip, err := parse(s)
	if err == nil {
		return ip, nil
	}
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone(""), nil
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return parse(s[1 : len(s)-1])
	}
	return ip, err
}

// Trusts reports whether the address is that of a trusted proxy.
func Trusts(trusted []netip.Prefix, ip netip.Addr) bool {
	for _, p := range trusted {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Network returns the address under which a client is counted: its own, or the first of its /64 for IPv6, since
// one client has all addresses of such a network.
func Network(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if ip.Is4() || !ip.IsValid() {
		return ip
	}
	network, _ := ip.Prefix(64) // fails for more bits than an address has
	return network.Addr()
}
