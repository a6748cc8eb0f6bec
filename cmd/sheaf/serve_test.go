package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

var (
	printedLink = regexp.MustCompile(`http://\S+/setup/\S+`)
	printedKey  = regexp.MustCompile(`shf_\w{46}`)
	printedCurl = regexp.MustCompile(`curl -H 'Authorization: Bearer (shf_\w+)' (\S+)`)
)

func TestServe_FirstRunPrintsWhatWorks(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data)
	out := s.stdout.String()
	curl, link := printedCurl.FindStringSubmatch(out), printedLink.FindString(out)
	if curl == nil || link == "" || !strings.Contains(out, s.url+"/docs") {
		t.Fatalf("printed %q", out)
	}
	if got := status(t, curl[2], curl[1]); got != http.StatusOK {
		t.Errorf("the printed curl gets %d", got)
	}
	for range 2 { // opening the link does not use it up
		if got := status(t, link, ""); got != http.StatusOK {
			t.Errorf("the link shows %d", got)
		}
	}
	for path, want := range map[string]os.FileMode{"": 0o700, "master.key": 0o600} {
		if got := mode(t, filepath.Join(data, path)); got != want {
			t.Errorf("%s has mode %o", filepath.Join("data", path), got)
		}
	}
	s.stop(t)

	again := start(t, "--data", data).stdout.String()
	if printedKey.MatchString(again) || printedLink.MatchString(again) || !strings.Contains(again, "/docs") || !strings.Contains(again, "sheaf user setup-link") {
		t.Errorf("the second start printed %q", again)
	}
}

// printedSetup returns the arguments of the command that the server prints for a new link.
func printedSetup(t *testing.T, out string) []string {
	t.Helper()
	found := regexp.MustCompile(`sheaf (user setup-link [^)\n]*)`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no command in %q", out)
	}
	return strings.Fields(found[1])
}

func TestServe_HintsAreWordsOfAShell(t *testing.T) {
	for path, want := range map[string]string{"./data": "./data", "/var/lib/sheaf": "/var/lib/sheaf", "my data": "'my data'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "": "''"} {
		if got := shellWord(path); got != want {
			t.Errorf("%q is shown as %s", path, got)
		}
	}
}

// A server that was started by go run prints commands with go run.
func TestServe_HintsNameWhatTheShellHas(t *testing.T) {
	s := &config.Settings{}
	s.Data = "./data"
	for path, want := range map[string]string{"/usr/bin/sheaf": "sheaf", "/root/.cache/go-build/0b/0b5e-d/sheaf": "go run ./cmd/sheaf", "/tmp/go-build2100800202/b001/exe/sheaf": "go run ./cmd/sheaf"} {
		p := &program{name: calledFrom(path, nil)}
		if got := p.setupCommand(s, "http://127.0.0.1:8080"); got != want+" user setup-link --data ./data --public-url http://127.0.0.1:8080" {
			t.Errorf("at %s it says %s", path, got)
		}
	}
}

func TestServe_TheLinkWorksOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data)
	first := printedLink.FindString(s.stdout.String())
	newer := strings.TrimSpace(sheafCommand(t, printedSetup(t, s.stdout.String())...).succeeds(t))
	if !strings.HasPrefix(newer, s.url+"/setup/") {
		t.Fatalf("the printed command makes %s for the server at %s", newer, s.url)
	}
	if got := status(t, first, ""); got != http.StatusNotFound {
		t.Errorf("the replaced link shows %d", got)
	}
	post := func(password, again string) int {
		answer, err := http.PostForm(newer, url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {password}, "again": {again}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if got := post("short", "short"); got != http.StatusBadRequest {
		t.Errorf("a short password gets %d", got)
	}
	if got := post("long enough", "longer enough"); got != http.StatusBadRequest {
		t.Errorf("two passwords get %d", got)
	}
	if got := post("long enough", "long enough"); got != http.StatusOK {
		t.Errorf("the form gets %d", got)
	}
	if got := post("long enough", "long enough"); got != http.StatusNotFound {
		t.Errorf("the form sent again gets %d", got)
	}
	sheafCommand(t, "user", "setup-link", "--data", data).fails(t, "set-up is finished")
}

func TestServe_FirstRunIntoAFile(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data, "--first-run", "file")
	path := filepath.Join(data, "first-run.txt")
	if got := s.stdout.String(); got != path+"\n" {
		t.Errorf("printed %q, want only the path", got)
	}
	content, err := os.ReadFile(path)
	if err != nil || mode(t, path) != 0o600 || !printedKey.Match(content) || !printedLink.Match(content) {
		t.Errorf("mode %o, %v: %s", mode(t, path), err, content)
	}
	if key := printedKey.FindString(string(content)); strings.Contains(s.stderr.String(), key) {
		t.Error("the key is in the log")
	}
}

func TestServe_FirstRunNoneMakesNothing(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data, "--first-run", "none")
	if got := s.stdout.String(); got != "" {
		t.Errorf("printed %q", got)
	}
	if got := sheafCommand(t, "workspace", "list", "--json", "--data", data).succeeds(t); got != "[]\n" {
		t.Errorf("made %s", got)
	}
	sheafCommand(t, "user", "setup-link", "--data", data).fails(t, "no user to set up")
}

// D55: a running server sees a change by the command line within 2 seconds.
func TestServe_SeesChangesByTheCommandLine(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data, "--first-run", "none", "--rate-limit", "pro=0")
	where := []string{"--data", data}
	ws := createWorkspace(t, where, "pro")
	k := decoded[keyRecord](t, sheafCommand(t, "key", "create", "--json", "--data", data, "--workspace", ws.ID, "--name", "k", "--scopes", "all").succeeds(t))
	me := s.url + "/api/v1/me"
	becomes(t, me, k.Key, http.StatusOK)
	sheafCommand(t, "workspace", "set-plan", ws.ID, "free", "--data", data).succeeds(t)
	becomes(t, me, k.Key, http.StatusForbidden)
	sheafCommand(t, "workspace", "set-plan", ws.ID, "pro", "--data", data).succeeds(t)
	becomes(t, me, k.Key, http.StatusOK)
	sheafCommand(t, "key", "revoke", k.ID, "--data", data).succeeds(t)
	becomes(t, me, k.Key, http.StatusUnauthorized)
}

func TestServe_RefusesASecondOnTheSameFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	start(t, "--data", data)
	sheafCommand(t, "serve", "--addr", "127.0.0.1:0", "--data", data).fails(t, "another sheaf serve", "--data")
}

func TestServe_ATakenPortNamesTheFlagAndKeepsTheFirstRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := filepath.Join(t.TempDir(), "data")
	sheafCommand(t, "serve", "--addr", l.Addr().String(), "--data", data).fails(t, "--addr")
	sheafCommand(t, "serve", "--addr", "127.0.0.1:0", "--metrics-addr", l.Addr().String(), "--data", data).fails(t, "--metrics-addr")
	if out := start(t, "--data", data).stdout.String(); !printedKey.MatchString(out) {
		t.Errorf("the failed starts used up the first run: %q", out)
	}
}

func TestServe_WrongSettingsGetALineEach(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	r := sheafCommand(t, "serve", "--data", data, "--addr", "nowhere", "--retention", "soon")
	if r.code != 1 || strings.Count(r.stderr, "\n") != 2 || !strings.Contains(r.stderr, "sheaf: --addr") || !strings.Contains(r.stderr, "sheaf: --retention") {
		t.Errorf("ended with %d: %s", r.code, r.stderr)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestServe_RefusesDatabasesThatAreNotItsOwn(t *testing.T) {
	serve := func(data string) result { return sheafCommand(t, "serve", "--addr", "127.0.0.1:0", "--data", data) }
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "sheaf.db"), bytes.Repeat([]byte("not a database "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(foreign).fails(t, "sheaf.db")

	newer := t.TempDir()
	sheafCommand(t, "migrate", "--data", newer).succeeds(t)
	alter(t, newer, "INSERT INTO schema_compat (version, oldest) VALUES (999, 999)")
	serve(newer).fails(t, "999", "upgrade sheaf")
	sheafCommand(t, "workspace", "list", "--data", newer).fails(t, "upgrade sheaf")
}

func TestServe_RefusesAnotherMasterKey(t *testing.T) {
	data := t.TempDir()
	path := filepath.Join(data, "master.key")
	start(t, "--data", data).stop(t)
	own, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(args ...string) result {
		return sheafCommand(t, append([]string{"serve", "--addr", "127.0.0.1:0", "--data", data}, args...)...)
	}
	serve("--master-key", base64.StdEncoding.EncodeToString(make([]byte, 32))).fails(t, "--master-key is another key", "copy master.key")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	serve().fails(t, "does not exist", "copy master.key")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("a key was made for a database that has one: %v", err)
	}
	start(t, "--data", data, "--master-key", strings.TrimSpace(string(own))).stop(t)
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	serve().fails(t, path+" must hold one line", "32 bytes in base64", "openssl rand -base64 32", "put the file back")
	missing := filepath.Join(t.TempDir(), "of nobody.key")
	sheafWith(t, environment{"SHEAF_MASTER_KEY_FILE": missing}, "", "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir()).
		fails(t, "--master-key: cannot be read", "SHEAF_MASTER_KEY_FILE", "(umask 077; openssl rand -base64 32 > \""+missing+"\")")
}

// Two nodes with separate folders: one makes the key and the first run. The other reports which file to
// copy, and leaves no wrong key behind.
func TestServe_TwoNodesOnPostgreSQL(t *testing.T) {
	database := pgtest.URL(t)
	a, b := t.TempDir(), t.TempDir()
	first := start(t, "--database-url", database, "--data", a)
	if !printedKey.MatchString(first.stdout.String()) {
		t.Errorf("the first node printed %q", first.stdout.String())
	}
	sheafCommand(t, "serve", "--addr", "127.0.0.1:0", "--database-url", database, "--data", b).fails(t, "copy master.key")
	if _, err := os.Stat(filepath.Join(b, "master.key")); !os.IsNotExist(err) {
		t.Errorf("the second node left a key: %v", err)
	}
	// Both nodes can use the same folder: with PostgreSQL it is not locked.
	if out := start(t, "--database-url", database, "--data", a).stdout.String(); printedKey.MatchString(out) {
		t.Errorf("the second node printed %q", out)
	}
}

func TestHealthcheck(t *testing.T) {
	s := start(t, "--data", t.TempDir())
	sheafCommand(t, "healthcheck", "--server", s.url+"/").succeeds(t)
	addr := strings.TrimPrefix(s.url, "http://")
	sheafWith(t, environment{"SHEAF_ADDR": addr}, "", "healthcheck").succeeds(t)
	sheafCommand(t, "healthcheck", "--addr", addr).succeeds(t)
	file := filepath.Join(t.TempDir(), "sheaf.conf")
	if err := os.WriteFile(file, []byte("addr = "+addr+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sheafCommand(t, "healthcheck", "--config", file).succeeds(t)
	// A flag overrides the server of the environment.
	sheafWith(t, environment{"SHEAF_SERVER": "http://127.0.0.1:1"}, "", "healthcheck", "--addr", addr).succeeds(t)
	sheafCommand(t, "healthcheck", "--server", s.url, "--addr", addr).fails(t, "--server", "leave out --addr")
	s.stop(t)
	sheafCommand(t, "healthcheck", "--addr", addr).fails(t, "does not answer")
	sheafWith(t, environment{"SHEAF_SERVER": s.url}, "", "healthcheck").fails(t, "does not answer")
	sheafCommand(t, "healthcheck", "--server", "nowhere").fails(t, "--server")
}

// freeAddress returns an address that was free a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + port
}

func TestMetrics_OnAListenerOfTheirOwn(t *testing.T) {
	addr := freeAddress(t)
	s := start(t, "--data", t.TempDir(), "--metrics-addr", addr)
	if got := status(t, "http://"+addr+"/metrics", ""); got != http.StatusOK {
		t.Errorf("/metrics answers %d", got)
	}
	if got := status(t, s.url+"/metrics", ""); got != http.StatusNotFound {
		t.Errorf("/metrics on the API's listener answers %d", got)
	}
}

func TestBaseURL(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "0.0.0.0:80": "http://localhost:80", "[::]:80": "http://localhost:80",
		":80": "http://localhost:80", "[::1]:80": "http://[::1]:80", "box.lan:80": "http://box.lan:80",
	} {
		settings, err := (&serveCommand{}).Load(environment{}.lookup)
		if err != nil {
			t.Fatal(err)
		}
		if got := baseURL(settings, addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// D205: with --plan-changes operator, the console of a running server refuses an owner's change of
// the plan.
func TestServe_PlansOfTheOperator(t *testing.T) {
	s := start(t, "--data", filepath.Join(t.TempDir(), "data"), "--plan-changes", "operator")
	send := newBrowser(t).send
	_, home, _ := send(http.MethodPost, printedLink.FindString(s.stdout.String()), url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {"long enough"}, "again": {"long enough"}})
	workspace := regexp.MustCompile(`^/w/[0-9a-f-]{36}`).FindString(home)
	if workspace == "" {
		t.Fatalf("the set-up leads to %s", home)
	}
	if _, _, page := send(http.MethodGet, s.url+workspace+"/settings", nil); !strings.Contains(page, "The operator of this server changes plans.") {
		t.Errorf("the page does not say whom to ask: %s", page)
	}
	if code, _, _ := send(http.MethodPost, s.url+workspace+"/settings/plan", url.Values{"plan": {"free"}}); code != http.StatusForbidden {
		t.Errorf("the owner's change gets %d", code)
	}
}

// D191: with --require-second-factor, the first owner sets up a second factor before anything else. A new password of
// the operator leaves it, and reset-factors removes it.
func TestServe_RequiresASecondFactor(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	s := start(t, "--data", data, "--require-second-factor")
	browser := newBrowser(t)
	_, at, page := browser.send(http.MethodPost, printedLink.FindString(s.stdout.String()), url.Values{"name": {"Ada"}, "email": {"ada@example.com"}, "password": {"long enough"}, "again": {"long enough"}})
	if at != "/sign-in/set-up" {
		t.Fatalf("the set-up leads to %s", at)
	}
	if _, at, _ := browser.send(http.MethodGet, s.url+"/account", nil); at != "/sign-in" {
		t.Errorf("without a second factor, the account leads to %s", at)
	}
	offer := regexp.MustCompile(`name="offer" value="([^"]+)"`).FindStringSubmatch(page)
	secret := regexp.MustCompile(`<code id="factor-secret">([A-Z2-7 ]+)</code>`).FindStringSubmatch(page)
	if offer == nil || secret == nil {
		t.Fatalf("nothing is offered: %s", page)
	}
	code, err := totp.GenerateCode(strings.ReplaceAll(secret[1], " ", ""), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, page = browser.send(http.MethodPost, s.url+"/sign-in/set-up", url.Values{"offer": {offer[1]}, "code": {code}}); !strings.Contains(page, "Keep your recovery codes") {
		t.Fatalf("after the code: %s", page)
	}
	if _, at, _ := browser.send(http.MethodGet, s.url+"/account", nil); at != "/account" {
		t.Errorf("with a second factor, the account leads to %s", at)
	}
	sheafWith(t, nil, "a new password\n", "user", "set-password", "ada@example.com", "--data", data).succeeds(t)
	signIn := url.Values{"email": {"ada@example.com"}, "password": {"a new password"}}
	if _, at, _ := browser.send(http.MethodPost, s.url+"/sign-in", signIn); at != "/sign-in/code" {
		t.Errorf("after a new password, signing in leads to %s", at)
	}
	if list := sheafCommand(t, "user", "list", "--data", data).succeeds(t); strings.Count(list, " set ") != 2 {
		t.Errorf("the list is %q", list)
	}
	if got := sheafCommand(t, "user", "reset-factors", "ADA@example.com", "--data", data).succeeds(t); got != "the second factor of ADA@example.com is removed, and every browser is signed out\n" {
		t.Errorf("reset-factors prints %q", got)
	}
	if _, at, _ := browser.send(http.MethodPost, s.url+"/sign-in", signIn); at != "/sign-in/set-up" {
		t.Errorf("after reset-factors, signing in leads to %s", at)
	}
	if got := sheafCommand(t, "user", "reset-factors", "ada@example.com", "--data", data).succeeds(t); got != "ada@example.com has no second factor: nothing was changed\n" {
		t.Errorf("reset-factors again prints %q", got)
	}
	sheafCommand(t, "user", "reset-factors", "bob@example.com", "--data", data).fails(t, "sheaf user list shows all users")
}

// browser keeps cookies, and follows redirects.
type browser struct {
	t *testing.T
	http.Client
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t, http.Client{Jar: jar}}
}

// send returns the status, the path and the text of the page at the end.
func (b *browser) send(method, url string, form url.Values) (int, string, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	got, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return got.StatusCode, got.Request.URL.Path, string(body)
}
