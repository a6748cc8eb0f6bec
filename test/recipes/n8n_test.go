//go:build clients

// A real n8n runs the workflows of docs/recipes. It is 2.3 GB and takes npm minutes to install, so `make clients` runs
// these tests and ./scripts/test only compiles them.

package recipes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/n8ntest"
	"sheaf.dev/internal/sheaftest/npmtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// n8n imports the workflows as they are shipped, but for the server's address and the credentials, which a user chooses
// in the editor, and for what stands in place of the user's own work.
func TestN8N_RunsTheWorkflows(t *testing.T) {
	n := newN8N(t)
	sink := newSink(t)
	read, create := newSite(t, "read"), newSite(t, "create")
	want := projects(t, read.server, read.key, 300) // the last page is full
	read.limit(t, 2)
	create.limit(t, 2)
	receive := newSite(t, "receive", "--webhook-allow-cidr", "127.0.0.0/8,::1/128", "--webhook-ca-file", filepath.Join(n.Dir, "ca.pem"))
	hook := subscribe(t, receive.server, receive.key, n.Base+"/webhook/sheaf")
	poll := newSite(t, "poll")

	n.write(t, "n8n-read.json", read, hook, nil)
	n.write(t, "n8n-create.json", create, hook, func(w map[string]any) {
		parameters(w, "Example")["jsonOutput"] = `{"rows": [{"id": 1, "name": "One"}, {"id": 2, "name": "Two"}, {"id": 3, "name": "Three"}]}`
	})
	n.write(t, "n8n-receive.json", receive, hook, func(w map[string]any) {
		sink.takes(w, "/receive", "body.id")
		parameters(w, "Not seen before")["options"].(map[string]any)["historySize"] = 2 // in place of 10,000
	})
	n.write(t, "n8n-poll.json", poll, hook, func(w map[string]any) {
		sink.takes(w, "/poll", "id")
		parameters(w, "Every five minutes")["rule"] = map[string]any{"interval": []any{map[string]any{"field": "seconds", "secondsInterval": 5}}}
	})
	n.Run(t, "import:credentials", "--separate", "--input="+filepath.Join(n.Dir, "credentials"))
	n.Run(t, "import:workflow", "--separate", "--input="+filepath.Join(n.Dir, "workflows"))
	n.Run(t, "publish:workflow", "--id="+n.ids["n8n-receive.json"])
	n.Run(t, "publish:workflow", "--id="+n.ids["n8n-poll.json"])

	t.Run("every page is read once, and a busy server is asked again when it says", func(t *testing.T) {
		t.Parallel()
		got := n.execute(t, "n8n-read.json", "One item a project")
		if !slices.Equal(column(got, "name"), want) {
			t.Errorf("n8n read %d projects, not these %d", len(got), len(want))
		}
		read.wasAsked(t, "GET offset=0 200", "GET offset=100 200", "GET offset=200 429", "GET offset=200 200")
	})
	t.Run("what meets 429 is created once, after Retry-After", func(t *testing.T) {
		t.Parallel()
		n.execute(t, "n8n-create.json", "One by one")
		create.wasAsked(t, "POST 201", "POST 201", "POST 429", "POST 201")
		create.limit(t, 0)
		if got := create.names(t); !slices.Equal(got, []string{"One", "Two", "Three"}) {
			t.Errorf("there are the projects %q", got)
		}
	})
	t.Run("published", func(t *testing.T) {
		t.Parallel()
		n.Start(t)
		t.Run("what is genuine is taken, once, and nothing else", func(t *testing.T) {
			t.Parallel()
			address := n.Base + "/webhook/sheaf"
			sheaftest.Eventually(t, "n8n has the webhook", func() bool {
				return post(t, n.client, address, delivery{http.Header{}, []byte("{}")}) != http.StatusNotFound
			})
			try(t, n.client, address, hook.Secret)
			const documents = 4 // n8n's memory of what it has seen is full after the first
			for i := range documents {
				document(t, receive.server, receive.key)
				sheaftest.Eventually(t, "n8n takes a delivery", func() bool { return delivered(t, receive.server, receive.key, hook.ID) == i+1 })
				// Three of the trials are one event, sent three times.
				sheaftest.Eventually(t, "the work is done", func() bool { return sink.count("/receive") >= i+2 })
			}
			sink.has(t, "/receive", append([]string{trialID}, receive.events(t, "document.created")...))
		})
		t.Run("every event is found", func(t *testing.T) {
			t.Parallel()
			sheaftest.Eventually(t, "it looks for the first time", func() bool { return poll.count() > 0 })
			projects(t, poll.server, poll.key, 203) // more than two pages
			events := poll.events(t, "project.created")
			sheaftest.Eventually(t, "all are found", func() bool { return sink.distinct("/poll") == len(events) })
			// Once all is found, further looks find nothing. On a slow machine two executions may have found the same before.
			sheaftest.Eventually(t, "it finds nothing twice", func() bool {
				before, asked := sink.count("/poll"), poll.count()
				sheaftest.Eventually(t, "it looks again", func() bool { return poll.count() >= asked+3 })
				return sink.count("/poll") == before
			})
		})
	})
}

// n8n is an installation with its workflows and their credentials.
type n8n struct {
	*n8ntest.N8N
	client *http.Client
	ids    map[string]string // of the workflows, by file
}

func newN8N(t *testing.T) *n8n {
	t.Helper()
	dir := t.TempDir()
	client := secure(t, dir)
	for _, kind := range []string{"credentials", "workflows"} {
		if err := os.Mkdir(filepath.Join(dir, kind), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &n8n{N8N: n8ntest.New(t, npmtest.Modules(t, "n8n"), dir), client: client, ids: map[string]string{}}
}

// write prepares a workflow and its credentials for n8n's import.
func (n *n8n) write(t *testing.T, file string, site *site, hook hook, change func(workflow map[string]any)) {
	t.Helper()
	var workflow map[string]any
	readJSON(t, root+"/docs/recipes/"+file, &workflow)
	n.ids[file] = workflow["id"].(string)
	if change != nil {
		change(workflow)
	}
	secrets := map[string]map[string]string{
		"httpHeaderAuth": {"name": "Authorization", "value": "Bearer " + site.key},
		"crypto":         {"hmacSecret": hook.Secret},
	}
	for kind, data := range secrets {
		id := kind + "-" + file
		n.json(t, "credentials", id+".json", map[string]any{"id": id, "name": id, "type": kind, "data": data})
	}
	for _, node := range nodes(workflow) {
		use := func(kind string) {
			node["credentials"] = map[string]any{kind: map[string]string{"id": kind + "-" + file, "name": kind + "-" + file}}
		}
		p := node["parameters"].(map[string]any)
		if strings.HasSuffix(node["type"].(string), ".crypto") {
			use("crypto")
		}
		if p["genericAuthType"] == "httpHeaderAuth" {
			use("httpHeaderAuth")
			p["url"] = strings.Replace(p["url"].(string), "https://docs.example.com", site.url, 1)
		}
	}
	n.json(t, "workflows", file, workflow)
}

func (n *n8n) json(t *testing.T, kind, file string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(n.Dir, kind, file), b)
}

// execute runs a workflow and returns what a node gave, in all of its runs.
func (n *n8n) execute(t *testing.T, file, node string) (items []map[string]any) {
	t.Helper()
	out := n.Run(t, "execute", "--id="+n.ids[file], "--rawOutput")
	var result struct {
		Data struct {
			ResultData struct {
				RunData map[string][]struct {
					Data struct {
						Main [][]struct{ JSON map[string]any }
					}
				}
			}
		}
	}
	_, text, _ := bytes.Cut(append([]byte{'\n'}, out...), []byte("\n{\n")) // around it are lines of n8n's log
	if err := json.NewDecoder(io.MultiReader(strings.NewReader("{"), bytes.NewReader(text))).Decode(&result); err != nil {
		t.Fatalf("n8n printed no result: %v\n%.2000s", err, out)
	}
	for _, run := range result.Data.ResultData.RunData[node] {
		for _, branch := range run.Data.Main {
			for _, item := range branch {
				items = append(items, item.JSON)
			}
		}
	}
	return items
}

func nodes(workflow map[string]any) (nodes []map[string]any) {
	for _, n := range workflow["nodes"].([]any) {
		nodes = append(nodes, n.(map[string]any))
	}
	return nodes
}

func parameters(workflow map[string]any, node string) map[string]any {
	i := slices.IndexFunc(nodes(workflow), func(n map[string]any) bool { return n["name"] == node })
	return nodes(workflow)[i]["parameters"].(map[string]any)
}

func column(items []map[string]any, name string) (values []string) {
	for _, item := range items {
		values = append(values, fmt.Sprint(item[name]))
	}
	return values
}

// site is a server with a workspace, and notes what n8n asks it and what it answers.
type site struct {
	program *proctest.Program
	server  *proctest.Server
	key     string
	url     string // for n8n

	mu    sync.Mutex
	asked []string // guarded by mu
}

func newSite(t *testing.T, name string, args ...string) *site {
	t.Helper()
	s := &site{program: proctest.New(t)}
	s.key = s.program.Workspace(t, name)
	s.server = s.program.Start(t, args...)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			target, err := url.Parse(s.server.URL)
			if err != nil {
				panic(err)
			}
			r.SetURL(target)
		},
		ModifyResponse: func(res *http.Response) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			line := res.Request.Method
			if offset := res.Request.URL.Query().Get("offset"); offset != "" {
				line += " offset=" + offset
			}
			s.asked = append(s.asked, fmt.Sprint(line, " ", res.StatusCode))
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	s.url = proxy.URL
	return s
}

// limit restarts the server with a limit of n requests a minute; 0 means no limit.
func (s *site) limit(t *testing.T, n int) {
	t.Helper()
	if err := s.server.Terminate(); err != nil {
		t.Fatal(err)
	}
	s.server = s.program.Start(t, "--rate-limit", fmt.Sprintf("business=%d", n))
}

func (s *site) wasAsked(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.asked, want) {
		t.Errorf("n8n asked %q, not %q", s.asked, want)
	}
}

func (s *site) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// names lists the projects.
func (s *site) names(t *testing.T) []string {
	t.Helper()
	return s.list(t, "/api/v1/projects?limit=100", "name")
}

// events lists the ids of a type's events, the latest 100 first.
func (s *site) events(t *testing.T, kind string) (ids []string) {
	t.Helper()
	for offset := 0; ; offset += 100 {
		page := s.list(t, fmt.Sprintf("/api/v1/events?limit=100&offset=%d&type=%s", offset, kind), "id")
		ids = append(ids, page...)
		if len(page) < 100 {
			return ids
		}
	}
}

func (s *site) list(t *testing.T, path, field string) []string {
	t.Helper()
	var page struct{ Data []map[string]any }
	status, err := s.server.Call(s.key, http.MethodGet, path, nil, &page)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, status, err)
	}
	return column(page.Data, field)
}

// sink stands for the user's own work: it notes the ids of what reaches it, by path.
type sink struct {
	url string
	mu  sync.Mutex
	ids map[string][]string // guarded by mu
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{ids: map[string][]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ids[r.URL.Path] = append(s.ids[r.URL.Path], string(id))
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// takes makes the node for the user's work send a field of each item.
func (s *sink) takes(workflow map[string]any, path, field string) {
	for _, n := range nodes(workflow) {
		if n["name"] == "Your work" {
			n["type"], n["typeVersion"] = "n8n-nodes-base.httpRequest", 4.2
			n["parameters"] = map[string]any{"method": "POST", "url": s.url + path, "sendBody": true,
				"contentType": "raw", "rawContentType": "text/plain", "body": "={{ $json." + field + " }}", "options": map[string]any{}}
		}
	}
}

func (s *sink) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids[path])
}

// distinct counts the ids, each once.
func (s *sink) distinct(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.Compact(slices.Sorted(slices.Values(s.ids[path]))))
}

// has compares what came, in any order.
func (s *sink) has(t *testing.T, path string, want []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := slices.Sorted(slices.Values(s.ids[path]))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d came to %s, not these %d: %q", len(got), path, len(want), got)
	}
}
