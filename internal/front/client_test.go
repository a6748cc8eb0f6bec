package front_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"sheaf.dev/internal/console"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
)

// asking is an edge that answers with what it finds out about the request.
type asking struct {
	named
	about func(*front.Exchange) string
}

func (a asking) Serve(x *front.Exchange) { fmt.Fprint(x, a.about(x)) }

// The client's address is that of the last hop that is no trusted proxy. All addresses of a /64 of IPv6 count as
// one, and the text says so. The pages of shares left the length out: their log named one address, 2001:db8::,
// that nobody had.
func TestAddress_IsTheClientsOrItsNetwork(t *testing.T) {
	t.Parallel()
	f := front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now, TrustedProxy: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}},
		front.Mount{Edge: asking{about: func(x *front.Exchange) string { return x.Address() }}, Paths: []string{"/"}})
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
		"another address of that network": {"[2001:db8::3:4%eth0]:1", nil, "2001:db8::/64"},
		"IPv4 within IPv6 counts as IPv4": {"[::ffff:192.0.2.1]:1", []string{"::ffff:203.0.113.5"}, "203.0.113.5"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = test.peer
		r.Header["X-Forwarded-For"] = test.lines
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// If-None-Match may have several lines. The pages of shares read the first line only.
func TestHasTag_ReadsEveryLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines []string
		want  bool
	}{
		{nil, false}, {[]string{""}, false}, {[]string{`"a"`}, true}, {[]string{`W/"a"`}, true}, {[]string{"*"}, true}, {[]string{"a"}, false},
		{[]string{`"b"`}, false}, {[]string{`"b", "a"`}, true}, {[]string{`"b"`, `"a"`}, true}, {[]string{`"b"`, `"c", W/"a"`}, true}, {[]string{`"ab"`}, false},
	} {
		if got := front.HasTag(http.Header{"If-None-Match": test.lines}, `"a"`); got != test.want {
			t.Errorf("%q: %v", test.lines, got)
		}
	}
}

// D11: a browser that requests a path that no edge serves gets a page; programs, and the paths of programs,
// get JSON.
func TestNotFound_AnswersBrowsersAlone(t *testing.T) {
	t.Parallel()
	f := front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now, NotFound: named("page")},
		front.Mount{Edge: named("api"), Paths: httpapi.Paths}, front.Mount{Edge: named("console"), Paths: console.Paths})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, test := range []struct{ method, path, accept, want string }{
		{"GET", "/nope", browser, "page"}, {"HEAD", "/nope", browser, "page"}, {"GET", "/w//x", browser, "page"}, {"GET", "/mcpx", browser, "page"},
		{"GET", "/nope", "application/json", "api"}, {"GET", "/nope", "*/*", "api"}, {"GET", "/nope", "", "api"}, {"POST", "/nope", browser, "api"},
		{"GET", "/nope", "text/html;q=0.5, application/json", "api"}, {"GET", "/nope", "text/html, application/json;q=0.5", "page"},
		{"GET", "/api", browser, "api"}, {"GET", "/api/v1/nope", browser, "api"}, {"GET", "/api//x", browser, "api"}, {"GET", "/docs", browser, "api"},
		{"GET", "/docs/nope", browser, "api"}, {"GET", "/openapi.json", browser, "api"}, {"GET", "/mcp", browser, "api"}, {"GET", "/mcp/x", browser, "api"},
		{"GET", "/account", browser, "console"}, {"GET", "/account", "application/json", "console"},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		r.Header.Set("Accept", test.accept)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if got := w.Body.String(); got != test.want {
			t.Errorf("%s %s, Accept %q: %s answers, want %s", test.method, test.path, test.accept, got, test.want)
		}
	}
}
