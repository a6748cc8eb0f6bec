// Package guard decides where deliveries may go: it judges the address that is really dialled, and
// the url a person gives when a subscription is made.
//
// It knows addresses, ports and spellings, and nothing else of the program: it imports no other
// internal package, opens no connection and resolves no name. Of the machine it knows the addresses
// of its interfaces.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"
)

// ErrBlocked is wrapped by every refusal of [Guard.Control] and [Guard.Address]; errors.Is finds it
// through *net.OpError and *url.Error. Neither its text nor the texts that wrap it name an address,
// but the *net.OpError around them does: never show that one to a user.
var ErrBlocked = errors.New("destination is not allowed")

// forbiddenPorts belong to protocols that can be made to act on the bytes of an HTTP request:
// remote shells and mail.
var forbiddenPorts = []uint16{22, 23, 25, 110, 143, 465, 587, 993, 995}

// platform lists addresses that look public and are not: numbers that a cloud answers only from
// inside, and that no registry knows.
var platform = []netip.Prefix{
	netip.MustParsePrefix("168.63.129.16/32"), // Azure: host agent, DNS and health of the virtual machine
}

// Guard judges destinations. All its methods may be called from any goroutine, and none of them
// blocks.
type Guard struct {
	allow      []netip.Prefix               // ranges that the operator allows; IPv4 is never written as IPv6
	base       *ssrf.Guardian               // knows what IANA's registries call special
	interfaces func() ([]net.Addr, error)   // reads the machine's addresses; tests have their own
	own        atomic.Pointer[[]netip.Addr] // this machine's addresses, as read at the last check of a public address; nil: not read yet
}

// New returns a Guard that admits public addresses, and of the special ones only those inside
// allow. An IPv4 prefix in allow also covers the v4-mapped form of its addresses, and a v4-mapped
// prefix is read as the IPv4 one; a wider IPv6 prefix, such as ::/0, admits no v4-mapped address.
// Invalid prefixes admit nothing.
func New(allow []netip.Prefix) *Guard {
	g := &Guard{base: ssrf.New(ssrf.WithAnyPort()), interfaces: net.InterfaceAddrs}
	for _, p := range allow {
		g.allow = append(g.allow, unmapPrefix(p))
	}
	return g
}

// Control is a net.Dialer's ControlContext: it runs once for every address the dialer tries, after
// the name was resolved and before the socket connects. It returns nil, or an error that wraps
// [ErrBlocked]. It refuses networks other than tcp4 and tcp6, addresses it cannot read, port 0 and
// the mail and shell ports, and whatever [Guard.Address] refuses.
func (g *Guard) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return fmt.Errorf("%w: the network is neither tcp4 nor tcp6", ErrBlocked)
	}
	dest, err := netip.ParseAddrPort(address)
	if err != nil {
		// The parser's text repeats the address, so it is not wrapped.
		return fmt.Errorf("%w: the address cannot be read", ErrBlocked)
	}
	if !portAllowed(dest.Port()) {
		return fmt.Errorf("%w: port %d is never used for deliveries", ErrBlocked, dest.Port())
	}
	return g.Address(dest.Addr())
}

// Address returns nil when deliveries may go to ip: it is public and of another machine, or the
// operator allows it. Otherwise the error wraps [ErrBlocked]. An address with a zone is refused
// whatever the operator allows, and so is the zero Addr.
func (g *Guard) Address(ip netip.Addr) error {
	if g.Allowed(ip) {
		return nil
	}
	if !g.reserved(ip) {
		g.readInterfaces()
		if !g.Special(ip) {
			return nil
		}
	}
	return fmt.Errorf("%w: the address is not a public one", ErrBlocked)
}

// readInterfaces notes the addresses of this machine's interfaces, which come and go, in own. A machine
// behind a translation of addresses does not know its public one.
func (g *Guard) readInterfaces() {
	found, err := g.interfaces()
	if err != nil {
		return // keep the addresses of the last successful read
	}
	own := make([]netip.Addr, 0, len(found))
	for _, a := range found {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				own = append(own, ip.Unmap())
			}
		}
	}
	g.own.Store(&own)
}

// Special reports whether ip is anything but a public unicast address, whatever the operator allows:
// what IANA's registries call special, IPv6 outside 2000::/3, every v4-mapped address, every
// address with a zone, the zero Addr, the inner addresses of cloud platforms, and those of this
// machine's own interfaces, as they were when an address was judged last: a connection to them
// passes by whatever guards the machine from outside. Special addresses are not shown to users.
func (g *Guard) Special(ip netip.Addr) bool {
	own := g.own.Load()
	return g.reserved(ip) || own != nil && slices.Contains(*own, ip)
}

// reserved is Special for every machine alike.
func (g *Guard) reserved(ip netip.Addr) bool {
	// The library takes the zero Addr for a harmless IPv4 address.
	if !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() {
		return true
	}
	return contains(platform, ip) || g.base.SafeAddr(ip) != nil
}

// Allowed reports whether the operator's prefixes admit ip.
func (g *Guard) Allowed(ip netip.Addr) bool {
	// Unmap drops the zone, so look at it first.
	return ip.Zone() == "" && contains(g.allow, ip.Unmap())
}

// contains reports whether one of the prefixes has the address.
func contains(prefixes []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// unmapPrefix turns ::ffff:a.b.c.d/96+n into a.b.c.d/n.
func unmapPrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	return p
}

// portAllowed reports whether deliveries may use a port. Port 0 is no port.
func portAllowed(port uint16) bool {
	return port != 0 && !slices.Contains(forbiddenPorts, port)
}
