package console

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/oidc"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/oidctest"
)

// oidcTown is a town with a provider.
type oidcTown struct {
	*town
	at  *oidctest.Provider
	log bytes.Buffer
	jar map[string]string // the browser of the person who signs in
}

func newOIDCTown(t *testing.T, passwordsOff bool) *oidcTown {
	t.Helper()
	w := &oidcTown{town: newTown(t), at: oidctest.New(t), jar: map[string]string{}}
	p := oidc.New(oidc.Config{Issuer: w.at.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Redirect: "http://127.0.0.1" + ProviderCallback, Now: time.Now})
	t.Cleanup(p.Close)
	w.a = app.New(app.Config{Store: w.store, Index: w.index, Now: time.Now, Random: rand.Reader, PasswordCost: app.PasswordCost{Passes: 1, Memory: 64, Threads: 1},
		Webhooks: testWebhooks(t), Provider: &app.SignInProvider{Provider: p, Name: "Example <ID>"}, PasswordsOff: passwordsOff})
	w.c = New(Config{App: w.a, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Now: time.Now})
	return w
}

// visit sends a request with the cookies of the browser, and keeps those of the answer.
func (w *oidcTown) visit(method, target string, form url.Values) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range w.jar {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	got := ask(w.T, w.c, r)
	for _, c := range got.Result().Cookies() {
		if !c.HttpOnly || c.SameSite == http.SameSiteNoneMode || c.SameSite == http.SameSiteDefaultMode {
			w.Errorf("a cookie is open: %v", c)
		}
		if w.jar[c.Name] = c.Value; c.Value == "" {
			delete(w.jar, c.Name)
		}
	}
	return got
}

// leads visits a page that leads elsewhere.
func (w *oidcTown) leads(target string) string {
	w.Helper()
	got := w.visit(http.MethodGet, target, nil)
	if got.Code != http.StatusSeeOther {
		w.Fatalf("%s: %d %s", target, got.Code, got.Body)
	}
	return got.Header().Get("Location")
}

// provider follows the link to the provider, signs in there, and returns the way back.
func (w *oidcTown) provider(link string, who oidctest.Person) string {
	w.Helper()
	back, err := url.Parse(w.at.SignIn(w.leads(link), who))
	w.must(err)
	return back.RequestURI()
}

var (
	graceThere = oidctest.Person{Subject: "4711", Email: "grace@example.com", Name: "Grace Hopper", Verified: true}
	adaThere   = oidctest.Person{Subject: "1815", Email: "ada@example.com", Name: "Ada Lovelace", Verified: true}
)

// D190: the sign-in page leads to the provider, which leads back to the page that the person wanted. The pages need no script.
func TestOIDC_OnThePages(t *testing.T) {
	w := newOIDCTown(t, false)
	page := w.visit(http.MethodGet, "/sign-in?next=%2Faccount", nil).Body.String()
	w.wantIn(page, true, `href="/sign-in/provider?next=%2Faccount"`, "Sign in with <bdi>Example &lt;ID&gt;</bdi>", `name="password"`)
	i, err := w.a.Invite(w.Context(), w.caller, "grace@example.com", sheaf.Editor, nil)
	w.must(err)
	join := w.visit(http.MethodGet, "/invite/"+i.Token, nil).Body.String()
	w.wantIn(join, true, `href="/invite/`+i.Token+`/provider"`, "Join with <bdi>Example &lt;ID&gt;</bdi>", `name="password"`)
	back := w.provider("/invite/"+i.Token+"/provider", graceThere)
	if to := w.leads(back); to != "/w/"+string(w.caller.Workspace)+"/projects" {
		t.Errorf("joining leads to %s", to)
	}
	if w.jar["sheaf"] == "" || w.jar["sheaf-device"] != "" || w.jar["sheaf-provider"] != "" {
		t.Errorf("the cookies are %v", w.jar)
	}
	account := w.visit(http.MethodGet, "/account", nil).Body.String()
	w.wantIn(account, true, "You sign in with <bdi>Example &lt;ID&gt;</bdi>", "One that began with <bdi>Example &lt;ID&gt;</bdi> ends after 12 hours.")
	w.wantIn(account, false, "Change password", "Set up a second factor")
	w.visit(http.MethodPost, "/sign-out", nil)
	if to := w.leads(w.provider("/sign-in/provider?next=%2Faccount", graceThere)); to != "/account" {
		t.Errorf("signing in leads to %s", to)
	}
	// Another site cannot choose where a person goes.
	w.visit(http.MethodPost, "/sign-out", nil)
	if to := w.leads(w.provider("/sign-in/provider?next=https%3A%2F%2Fevil.example", graceThere)); to != "/" {
		t.Errorf("signing in leads to %s", to)
	}
}

// D190: an account with a password asks for it once.
func TestOIDC_BindsOnThePages(t *testing.T) {
	w := newOIDCTown(t, false)
	if to := w.leads(w.provider("/sign-in/provider?next=%2Faccount", adaThere)); to != "/sign-in/bind" {
		t.Fatalf("the way back leads to %s", to)
	}
	if w.jar["sheaf"] != "" {
		t.Fatal("a session was opened")
	}
	w.wantIn(w.visit(http.MethodGet, "/sign-in/bind", nil).Body.String(), true, "<bdi>ada@example.com</bdi> has an account here.", `name="password"`)
	wrong := w.visit(http.MethodPost, "/sign-in/bind", url.Values{"password": {"wrong"}})
	if wrong.Code != http.StatusUnprocessableEntity && wrong.Code != http.StatusBadRequest || w.jar["sheaf"] != "" {
		t.Errorf("a wrong password: %d, %v", wrong.Code, w.jar)
	}
	w.wantIn(wrong.Body.String(), true, "The password is wrong.")
	right := w.visit(http.MethodPost, "/sign-in/bind", url.Values{"password": {"long enough"}})
	if right.Code != http.StatusSeeOther || right.Header().Get("Location") != "/account" || w.jar["sheaf"] == "" || w.jar["sheaf-binding"] != "" {
		t.Fatalf("the right password: %d %v %s", right.Code, w.jar, right.Body)
	}
	w.visit(http.MethodPost, "/sign-out", nil)
	if to := w.leads(w.provider("/sign-in/provider", adaThere)); to != "/" {
		t.Errorf("the second sign-in leads to %s", to)
	}
	// Without anything that waits, the page leads to the sign-in.
	if to := w.leads("/sign-in/bind"); to != "/sign-in" {
		t.Errorf("it leads to %s", to)
	}
	if got := w.visit(http.MethodPost, "/sign-in/bind", url.Values{"password": {"long enough"}}); got.Code != http.StatusUnauthorized {
		t.Errorf("without a binding: %d", got.Code)
	}
}

// D190: every refusal is the sign-in page with the same sentence. The log has the reason.
func TestOIDC_RefusalsRevealNothing(t *testing.T) {
	w := newOIDCTown(t, false)
	unverified := adaThere
	unverified.Verified = false
	pages := map[string]string{}
	refused := func(reason, target string) {
		t.Helper()
		got := w.visit(http.MethodGet, target, nil)
		if got.Code != http.StatusUnauthorized || w.jar["sheaf"] != "" || w.jar["sheaf-binding"] != "" {
			t.Errorf("%s: %d, %v", reason, got.Code, w.jar)
		}
		pages[got.Body.String()] = reason
		w.wantIn(got.Body.String(), true, "Signing in with Example &lt;ID&gt; did not work. Try again, or ask your administrator, whose log has the reason.")
		if !strings.Contains(w.log.String(), "reason="+reason) {
			t.Errorf("the log lacks %s: %s", reason, &w.log)
		}
	}
	refused("no_member", w.provider("/sign-in/provider", graceThere))
	refused("email_unverified", w.provider("/sign-in/provider", unverified))
	back := w.provider("/sign-in/provider", graceThere)
	refused("not_begun", back+"x")
	refused("not_begun", back) // the cookie was taken
	refused("not_begun", ProviderCallback)
	w.leads("/sign-in/provider")
	sealed := w.jar["sheaf-provider"]
	w.jar["sheaf-provider"] = "x" + sealed
	refused("not_begun", ProviderCallback+"?code=1&state=2")
	back = w.provider("/sign-in/provider", graceThere)
	w.at.Change(func() { w.at.Forge = func(_ string, claims map[string]any) string { return w.at.Stranger(claims) } })
	refused("token_signature", back)
	w.at.Change(func() { w.at.Forge = nil })
	u, err := url.Parse(w.provider("/sign-in/provider", graceThere))
	w.must(err)
	refused("refused_by_person", ProviderCallback+"?error=access_denied&error_description=%3Cb%3Eevil&state="+u.Query().Get("state"))
	refused("invitation_gone", w.provider("/invite/made-up/provider", adaThere))
	if len(pages) != 1 {
		for page, reason := range pages {
			t.Errorf("%s has a page of its own: %s", reason, page)
		}
	}
	// What the provider says is neither shown nor logged; codes and tokens are not either.
	for _, secret := range []string{"evil", u.Query().Get("code"), u.Query().Get("state"), sealed, oidctest.ClientSecret} {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	back = w.provider("/sign-in/provider", adaThere)
	w.at.Change(func() { w.at.Off = true })
	down := w.visit(http.MethodGet, back, nil)
	if down.Code != http.StatusServiceUnavailable || down.Header().Get("Retry-After") == "" {
		t.Errorf("a provider that is down: %d", down.Code)
	}
	w.wantIn(down.Body.String(), true, "Example &lt;ID&gt; cannot be reached at the moment. Try again in a few seconds.", `name="password"`)
}

// D190: with passwords off, their forms are gone and what they would send is refused with what to do.
func TestOIDC_PasswordsOffOnThePages(t *testing.T) {
	w := newOIDCTown(t, true)
	i, err := w.a.Invite(w.Context(), w.caller, "grace@example.com", sheaf.Editor, nil)
	w.must(err)
	for _, path := range []string{"/sign-in", "/invite/" + i.Token} {
		page := w.visit(http.MethodGet, path, nil).Body.String()
		w.wantIn(page, true, "Example &lt;ID&gt;")
		w.wantIn(page, false, `type="password"`)
	}
	w.wantIn(w.ask(http.MethodGet, "/account", w.owner).Body.String(), false, `type="password"`)
	for path, form := range map[string]url.Values{
		"/sign-in":           {"email": {"ada@example.com"}, "password": {"long enough"}},
		"/invite/" + i.Token: {"name": {"Grace"}, "password": {"long enough"}, "again": {"long enough"}},
		"/account/password":  {"current": {"long enough"}, "password": {"long enough too"}, "again": {"long enough too"}},
	} {
		got := w.sendAs(w.owner, path, form)
		if got.Code != http.StatusForbidden || cookiesOf(got)["sheaf"] != "" {
			t.Errorf("%s: %d %v", path, got.Code, cookiesOf(got))
		}
		w.wantIn(got.Body.String(), true, "Passwords are turned off on this server, and nothing was changed. Sign in with Example &lt;ID&gt;.", "sheaf user allow-password")
		w.wantIn(got.Body.String(), false, `type="password"`)
	}
	if to := w.leads(w.provider("/sign-in/provider", adaThere)); to != "/" || w.jar["sheaf"] == "" {
		t.Errorf("the owner's sign-in leads to %s", to)
	}
	_, err = w.a.Operator().AllowPassword(w.Context(), "ada@example.com", true)
	w.must(err)
	w.wantIn(w.visit(http.MethodGet, "/account", nil).Body.String(), true, "Change password")
	w.visit(http.MethodPost, "/sign-out", nil)
	w.wantIn(w.visit(http.MethodGet, "/sign-in", nil).Body.String(), true, `<details id="with-password" class="more"><summary>Sign in with a password</summary>`)
	if got := w.visit(http.MethodPost, "/sign-in", url.Values{"email": {"ada@example.com"}, "password": {"long enough"}}); got.Code != http.StatusSeeOther {
		t.Errorf("the exception: %d", got.Code)
	}
}

// D190: without a provider its addresses do not exist.
func TestOIDC_WithoutAProvider(t *testing.T) {
	w := newTown(t)
	for _, path := range []string{"/sign-in/provider", ProviderCallback + "?code=1&state=2", "/invite/x/provider"} {
		if got := w.ask(http.MethodGet, path, ""); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	w.wantIn(w.ask(http.MethodGet, "/sign-in", "").Body.String(), false, "/sign-in/provider")
}

// D190: a form whose session ended cannot be kept on the way to the provider: the link leads back to its page, and the page says so.
func TestOIDC_AnInterruptedForm(t *testing.T) {
	w := newOIDCTown(t, false)
	got := w.sendAs("", w.address("/w/{workspace}/projects/{id}"), url.Values{"name": {"New name"}})
	w.wantIn(got.Body.String(), true, "Sign in with your password, and what you typed comes back.", "/sign-in/provider?next="+url.QueryEscape(w.address("/w/{workspace}/projects/{id}")))
	off := newOIDCTown(t, true)
	got = off.sendAs("", off.address("/w/{workspace}/projects/{id}"), url.Values{"name": {"New name"}})
	off.wantIn(got.Body.String(), true, "Sign in in another tab, go back to the form in this one, and send it again.")
}
