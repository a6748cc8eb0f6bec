package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// needs pins what each tool is and asks of a key. One that is added, or asks for something else, is
// to be written here by hand: that is the moment to think about it.
const needs = `
find: documents:read or projects:read, reads
list_documents: documents:read, reads
read_tree: projects:read and documents:read, reads
read_document: documents:read, reads
create_document: documents:write, adds
edit_document: documents:read and documents:write, destructive
rewrite_document: documents:write, destructive
move_document: documents:write, sets
delete_document: documents:write, destructive
restore_document: documents:write, sets
list_projects: projects:read, reads
create_project: projects:write, adds
edit_project: projects:write, destructive
delete_project: projects:write, destructive
list_folders: projects:read, reads
create_folder: projects:write, adds
edit_folder: projects:write, sets
delete_folder: projects:write, destructive
list_versions: documents:read, reads
compare_versions: documents:read, reads
restore_version: documents:write, destructive
propose_changes: proposals:write, adds
list_proposals: proposals:read, reads
read_proposal: proposals:read, reads
comment_proposal: proposals:write, adds
withdraw_proposal: proposals:write, destructive
list_changes: events:read, reads
list_shares: shares:read, reads
share: shares:write and documents:read and media:read, adds, open
unshare: shares:write, destructive, open
`

// pinned returns the names of the tools with what each needs: all scopes of one of the lists.
func pinned() (names []string, need map[string][]sheaf.Scopes, marks map[string]string) {
	need, marks = map[string][]sheaf.Scopes{}, map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(needs)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		scopes, mark, _ := strings.Cut(rest, ", ")
		names, marks[name] = append(names, name), mark
		for either := range strings.SplitSeq(scopes, " or ") {
			var all sheaf.Scopes
			for s := range strings.SplitSeq(either, " and ") {
				all = append(all, sheaf.Scope(s))
			}
			need[name] = append(need[name], all)
		}
	}
	return names, need, marks
}

// D141: a key sees the tools that its scopes allow. For another tool, the error names the scope that
// the key lacks. Tools say whether they read, add or destroy.
func TestTools_AKeySeesWhatItsScopesAllow(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		names, need, marks := pinned()
		all := connect(t, a, w.Key())
		var got []string
		for _, tool := range listTools(t, all) {
			got = append(got, tool.Name)
			if mark := markOf(tool); mark != marks[tool.Name] {
				t.Errorf("%s is marked %q, want %q", tool.Name, mark, marks[tool.Name])
			}
		}
		slices.Sort(names)
		slices.Sort(got)
		if diff := cmp.Diff(names, got); diff != "" {
			t.Errorf("other tools (-want +got):\n%s", diff)
		}
		for _, scope := range sheaf.AllScopes {
			g := connect(t, a, w.Key(scope))
			shown := map[string]bool{}
			for _, tool := range listTools(t, g) {
				shown[tool.Name] = true
			}
			for _, name := range names {
				may := slices.ContainsFunc(need[name], func(s sheaf.Scopes) bool { return len(s) == 1 && s[0] == scope })
				if shown[name] != may {
					t.Errorf("a key with %s is shown %s: %v, want %v", scope, name, shown[name], may)
				}
				if !may {
					g.fails(name, args{}, "FORBIDDEN", "this key lacks the scope")
				}
			}
		}
	}, withMCP)
}

// D141: all scopes that a tool needs make it visible, and one of them less hides it.
func TestTools_NeedAllTheirScopes(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	w := a.Workspace(sheaf.Business)
	names, need, _ := pinned()
	for _, name := range names {
		for _, scopes := range need[name] {
			if !visible(t, connect(t, a, w.Key(scopes...)), name) {
				t.Errorf("%s is not shown to a key with %v", name, scopes)
			}
			for i := range scopes {
				if less := slices.Delete(slices.Clone(scopes), i, i+1); len(less) > 0 && visible(t, connect(t, a, w.Key(less...)), name) {
					t.Errorf("%s is shown to a key with %v alone", name, less)
				}
			}
		}
	}
}

func listTools(t *testing.T, g *agent) []*sdk.Tool {
	t.Helper()
	out, err := g.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out.Tools
}

func visible(t *testing.T, g *agent, name string) bool {
	t.Helper()
	return slices.ContainsFunc(listTools(t, g), func(tool *sdk.Tool) bool { return tool.Name == name })
}

// markOf says what a tool's annotations tell a host.
func markOf(tool *sdk.Tool) string {
	a := tool.Annotations
	mark := "adds"
	switch {
	case a.ReadOnlyHint:
		return "reads"
	case *a.DestructiveHint:
		mark = "destructive"
	case a.IdempotentHint:
		mark = "sets"
	}
	if *a.OpenWorldHint {
		mark += ", open"
	}
	return mark
}

// D140: an agent can do everything that a person would ask for: every tool works, and the API shows
// its result.
func TestTools_DoTheirWork(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g, api := connect(t, a, w.Key()), w.Client("")
		folder := g.id("create_folder", args{"name": "Products"})
		inner := g.id("create_folder", args{"name": "Inner", "parent_id": folder})
		if list := items(g.do("list_folders", args{})); len(list) != 2 || list[1]["parent_id"] != folder {
			t.Errorf("list_folders: %v", list)
		}
		project := g.id("create_project", args{"name": "Handbook", "folder_id": folder})
		document := g.id("create_document", args{"title": "Start", "content": "# Start\n\nZebras run.\n", "project_id": project, "description": "the first"})
		if got := api.GET("/api/v1/documents/"+document).Want(t, 200); got.JSON["content"] != "# Start\n\nZebras run.\n" || got.JSON["project_id"] != project {
			t.Errorf("created %s", got.Body)
		}
		hits := items(g.do("find", args{"query": "zebras", "type": "document", "project_id": project, "folder_id": folder}))
		if len(hits) != 1 || hits[0]["id"] != document || !strings.Contains(hits[0]["snippet"].(string), "Zebras run") {
			t.Errorf("found %v", hits)
		}
		text, revision := g.read(document)
		if text != "# Start\n\nZebras run.\n" || revision != 1 {
			t.Errorf("read %q at %d", text, revision)
		}
		edited := g.do("edit_document", args{"document_id": document, "revision": revision, "append": "The end.\n", "title": "Begin",
			"edits": []args{{"old": "Zebras", "new": "Horses"}, {"old": "Horses run", "new": "Horses walk"}}})
		if edited["revision"] != 2.0 || edited["title"] != "Begin" {
			t.Errorf("edited %v", edited)
		}
		if text, _ := g.read(document); text != "# Start\n\nHorses walk.\nThe end.\n" {
			t.Errorf("edited to %q", text)
		}
		if facts := g.do("rewrite_document", args{"document_id": document, "revision": 2, "content": "All new."}); facts["bytes"] != 8.0 {
			t.Errorf("rewritten: %v", facts)
		}
		if facts := g.do("move_document", args{"document_id": document, "project_id": "none"}); facts["project_id"] != nil {
			t.Errorf("moved: %v", facts)
		}
		if list := g.do("list_documents", args{"project_id": "none"}); list["total"] != 1.0 {
			t.Errorf("listed %v", list)
		}
		g.do("move_document", args{"document_id": document, "project_id": project})
		if facts, outline, _ := g.try("read_tree", args{"project_id": project}); facts["total"] != 1.0 || outline != document+" Begin\n" {
			t.Errorf("the tree %v %q", facts, outline)
		}
		if list := items(g.do("list_projects", args{"folder_id": folder})); len(list) != 1 || list[0]["documents"] != 1.0 {
			t.Errorf("projects %v", list)
		}
		if facts := g.do("edit_project", args{"project_id": project, "name": "Guide", "revision": 1}); facts["name"] != "Guide" {
			t.Errorf("edited %v", facts)
		}
		if facts := g.do("edit_project", args{"project_id": project, "folder_id": inner}); facts["folder_id"] != inner {
			t.Errorf("moved %v", facts)
		}
		share := g.do("share", args{"document_id": document, "password": "open sesame", "expires_at": "2099-01-01T00:00:00Z"})
		if url := share["url"].(string); !strings.HasPrefix(url, apitest.Address+"/s/") || share["has_password"] != true {
			t.Errorf("shared %v", share)
		}
		g.do("share", args{"project_id": project})
		g.do("share", args{"folder_id": folder})
		if list := g.do("list_shares", args{"resource_id": project}); list["total"] != 1.0 {
			t.Errorf("shares %v", list)
		}
		g.do("unshare", args{"share_id": share["id"]})
		g.versions(document)
		g.arranges(project)
		g.do("delete_document", args{"document_id": document})
		api.GET("/api/v1/documents/"+document).WantError(t, 404, "NOT_FOUND")
		g.do("restore_document", args{"document_id": document})
		api.GET("/api/v1/documents/"+document).Want(t, 200)
		g.proposes(api, project)
		g.do("delete_project", args{"project_id": project})
		api.GET("/api/v1/projects/"+project).WantError(t, 404, "NOT_FOUND")
		changed := items(g.do("list_changes", args{"resource_id": document, "limit": 2}))
		if len(changed) != 2 || changed[0]["type"] != "document.updated" || fmt.Sprint(changed[0]["changed"]) != "[project_id]" {
			t.Errorf("changed %v", changed)
		}
		if all := items(g.do("list_changes", args{"resource_id": document, "since": "2020-01-01T00:00:00Z"})); fmt.Sprint(all[1]["changed"]) != "[content title]" {
			t.Errorf("the edit changed %v", all[1])
		}
		for _, tool := range listTools(t, g) {
			if !g.calls[tool.Name] {
				t.Errorf("%s was not tried", tool.Name)
			}
		}
	}, withMCP)
}

// versions reads, compares and restores versions of a document whose first text was written over twice.
func (g *agent) versions(document string) {
	g.t.Helper()
	list := items(g.do("list_versions", args{"document_id": document}))
	if len(list) != 3 || list[0]["version"] != 3.0 || list[0]["bytes"] != 8.0 || list[2]["title"] != "Start" {
		g.t.Errorf("versions %v", list)
	}
	if facts, text, _ := g.try("read_document", args{"document_id": document, "version": 1}); text != "# Start\n\nZebras run.\n" || facts["title"] != "Start" {
		g.t.Errorf("version 1 is %v %q", facts, text)
	}
	if facts, diff, _ := g.try("compare_versions", args{"document_id": document, "from_version": 1, "to_version": 2}); !strings.Contains(diff, "-Zebras run.\n+Horses walk.\n") {
		g.t.Errorf("the difference is %v %q", facts, diff)
	}
	if facts, diff, _ := g.try("compare_versions", args{"document_id": document, "from_version": 3}); facts["same_text"] != true || diff != "" {
		g.t.Errorf("the difference is %v %q", facts, diff)
	}
	g.fails("compare_versions", args{"document_id": document, "from_version": 9}, "NOT_FOUND", "version not found", "list_versions")
	g.fails("restore_version", args{"document_id": document, "version": 9}, "NOT_FOUND", "version not found", "list_versions")
	g.fails("restore_version", args{"document_id": document, "version": 1, "revision": 1}, "PRECONDITION_FAILED", "was changed after you read revision 1")
	if facts := g.do("restore_version", args{"document_id": document, "version": 1}); facts["title"] != "Start" {
		g.t.Errorf("restored %v", facts)
	}
	if text, _ := g.read(document); text != "# Start\n\nZebras run.\n" {
		g.t.Errorf("restored to %q", text)
	}
	g.do("restore_version", args{"document_id": document, "version": 3})
}

// arranges renames, moves and deletes folders around the project.
func (g *agent) arranges(project string) {
	g.t.Helper()
	outer, inner := g.id("create_folder", args{"name": "Outer"}), g.id("create_folder", args{"name": "Inside"})
	if facts := g.do("edit_folder", args{"folder_id": inner, "parent_id": outer}); facts["parent_id"] != outer {
		g.t.Errorf("moved %v", facts)
	}
	if facts := g.do("edit_folder", args{"folder_id": inner, "name": "Inmost"}); facts["name"] != "Inmost" {
		g.t.Errorf("renamed %v", facts)
	}
	g.fails("edit_folder", args{"folder_id": inner}, "VALIDATION_ERROR", "one of both")
	g.fails("edit_folder", args{"folder_id": inner, "name": "x", "parent_id": "none"}, "VALIDATION_ERROR", "one of both")
	g.fails("edit_folder", args{"folder_id": outer, "parent_id": inner}, "VALIDATION_ERROR")
	if facts := g.do("edit_project", args{"project_id": project, "folder_id": inner}); facts["folder_id"] != inner {
		g.t.Errorf("moved %v", facts)
	}
	if list := items(g.do("list_projects", args{"folder_id": inner})); len(list) != 1 || list[0]["path"] != "Outer / Inmost" {
		g.t.Errorf("projects %v", list)
	}
	g.do("delete_folder", args{"folder_id": outer})
	if list := items(g.do("list_projects", args{"folder_id": "none"})); len(list) != 1 || list[0]["id"] != project {
		g.t.Errorf("projects in no folder: %v", list)
	}
}

// proposes makes a proposal in the project by tools, and accepts it by the API.
func (g *agent) proposes(api *apitest.Client, project string) {
	g.t.Helper()
	document := g.id("create_document", args{"title": "Lamp", "content": "Wait.\nLook.\nPress the button.\nGo.\n", "project_id": project})
	gone := g.id("create_document", args{"title": "Old", "project_id": project})
	facts, _, _ := g.try("read_document", args{"document_id": document})
	p := g.do("propose_changes", args{"title": "Say which", "message": "There are two.", "changes": []args{
		{"op": "edit", "document_id": document, "base_version": facts["version"], "edits": []args{{"old": "the button", "new": "the green button"}}, "append": "End."},
		{"op": "create", "title": "Buttons", "project_id": project, "content": "Green."},
		{"op": "create", "title": "Green", "project_id": project, "parent_id": "$1"},
		{"op": "delete", "document_id": gone},
	}})
	id := p["id"].(string)
	if text, _ := g.read(document); text != "Wait.\nLook.\nPress the button.\nGo.\n" || p["state"] != "open" || p["changes"] != 4.0 {
		g.t.Errorf("proposed %v, and the text is %q", p, text)
	}
	g.do("comment_proposal", args{"proposal_id": id, "body": "Please", "change": 0})
	g.do("edit_document", args{"document_id": document, "edits": []args{{"old": "Wait.", "new": "Breathe."}}})
	whole := g.do("read_proposal", args{"proposal_id": id})
	comments := items(whole["comments"].(map[string]any))
	if len(comments) != 1 || comments[0]["body"] != "Please" || len(whole["conflicts"].([]any)) != 0 {
		g.t.Errorf("the proposal is %v", whole)
	}
	one, diff, _ := g.try("read_proposal", args{"proposal_id": id, "change": 0})
	if one["diff"] != true || !strings.Contains(diff, "-Press the button.\n+Press the green button.\n") || strings.Contains(diff, "+Breathe") {
		g.t.Errorf("the change is %v, %s", one, diff)
	}
	tag := api.GET("/api/v1/proposals/"+id).Want(g.t, 200).Header.Get("ETag")
	api.POST("/api/v1/proposals/"+id+"/accept", nil, "If-Match: "+tag).Want(g.t, 200)
	if text, _ := g.read(document); text != "Breathe.\nLook.\nPress the green button.\nGo.\nEnd." {
		g.t.Errorf("accepted to %q", text)
	}
	other := g.id("propose_changes", args{"title": "Move", "changes": []args{{"op": "move", "document_id": document, "project_id": "none"}}})
	if facts := g.do("withdraw_proposal", args{"proposal_id": other}); facts["state"] != "withdrawn" {
		g.t.Errorf("withdrawn: %v", facts)
	}
	if list := items(g.do("list_proposals", args{"document_id": document})); len(list) != 2 || list[0]["id"] != other || list[1]["state"] != "accepted" {
		g.t.Errorf("proposals %v", list)
	}
	if list := g.do("list_proposals", args{"state": "open", "project_id": project}); list["total"] != 0.0 {
		g.t.Errorf("open proposals %v", list)
	}
}

// D181: a key that may propose and not write is offered no tool that changes a text. If it calls one, the refusal
// tells it to propose. A wrong proposal is refused, and the refusal says how to correct it.
func TestTools_AKeyThatMayOnlyProposeIsToldTo(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	w := a.Workspace(sheaf.Business)
	all := connect(t, a, w.Key())
	id := all.id("create_document", args{"title": "Start", "content": "one two one"})
	g := connect(t, a, w.Key(sheaf.ProposalsRead, sheaf.ProposalsWrite, sheaf.DocumentsRead))
	for _, name := range []string{"create_document", "edit_document", "rewrite_document", "move_document", "delete_document", "restore_document", "restore_version"} {
		if visible(t, g, name) {
			t.Errorf("%s is shown to a key that may only propose", name)
		}
		g.fails(name, args{"document_id": id}, "FORBIDDEN", "lacks the scope documents:write", "propose_changes")
	}
	blind := connect(t, a, w.Key(sheaf.ProposalsRead, sheaf.ProposalsWrite))
	blind.fails("propose_changes", args{"title": "t", "changes": []args{{"op": "edit", "document_id": id, "append": "x"}}}, "FORBIDDEN", "documents:read")
	for want, change := range map[string]args{
		"occurs":                  {"op": "edit", "document_id": id, "edits": []args{{"old": "one", "new": "three"}}},
		"but not both":            {"op": "edit", "document_id": id, "append": "x", "content": "y"},
		"has only 1 versions":     {"op": "edit", "document_id": id, "base_version": 2, "content": "y"},
		"is not a field":          {"op": "edit", "document_id": id, "text": "y"},
		"op must be":              {"op": "rewrite", "document_id": id},
		"document_id is required": {"op": "delete"},
	} {
		code := "VALIDATION_ERROR"
		if want == "occurs" {
			code = "CONFLICT"
		}
		g.fails("propose_changes", args{"title": "t", "changes": []args{change}}, code, want)
	}
	// A short edit of a long text makes a long text: the rest is not read when they are too long together.
	var long []args
	for range 5 {
		long = append(long, args{"op": "edit", "document_id": all.id("create_document", args{"title": "Long", "content": strings.Repeat("x", 900_000)}), "append": "y"})
	}
	unknown := args{"op": "edit", "document_id": "0190b0a0-0000-7000-8000-000000000001", "append": "y"}
	g.fails("propose_changes", args{"title": "t", "changes": append(long, unknown)}, "VALIDATION_ERROR", "4 MiB")
	g.fails("list_proposals", args{"state": "done"}, "VALIDATION_ERROR", "state")
	g.id("propose_changes", args{"title": "t", "changes": []args{{"op": "edit", "document_id": id, "append": "three"}}})
	if text, _ := g.read(id); text != "one two one" {
		t.Errorf("the text is %q", text)
	}
}

// D142: an agent follows what happened, from one answer to the next, and misses nothing.
func TestChanges_GoOnWhereTheLastAnswerEnded(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	g.do("create_project", args{"name": "before"})
	newest := g.do("list_changes", args{})
	for i := range 5 {
		g.do("create_project", args{"name": fmt.Sprint("after ", i)})
	}
	var got []string
	after := newest["next_after"]
	for {
		facts := g.do("list_changes", args{"after": after, "limit": 2})
		if len(items(facts)) == 0 {
			break
		}
		for _, c := range items(facts) {
			got = append(got, c["title"].(string))
		}
		after = facts["next_after"]
	}
	if want := []string{"after 0", "after 1", "after 2", "after 3", "after 4"}; !slices.Equal(got, want) {
		t.Errorf("followed %q", got)
	}
	if facts := g.do("list_changes", args{"since": "2020-01-01T00:00:00Z", "limit": 1}); items(facts)[0]["title"] != "before" || facts["total"] != 6.0 {
		t.Errorf("since 2020: %v", facts)
	}
}

// D142: answers are small: lists come in pages, and a text in parts of whole lines.
func TestAnswers_AreSmall(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	long := strings.Repeat(strings.Repeat("word ", 20)+"\n", 1000) + "the end"
	id := g.id("create_document", args{"title": "Long", "content": long})
	for i := range 22 {
		g.do("create_document", args{"title": fmt.Sprint("Other ", i), "content": "x"})
	}
	list := g.do("list_documents", args{})
	if len(items(list)) != 20 || list["total"] != 23.0 || list["next_offset"] != 20.0 {
		t.Errorf("the first page: %d items, %v, %v", len(items(list)), list["total"], list["next_offset"])
	}
	if rest := g.do("list_documents", args{"offset": list["next_offset"]}); len(items(rest)) != 3 || rest["next_offset"] != nil {
		t.Errorf("the second page: %v", rest)
	}
	whole, line := "", 1
	for line > 0 {
		facts, part, _ := g.try("read_document", args{"document_id": id, "from_line": line, "lines": 700})
		if len(part) > 64<<10 {
			t.Fatalf("an answer of %d bytes", len(part))
		}
		whole += part
		next, _ := facts["next_line"].(float64)
		line = int(next)
	}
	if whole != long {
		t.Errorf("the parts make %d bytes, want %d", len(whole), len(long))
	}
	g.fails("read_document", args{"document_id": id, "from_line": 1002}, "VALIDATION_ERROR", "from_line", "1001 lines")
}

// D144: the texts of documents are resources, which a person may choose in the agent's host.
func TestResources_AreTheDocuments(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		id := g.id("create_document", args{"title": "Start", "content": "# Start"})
		for i := range 50 {
			g.do("create_document", args{"title": fmt.Sprint(i)})
		}
		var found []string
		for r, err := range g.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, r.URI)
		}
		if len(found) != 51 || found[50] != "sheaf://document/"+id {
			t.Errorf("listed %d, the last %s", len(found), found[len(found)-1])
		}
		got, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sheaf://document/" + id})
		if err != nil {
			t.Fatal(err)
		}
		if c := got.Contents[0]; c.Text != "# Start" || c.MIMEType != "text/markdown" {
			t.Errorf("read %+v", c)
		}
		templates, err := g.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "sheaf://document/{id}" {
			t.Errorf("templates %v: %v", templates, err)
		}
		for _, uri := range []string{"sheaf://document/0190b0a0-dead-7000-8000-000000000000", "sheaf://document/x", "file:///etc/passwd"} {
			if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("%s: %v", uri, err)
			}
		}
		blind := connect(t, a, w.Key(sheaf.ProjectsRead))
		if _, err := blind.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sheaf://document/" + id}); err == nil {
			t.Error("a key without documents:read reads a document")
		}
	}, withMCP)
}
