//go:build clients

package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/proctest"
)

// modules installs what npm/package-lock.json names, and returns the folder, with the files of the tests in it.
func modules(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"npm/package.json", "npm/package-lock.json", "client.mjs", "connect.mjs", "person.mjs"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), b, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run(t, folder, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	return folder
}

// run runs a command and returns what it printed.
func run(t *testing.T, folder string, env []string, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir, c.Env = folder, append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// The official TypeScript client works with the server, and with sheaf mcp, alike.
func TestAgents_TheOfficialClient(t *testing.T) {
	folder := modules(t)
	p := proctest.New(t)
	env := []string{"SHEAF_API_KEY=" + p.Workspace(t, "Acme"), "SHEAF_PROGRAM=" + p.Binary, "SHEAF_SERVER=" + p.Start(t).URL, "HOME=" + t.TempDir()}
	for _, way := range []string{"--http", "--stdio"} {
		if out := run(t, folder, env, "node", "client.mjs", way); !strings.Contains(out, "all as expected") {
			t.Errorf("%s: %s", way, out)
		}
	}
}

// The inspector's command line lists the tools, whose schemas every host can read, and calls one.
func TestAgents_TheInspector(t *testing.T) {
	folder := modules(t)
	p := proctest.New(t)
	key, s := p.Workspace(t, "Acme"), p.Start(t)
	inspect := func(args ...string) string {
		line := append([]string{"--cli", s.URL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + key}, args...)
		return run(t, folder, []string{"HOME=" + t.TempDir()}, filepath.Join(folder, "node_modules/.bin/mcp-inspector"), line...)
	}
	if out := inspect("--method", "tools/list", "--strict"); !strings.Contains(out, `"name": "edit_document"`) || !strings.Contains(out, `"destructiveHint": true`) {
		t.Errorf("tools/list: %s", out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "create_document", "--tool-arg", "title=Runbook"); !strings.Contains(out, `\"revision\":1`) {
		t.Errorf("create_document: %s", out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "find", "--tool-arg", "query=runbook"); !strings.Contains(out, `\"total\":1`) {
		t.Errorf("find: %s", out)
	}
	if out := inspect("--method", "resources/templates/list"); !strings.Contains(out, "sheaf://document/{id}") {
		t.Errorf("resources/templates/list: %s", out)
	}
}
