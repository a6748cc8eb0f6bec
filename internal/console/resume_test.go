package console

import (
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// sendAs sends a form with a cookie, and with the headers that a script or the dialog adds.
func (w *town) sendAs(token, path string, form url.Values, script ...func(*http.Request)) *httptest.ResponseRecorder {
	w.Helper()
	return w.ask(http.MethodPost, w.address(path), token, append([]func(*http.Request){func(r *http.Request) {
		body := form.Encode()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	}}, script...)...)
}

// byDialog has the headers of a form in the dialog.
func byDialog(r *http.Request) {
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Target", "dialog-body")
}

// hidden returns the hidden fields of the page's first form.
func hidden(page string) url.Values {
	out := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		out.Add(m[1], html.UnescapeString(m[2]))
	}
	return out
}

// signInAgain sends the sign-in form that a page shows.
func (w *town) signInAgain(page string, script ...func(*http.Request)) *httptest.ResponseRecorder {
	w.Helper()
	form := hidden(page)
	form.Set("email", "ada@example.com")
	form.Set("password", "long enough")
	return w.sendAs("", "/sign-in", form, script...)
}

// Every form that is sent after its session has ended is shown again after signing in, with what
// was typed, and nothing was changed. That is so without scripts and in the dialog.
func TestResume_EveryFormComesBackWithWhatWasTyped(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	marked := map[string]string{"/move": `value="` + w.ids["folders"] + `" selected>`, "/members/invite": "typed@example.com",
		"/share": "Type the password again", "/role": `value="admin" checked`, "/access": "Access of Ada", "/settings/plan": `value="pro" checked`, "/settings/branding": `value="` + w.ids["brandings"] + `" selected`}
	tried := 0
	for _, r := range w.c.allRoutes() {
		if !r.has(resumable) {
			continue
		}
		tried++
		form := url.Values{"name": {"typed & kept"}, "title": {"typed & kept"}, "type": {"project"}, "role": {"admin"}, "email": {"typed@example.com"},
			"url": {"https://example.org/"}, "event": {"document.created"}, "scope": {"projects:read"}, "revision": {"1"}, "folder": {w.ids["folders"]}, "content": {"typed"},
			"filename": {"typed & kept"}, "plan": {"pro"}, "branding": {w.ids["brandings"]}, "expires": {"7"}, "password": {"of the share"}, "body": {"typed & kept"}, "notes": {"typed & kept"}, "about": {"typed & kept"}, "base_version": {"1"}}
		want := "typed &amp; kept"
		for part, text := range marked {
			if strings.Contains(r.path, part) {
				want = text
			}
		}
		if strings.HasSuffix(r.path, "/suggest-move") {
			want = `name="about" required maxlength="200" value="typed &amp; kept"`
		}
		if strings.HasSuffix(r.path, "/move") && !strings.Contains(r.path, "/projects/") {
			want = "Move the " // there is no other folder to choose
		}
		for _, script := range [][]func(*http.Request){nil, {byDialog}} {
			asked := w.sendAs("", r.path, form, script...)
			page := asked.Body.String()
			if asked.Code != http.StatusUnauthorized || !strings.Contains(page, "Your session has ended") || !strings.Contains(page, "comes back") {
				t.Fatalf("POST %s: %d %s", r.path, asked.Code, page)
			}
			got := w.signInAgain(page, script...)
			body := got.Body.String()
			if got.Code != http.StatusConflict || !strings.Contains(body, "You are signed in again") || !strings.Contains(body, want) ||
				strings.Contains(body, "<html") != (script == nil) {
				t.Errorf("POST %s: %d, no %s in %s", r.path, got.Code, want, body)
			}
			if strings.Contains(r.path, "/share") && !strings.Contains(body, `<option value="7" selected>`) || strings.Contains(page+body, "of the share") {
				t.Errorf("POST %s: the end is not kept, or the password is, in %s", r.path, body)
			}
			if len(got.Result().Cookies()) == 0 {
				t.Errorf("POST %s: the person is not signed in", r.path)
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d forms come back", tried)
	}
	if w.everything() != before {
		t.Error("a form that came back changed something")
	}
}

// A request without such a form leads back to the page that it was sent from.
func TestResume_AnActWithoutAFormLeadsToItsPage(t *testing.T) {
	w := newTown(t)
	before := w.everything()
	for path, want := range map[string]string{
		"/w/{workspace}/webhooks/{id}/test":        "/w/{workspace}/webhooks/{id}",
		"/w/{workspace}/deliveries/{id}/redeliver": "/w/{workspace}/deliveries/{id}",
		"/w/{workspace}/projects/{id}/delete":      "/w/{workspace}/projects/{id}/delete",
		"/account/name":                            "",
	} {
		asked := w.sendAs("", path, url.Values{"name": {"x"}})
		got := w.signInAgain(asked.Body.String())
		if want == "" {
			want = "/"
		}
		if to := got.Header().Get("Location"); got.Code != http.StatusSeeOther || to != w.address(want) {
			t.Errorf("POST %s: %d to %s, want %s", path, got.Code, to, w.address(want))
		}
	}
	// A script names its page.
	asked := w.sendAs("", "/w/{workspace}/webhooks/{id}/test", nil, byDialog, func(r *http.Request) {
		r.Header.Set("HX-Current-URL", "http://example.com"+w.address("/w/{workspace}/webhooks/{id}")+"?state=failed")
	})
	got := w.signInAgain(asked.Body.String(), byDialog)
	if to := got.Header().Get("HX-Redirect"); to != w.address("/w/{workspace}/webhooks/{id}")+"?state=failed" {
		t.Errorf("it leads to %q", to)
	}
	if w.everything() != before {
		t.Error("something was done")
	}
}

// A page that opens in the dialog opens there after signing in.
func TestResume_ADialogOpensAfterSigningIn(t *testing.T) {
	w := newTown(t)
	asked := w.ask(http.MethodGet, w.address("/w/{workspace}/projects/{id}/edit"), "", byDialog)
	if asked.Code != http.StatusUnauthorized || strings.Contains(asked.Body.String(), "<html") {
		t.Fatalf("%d %s", asked.Code, asked.Body)
	}
	got := w.signInAgain(asked.Body.String(), byDialog)
	if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), `name="was-name" value="Project"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A script without a session gets an error, and never a success.
func TestResume_AScriptWithoutASessionGetsAnError(t *testing.T) {
	w := newTown(t)
	got := w.sendAs("", "/w/{workspace}/projects/{id}/move", url.Values{"folder": {""}}, func(r *http.Request) { r.Header.Set("HX-Request", "true") })
	if got.Code != http.StatusUnauthorized || got.Header().Get("HX-Redirect") != "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	stream := w.ask(http.MethodGet, w.address("/w/{workspace}/live"), "", func(r *http.Request) { r.Header.Set("Accept", "text/event-stream") })
	if !strings.Contains(stream.Body.String(), "event: signed-out\n") {
		t.Errorf("the stream says %q", stream.Body)
	}
}

// A text that is too long for a hidden field is not carried, and the page says so.
func TestResume_ALongTextWithoutASessionIsNotCarried(t *testing.T) {
	w := newTown(t)
	got := w.sendAs("", "/w/{workspace}/documents/{id}", url.Values{"title": {"t"}, "revision": {"1"}, "content": {strings.Repeat("x", maxForm)}})
	if body := got.Body.String(); got.Code != http.StatusUnauthorized || !strings.Contains(body, "too long to be kept on this page") || len(body) > maxForm {
		t.Errorf("%d %s", got.Code, body)
	}
	led := w.signInAgain(got.Body.String())
	if to := led.Header().Get("Location"); to != w.address("/w/{workspace}/documents/{id}") {
		t.Errorf("it leads to %q", to)
	}
}

// Two instances on one host have different cookies, because browsers send a cookie to every port.
func TestCookie_IsNamedAfterThePortAndThePath(t *testing.T) {
	w := newTown(t)
	name := func(public, host string) string {
		c := w.c
		if public != "" {
			config := w.c.Config
			config.PublicURL, _ = url.Parse(public)
			c = New(config)
		}
		r := httptest.NewRequest(http.MethodPost, "/sign-in", strings.NewReader("email=ada@example.com&password=long+enough"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Host = host
		return ask(t, c, r).Result().Cookies()[0].Name
	}
	for want, got := range map[string]string{
		"sheaf":             name("", "localhost"),
		"sheaf-8080":        name("", "localhost:8080"),
		"sheaf-8081":        name("", "[::1]:8081"),
		"__Host-sheaf":      name("https://docs.example.com", "10.0.0.1:8080"),
		"__Host-sheaf-8443": name("https://docs.example.com:8443", "10.0.0.1:8080"),
		"sheaf-80-ba2a7c4b": name("http://docs.example.com:80/team", "10.0.0.1:8080"),
	} {
		if got != want && !strings.HasPrefix(want, "sheaf-80-") {
			t.Errorf("the cookie is %s, want %s", got, want)
		}
	}
	if one, other := name("http://x.example/one", "x"), name("http://x.example/other", "x"); one == other {
		t.Errorf("both paths have %s", one)
	}
	// Each instance finds its own.
	r := httptest.NewRequest(http.MethodGet, w.address("/w/{workspace}/projects"), nil)
	r.Host = "localhost:8080"
	r.AddCookie(&http.Cookie{Name: "sheaf-8081", Value: "of another"})
	r.AddCookie(&http.Cookie{Name: "sheaf-8080", Value: w.owner})
	if got := ask(t, w.c, r); got.Code != http.StatusOK {
		t.Errorf("%d", got.Code)
	}
}
