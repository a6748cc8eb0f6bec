package guard

import (
	"math/big"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/idna"

	"sheaf.dev/internal/sheaftest"
)

// refusedHosts are hosts, with a port where it matters, that CheckURL refuses when the operator
// allows nothing.
var refusedHosts = sheaftest.ForbiddenHosts()

var acceptedHosts = []string{
	"example.com", "EXAMPLE.com", "example.com.", "hooks.example.co.uk", "a", "vm", "ip6-localhost", "localhost.example.com",
	"notlocalhost", "my_host.example.com", "123.example.com", "0x7f.example.com", "127.0.0.1.nip.io", "1e100.net", "0xg",
	"xn--bcher-kva.example", "bücher.example", "пример.рф", "例え。テスト", "ｅxample.com",
	"8.8.8.8", "1.1.1.1", "８.8.8.8", "11.0.0.1", "[2606:4700:4700::1111]", "[2A00:1450:4001:80B::200E]",
	"example.com:443", "example.com:80", "example.com:8443", "example.com:1", "example.com:65535", "example.com:0443",
	"8.8.8.8:8443", "[2606:4700:4700::1111]:8443", strings.Repeat("a", 63) + ".com",
}

func TestCheckURL_Hosts(t *testing.T) {
	t.Parallel()
	g := New(nil)
	for _, host := range refusedHosts {
		if err := g.CheckURL("https://" + host + "/hook"); err == nil {
			t.Errorf("host %q is accepted", host)
		}
	}
	for _, host := range acceptedHosts {
		for _, tail := range []string{"", "/", "/hook?a=b&c=%20d", "?q"} {
			if err := g.CheckURL("https://" + host + tail); err != nil {
				t.Errorf("host %q, tail %q: %v", host, tail, err)
			}
		}
	}
}

func TestCheckURL_EveryForbiddenAddressIsRefusedAsAHost(t *testing.T) {
	t.Parallel()
	g := New(nil)
	for _, s := range forbidden {
		if strings.Contains(s, ":") {
			s = "[" + s + "]"
		}
		if err := g.CheckURL("https://" + s + ":8443/"); err == nil {
			t.Errorf("%s is accepted", s)
		}
	}
}

func TestCheckURL_Whole(t *testing.T) {
	t.Parallel()
	long := "https://example.com/" + strings.Repeat("é", maxURLLength-len("https://example.com/"))
	tests := []struct {
		raw  string
		says string // "" when accepted
	}{
		{"https://example.com/a/b?c=d", ""},
		{"HTTPS://example.com/", ""},
		{"https://example.com/@x?y=@z", ""},
		{"https://example.com/%23", ""},
		{long, ""},
		{long + "é", "2049 characters"},
		{"", "empty"},
		{"example.com", "begin with https://"},
		{"//example.com/", "begin with https://"},
		{"http://example.com/", "begin with https://"},
		{"ftp://example.com/", "begin with https://"},
		{"javascript:alert(1)", "begin with https://"},
		{"https:example.com", "begin with https://"},
		{"https:/example.com", "begin with https://"},
		{"httpſ://example.com", "begin with https://"},
		{"https://", "no host"},
		{"https:///hook", "no host"},
		{"https:////127.0.0.1/", "no host"},
		{"https://?x", "no host"},
		{"https://u:p@example.com/", "user name"},
		{"https://@example.com/", "user name"},
		{"https://example.com/#", "fragment"},
		{"https://example.com/a#b", "fragment"},
		{"https://example.com#", "fragment"},
		{"https://example.com/a b", "space"},
		{" https://example.com/", "space"},
		{"https://example.com/\n", "space"},
		{"https://exam\tple.com/", "space"},
		{"https://example.com/\x00", "space"},
		{"https://example.com/\x7f", "space"},
		{"https://example.com/\u0085", "space"},
		{"https://example.com/\u2028", "space"},
		{"https://example.com/\u202e", "space"},
		{"https://example.com/\ufeff", "space"},
		{"https://example.com/\xff", "UTF-8"},
		{`https:\\example.com/`, "backslash"},
		{`https://example.com\@127.0.0.1/`, "backslash"},
		{"https://example.com/%zz", "percent-encode"},
		{"https://example.com:smtp/", "port"},
		{"https://example.com:25/", "port 25"},
		{"https://example.com:0/", "from 1 to 65535"},
		{"https://8.8.8.256/", "ends in a number"},
		{"https://[8.8.8.8]/", "not an IPv6 address"},
		{"https://2130706433/", "may not reach"},
		{"https://0x08080808/", "write 8.8.8.8"},
		{"https://localhost/", "localhost"},
		{"https://[::1%25lo]/", "percent sign"},
	}
	g := New(nil)
	for _, tt := range tests {
		err := g.CheckURL(tt.raw)
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("CheckURL(%.60q) = %v", tt.raw, err)
		case tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)):
			t.Errorf("CheckURL(%.60q) = %v, want %q", tt.raw, err, tt.says)
		case err != nil && !strings.HasPrefix(err.Error(), "url "):
			t.Errorf("CheckURL(%.60q) = %v, which does not name url", tt.raw, err)
		}
	}
}

func TestCheckURL_WhatTheOperatorAllows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		allow, host string
		ok          bool
	}{
		{"127.0.0.0/8", "127.0.0.1:8443", true},
		{"127.0.0.0/8", "１２７.0.0.1", true},
		{"127.0.0.0/8", "[::ffff:127.0.0.1]", true},
		{"127.0.0.0/8", "localhost", true},
		{"127.0.0.0/8", "foo.localhost.", true},
		{"127.0.0.0/8", "127.1", false}, // admitted, but Go would look it up in DNS
		{"127.0.0.0/8", "127.0.0.1:22", false},
		{"127.0.0.0/8", "[::1]", false},
		{"127.0.0.0/8", "10.0.0.1", false},
		{"::1/128", "localhost", true},
		{"::1/128", "[::1]", true},
		{"::1/128", "127.0.0.1", false},
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "localhost", false},
		{"fe80::/10", "[fe80::1%25eth0]", false},
	}
	for _, tt := range tests {
		if err := New(prefixes(t, tt.allow)).CheckURL("https://" + tt.host + "/"); (err == nil) != tt.ok {
			t.Errorf("allow %s: host %s: %v, want ok %v", tt.allow, tt.host, err, tt.ok)
		}
	}
}

// FuzzCheckURL checks accepted urls by other means than the code's own: the host is taken as
// net/http takes it, and read as the URL standard says.
func FuzzCheckURL(f *testing.F) {
	for _, host := range slices.Concat(refusedHosts, acceptedHosts) {
		f.Add("https://" + host + "/hook")
	}
	g := New(nil)
	f.Fuzz(func(t *testing.T, raw string) {
		if g.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" || strings.Contains(raw, "#") {
			t.Fatalf("%q is accepted: %v", raw, err)
		}
		if port := strings.TrimLeft(u.Port(), "0"); strings.HasSuffix(u.Host, ":") || u.Port() != "" && port == "" || slices.Contains(mailAndShell, port) {
			t.Fatalf("%q is accepted with port %s", raw, u.Port())
		}
		if ip, numeric := readHost(u.Hostname()); numeric && g.Special(ip) {
			t.Fatalf("%q is accepted, and is %s", raw, ip)
		}
	})
}

var (
	mailAndShell = []string{"22", "23", "25", "110", "143", "465", "587", "993", "995"}

	number = regexp.MustCompile(`^(?:0x[0-9a-f]*|[0-9]+)$`)
	octal  = regexp.MustCompile(`^0[0-9]`)
)

// readHost returns the address that host means to a browser; numeric is true also when it is none
// but may be no name either.
func readHost(host string) (ip netip.Addr, numeric bool) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip, true
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	if !number.MatchString(labels[len(labels)-1]) {
		return netip.Addr{}, false
	}
	sum := new(big.Int)
	for i, label := range labels {
		if label == "0x" {
			label = "0x0"
		}
		if octal.MatchString(label) {
			label = "0o" + label[1:]
		}
		n, ok := new(big.Int).SetString(label, 0)
		if !ok {
			return netip.Addr{}, true
		}
		if i < len(labels)-1 {
			n.Lsh(n, uint(8*(3-i)))
		}
		sum.Add(sum, n)
	}
	var b [4]byte
	if len(labels) > 4 || sum.BitLen() > 32 {
		return netip.Addr{}, true
	}
	return netip.AddrFrom4([4]byte(sum.FillBytes(b[:]))), true
}
