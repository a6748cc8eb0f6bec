package guard

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// forbidden lists addresses, as literals of netip, that no delivery may reach.
var forbidden = strings.Fields(`
	0.0.0.0 0.0.0.1 0.1.2.3 0.255.255.255
	10.0.0.0 10.0.0.1 10.1.2.3 10.255.255.255
	100.64.0.0 100.64.0.1 100.100.100.200 100.127.255.255
	127.0.0.0 127.0.0.1 127.0.0.2 127.0.1.1 127.1.2.3 127.255.255.255
	168.63.129.16
	169.254.0.0 169.254.0.1 169.254.169.253 169.254.169.254 169.254.170.2 169.254.255.255
	172.16.0.0 172.16.0.1 172.17.0.1 172.20.10.1 172.31.255.255
	192.0.0.0 192.0.0.1 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.171 192.0.0.192 192.0.0.255
	192.0.2.0 192.0.2.1 192.0.2.255
	192.31.196.0 192.31.196.255 192.52.193.0 192.52.193.255
	192.88.99.0 192.88.99.1 192.88.99.2 192.88.99.255
	192.168.0.0 192.168.0.1 192.168.1.1 192.168.255.255
	192.175.48.0 192.175.48.1 192.175.48.255
	198.18.0.0 198.18.0.1 198.19.255.255
	198.51.100.0 198.51.100.1 198.51.100.255
	203.0.113.0 203.0.113.1 203.0.113.255
	224.0.0.0 224.0.0.1 224.0.0.251 232.1.2.3 233.252.0.1 239.255.255.250 239.255.255.255
	240.0.0.0 240.0.0.1 250.1.2.3 255.255.255.254 255.255.255.255
	:: ::1 ::2 ::7f00:1 ::127.0.0.1 ::10.0.0.1 ::8.8.8.8 ::ffff
	::ffff:0.0.0.0 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:169.254.169.254 ::ffff:192.168.1.1
	::ffff:8.8.8.8 ::ffff:255.255.255.255
	::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
	64:ff9b:: 64:ff9b::1 64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::8.8.8.8
	64:ff9b:1:: 64:ff9b:1::10.0.0.1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
	100:: 100::1 100:0:0:1::1 200::1 400::1 1000::1 1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	2001:: 2001::1 2001:0:53aa:64c:0:7bff:f5ff:fffe 2001:1::1 2001:1::2 2001:1::3 2001:2::1 2001:3::1
	2001:4:112::1 2001:5::1 2001:10::1 2001:20::1 2001:2f:ffff::1 2001:30::1 2001:100::1
	2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
	2001:db8:: 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
	2002:: 2002:7f00:1:: 2002:7f00:1::1 2002:a00:1:: 2002:c0a8:101::1 2002:a9fe:a9fe:: 2002:808:808::1
	2620:4f:8000:: 2620:4f:8000::1
	3fff:: 3fff::1 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
	4000:: 4000::1 5f00:: 5f00::1 6000::1 8000::1 a000::1 c000::1 e000::1
	fc00:: fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fe00::1 fe80:: fe80::1 fe80::a9fe:a9fe febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	fec0:: fec0::1 feff::1
	ff00:: ff01::1 ff02::1 ff02::2 ff02::fb ff05::2 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
	::1%lo fe80::1%eth0 fe80::1%1 ff02::1%eth0 2606:4700:4700::1111%eth0 ::ffff:127.0.0.1%lo ::ffff:8.8.8.8%lo
`)

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
	if len(forbidden) < 120 || len(public) < 25 {
		t.Fatalf("%d forbidden and %d public addresses", len(forbidden), len(public))
	}
}

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
