package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
)

// D173: proposals are read and decided on the command line.
func TestProposals_OnTheCommandLine(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	document := r.id(t, "documents", "create", "Start")
	c := r.Workspace.Client("")
	propose := func(title, text string, version int) string {
		return c.POST("/api/v1/proposals", map[string]any{"title": title, "changes": []any{
			map[string]any{"op": "edit", "document_id": document, "base_version": version, "content": text},
			map[string]any{"op": "create", "title": title + " page"}}}).Want(t, 201).Text(t, "id")
	}
	id := propose("Better", "one\n", 1)
	number := fmt.Sprint(r.json(t, "proposals", "get", id)["number"])
	wantWords(t, r.do(t, "proposals", "list", "--state", "open", "--document", "Start"), "NUMBER", number, id, "open", "2", "Better")
	wantWords(t, r.do(t, "proposals", "get", "Better"), id, number, "edit", document, "text", "create", "Better page")
	wantWords(t, r.do(t, "proposals", "diff", id), "change 0: edit", "+one", "change 1: create")
	if all := r.list(t, "proposals", "diff", id); len(all) != 2 || all[0]["proposed"] != "one\n" {
		t.Errorf("the differences are %v", all)
	}
	sheafWith(t, r.env, "", "proposals", "accept", id, "--revision", "2").fails(t, "at revision 1, not 2")
	if got := r.json(t, "proposals", "accept", id, "--revision", "1"); got["state"] != "accepted" {
		t.Errorf("accepted %v", got)
	}
	if got := r.do(t, "documents", "content", document); got != "one\n" {
		t.Errorf("the text is %q", got)
	}
	other := propose("Other", "two\n", 1)
	wantWords(t, r.do(t, "proposals", "get", other), "change 0 cannot be made")
	sheafWith(t, r.env, "", "proposals", "accept", other).fails(t, "conflicts")
	sheafWith(t, r.env, "", "proposals", "approve", other).fails(t, "you wrote this proposal")
	if got := r.json(t, "proposals", "reject", other, "--note", "no"); got["state"] != "rejected" || got["note"] != "no" {
		t.Errorf("rejected %v", got)
	}
	if got := r.json(t, "proposals", "withdraw", propose("Third", "three\n", 2)); got["state"] != "withdrawn" {
		t.Errorf("withdrawn %v", got)
	}
	if all := r.list(t, "proposals", "list"); len(all) != 3 || all[2]["id"] != id {
		t.Errorf("listed %v", all)
	}
}

// D182a: an import that proposes changes no document. The next run updates the open proposal, keeps it if
// nothing changed, and withdraws it if nothing differs any more.
func TestMarkdown_IsProposed(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	source := []string{"import-markdown", dir, "--source", "s"}
	putFile(t, dir, "a.md", "# A\n\none\n\ntwo\n\nthree\n")
	putFile(t, dir, "b.md", "---\nk: v\nl: w\n---\nTo [a](a.md).\n")
	putFile(t, dir, "c.md", "C\n")
	sheafWith(t, r.env, "", append(source, "--propose", "--dry-run")...).fails(t, "is not on the server")
	sheafWith(t, r.env, "", append(source, "--propose")...).fails(t, "is not on the server")
	putFile(t, dir, ".versions", `{"form": 2}`)
	versions := filepath.Join(dir, ".versions")
	sheafWith(t, r.env, "", append(source, "--versions", versions)...).fails(t, "--versions needs --propose")
	sheafWith(t, r.env, "", append(source, "--propose", "--versions", versions)...).fails(t, "it has the form 2", "export again")
	putFile(t, dir, ".versions", "[]")
	sheafWith(t, r.env, "", append(source, "--propose", "--versions", versions)...).fails(t, "--versions has written")
	r.do(t, source...)

	putFile(t, dir, "a.md", "# A\n\nONE\n\ntwo\n\nthree\n")
	putFile(t, dir, "b.md", "---\nk: u\n---\nTo [a](a.md) and [d](d.md).\n")
	putFile(t, dir, "d.md", "To [a](a.md).\n")
	if err := os.Remove(filepath.Join(dir, "c.md")); err != nil {
		t.Fatal(err)
	}
	env := r.env
	r.env = map[string]string{}
	for name, value := range env {
		r.env[name] = value
	}
	r.env["SHEAF_API_KEY"] = r.Workspace.Key(sheaf.ProposalsRead, sheaf.ProposalsWrite, sheaf.DocumentsRead, sheaf.ProjectsRead)
	proposes := append(source, "--propose", "--prune")
	wantWords(t, r.do(t, append(proposes, "--dry-run")...), "1 to create, 2 to update, 1 to put into the trash")
	first := r.json(t, proposes...)
	id := first["proposal"].(string)
	counts(t, first, map[string]float64{"created": 1, "updated": 2, "trashed": 1})
	if a := r.documentOf(t, "s:a.md"); a["version"] != 1.0 {
		t.Errorf("an import that proposes changed %v", a)
	}
	// A person changes another line meanwhile, which stays.
	c := r.Workspace.Client("")
	a := "/api/v1/documents/" + r.documentOf(t, "s:a.md")["id"].(string)
	c.PATCH(a, map[string]any{"content": "# A\n\none\n\ntwo\n\nTHREE\n"}).Want(t, 200)
	wantWords(t, r.do(t, proposes...), id, "waits for a decision")
	if p := r.json(t, "proposals", "get", id); p["revision"] != 1.0 || len(p["changes"].([]any)) != 4 {
		t.Errorf("after a run that found the same: %v", p)
	}
	putFile(t, dir, "d.md", "To [a](a.md), again.\n")
	if again := r.json(t, proposes...); again["proposal"] != id {
		t.Errorf("made another proposal: %v", again)
	}
	if p := r.json(t, "proposals", "get", id); p["revision"] != 2.0 || len(p["conflicts"].([]any)) != 0 {
		t.Errorf("after a run that found more: %v", p)
	}
	tag := c.GET("/api/v1/proposals/"+id).Want(t, 200).Header.Get("ETag")
	c.POST("/api/v1/proposals/"+id+"/accept", nil, "If-Match: "+tag).Want(t, 200)
	if text := r.documentOf(t, "s:a.md")["content"]; text != "# A\n\nONE\n\ntwo\n\nTHREE\n" {
		t.Errorf("a is %q", text)
	}
	d := r.documentOf(t, "s:d.md")
	if text := d["content"].(string); !strings.Contains(text, "again") || !strings.Contains(text, "document:") || d["project_id"] == nil {
		t.Errorf("d is %v", d)
	}
	if b := r.documentOf(t, "s:b.md"); len(b["metadata"].(map[string]any)) != 1 || !strings.Contains(b["content"].(string), "(d.md)") {
		t.Errorf("b is %v", b)
	}
	if n := len(r.list(t, "documents", "list")); n != 3 {
		t.Errorf("%d documents", n)
	}

	// Now the id of d is known, and the file of a is older than its text.
	next := r.json(t, proposes...)
	if next["proposal"] == nil || next["proposal"] == id {
		t.Errorf("the next proposal is %v", next)
	}
	env["SHEAF_API_KEY"], r.env["SHEAF_API_KEY"] = r.env["SHEAF_API_KEY"], env["SHEAF_API_KEY"]
	r.do(t, source...)
	r.env["SHEAF_API_KEY"] = env["SHEAF_API_KEY"]
	if last := r.json(t, proposes...); last["withdrawn"] != next["proposal"] || last["proposal"] != nil {
		t.Errorf("nothing differs: %v", last)
	}
	if p := r.json(t, "proposals", "get", next["proposal"].(string)); p["state"] != "withdrawn" {
		t.Errorf("the proposal is %v", p)
	}
}

// D182a: in a project, new documents are proposed below each other, moved ones move, and one in the trash comes back.
func TestMarkdown_AProjectIsProposed(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	source := []string{"import-markdown", dir, "--source", "s", "--as-project"}
	putFile(t, dir, "a.md", "# A\n")
	putFile(t, dir, "old/b.md", "# B\n")
	putFile(t, dir, "c.md", "# C\n")
	r.do(t, source...)
	r.do(t, "documents", "delete", r.documentOf(t, "s:c.md")["id"].(string))
	putFile(t, dir, "new/index.md", "# New\n")
	putFile(t, dir, "new/d.md", "# D\n")
	putFile(t, dir, "new/deep/e.md", "# E\n")
	b := r.documentOf(t, "s:old/b.md")
	r.do(t, "documents", "move", b["id"].(string), "--parent", "root")
	before := r.do(t, "documents", "tree", "s")
	got := r.json(t, append(source, "--propose")...)
	if after := r.do(t, "documents", "tree", "s"); after != before {
		t.Errorf("the tree became\n%s", after)
	}
	r.do(t, "proposals", "accept", got["proposal"].(string))
	d, e := r.documentOf(t, "s:new/d.md"), r.documentOf(t, "s:new/deep/e.md")
	if d["parent_id"] == nil || e["parent_id"] == nil || e["parent_id"] == d["parent_id"] {
		t.Errorf("d is %v, e is %v", d, e)
	}
	if now := r.documentOf(t, "s:old/b.md"); now["parent_id"] != b["parent_id"] {
		t.Errorf("b is %v, and was %v", now, b)
	}
	r.documentOf(t, "s:c.md")
}

// D182a: what does not fit into one proposal is proposed by the run after its acceptance. A run before it
// changes nothing.
func TestMarkdown_MoreThanAProposalMayHave(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	source := []string{"import-markdown", dir, "--source", "s", "--as-project"}
	putFile(t, dir, "first.md", "# First\n")
	r.do(t, source...)
	for i := range 60 {
		putFile(t, dir, fmt.Sprintf("chapter/%02d/index.md", i), "# Above\n")
		putFile(t, dir, fmt.Sprintf("chapter/%02d/below.md", i), "# Below\n")
	}
	proposes := append(source, "--propose")
	one := r.json(t, proposes...)
	id := one["proposal"].(string)
	left := one["later"].(float64)
	if left <= 0 {
		t.Fatalf("it has proposed %v", one)
	}
	wantWords(t, r.do(t, proposes...), id, "more do not fit into one proposal: accept it, and import again")
	if p := r.json(t, "proposals", "get", id); p["revision"] != 1.0 || len(p["changes"].([]any)) != sheaf.MaxProposed || len(p["conflicts"].([]any)) != 0 {
		t.Errorf("the proposal is at revision %v, with %d changes", p["revision"], len(p["changes"].([]any)))
	}
	r.do(t, "proposals", "accept", id)
	two := r.json(t, proposes...)
	next, _ := two["proposal"].(string)
	if next == "" || next == id || two["later"] != nil {
		t.Fatalf("the second run has proposed %v", two)
	}
	if p := r.json(t, "proposals", "get", next); len(p["changes"].([]any)) != int(left) {
		t.Errorf("the second proposal has %d changes, want %v", len(p["changes"].([]any)), left)
	}
	r.do(t, "proposals", "accept", next)
	if last := r.json(t, proposes...); last["proposal"] != nil {
		t.Errorf("a third run has proposed %v", last)
	}
	for i := range 60 {
		above, below := r.documentOf(t, fmt.Sprintf("s:chapter/%02d/index.md", i)), r.documentOf(t, fmt.Sprintf("s:chapter/%02d/below.md", i))
		if below["parent_id"] != above["id"] {
			t.Errorf("%d: below is %v", i, below["parent_id"])
		}
	}
}

// D177: a project gets its review, and loses it, on the command line.
func TestProjects_Approvals(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	review := func(p map[string]any) any {
		if review, ok := p["review"].(map[string]any); ok {
			return review["approvals"]
		}
		return p["review"]
	}
	if p := r.json(t, "projects", "create", "Manual", "--approvals", "2"); review(p) != 2.0 {
		t.Errorf("created %v", p)
	}
	wantWords(t, r.do(t, "projects", "get", "Manual"), "2 approvals")
	for _, step := range []struct {
		args []string
		want any
	}{{[]string{"--description", "d"}, 2.0}, {[]string{"--approvals", "1"}, 1.0}, {[]string{"--approvals", "0"}, nil}, {[]string{"--description", "e"}, nil}} {
		if p := r.json(t, append([]string{"projects", "update", "Manual"}, step.args...)...); review(p) != step.want {
			t.Errorf("%v: %v", step.args, p)
		}
	}
	sheafWith(t, r.env, "", "projects", "update", "Manual", "--approvals", "4").fails(t, "1 to 3")
	if p := r.json(t, "projects", "create", "Free"); review(p) != nil {
		t.Errorf("created %v", p)
	}
}

// D177: refusals on the command line name its flags and commands, not the API's fields and requests. What a
// review refuses is proposed with --propose.
func TestProposals_RefusalsNameTheCommands(t *testing.T) {
	t.Parallel()
	r, dir := newRemote(t), t.TempDir()
	source := []string{"import-markdown", dir, "--source", "s", "--as-project"}
	putFile(t, dir, "README.md", "# Start\n\none\n")
	r.do(t, source...)
	document, _ := r.list(t, "documents", "list")[0]["id"].(string)
	project, _ := r.list(t, "projects", "list")[0]["id"].(string)
	r.do(t, "projects", "update", project, "--approvals", "1")

	putFile(t, dir, "README.md", "# Start\n\ntwo\n")
	for _, refused := range []result{sheafWith(t, r.env, "", source...), sheafWith(t, r.env, "", "documents", "update", document, "--title", "Other")} {
		refused.fails(t, "--propose")
		if strings.Contains(refused.stderr, "POST") {
			t.Errorf("it names a request: %s", refused.stderr)
		}
	}
	r.env["VISUAL"] = `printf 'three\n' >>`
	keptAfter(t, sheafWith(t, r.env, "", "documents", "edit", document), "--propose", "# Start\n\none\nthree\n")
	made := r.json(t, "documents", "edit", document, "--propose", "--why", "because")
	if made["state"] != "open" || made["title"] != "Edit “Start”" || made["message"] != "because" {
		t.Errorf("proposed %v", made)
	}
	id, _ := made["id"].(string)
	wantWords(t, r.do(t, "proposals", "diff", id), "+three")
	if got := r.do(t, "documents", "content", document); got != "# Start\n\none\n" {
		t.Errorf("the text is %q", got)
	}
	r.env["VISUAL"] = "true"
	sheafWith(t, r.env, "", "documents", "edit", document, "--propose").fails(t, "nothing was proposed")
	sheafWith(t, r.env, "", "documents", "edit", document, "--why", "x").fails(t, "add --propose")
	sheafWith(t, r.env, "", "proposals", "accept", id).fails(t, "0 of the 1 approvals")

	for _, c := range []struct {
		args        []string
		says, lacks string
	}{{[]string{"documents", "update", document}, "give at least one of --title, --description, --project, --external-id, --url, --metadata", "project_id"},
		{[]string{"projects", "update", project}, "give at least one of --name,", "folder_id"},
		{[]string{"shares", "create", "document", document, "--password", "short"}, "at least 8 are needed: choose a longer one, or none", "null"}} {
		got := sheafWith(t, r.env, "", c.args...)
		got.fails(t, c.says)
		if strings.Contains(got.stderr, c.lacks) {
			t.Errorf("%v: %s", c.args, got.stderr)
		}
	}
	r.do(t, "projects", "update", project, "--approvals", "0")
	r.env["VISUAL"] = `sed -i s/one/four/`
	r.do(t, "documents", "edit", document)
	r.json(t, "documents", "content", document)
	lost := r.Workspace.Client("").POST("/api/v1/proposals", map[string]any{"title": "Late", "changes": []any{
		map[string]any{"op": "edit", "document_id": document, "base_version": 1, "content": "# Start\n\nfive\n"}}}).Want(t, 201).Text(t, "id")
	refused := sheafWith(t, r.env, "", "proposals", "accept", lost)
	refused.fails(t, "sheaf proposals get shows where")
	if strings.Contains(refused.stderr, "PATCH") {
		t.Errorf("it names a request: %s", refused.stderr)
	}
	r.do(t, "releases", "create", project, "1.0")
	share := r.json(t, "shares", "create", "project", project, "--release", "newest")
	wantWords(t, r.do(t, "shares", "list"), "RELEASE", "newest", fmt.Sprint(share["id"]))
}
