// Package oidc signs people in to the program, as it is built for users, at OpenID Connect providers that other projects wrote.
package oidc

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/oidctest"
	"sheaf.dev/internal/sheaftest/proctest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

const callback = "/sign-in/provider/callback"

// world is the program beside a provider.
type world struct {
	*testing.T
	program   *proctest.Program
	workspace string
	url       string // of the console
	at        *oidctest.Program
}

// newWorld starts a provider, as `provider` does for that way back, and the program with its flags and more.
func newWorld(t *testing.T, provider func(back string) *oidctest.Program, more ...string) *world {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, url: "http://127.0.0.1:" + port, program: proctest.New(t)}
	w.program.Workspace(t, "Example")
	w.at = provider(w.url + callback)
	s := w.program.Start(t, append(append([]string{"--addr", "127.0.0.1:" + port}, w.at.Flags()...), more...)...)
	if s.URL != w.url {
		t.Fatalf("it listens on %s, not on %s", s.URL, w.url)
	}
	all := w.run("workspace", "list", "--json")
	var list []struct{ ID string }
	if err := json.Unmarshal([]byte(all), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v: %s", err, all)
	}
	w.workspace = list[0].ID
	return w
}

// run runs a command of the program on the store.
func (w *world) run(args ...string) string {
	w.Helper()
	out, err := w.program.Command(args...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			w.Log(string(failed.Stderr))
		}
		w.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

// invite returns the link of an invitation.
func (w *world) invite(email, role string) string {
	w.Helper()
	return strings.TrimSpace(w.run("user", "invite", email, "--role", role, "--workspace", w.workspace, "--public-url", w.url))
}

// browser keeps cookies.
type browser struct {
	*world
	http.Client
}

func (w *world) browser() *browser {
	w.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	b := &browser{world: w}
	b.Jar, b.Transport = jar, &http.Transport{DisableKeepAlives: true}
	return b
}

// follow opens an address, or sends a form to it, and follows redirects. It returns the path and the text of the page.
func (b *browser) follow(address string, form url.Values) (code int, at, page string) {
	b.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return res.StatusCode, res.Request.URL.Path, string(body)
}

var providerLink = regexp.MustCompile(`id="provider" href="([^"]+)"`)

// toProvider opens a page of the console and follows its link to the provider. It returns the address of the provider's page.
func (b *browser) toProvider(page string) string {
	b.Helper()
	_, _, body := b.follow(page, nil)
	m := providerLink.FindStringSubmatch(body)
	if m == nil {
		b.Fatalf("no link leads to the provider: %s", body)
	}
	b.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { b.CheckRedirect = nil }()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.url+m[1], nil)
	if err != nil {
		b.Fatal(err)
	}
	res, err := b.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || to == "" {
		b.Fatalf("the link to the provider is answered with %d", res.StatusCode)
	}
	return to
}

// signIn signs in at the provider, from a page of the console.
func (b *browser) signIn(page, email string) (code int, at, body string) {
	b.Helper()
	return b.follow(b.at.SignIn(b.T, b.toProvider(page), email), nil)
}

const grace, unverified = "grace@example.com", "eve@example.com"

// D190: a person accepts an invitation and signs in at providers that others wrote. Strangers are refused, and so is a code that
// is sent again.
func TestProviders_InviteAndSignIn(t *testing.T) {
	for name, start := range map[string]func(*testing.T, string) *oidctest.Program{
		"dex": func(t *testing.T, back string) *oidctest.Program {
			return oidctest.Dex(t, back, []string{grace, "stranger@example.com"}, unverified)
		},
		"zitadel": func(t *testing.T, back string) *oidctest.Program {
			return oidctest.Zitadel(t, back, grace, "stranger@example.com")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(back string) *oidctest.Program { return start(t, back) }, "--require-second-factor")
			if code, at, page := w.browser().signIn(w.url+"/sign-in", "stranger@example.com"); code != http.StatusUnauthorized || at != callback || !strings.Contains(page, "Signing in with Example ID did not work.") {
				t.Errorf("a stranger: %d at %s: %s", code, at, page)
			}
			link := w.invite(grace, "editor")
			b := w.browser()
			if code, at, page := b.signIn(link, grace); code != http.StatusOK || at != "/w/"+w.workspace+"/projects" {
				t.Fatalf("joining: %d at %s: %s", code, at, page)
			}
			again := w.browser()
			back := w.at.SignIn(t, again.toProvider(w.url+"/sign-in?next=%2Faccount"), grace)
			if code, at, _ := again.follow(back, nil); code != http.StatusOK || at != "/account" {
				t.Errorf("signing in: %d at %s", code, at)
			}
			if code, _, _ := again.follow(back, nil); code != http.StatusUnauthorized {
				t.Errorf("the same address again: %d", code)
			}
			if list := w.run("user", "list"); !strings.Contains(list, "bound") || strings.Count(list, "@example.com") != 1 {
				t.Errorf("the users are %s", list)
			}
		})
	}
}

// D190: an e-mail that the provider has not verified opens nothing, also if e-mails are trusted.
func TestProviders_AnUnverifiedEmail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(back string) *oidctest.Program { return oidctest.Dex(t, back, nil, unverified) }, "--oidc-trust-email")
	if code, _, page := w.browser().signIn(w.invite(unverified, "member"), unverified); code != http.StatusUnauthorized || !strings.Contains(page, "did not work") {
		t.Errorf("%d: %s", code, page)
	}
}

// D190: the program starts while the provider is down, says so on the sign-in page, and signs people in once it is up. The keys of
// a provider that was started anew are found.
func TestProviders_Down(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(back string) *oidctest.Program {
		p := oidctest.Dex(t, back, []string{grace})
		p.Stop()
		return p
	})
	if code, _, page := w.browser().follow(w.url+"/sign-in/provider", nil); code != http.StatusServiceUnavailable || !strings.Contains(page, "Example ID cannot be reached at the moment.") {
		t.Errorf("while it is down: %d %s", code, page)
	}
	w.at.Restart()
	link := w.invite(grace, "member")
	sheaftest.Eventually(t, "the provider to be asked again", func() bool {
		code, _, _ := w.browser().follow(w.url+"/sign-in/provider", nil)
		return code == http.StatusOK
	})
	if code, at, page := w.browser().signIn(link, grace); code != http.StatusOK {
		t.Fatalf("once it is up: %d at %s: %s", code, at, page)
	}
	w.at.Restart() // with new keys
	if code, at, page := w.browser().signIn(w.url+"/sign-in", grace); code != http.StatusOK {
		t.Errorf("with new keys: %d at %s: %s", code, at, page)
	}
}

// D190: with passwords off, the first owner is set up at the provider, and the operator lets one person use a password.
func TestProviders_PasswordsOff(t *testing.T) {
	t.Parallel()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, url: "http://127.0.0.1:" + port, program: proctest.New(t)}
	w.at = oidctest.Dex(t, w.url+callback, []string{"ada@example.com"})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(w.at.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.program.Start(t, "--first-run", "file", "--addr", "127.0.0.1:"+port, "--oidc-issuer", w.at.Issuer, "--oidc-client-id", w.at.ClientID, "--oidc-client-secret-file", secret,
		"--oidc-name", "Example ID", "--password-sign-in=false")
	link := strings.TrimSpace(w.run("user", "setup-link", "--public-url", w.url))
	b := w.browser()
	if _, _, page := b.follow(link, nil); strings.Contains(page, `type="password"`) || !strings.Contains(page, "Passwords are turned off") {
		t.Errorf("the set-up asks for a password: %s", page)
	}
	if _, at, page := b.follow(link, url.Values{"name": {"Ada"}, "email": {"ada@example.com"}}); at != "/sign-in" || strings.Contains(page, `type="password"`) {
		t.Errorf("the set-up leads to %s: %s", at, page)
	}
	if code, at, page := b.signIn(w.url+"/sign-in", "ada@example.com"); code != http.StatusOK || !strings.HasPrefix(at, "/w/") {
		t.Fatalf("the owner: %d at %s: %s", code, at, page)
	}
	password := url.Values{"email": {"ada@example.com"}, "password": {"long enough"}}
	if code, _, page := w.browser().follow(w.url+"/sign-in", password); code != http.StatusForbidden || !strings.Contains(page, "sheaf user allow-password") {
		t.Errorf("a password: %d %s", code, page)
	}
	if got := w.run("user", "allow-password", "ada@example.com"); got != "ada@example.com may sign in with a password, but has none yet: set one with sheaf user set-password\n" {
		t.Error(got)
	}
	set := w.program.Command("user", "set-password", "ada@example.com")
	set.Stdin = strings.NewReader("long enough\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code, at, _ := w.browser().follow(w.url+"/sign-in", password); code != http.StatusOK || !strings.HasPrefix(at, "/w/") {
		t.Errorf("the exception: %d at %s", code, at)
	}
}
