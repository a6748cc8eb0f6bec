//go:build clients

package clients

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/n8ntest"
	"sheaf.dev/internal/sheaftest/npmtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

func init() {
	columns = append(columns, column{name: "n8n", start: startN8N, without: []string{"upload 20 MB in pieces", "change what is read", "arrange a tree"},
		instead: map[string]func(*testing.T, *cell){"resume a stream": resumeLog, "verify both schemes": verifyLive}})
}

// n8n is one that has the nodes of clients/n8n, and one workflow, which a request to a webhook of each row starts.
type n8n struct {
	*n8ntest.N8N
	client *http.Client
	door   *door
}

// startN8N starts one with the workflow of the table.
func startN8N(t *testing.T, s *site) func(t *testing.T, task object) object {
	t.Helper()
	n := launchN8N(t, s, conformance())
	t.Cleanup(func() { n.ends(t, s) })
	return n.play
}

// launchN8N installs the nodes as npm packs them into an n8n, and starts it with a workflow published, whose trigger has then
// subscribed.
func launchN8N(t *testing.T, s *site, workflow object) *n8n {
	t.Helper()
	dir := t.TempDir()
	n := &n8n{client: certify(t, s, dir), door: newDoor(t, s)}
	n.N8N = n8ntest.New(t, npmtest.Modules(t, root+"/test/recipes/n8n"), dir)
	n.Env = []string{"N8N_COMMUNITY_PACKAGES_ENABLED=true"} // where the nodes are installed
	installNodes(t, filepath.Join(dir, ".n8n", "nodes", "node_modules", "n8n-nodes-sheaf"))
	n.write(t, "credentials.json", []any{object{"id": "sheafsheafsheaf1", "name": "Sheaf", "type": "sheafApi",
		"data": object{"server": n.door.URL, "apiKey": "of the door"}}})
	n.write(t, "workflow.json", workflow)
	n.Run(t, "import:credentials", "--input="+filepath.Join(dir, "credentials.json"))
	n.Run(t, "import:workflow", "--input="+filepath.Join(dir, "workflow.json"))
	n.Run(t, "publish:workflow", "--id="+workflow["id"].(string))
	n.Start(t)
	sheaftest.Eventually(t, "the trigger has subscribed", func() bool { return n.door.hook().secret != "" })
	return n
}

// certify gives n8n a certificate that the server's endpoints are trusted by, and returns a client that trusts it.
func certify(t *testing.T, s *site, dir string) *http.Client {
	t.Helper()
	cert, err := s.ca.Issue(sheaftest.CertOptions{Hosts: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		save(t, dir, file, string(pem.EncodeToMemory(block)))
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.ca.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// installNodes builds and lints the nodes by n8n's own tool in a copy of their folder, and unpacks what npm packs of it.
func installNodes(t *testing.T, into string) {
	t.Helper()
	modules := filepath.Join(npmtest.Modules(t, in(t, "n8n")), "node_modules")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `set -e
cp -r "$SOURCE" nodes && cd nodes && rm -rf node_modules dist && ln -s "$MODULES" node_modules
npm run lint && npm pack --pack-destination ..
mkdir -p "$INTO" && tar -xzf ../n8n-nodes-sheaf-*.tgz -C "$INTO" --strip-components=1`)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SOURCE="+in(t, "n8n"), "MODULES="+modules, "INTO="+into, "CI=true", "NO_UPDATE_NOTIFIER=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func (n *n8n) write(t *testing.T, file string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	save(t, n.Dir, file, string(b))
}

const workflowID = "SheafConformance"

// conformance is the workflow: a chain for each row, and the trigger.
func conformance() object {
	w := &workflow{connections: object{}}
	w.chain("create", sheafNode("project", "create", object{"name": "={{ $json.body.name }}",
		"fields": object{"color": "={{ $json.body.color ?? '' }}", "metadata": "={{ JSON.stringify($json.body.metadata ?? {}) }}"}}))
	w.chain("page", sheafNode("document", "getAll", object{"returnAll": true, "filters": object{"project_id": "={{ $json.body.project_id }}"}}))
	w.chain("log", sheafNode("event", "getAll", object{"returnAll": true, "filters": object{"after": "={{ $json.body.after }}"}}))
	w.chain("upload",
		node("n8n-nodes-base.convertToFile", 1.1, object{"operation": "toBinary", "sourceProperty": "body.content",
			"options": object{"fileName": "={{ $json.body.filename }}"}}),
		sheafNode("medium", "upload", object{"binaryField": "data"}),
		sheafNode("medium", "download", object{"id": "={{ $json.id }}", "binaryField": "data"}),
		node("n8n-nodes-base.extractFromFile", 1, object{"operation": "binaryToPropery", "options": object{"keepSource": "json"}}))
	w.chain("share", sheafNode("share", "create", object{"resource_type": "document", "resource_id": "={{ $json.body.document_id }}"}))
	w.chain("missing", failing(sheafNode("project", "get", object{"id": "={{ $json.body.id }}"})))
	w.chain("invalid", failing(sheafNode("project", "create", object{"name": "Wrong", "fields": object{"color": "blue"}})))
	w.chain("key", failing(sheafNode("project", "getAll", object{"filters": object{}})))
	w.add("Trigger", triggerNode())
	return object{"id": workflowID, "name": "Conformance", "nodes": w.nodes, "connections": w.connections, "settings": object{}, "active": false}
}

var credentials = object{"sheafApi": object{"id": "sheafsheafsheaf1", "name": "Sheaf"}}

func node(kind string, version float64, parameters object) object {
	return object{"type": kind, "typeVersion": version, "parameters": parameters}
}

func sheafNode(resource, operation string, parameters object) object {
	parameters["resource"], parameters["operation"] = resource, operation
	n := node("n8n-nodes-sheaf.sheaf", 1, parameters)
	n["credentials"] = credentials
	return n
}

// triggerNode tells of new documents.
func triggerNode() object {
	n := node("n8n-nodes-sheaf.sheafTrigger", 1, object{"events": []string{"document.created"}})
	n["credentials"], n["webhookId"] = credentials, "sheaf-trigger"
	return n
}

// failing makes an error an item.
func failing(n object) object {
	n["onError"] = "continueRegularOutput"
	return n
}

// workflow is one that is being written.
type workflow struct {
	nodes       []object
	connections object
}

// add places a node under a name, which is its id as well.
func (w *workflow) add(name string, n object) {
	n["id"], n["name"], n["position"] = name, name, []int{220 * len(w.nodes), 0}
	w.nodes = append(w.nodes, n)
}

// chain connects nodes to a webhook of that path, which answers with the items of the last.
func (w *workflow) chain(path string, nodes ...object) {
	hook := node("n8n-nodes-base.webhook", 2, object{"httpMethod": "POST", "path": path, "responseMode": "lastNode", "responseData": "allEntries", "options": object{}})
	hook["webhookId"] = "row-" + path
	w.add("On "+path, hook)
	w.connect("On "+path, path, nodes...)
}

// connect places nodes one behind the other, behind the one called before.
func (w *workflow) connect(before, path string, nodes ...object) {
	for i, n := range nodes {
		name := path + " " + string(rune('a'+i))
		w.add(name, n)
		w.connections[before] = object{"main": []any{[]any{object{"node": name, "type": "main", "index": 0}}}}
		before = name
	}
}

// play does a row: by one chain, or by several.
func (n *n8n) play(t *testing.T, task object) object {
	t.Helper()
	n.door.opens(t, task["server"].(string), task["key"].(string))
	switch row := task["row"].(string); row {
	case "page":
		return object{"ids": ids(n.run(t, "page", task))}
	case "stream":
		return object{"ids": ids(n.run(t, "log", task))}
	case "hook":
		h := n.door.hook()
		return object{"id": h.id, "secret": h.secret, "key": h.key}
	case "deliver":
		return n.deliver(t, task)
	case "upload":
		return uploaded(t, n.run(t, "upload", task)[0])
	case "refuse":
		return n.refuse(t, task)
	default:
		return n.run(t, row, task)[0]
	}
}

// run starts a chain and returns the items of its last node.
func (n *n8n) run(t *testing.T, path string, task object) (items []object) {
	t.Helper()
	b, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	res, err := n.client.Post(n.Base+"/webhook/"+path, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(text, &items)
	}
	if err != nil || res.StatusCode != http.StatusOK || len(items) == 0 {
		t.Fatalf("%s: n8n answers %d, %v: %.500s", path, res.StatusCode, err, text)
	}
	return items
}

// refuse: the class of an error is its code, which n8n shows with its text.
func (n *n8n) refuse(t *testing.T, task object) object {
	t.Helper()
	words := map[string]string{"NOT_FOUND": "NotFound", "VALIDATION_ERROR": "ValidationError", "UNAUTHORIZED": "Unauthorized"}
	told := func(item object) (word, field string) {
		code, field, _ := strings.Cut(text(item["description"]), ": ")
		return words[code], field
	}
	missing, _ := told(n.run(t, "missing", task)[0])
	invalid, field := told(n.run(t, "invalid", task)[0])
	n.door.opens(t, task["server"].(string), "shf_unknown")
	key, _ := told(n.run(t, "key", task)[0])
	return object{"missing": missing, "invalid": invalid, "field": field, "key": key}
}

// uploaded reads the file that came back.
func uploaded(t *testing.T, item object) object {
	t.Helper()
	content, err := base64.StdEncoding.DecodeString(text(item["data"]))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return object{"id": item["id"], "sha256": hex.EncodeToString(sum[:])}
}

func ids(items []object) (out []any) {
	for _, item := range items {
		out = append(out, item["id"])
	}
	return out
}

// resumeLog is the row of the stream for n8n, which keeps no connection: the log goes on after the event that it had last, also
// when the first answer is lost.
func resumeLog(t *testing.T, c *cell) {
	c.make(t, c.key, "/api/v1/projects", object{"name": "Before"})
	after := c.newest(t, c.key)
	reads := func(r *http.Request) bool { return r.URL.Path == "/api/v1/events" }
	var got []string
	for range 2 {
		for range 3 {
			c.make(t, c.key, "/api/v1/projects", object{"name": "News"})
		}
		last := after
		if len(got) > 0 {
			last = got[len(got)-1]
		}
		o := before(t, c.URL, reads, lossy)
		got = append(got, texts(c.ask(t, "stream", o.URL, object{"after": last})["ids"])...)
		if attempts := o.attempts(); len(attempts) != 2 {
			t.Errorf("%d attempts", len(attempts))
		}
	}
	if want := c.log(t, c.key, after); !slices.Equal(got, want) || len(want) != 6 {
		t.Errorf("it read the events %q, not %q", got, want)
	}
}

// verifyLive is the row of verification for n8n, whose trigger has a subscription and a clock of its own.
func verifyLive(t *testing.T, c *cell) {
	hook := c.ask(t, "hook", c.URL, nil)
	for _, each := range trials(hook["secret"].(string), time.Now()) {
		if each.want == "BadSecret" || each.exact {
			continue
		}
		got := c.ask(t, "deliver", c.URL, object{"headers": each.headers, "body": each.body})
		if got["verdict"] != each.want {
			t.Errorf("%s: %q, not %q", each.name, got["verdict"], each.want)
		}
	}
	// The service itself delivers to the trigger, which takes it.
	key := hook["key"].(string)
	c.make(t, key, "/api/v1/documents", object{"title": "Delivered"})
	path := "/api/webhooks/subscriptions/" + hook["id"].(string) + "/deliveries?state=delivered"
	sheaftest.Eventually(t, "n8n takes the delivery", func() bool { return c.read(t, key, path)["total"] == 1.0 })
}

// deliver posts to the trigger, and reads what it holds against the delivery.
func (n *n8n) deliver(t *testing.T, task object) object {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.door.hook().url, strings.NewReader(task["body"].(string)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range task["headers"].(map[string]string) {
		r.Header.Set(name, value)
	}
	res, err := n.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var said struct{ Code string }
	if res.StatusCode/100 != 2 {
		if err := json.NewDecoder(res.Body).Decode(&said); err != nil || res.StatusCode != http.StatusUnauthorized {
			t.Fatalf("the trigger answers %d, %v", res.StatusCode, err)
		}
	}
	return object{"verdict": said.Code}
}

// ends is the last that a person does in the editor: the credential is tested, and the workflow unpublished, which leaves the
// subscription inactive.
func (n *n8n) ends(t *testing.T, s *site) {
	t.Helper()
	h := n.door.hook()
	n.door.opens(t, s.URL, h.key)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	person := &http.Client{Transport: n.client.Transport, Jar: jar}
	ask := func(path string, body object) (answer object) {
		status, err := proctest.Call(person, n.Base, "", http.MethodPost, path, body, &answer)
		if err != nil || status != http.StatusOK {
			t.Errorf("%s: %d, %v", path, status, err)
		}
		return answer
	}
	ask("/rest/owner/setup", object{"email": "owner@example.com", "firstName": "O", "lastName": "W", "password": "Password1 of a test"})
	for key, want := range map[string]string{h.key: "OK", "shf_wrong": "Error"} {
		credential := object{"id": "sheafsheafsheaf1", "name": "Sheaf", "type": "sheafApi", "data": object{"server": s.URL, "apiKey": key}}
		tested, _ := ask("/rest/credentials/test", object{"credentials": credential})["data"].(object)
		if tested["status"] != want {
			t.Errorf("the test of a credential says %v, not %s", tested, want)
		}
	}
	ask("/rest/workflows/"+workflowID+"/deactivate", object{})
	if left := s.read(t, h.key, "/api/webhooks/subscriptions"); left["total"] != 1.0 || left["data"].([]any)[0].(object)["active"] != false {
		t.Errorf("unpublished, these are left: %v", left)
	}
}

// door stands before all servers, so that n8n needs one credential: it passes requests on with the key of the row, and
// remembers the subscription that n8n makes.
type door struct {
	URL string

	mu     sync.Mutex
	server *url.URL     // guarded by mu
	key    string       // guarded by mu
	made   subscription // guarded by mu
}

// subscription is the one that the trigger makes.
type subscription struct{ id, url, secret, key string }

func newDoor(t *testing.T, s *site) *door {
	t.Helper()
	d := &door{}
	d.opens(t, s.URL, s.program.Workspace(t, "trigger"))
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			d.mu.Lock()
			defer d.mu.Unlock()
			r.SetURL(d.server)
			r.Out.Header.Set("Authorization", "Bearer "+d.key)
		},
		ModifyResponse: d.note,
	})
	t.Cleanup(proxy.Close)
	d.URL = proxy.URL
	return d
}

func (d *door) opens(t *testing.T, server, key string) {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.server, d.key = target, key
}

// note remembers a subscription that was made.
func (d *door) note(res *http.Response) error {
	if res.Request.Method != http.MethodPost || res.Request.URL.Path != "/api/webhooks/subscriptions" || res.StatusCode != http.StatusCreated {
		return nil
	}
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(b))
	var made struct {
		Subscription struct{ ID, URL, Secret string }
	}
	if err := json.Unmarshal(b, &made); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.made = subscription{made.Subscription.ID, made.Subscription.URL, made.Subscription.Secret, d.key}
	return nil
}

func (d *door) hook() subscription {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made
}
