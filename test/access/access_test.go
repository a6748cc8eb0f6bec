// Package access plants canaries, strings that occur nowhere else, in one workspace's data and in every secret, and
// looks for them wherever they must not be: in another workspace's answers, in the log, in the metrics, in the file.
package access

import (
	"bytes"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
	"sheaf.dev/internal/sheaftest/proof"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(sheaftest.Patient(m), goleak.Cleanup(proctest.Exit))
}

// canary marks data of the victim. Secrets are canaries by themselves.
const canary = "canary-7f3a9c"

const password = "canary-password-52b1"

// scene is a served program with a victim, who has something of everything, and a thief.
type scene struct {
	t        *testing.T
	program  *proctest.Program
	server   *proctest.Server
	log      bytes.Buffer // complete when the server has ended
	victim   string       // keys
	thief    string
	home     string            // the victim's workspace
	ids      []string          // of everything the victim has
	secrets  map[string]string // by what they are
	answers  int
	searched int
	found    []string
	share    string   // the path of a share of the victim's, which shows nothing that has the canary
	tokens   []string // of all shares
	readers  int      // of pages of shares, so far
}

func TestAccess_NoCanaryIsSeen(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s := newScene(t)
	s.fill()
	before := s.belongings()
	own := s.rob()
	for path, answer := range s.belongings() {
		if answer != before[path] {
			s.found = append(s.found, fmt.Sprintf("a thief changed %s: it was %s, and is %s", path, before[path], answer))
		}
	}
	s.readShare()
	metrics := s.get(nil, s.server.Metrics)
	s.look("metrics", metrics)
	s.lookForTokens("metrics", metrics)
	s.server.Kill()
	s.look("log", s.log.Bytes())
	s.lookForTokens("log", s.log.Bytes())
	inFile := s.lookIntoFiles()
	for _, f := range s.found {
		t.Error(f)
	}
	proof.Row{
		Name: "access, canaries",
		Figures: []proof.Figure{{Name: "answers", Value: s.answers}, {Name: "bytes searched", Value: s.searched},
			{Name: "secrets", Value: len(s.secrets)}, {Name: "ids", Value: len(s.ids)}},
		Lost:    len(s.found),
		Control: "the victim's own answers, and the file, have the canary of the data",
		Caught:  own && inFile,
	}.Report(t)
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, program: proctest.New(t), secrets: map[string]string{}}
	s.program.Log = &s.log
	workspace := s.program.Ask(t, "workspace", "create", "--name", canary, "--plan", "business", "--owner-email", "victim@example.com")
	s.home = workspace["id"].(string)
	s.victim = s.program.Ask(t, "key", "create", "--workspace", s.home, "--name", canary, "--scopes", "all")["key"].(string)
	s.secrets["key of the command line"] = s.victim
	other := s.program.Ask(t, "workspace", "create", "--name", "Thief", "--plan", "business", "--owner-email", "thief@example.com")
	s.thief = s.program.Ask(t, "key", "create", "--workspace", other["id"].(string), "--name", "thief", "--scopes", "all")["key"].(string)
	s.setPassword("victim@example.com", password)
	s.setPassword("thief@example.com", "thief thief thief")
	s.secrets["password"] = password
	s.server = s.program.StartWithMetrics(t, "--log-level", "debug", "--webhook-allow-cidr", "127.0.0.0/8",
		"--webhook-retry-delays", "1ms,1ms,1ms", "--trusted-proxy", "127.0.0.0/8")
	return s
}

func (s *scene) setPassword(email, password string) {
	s.t.Helper()
	cmd := exec.Command(s.program.Binary, "user", "set-password", email, "--data", s.program.Data)
	cmd.Stdin = strings.NewReader(password + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("set the password: %v: %s", err, out)
	}
}

// make creates something as the victim and returns the answer.
func (s *scene) make(path string, body map[string]any) map[string]any {
	s.t.Helper()
	var made map[string]any
	status, err := s.server.Call(s.victim, http.MethodPost, path, body, &made)
	if err != nil || status >= 300 {
		s.t.Fatalf("POST %s: %d %v %v", path, status, err, made)
	}
	if inner, ok := made["subscription"].(map[string]any); ok {
		made = inner // the contract wraps it
	}
	if id, ok := made["id"].(string); ok {
		s.ids = append(s.ids, id)
	}
	return made
}

// fill gives the victim one of everything, with a canary wherever a text can be.
func (s *scene) fill() {
	folder := s.make("/api/v1/folders", map[string]any{"name": canary, "entity_type": "project"})
	project := s.make("/api/v1/projects", map[string]any{"name": canary, "description": canary, "folder_id": folder["id"],
		"external_id": canary, "url": "https://example.com/" + canary, "metadata": map[string]string{canary: canary}})
	looks := s.make("/api/v1/folders", map[string]any{"name": canary, "entity_type": "branding"})
	s.make("/api/v1/brandings", map[string]any{"name": canary, "footer": canary, "folder_id": looks["id"]})
	hook := s.make("/api/webhooks/subscriptions", map[string]any{"name": canary, "url": "https://127.0.0.1:1/" + canary,
		"events": []string{"document.created"}, "headers": map[string]string{"X-Token": "canary-header-93c0"}})
	s.secrets["value of a header"] = "canary-header-93c0"
	s.secrets["webhook secret"] = hook["secret"].(string)
	rotated := s.make("/api/webhooks/subscriptions/"+hook["id"].(string)+"/rotate-secret", map[string]any{})
	s.secrets["rotated webhook secret"] = rotated["secret"].(string)
	document := s.make("/api/v1/documents", map[string]any{"title": canary, "description": canary, "project_id": project["id"], "content": "# " + canary,
		"external_id": canary, "url": "https://example.com/" + canary, "metadata": map[string]string{canary: canary}})
	s.rewrite(document["id"].(string))
	s.make("/api/v1/media?filename="+canary+"&document_id="+document["id"].(string), map[string]any{"bytes": canary})
	s.beginUpload()
	s.publish(document["id"].(string), project["id"].(string), folder["id"].(string))
	s.make("/api/webhooks/subscriptions/"+hook["id"].(string)+"/test", nil)
	key := s.make("/api/v1/api-keys", map[string]any{"name": canary, "scopes": []string{"projects:read"}})
	s.secrets["key"] = key["key"].(string)
	var events struct{ Data []struct{ ID string } }
	if _, err := s.server.Call(s.victim, http.MethodGet, "/api/v1/events", nil, &events); err != nil {
		s.t.Fatal(err)
	}
	for _, e := range events.Data {
		s.ids = append(s.ids, e.ID)
	}
	var deliveries struct{ Data []struct{ ID string } }
	if _, err := s.server.Call(s.victim, http.MethodGet, "/api/webhooks/subscriptions/"+hook["id"].(string)+"/deliveries", nil, &deliveries); err != nil {
		s.t.Fatal(err)
	}
	for _, d := range deliveries.Data {
		s.ids = append(s.ids, d.ID)
	}
}

// beginUpload leaves an upload of the victim's that is not finished.
func (s *scene) beginUpload() {
	s.t.Helper()
	req := s.request(http.MethodPost, "/api/v1/uploads", s.victim, nil)
	req.Header.Set("Upload-Length", "10")
	req.Header.Set("Upload-Metadata", "filename "+base64.StdEncoding.EncodeToString([]byte(canary)))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	_, id, ok := strings.Cut(res.Header.Get("Location"), "/uploads/")
	if !ok {
		s.t.Fatalf("begin an upload: %d %v", res.StatusCode, res.Header)
	}
	s.ids = append(s.ids, id)
}

// belongings are the victim's data, by the addresses of the lists. Nothing that somebody else asks for changes them.
func (s *scene) belongings() map[string]string {
	all := map[string]string{}
	for _, noun := range []string{"projects", "folders", "brandings", "documents", "documents?deleted=true", "media", "shares"} {
		all[noun] = string(s.ask(s.victim, target{http.MethodGet, "/api/v1/" + noun}).body)
	}
	for _, id := range s.ids {
		all["the text of "+id] = string(s.ask(s.victim, target{http.MethodGet, "/api/v1/documents/" + id + "/content"}).body)
		all["the upload "+id] = s.ask(s.victim, target{http.MethodHead, "/api/v1/uploads/" + id}).header.Get("Upload-Offset")
	}
	return all
}

// publish shares the document, the project and the folder, which have canaries, under a password and for a while; and a
// document and a folder that have none, which name the others.
func (s *scene) publish(document, project, folder string) {
	open := s.make("/api/v1/documents", map[string]any{"title": "Open", "content": "Everybody reads this, and not [this](document:" + document + ")."})
	site := s.make("/api/v1/folders", map[string]any{"name": "Open folder", "entity_type": "project"})["id"]
	in := s.make("/api/v1/projects", map[string]any{"name": "Open project", "folder_id": site})["id"]
	s.make("/api/v1/documents", map[string]any{"title": "Open page", "project_id": in, "content": "Not [this](document:" + document + ")."})
	for _, body := range []map[string]any{
		{"resource_type": "document", "resource_id": open["id"], "listed": true},
		{"resource_type": "document", "resource_id": document, "password": sharePassword, "listed": true},
		{"resource_type": "project", "resource_id": project, "password": sharePassword},
		{"resource_type": "folder", "resource_id": folder, "password": sharePassword},
		{"resource_type": "folder", "resource_id": site, "listed": true},
	} {
		at, err := url.Parse(s.make("/api/v1/shares", body)["url"].(string))
		if err != nil {
			s.t.Fatal(err)
		}
		s.tokens = append(s.tokens, strings.TrimPrefix(at.Path, "/s/"))
	}
	s.share = "/s/" + s.tokens[0]
	s.secrets["password of a share"] = sharePassword
}

const sharePassword = "canary-open-sesame-61f0"

// readShare reads the open share as nobody, and tries every id of the victim's at every address below it, and at those of
// the shares that have a password: nothing but what it shows is there.
func (s *scene) readShare() {
	if page := s.read(s.share); !bytes.Contains(page, []byte("Everybody reads this")) {
		s.t.Fatalf("the share does not show its document: %s", page)
	}
	for _, token := range s.tokens {
		root := "/s/" + token
		for _, at := range []string{"", "/raw", "/logo", "/search?q=" + canary[7:11], "/index.md", "/llms.txt", "/sitemap.xml"} {
			s.look("page of a share "+at, s.read(root+at))
		}
		for _, id := range s.ids {
			for _, at := range []string{"/" + id, "/" + id + "/raw", "/" + id + ".md", "/media/" + id, "/" + s.ids[1] + "/media/" + id, "/" + id + "/media/" + id} {
				s.look("page of a share, "+at, s.read(root+at))
			}
		}
	}
}

// read asks for a page of a share, each time from another address: one may ask 120 times a minute.
func (s *scene) read(path string) []byte {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.readers++
	req.Header.Set("X-Forwarded-For", fmt.Sprintf("10.9.%d.%d", s.readers/250, 1+s.readers%250))
	return s.do(nil, req).whole()
}

// lookForTokens notes the address of a share where only its reader may have it.
func (s *scene) lookForTokens(where string, b []byte) {
	for _, token := range s.tokens {
		if bytes.Contains(b, []byte(token)) {
			s.found = append(s.found, where+" has the address of a share")
		}
	}
}

// rewrite gives a document another text, and checks that the first one is still read as a past version: what the thief
// is refused is there.
func (s *scene) rewrite(document string) {
	path := "/api/v1/documents/" + document
	if _, err := s.server.Call(s.victim, http.MethodPatch, path, map[string]any{"content": "now " + canary}, nil); err != nil {
		s.t.Fatal(err)
	}
	var past struct{ Content string }
	if _, err := s.server.Call(s.victim, http.MethodGet, path+"/versions/1", nil, &past); err != nil || past.Content != "# "+canary {
		s.t.Fatalf("the first version has %q, %v", past.Content, err)
	}
}

// rob asks for everything: as nobody, as the thief, and in the console. It reports whether the victim's own answers
// have the canary; secrets must be in none of them either.
func (s *scene) rob() (own bool) {
	for _, target := range s.targets() {
		for _, key := range []string{"", s.thief} {
			s.look("answer to a thief: "+target.String(), s.ask(key, target).whole())
		}
		if target.method == http.MethodGet {
			answer := s.ask(s.victim, target).whole()
			own = own || bytes.Contains(answer, []byte(canary))
			s.lookForSecrets("answer to the victim: "+target.String(), answer)
		}
	}
	s.browse()
	return own
}

type target struct{ method, path string }

func (t target) String() string { return t.method + " " + t.path }

// targets are all operations of the API, with each of the victim's ids where one belongs.
func (s *scene) targets() (out []target) {
	var reference struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(s.get(nil, s.server.URL+"/openapi.json"), &reference); err != nil {
		s.t.Fatal(err)
	}
	for path, operations := range reference.Paths {
		for method := range operations {
			if method = strings.ToUpper(method); !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, method) {
				continue
			}
			if strings.HasSuffix(path, "/stream") {
				continue // it has no end; its rows are those of the log
			}
			if !strings.Contains(path, "{id}") {
				// By a part of the canary too, which the answer does not repeat: search finds it by that.
				out = append(out, target{method, path}, target{method, path + "?q=" + canary}, target{method, path + "?q=" + canary[7:11]},
					target{method, path + "?deleted=true"}, target{method, path + "?external_id=" + canary})
				continue
			}
			for _, id := range s.ids {
				out = append(out, target{method, strings.NewReplacer("{id}", id, "{n}", "1").Replace(path)})
			}
		}
	}
	if len(out) < 100 {
		s.t.Fatalf("only %d targets", len(out))
	}
	return out
}

// ask makes a request with a body that names the victim's things, and returns the answer.
func (s *scene) ask(key string, t target) answer {
	s.t.Helper()
	b, err := json.Marshal(map[string]any{"name": "n", "title": "t", "folder_id": s.ids[0], "project_id": s.ids[1], "parent_id": s.ids[0],
		"entity_type": "project", "url": "https://127.0.0.1:1/", "events": []string{"document.created"}, "scopes": []string{"projects:read"},
		"type": "media.uploaded", "resource_id": s.ids[0], "since": "2020-01-01T00:00:00Z"})
	if err != nil {
		s.t.Fatal(err)
	}
	kind := "application/json"
	switch {
	case strings.HasPrefix(t.path, "/api/v1/uploads/"):
		kind, b = "application/offset+octet-stream", b[:5]
	case t.method == http.MethodPut && strings.HasSuffix(t.path, "/content"):
		kind = "text/markdown"
	case t.method != http.MethodPost && t.method != http.MethodPatch:
		b = nil
	}
	req := s.request(t.method, t.path, key, bytes.NewReader(b))
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Upload-Offset", "0")
	return s.do(nil, req)
}

// request is one of the API, with a key unless that is empty, and in the version of uploads that is spoken here.
func (s *scene) request(method, path, key string, body io.Reader) *http.Request {
	s.t.Helper()
	req, err := http.NewRequest(method, s.server.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	req.Header.Set("Tus-Resumable", "1.0.0")
	return req
}

// answer is what a request got.
type answer struct {
	header http.Header
	body   []byte
}

// whole is all of it, in which a canary may be.
func (a answer) whole() []byte {
	var b bytes.Buffer
	_ = a.header.Write(&b)
	b.Write(a.body)
	return b.Bytes()
}

func (s *scene) get(jar http.CookieJar, address string) []byte {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(jar, req).body
}

func (s *scene) do(jar http.CookieJar, req *http.Request) answer {
	s.t.Helper()
	res, err := (&http.Client{Jar: jar}).Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.lookForSecrets("header of "+req.URL.Path, answer{header: res.Header}.whole())
	s.answers++
	return answer{res.Header, body}
}

// browse opens the console as the thief, in the victim's workspace; and as the victim, to have a session that must be
// kept as a hash.
func (s *scene) browse() {
	thief, victim := s.signIn("thief@example.com", "thief thief thief"), s.signIn("victim@example.com", password)
	home, err := url.Parse(s.server.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	s.secondFactor(victim, home)
	for _, c := range victim.Cookies(home) {
		s.secrets["session"] = c.Value
	}
	if s.secrets["session"] == "" {
		s.t.Fatal("the victim could not sign in to the console")
	}
	for _, page := range []string{"", "/projects", "/keys", "/webhooks", "/activity", "/members", "/settings", "/search?q=" + canary} {
		s.look("console, "+page, s.get(thief, s.server.URL+"/w/"+s.home+page))
		s.lookForSecrets("console of the victim, "+page, s.get(victim, s.server.URL+"/w/"+s.home+page))
	}
}

// secondFactor sets up the second factor of the victim, gives a wrong code, and signs in with a recovery code. The secret,
// the recovery codes and the pending sign-in are canaries.
func (s *scene) secondFactor(victim http.CookieJar, home *url.URL) {
	s.t.Helper()
	const page = "/account/second-factor"
	offer := string(s.get(victim, s.server.URL+page))
	part := func(in, pattern string) string {
		s.t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(in)
		if m == nil {
			s.t.Fatalf("%s is not in %s", pattern, in)
		}
		return m[1]
	}
	secret := strings.ReplaceAll(part(offer, `<code id="factor-secret">([A-Z2-7 ]+)</code>`), " ", "")
	raw, err := base32.StdEncoding.DecodeString(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	code, err := totp.GenerateCode(secret, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	codes := s.send(victim, page, url.Values{"offer": {part(offer, `name="offer" value="([^"]+)"`)}, "code": {code}, "current": {password}})
	s.secrets["secret of the second factor"], s.secrets["bytes of the second factor"] = secret, string(raw)
	all := regexp.MustCompile(`<li><code>([a-z2-7-]{19})</code></li>`).FindAllStringSubmatch(codes, -1)
	if len(all) != 10 {
		s.t.Fatalf("%d recovery codes in %s", len(all), codes)
	}
	for i, m := range all {
		s.secrets[fmt.Sprintf("recovery code %d", i)] = m[1]
		s.secrets[fmt.Sprintf("recovery code %d without hyphens", i)] = strings.ReplaceAll(m[1], "-", "")
		s.secrets[fmt.Sprintf("recovery code %d in capitals", i)] = strings.ToUpper(strings.ReplaceAll(m[1], "-", ""))
	}
	again := s.signIn("victim@example.com", password)
	for _, c := range again.Cookies(home) {
		s.secrets["pending sign-in"] = c.Value
	}
	if refused := s.send(again, "/sign-in/code", url.Values{"code": {"aaaa-aaaa-aaaa-aaaa"}}); !strings.Contains(refused, "The recovery code is wrong") {
		s.t.Fatalf("a wrong code is answered by %s", refused)
	}
	if account := s.send(again, "/sign-in/code", url.Values{"code": {all[0][1]}, "next": {"/account"}}); !strings.Contains(account, "9 recovery codes left") {
		s.t.Fatalf("a recovery code is answered by %s", account)
	}
}

// send sends a form of the console, and returns the page that follows.
func (s *scene) send(jar http.CookieJar, path string, form url.Values) string {
	s.t.Helper()
	res, err := (&http.Client{Jar: jar}).PostForm(s.server.URL+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

func (s *scene) signIn(email, password string) http.CookieJar {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	res, err := (&http.Client{Jar: jar}).PostForm(s.server.URL+"/sign-in", url.Values{"email": {email}, "password": {password}})
	if err != nil {
		s.t.Fatal(err)
	}
	res.Body.Close()
	return jar
}

// look notes the canaries in something that may hold none: what was asked for by the canary repeats it.
func (s *scene) look(where string, b []byte) {
	if !strings.Contains(where, canary) && where != "log" && bytes.Contains(b, []byte(canary)) {
		s.found = append(s.found, fmt.Sprintf("%s has the canary of the data", where))
	}
	s.lookForSecrets(where, b)
}

func (s *scene) lookForSecrets(where string, b []byte) {
	s.searched += len(b)
	for what, secret := range s.secrets {
		if bytes.Contains(b, []byte(secret)) {
			s.found = append(s.found, fmt.Sprintf("%s has the %s", where, what))
		}
	}
}

// lookIntoFiles searches all that the program has written, and reports whether it finds the data there, which is not
// encrypted.
func (s *scene) lookIntoFiles() (data bool) {
	s.t.Helper()
	files := 0
	err := filepath.WalkDir(s.program.Data, func(file string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(file)
		files++
		data = data || bytes.Contains(b, []byte(canary))
		s.lookForSecrets(filepath.Base(file), b)
		return err
	})
	if err != nil || files == 0 {
		s.t.Fatalf("%d files: %v", files, err)
	}
	return data
}
