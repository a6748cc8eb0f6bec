package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
)

func TestRun_UnknownCommandsAndFlagsShowTheUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"bogus"}, {"serve", "--bogus"}, {"workspace"}, {"workspace", "create"}, {"key", "revoke"}} {
		r := sheafCommand(t, args...)
		if r.code != 2 || r.stdout != "" || !strings.Contains(r.stderr, "Usage: sheaf") {
			t.Errorf("%q: ended with %d, stdout %q, stderr %q", args, r.code, r.stdout, r.stderr)
		}
	}
}

func TestRun_HelpIsNoFault(t *testing.T) {
	if out := sheafCommand(t, "key", "create", "--help").succeeds(t); !strings.Contains(out, "events:read") {
		t.Errorf("the help does not name the scopes: %s", out)
	}
}

type workspaceRecord struct{ ID, Name, Plan, User_id string }

type keyRecord struct {
	ID, Key, Name, Owner string
	Scopes               []string
	Expires_at           *string
}

func createWorkspace(t *testing.T, where []string, plan string) workspaceRecord {
	t.Helper()
	args := append([]string{"workspace", "create", "--json", "--name", "Acme", "--plan", plan}, where...)
	return decoded[workspaceRecord](t, sheafCommand(t, args...).succeeds(t))
}

// Both engines, from an empty database, with the command line only.
func TestOperator_FromNothing(t *testing.T) {
	engines := map[string]func(*testing.T) []string{
		"sqlite":   func(t *testing.T) []string { return []string{"--data", filepath.Join(t.TempDir(), "data")} },
		"postgres": func(t *testing.T) []string { return []string{"--database-url", pgtest.URL(t)} },
	}
	for name, where := range engines {
		t.Run(name, func(t *testing.T) { operatorFromNothing(t, where(t)) })
	}
}

func operatorFromNothing(t *testing.T, where []string) {
	sheaf := func(args ...string) result { return sheafCommand(t, append(args, where...)...) }
	ws := createWorkspace(t, where, "pro")
	if ws.ID == "" || ws.User_id == "" || ws.Name != "Acme" || ws.Plan != "pro" {
		t.Errorf("made %+v", ws)
	}
	var keys []keyRecord
	for range 5 {
		k := decoded[keyRecord](t, sheaf("key", "create", "--json", "--workspace", ws.ID, "--name", "k", "--scopes", "keys:read,projects:read", "--expires", "24h").succeeds(t))
		if !strings.HasPrefix(k.Key, "shf_") || !slices.Equal(k.Scopes, []string{"keys:read", "projects:read"}) || k.Expires_at == nil {
			t.Errorf("made %+v", k)
		}
		keys = append(keys, k)
	}
	sheaf("key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all").fails(t, "pro plan allows 5") // D52
	if got := decoded[workspaceRecord](t, sheaf("workspace", "set-plan", "--json", ws.ID, "business").succeeds(t)); got.Plan != "business" || got.User_id != ws.User_id {
		t.Errorf("set-plan printed %+v", got)
	}
	sheaf("key", "create", "--workspace", strings.ToUpper(ws.ID), "--name", "k", "--scopes", "all").succeeds(t)
	if got := decoded[keyRecord](t, sheaf("key", "revoke", "--json", keys[0].ID).succeeds(t)); got.ID != keys[0].ID || got.Key != "" {
		t.Errorf("revoke printed %+v", got)
	}
	sheaf("key", "revoke", keys[0].ID).fails(t, "not found", "revoked already")
	if got := decoded[[]keyRecord](t, sheaf("key", "list", "--json", "--workspace", ws.ID).succeeds(t)); len(got) != 5 {
		t.Errorf("key list has %d keys, want 5", len(got))
	}
	if got := decoded[[]workspaceRecord](t, sheaf("workspace", "list", "--json").succeeds(t)); len(got) != 1 || got[0].ID != ws.ID {
		t.Errorf("workspace list printed %+v", got)
	}
	// D207
	shared := decoded[keyRecord](t, sheaf("key", "create", "--json", "--workspace", ws.ID, "--name", "pipeline", "--scopes", "all", "--owner", "workspace").succeeds(t))
	rotated := decoded[keyRecord](t, sheaf("key", "rotate", "--json", "pipeline", "--workspace", ws.ID, "--grace", "1h").succeeds(t))
	if rotated.ID != shared.ID || !strings.HasPrefix(rotated.Key, "shf_") || rotated.Key == shared.Key || rotated.Owner != "workspace" || shared.Owner != "workspace" {
		t.Errorf("made %+v, rotated %+v", shared, rotated)
	}
	sheaf("key", "rotate", keys[0].ID).fails(t, "not found", "revoked already")
	sheaf("key", "rotate", shared.ID, "--grace", "25h").fails(t, "0 to 24 hours")
	sheaf("key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all", "--owner", "me").fails(t, "user or workspace")
	sheaf("key", "revoke", shared.ID).succeeds(t)
	if out := sheaf("key", "list", "--workspace", ws.ID).succeeds(t); strings.Count(out, "\n") != 6 || strings.Contains(out, keys[1].Key) {
		t.Errorf("the readable list: %s", out)
	}
}

func TestOperator_RefusesInvalidInput(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	ws := createWorkspace(t, []string{"--data", data}, "free")
	const unknown = "0198c0de-0000-7000-8000-000000000000"
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"workspace", "create", "--name", "x", "--plan", "gold"}, "free, pro or business"},
		{[]string{"workspace", "create", "--name", " ", "--plan", "pro"}, "name must not be empty"},
		{[]string{"workspace", "create", "--name", "a\x00b", "--plan", "pro"}, "NUL"},
		{[]string{"workspace", "create", "--name", "x", "--plan", "pro", "--owner-email", "nobody"}, "e-mail"},
		{[]string{"workspace", "set-plan", "x", "pro"}, "neither an id nor the name of a workspace"},
		{[]string{"workspace", "set-plan", unknown, "pro"}, "sheaf workspace list"},
		{[]string{"key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all"}, "free plan has no API keys"},
		{[]string{"key", "create", "--workspace", unknown, "--name", "k", "--scopes", "all"}, "not found"},
		{[]string{"key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all,more"}, "unknown"},
		{[]string{"key", "create", "--workspace", ws.ID, "--name", "k", "--scopes", "all", "--expires=-1h"}, "--expires"},
		{[]string{"key", "list", "--workspace", unknown}, "not found"},
		{[]string{"user", "set-password", "a@example.com"}, "--owner-email"},
	} {
		sheafCommand(t, append(test.args, "--data", data)...).fails(t, test.want)
	}
	if got := decoded[[]workspaceRecord](t, sheafCommand(t, "workspace", "list", "--json", "--data", data).succeeds(t)); len(got) != 1 {
		t.Errorf("a refused command left something: %+v", got)
	}
}

func TestOperator_ReadingMakesNoFolder(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	sheafCommand(t, "workspace", "list", "--data", data).fails(t, "--data")
	sheafCommand(t, "migrate", "--status", "--data", data).succeeds(t)
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
	sheafCommand(t, "migrate", "--data", data).succeeds(t)
	if got := mode(t, data); got != 0o700 {
		t.Errorf("the folder has mode %o", got)
	}
	if got := sheafCommand(t, "workspace", "list", "--json", "--data", data).succeeds(t); got != "[]\n" {
		t.Errorf("an empty list is printed as %q", got)
	}
}

func TestUser_SetPassword(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	sheafCommand(t, "workspace", "create", "--data", data, "--name", "x", "--plan", "pro", "--owner-email", "Ada@example.com").succeeds(t)
	sheafWith(t, nil, "short\n", "user", "set-password", "ada@example.com", "--data", data).fails(t, "at least 8")
	sheafWith(t, nil, "", "user", "set-password", "ada@example.com", "--data", data).fails(t, "at least 8")
	sheafWith(t, nil, strings.Repeat("x", 1025), "user", "set-password", "ada@example.com", "--data", data).fails(t, "at most 1024")
	sheafCommand(t, "user", "setup-link", "--data", data).succeeds(t)
	sheafWith(t, nil, "long enough\r\n", "user", "set-password", "ada@example.com", "--data", data).succeeds(t)
	sheafCommand(t, "user", "setup-link", "--data", data).fails(t, "set-up is finished")
}

func TestConfig_ShowsSourcesAndMasksSecrets(t *testing.T) {
	e := environment{"SHEAF_DATABASE_URL": "postgres://u:hush@h/db"}
	r := sheafWith(t, e, "", "config", "--json", "--addr", "127.0.0.1:1")
	settings := map[string][2]string{}
	for _, s := range decoded[[]struct{ Name, Value, Source string }](t, r.succeeds(t)) {
		settings[s.Name] = [2]string{s.Value, s.Source}
	}
	if got := settings["addr"]; got != [2]string{"127.0.0.1:1", "flag"} {
		t.Errorf("addr: %q", got)
	}
	if got := settings["database-url"]; strings.Contains(got[0], "hush") || got[1] != "environment SHEAF_DATABASE_URL" {
		t.Errorf("database-url: %q", got)
	}
}

func TestVersion_IsOneObject(t *testing.T) {
	if v := decoded[map[string]string](t, sheafCommand(t, "version", "--json").succeeds(t)); v["version"] == "" {
		t.Errorf("printed %v", v)
	}
}

func TestUserInvite_MakesALinkAndListShowsWhoIsThere(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	ws := decoded[struct{ ID string }](t, sheafCommand(t, "workspace", "create", "--name", "Acme", "--plan", "pro", "--owner-email", "ada@example.com", "--data", data, "--json").succeeds(t))
	link := sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", ws.ID, "--role", "admin", "--data", data, "--public-url", "https://sheaf.example").succeeds(t)
	if !strings.HasPrefix(link, "https://sheaf.example/invite/") || len(strings.TrimSpace(link)) < 70 {
		t.Errorf("the link is %q", link)
	}
	sheafCommand(t, "user", "invite", "ADA@example.com", "--workspace", ws.ID, "--data", data).fails(t, "a member already")
	sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", ws.ID, "--role", "king", "--data", data).fails(t, "owner, admin, editor or member")
	sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", "nowhere", "--data", data).fails(t, `"nowhere" is neither an id nor the name of a workspace`)
	const nothing = "00000000-0000-7000-8000-000000000000"
	sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", ws.ID, "--role", "editor", "--project", nothing, "--data", data).fails(t, "the workspace has no project with that id")
	sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", ws.ID, "--role", "admin", "--folder", nothing, "--data", data).fails(t, "admin")
	sheafCommand(t, "user", "invite", "bob@example.com", "--workspace", ws.ID, "--folder", "x", "--data", data).fails(t, `--folder: "x" is neither an id nor the name of a folder: sheaf folders list shows them`)
	list := sheafCommand(t, "user", "list", "--data", data).succeeds(t)
	if !strings.Contains(list, "ada@example.com") || !strings.Contains(list, "Acme (owner)") || !strings.Contains(list, "none") {
		t.Errorf("the list is %q", list)
	}
	users := decoded[[]struct {
		Email       string
		HasPassword bool `json:"has_password"`
		HasFactor   bool `json:"has_second_factor"`
		Workspaces  []struct{ ID, Role string }
	}](t, sheafCommand(t, "user", "list", "--data", data, "--json").succeeds(t))
	if len(users) != 1 || users[0].HasPassword || users[0].HasFactor || len(users[0].Workspaces) != 1 || users[0].Workspaces[0].ID != ws.ID {
		t.Errorf("%+v", users)
	}
}
