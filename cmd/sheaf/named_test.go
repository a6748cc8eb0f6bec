package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// An argument or a flag that is no id is a name, which exactly one record must have.
func TestNames_CanReplaceIDs(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	folder := r.id(t, "folders", "create", "Products")
	project := r.id(t, "projects", "create", "My handbook", "--folder", "products")
	if got := r.json(t, "projects", "get", "My handbook"); got["id"] != project || got["folder_id"] != folder {
		t.Errorf("got %v", got)
	}
	document := r.id(t, "documents", "create", "Start", "--project", "my HANDBOOK")
	if all := r.list(t, "documents", "list", "--project", "My handbook"); len(all) != 1 || all[0]["id"] != document {
		t.Errorf("listed %v", all)
	}
	share := r.json(t, "shares", "create", "document", "Start")
	if share["resource_id"] != document {
		t.Errorf("shared %v", share)
	}
	if got := r.json(t, "shares", "get", share["url"].(string)); got["id"] != share["id"] {
		t.Errorf("by its address: %v", got)
	}
	if all := r.list(t, "shares", "list", "--of", "Start"); len(all) != 1 {
		t.Errorf("listed %v", all)
	}
	hook := r.json(t, "webhooks", "create", "Build", "https://example.com/hook", "--events", "project.created")["id"]
	if got := r.json(t, "webhooks", "get", "Build"); got["id"] != hook {
		t.Errorf("the webhook: %v", got)
	}
	wantWords(t, r.do(t, "documents", "delete", "Start"), "deleted document "+document)
	if got := r.json(t, "documents", "restore", "Start"); got["id"] != document {
		t.Errorf("restored %v", got)
	}

	// Two records with the same name are an error, unless exactly one has it as it was typed.
	other := r.id(t, "projects", "create", "my handbook")
	if got := r.json(t, "projects", "get", "my handbook"); got["id"] != other {
		t.Errorf("as it was typed: %v", got)
	}
	r.id(t, "projects", "create", "my handbook")
	sheafWith(t, r.env, "", "projects", "delete", "my handbook").fails(t, `2 projects are called "my handbook"`, other)
	sheafWith(t, r.env, "", "projects", "move", "My handbook", "nowhere").fails(t, `"nowhere" is neither an id nor the name of a folder: sheaf folders list shows them`)
	sheafWith(t, r.env, "", "projects", "get", strings.Repeat("x", 201)).fails(t, "neither an id nor the name")
	if all := r.list(t, "projects", "list"); len(all) != 3 {
		t.Errorf("a refused command changed something: %v", all)
	}
}

// If there is one workspace, the flag is not needed. If there are several, the name is enough.
func TestWorkspace_NeedsNoNameWhereThereIsOne(t *testing.T) {
	t.Parallel()
	data := []string{"--data", filepath.Join(t.TempDir(), "data")}
	sheaf := func(args ...string) result { return sheafCommand(t, append(args, data...)...) }
	sheaf("migrate").succeeds(t)
	sheaf("key", "list").fails(t, "no workspace yet")
	ws := createWorkspace(t, data, "business")
	key := decoded[keyRecord](t, sheaf("key", "create", "--name", "CI", "--scopes", "all", "--json").succeeds(t))
	sheaf("key", "create", "--name", "twice", "--scopes", "all").succeeds(t)
	sheaf("key", "create", "--name", "twice", "--scopes", "all").succeeds(t)
	sheaf("key", "revoke", "twice").fails(t, `2 keys are called "twice"`)
	if got := decoded[keyRecord](t, sheaf("key", "revoke", "ci", "--json").succeeds(t)); got.ID != key.ID {
		t.Errorf("revoked %+v", got)
	}
	sheaf("export", filepath.Join(t.TempDir(), "out")).succeeds(t)
	other := decoded[workspaceRecord](t, sheaf("workspace", "create", "--json", "--name", "Other", "--plan", "pro").succeeds(t))
	sheaf("key", "list").fails(t, "2 workspaces", "--workspace")
	if got := decoded[[]keyRecord](t, sheaf("key", "list", "--json", "--workspace", "acme").succeeds(t)); len(got) != 2 {
		t.Errorf("the keys of %s: %+v", ws.ID, got)
	}
	if got := decoded[workspaceRecord](t, sheaf("workspace", "set-plan", "--json", "Other", "business").succeeds(t)); got.ID != other.ID {
		t.Errorf("changed %+v", got)
	}
	sheaf("workspace", "set-plan", "Nowhere", "pro").fails(t, "neither an id nor the name of a workspace")
}

// Links have the address of the running server with its port, unless a flag names another address.
func TestLinks_LeadToTheServerThatRuns(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	server := start(t, "--data", data)
	for _, args := range [][]string{{"user", "setup-link"}, {"user", "invite", "ada@example.com"}} {
		if got := sheafCommand(t, append(args, "--data", data)...).succeeds(t); !strings.HasPrefix(got, server.url+"/") {
			t.Errorf("%v: %s, and the server is at %s", args, got, server.url)
		}
	}
	if got := sheafCommand(t, "user", "setup-link", "--data", data, "--public-url", "https://docs.example.com").succeeds(t); !strings.HasPrefix(got, "https://docs.example.com/setup/") {
		t.Errorf("another address: %s", got)
	}
	settings := environment{"SHEAF_ADDR": "127.0.0.1:9"}
	if got := sheafWith(t, settings, "", "user", "setup-link", "--data", data).succeeds(t); !strings.HasPrefix(got, "http://127.0.0.1:9/setup/") {
		t.Errorf("a setting: %s", got)
	}
}

// The error of a typo is one line, with the probable word and the usage of the command.
func TestTypos_AreReportedInOneLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"projcts":                       `sheaf: unknown command projcts: did you mean projects? Usage: sheaf <command>; sheaf --help says more`,
		"bogus":                         `sheaf: unknown command bogus. Usage: sheaf <command>; sheaf --help says more`,
		"projects lst":                  `sheaf: unknown command lst: did you mean list? Usage: sheaf projects <command>; sheaf projects --help says more`,
		"projects list --foldr x":       `sheaf: unknown flag --foldr: did you mean --folder? Usage: sheaf projects list [flags]; sheaf projects list --help says more`,
		"workspace set-plan x pro more": `sheaf: unexpected argument more. Usage: sheaf workspace set-plan <id> <plan> [flags]; sheaf workspace set-plan --help says more`,
		"projects create":               `sheaf: expected "<name>". Usage: sheaf projects create <name> [flags]; sheaf projects create --help says more`,
	} {
		r := sheafCommand(t, strings.Fields(line)...)
		if r.code != exitUsage || r.stdout != "" || r.stderr != want+"\n" {
			t.Errorf("%s: %d, %q, want %q", line, r.code, r.stderr, want)
		}
	}
	if r := sheafCommand(t); r.code != exitUsage || !strings.Contains(r.stderr, "Work with what a server holds:") || strings.Contains(r.stderr, "complete-words") {
		t.Errorf("without a word: %s", r.stderr)
	}
	if r := sheafCommand(t, "projects"); r.code != exitUsage || !strings.Contains(r.stderr, "projects create") || strings.Contains(r.stderr, "what a server holds") {
		t.Errorf("the commands of one: %s", r.stderr)
	}
}

// There is a warning of a variable that looks like a setting but is none.
func TestVariables_ThatAreNoSettings(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.env["SHEAF_SECRET"], r.env["SHEAF_APIKEY"] = "a", "b"
	got := sheafWith(t, r.env, "", "projects", "list")
	if got.code != 0 || got.stderr != "sheaf: warning: SHEAF_APIKEY is not a setting and is ignored: did you mean SHEAF_API_KEY?\n" {
		t.Errorf("a command: %+v", got)
	}
	if got := sheafWith(t, r.env, "", "config"); got.code != 0 || !strings.Contains(got.stderr, "SHEAF_SECRET is not a setting") {
		t.Errorf("config: %+v", got)
	}
}
