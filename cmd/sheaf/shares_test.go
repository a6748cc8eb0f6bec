package main

import (
	"strings"
	"testing"
)

func TestShares_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	document := r.id(t, "documents", "create", "Start")
	made := r.json(t, "shares", "create", "document", document, "--expires", "24h", "--listed")
	id, _ := made["id"].(string)
	if made["listed"] != true || made["expires_at"] == nil || made["has_password"] != false {
		t.Errorf("made %v", made)
	}
	wantWords(t, r.do(t, "shares", "list", "--of", document), id, "document", made["url"].(string))
	wantWords(t, r.do(t, "shares", "get", id), made["url"].(string), "no", "yes")
	got := sheafWith(t, r.env, "open sesame\n", "shares", "update", id, "--password", "-", "--expires", "", "--no-listed", "--json")
	got.succeeds(t)
	if out := got.stdout; !strings.Contains(out, `"has_password":true`) || !strings.Contains(out, `"expires_at":null`) || !strings.Contains(out, `"listed":false`) {
		t.Errorf("changed %s", out)
	}
	if got := r.json(t, "shares", "update", id, "--password", ""); got["has_password"] != false {
		t.Errorf("without a password: %v", got)
	}
	sheafWith(t, r.env, "", "shares", "create", "document", document, "--expires", "soon").fails(t, "--expires")
	folder := r.id(t, "folders", "create", "Site")
	if site := r.json(t, "shares", "create", "folder", "Site"); site["resource_type"] != "folder" || site["resource_id"] != folder {
		t.Errorf("of a folder: %v", site)
	}
	wantWords(t, r.do(t, "shares", "list", "--of", "Site"), "folder")
	r.do(t, "shares", "delete", id)
	sheafWith(t, r.env, "", "shares", "get", id).fails(t, "share not found")
}
