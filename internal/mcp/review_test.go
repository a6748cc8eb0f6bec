package mcp_test

import (
	"testing"

	"sheaf.dev/internal/mcp"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D177: no tool changes a document of a project under review. The refusal tells the agent to propose.
func TestReview_EveryToolIsRefused(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		g, c := connect(t, a, w.Key()), w.Client("")
		project := g.id("create_project", args{"name": "Manual"})
		document := g.id("create_document", args{"title": "Page", "content": "first", "project_id": project})
		deleted := g.id("create_document", args{"title": "Gone", "project_id": project})
		g.do("delete_document", args{"document_id": deleted})
		g.do("edit_document", args{"document_id": document, "append": "second"})
		other := g.id("create_document", args{"title": "Other"})
		c.PATCH("/api/v1/projects/"+project, args{"review": args{"approvals": 1}}).Want(t, 200)

		tries := map[string][]args{
			"create_document":  {{"title": "New", "project_id": project}, {"title": "New", "parent_id": document, "project_id": project}},
			"edit_document":    {{"document_id": document, "append": "more"}, {"document_id": document, "title": "Else"}},
			"rewrite_document": {{"document_id": document, "content": "other", "revision": 2}},
			"move_document":    {{"document_id": document, "project_id": "none"}, {"document_id": other, "project_id": project}},
			"delete_document":  {{"document_id": document}},
			"restore_document": {{"document_id": deleted}},
			"restore_version":  {{"document_id": document, "version": 1}},
		}
		for _, name := range mcp.WritingTools() {
			if len(tries[name]) == 0 {
				t.Errorf("%s changes documents: try it here", name)
			}
			for _, in := range tries[name] {
				g.fails(name, in, "REVIEW_REQUIRED", "propose")
			}
		}
		if text, revision := g.read(document); text != "first\nsecond" || revision != 2 {
			t.Errorf("the document is %q at %d", text, revision)
		}
	}, withMCP)
}
