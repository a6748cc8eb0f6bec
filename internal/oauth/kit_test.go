package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/mcp"
	"sheaf.dev/internal/oauth"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// withApps mounts the edge and /mcp beside the API, as the program does. Use it with apitest.WithConsole.
func withApps(c *apitest.Config) {
	apitest.Mounting(func(c apitest.Config) front.Mount {
		edge := mcp.New(mcp.Config{App: c.App, Door: c.Door, Version: "test", PublicURL: c.PublicURL})
		return front.Mount{Edge: edge, Name: mcp.Path, Paths: []string{mcp.Path}}
	})(c)
	apitest.Mounting(func(c apitest.Config) front.Mount {
		edge := oauth.New(oauth.Config{App: c.App, Log: c.Log, PublicURL: c.PublicURL})
		return front.Mount{Edge: edge, Name: "connect", Paths: edge.Paths()}
	})(c)
}

// person is a browser in which a person is signed in.
type person struct {
	t       *testing.T
	a       *apitest.API
	browser *http.Client
	ws      sheaf.WorkspaceID
	user    sheaf.UserID
}

// newOwner creates a workspace whose owner is signed in. The service has its real address.
func newOwner(t *testing.T, a *apitest.API) *person {
	t.Helper()
	a.SetIssuer(a.Server.URL)
	first, _, err := a.App.Operator().FirstRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.App.CompleteSetup(t.Context(), first.Link.Token, app.SetUp{Name: "Ada", Email: "ada@example.com", Password: "long enough"}); err != nil {
		t.Fatal(err)
	}
	return signIn(t, a, "ada@example.com")
}

// signIn signs a person in.
func signIn(t *testing.T, a *apitest.API, email string) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, a: a, browser: &http.Client{Jar: jar, Transport: a.Server.Client().Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	if status, _, _ := p.post("/sign-in", url.Values{"email": {email}, "password": {"long enough"}}); status != http.StatusSeeOther {
		t.Fatalf("signing in was answered %d", status)
	}
	at, err := url.Parse(a.Server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.App.Session(t.Context(), jar.Cookies(at)[0].Value)
	for _, c := range jar.Cookies(at) {
		if got, failed := a.App.Session(t.Context(), c.Value); failed == nil {
			s, err = got, nil
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	p.ws, p.user = s.Memberships[0].Workspace.ID, s.User.ID
	return p
}

func (p *person) do(r *http.Request) (status int, location, body string) {
	p.t.Helper()
	answer, err := p.browser.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Location"), string(b)
}

func (p *person) get(address string) (status int, location, body string) {
	p.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = p.a.Server.URL + address
	}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.do(r)
}

func (p *person) post(path string, form url.Values) (status int, location, body string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.a.Server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(r)
}

var backLink = regexp.MustCompile(`class="button primary" href="([^"]+)"`)

// agree opens the address that an app leads to, and agrees to these scopes, or else to those that are ticked. It returns
// the address that leads back to the app.
func (p *person) agree(address string, change func(url.Values)) *url.URL {
	p.t.Helper()
	status, location, body := p.get(address)
	for status == http.StatusSeeOther {
		status, location, body = p.get(location)
	}
	if status != http.StatusOK {
		p.t.Fatalf("the consent page was answered %d: %s", status, body)
	}
	form := url.Values{"request": {attribute(body, `name="request" value="([^"]*)"`)}, "expires": {"90"}}
	for _, m := range regexp.MustCompile(`name="scope" value="([^"]+)" checked`).FindAllStringSubmatch(body, -1) {
		form.Add("scope", m[1])
	}
	if change != nil {
		change(form)
	}
	status, _, body = p.post("/w/"+string(p.ws)+"/connect", form)
	m := backLink.FindStringSubmatch(body)
	if status != http.StatusOK || m == nil {
		p.t.Fatalf("the consent was answered %d: %s", status, body)
	}
	back, err := url.Parse(html.UnescapeString(m[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return back
}

func attribute(body, pattern string) string {
	m := regexp.MustCompile(pattern).FindStringSubmatch(body)
	if m == nil {
		return ""
	}
	return html.UnescapeString(m[1])
}

// client is an app.
type client struct {
	t        *testing.T
	a        *apitest.API
	id       string
	redirect string
	verifier string
}

const testRedirect = "http://127.0.0.1/callback"

func (p *person) app() client {
	p.t.Helper()
	c := client{t: p.t, a: p.a, redirect: testRedirect, verifier: strings.Repeat("verifier-", 6)}
	status, got := c.json(c.send("/oauth/register", "application/json", `{"client_name":"Helper","redirect_uris":["`+testRedirect+`"]}`))
	if status != http.StatusCreated {
		p.t.Fatalf("the registration was answered %d: %v", status, got)
	}
	c.id = got["client_id"].(string)
	return c
}

// query is what the app asks for, which `change` may alter first.
func (c client) query(change func(url.Values)) string {
	sum := sha256.Sum256([]byte(c.verifier))
	q := url.Values{"response_type": {"code"}, "client_id": {c.id}, "redirect_uri": {c.redirect}, "state": {"st&te"}, "scope": {"projects:read documents:write"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {c.a.Connecting.Resource}}
	if change != nil {
		change(q)
	}
	return q.Encode()
}

func (c client) redeem(code string) (int, map[string]any) {
	return c.form("/oauth/token", url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {c.id}, "redirect_uri": {c.redirect}, "code_verifier": {c.verifier}})
}

func (c client) renew(token string) (int, map[string]any) {
	return c.form("/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {c.id}})
}

func (c client) form(path string, form url.Values) (int, map[string]any) {
	c.t.Helper()
	return c.json(c.send(path, "application/x-www-form-urlencoded", form.Encode()))
}

func (c client) send(path, kind, body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.a.Server.URL+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	return c.do(r)
}

func (c client) do(r *http.Request) *http.Response {
	c.t.Helper()
	answer, err := c.a.Server.Client().Transport.RoundTrip(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func (c client) json(answer *http.Response) (int, map[string]any) {
	c.t.Helper()
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	got := map[string]any{}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &got); err != nil {
			c.t.Fatalf("%s is no JSON: %v", b, err)
		}
	}
	return answer.StatusCode, got
}

// want fails the test unless the answer is an error with that code.
func (c client) want(what string, status int, got map[string]any, wantStatus int, code string) {
	c.t.Helper()
	if status != wantStatus || fmt.Sprint(got["error"]) != code || got["error_description"] == "" {
		c.t.Errorf("%s: got %d %v, want %d %s", what, status, got, wantStatus, code)
	}
}

// call makes a request with a token or key to /mcp or the API, and returns the status and the challenge.
func (c client) call(path, token string) (int, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.a.Server.URL+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	if path != "/mcp" {
		r.Method, r.Body, r.ContentLength = http.MethodGet, nil, 0
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer := c.do(r)
	answer.Body.Close()
	return answer.StatusCode, answer.Header.Get("WWW-Authenticate")
}
