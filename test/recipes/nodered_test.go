package recipes

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// settings are Node-RED's for one test: no editor, and no look at the internet.
const settings = `module.exports = {
	uiHost: "localhost", uiPort: Number(process.env.PORT), flowFile: "flows.json", userDir: __dirname,
	httpAdminRoot: false, telemetry: { enabled: false }, credentialSecret: false,
	functionExternalModules: true, externalModules: { autoInstall: false },
	logging: { console: { level: "warn" } },
};
`

// Node-RED runs the recipe's flow: it reads every page of a list, and of deliveries it takes the genuine ones.
func TestNodeRED_ReadsEveryPageAndTakesOnlyWhatIsGenuine(t *testing.T) {
	t.Parallel()
	modules := npm(t)
	program := proctest.New(t)
	server := program.Start(t)
	key := program.Workspace(t, "Node-RED")
	want := projects(t, server, key, 203)

	dir, port := t.TempDir(), freePort(t)
	flow, err := os.ReadFile(root + "/docs/recipes/node-red.json")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "flows.json"), flow, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "settings.js"), []byte(settings), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	start(t, dir, port, []string{"node", filepath.Join(modules, "node_modules", "node-red", "red.js"), "--settings", filepath.Join(dir, "settings.js")},
		"SHEAF="+server.URL, "SHEAF_API_KEY="+key, "SHEAF_WEBHOOK_SECRET="+secret)
	base := "http://localhost:" + port

	var got []string
	proctest.Eventually(t, "the flow has begun", func() bool {
		got = names(t, base+"/sheaf/projects")
		return got != nil
	})
	if !slices.Equal(got, want) {
		t.Errorf("Node-RED read %d projects, not these %d", len(got), len(want))
	}
	try(t, base+"/sheaf/hook")
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
func names(t *testing.T, url string) (names []string) {
	t.Helper()
	res, err := http.Get(url)
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
