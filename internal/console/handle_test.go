package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/front"
)

// counted counts the bytes that are read from it.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// inParts returns a form of several parts, with a field and a large file.
func inParts(method, path string) (*http.Request, *counted) {
	body := &counted{Reader: strings.NewReader("--x\r\nContent-Disposition: form-data; name=\"next\"\r\n\r\n/account\r\n" +
		"--x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 4*maxForm) + "\r\n--x--\r\n")}
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	return r, body
}

// A form of several parts is never read: it would be kept in memory and in files, even for a
// stranger.
func TestForm_OfSeveralPartsIsNeverRead(t *testing.T) {
	w := newTown(t)
	for _, route := range w.c.allRoutes() {
		for _, cookie := range []string{"", w.owner} {
			if route.method != http.MethodGet && cookie != "" {
				continue // it would change what the next route needs
			}
			r, body := inParts(route.method, w.address(route.path))
			r.AddCookie(&http.Cookie{Name: "sheaf", Value: cookie})
			if got := ask(t, w.c, r); body.n != 0 || got.Code >= 500 {
				t.Errorf("%s %s: %d bytes were read, answered %d", route.method, route.path, body.n, got.Code)
			}
		}
	}
}

func TestForm_NoMethodSendsMoreThanAFormHolds(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		r, _ := inParts(method, "/sign-in")
		receive(r, func(x *front.Exchange) {
			if err := (&visit{Exchange: x, r: r}).readForm(&route{}); err != nil {
				t.Error(err)
			}
			if n, err := io.Copy(io.Discard, r.Body); n != maxForm || err == nil {
				t.Errorf("%s: %d bytes, then %v", method, n, err)
			}
		})
	}
}

func TestSignIn_KeepsWhereToGo(t *testing.T) {
	w := newTown(t)
	const hidden = `name="next" value="/account"`
	if got := w.ask(http.MethodGet, "/sign-in?next=/account", ""); !strings.Contains(got.Body.String(), hidden) {
		t.Errorf("the form forgets it: %s", got.Body)
	}
	wrong := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader("email=ada@example.com&password=wrong&next=/account"))
	wrong.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := ask(t, w.c, wrong); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), hidden) {
		t.Errorf("a wrong password forgets it: %d %s", got.Code, got.Body)
	}
}

// A value that is no text is refused before anything uses it: SQLite would store it, and PostgreSQL
// would fail.
func TestForm_TakesOnlyText(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for _, bad := range []string{"a%00b", "%00", "a%ff", "%c3", "%ed%a0%80"} {
		for _, route := range w.c.allRoutes() {
			if route.has(upload) {
				continue // a file may have any bytes
			}
			address, body := w.address(route.path), "name="+bad
			if route.method == http.MethodGet {
				address, body = address+"?q=a&q="+bad, ""
			}
			for _, cookie := range []string{"", w.owner} {
				got := w.ask(route.method, address, cookie, func(r *http.Request) {
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
				})
				if route.has(longForm) && cookie == "" && got.Code == http.StatusUnauthorized {
					continue // a long form without a session is read after signing in
				}
				if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "invisible (NUL) character") {
					t.Errorf("%s %s with %s: %d", route.method, route.path, bad, got.Code)
				}
			}
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("something changed: %s, it was %s", after, before)
	}
}

// A page has a text for a person where the API has an error for a key.
func TestFail_HasATextForAPerson(t *testing.T) {
	w := newTown(t)
	got := w.ask(http.MethodGet, "/w/"+string(w.caller.Workspace)+"/projects/01a1ddaf-e289-7866-8c99-5e7007eaccda", w.owner).Body.String()
	w.wantIn(got, true, "Project not found: it does not exist, was deleted, or you have no access to it.")
	w.wantIn(got, false, "this key")
}

// What people write is escaped, in a field of every kind.
func TestForm_TakesEveryLanguage(t *testing.T) {
	w := newTown(t)
	got := w.ask(http.MethodPost, w.address("/w/{workspace}/projects"), w.owner, func(r *http.Request) {
		r.Body = io.NopCloser(strings.NewReader(url.Values{"name": {"Größe 目录 📁 \uFFFD"}}.Encode()))
	})
	if got.Code != http.StatusSeeOther {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	found := w.ask(http.MethodGet, w.address("/w/{workspace}/search")+"?q="+url.QueryEscape("目录 📁"), w.owner)
	if !strings.Contains(found.Body.String(), "Größe 目录 📁 \uFFFD") {
		t.Errorf("%d %s", found.Code, found.Body)
	}
}

// A token in the path is looked up by its hash. Anything else in the path must be an identifier.
func TestPath_ThatIsNoTextIsNotFound(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"/setup/%00", "/invite/%ff", "/assets/%00", "/w/%00/projects", "/w/" + string(w.caller.Workspace) + "/projects/%00",
		"/w/" + string(w.caller.Workspace) + "/events/%ff"} {
		if got := w.ask(http.MethodGet, path, w.owner).Code; got != http.StatusNotFound {
			t.Errorf("%s: %d", path, got)
		}
	}
}

// A link for another person has the operator's address, whatever the Host header of the request is.
func TestInvite_TheLinkIgnoresTheHostHeader(t *testing.T) {
	w := newTown(t)
	w.c.Address = "http://127.0.0.1:8080"
	r := httptest.NewRequest(http.MethodPost, w.address("/w/{workspace}/members/invite"), strings.NewReader("email=eve@example.com&role=member"))
	r.Host = "evil.example"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-Host", "evil.example")
	r.AddCookie(&http.Cookie{Name: "sheaf", Value: w.owner})
	got := ask(t, w.c, r)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "<code>http://127.0.0.1:8080/invite/") || strings.Contains(got.Body.String(), "evil") {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if !strings.Contains(got.Body.String(), "--public-url") {
		t.Error("the page does not say what to do where others come by another address")
	}
}

// receive calls do with the request as an edge gets it, from a front that trusts these proxies.
func receive(r *http.Request, do edge, proxies ...netip.Prefix) {
	front.New(front.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now, TrustedProxy: proxies},
		front.Mount{Edge: do, Paths: []string{"/"}}).ServeHTTP(httptest.NewRecorder(), r)
}

// edge makes a function an edge.
type edge func(*front.Exchange)

func (do edge) Serve(x *front.Exchange)             { do(x) }
func (edge) Refuse(*front.Exchange, *front.Refusal) {}
func (edge) Panicked(*front.Exchange)               {}

// This was a bug: after a panic in a page the person got JSON. D12 is for programs.
func TestPanic_IsAPageForAPerson(t *testing.T) {
	var log strings.Builder
	logger := slog.New(slog.NewTextHandler(&log, nil))
	broken := New(Config{Log: logger, Now: func() time.Time { panic("the secret reason") }})
	f := front.New(front.Config{Log: logger, Now: time.Now}, front.Mount{Edge: broken, Paths: []string{"/"}})
	for _, byScript := range []bool{false, true} {
		r := httptest.NewRequest(http.MethodGet, "/sign-in", nil)
		r.Header.Set("X-Request-Id", "mine")
		if byScript {
			r.Header.Set("HX-Request", "true")
		}
		got := httptest.NewRecorder()
		f.ServeHTTP(got, r)
		body := got.Body.String()
		if got.Code != http.StatusInternalServerError || got.Header().Get("Content-Type") != "text/html; charset=utf-8" ||
			got.Header().Get("Content-Security-Policy") != policy(nil) {
			t.Errorf("by a script %v: %d with %v", byScript, got.Code, got.Header())
		}
		if !strings.Contains(body, "<h1>Something went wrong here</h1>") || !strings.Contains(body, "the request id mine") ||
			strings.Contains(body, "secret") || strings.Contains(body, "<main>") == byScript {
			t.Errorf("by a script %v: %s", byScript, body)
		}
	}
	if !strings.Contains(log.String(), "the secret reason") {
		t.Error("the log has no reason")
	}
}
