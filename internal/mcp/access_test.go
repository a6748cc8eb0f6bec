package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// canary is in everything that the other workspace wrote.
const canary = "kanarienvogel"

// D140: no tool and no argument shows whether a record of another workspace exists, and no answer
// has a word of it.
func TestAccess_AnotherWorkspaceIsNotThere(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		theirs := connect(t, a, a.Workspace(sheaf.Business).Key())
		folder := theirs.id("create_folder", args{"name": canary})
		project := theirs.id("create_project", args{"name": canary, "description": canary, "folder_id": folder})
		document := theirs.id("create_document", args{"title": canary, "content": canary, "project_id": project})
		share := theirs.id("share", args{"document_id": document})
		proposal := theirs.id("propose_changes", args{"title": canary, "message": canary, "changes": []args{{"op": "edit", "document_id": document, "content": canary}}})
		theirs.do("comment_proposal", args{"proposal_id": proposal, "body": canary})
		changed := theirs.do("list_changes", args{})["next_after"]
		ids := map[string]any{"document_id": document, "project_id": project, "folder_id": folder, "parent_id": document, "before_id": document, "after_id": document,
			"share_id": share, "proposal_id": proposal, "resource_id": document, "after": changed}
		unknown := map[string]any{"after": "evt_" + unknownID}

		w := a.Workspace(sheaf.Business)
		g := connect(t, a, w.Key())
		own := map[string]string{"document_id": g.id("create_document", args{"title": "own"}), "project_id": g.id("create_project", args{"name": "own"})}
		g.wantNotThere(ids, unknown, own)
		g.wantNotProposed(document, project, own["document_id"])
		if got := g.do("find", args{"query": canary}); got["total"] != 0.0 {
			t.Errorf("found %v", got)
		}
		if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sheaf://document/" + document}); err == nil {
			t.Error("read another's document")
		}
		if text, revision := theirs.read(document); text != canary || revision != 1 {
			t.Errorf("another workspace's document is now %q at %d", text, revision)
		}
	}, withMCP)
}

// D169, D197: for a restricted key, a restricted app, and the app of a restricted person, no tool and no argument shows whether a
// record outside of the restriction exists, and no answer has a word of it.
func TestRestriction_OutsideIsNotThere(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		all := connect(t, a, w.Key())
		folder := all.id("create_folder", args{"name": canary})
		project := all.id("create_project", args{"name": canary, "description": canary, "folder_id": folder})
		document := all.id("create_document", args{"title": canary, "content": canary, "project_id": project})
		trashed := all.id("create_document", args{"title": canary, "content": canary, "project_id": project})
		all.do("delete_document", args{"document_id": trashed})
		loose := all.id("create_document", args{"title": canary, "content": canary})
		share := all.id("share", args{"document_id": document})
		proposal := all.id("propose_changes", args{"title": canary, "message": canary, "changes": []args{{"op": "edit", "document_id": document, "content": canary}}})
		changed := all.do("list_changes", args{})["next_after"]
		inside := all.id("create_folder", args{"name": "inside"})
		var scopes []string
		var forApps, ofEditors sheaf.Scopes
		for _, s := range sheaf.AllScopes {
			if s.Restrictable() {
				scopes = append(scopes, string(s))
			}
			if s.Restrictable() && sheaf.GrantScopes.Has(s) {
				forApps = append(forApps, s)
			}
			if sheaf.GrantScopes.Has(s) && sheaf.Editor.RestrictedScopes().Has(s) {
				ofEditors = append(ofEditors, s)
			}
		}
		made := w.Client("").POST("/api/v1/api-keys", args{"name": "restricted", "scopes": scopes, "restricted_to": args{"folder_ids": []string{inside}}}).Want(t, 201)
		to := &app.RestrictTo{Folders: []sheaf.FolderID{sheaf.FolderID(inside)}}
		owner := app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
		invited, err := a.App.Invite(t.Context(), owner, "bob@example.com", sheaf.Editor, to)
		if err != nil {
			t.Fatal(err)
		}
		joined, _, err := a.App.Join(t.Context(), app.Join{Token: invited.Token, Name: "Bob", Password: "long enough"}, "")
		if err != nil {
			t.Fatal(err)
		}
		session, err := a.App.Session(t.Context(), joined.Token)
		if err != nil {
			t.Fatal(err)
		}
		bob, _, err := session.Caller(w.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{made.Text(t, "key"), w.App(owner, forApps, to), w.App(bob, ofEditors, nil)} {
			g := connect(t, a, secret)
			own := map[string]string{"folder_id": inside, "project_id": all.id("create_project", args{"name": "own", "folder_id": inside})}
			own["document_id"] = all.id("create_document", args{"title": "own", "project_id": own["project_id"]})
			for _, outside := range []string{document, trashed, loose} {
				g.wantNotThere(map[string]any{"document_id": outside, "project_id": project, "folder_id": folder, "parent_id": outside, "before_id": outside,
					"after_id": outside, "share_id": share, "proposal_id": proposal, "resource_id": outside, "after": changed}, map[string]any{"after": "evt_" + unknownID}, own)
				g.wantNotProposed(outside, project, own["document_id"])
			}
			for _, tool := range listTools(t, g) { // and with nothing but what must be sent
				g.ask(tool, "", nil, own, map[string]any{"query": canary[:5], "title": "t", "name": "n", "content": "c", "revision": 1})
			}
			if got := g.do("find", args{"query": canary}); got["total"] != 0.0 {
				t.Errorf("found %v", got)
			}
			if _, err := g.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "sheaf://document/" + document}); err == nil {
				t.Error("read a document outside")
			}
			if text, revision := all.read(document); text != canary || revision != 1 {
				t.Errorf("the document outside is now %q at %d", text, revision)
			}
		}
	}, withMCP)
}

// wantNotThere calls every tool with each argument that names a record, once with the id in `ids` and once with an id that
// never existed, and compares the answers. `unknown` has such ids for arguments that take no UUID, and `own` has ids that the
// agent may use for the other arguments.
func (g *agent) wantNotThere(ids, unknown map[string]any, own map[string]string) {
	g.t.Helper()
	others := map[string]any{"query": canary, "title": "t", "name": "n", "content": "c", "append": "x", "revision": 1, "body": "b", "changes": []args{{"op": "create", "title": "t"}}}
	for _, tool := range listTools(g.t, g) {
		for name := range propertiesOf(g.t, tool) {
			id := ids[name]
			if strings.HasSuffix(tool.Name, "_folder") && name == "parent_id" {
				id = ids["folder_id"]
			}
			if id == nil {
				continue
			}
			never := unknown[name]
			if never == nil {
				never = unknownID
			}
			got, want := g.ask(tool, name, id, own, others), g.ask(tool, name, never, own, others)
			if strings.ReplaceAll(got, fmt.Sprint(id), "%") != strings.ReplaceAll(want, fmt.Sprint(never), "%") {
				g.t.Errorf("%s with another's %s answers %s, and with one that is not there %s", tool.Name, name, got, want)
			}
		}
	}
}

// wantNotProposed proposes changes that name the document or the project. It fails unless the answer is the one for
// unknown ids.
func (g *agent) wantNotProposed(document, project, own string) {
	g.t.Helper()
	answer := func(document, project string) (all []string) {
		for _, change := range []args{
			{"op": "edit", "document_id": document, "content": "c"}, {"op": "edit", "document_id": document, "base_version": 1, "append": "x"},
			{"op": "delete", "document_id": document, "base_version": 1}, {"op": "restore", "document_id": document}, {"op": "move", "document_id": document, "project_id": "none"},
			{"op": "create", "title": "t", "project_id": project}, {"op": "create", "title": "t", "parent_id": document},
			{"op": "move", "document_id": own, "before_id": document}, {"op": "move", "document_id": own, "project_id": project},
		} {
			facts, _, refused := g.try("propose_changes", args{"title": "t", "changes": []args{change}})
			if !refused {
				g.t.Errorf("proposed %v", change)
			}
			all = append(all, fmt.Sprint(facts))
		}
		return all
	}
	if got, want := answer(document, project), answer(unknownID, unknownID); strings.ReplaceAll(strings.ReplaceAll(fmt.Sprint(got), document, "%"), project, "%") != strings.ReplaceAll(fmt.Sprint(want), unknownID, "%") {
		g.t.Errorf("proposing with another's ids answers %q, and with unknown ones %q", got, want)
	}
}

// ask calls the tool with that id for that argument and something for all others that it must have,
// and returns what it said. No answer may have the canary, but for the query that was sent.
func (g *agent) ask(tool *sdk.Tool, argument string, id any, own map[string]string, others map[string]any) string {
	g.t.Helper()
	in := args{}
	for name, must := range propertiesOf(g.t, tool) {
		switch {
		case name == argument:
			in[name] = id
		case !must:
		case own[name] != "":
			in[name] = own[name]
		case others[name] != nil:
			in[name] = others[name]
		default:
			in[name] = unknownID
		}
	}
	if tool.Name == "edit_document" {
		in["append"] = "x"
	}
	if tool.Name == "edit_project" {
		in["name"] = "x"
	}
	facts, text, _ := g.try(tool.Name, in)
	said := fmt.Sprint(facts, text)
	if strings.Contains(said, canary) {
		g.t.Errorf("%s %v: %s", tool.Name, in, said)
	}
	return said
}

// propertiesOf are the arguments of a tool, and which of them must be sent.
func propertiesOf(t *testing.T, tool *sdk.Tool) map[string]bool {
	t.Helper()
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	b, _ := json.Marshal(tool.InputSchema)
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for name := range schema.Properties {
		out[name] = false
	}
	for _, name := range schema.Required {
		out[name] = true
	}
	return out
}

// D110, D121: tools ask for the same scopes as the API if a share would show what the key did not send.
func TestAccess_WritingShowsNothingByADetour(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		owner := connect(t, a, ws.Key())
		made := ws.Client("").Do("POST", "/api/v1/media?filename=s.txt", "secret", "Content-Type: application/octet-stream").Want(t, 201).Text(t, "id")
		shared, private := owner.id("create_project", args{"name": "shared"}), owner.id("create_project", args{"name": "private"})
		open := owner.id("create_document", args{"title": "open", "project_id": shared, "content": "a"})
		hidden := owner.id("create_document", args{"title": "hidden", "project_id": private, "content": "a secret"})
		gone := owner.id("create_document", args{"title": "gone", "project_id": shared, "content": "a secret"})
		owner.do("delete_document", args{"document_id": gone})
		owner.do("share", args{"project_id": shared})
		named := "[x](media:" + made + ")"
		for lacks, key := range map[string]string{"documents:read": ws.Key(sheaf.DocumentsWrite), "media:read": ws.Key(sheaf.DocumentsWrite, sheaf.DocumentsRead)} {
			g := connect(t, a, key)
			g.fails("move_document", args{"document_id": hidden, "project_id": shared}, "FORBIDDEN", lacks)
			g.fails("restore_document", args{"document_id": gone}, "FORBIDDEN", lacks)
			g.fails("create_document", args{"title": "n", "project_id": shared, "content": named}, "FORBIDDEN", "media:read")
			g.fails("rewrite_document", args{"document_id": open, "content": named, "revision": 1}, "FORBIDDEN", "media:read")
		}
		half := connect(t, a, ws.Key(sheaf.DocumentsWrite, sheaf.DocumentsRead))
		half.fails("edit_document", args{"document_id": open, "edits": []args{{"old": "a", "new": named}}}, "FORBIDDEN", "media:read")
		all := connect(t, a, ws.Key(sheaf.DocumentsWrite, sheaf.DocumentsRead, sheaf.MediaRead))
		all.do("move_document", args{"document_id": hidden, "project_id": shared})
		all.do("edit_document", args{"document_id": open, "edits": []args{{"old": "a", "new": named}}})
	}, withMCP)
}
