package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDocuments_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	project := r.id(t, "projects", "create", "p")
	id := r.id(t, "documents", "create", "Start", "--description", "d")
	if got := r.json(t, "documents", "update", id, "--project", project, "--description", ""); got["project_id"] != project || got["description"] != nil {
		t.Errorf("updated %v", got)
	}
	wantWords(t, r.do(t, "documents", "list", "--project", project), id, "Start")
	if got := r.json(t, "documents", "update", id, "--project", "none"); got["project_id"] != nil {
		t.Errorf("taken out %v", got)
	}
	if all := r.list(t, "documents", "list", "--project", "none", "--sort", "title"); len(all) != 1 {
		t.Errorf("in no project: %v", all)
	}
	r.do(t, "documents", "delete", id)
	sheafWith(t, r.env, "", "documents", "get", id).fails(t, "document not found")
	wantWords(t, r.do(t, "documents", "restore", id), id)
	wantWords(t, r.do(t, "documents", "get", id), "Start")
}

// D161, D162: the documents of a project are drawn as a tree, and moved in it.
func TestDocuments_TreeAndMoveOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	project := r.id(t, "projects", "create", "Handbook")
	wantWords(t, r.do(t, "documents", "tree", "Handbook"), "no documents")
	ids := map[string]string{}
	for _, title := range []string{"Start", "Guide", "Install\nit", "Use", "Expert"} {
		ids[title] = r.id(t, "documents", "create", title, "--project", project)
	}
	if got := r.json(t, "documents", "move", ids["Use"], "--parent", "Guide"); got["parent_id"] != ids["Guide"] {
		t.Errorf("moved %v", got)
	}
	r.do(t, "documents", "move", ids["Install\nit"], "--before", "Use")
	r.do(t, "documents", "move", "Expert", "--parent", ids["Install\nit"])
	wantWords(t, r.do(t, "documents", "move", "Start", "--after", "Guide"), "Start", project)
	want := `├── Guide
│   ├── Install it
│   │   └── Expert
│   └── Use
└── Start
`
	if got := r.do(t, "documents", "tree", project); got != want {
		t.Errorf("drew\n%swant\n%s", got, want)
	}
	wantWords(t, r.do(t, "documents", "tree", "Handbook", "--ids"), ids["Use"])
	if tree := r.json(t, "documents", "tree", "Handbook"); tree["total"] != 5.0 || tree["data"].([]any)[2].(map[string]any)["depth"] != 3.0 {
		t.Errorf("as JSON: %v", tree)
	}
	if got := r.json(t, "documents", "move", "Expert", "--parent", "root"); got["parent_id"] != nil || got["project_id"] != project {
		t.Errorf("to the top level: %v", got)
	}
	if got := r.json(t, "documents", "move", "Guide", "--project", "none"); got["project_id"] != nil {
		t.Errorf("to no project: %v", got)
	}
	sheafWith(t, r.env, "", "documents", "move", "Guide", "--parent", "Use").fails(t, "below")
	if got := sheafWith(t, r.env, "", "documents", "move", "Use", "--before", "Guide", "--after", "Start"); got.code != 2 || !strings.Contains(got.stderr, "--before and --after") {
		t.Errorf("two neighbours: %d, %s", got.code, got.stderr)
	}
	sheafWith(t, r.env, "", "documents", "move", "Use", "--parent", "Missing").fails(t, "neither an id nor the name")
	sheafWith(t, r.env, "", "documents", "move", "Use").fails(t, "say where")
	sheafWith(t, r.env, "", "documents", "move", "Use", "--parent", "").fails(t, "--parent is empty")
	below := r.json(t, "documents", "create", "Below it", "--parent", "Start")
	if below["parent_id"] != ids["Start"] || below["project_id"] != project {
		t.Errorf("made below another: %v", below)
	}
	wantWords(t, r.do(t, "documents", "list", "--parent", "Start", "--sort", "sort_order"), "Below it")
}

// D85: the trash is listed, the last deleted first. A document in it can be deleted permanently,
// and no other document.
func TestDocuments_TrashOnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	first, second := r.id(t, "documents", "create", "First", "--external-id", "wiki:1"), r.id(t, "documents", "create", "Second")
	sheafWith(t, r.env, "", "documents", "purge", first).fails(t, "is not deleted")
	r.do(t, "documents", "delete", first)
	r.do(t, "documents", "delete", second)
	wantWords(t, r.do(t, "documents", "trash"), "DELETED", "First", "Second")
	if all := r.list(t, "documents", "trash"); len(all) != 2 || all[0]["id"] != second || all[0]["deleted_at"] == nil {
		t.Errorf("the trash has %v", all)
	}
	r.do(t, "documents", "purge", first)
	if all := r.list(t, "documents", "trash"); len(all) != 1 || all[0]["id"] != second {
		t.Errorf("the trash has %v", all)
	}
	sheafWith(t, r.env, "", "documents", "restore", first).fails(t, "document not found")
	if got := r.json(t, "documents", "create", "Third", "--external-id", "wiki:1"); got["external_id"] != "wiki:1" {
		t.Errorf("made %v", got)
	}
}

// A text is edited in the editor of the environment, and is never lost.
func TestDocuments_Edit(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	id := r.id(t, "documents", "create", "Start")
	r.env["EDITOR"] = "false"
	r.env["VISUAL"] = `printf 'one\n' >>`
	wantWords(t, r.do(t, "documents", "edit", id), "Start")
	if got := r.json(t, "documents", "edit", id); got["version"] != 3.0 {
		t.Errorf("edited %v", got)
	}
	if got := r.do(t, "documents", "content", id); got != "one\none\n" {
		t.Errorf("the text is %q", got)
	}
	r.env["VISUAL"] = "true" // changes nothing
	if got := r.json(t, "documents", "edit", id); got["version"] != 3.0 {
		t.Errorf("left alone: %v", got)
	}
	wantWords(t, r.do(t, "documents", "versions", id), "VERSION", "Start")
	if all := r.list(t, "documents", "versions", id, "--limit", "2"); len(all) != 2 || all[0]["version"] != 3.0 {
		t.Errorf("versions %v", all)
	}

	keptAfter(t, r.overtaken(t, id), "was changed meanwhile", "one\none\nmine\n")
	r.env["VISUAL"] = `printf 'two\n' >> "$1" && false`
	keptAfter(t, sheafWith(t, r.env, "", "documents", "edit", id), "the editor failed", "one\none\ntwo\n")
	r.env["VISUAL"] = `printf '\000' >>`
	keptAfter(t, sheafWith(t, r.env, "", "documents", "edit", id), "NUL", "one\none\n\x00")
	if got := r.do(t, "documents", "content", id); got != "one\none\n" {
		t.Errorf("the text is %q", got)
	}
}

// keptAfter checks that a command failed, and that the file in its error has the text and is
// readable only for its owner.
func keptAfter(t *testing.T, r result, why, text string) {
	t.Helper()
	r.fails(t, why, "your text is in ")
	_, rest, _ := strings.Cut(r.stderr, "your text is in ")
	file := strings.Fields(rest)[0]
	defer os.Remove(file)
	if got, err := os.ReadFile(file); err != nil || string(got) != text || mode(t, file) != 0o600 {
		t.Errorf("%s has %q, %v", file, got, err)
	}
}

// overtaken edits a document whose title another person changes while the editor is open.
func (r *remote) overtaken(t *testing.T, id string) result {
	t.Helper()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	env := maps.Clone(r.env)
	env["VISUAL"] = "cat '" + pipe + "' >>"
	edited := make(chan result)
	go func() { edited <- sheafWith(t, env, "", "documents", "edit", id) }()
	f, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the editor has begun to read
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, "documents", "update", id, "--title", "Other")
	if _, err := f.WriteString("mine\n"); err != nil {
		t.Error(err)
	}
	f.Close()
	return <-edited
}
