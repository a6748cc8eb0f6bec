package guard

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
)

// forbidden lists addresses, as literals of netip, that no delivery may reach.
var forbidden = sheaftest.ForbiddenAddresses()

// public lists ordinary addresses, among them the neighbours of every special block.
var public = strings.Fields(`
	1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 52.95.110.1
	100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
	169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0
	191.255.255.255 192.0.1.0 192.0.3.0 192.31.195.255 192.31.197.0 192.88.98.255 192.88.100.0
	192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0
	203.0.112.255 203.0.114.0 223.255.255.255
	2000::1 2001:200::1 2001:4860:4860::8888 2001:db7::1 2001:db9::1 2003::1 2400:cb00::1 2600::1
	2606:4700:4700::1111 2620:4f:7fff::1 2620:4f:8001::1 2a00:1450:4001:80b::200e 2c0f:fb50::1
	3ffe:ffff::1 3fff:1000::1
`)

func TestTables_AreAsLongAsPromised(t *testing.T) {
	t.Parallel()
	if len(forbidden) < 150 || len(public) < 25 {
		t.Fatalf("%d forbidden and %d public addresses", len(forbidden), len(public))
	}
}

// D71: no address that is special, in any form.
func TestAddress_RefusesEverySpecialOne(t *testing.T) {
	t.Parallel()
	g := New(nil)
	for _, s := range forbidden {
		ip := netip.MustParseAddr(s)
		if err := g.Address(ip); !errors.Is(err, ErrBlocked) {
			t.Errorf("Address(%s) = %v, want ErrBlocked", s, err)
		}
		if !g.Special(ip) {
			t.Errorf("Special(%s) = false", s)
		}
	}
	if err := g.Address(netip.Addr{}); !errors.Is(err, ErrBlocked) {
		t.Errorf("Address(zero) = %v, want ErrBlocked", err)
	}
}

func TestAddress_AdmitsPublicOnes(t *testing.T) {
	t.Parallel()
	g := New(nil)
	for _, s := range public {
		ip := netip.MustParseAddr(s)
		if err := g.Address(ip); err != nil {
			t.Errorf("Address(%s) = %v", s, err)
		}
		if g.Special(ip) {
			t.Errorf("Special(%s) = true", s)
		}
	}
}

func prefixes(t *testing.T, list ...string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func TestAddress_OperatorsPrefixes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		allow, ip string
		ok        bool
	}{
		{"10.1.0.0/16", "10.1.2.3", true},
		{"10.1.0.0/16", "::ffff:10.1.2.3", true},
		{"10.1.0.0/16", "10.2.0.1", false},
		{"10.1.0.0/16", "::ffff:10.2.0.1", false},
		{"10.1.2.3/16", "10.1.9.9", true}, // host bits set
		{"::ffff:10.1.0.0/112", "10.1.2.3", true},
		{"::ffff:10.1.0.0/112", "::ffff:10.1.2.3", true},
		{"0.0.0.0/0", "127.0.0.1", true},
		{"0.0.0.0/0", "::1", false},
		{"::/0", "::1", true},
		{"::/0", "10.0.0.1", false},
		{"::/0", "::ffff:10.0.0.1", false},
		{"fd00::/8", "fd00::1", true},
		{"fd00::/8", "fd00::1%eth0", false},
		{"fe80::/10", "fe80::1%eth0", false},
		{"127.0.0.0/8", "::ffff:127.0.0.1%lo", false},
		{"64:ff9b::/96", "64:ff9b::8.8.8.8", true},
		{"10.1.0.0/16", "8.8.8.8", true},
	}
	for _, tt := range tests {
		g := New(prefixes(t, tt.allow))
		if err := g.Address(netip.MustParseAddr(tt.ip)); (err == nil) != tt.ok {
			t.Errorf("allow %s: Address(%s) = %v, want ok %v", tt.allow, tt.ip, err, tt.ok)
		}
	}
}

func TestSpecial_DoesNotAskTheOperator(t *testing.T) {
	t.Parallel()
	g := New(prefixes(t, "10.0.0.0/8"))
	ip := netip.MustParseAddr("10.0.0.1")
	if g.Address(ip) != nil || !g.Special(ip) {
		t.Errorf("Address = %v, Special = %v, want admitted and special", g.Address(ip), g.Special(ip))
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	tests := []struct {
		network, address string
		ok               bool
	}{
		{"tcp4", "8.8.8.8:443", true},
		{"tcp4", "8.8.8.8:80", true},
		{"tcp4", "8.8.8.8:65535", true},
		{"tcp6", "[2606:4700:4700::1111]:8443", true},
		{"tcp4", "10.0.0.1:443", false},
		{"tcp6", "[::1]:443", false},
		{"tcp6", "[::ffff:8.8.8.8]:443", false},
		{"tcp6", "[fe80::1%eth0]:443", false},
		{"tcp", "8.8.8.8:443", false},
		{"udp4", "8.8.8.8:443", false},
		{"unix", "/run/docker.sock", false},
		{"", "8.8.8.8:443", false},
		{"tcp4", "8.8.8.8:0", false},
		{"tcp4", "8.8.8.8:22", false},
		{"tcp4", "8.8.8.8:23", false},
		{"tcp4", "8.8.8.8:25", false},
		{"tcp4", "8.8.8.8:110", false},
		{"tcp4", "8.8.8.8:143", false},
		{"tcp4", "8.8.8.8:465", false},
		{"tcp4", "8.8.8.8:587", false},
		{"tcp4", "8.8.8.8:993", false},
		{"tcp4", "8.8.8.8:995", false},
		{"tcp4", "8.8.8.8:65536", false},
		{"tcp4", "8.8.8.8", false},
		{"tcp4", ":443", false},
		{"tcp4", "", false},
		{"tcp4", "example.com:443", false},
		{"tcp4", "127.1:443", false},
	}
	g := New(nil)
	for _, tt := range tests {
		err := g.Control(t.Context(), tt.network, tt.address, nil)
		if (err == nil) != tt.ok || (err != nil && !errors.Is(err, ErrBlocked)) {
			t.Errorf("Control(%q, %q) = %v, want ok %v", tt.network, tt.address, err, tt.ok)
		}
	}
}

func TestControl_TheOperatorCannotAllowAPort(t *testing.T) {
	t.Parallel()
	g := New(prefixes(t, "127.0.0.0/8"))
	if err := g.Control(t.Context(), "tcp4", "127.0.0.1:25", nil); !errors.Is(err, ErrBlocked) {
		t.Errorf("Control = %v, want ErrBlocked", err)
	}
}

// The text of a refusal reaches users; the inner network must not be in it.
func TestControl_RefusalNamesNoAddress(t *testing.T) {
	t.Parallel()
	g := New(nil)
	for _, s := range forbidden {
		err := g.Control(t.Context(), "tcp4", net.JoinHostPort(s, "443"), nil)
		if err == nil || len(s) > 3 && strings.Contains(err.Error(), s) {
			t.Errorf("Control(%s) = %v", s, err)
		}
	}
	if err := g.Control(t.Context(), "tcp4", "db.internal:443", nil); strings.Contains(err.Error(), "internal") {
		t.Errorf("Control = %v, which repeats the address", err)
	}
}

// What an interface of this machine has is special while it has it, however public it looks.
func TestAddress_OfThisMachineIsSpecial(t *testing.T) {
	t.Parallel()
	own := []net.Addr{&net.IPNet{IP: net.ParseIP("93.184.216.77"), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("2606:2800:220:1::77"), Mask: net.CIDRMask(64, 128)}}
	for _, allow := range [][]netip.Prefix{nil, prefixes(t, "93.184.216.77/32", "2606:2800:220:1::77/128")} {
		g := New(allow)
		var failing error
		g.interfaces = func() ([]net.Addr, error) { return own, failing }
		for _, s := range []string{"93.184.216.77", "2606:2800:220:1::77"} {
			ip := netip.MustParseAddr(s)
			if err := g.Address(ip); errors.Is(err, ErrBlocked) != (allow == nil) {
				t.Errorf("allowed %v: Address(%s) = %v", allow, s, err)
			}
			if allow == nil && !g.Special(ip) {
				t.Errorf("Special(%s) = false", s)
			}
		}
		if err := g.Address(netip.MustParseAddr("93.184.216.78")); err != nil {
			t.Errorf("the neighbour of an own address is refused: %v", err)
		}
		if err := g.CheckURL("https://93.184.216.77/"); (err != nil) != (allow == nil) {
			t.Errorf("allowed %v: CheckURL says %v", allow, err)
		}
		own, failing = own[:1], errors.New("no interfaces")
		if err := g.Address(netip.MustParseAddr("2606:2800:220:1::77")); (err != nil) != (allow == nil) {
			t.Errorf("allowed %v: when they cannot be read, Address says %v", allow, err)
		}
		failing = nil
		if err := g.Address(netip.MustParseAddr("2606:2800:220:1::77")); err != nil {
			t.Errorf("an address that the machine has lost is refused: %v", err)
		}
		own = own[:2]
	}
}
