package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// D207: the commands on keys of a server.
func TestKeys_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	wantWords(t, r.do(t, "keys", "create", "ci", "--scopes", "projects:read,documents:read", "--expires", "24h"), "shf_", "shown only now", "user")
	id := ""
	for _, k := range r.list(t, "keys", "list") {
		if k["name"] == "ci" {
			id = k["id"].(string)
		}
	}
	wantWords(t, r.do(t, "keys", "list"), id, "ci", "projects:read,documents:read")
	first := r.json(t, "keys", "rotate", "ci", "--grace", "1h")
	second := r.json(t, "keys", "rotate", id)
	if first["id"] != id || second["id"] != id || first["key"] == second["key"] || !strings.HasPrefix(second["key"].(string), "shf_") {
		t.Errorf("rotated %v, then %v", first, second)
	}
	sheafWith(t, r.env, "", "keys", "rotate", id, "--grace", "25h").fails(t, "86400")
	all := r.json(t, "keys", "create", "all", "--scopes", "all")
	if n := len(all["scopes"].([]any)); n != 23 {
		t.Errorf("all are %d scopes", n)
	}
	r.do(t, "keys", "revoke", "ci")
	sheafWith(t, r.env, "", "keys", "rotate", id).fails(t, "not found")
}

// D167: the operators' commands restrict a key, or a person, to records that are named by id or by name. A name
// of several records is refused with their ids.
func TestRestrictedTo_ByNameOnTheCommandLine(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	where := []string{"--data", data}
	s := start(t, append([]string{"--first-run", "none", "--rate-limit", "business=0"}, where...)...)
	ws := createWorkspace(t, where, "business")
	operator := func(args ...string) result {
		return sheafCommand(t, append(append(args, "--workspace", ws.ID), where...)...)
	}
	k := decoded[keyRecord](t, operator("key", "create", "--json", "--name", "k", "--scopes", "all").succeeds(t))
	env := environment{"SHEAF_SERVER": s.url, "SHEAF_API_KEY": k.Key, "HOME": t.TempDir()}
	made := func(args ...string) string {
		t.Helper()
		return decoded[struct{ ID string }](t, sheafWith(t, env, "", append(args, "--json")...).succeeds(t)).ID
	}
	handbook, twice := made("projects", "create", "Handbook, 2nd edition"), made("projects", "create", "Twice")
	again, guides := made("projects", "create", "Twice"), made("folders", "create", "Guides")
	made("folders", "create", "Logos", "--type", "branding")
	create := func(args ...string) result {
		return operator(append([]string{"key", "create", "--json", "--name", "narrow", "--scopes", "all"}, args...)...)
	}
	got := create("--project", "handbook, 2nd EDITION", "--project", twice, "--folder", "Guides").succeeds(t)
	wantWords(t, got, handbook, twice, guides)
	create("--project", "Twice").fails(t, "--project", "2 projects are called", twice, again)
	create("--project", "Hand").fails(t, "--project", "neither an id nor the name of a project", "sheaf projects list")
	create("--folder", "Logos").fails(t, "--folder", "neither an id nor the name of a folder")
	create("--folder", "").fails(t, "--folder")
	operator("user", "invite", "zoe@example.com", "--role", "editor", "--folder", "guides", "--public-url", "https://x.example").succeeds(t)
	operator("user", "invite", "zoe@example.com", "--role", "editor", "--project", "Twice", "--public-url", "https://x.example").fails(t, "2 projects are called")
	// D206: the e-mail of a person who was only invited is erased.
	wantWords(t, sheafCommand(t, append([]string{"user", "erase", "ZOE@example.com"}, where...)...).succeeds(t), "no user has this e-mail", "invitations to it that were deleted: 1")
	sheafCommand(t, append([]string{"user", "erase", "zoe@example.com"}, where...)...).fails(t, "and no invitation has")
}
