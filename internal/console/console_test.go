package console

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func newConsole(t *testing.T) (*Console, *app.App) {
	t.Helper()
	o := store.Options{Folder: t.TempDir()}
	if err := store.Migrate(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	a := app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		Webhooks: testWebhooks(t)})
	return New(Config{App: a, Log: slog.New(slog.DiscardHandler), Now: time.Now}), a
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

func ask(t *testing.T, c *Console, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w
}

func TestConsole_EveryPageIsGuarded(t *testing.T) {
	c, _ := newConsole(t)
	for _, path := range []string{"/", "/setup/x", "/invite/x", "/assets/console.css", "/sign-in", "/account", "/w/x/projects", "/w/nothing/like/it"} {
		if !c.Handles(path) {
			t.Errorf("%s is not the console's", path)
		}
		h := ask(t, c, httptest.NewRequest(http.MethodGet, path, nil)).Header()
		if !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", path, h)
		}
	}
	for _, path := range []string{"/api/v1/me", "/healthz", "/setup", "/docs", "/x"} {
		if c.Handles(path) {
			t.Errorf("%s is taken for the console's", path)
		}
	}
}

func TestConsole_AnotherSiteCannotPost(t *testing.T) {
	c, a := newConsole(t)
	first, _, err := a.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"email": {"ada@example.com"}, "password": {"long enough"}, "again": {"long enough"}}.Encode()
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
	form := url.Values{"email": {`"><script>`}, "password": {"hush hush hush"}, "again": {"hush hush hush"}}.Encode()
	r := httptest.NewRequest(http.MethodPost, "/setup/"+first.Link.Token, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := ask(t, c, r)
	if body := w.Body.String(); w.Code != http.StatusBadRequest || strings.Contains(body, "<script>") || strings.Contains(body, "hush") {
		t.Errorf("%d: %s", w.Code, body)
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
	if err := a.CompleteSetup(t.Context(), first.Link.Token, "ada@example.com", "long enough"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(home(), "not finished") {
		t.Error("the hint is still there")
	}
}

func TestSearch_LeadsToTheDocumentsProject(t *testing.T) {
	w := newTown(t)
	got := w.ask(http.MethodGet, w.address("/w/{workspace}/search")+"?q=docu", w.owner).Body.String()
	if !strings.Contains(got, `href="`+w.address("/w/{workspace}/projects/{id}")+`"`) || strings.Contains(got, "/0x") {
		t.Errorf("the results are %s", got)
	}
}
