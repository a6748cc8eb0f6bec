package publish_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/publish"
	"sheaf.dev/internal/sheaf"
)

// The page that previews a branding is one of the pages that readers get: with their template, their style sheet and the
// style of the branding. It may be shown in a frame of this service alone, and runs, sends and asks for nothing else.
func TestSample_IsAPageOfAShare(t *testing.T) {
	t.Parallel()
	p := publish.New(publish.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	await := func(*fair.Turns, int64, int) (func(), error) { return func() {}, nil }
	footer := "<i>below</i>"
	b := sheaf.Branding{Name: "<b>Acme</b>", ColorPrimary: "#ffcc00", Font: sheaf.SerifFont, Footer: &footer}
	for _, scheme := range []string{"light", "dark", ""} {
		page, policy, err := p.Sample(await, b, "/logo?a=1&b=2", scheme)
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		for _, want := range []string{"<h1 dir=\"auto\">Getting started</h1>", `class="masthead pictured"`, `src="/logo?a=1&amp;b=2"`, "&lt;b&gt;Acme", "&lt;i&gt;below&lt;/i&gt;", "--fill: light-dark(#ffcc00, #ffcc00)",
			`class="prose"`, "<table", "callout", `<form role="search"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %s", want)
			}
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<b>Acme") || strings.Contains(text, "color-scheme: "+scheme+"; }") != (scheme != "") {
			t.Errorf("in %q the page is %s", scheme, text)
		}
		style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(text)
		if style == nil {
			t.Fatal("the page has no style")
		}
		sum := sha256.Sum256([]byte(style[1]))
		want := "default-src 'none'; style-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src 'self'; form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
		if policy != want {
			t.Errorf("its policy is %s, want %s", policy, want)
		}
		sheet := regexp.MustCompile(`<link rel="stylesheet" href="([^"]+)">`).FindStringSubmatch(text)
		if sheet == nil {
			t.Fatal("the page has no style sheet")
		}
		got := httptest.NewRecorder()
		front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now}, front.Mount{Edge: p, Paths: []string{"/", "/s/", "/share-assets/"}}).ServeHTTP(got, httptest.NewRequest(http.MethodGet, sheet[1], nil))
		if css, _ := io.ReadAll(got.Body); got.Code != http.StatusOK || !strings.Contains(string(css), ".masthead") {
			t.Errorf("its style sheet %s: %d", sheet[1], got.Code)
		}
	}
	plain, _, err := p.Sample(await, sheaf.NewBranding(), "", "light")
	if err != nil || strings.Contains(string(plain), "pictured") || strings.Contains(string(plain), "colophon") {
		t.Errorf("without a logo and a footer: %v %s", err, plain)
	}
}
