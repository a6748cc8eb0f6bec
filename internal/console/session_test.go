package console

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"sheaf.dev/internal/front"
)

// The address is what counts failures to sign in: nobody may choose theirs.
func TestAddress_IsTheLastThatNoTrustedProxyHas(t *testing.T) {
	for name, test := range map[string]struct {
		peer  string
		lines []string
		want  string
	}{
		"no proxy":                        {"203.0.113.5:1", []string{"198.51.100.1"}, "203.0.113.5"},
		"a proxy that says nothing":       {"192.0.2.1:1", nil, "192.0.2.1"},
		"one line":                        {"192.0.2.1:1", []string{"198.51.100.1, 203.0.113.5"}, "203.0.113.5"},
		"a line of the client first":      {"192.0.2.1:1", []string{"198.51.100.1", "203.0.113.5"}, "203.0.113.5"},
		"two proxies, a line each":        {"192.0.2.1:1", []string{"198.51.100.1", "203.0.113.5", "192.0.2.2"}, "203.0.113.5"},
		"nonsense of the client":          {"192.0.2.1:1", []string{"x", "203.0.113.5"}, "203.0.113.5"},
		"an empty line of the client":     {"192.0.2.1:1", []string{"", "203.0.113.5"}, "203.0.113.5"},
		"nonsense before a proxy":         {"192.0.2.1:1", []string{"198.51.100.1, x", "192.0.2.2"}, "192.0.2.2"},
		"IPv6 counts by its network":      {"192.0.2.1:1", []string{"198.51.100.1", "2001:db8::1:2"}, "2001:db8::/64"},
		"IPv4 within IPv6 counts as IPv4": {"[::ffff:192.0.2.1]:1", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/sign-in", nil)
		r.RemoteAddr = test.peer
		r.Header["X-Forwarded-For"] = test.lines
		receive(r, func(x *front.Exchange) {
			if got := (&visit{Exchange: x}).address(); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
		}, netip.MustParsePrefix("192.0.2.0/24"))
	}
}
