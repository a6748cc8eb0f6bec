package recipes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/markdown"
	"sheaf.dev/internal/sheaftest/proctest"
)

// n8n's workflows read every page, in as many requests as there are pages, and of deliveries they take the genuine ones.
// n8n itself is not run here: their expressions are. `make clients` runs n8n.
func TestN8N_ExpressionsReadEveryPageAndTakeOnlyWhatIsGenuine(t *testing.T) {
	t.Parallel()
	program := proctest.New(t)
	server := program.Start(t)
	key := program.Workspace(t, "n8n")
	want := projects(t, server, key, 200) // the last page is full
	var got struct {
		Names    []string
		Requests int
		Genuine  []bool
	}
	play(t, server, key, &got, "testdata/n8n.mjs", root+"/docs/recipes/n8n-read.json", root+"/docs/recipes/n8n-receive.json")
	if !slices.Equal(got.Names, want) || got.Requests != 2 {
		t.Errorf("it read %d projects in %d requests, not these %d in 2", len(got.Names), got.Requests, len(want))
	}
	judge(t, got.Genuine)
}

// The workflows ask for what the reference has, are connected as n8n wants it, and have an id, without which n8n's
// command line imports none. No secret is in them.
func TestN8N_WorkflowsFitTheReference(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/docs/recipes/n8n-*.json")
	if err != nil || len(files) != 4 {
		t.Fatalf("there are the workflows %q, %v", files, err)
	}
	ids := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var w workflow
			readJSON(t, file, &w)
			if len(w.ID) != 16 || ids[w.ID] {
				t.Errorf("the id is %q: n8n wants one of 16 characters, another for each", w.ID)
			}
			ids[w.ID] = true
			w.fits(t, reference(t))
			w.connects(t)
		})
	}
}

// workflow is what the test reads of n8n's file.
type workflow struct {
	ID    string
	Nodes []struct {
		Name, Type  string
		TypeVersion float64
		Position    []int
		Credentials map[string]any
		Parameters  struct {
			URL, Method, Secret string
			QueryParameters     struct{ Parameters []struct{ Name string } }
			Options             struct {
				Pagination struct {
					Pagination struct {
						RequestInterval int
						Parameters      struct{ Parameters []struct{ Name string } }
					}
				}
			}
		}
	}
	Connections map[string]struct{ Main [][]struct{ Node string } }
}

func (w *workflow) fits(t *testing.T, ref operations) {
	t.Helper()
	for _, n := range w.Nodes {
		if n.Type == "" || n.TypeVersion == 0 || len(n.Position) != 2 {
			t.Errorf("the node %s is not whole", n.Name)
		}
		if n.Parameters.Secret != "" || n.Credentials != nil {
			t.Errorf("the node %s has a secret, or names a credential that only its author has", n.Name)
		}
		if !strings.HasSuffix(n.Type, ".httpRequest") {
			continue
		}
		u, err := url.Parse(strings.TrimPrefix(n.Parameters.URL, "=")) // which marks a text with expressions
		if err != nil {
			t.Fatal(err)
		}
		ref.has(t, n.Name, cmp.Or(n.Parameters.Method, "GET"), u.Path)
		paging := n.Parameters.Options.Pagination.Pagination
		for _, p := range append(n.Parameters.QueryParameters.Parameters, paging.Parameters.Parameters...) {
			ref.takes(t, u.Path, p.Name)
		}
		if paging.Parameters.Parameters == nil {
			continue
		}
		if per := 60000 / max(paging.RequestInterval, 1); per >= 100 {
			t.Errorf("%s asks %d times a minute, a key on pro may 100 times", n.Name, per)
		}
	}
}

func (w *workflow) connects(t *testing.T) {
	t.Helper()
	known := map[string]bool{}
	for _, n := range w.Nodes {
		known[n.Name] = true
	}
	for from, to := range w.Connections {
		for _, wires := range to.Main {
			for _, w := range wires {
				if !known[from] || !known[w.Node] {
					t.Errorf("%s leads to %s: one of them is no node", from, w.Node)
				}
			}
		}
	}
}

// The definition is one that Zapier takes. Run by Zapier's own core, it polls with Basic, subscribes, unsubscribes, takes
// genuine deliveries alone, and creates a project, once for each Idempotency-Key.
func TestZapier_WorksInItsCore(t *testing.T) {
	t.Parallel()
	program := proctest.New(t)
	server := program.Start(t)
	key := program.Workspace(t, "Zapier")
	want := projects(t, server, key, 4)
	slices.Reverse(want)
	var got struct {
		Objections                []string
		Workspace                 string
		Names, Recent, Subscribed []string
		Secret                    bool
		Left                      int
		Made                      struct{ ID, Name, Description string }
		Replayed, Twice           bool
		Refused                   string
		Genuine                   []bool
	}
	play(t, server, key, &got, "testdata/zapier.cjs", root+"/docs/recipes/zapier.js", npm(t))
	if len(got.Objections) > 0 {
		t.Errorf("Zapier's schema objects: %q", got.Objections)
	}
	if got.Workspace != "Zapier" || !slices.Equal(got.Names, want) || len(got.Recent) != 3 {
		t.Errorf("it polled as %s the projects %q and the events %q", got.Workspace, got.Names, got.Recent)
	}
	if !slices.Equal(got.Subscribed, []string{"https://hooks.zapier.com/hooks/standard/1/2/"}) || !got.Secret || got.Left != 0 {
		t.Errorf("it subscribed %q, with a secret: %v, and left %d", got.Subscribed, got.Secret, got.Left)
	}
	if got.Made.ID == "" || got.Made.Name != "Made by a Zap" || got.Made.Description != "Übersicht <1>" {
		t.Errorf("it created %+v", got.Made)
	}
	if !got.Replayed || got.Twice {
		t.Errorf("the same project again with the same key: %v, without one: %v", got.Replayed, got.Twice)
	}
	if !strings.Contains(got.Refused, "VALIDATION_ERROR") {
		t.Errorf("what is refused is told as %q", got.Refused)
	}
	judge(t, got.Genuine)
}

// play runs a script that stands for the platform, with a server, a key and the trials. What follows its name are paths.
func play(t *testing.T, server *proctest.Server, key string, answer any, script string, paths ...string) {
	t.Helper()
	need(t, "node")
	input, err := json.Marshal(map[string]any{"server": server.URL, "key": key, "secret": secret, "deliveries": sent(secret)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		if paths[i], err = filepath.Abs(paths[i]); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("node", append([]string{script}, paths...)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), t.Output()
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, answer)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// sent returns the trials as a script reads them.
func sent(secret string) (out []map[string]any) {
	for _, c := range trials(secret) {
		headers := map[string]string{}
		for name := range c.sent.header {
			headers[strings.ToLower(name)] = c.sent.header.Get(name)
		}
		out = append(out, map[string]any{"headers": headers, "body": string(c.sent.body)})
	}
	return out
}

// judge compares what was taken for genuine with the trials.
func judge(t *testing.T, genuine []bool) {
	t.Helper()
	for i, c := range trials(secret) {
		if len(genuine) <= i || genuine[i] != c.good {
			t.Errorf("a delivery that is %s is judged wrongly", c.name)
		}
	}
}

// operations are the reference's, path → method → what it takes.
type operations map[string]map[string]any

func reference(t *testing.T) operations {
	t.Helper()
	var doc struct{ Paths operations }
	readJSON(t, root+"/internal/httpapi/openapi.json", &doc)
	return doc.Paths
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func (o operations) has(t *testing.T, where, method, path string) {
	t.Helper()
	if _, ok := o[path][strings.ToLower(method)]; !ok {
		t.Errorf("%s: the reference has no %s %s", where, method, path)
	}
}

// takes looks for a parameter of a GET, by its name or by the name of what it refers to.
func (o operations) takes(t *testing.T, path, name string) {
	t.Helper()
	get, _ := o[path]["get"].(map[string]any)
	parameters, _ := get["parameters"].([]any)
	for _, p := range parameters {
		p := p.(map[string]any)
		if p["name"] == name || p["$ref"] == "#/components/parameters/"+name {
			return
		}
	}
	t.Errorf("the reference has no parameter %s of GET %s", name, path)
}

// request is an operation as a page writes it: a method and a path.
var request = regexp.MustCompile(`\b(GET|POST|PATCH|DELETE)\s+(?:https://docs\.example\.com)?(/api/[\w/:.-]*\w)`)

// What the pages say to call exists.
func TestPages_NameOperationsThatExist(t *testing.T) {
	pages, err := markdown.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	ref, found := reference(t), map[string]bool{}
	for _, page := range pages {
		text, _, err := markdown.Read(root, page)
		if err != nil {
			t.Error(err)
		}
		for _, m := range request.FindAllStringSubmatch(text, -1) {
			path := strings.ReplaceAll(regexp.MustCompile(`:\w+`).ReplaceAllString(m[2], "{id}"), "/changes/{id}", "/changes/{n}")
			ref.has(t, page, m[1], path)
			found[m[1]+" "+path] = true
		}
	}
	if len(found) < 10 {
		t.Errorf("the pages name %q and nothing else: is the pattern right?", slices.Collect(maps.Keys(found)))
	}
}
