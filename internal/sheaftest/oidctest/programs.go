package oidctest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
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

	"golang.org/x/crypto/bcrypt"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/daemon"
)

// Password is that of all accounts at a Program.
const Password = "at the provider"

// Program is a provider of another project, in a process of its own.
type Program struct {
	*daemon.Server
	Issuer, ClientID, ClientSecret string
	// Fields are the names of the two fields of its sign-in form.
	LoginField, PasswordField string
}

// Dex returns a running Dex, which has accounts with these e-mails and sends browsers back to `redirect`. The accounts in
// `unverified` have e-mails that are not verified.
func Dex(t testing.TB, redirect string, emails []string, unverified ...string) *Program {
	t.Helper()
	p := &Program{ClientID: "sheaf", ClientSecret: "the secret of dex", LoginField: "login", PasswordField: "password"}
	p.start(t, "dex", func(dir, port string) *exec.Cmd {
		p.Issuer = "http://127.0.0.1:" + port + "/dex"
		if err := os.WriteFile(filepath.Join(dir, "dex.json"), p.dexConfig(t, port, redirect, emails, unverified), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command("dex", "serve", filepath.Join(dir, "dex.json"))
	})
	return p
}

// dexConfig returns the configuration in JSON, which is YAML.
func (p *Program) dexConfig(t testing.TB, port, redirect string, emails, unverified []string) []byte {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(Password), 10) // Dex wants no less
	if err != nil {
		t.Fatal(err)
	}
	var people []map[string]any
	for verified, list := range map[bool][]string{true: emails, false: unverified} {
		for _, email := range list {
			people = append(people, map[string]any{"email": email, "hash": string(hash), "username": email, "userID": "id of " + email, "emailVerified": verified})
		}
	}
	config, err := json.Marshal(map[string]any{
		"issuer": p.Issuer, "storage": map[string]any{"type": "memory"}, "web": map[string]any{"http": "127.0.0.1:" + port},
		"oauth2":           map[string]any{"skipApprovalScreen": true},
		"staticClients":    []any{map[string]any{"id": p.ClientID, "secret": p.ClientSecret, "name": "Sheaf", "redirectURIs": []string{redirect}}},
		"enablePasswordDB": true, "staticPasswords": people})
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// Zitadel returns the running example of Zitadel's library, with accounts of these e-mails. Its issuer ends with a slash, and
// it has the e-mail in the user info alone.
func Zitadel(t testing.TB, redirect string, emails ...string) *Program {
	t.Helper()
	p := &Program{ClientID: "web", ClientSecret: "secret", LoginField: "username", PasswordField: "password"}
	p.start(t, "server", func(dir, port string) *exec.Cmd {
		p.Issuer = "http://localhost:" + port + "/"
		users := map[string]any{}
		for _, email := range emails {
			users["id of "+email] = map[string]any{"ID": "id of " + email, "Username": email, "Password": Password, "FirstName": "Grace", "LastName": "Hopper",
				"Email": email, "EmailVerified": true, "PreferredLanguage": "en"}
		}
		text, err := json.Marshal(users)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "users.json"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("server")
		cmd.Env = append(os.Environ(), "PORT="+port, "REDIRECT_URI="+redirect, "USERS_FILE="+filepath.Join(dir, "users.json"))
		return cmd
	})
	return p
}

// start runs the program of the command that `command` returns, which names only the file.
func (p *Program) start(t testing.TB, name string, command func(dir, port string) *exec.Cmd) {
	t.Helper()
	folder, err := built()
	if err != nil {
		sheaftest.Unable(t, err.Error())
	}
	p.Server = daemon.Start(t, daemon.Config{Name: name,
		Command: func(dir, port string) *exec.Cmd {
			cmd := command(dir, port)
			cmd.Path, cmd.Err = filepath.Join(folder, name), nil
			return cmd
		},
		Ready: func(_, _ string) error { return discoverable(p.Issuer) }})
}

// discoverable returns nil if the provider answers.
func discoverable(issuer string) error {
	ctx, cancel := context.WithTimeout(context.Background(), daemon.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		return err
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("its discovery document is answered with %d", res.StatusCode)
	}
	return nil
}

// Flags returns the flags with which Sheaf signs people in at the provider.
func (p *Program) Flags() []string {
	return []string{"--oidc-issuer", p.Issuer, "--oidc-client-id", p.ClientID, "--oidc-client-secret", p.ClientSecret, "--oidc-name", "Example ID"}
}

var (
	formAction  = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// SignIn does what a person does on the provider's pages, from the address of the first one. It returns the address that the
// browser is sent back to.
func (p *Program) SignIn(t testing.TB, address, email string) (back string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(p.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	errBack := errors.New("it leads back")
	client := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if r.URL.Port() != at.Port() {
			back = r.URL.String()
			return errBack
		}
		return nil
	}}
	send := func(method, address string, form url.Values) (*url.URL, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := client.Do(r)
		if errors.Is(err, errBack) {
			return nil, ""
		}
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.Request.URL, string(body)
	}
	page, body := send(http.MethodGet, address, nil)
	m := formAction.FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("the provider shows no form: %s", body)
	}
	to, err := page.Parse(html.UnescapeString(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{p.LoginField: {email}, p.PasswordField: {Password}}
	for _, h := range hiddenInput.FindAllStringSubmatch(body, -1) {
		form.Set(h[1], html.UnescapeString(h[2]))
	}
	if _, body := send(http.MethodPost, to.String(), form); back == "" {
		t.Fatalf("the provider does not lead back: %s", body)
	}
	return back
}
