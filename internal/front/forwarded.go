package front

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxyChain is the path of a request through trusted proxies. Only trusted proxies are believed, and of a
// list only the entries that they added: the client may have made up the entries before them.
type proxyChain struct {
	// client is the last address that is not a trusted proxy's. It is the zero value if the peer
	// has no address.
	client  netip.Addr
	proxies int // trusted proxies between client and us
	header  http.Header
}

// proxiesOf reads the path of a request from its peer and X-Forwarded-For. `trusted` has the addresses of
// trusted proxies, and no IPv4 in IPv6 form.
func proxiesOf(r *http.Request, trusted []netip.Prefix) proxyChain {
	c := proxyChain{header: r.Header}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return c
	}
	if c.client, err = parseIP(host); err != nil || !IsTrusted(trusted, c.client) {
		return c
	}
	c.proxies = 1
	hops := headerList(r.Header, "X-Forwarded-For")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := parseHop(hops[i])
		if err != nil {
			break
		}
		c.client = hop
		if !IsTrusted(trusted, hop) {
			break
		}
		c.proxies++
	}
	return c
}

// proto returns the X-Forwarded-Proto of the trusted proxy farthest from us; empty for none.
func (c proxyChain) proto() string { return c.value("X-Forwarded-Proto") }

// host returns the X-Forwarded-Host of the trusted proxy farthest from us, unchanged; empty for
// none.
func (c proxyChain) host() string { return c.value("X-Forwarded-Host") }

// value returns the entry of the trusted proxy farthest from us. Each proxy appends an entry, or
// replaces the list, which is then shorter.
func (c proxyChain) value(name string) string {
	all := headerList(c.header, name)
	if c.proxies == 0 || len(all) == 0 {
		return ""
	}
	return all[max(0, len(all)-c.proxies)]
}

// headerList returns the entries of all lines of a header: some proxies append an entry as a new line.
func headerList(h http.Header, name string) []string {
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

func parseIP(s string) (netip.Addr, error) {
	ip, err := netip.ParseAddr(s)
	return ip.Unmap().WithZone(""), err
}

// parseHop reads an address of X-Forwarded-For. Some proxies, such as those of Azure and IIS,
// append the port: 192.0.2.1:5000 or [2001:db8::1]:5000. Others write IPv6 in brackets without a
// port.
func parseHop(s string) (netip.Addr, error) {
	ip, err := parseIP(s)
	if err == nil {
		return ip, nil
	}
	if withPort, err := netip.ParseAddrPort(s); err == nil {
		return withPort.Addr().Unmap().WithZone(""), nil
	}
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return parseIP(s[1 : len(s)-1])
	}
	return ip, err
}

// IsTrusted reports whether ip is the address of a trusted proxy.
func IsTrusted(trusted []netip.Prefix, ip netip.Addr) bool {
	for _, p := range trusted {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// Network returns the address under which a client is counted: its own, or of IPv6 the first of its
// /64, because one client has all addresses of such a network.
func Network(ip netip.Addr) netip.Addr {
	ip = ip.Unmap()
	if ip.Is4() || !ip.IsValid() {
		return ip
	}
	network, _ := ip.Prefix(64) // 64 bits are valid for IPv6
	return network.Addr()
}
