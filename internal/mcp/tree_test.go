package mcp_test

import (
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/fill"
)

// D160, D162, D164: an agent writes, reads and rearranges the tree of a project, and sees where a document is.
func TestTree_OfAProject(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		g := connect(t, a, a.Workspace(sheaf.Business).Key())
		project := g.id("create_project", args{"name": "Handbook"})
		outline := func(in args) (out []string) {
			t.Helper()
			in["project_id"] = project
			_, text, refused := g.try("read_tree", in)
			if refused {
				t.Fatal("refused")
			}
			for line := range strings.Lines(text) {
				at := strings.TrimLeft(line, " ")
				out = append(out, strings.Repeat(".", (len(line)-len(at))/2)+strings.TrimSpace(at[len(unknownID):]))
			}
			return out
		}
		want := func(want ...string) {
			t.Helper()
			if got := outline(args{}); !slices.Equal(got, want) {
				t.Errorf("the tree is %q, want %q", got, want)
			}
		}
		ids := map[string]string{}
		create := func(title, parent string) map[string]any {
			t.Helper()
			in := args{"title": title, "content": "zebra", "project_id": project}
			if parent != "" {
				in["parent_id"] = "sheaf://document/" + ids[parent]
			}
			made := g.do("create_document", in)
			ids[title] = made["id"].(string)
			return made
		}
		create("one", "")
		if made := create("below", "one"); made["parent_id"] != ids["one"] {
			t.Errorf("created %v", made)
		}
		create("deep", "below")
		create("first", "")
		g.do("move_document", args{"document_id": ids["first"], "before_id": ids["one"]})
		want("first", "one", ".below", "..deep")
		if facts, _, _ := g.try("read_document", args{"document_id": ids["deep"]}); facts["path"] != "Handbook / one / below" || facts["title"] != "deep" {
			t.Errorf("read %v", facts)
		}
		if facts, _, _ := g.try("read_document", args{"document_id": ids["one"]}); facts["path"] != "Handbook" {
			t.Errorf("read %v", facts)
		}
		for _, hit := range items(g.do("find", args{"query": "zebra"})) {
			if at := map[any]string{"one": "Handbook", "first": "Handbook", "below": "Handbook / one", "deep": "Handbook / one / below"}[hit["title"]]; hit["path"] != at {
				t.Errorf("found %v", hit)
			}
		}
		level := g.do("list_documents", args{"project_id": project, "parent_id": "none"})
		if list := items(level); len(list) != 2 || list[0]["title"] != "first" || list[1]["title"] != "one" {
			t.Errorf("the top level is %v", level)
		}
		if list := items(g.do("list_documents", args{"parent_id": ids["one"]})); len(list) != 1 || list[0]["title"] != "below" {
			t.Errorf("below one: %v", list)
		}

		g.do("move_document", args{"document_id": ids["first"], "after_id": ids["below"]})
		want("one", ".below", "..deep", ".first")
		g.do("move_document", args{"document_id": ids["first"], "before_id": "sheaf://document/" + ids["below"]})
		want("one", ".first", ".below", "..deep")
		g.do("move_document", args{"document_id": ids["below"], "parent_id": "none"})
		want("one", ".first", "below", ".deep")
		g.fails("move_document", args{"document_id": ids["below"], "parent_id": ids["deep"]}, "VALIDATION_ERROR", "below this one")
		g.fails("move_document", args{"document_id": ids["below"]}, "VALIDATION_ERROR", "send project_id, parent_id, before_id or after_id")
		g.fails("move_document", args{"document_id": ids["below"], "before_id": ids["one"], "after_id": ids["one"]}, "VALIDATION_ERROR", "not both")

		page, text, _ := g.try("read_tree", args{"project_id": project, "limit": 3})
		if strings.Count(text, "\n") != 3 || page["total"] != 4.0 || page["next_offset"] != 3.0 {
			t.Errorf("the first page is %v", page)
		}
		if got := outline(args{"offset": page["next_offset"]}); !slices.Equal(got, []string{".deep"}) {
			t.Errorf("the second page is %q", got)
		}
		if got := outline(args{"offset": 100}); len(got) != 0 {
			t.Errorf("after the end: %q", got)
		}
		g.do("delete_document", args{"document_id": ids["below"]})
		want("one", ".first")
		g.do("restore_document", args{"document_id": ids["below"]})
		want("one", ".first", "below", ".deep")
	}, withMCP)
}

// D161: of a project with too many documents, an agent reads the levels.
func TestTree_OfTooManyDocuments(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	w := a.Workspace(sheaf.Business)
	g := connect(t, a, w.Key())
	project := g.id("create_project", args{"name": "p"})
	if err := fill.Documents(a.Store, w.ID, sheaf.ProjectID(project), sheaf.MaxTree+1); err != nil {
		t.Fatal(err)
	}
	g.fails("read_tree", args{"project_id": project}, "VALIDATION_ERROR", "more than 10000 documents", "list_documents", "parent_id \"none\"")
	if level := g.do("list_documents", args{"project_id": project, "parent_id": "none"}); level["total"] != 10001.0 || items(level)[0]["title"] != "Page 1" {
		t.Errorf("the top level has %v", level["total"])
	}
}
