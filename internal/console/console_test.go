package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

func newConsole(t *testing.T) (*Console, *app.App) {
	t.Helper()
	c, a, _, _ := newConsoleOver(t)
	return c, a
}

func newConsoleOver(t *testing.T) (*Console, *app.App, *store.Store, *search.Index) {
	t.Helper()
	o := store.Options{Folder: migrated.Folder(t), Turn: time.Hour}
	st, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	index := search.New(search.Config{Store: st, Folder: o.Folder, Now: time.Now, Patience: time.Hour})
	t.Cleanup(func() { index.Close() })
	if err := index.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return consoleOver(t, st, index, time.Now)
}

// consoleOver returns a console over a store, with a clock.
func consoleOver(t *testing.T, st *store.Store, index *search.Index, now func() time.Time) (*Console, *app.App, *store.Store, *search.Index) {
	t.Helper()
	a := app.New(app.Config{Store: st, Index: index, Media: media.Folder(t.TempDir()), Now: now, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		Webhooks: testWebhooks(t), Connecting: &app.Connecting{Issuer: "https://docs.example.com", Resource: "https://docs.example.com/mcp"}})
	return New(Config{App: a, Log: slog.New(slog.DiscardHandler), Now: now, Sample: testSample}), a, st, index
}

// testSample writes the values of a branding instead of a page.
func testSample(_ render.Await, b sheaf.Branding, logo, scheme string) ([]byte, string, error) {
	return fmt.Appendf(nil, "sample|%s|%s|%s|%s|%s|%s", b.Name, b.ColorPrimary, b.Font, text(b.Footer), logo, scheme), "default-src 'none'; frame-ancestors 'self'", nil
}

// testWebhooks sends nothing: every endpoint answers 500.
func testWebhooks(t *testing.T) app.Webhooks {
	t.Helper()
	box, err := seal.New(make([]byte, 32), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return app.Webhooks{Box: box, Guard: guard.New(nil), SignatureHeader: "X-Service-Signature",
		Send: func(context.Context, sheaf.Outgoing) sheaf.Attempt {
			return sheaf.Attempt{StatusCode: 500, Class: "status", Error: "the endpoint answered 500", ResponseBody: `{"a":"<b>"}`,
				Duration: 3 * time.Millisecond, Timings: sheaf.Timings{Connect: time.Millisecond, FirstByte: 2 * time.Millisecond}}
		}}
}

// ask makes a request. A stream ends at once.
func ask(t *testing.T, c *Console, r *http.Request, proxies ...netip.Prefix) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	f := front.New(front.Config{Log: c.Log, Now: c.Now, TrustedProxy: proxies}, front.Mount{Edge: c, Paths: []string{"/"}})
	f.Drain()
	f.ServeHTTP(w, r)
	return w
}

func TestConsole_EveryPageIsGuarded(t *testing.T) {
	c, _ := newConsole(t)
	for _, path := range []string{"/", "/setup/x", "/invite/x", "/assets/console.css", "/sign-in", "/account", "/w/x/projects", "/w/nothing/like/it"} {
		h := ask(t, c, httptest.NewRequest(http.MethodGet, path, nil)).Header()
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

func TestConsole_AnotherSiteCannotPost(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {"long enough"}, "again": {"long enough"}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/setup/"+first.Link.Token, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if got := ask(t, c, r).Code; got != http.StatusForbidden {
		t.Errorf("a post from another site gets %d", got)
	}
	if err := a.CheckSetupLink(t.Context(), first.Link.Token); err != nil {
		t.Errorf("it used up the link: %v", err)
	}
}

func TestConsole_ShowsWhatWasTypedEscapedAndNeverThePassword(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"name": {`<script>`}, "email": {`"><script>`}, "password": {"hush hush hush"}, "again": {"hush hush hush"}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/setup/"+first.Link.Token, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := ask(t, c, r)
	if body := w.Body.String(); w.Code != http.StatusBadRequest || strings.Contains(body, "<script>") || strings.Contains(body, "hush") {
		t.Errorf("%d: %s", w.Code, body)
	}
}

func TestSetup_AProgramNeedNotTypeThePasswordTwice(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	post := func(form url.Values) int {
		r := httptest.NewRequest(http.MethodPost, "/setup/"+first.Link.Token, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return ask(t, c, r).Code
	}
	form := url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {"long enough"}, "again": {"mistyped"}}
	if got := post(form); got != http.StatusBadRequest {
		t.Errorf("two passwords get %d", got)
	}
	form["again"], form["name"] = form["password"], []string{""}
	if got := post(form); got != http.StatusBadRequest {
		t.Errorf("no name gets %d", got)
	}
	form["again"], form["name"] = []string{""}, []string{"Ada"}
	if got := post(form); got != http.StatusBadRequest {
		t.Errorf("an empty second one gets %d", got)
	}
	form.Del("again")
	if got := post(form); got != http.StatusSeeOther {
		t.Errorf("one password gets %d", got)
	}
}

func TestConsole_SaysThatTheSetupIsOpen(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	home := func() string { return ask(t, c, httptest.NewRequest(http.MethodGet, "/sign-in", nil)).Body.String() }
	if !strings.Contains(home(), "not finished") {
		t.Error("the hint is missing")
	}
	if err := a.CompleteSetup(t.Context(), first.Link.Token, app.SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(home(), "not finished") {
		t.Error("the hint is still there")
	}
}

func TestSearch_LeadsToTheDocumentAndNamesItsProject(t *testing.T) {
	w := newTown(t)
	got := w.get("search?q=docu")
	w.wantIn(got, true, `href="`+w.address("/w/{workspace}/documents/{id}")+`"`, ">document in Project<")
	w.wantIn(got, false, "/0x")
}

// Folders are found like projects and documents: in every script, without regard to case and to how
// accents are composed. ToLower alone handles neither ß and SS nor a letter with its accent.
func TestSearch_FoldsTheNamesOfFolders(t *testing.T) {
	w := newTown(t)
	for name, query := range map[string]string{"Straße nach Süden": "STRASSE NACH SU\u0308DEN", "ΟΔΟΣ": "οδος", "ᏣᎳᎩ": "ꮳꮃꭹ"} {
		_, err := w.a.CreateFolder(w.Context(), w.caller, sheaf.FolderChange{Name: sheaf.Some(name), EntityType: sheaf.Some("project")})
		w.must(err)
		_, err = w.a.CreateProject(w.Context(), w.caller, sheaf.ProjectChange{Name: sheaf.Some(name + "!")})
		w.must(err)
		got := w.ask(http.MethodGet, w.address("/w/{workspace}/search")+"?q="+url.QueryEscape(query), w.owner).Body.String()
		w.wantIn(got, true, ">"+name+"!<", ">"+name+"<")
	}
}

func TestMany_CountsANoun(t *testing.T) {
	for want, got := range map[string]string{"1 key": many(1, "key"), "2 keys": many(int64(2), "key"), "0 projects": many(0, "project"),
		"3 deliveries": many(3, "delivery")} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The list names the vendored files.
func TestStatic_VendoredFilesAreThoseOfTheList(t *testing.T) {
	list, err := static.ReadFile("static/VENDORED.md")
	if err != nil {
		t.Fatal(err)
	}
	b, err := static.ReadFile("static/htmx.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(b); !strings.Contains(string(list), hex.EncodeToString(sum[:])) {
		t.Error("htmx.min.js is another file than VENDORED.md says")
	}
}

func TestCookie_IsBoundToTheHostWhereTheBrowserCan(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.CompleteSetup(t.Context(), first.Link.Token, app.SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}); err != nil {
		t.Fatal(err)
	}
	proxied := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for name, test := range map[string]struct {
		proxies []netip.Prefix
		change  func(*http.Request)
		secure  bool
	}{
		"plain":                     {nil, func(r *http.Request) {}, false},
		"TLS":                       {nil, func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, true},
		"a proxy that we trust":     {proxied, func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, true},
		"a proxy that we trust not": {nil, func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, false},
		"a proxy that added https":  {proxied, func(r *http.Request) { r.Header["X-Forwarded-Proto"] = []string{"http", "https"} }, true},
		"a proxy that added http":   {proxied, func(r *http.Request) { r.Header["X-Forwarded-Proto"] = []string{"https", "http"} }, false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(url.Values{"email": {"ada@example.com"}, "password": {"long enough"}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		test.change(r)
		w := ask(t, c, r, test.proxies...)
		cookies := w.Result().Cookies()
		if w.Code != http.StatusSeeOther || len(cookies) != 2 {
			t.Fatalf("%s: %d %v", name, w.Code, cookies)
		}
		got, device := cookies[0], cookies[1]
		if device.Name != got.Name+"-device" || device.Secure != test.secure || !device.HttpOnly || device.SameSite != http.SameSiteStrictMode ||
			device.Path != "/" || device.Domain != "" || time.Until(device.Expires) < 100*24*time.Hour {
			t.Errorf("%s: %v", name, device)
		}
		if got.Secure != test.secure || (got.Name == "__Host-sheaf") != test.secure || !got.HttpOnly || got.SameSite != http.SameSiteLaxMode || got.Path != "/" || got.Domain != "" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// After one request by HTTPS, a browser never uses HTTP again. A service without HTTPS still works.
func TestConsole_HTTPSStaysWhereTheBrowserHasIt(t *testing.T) {
	c, _ := newConsole(t)
	public := func(address string) *Console {
		config := c.Config
		config.PublicURL, _ = url.Parse(address)
		return New(config)
	}
	proxied := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	forwarded := func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }
	plain := func(*http.Request) {}
	for name, test := range map[string]struct {
		console *Console
		proxies []netip.Prefix
		change  func(*http.Request)
		want    string
	}{
		"plain":                     {c, nil, plain, ""},
		"plain at the public URL":   {public("http://docs.example.com"), nil, plain, ""},
		"TLS":                       {c, nil, func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, "max-age=31536000"},
		"HTTPS at the public URL":   {public("https://docs.example.com"), nil, plain, "max-age=31536000"},
		"a proxy that we trust":     {c, proxied, forwarded, "max-age=31536000"},
		"a proxy with plain HTTP":   {c, proxied, plain, ""},
		"a proxy that we trust not": {c, nil, forwarded, ""},
	} {
		for _, path := range []string{"/sign-in", "/", "/w/none/x", "/assets/console.css"} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			test.change(r)
			if got := ask(t, test.console, r, test.proxies...).Header().Get("Strict-Transport-Security"); got != test.want {
				t.Errorf("%s: %s says %q, want %q", name, path, got, test.want)
			}
		}
	}
}

func TestSignIn_SameAnswerForEveryUserWithTheWait(t *testing.T) {
	w := newTown(t)
	w.freeze()
	try := func(email, password string) *httptest.ResponseRecorder {
		form := url.Values{"email": {email}, "password": {password}}.Encode()
		r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return ask(t, w.c, r)
	}
	known, unknown := try("ada@example.com", "wrong"), try("who@example.com", "wrong")
	same := strings.ReplaceAll(unknown.Body.String(), "who@example.com", "ada@example.com")
	if known.Code != http.StatusUnauthorized || unknown.Code != known.Code || known.Body.String() != same {
		t.Errorf("known %d, unknown %d", known.Code, unknown.Code)
	}
	for range 4 {
		try("ada@example.com", "wrong")
	}
	if got := try("ada@example.com", "long enough"); got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") != "1" {
		t.Errorf("after five failures: %d %v", got.Code, got.Header())
	}
}

// After failed sign-ins of others, a browser that was signed in before can sign in at once, also after
// signing out. Another browser has to wait.
func TestSignIn_AKnownBrowserNeedNotWait(t *testing.T) {
	w := newTown(t)
	w.freeze()
	try := func(address, password string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		form := url.Values{"email": {"ada@example.com"}, "password": {password}}.Encode()
		r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.RemoteAddr = address + ":1"
		for _, c := range cookies {
			r.AddCookie(c)
		}
		return ask(t, w.c, r)
	}
	in := try("192.0.2.200", "long enough")
	if in.Code != http.StatusSeeOther {
		t.Fatalf("signing in: %d", in.Code)
	}
	var device *http.Cookie
	for _, c := range in.Result().Cookies() {
		if c.Name == "sheaf-device" {
			device = c
		}
	}
	for i := range 60 {
		try(fmt.Sprint("203.0.113.", i), "wrong")
	}
	if got := try("192.0.2.201", "long enough"); got.Code != http.StatusTooManyRequests {
		t.Errorf("a browser that nobody knows: %d", got.Code)
	}
	for i := range 5 {
		if got := try(fmt.Sprint("192.0.2.20", i), "long enough", device); got.Code != http.StatusSeeOther {
			t.Errorf("a known browser: %d", got.Code)
		}
	}
}

func TestSignIn_LeadsBackAndNowhereElse(t *testing.T) {
	for next, want := range map[string]string{"/w/x/keys?a=b": "/w/x/keys?a=b", "/account": "/account", "https://evil.example": "", "//evil.example": "",
		"/\\evil.example": "", "/setup/x": ""} {
		if got := safeNext(next); got != want {
			t.Errorf("%q: got %q", next, got)
		}
	}
}

func TestPages_WrongMethodAndUnknownAddressAreShownAsPages(t *testing.T) {
	c, _ := newConsole(t)
	for _, test := range []struct {
		method, path string
		status       int
	}{{http.MethodPost, "/", 405}, {http.MethodDelete, "/sign-in", 405}, {http.MethodGet, "/w/a/b/c/d", 404}, {http.MethodGet, "/assets/none.js", 404}} {
		w := ask(t, c, httptest.NewRequest(test.method, test.path, nil))
		if w.Code != test.status || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %v", test.method, test.path, w.Code, w.Header())
		}
		if test.status == 405 && w.Header().Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", test.method, test.path)
		}
	}
}
