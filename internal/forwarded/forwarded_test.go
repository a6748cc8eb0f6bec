package forwarded_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/forwarded"
	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

var trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}

func request(peer string, headers http.Header) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr, r.Header = peer, headers
	return r
}

// A client that can choose these can choose the links in others' answers, and whether a cookie is bound
// to HTTPS.
func TestProto_IsTheWordOfTheFarthestTrustedProxy(t *testing.T) {
	t.Parallel()
	const near, stranger, client, far = "192.0.2.1:1", "203.0.113.5:1", "198.51.100.1", "192.0.2.2"
	for name, test := range map[string]struct {
		peer       string
		hops, said []string
		want       string
	}{
		"nobody is trusted":                         {stranger, nil, []string{"a"}, ""},
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
		c := forwarded.Of(request(test.peer, http.Header{"X-Forwarded-For": test.hops, "X-Forwarded-Proto": test.said, "X-Forwarded-Host": test.said}), trusted)
		if c.Proto() != test.want || c.Host() != test.want {
			t.Errorf("%s: scheme %q and host %q, want %q", name, c.Proto(), c.Host(), test.want)
		}
	}
}

// Azure's and IIS's proxies name the client with its port: the proxy was taken for the client then.
func TestOf_TheClientMayHaveAPort(t *testing.T) {
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
		if got := forwarded.Of(request("192.0.2.1:1", http.Header{"X-Forwarded-For": {hop}}), trusted).Client.String(); got != want {
			t.Errorf("%q: the client is %s, want %s", hop, got, want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("192.0.2.1:1", "198.51.100.1,192.0.2.2", "https,http")
	f.Fuzz(func(t *testing.T, peer, hops, said string) {
		c := forwarded.Of(request(peer, http.Header{"X-Forwarded-For": {hops}, "X-Forwarded-Proto": {said}}), trusted)
		if got := c.Proto(); !strings.Contains(said, got) {
			t.Errorf("%q is nowhere in %q", got, said)
		}
		if !strings.HasPrefix(peer, "192.0.2.") && !strings.HasPrefix(peer, "[") && c.Proto() != "" {
			t.Errorf("%q is believed", peer)
		}
	})
}
