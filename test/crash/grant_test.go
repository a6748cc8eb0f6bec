package crash

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proof"
)

// D195: a server is killed between a code and its tokens, and between two refreshes. Tokens that an app got work. If it got
// none, its person is at worst asked again: a refresh that was lost can be repeated, and a lost code leaves nothing behind.
func TestKill_Grants(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{
		"SQLite":     func(*testing.T) string { return "" },
		"PostgreSQL": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConnected(t, newProgram(t, database(t)))
			for range proof.Rounds(1, 40, 100) {
				c.round()
			}
			t.Logf("%d kills, after which a person was asked again %d times", c.kills, c.again)
		})
	}
}

// connected is an app, and a person who agrees to it.
type connected struct {
	*testing.T
	p            *program
	s            *server // that is not killed
	person       *http.Client
	workspace    string
	app          string
	kills, again int
}

const (
	appAddress  = "https://app.example/callback"
	appVerifier = "verifier-verifier-verifier-verifier-verifier"
)

func newConnected(t *testing.T, p *program) *connected {
	t.Helper()
	c := &connected{T: t, p: p, person: newPerson(t)}
	c.workspace = p.Ask(t, "workspace", "create", "--name", "Acme", "--plan", "business", "--owner-email", "ada@example.com")["id"].(string)
	set := p.Command("user", "set-password", "ada@example.com")
	set.Stdin = strings.NewReader(peoplesPassword + "\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.Env = append(p.Env, "SHEAF_PUBLIC_URL=http://127.0.0.1:9")
	c.s = p.start(t, nil)
	browse(c.person, c.s.URL+"/sign-in", url.Values{"email": {"ada@example.com"}, "password": {peoplesPassword}})
	res, err := client.Post(c.s.URL+"/oauth/register", "application/json", strings.NewReader(`{"client_name":"Helper","redirect_uris":["`+appAddress+`"]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("the registration was answered %d, %v", res.StatusCode, err)
	}
	c.app = made.ID
	return c
}

var appCode = regexp.MustCompile(`href="` + regexp.QuoteMeta(appAddress) + `\?code=([\w-]+)&`)

// agree lets the person agree, and returns the code.
func (c *connected) agree() string {
	c.Helper()
	sum := sha256.Sum256([]byte(appVerifier))
	asked := url.Values{"response_type": {"code"}, "client_id": {c.app}, "redirect_uri": {appAddress}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}}
	page := browse(c.person, c.s.URL+"/w/"+c.workspace+"/connect", url.Values{"request": {asked.Encode()}, "scope": {"projects:read"}})
	m := appCode.FindStringSubmatch(html.UnescapeString(page))
	if m == nil {
		c.Fatalf("no code in %s", page)
	}
	return m[1]
}

// given is the answer of the token endpoint. status is 0 if the server died.
type given struct {
	status  int
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Error   string
}

func (c *connected) ask(s *server, path string, form url.Values) (got given) {
	form.Set("client_id", c.app)
	res, err := client.PostForm(s.URL+path, form)
	if err != nil {
		return got
	}
	defer res.Body.Close()
	if path == "/oauth/token" && json.NewDecoder(res.Body).Decode(&got) != nil {
		return given{}
	}
	got.status = res.StatusCode
	return got
}

// killed asks a server that is killed at some moment of the request, or soon afterwards. Then the program runs again.
func (c *connected) killed(form url.Values) given {
	c.Helper()
	c.s.Kill()
	victim := c.p.start(c.T, nil, killAt([]string{failpoint.Statement, failpoint.BeforeCommit, failpoint.AfterCommit, failpoint.BeforeAnswer}[rand.IntN(4)], 1+rand.IntN(12)))
	got := c.ask(victim, "/oauth/token", form)
	victim.Kill()
	c.kills++
	c.s = c.p.start(c.T, nil)
	return got
}

// round connects the app, renews its tokens once, and disconnects it.
func (c *connected) round() {
	c.Helper()
	redeem := func(code string) url.Values {
		return url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {appAddress}, "code_verifier": {appVerifier}}
	}
	code := c.agree()
	got := c.killed(redeem(code))
	if got.status == 0 {
		got = c.ask(c.s, "/oauth/token", redeem(code))
	}
	if got.Error == "invalid_grant" {
		c.again++
		got = c.ask(c.s, "/oauth/token", redeem(c.agree()))
	}
	if got.status != http.StatusOK {
		c.Fatalf("the code was answered %+v", got)
	}
	began, renew := time.Now(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}}
	next := c.killed(renew)
	if next.status == 0 {
		next = c.ask(c.s, "/oauth/token", renew)
	}
	if next.Error == "invalid_grant" && time.Since(began) > 30*time.Second { // the machine is slow: the old token may have ended
		c.again++
		return
	}
	if next.status != http.StatusOK {
		c.Fatalf("the refresh was answered %+v", next)
	}
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.s.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+next.Access)
	r.Header.Set("Content-Type", "application/json")
	res, err := client.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		c.Errorf("a token that the app got is answered %d", res.StatusCode)
	}
	c.ask(c.s, "/oauth/revoke", url.Values{"token": {next.Refresh}})
}
