package address

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"sheaf.dev/internal/sheaftest"
)

// The names that our server knows. Beside them, n.at.test is the n-th forbidden address.
const (
	publicName = "public.test" // a public address
	rebindName = "rebind.test" // a public address, and the next time a private one, by turns
	flipName   = "flip.test"   // a public address the first time, a private one ever after
	cnameName  = "cname.test"  // another name, which is private
	innerName  = "inner.test"  // that one
	mixedName  = "mixed.test"  // public and private addresses of both families at once
	hostsName  = "hosts.test"  // is in the hosts file, and not in DNS
	ownName    = "own.test"    // a public address that is this machine's own
	shortName  = "intra"       // a name in the search domain alone
)

// searchDomain is where the machine looks for short names.
const searchDomain = "corp.test"

func names() []string {
	return []string{publicName, rebindName, flipName, cnameName, innerName, mixedName, hostsName, ownName}
}

// forbidden are the addresses that a name can lead to. One form is refused only where it is written in a URL: in an AAAA
// record ::ffff:8.8.8.8 means 8.8.8.8 to the resolver, and that is what is judged and dialled, a public address.
var forbidden = func() (all []netip.Addr) {
	for _, s := range sheaftest.ForbiddenAddresses() {
		if ip := netip.MustParseAddr(s); ip.Zone() == "" && ip != netip.MustParseAddr("::ffff:8.8.8.8") {
			all = append(all, ip)
		}
	}
	return all
}()

func nameOf(n int) string { return fmt.Sprintf("%d.at.test", n) }

// dns is a name server. Its answers must not be kept.
type dns struct {
	mu    sync.Mutex // guards what follows
	asked map[string]int
	total int
}

func serveDNS(t *testing.T) *dns {
	t.Helper()
	c, err := net.ListenPacket("udp", dnsHost+":53")
	if err != nil {
		t.Fatal(err)
	}
	d := &dns{asked: map[string]int{}}
	var served sync.WaitGroup
	served.Go(func() { d.serve(c) })
	t.Cleanup(func() {
		c.Close()
		served.Wait()
	})
	return d
}

func (d *dns) serve(c net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		d.answer(&m)
		if out, err := m.Pack(); err == nil {
			_, _ = c.WriteTo(out, from)
		}
	}
}

func (d *dns) answer(m *dnsmessage.Message) {
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	if name == cnameName {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: dnsmessage.TypeCNAME},
			Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(innerName + ".")}})
		q.Name, name = dnsmessage.MustNewName(innerName+"."), innerName
	}
	addresses := d.addresses(name, q.Type)
	if addresses == nil {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, ip := range addresses {
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, Type: q.Type} // for no time at all: TTL 0
		switch {
		case q.Type == dnsmessage.TypeA && ip.Is4():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
		case q.Type == dnsmessage.TypeAAAA && ip.Is6():
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
}

// addresses returns what a name is just now; nil when there is no such name.
func (d *dns) addresses(name string, kind dnsmessage.Type) []netip.Addr {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.total++
	if kind == dnsmessage.TypeA {
		d.asked[name]++
	}
	metadata := netip.MustParseAddr("169.254.169.254")
	switch first := d.asked[name] <= 1; {
	case name == publicName, name == flipName && first, name == rebindName && d.asked[name]%2 == 1:
		return public[:1]
	case name == innerName, name == flipName, name == rebindName:
		return []netip.Addr{metadata}
	case name == ownName:
		return own
	case name == shortName+"."+searchDomain:
		return []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	case name == mixedName:
		return append([]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"), metadata}, public...)
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(name, ".at.test")); err == nil && n < len(forbidden) {
		return forbidden[n : n+1]
	}
	return nil
}

// askedFor reports whether a name was asked for.
func (d *dns) askedFor(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked[name] > 0
}

func (d *dns) questions() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.total
}
