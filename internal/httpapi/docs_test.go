package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaftest/apitest"
)

var docsPaths = map[string]string{
	"/docs": "text/html; charset=utf-8", "/docs/docs.js": "text/javascript; charset=utf-8", "/docs/docs.css": "text/css; charset=utf-8",
	"/docs/rapidoc-min.js": "text/javascript; charset=utf-8", "/docs/LICENSE": "text/plain; charset=utf-8",
	"/openapi.json": "application/json; charset=utf-8", "/openapi.yaml": "application/yaml; charset=utf-8",
}

// D11, D12
func TestDocs_NeedNoKey(t *testing.T) {
	c := apitest.SQLite(t).Client("")
	for path, kind := range docsPaths {
		got := c.GET(path, "Accept-Encoding: identity").Want(t, 200)
		if got.Header.Get("Content-Type") != kind || len(got.Body) == 0 || got.Header.Get("Content-Encoding") != "" || got.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s: %d bytes with %v", path, len(got.Body), got.Header)
		}
		if cookies := got.Header["Set-Cookie"]; cookies != nil {
			t.Errorf("%s: sets %q", path, cookies)
		}
		head := c.Do("HEAD", path, nil, "Accept-Encoding: identity").Want(t, 200)
		if len(head.Body) != 0 || head.Header.Get("Content-Length") != got.Header.Get("Content-Length") || head.Header.Get("ETag") != got.Header.Get("ETag") {
			t.Errorf("%s: HEAD answers %v", path, head.Header)
		}
		for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
			refused := c.Do(method, path, nil)
			refused.WantError(t, 405, "METHOD_NOT_ALLOWED", method)
			if allow := refused.Header.Get("Allow"); allow != "GET, HEAD" {
				t.Errorf("%s %s: Allow is %q", method, path, allow)
			}
		}
	}
	for _, path := range []string{"/docs/", "/docs/nothing", "/docs/static/rapidoc-min.js.gz", "/docs/docs.go", "/openapi", "/openapi.yml", "/docs/../openapi.json"} {
		c.GET(path).WantError(t, 404, "NOT_FOUND")
	}
	if got := c.GET("/openapi.yaml", "Accept-Encoding: identity"); !bytes.Equal(got.Body, httpapi.OpenAPI()) {
		t.Error("/openapi.yaml is another document")
	}
	if got := c.GET("/openapi.json", "Accept-Encoding: identity"); got.JSON["openapi"] != "3.1.0" || !bytes.Equal(got.Body, httpapi.OpenAPIJSON()) {
		t.Error("/openapi.json is another document")
	}
}

func TestDocs_AreCompressedAndRevalidated(t *testing.T) {
	c := apitest.SQLite(t).Client("")
	for path := range docsPaths {
		plain, packed := c.GET(path, "Accept-Encoding: gzip;q=0, br").Want(t, 200), c.GET(path, "Accept-Encoding: br, gzip").Want(t, 200)
		z, err := gzip.NewReader(bytes.NewReader(packed.Body))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		unpacked, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(unpacked, plain.Body) || packed.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: packed is not plain: %v, %v", path, err, packed.Header)
		}
		if packed.Header.Get("ETag") == plain.Header.Get("ETag") || packed.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v and %v cannot be told apart", path, packed.Header, plain.Header)
		}
		for coding, first := range map[string]*apitest.Response{"identity": plain, "gzip": packed} {
			again := c.GET(path, "If-None-Match: "+first.Header.Get("ETag"), "Accept-Encoding: "+coding).Want(t, 304)
			if len(again.Body) != 0 || again.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: 304 with %d bytes and %v", path, len(again.Body), again.Header)
			}
		}
	}
}

// The page loads nothing from elsewhere, sends no cookie and stores no key.
func TestDocs_KeepToThemselves(t *testing.T) {
	c := apitest.SQLite(t).Client("")
	page := c.GET("/docs", "Accept-Encoding: identity").Want(t, 200)
	policy := page.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self';", "frame-ancestors 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	html := string(page.Body)
	for _, want := range []string{`load-fonts="false"`, `persist-auth="false"`, `fetch-credentials="omit"`, `spec-url="openapi.json"`} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	links := regexp.MustCompile(`(?:src|href|spec-url)="([^"]*)"`).FindAllStringSubmatch(html, -1)
	if len(links) < 6 {
		t.Errorf("found %d links", len(links))
	}
	for _, link := range links {
		if link[1] != "data:," {
			c.GET("/"+link[1]).Want(t, 200)
		}
	}
	for _, path := range []string{"/docs", "/docs/docs.js", "/docs/docs.css"} {
		body := string(c.GET(path, "Accept-Encoding: identity").Body)
		for _, bad := range []string{"http://", "https://", "//cdn", "localStorage", "sessionStorage", "document.cookie", " style=", "onclick", "<script>"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", path, bad)
			}
		}
	}
}
