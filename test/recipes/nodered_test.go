package recipes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// settings are Node-RED's for one test: HTTPS, no editor, and no look at the internet.
const settings = `const fs = require("fs");
module.exports = {
	uiHost: "localhost", uiPort: Number(process.env.PORT), flowFile: "flows.json", userDir: __dirname,
	https: { key: fs.readFileSync(__dirname + "/key.pem"), cert: fs.readFileSync(__dirname + "/cert.pem") },
	httpAdminRoot: false, telemetry: { enabled: false }, credentialSecret: false,
	functionExternalModules: true, externalModules: { autoInstall: false },
	logging: { console: { level: "info" } },
};
`

// Node-RED runs the recipe's flow. It reads every page of a list, for a caller and for its inject node; it takes what
// Sheaf delivers; it refuses what is altered, old or unsigned; and while nothing is wrong it warns of nothing.
func TestNodeRED_ReadsEveryPageAndTakesOnlyWhatIsGenuine(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), freePort(t)
	client := secure(t, dir)
	program := proctest.New(t)
	server := program.Start(t, "--webhook-allow-cidr", "127.0.0.0/8,::1/128", "--webhook-ca-file", filepath.Join(dir, "ca.pem"))
	key := program.Workspace(t, "Node-RED")
	base := "https://localhost:" + port
	hook := subscribe(t, server, key, base+"/sheaf/hook")
	want := projects(t, server, key, 203)
	log := nodeRED(t, dir, port, "SHEAF="+server.URL, "SHEAF_API_KEY="+key, "SHEAF_WEBHOOK_SECRET="+hook.Secret)

	var got []string
	sheaftest.Eventually(t, "the flow has begun", func() bool {
		got = names(client, base+"/sheaf/projects")
		return got != nil
	})
	if !slices.Equal(got, want) {
		t.Errorf("Node-RED read %d projects, not these %d", len(got), len(want))
	}
	try(t, client, base+"/sheaf/hook", hook.Secret)
	document(t, server, key)
	sheaftest.Eventually(t, "Node-RED takes a delivery", func() bool { return delivered(t, server, key, hook.ID) == 1 })
	sheaftest.Eventually(t, "the inject node's projects are shown", func() bool {
		return strings.Count(log.String(), "[debug:projects]") >= 2 // the caller's are shown too
	})
	if w := warning.FindString(log.String()); w != "" {
		t.Errorf("a node warns of nothing that is wrong: %s", w)
	}
}

// warning is what Node-RED prints when a node warns or fails.
var warning = regexp.MustCompile(`\[(warn|error)\] \[.*`)

// A caller of the flow learns by the status that something is wrong, and by the text what it is: also while Sheaf
// refuses the key, while it is down, and while a variable is not set.
func TestNodeRED_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	t.Run("Sheaf refuses the key, then is down", func(t *testing.T) {
		t.Parallel()
		dir, port := t.TempDir(), freePort(t)
		client, base := secure(t, dir), "https://localhost:"+port
		server := proctest.New(t).Start(t)
		nodeRED(t, dir, port, "SHEAF="+server.URL, "SHEAF_API_KEY=shf_wrong")
		answers(t, client, http.MethodGet, base+"/sheaf/projects", http.StatusBadGateway, "API key")
		server.Kill()
		answers(t, client, http.MethodGet, base+"/sheaf/projects", http.StatusBadGateway, "ECONNREFUSED")
	})
	t.Run("no variable is set", func(t *testing.T) {
		t.Parallel()
		dir, port := t.TempDir(), freePort(t)
		client, base := secure(t, dir), "https://localhost:"+port
		nodeRED(t, dir, port)
		answers(t, client, http.MethodGet, base+"/sheaf/projects", http.StatusInternalServerError, "Set SHEAF and SHEAF_API_KEY")
		answers(t, client, http.MethodPost, base+"/sheaf/hook", http.StatusInternalServerError, "Set SHEAF_WEBHOOK_SECRET")
	})
}

// nodeRED runs the recipe's flow until the test ends, with its inject node set off at the start, and returns what is printed.
func nodeRED(t *testing.T, dir, port string, env ...string) *sheaftest.Output {
	t.Helper()
	modules := npm(t)
	var nodes []map[string]any
	readJSON(t, root+"/docs/recipes/node-red.json", &nodes)
	for _, n := range nodes {
		switch n["type"] {
		case "inject":
			n["once"] = true
		case "debug":
			n["console"] = true
		}
	}
	flow, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "flows.json"), flow)
	write(t, filepath.Join(dir, "settings.js"), []byte(settings))
	log := new(sheaftest.Output)
	red := filepath.Join(modules, "node_modules", "node-red", "red.js")
	start(t, dir, port, io.MultiWriter(t.Output(), log), []string{"node", red, "--settings", filepath.Join(dir, "settings.js")}, env...)
	return log
}

// answers makes a request when there is somebody to answer it, and compares the status and a part of the text.
func answers(t *testing.T, client *http.Client, method, url string, status int, part string) {
	t.Helper()
	var text string
	var got int
	sheaftest.Eventually(t, "the flow has begun", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := client.Do(r)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		got, text = res.StatusCode, string(b)
		return err == nil && got != http.StatusNotFound
	})
	if got != status || !strings.Contains(text, part) {
		t.Errorf("%s %s is answered with %d and %q, not with %d and %q", method, url, got, text, status, part)
	}
}

// secure writes a certificate for localhost, its key and the authority into a folder, and returns a client that trusts it.
func secure(t *testing.T, dir string) *http.Client {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(sheaftest.CertOptions{Hosts: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	if err := ca.WriteFile(filepath.Join(dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cert.pem"), block("CERTIFICATE", cert.Certificate[0]))
	write(t, filepath.Join(dir, "key.pem"), block("PRIVATE KEY", key))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hook is a subscription as it is made.
type hook struct{ ID, Secret string }

// subscribe makes one for documents, so that the projects of the test cause no deliveries.
func subscribe(t *testing.T, server *proctest.Server, key, url string) hook {
	t.Helper()
	var made struct{ Subscription hook }
	body := map[string]any{"name": "Node-RED", "url": url, "events": []string{"document.created"}}
	status, err := server.Call(key, http.MethodPost, "/api/webhooks/subscriptions", body, &made)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("subscribe: %d, %v", status, err)
	}
	return made.Subscription
}

func document(t *testing.T, server *proctest.Server, key string) {
	t.Helper()
	status, err := server.Call(key, http.MethodPost, "/api/v1/documents", map[string]string{"title": "Übersicht <1>"}, nil)
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create: %d, %v", status, err)
	}
}

// delivered counts what the endpoint has taken.
func delivered(t *testing.T, server *proctest.Server, key, id string) int {
	t.Helper()
	var page struct{ Total int }
	if _, err := server.Call(key, http.MethodGet, "/api/webhooks/subscriptions/"+id+"/deliveries?state=delivered", nil, &page); err != nil {
		t.Fatal(err)
	}
	return page.Total
}

// projects makes n of them and returns their names in the order of the list.
func projects(t *testing.T, server *proctest.Server, key string, n int) (names []string) {
	t.Helper()
	for i := range n {
		names = append(names, fmt.Sprintf("Project %d", i))
		status, err := server.Call(key, http.MethodPost, "/api/v1/projects", map[string]string{"name": names[i]}, nil)
		if err != nil || status != http.StatusCreated {
			t.Fatalf("create: %d, %v", status, err)
		}
	}
	return names
}

// names reads a list of projects; nil when there is none yet.
func names(client *http.Client, url string) (names []string) {
	res, err := client.Get(url)
	if err != nil {
		return nil
	}
	defer res.Body.Close()
	var list []struct{ Name string }
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&list) != nil {
		return nil
	}
	for _, p := range list {
		names = append(names, p.Name)
	}
	return names
}
