//go:build clients

package agents

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

var (
	accessToken  = regexp.MustCompile(`sht_\w+`)
	refreshToken = regexp.MustCompile(`shr_\w+`)
)

// D195: apps that others wrote connect by the address alone. They register, lead the person to the consent page, redeem the
// code, and refresh their tokens without asking again. The tools are those for which the person agreed.
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
	address := "127.0.0.1:" + freePort(t)
	s := p.Start(t, "--addr", address, "--public-url", "http://"+address)
	if status, err := s.Call(key, http.MethodPost, "/api/v1/documents", map[string]string{"title": "Runbook", "content": "Call Ada.\n"}, nil); err != nil || status != http.StatusCreated {
		t.Fatalf("the document was answered %d, %v", status, err)
	}
	inspector := []string{filepath.Join(folder, "node_modules/.bin/mcp-inspector"), "--cli", s.URL + "/mcp", "--transport", "http",
		"--callback-url", "http://127.0.0.1:" + freePort(t) + "/oauth/callback", "--method"}
	for name, commands := range map[string][][]string{
		"the official client": {{"node", "connect.mjs"}},
		"mcp-remote":          {{"node", "connect.mjs", "--remote"}},
		"the inspector":       {slices.Concat(inspector, []string{"tools/list"}), slices.Concat(inspector, []string{"tools/call", "--tool-name", "find", "--tool-arg", "query=runbook"})},
	} {
		home, asked := t.TempDir(), filepath.Join(t.TempDir(), "asked")
		env := []string{"HOME=" + home, "SHEAF_SERVER=" + s.URL, "SHEAF_EMAIL=" + email, "SHEAF_PASSWORD=" + password, "SHEAF_ASKED=" + asked,
			"BROWSER=" + filepath.Join(folder, "person.mjs"), "MCP_AUTO_OPEN_ENABLED=true", "MCP_INSPECTOR_SECRET_STORE=file"}
		work := func() {
			t.Helper()
			var out string
			for _, c := range commands {
				out += run(t, folder, env, c[0], c[1:]...)
			}
			if !strings.Contains(out, `"name": "propose_changes"`) || !strings.Contains(out, `\"total\":1`) {
				t.Errorf("%s: %s", name, out)
			}
			for _, tool := range []string{"create_document", "edit_document", "rewrite_document", "delete_document"} {
				if strings.Contains(out, `"name": "`+tool+`"`) {
					t.Errorf("%s is offered %s", name, tool)
				}
			}
		}
		work()
		first := kept(t, home)
		access, refresh := accessToken.FindString(first), refreshToken.FindString(first)
		if access == "" || refresh == "" {
			t.Fatalf("%s keeps no tokens: %s", name, first)
		}
		kept(t, home, access, "sht_expired")
		work()
		if last := kept(t, home); strings.Contains(last, "sht_expired") || strings.Contains(last, refresh) || !accessToken.MatchString(last) {
			t.Errorf("%s did not refresh %s: %s", name, refresh, last)
		}
		b, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		if apps := strings.Fields(string(b)); len(apps) != 1 || !strings.Contains(first, `"`+apps[0]+`"`) {
			t.Errorf("%s: the person was asked by the apps %q, and it keeps %s", name, apps, first)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	port, err := sheaftest.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// kept returns the text of all files of a folder, in which it replaces pairs of texts first.
func kept(t *testing.T, folder string, replace ...string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.NewReplacer(replace...).Replace(string(b))
		all.WriteString(text)
		return os.WriteFile(path, []byte(text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
