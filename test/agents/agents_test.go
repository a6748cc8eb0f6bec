//go:build clients

package agents

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
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

// inspect runs the inspector's command line with a key or an access token.
func inspect(t *testing.T, folder, server, secret string, args ...string) string {
	t.Helper()
	line := append([]string{"--cli", server + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + secret}, args...)
	return run(t, folder, []string{"HOME=" + t.TempDir()}, filepath.Join(folder, "node_modules/.bin/mcp-inspector"), line...)
}

// The inspector's command line lists the tools, whose schemas every host can read, and calls one.
func TestAgents_TheInspector(t *testing.T) {
	folder := modules(t)
	p := proctest.New(t)
	key, s := p.Workspace(t, "Acme"), p.Start(t)
	inspect := func(args ...string) string { return inspect(t, folder, s.URL, key, args...) }
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

// D195: apps that others wrote connect by the address alone. They register, lead the person to the consent page, redeem the
// code and refresh their tokens, all by themselves. What the person did not tick they are not offered.
func TestAgents_ConnectByAnAddress(t *testing.T) {
	folder := modules(t)
	p := proctest.New(t)
	const email, password = "ada@example.com", "long enough"
	workspace := p.Ask(t, "workspace", "create", "--name", "Acme", "--plan", "business", "--owner-email", email)["id"].(string)
	set := p.Command("user", "set-password", email)
	set.Stdin = strings.NewReader(password + "\n")
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	key := p.Ask(t, "key", "create", "--workspace", workspace, "--name", "Ada", "--scopes", "all")["key"].(string)
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := p.Start(t, "--addr", "127.0.0.1:"+port, "--public-url", "http://127.0.0.1:"+port)
	if status, err := s.Call(key, http.MethodPost, "/api/v1/documents", map[string]string{"title": "Runbook", "content": "Call Ada.\n"}, nil); err != nil || status != http.StatusCreated {
		t.Fatalf("the document was answered %d, %v", status, err)
	}
	for _, app := range []string{"--official", "--remote"} {
		home := t.TempDir()
		env := []string{"SHEAF_SERVER=" + s.URL, "SHEAF_EMAIL=" + email, "SHEAF_PASSWORD=" + password, "SHEAF_ASKED=" + filepath.Join(home, "asked"),
			"BROWSER=" + filepath.Join(folder, "person.mjs"), "HOME=" + home, "MCP_REMOTE_CONFIG_DIR=" + filepath.Join(home, "remote")}
		lines := strings.Fields(run(t, folder, env, "node", "connect.mjs", app))
		token := lines[len(lines)-1]
		if out := inspect(t, folder, s.URL, token, "--method", "tools/list", "--strict"); !strings.Contains(out, `"name": "propose_changes"`) || strings.Contains(out, `"name": "edit_document"`) {
			t.Errorf("%s: tools/list with its token: %s", app, out)
		}
	}
}
