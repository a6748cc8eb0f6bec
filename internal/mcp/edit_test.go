package mcp_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D143: two agents who edit different passages of one document at once both get what they want.
func TestEdit_AgentsOfOneDocumentLoseNothing(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		const agents, rounds = 6, 5
		w := a.Workspace(sheaf.Business)
		var text strings.Builder
		for i := range agents {
			fmt.Fprintf(&text, "agent %d: 0.\n", i)
		}
		first := connect(t, a, w.Key())
		id := first.id("create_document", args{"title": "Shared", "content": text.String()})
		var group sync.WaitGroup
		for i := range agents {
			g := connect(t, a, w.Key())
			group.Go(func() {
				for r := range rounds {
					facts, _, refused := g.try("edit_document", args{"document_id": id, "edits": []args{
						{"old": fmt.Sprintf("agent %d: %d.", i, r), "new": fmt.Sprintf("agent %d: %d.", i, r+1)}}})
					if refused {
						t.Errorf("agent %d, round %d: %v", i, r, facts)
					}
				}
			})
		}
		group.Wait()
		got, revision := first.read(id)
		if want := strings.ReplaceAll(text.String(), ": 0.", fmt.Sprintf(": %d.", rounds)); got != want {
			t.Errorf("the text is %q", got)
		}
		if revision != 1+agents*rounds {
			t.Errorf("it is at revision %d, want one for each edit", revision)
		}
	}, withMCP)
}

// D143: if several agents change what they read, the first one succeeds. The others get an error
// text, and change nothing.
func TestEdit_WhoWasSlowerIsToldSo(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		const agents = 6
		w := a.Workspace(sheaf.Business)
		first := connect(t, a, w.Key())
		id := first.id("create_document", args{"title": "Shared", "content": "nobody"})
		won := make([]bool, agents)
		var group sync.WaitGroup
		for i := range agents {
			g := connect(t, a, w.Key())
			group.Go(func() {
				in := args{"document_id": id, "revision": 1, "content": fmt.Sprint("agent ", i)}
				facts, _, refused := g.try("rewrite_document", in)
				said, _ := facts["error"].(string)
				won[i] = !refused
				if refused && (facts["code"] != "PRECONDITION_FAILED" || !strings.Contains(said, "was changed after you") || !strings.Contains(said, "revision 2")) {
					t.Errorf("agent %d was told %v", i, facts)
				}
			})
		}
		group.Wait()
		winner := -1
		for i, w := range won {
			if w && winner >= 0 {
				t.Errorf("agents %d and %d both won", winner, i)
			}
			if w {
				winner = i
			}
		}
		if got, revision := first.read(id); got != fmt.Sprint("agent ", winner) || revision != 2 {
			t.Errorf("the text is %q at revision %d, and agent %d won", got, revision, winner)
		}
		first.fails("edit_document", args{"document_id": id, "revision": 1, "append": "x"}, "PRECONDITION_FAILED", "was changed after you", "read revision 1", "at revision 2")
		first.fails("delete_document", args{"document_id": id, "revision": 1}, "PRECONDITION_FAILED", "this document was changed")
		project := first.id("create_project", args{"name": "p"})
		first.do("edit_project", args{"project_id": project, "name": "q"})
		first.fails("edit_project", args{"project_id": project, "revision": 1, "name": "r"}, "PRECONDITION_FAILED", "this project was changed", "at revision 2")
		first.fails("delete_project", args{"project_id": project, "revision": 1}, "PRECONDITION_FAILED", "this project was changed")
	}, withMCP)
}

// D143: a passage is replaced only if it occurs exactly once. In all other cases the agent gets an error
// text.
func TestEdit_Passages(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t, withMCP)
	g := connect(t, a, a.Workspace(sheaf.Business).Key())
	id := g.id("create_document", args{"title": "Passages", "content": "one two one\r\nthree\r\n"})
	edit := func(edits ...args) args { return args{"document_id": id, "edits": edits} }
	g.fails("edit_document", edit(args{"old": "four", "new": "5"}), "CONFLICT", "edits[0].old is not in the text", "read that part again")
	g.fails("edit_document", edit(args{"old": "one", "new": "1"}), "CONFLICT", "edits[0].old occurs 2 times", "all: true")
	g.fails("edit_document", edit(args{"old": "one\nthree", "new": "1"}), "CONFLICT", "its line breaks differ", `\r\n`)
	g.fails("edit_document", edit(args{"old": "two", "new": "2"}, args{"old": "two", "new": "3"}), "CONFLICT", "edits[1].old")
	g.fails("edit_document", edit(args{"old": "", "new": "2"}), "VALIDATION_ERROR", "edits[0].old must not be empty")
	g.fails("edit_document", edit(args{"old": "two", "new": "two"}), "VALIDATION_ERROR", "edits[0].new is the same")
	g.fails("edit_document", edit(args{"old": "two"}), "VALIDATION_ERROR", "edits[0] must have old", "and new")
	g.fails("edit_document", edit(args{"old": "two", "new": 7}), "VALIDATION_ERROR", "edits[0]", "`new` must be a string")
	g.fails("edit_document", edit(args{"old": "two", "new": strings.Repeat("x", 1<<20)}), "VALIDATION_ERROR", "1 MiB")
	g.fails("edit_document", edit(make([]args, 51)...), "VALIDATION_ERROR", "edits")
	g.fails("edit_document", args{"document_id": id, "edits": args{"old": "two", "new": "2"}}, "VALIDATION_ERROR", "`edits` must be an array of objects, not an object")
	g.fails("edit_document", args{"document_id": id}, "VALIDATION_ERROR", "nothing to change", "edits")
	if text, revision := g.read(id); text != "one two one\r\nthree\r\n" || revision != 1 {
		t.Fatalf("a refused edit changed it to %q at %d", text, revision)
	}
	g.do("edit_document", edit(args{"old": "one", "new": "1", "all": true}, args{"old": "three\r\n", "new": ""}))
	g.do("edit_document", args{"document_id": id, "append": "four"})
	g.do("edit_document", args{"document_id": id, "append": "five"})
	if text, _ := g.read(id); text != "1 two 1\r\nfour\nfive" {
		t.Errorf("edited to %q", text)
	}
}
