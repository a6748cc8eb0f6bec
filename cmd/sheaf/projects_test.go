package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestProjects_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	folder := r.id(t, "folders", "create", "Products")
	id := r.id(t, "projects", "create", "<Handbook>", "--description", "d", "--icon", "book", "--folder", folder)
	wantWords(t, r.do(t, "projects", "list"), "ID", "NAME", id, "<Handbook>")
	got := r.json(t, "projects", "update", id, "--name", "Manual", "--icon", "")
	if got["name"] != "Manual" || got["icon"] != nil || got["description"] != "d" {
		t.Errorf("updated %v", got)
	}
	r.do(t, "documents", "create", "Start", "--project", id)
	wantWords(t, r.do(t, "projects", "get", id), "Manual", folder, "Start")
	if got := r.json(t, "projects", "move", id, "root"); got["folder_id"] != nil {
		t.Errorf("moved %v", got)
	}
	if all := r.list(t, "projects", "list", "--folder", folder); len(all) != 0 {
		t.Errorf("in the folder: %v", all)
	}
	if all := r.list(t, "projects", "list", "--folder", "root", "-q", "manu"); len(all) != 1 || all[0]["document_count"] != 1.0 {
		t.Errorf("at the root: %v", all)
	}
	wantWords(t, r.do(t, "projects", "delete", id), "deleted", id)
	sheafWith(t, r.env, "", "projects", "get", id).fails(t, "project not found")
	for list, noun := range map[string]string{"projects": "project", "folders": "folder", "documents": "document", "webhooks": "subscription"} {
		for _, verb := range []string{"get", "delete"} {
			sheafWith(t, r.env, "", list, verb, "Handbook").fails(t, `"Handbook" is neither an id nor the name of a `+noun+`: sheaf `+list+` list shows them`)
		}
	}
}

func TestProjects_ListReadsEveryPage(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	c := r.API.Client(r.env["SHEAF_API_KEY"])
	for i := range 103 {
		c.POST("/api/v1/projects", map[string]any{"name": fmt.Sprint("p", i)}).Want(t, 201)
	}
	if all := r.list(t, "projects", "list"); len(all) != 103 || all[102]["name"] != "p102" {
		t.Errorf("listed %d", len(all))
	}
	if some := r.list(t, "projects", "list", "--limit", "101", "--sort", "created_at", "--desc"); len(some) != 101 || some[0]["name"] != "p102" {
		t.Errorf("listed %d", len(some))
	}
	if got := strings.Count(r.do(t, "projects", "list", "--limit", "2"), "\n"); got != 3 {
		t.Errorf("%d lines", got)
	}
	if got := r.do(t, "documents", "list", "--json"); got != "[]\n" {
		t.Errorf("nothing is %q", got)
	}
}

// A script gets the JSON that the server sent.
func TestJSON_IsTheServersOwn(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	id := r.id(t, "projects", "create", "a<b>\u2028")
	want := string(r.API.Client(r.env["SHEAF_API_KEY"]).GET("/api/v1/projects/"+id).Want(t, 200).Body)
	if got := r.do(t, "projects", "get", id, "--json"); got != want+"\n" {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestRemote_FailsInOneLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	run := func(args ...string) result { return sheafWith(t, r.env, "", args...) }
	run("projects", "create", " ").fails(t, "name")
	run("projects", "list", "--api-key", "nonsense").fails(t, "API key")
	run("projects", "list", "--server", "nonsense").fails(t, "--server", "http://127.0.0.1:8080")
	run("projects", "list", "--server", "http://127.0.0.1:1").fails(t, "nothing answers at http://127.0.0.1:1", "sheaf serve")
	if got := run("import-markdown", fixtures+"obsidian", "--source", "s", "--server", "http://127.0.0.1:1"); strings.Contains(got.stderr, "again in") {
		t.Errorf("an import waits for a server that was never there: %s", got.stderr)
	} else {
		got.fails(t, "nothing answers at http://127.0.0.1:1", "sheaf serve")
	}
	run("events", "list", "--since", "yesterday").fails(t, "--since", "2h")
	run("events", "publish", "media.uploaded", "x", "--payload", "{").fails(t, "--payload")
	if got := run("projects", "list", "--nonsense"); got.code != exitUsage || got.stdout != "" {
		t.Errorf("an unknown flag: %+v", got)
	}
	if got := run("projects", "create"); got.code != exitUsage {
		t.Errorf("no name: %+v", got)
	}
	delete(r.env, "SHEAF_API_KEY")
	run("projects", "list").fails(t, "no API key", "sheaf profile set")
}
