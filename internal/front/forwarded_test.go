package front

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

var trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}

func request(peer string, headers http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr, r.Header = peer, headers
	return r
}

// If a client could choose these, it could choose the links in answers to others, and whether a
// cookie is bound to HTTPS.
func TestForwarded_IsTheEntryOfTheFarthestTrustedProxy(t *testing.T) {
	t.Parallel()
	const near, stranger, client, far = "192.0.2.1:1", "203.0.113.5:1", "198.51.100.1", "192.0.2.2"
	for name, test := range map[string]struct {
		peer       string
		hops, said []string
		want       string
	}{
		"no proxy is trusted":                       {stranger, nil, []string{"a"}, ""},
		"a stranger names a trusted proxy":          {stranger, []string{far}, []string{"a"}, ""},
		"the proxy says nothing":                    {near, nil, nil, ""},
		"the proxy's word":                          {near, []string{client}, []string{"a"}, "a"},
		"it added to the client's list":             {near, []string{client}, []string{"x, a"}, "a"},
		"it added a line":                           {near, []string{client}, []string{"x", "a"}, "a"},
		"it added a line to the client's lists":     {near, []string{client}, []string{"x, y", "z", "a"}, "a"},
		"it added to an empty line":                 {near, []string{client}, []string{"", "a"}, "a"},
		"it says nothing after all":                 {near, []string{client}, []string{"x", ""}, ""},
		"two proxies in one line":                   {near, []string{client + ", " + far}, []string{"a, b"}, "a"},
		"two proxies, a line each":                  {near, []string{client, far}, []string{"a", "b"}, "a"},
		"two proxies after what the client made up": {near, []string{"192.0.2.9", client, far}, []string{"x, y", "a", "b"}, "a"},
		"two proxies, the near one replaces":        {near, []string{client, far}, []string{"b"}, "b"},
		"a far proxy that is not trusted":           {near, []string{client, "203.0.113.5"}, []string{"x", "a"}, "a"},
		"hops that are nonsense":                    {near, []string{far, "x"}, []string{"x", "a"}, "a"},
		"IPv4 within IPv6":                          {"[::ffff:192.0.2.1]:1", []string{client}, []string{"a"}, "a"},
		"no address":                                {"@", []string{client}, []string{"a"}, ""},
	} {
		c := proxiesOf(request(test.peer, http.Header{"X-Forwarded-For": test.hops, "X-Forwarded-Proto": test.said, "X-Forwarded-Host": test.said}), trusted)
		if c.proto() != test.want || c.host() != test.want {
			t.Errorf("%s: scheme %q and host %q, want %q", name, c.proto(), c.host(), test.want)
		}
	}
}

// This was a bug: proxies of Azure and IIS append the client's port, and then the proxy counted as
// the client.
func TestForwarded_TheClientMayHaveAPort(t *testing.T) {
	t.Parallel()
	for hop, want := range map[string]string{
		"198.51.100.1":              "198.51.100.1",
		"198.51.100.1:51234":        "198.51.100.1",
		"2001:db8::1":               "2001:db8::1",
		"[2001:db8::1]:51234":       "2001:db8::1",
		"[2001:db8::1]":             "2001:db8::1",
		"[::ffff:198.51.100.1]:80":  "198.51.100.1",
		"[fe80::1%eth0]:80":         "fe80::1",
		"203.0.113.9, 192.0.2.7:80": "203.0.113.9", // the nearer hop is a trusted proxy
		"198.51.100.1:x":            "192.0.2.1",
		"198.51.100.1:":             "192.0.2.1",
		"[198.51.100.1":             "192.0.2.1",
		"[]":                        "192.0.2.1",
		"unknown":                   "192.0.2.1",
	} {
		if got := proxiesOf(request("192.0.2.1:1", http.Header{"X-Forwarded-For": {hop}}), trusted).client.String(); got != want {
			t.Errorf("%q: the client is %s, want %s", hop, got, want)
		}
	}
}

func FuzzForwarded(f *testing.F) {
	f.Add("192.0.2.1:1", "198.51.100.1,192.0.2.2", "https,http")
	f.Fuzz(func(t *testing.T, peer, hops, said string) {
		c := proxiesOf(request(peer, http.Header{"X-Forwarded-For": {hops}, "X-Forwarded-Proto": {said}}), trusted)
		if got := c.proto(); !strings.Contains(said, got) {
			t.Errorf("%q is nowhere in %q", got, said)
		}
		if !strings.HasPrefix(peer, "192.0.2.") && !strings.HasPrefix(peer, "[") && c.proto() != "" {
			t.Errorf("%q is believed", peer)
		}
	})
}
