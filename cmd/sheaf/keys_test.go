package main

import (
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
	if n := len(all["scopes"].([]any)); n != 16 {
		t.Errorf("all are %d scopes", n)
	}
	r.do(t, "keys", "revoke", "ci")
	sheafWith(t, r.env, "", "keys", "rotate", id).fails(t, "not found")
}
