package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/sheaftest/proof"
)

// orderOf returns the sort_order of a document as JSON has it.
func orderOf(document fields) string { return fmt.Sprintf("%.0f", document["sort_order"]) }

// under makes a document below a parent, "" for none, in a project, "" for none.
func under(t testing.TB, c *apitest.Client, project, parent, title string) string {
	t.Helper()
	body := fields{"title": title}
	if project != "" {
		body["project_id"] = project
	}
	if parent != "" {
		body["parent_id"] = parent
	}
	return create(t, c, documents, body)
}

// chain makes a document on each of `levels` levels, each below the one before.
func chain(t testing.TB, c *apitest.Client, project string, levels int) (ids []string) {
	t.Helper()
	parent := ""
	for i := range levels {
		parent = under(t, c, project, parent, fmt.Sprint("level ", i+1))
		ids = append(ids, parent)
	}
	return ids
}

// D160: the order of documents is that of creation until it is set. The record shows the value that
// counts.
func TestTree_SortOrder(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		ids := []string{under(t, c, p, "", "a"), under(t, c, p, "", "b"), under(t, c, p, "", "c")}
		var values []float64
		for _, id := range ids {
			values = append(values, c.GET(at(documents, id)).JSON["sort_order"].(float64))
		}
		if math.Mod(values[0], 1048576) != 0 || values[1] != values[0]+1048576 || values[2] != values[1]+1048576 {
			t.Errorf("the first orders are %.0f", values)
		}
		list := func(query string, want ...string) {
			t.Helper()
			wantSame(t, query, c.GET(documents+"?"+query).Want(t, 200).IDs(t), want)
		}
		list("sort=sort_order&project_id="+p, ids...)
		es := emitted(t, c, func() {
			// The value that is shown is the value that counts: sent back, it changes nothing.
			c.PATCH(at(documents, ids[0]), fields{"sort_order": values[0]}).Want(t, 200)
		})
		if len(es) != 0 {
			t.Errorf("sending back the order emitted %q", typesOf(es))
		}
		es = emitted(t, c, func() { c.PATCH(at(documents, ids[2]), fields{"sort_order": -7}).Want(t, 200) })
		wantSame(t, "an order", typesOf(es), []string{"document.updated " + ids[2]})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"].(fields)["sort_order"], values[2])
		list("sort=sort_order&project_id="+p, ids[2], ids[0], ids[1])
		list("sort=sort_order&order=desc", ids[1], ids[0], ids[2])
		list("", ids...) // D41: the list keeps the order of creation
		// Equal orders: by creation.
		c.PATCH(at(documents, ids[1]), fields{"sort_order": values[0]}).Want(t, 200)
		list("sort=sort_order&parent_id=null", ids[2], ids[0], ids[1])
		last := create(t, c, documents, fields{"title": "last", "project_id": p, "sort_order": 1<<53 - 1})
		list("sort=sort_order", ids[2], ids[0], ids[1], last)
		for _, bad := range []string{`null`, `"1"`, `1.5`, `9007199254740992`, `-9007199254740992`} {
			c.PATCH(at(documents, last), `{"sort_order":`+bad+`}`).WantError(t, 400, "VALIDATION_ERROR", "sort_order")
			c.POST(documents, `{"title":"x","sort_order":`+bad+`}`).WantError(t, 400, "VALIDATION_ERROR", "sort_order")
		}
	})
}

// D160: a parent is there, in the same project, not the document itself or below it, and leaves a
// level. The refusal names the field and says which of these it is.
func TestTree_Parents(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), documents, fields{"title": "x"})
		p, other := create(t, c, projects, fields{"name": "p"}), create(t, c, projects, fields{"name": "other"})
		levels := chain(t, c, p, 5)
		elsewhere, loose := under(t, c, other, "", "elsewhere"), under(t, c, "", "", "loose")
		deleted := under(t, c, p, "", "deleted")
		c.DELETE(at(documents, deleted)).Want(t, 204)
		twoLevels := under(t, c, p, "", "two levels")
		under(t, c, p, twoLevels, "second")

		es := emitted(t, c, func() {
			for _, gone := range []string{nowhereID, theirs, deleted} {
				made := c.POST(documents, fields{"title": "x", "project_id": p, "parent_id": gone}).WantError(t, 404, "NOT_FOUND", "parent document", "parent_id")
				wantBody(t, c.PATCH(at(documents, twoLevels), fields{"parent_id": gone}).Want(t, 404), string(made.Body))
			}
			refused := func(id, parent string, part string) {
				t.Helper()
				r := c.PATCH(at(documents, id), fields{"parent_id": parent}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", part)
				if r.JSON["field"] != "parent_id" {
					t.Errorf("the field is %v", r.JSON["field"])
				}
			}
			refused(levels[0], levels[0], "itself")
			refused(levels[0], levels[4], "below this one")
			refused(twoLevels, elsewhere, "another project")
			refused(twoLevels, loose, "another project")
			refused(loose, twoLevels, "another project")
			refused(twoLevels, levels[3], "at most 5 levels")
			for parent, part := range map[string]string{elsewhere: "another project", levels[4]: "at most 5 levels"} {
				c.POST(documents, fields{"title": "x", "project_id": p, "parent_id": parent}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", part)
				c.Do("PUT", documents+"?external_id=new", fields{"title": "x", "project_id": p, "parent_id": parent}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", part)
			}
			c.PATCH(at(documents, twoLevels), `{"parent_id":"x"}`).WantError(t, 400, "VALIDATION_ERROR", "parent_id")
			// D11: an unknown parent before If-Match, any other refusal after it.
			c.PATCH(at(documents, twoLevels), fields{"parent_id": nowhereID}, `If-Match: "9-9"`).WantError(t, 404, "NOT_FOUND")
			c.PATCH(at(documents, twoLevels), fields{"parent_id": levels[3]}, `If-Match: "9-9"`).WantError(t, 412, "PRECONDITION_FAILED")
		})
		if len(es) != 0 {
			t.Errorf("refusals emitted %q", typesOf(es))
		}
		es = emitted(t, c, func() {
			c.PATCH(at(documents, twoLevels), fields{"parent_id": strings.ToUpper(levels[2])}).Want(t, 200)
			c.PATCH(at(documents, twoLevels), fields{"parent_id": levels[2]}).Want(t, 200)
		})
		wantSame(t, "one level higher", typesOf(es), []string{"document.updated " + twoLevels})
		wantSame(t, "children", c.GET(documents+"?sort=sort_order&parent_id="+levels[2]).IDs(t), []string{levels[3], twoLevels})
		wantSame(t, "top", c.GET(documents+"?parent_id=null&project_id="+p).IDs(t), []string{levels[0]})
		wantSame(t, "of nobody", c.GET(documents+"?parent_id="+nowhereID).Want(t, 200).IDs(t), nil)
		wantSame(t, "of a stranger", c.GET(documents+"?parent_id="+theirs).Want(t, 200).IDs(t), nil)
		c.GET(documents+"?parent_id=x").WantError(t, 400, "VALIDATION_ERROR", "parent_id")
		if r := c.PATCH(at(documents, twoLevels), fields{"parent_id": nil}).Want(t, 200); r.JSON["parent_id"] != nil {
			t.Errorf("at the top level: %s", r.Body)
		}
		// A version counts texts; another place makes none (D82).
		if v := c.GET(at(documents, twoLevels)).JSON["version"]; v != 1.0 {
			t.Errorf("a move made version %v", v)
		}
	})
}

// D160: with another project, a document goes to its top level, and everything below comes along.
func TestTree_ProjectChanges(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p, other := create(t, c, projects, fields{"name": "p"}), create(t, c, projects, fields{"name": "other"})
		levels := chain(t, c, p, 5)
		target := under(t, c, other, "", "target")
		place := func(id string) string {
			d := c.GET(at(documents, id)).Want(t, 200).JSON
			return fmt.Sprint(d["project_id"], " ", d["parent_id"])
		}
		es := emitted(t, c, func() { c.PATCH(at(documents, levels[1]), fields{"project_id": other, "title": "moved"}).Want(t, 200) })
		var want []string
		for _, id := range levels[1:] {
			want = append(want, "document.updated "+id)
		}
		wantSame(t, "a change of the project", typesOf(es), want)
		wantJSON(t, "previous of one below", es[2]["payload"].(fields)["previous"].(fields)["project_id"], p)
		wantSame(t, "places", []string{place(levels[0]), place(levels[1]), place(levels[2]), place(levels[4])},
			[]string{p + " <nil>", other + " <nil>", other + " " + levels[1], other + " " + levels[3]})
		count := func(project string) any { return c.GET(at(projects, project)).JSON["document_count"] }
		if count(p) != 1.0 || count(other) != 5.0 {
			t.Errorf("the projects count %v and %v", count(p), count(other))
		}
		// Sent together, the parent must be in the new project.
		c.PATCH(at(documents, levels[2]), fields{"project_id": nil, "parent_id": target}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "another project")
		c.PATCH(at(documents, levels[1]), fields{"project_id": p, "parent_id": levels[0]}).Want(t, 200)
		c.PATCH(at(documents, levels[1]), fields{"project_id": nil}).Want(t, 200)
		if got := place(levels[4]); got != "<nil> "+levels[3] {
			t.Errorf("the lowest is at %s", got)
		}
		// The same project is no change, and keeps the parent.
		c.PATCH(at(documents, levels[2]), fields{"project_id": nil}).Want(t, 200)
		if got := place(levels[2]); got != "<nil> "+levels[1] {
			t.Errorf("sending the project back: %s", got)
		}
		// D28: deleting a project changes project_id and nothing else.
		c.PATCH(at(documents, levels[1]), fields{"project_id": p}).Want(t, 200)
		c.DELETE(at(projects, p)).Want(t, 204)
		if got := place(levels[2]); got != "<nil> "+levels[1] {
			t.Errorf("after the project: %s", got)
		}
	})
}

// D160: a batch makes a tree at once.
func TestTree_InABatch(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		operations := []fields{{"action": "create", "resource_type": "project", "body": fields{"name": "p"}}}
		for i := range 5 {
			body := fields{"title": fmt.Sprint(i), "project_id": "$0"}
			if i > 0 {
				body["parent_id"] = fmt.Sprint("$", i)
			}
			operations = append(operations, fields{"action": "create", "resource_type": "document", "body": body})
		}
		r := c.POST("/api/v1/batch", fields{"operations": operations}).Want(t, 200)
		made := r.JSON["results"].([]any)
		for i := 2; i < len(made); i++ {
			parent := made[i].(fields)["body"].(fields)["parent_id"]
			if parent != made[i-1].(fields)["resource_id"] {
				t.Errorf("document %d is below %v", i, parent)
			}
		}
		operations = append(operations, fields{"action": "create", "resource_type": "document", "body": fields{"title": "x", "project_id": "$0", "parent_id": "$5"}})
		c.POST("/api/v1/batch", fields{"operations": operations}).WantError(t, 400, "VALIDATION_ERROR", "operations[6]", "at most 5 levels")
		c.POST("/api/v1/batch", fields{"operations": []fields{operations[0],
			{"action": "create", "resource_type": "document", "body": fields{"title": "x", "parent_id": "$0"}}}}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "does not create a document")
		if n := len(wholeList(t, c, documents, 100)); n != 5 {
			t.Errorf("there are %d documents", n)
		}
	})
}

// inTree returns the tree of a project as a list of titles, each after as many dots as there are documents above it.
func inTree(t testing.TB, c *apitest.Client, project string) (out []string) {
	t.Helper()
	r := c.GET(at(projects, project)+"/tree").Want(t, 200)
	below := map[string]float64{}
	for _, e := range r.JSON["data"].([]any) {
		if parent, ok := e.(fields)["parent_id"].(string); ok {
			below[parent]++
		}
	}
	for _, e := range r.JSON["data"].([]any) {
		e := e.(fields)
		out = append(out, strings.Repeat(".", int(e["depth"].(float64))-1)+e["title"].(string))
		if e["children"] != below[e["id"].(string)] {
			t.Errorf("%v has %v children, not %v", e["title"], below[e["id"].(string)], e["children"])
		}
	}
	if r.JSON["total"] != float64(len(out)) {
		t.Errorf("total is %v of %d", r.JSON["total"], len(out))
	}
	return out
}

// D161: all documents of a project, each followed by those below it.
func TestTree_ReadingOrder(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		w := a.Workspace(sheaf.Pro)
		c := w.Client("")
		p := create(t, c, projects, fields{"name": "p"})
		wantSame(t, "empty", inTree(t, c, p), nil)
		one := under(t, c, p, "", "one")
		two := under(t, c, p, "", "two")
		under(t, c, p, one, "first")
		second := under(t, c, p, one, "second")
		under(t, c, p, second, "deep")
		under(t, c, p, two, "below two")
		gone := under(t, c, p, "", "gone")
		c.DELETE(at(documents, gone)).Want(t, 204)
		under(t, c, create(t, c, projects, fields{"name": "other"}), "", "elsewhere")
		wantSame(t, "the tree", inTree(t, c, p), []string{"one", ".first", ".second", "..deep", "two", ".below two"})
		r := c.PATCH(at(documents, second), fields{"sort_order": 0, "title": "zeroth"}).Want(t, 200)
		wantSame(t, "ordered", inTree(t, c, p), []string{"one", ".zeroth", "..deep", ".first", "two", ".below two"})
		tree := c.GET(at(projects, p)+"/tree").Want(t, 200)
		wantJSON(t, "an entry", tree.JSON["data"].([]any)[1], fields{"id": second, "title": "zeroth", "parent_id": one, "depth": 2.0,
			"sort_order": 0.0, "children": 1.0, "version": 2.0, "updated_at": r.JSON["updated_at"]})
		c.GET(at(projects, p)+"/tree", "If-None-Match: "+tree.Header.Get("ETag")).Want(t, 304)
		c.GET(at(projects, nowhereID)+"/tree").WantError(t, 404, "NOT_FOUND")
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), projects, fields{"name": "x"})
		c.GET(at(projects, theirs)+"/tree").WantError(t, 404, "NOT_FOUND")
	})
}

// D162: a document goes before or after another one, or to the end, with everything below it.
func TestTree_Move(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p, other := create(t, c, projects, fields{"name": "p"}), create(t, c, projects, fields{"name": "other"})
		ids := map[string]string{}
		for _, title := range []string{"a", "b", "c", "d"} {
			ids[title] = under(t, c, p, "", title)
		}
		ids["x"] = under(t, c, p, ids["a"], "x")
		ids["y"] = under(t, c, p, ids["a"], "y")
		ids["o"] = under(t, c, other, "", "o")
		move := func(title string, body fields, changed ...string) {
			t.Helper()
			var want []string
			for _, title := range changed {
				want = append(want, "document.updated "+ids[title])
			}
			es := emitted(t, c, func() { c.POST(at(documents, ids[title])+"/move", body).Want(t, 200) })
			wantSame(t, fmt.Sprint("moving ", title, " by ", body), typesOf(es), want)
		}
		tree := func(want ...string) {
			t.Helper()
			wantSame(t, "the tree", inTree(t, c, p), want)
		}
		move("d", fields{"before_id": ids["b"]}, "d")
		tree("a", ".x", ".y", "d", "b", "c")
		move("d", fields{"before_id": ids["b"]}) // it is there
		move("d", fields{"after_id": ids["a"]})
		move("c", fields{})
		move("a", fields{}, "a")
		tree("d", "b", "c", "a", ".x", ".y")
		late := under(t, c, p, "", "late") // a new one comes after what was moved to the end
		ids["late"] = late
		tree("d", "b", "c", "a", ".x", ".y", "late")
		move("c", fields{"after_id": ids["x"]}, "c")
		tree("d", "b", "a", ".x", ".c", ".y", "late")
		move("y", fields{"parent_id": nil, "before_id": nil}, "y")
		tree("d", "b", "a", ".x", ".c", "late", "y")
		move("a", fields{"before_id": ids["d"], "parent_id": nil, "project_id": p}, "a")
		tree("a", ".x", ".c", "d", "b", "late", "y")
		move("a", fields{"before_id": ids["o"]}, "a", "c", "x")
		tree("d", "b", "late", "y")
		wantSame(t, "the other project", inTree(t, c, other), []string{"a", ".x", ".c", "o"})
		move("a", fields{"project_id": p, "parent_id": ids["b"]}, "a", "c", "x")
		tree("d", "b", ".a", "..x", "..c", "late", "y")

		es := emitted(t, c, func() {
			refused := func(title string, body fields, status int, code string, parts ...string) {
				t.Helper()
				c.POST(at(documents, ids[title])+"/move", body).WantError(t, status, code, parts...)
			}
			refused("b", fields{"parent_id": ids["x"]}, 400, "VALIDATION_ERROR", "parent_id", "below this one")
			refused("b", fields{"after_id": ids["b"]}, 400, "VALIDATION_ERROR", "after_id", "itself")
			refused("y", fields{"after_id": ids["x"], "parent_id": nil}, 400, "VALIDATION_ERROR", "after_id", "another parent")
			refused("y", fields{"after_id": ids["x"], "before_id": ids["c"]}, 400, "VALIDATION_ERROR", "not both")
			refused("y", fields{"parent_id": ids["o"]}, 400, "VALIDATION_ERROR", "parent_id", "another project")
			refused("y", fields{"before_id": nowhereID}, 404, "NOT_FOUND", "before_id")
			refused("y", fields{"parent_id": nowhereID}, 404, "NOT_FOUND", "parent_id")
			refused("y", fields{"project_id": nowhereID}, 404, "NOT_FOUND", "project")
			c.POST(at(documents, nowhereID)+"/move", fields{}).WantError(t, 404, "NOT_FOUND")
			c.POST(at(documents, ids["y"])+"/move", fields{"before_id": ids["d"]}, `If-Match: "9-9"`).WantError(t, 412, "PRECONDITION_FAILED")
		})
		if len(es) != 0 {
			t.Errorf("refusals emitted %q", typesOf(es))
		}
	})
}

// D162: where there is no value between two documents, the fewest neighbours get new ones.
func TestTree_MoveMakesRoom(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		var ids []string
		for i, order := range []int{1, 2, 3, 10, 1000} {
			ids = append(ids, create(t, c, documents, fields{"title": fmt.Sprint(i), "project_id": p, "sort_order": order}))
		}
		es := emitted(t, c, func() { c.POST(at(documents, ids[4])+"/move", fields{"before_id": ids[1]}).Want(t, 200) })
		if len(es) != 2 { // the document, and the first one: below 1 is room
			t.Errorf("changed %q", typesOf(es))
		}
		wantSame(t, "the order", inTree(t, c, p), []string{"0", "4", "1", "2", "3"})
		es = emitted(t, c, func() { c.POST(at(documents, ids[3])+"/move", fields{"before_id": ids[2]}).Want(t, 200) })
		if len(es) != 2 {
			t.Errorf("changed %q", typesOf(es))
		}
		wantSame(t, "the order", inTree(t, c, p), []string{"0", "4", "1", "3", "2"})
	})
}

// D162: a move in a batch is a move. With more documents below than the bound, it is refused.
func TestTree_MoveInABatch(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p, other := create(t, c, projects, fields{"name": "p"}), create(t, c, projects, fields{"name": "other"})
		one, two := under(t, c, p, "", "one"), under(t, c, p, "", "two")
		for i := range 4 {
			under(t, c, p, one, fmt.Sprint(i))
		}
		do := func(operations ...fields) *apitest.Response {
			return c.POST("/api/v1/batch", fields{"operations": operations})
		}
		moved := func(id string, body fields) fields {
			return fields{"action": "move", "resource_type": "document", "resource_id": id, "body": body}
		}
		do(fields{"action": "create", "resource_type": "document", "body": fields{"title": "new", "project_id": p}},
			moved("$0", fields{"before_id": one}), moved(two, fields{"parent_id": "$0"})).Want(t, 200)
		wantSame(t, "the tree", inTree(t, c, p), []string{"new", ".two", "one", ".0", ".1", ".2", ".3"})
		do(moved(two, fields{})).WantError(t, 400, "VALIDATION_ERROR", "operations[0]", "parent_id", "before_id")
		do(moved(two, fields{"before_id": one, "after_id": one})).WantError(t, 400, "VALIDATION_ERROR", "not both")
		do(moved(one, fields{"project_id": other})).WantError(t, 409, "CONFLICT", "more than 3")
		c.POST(at(documents, one)+"/move", fields{"project_id": other}).WantError(t, 409, "CONFLICT", "more than 3")
		c.PATCH(at(documents, one), fields{"parent_id": two}).WantError(t, 409, "CONFLICT", "more than 3")
		c.POST(at(documents, one)+"/move", fields{"before_id": create(t, c, documents, fields{"title": "n", "project_id": p})}).Want(t, 200)
	}, func(c *apitest.Config) { c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 100, Moved: 3}) })
}

// D163: what is below a document goes to the trash with it, and comes back with it.
func TestTree_DeleteAndRestore(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		levels := chain(t, c, p, 5)
		gone := under(t, c, p, levels[1], "gone before")
		c.DELETE(at(documents, gone)).Want(t, 204)
		restore := func(id string) *apitest.Response { return c.POST(at(documents, id)+"/restore", nil) }
		types := func(kind string, ids ...string) (out []string) {
			for _, id := range ids {
				out = append(out, kind+" "+id)
			}
			return out
		}
		es := emitted(t, c, func() { c.DELETE(at(documents, levels[1])).Want(t, 204) })
		wantSame(t, "those below first", typesOf(es), types("document.deleted", levels[4], levels[3], levels[2], levels[1]))
		wantSame(t, "the tree", inTree(t, c, p), []string{"level 1"})
		if n := c.GET(at(projects, p)).JSON["document_count"]; n != 1.0 {
			t.Errorf("the project counts %v", n)
		}
		c.POST(documents, fields{"title": "x", "project_id": p, "parent_id": levels[2]}).WantError(t, 404, "NOT_FOUND", "parent_id")
		// A document that was deleted with the one above it can be restored alone. It comes back at the top
		// level, with the documents that were deleted below it.
		es = emitted(t, c, func() { restore(levels[3]).Want(t, 200) })
		wantSame(t, "a part", typesOf(es), types("document.created", levels[3], levels[4]))
		wantSame(t, "the tree", inTree(t, c, p), []string{"level 1", "level 4", ".level 5"})
		// The document itself comes back with exactly the others.
		es = emitted(t, c, func() { restore(levels[1]).Want(t, 200) })
		wantSame(t, "the rest", typesOf(es), types("document.created", levels[1], levels[2]))
		wantSame(t, "the tree", inTree(t, c, p), []string{"level 1", ".level 2", "..level 3", "level 4", ".level 5"})
		es = emitted(t, c, func() { restore(levels[1]).Want(t, 200) })
		if len(es) != 0 {
			t.Errorf("restoring again emitted %q", typesOf(es))
		}
		wantSame(t, "the trash", c.GET(documents+"?deleted=true").IDs(t), []string{gone})

		// PUT restores only the named document. Those that were deleted with it stay in the trash, and a later
		// deletion is separate.
		c.PATCH(at(documents, levels[1]), fields{"external_id": "two"}).Want(t, 200)
		c.DELETE(at(documents, levels[1])).Want(t, 204)
		c.Do("PUT", documents+"?external_id=two", fields{}).Want(t, 200)
		wantSame(t, "alone", inTree(t, c, p), []string{"level 1", ".level 2", "level 4", ".level 5"})
		younger := under(t, c, p, levels[1], "younger")
		c.DELETE(at(documents, levels[1])).Want(t, 204)
		es = emitted(t, c, func() { restore(levels[1]).Want(t, 200) })
		wantSame(t, "the later deletion", typesOf(es), types("document.created", levels[1], younger))
		es = emitted(t, c, func() { restore(levels[2]).Want(t, 200) })
		wantSame(t, "the earlier one", typesOf(es), types("document.created", levels[2]))
		wantSame(t, "the tree", inTree(t, c, p), []string{"level 1", ".level 2", "..level 3", "..younger", "level 4", ".level 5"})

		// A parent that is gone for good, or too deep by now: the top level.
		c.DELETE(at(documents, levels[1])).Want(t, 204)
		c.DELETE(at(documents, levels[1])+"/permanent").Want(t, 204)
		restore(levels[2]).Want(t, 200)
		wantSame(t, "after the parent", inTree(t, c, p), []string{"level 1", "level 3", "level 4", ".level 5"})
		c.DELETE(at(documents, levels[4])).Want(t, 204)
		down := chain(t, c, p, 4)
		c.POST(at(documents, levels[3])+"/move", fields{"parent_id": down[3]}).Want(t, 200)
		if r := restore(levels[4]).Want(t, 200); r.JSON["parent_id"] != nil {
			t.Errorf("on the sixth level: %s", r.Body)
		}
	})
}

// D163: more documents than one transaction may change are deleted and restored in chunks. An
// interrupted request is continued by repeating it, and a restore still brings back all.
func TestTree_DeleteInChunks(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		top := under(t, c, p, "", "top")
		var all []string
		for i := range 4 {
			section := under(t, c, p, top, fmt.Sprint("section ", i))
			all = append(all, section)
			for j := range 3 {
				all = append(all, under(t, c, p, section, fmt.Sprint("page ", j)))
			}
		}
		before := inTree(t, c, p)
		es := emitted(t, c, func() { c.DELETE(at(documents, top)).Want(t, 204) })
		wantEvents(t, "deleting", es, map[string][]string{"document.deleted": append(slices.Clone(all), top)})
		if last := typesOf(es)[len(es)-1]; last != "document.deleted "+top {
			t.Errorf("the last is %s", last)
		}
		es = emitted(t, c, func() { c.POST(at(documents, top)+"/restore", nil, "Idempotency-Key: once").Want(t, 200) })
		wantEvents(t, "restoring", es, map[string][]string{"document.created": append(slices.Clone(all), top)})
		wantSame(t, "the tree", inTree(t, c, p), before)
		c.POST(at(documents, top)+"/restore", nil, "Idempotency-Key: once").Want(t, 200)
		batch := []fields{{"action": "delete", "resource_type": "document", "resource_id": top}}
		c.POST("/api/v1/batch", fields{"operations": batch}).WantError(t, 409, "CONFLICT", "separately")
	}, chunky(nil))
}

// D163: a deletion that was interrupted between two chunks continues when it is repeated, and a restore brings back what
// both took.
func TestTree_DeleteContinues(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...apitest.Option) *apitest.API{"sqlite": apitest.SQLite, "postgres": apitest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := start(t, chunky(nil))
			w := a.Workspace(sheaf.Pro)
			c := w.Client("")
			p := create(t, c, projects, fields{"name": "p"})
			top := under(t, c, p, "", "top")
			for i := range 9 {
				under(t, c, p, top, fmt.Sprint("page ", i))
			}
			before := inTree(t, c, p)
			caller := app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
			ctx, leave := context.WithCancel(context.Background())
			rules := a.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: leave})
			if err := rules.DeleteDocument(ctx, caller, sheaf.DocumentID(top), sheaf.Match{}); sheaf.KindOf(err) != sheaf.Unavailable {
				t.Errorf("the caller who left got %v", err)
			}
			if left := inTree(t, c, p); len(left) == len(before) || len(left) < 2 || left[0] != "top" {
				t.Errorf("the interrupted deletion left %q", left)
			}
			wantSound(t, a)
			c.DELETE(at(documents, top)).Want(t, 204)
			ctx, leave = context.WithCancel(context.Background())
			rules = a.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: leave})
			if _, err := rules.RestoreDocument(ctx, caller, sheaf.DocumentID(top)); sheaf.KindOf(err) != sheaf.Unavailable {
				t.Errorf("the caller who left got %v", err)
			}
			if left := inTree(t, c, p); len(left) == len(before) || left[0] != "top" {
				t.Errorf("the interrupted restore left %q", left)
			}
			wantSound(t, a)
			c.POST(at(documents, top)+"/restore", nil).Want(t, 200)
			wantSame(t, "the tree", inTree(t, c, p), before)
			wantSound(t, a)
		})
	}
}

// D160, D162: of two moves that together would make a cycle, one is refused, whatever the timing.
func TestTree_TwoMovesMakeNoCycle(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		var pairs [][2]string
		for i := range 32 {
			pairs = append(pairs, [2]string{under(t, c, "", "", fmt.Sprint("a", i)), under(t, c, "", "", fmt.Sprint("b", i))})
		}
		statuses := make([]int, 64)
		together(64, func(i int) { // each pair: a below b, and b below a
			id, parent := pairs[i/2][i%2], pairs[i/2][1-i%2]
			if i%4 < 2 {
				statuses[i] = c.PATCH(at(documents, id), fields{"parent_id": parent}).Status
			} else {
				statuses[i] = c.POST(at(documents, id)+"/move", fields{"parent_id": parent}).Status
			}
		})
		for i := 0; i < 64; i += 2 {
			if statuses[i]+statuses[i+1] != 200+400 {
				t.Errorf("the moves of pair %d got %d and %d", i/2, statuses[i], statuses[i+1])
			}
		}
		wantSound(t, a)
	})
}

// D160, D162, D163: 64 clients create, move, delete and restore at random. There is never a cycle, no document is lost, and
// the log applied to an empty copy gives the same tree.
func TestTree_ManyClients(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		in := []any{nil}
		for i := range 2 {
			in = append(in, create(t, c, projects, fields{"name": fmt.Sprint(i)}))
		}
		pool := &idPool{ids: map[string][]string{}}
		var made, refused atomic.Int64
		together(64, func(i int) {
			r := rand.New(rand.NewPCG(uint64(i), 31))
			for range proof.Rounds(10, 400, 4000) {
				answer := treeStep(c, r, pool, in)
				switch {
				case answer.Err != nil || answer.Status >= 500:
					t.Errorf("got %d %s %v", answer.Status, answer.Body, answer.Err)
				case answer.Status >= 400:
					refused.Add(1)
				default:
					made.Add(1)
				}
			}
		})
		wantSound(t, a) // no cycle, no sixth level, nothing lost
		log := wholeList(t, c, events, 100)
		copied := map[string]fields{}
		for _, e := range log {
			if e["resource_type"] == "document" {
				apply(t, copied, e)
			}
		}
		row := proof.Row{Name: "tree of documents, 64 clients, " + engineOf(t), Control: "a copy without the last move",
			Figures: []proof.Figure{{Name: "changes", Value: int(made.Load())}, {Name: "refused", Value: int(refused.Load())}}}
		list := wholeList(t, c, documents, 100)
		row.Lost = differences(list, copied)
		stale := maps.Clone(copied)
		for i := len(log) - 1; i >= 0 && !row.Caught; i-- {
			e := log[i]
			previous, _ := e["payload"].(fields)["previous"].(fields)
			if was, moved := previous["sort_order"]; moved && e["resource_type"] == "document" && stale[e["resource_id"].(string)] != nil {
				old := maps.Clone(stale[e["resource_id"].(string)])
				old["sort_order"] = was
				stale[e["resource_id"].(string)] = old
				row.Caught = differences(list, stale) > 0
			}
		}
		row.Report(t)
	})
}

// engineOf names the engine of a subtest.
func engineOf(t *testing.T) string { return t.Name()[strings.LastIndex(t.Name(), "/")+1:] }

// differences counts the documents of a list whose copy has another place, or is missing, and those that only the copy has.
func differences(list []fields, copied map[string]fields) (n int) {
	for _, d := range list {
		c := copied[d["id"].(string)]
		for _, name := range []string{"project_id", "parent_id", "sort_order"} {
			if c == nil || c[name] != d[name] {
				n++
				break
			}
		}
	}
	return n + max(0, len(copied)-len(list))
}

// treeStep does something at random with the tree, sensible or not.
func treeStep(c *apitest.Client, r *rand.Rand, pool *idPool, in []any) *apitest.Response {
	one, other := pool.any(documents, r), pool.any(documents, r)
	if one == nil || r.IntN(10) < 3 {
		made := c.POST(documents, fields{"title": "t", "parent_id": other, "project_id": in[r.IntN(len(in))]})
		if made.Status != 201 {
			made = c.POST(documents, fields{"title": "t", "project_id": in[r.IntN(len(in))]})
		}
		if id, ok := made.JSON["id"].(string); ok {
			pool.add(documents, id)
		}
		return made
	}
	path := at(documents, one.(string))
	switch r.IntN(8) {
	case 0:
		return c.DELETE(path)
	case 1, 2:
		return c.POST(path+"/restore", nil)
	case 3:
		return c.PATCH(path, fields{"parent_id": other})
	case 4:
		return c.PATCH(path, fields{"project_id": in[r.IntN(len(in))], "sort_order": r.IntN(5)})
	case 5:
		return c.POST(path+"/move", fields{"parent_id": other})
	}
	return c.POST(path+"/move", fields{[]string{"before_id", "after_id"}[r.IntN(2)]: other})
}

// D161: a tree has at most 10,000 documents. One more is refused, and its levels can be read, as the text says.
func TestTree_OfTooManyDocuments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		p := create(t, c, projects, fields{"name": "p"})
		if err := fill.Documents(a.Store, w.ID, sheaf.ProjectID(p), sheaf.MaxTree); err != nil {
			t.Fatal(err)
		}
		if r := c.GET(at(projects, p)+"/tree").Want(t, 200); r.JSON["total"] != float64(sheaf.MaxTree) || len(r.JSON["data"].([]any)) != sheaf.MaxTree {
			t.Errorf("10,000 documents: %v", r.JSON["total"])
		}
		last := create(t, c, documents, fields{"title": "last", "project_id": p})
		level := "/api/v1/documents?project_id=" + p + "&parent_id=null&sort=sort_order"
		c.GET(at(projects, p)+"/tree").WantError(t, 400, "VALIDATION_ERROR", "10001 documents", "at most 10000", level)
		r := c.GET(level+"&limit=1&order=desc").Want(t, 200)
		wantSame(t, "the end of the top level", r.IDs(t), []string{last})
		if r.JSON["total"] != 10001.0 {
			t.Errorf("the top level has %v", r.JSON["total"])
		}
		c.DELETE(at(documents, last)).Want(t, 204)
		c.GET(at(projects, p)+"/tree").Want(t, 200)
	})
}

// D163: a restore for which the plan has no room restores nothing, in one transaction and in chunks.
func TestTree_RestoreWithoutRoom(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		for _, below := range []int{3, 9} { // the latter in chunks
			top := under(t, c, p, "", "top")
			for i := range below {
				under(t, c, p, top, fmt.Sprint(i))
			}
			kept := under(t, c, p, "", "kept")
			whole := inTree(t, c, p)
			c.DELETE(at(documents, top)).Want(t, 204)
			trash := c.GET(documents + "?deleted=true&limit=100").IDs(t)
			left := inTree(t, c, p)
			a.MaxRecords.Store(int64(1 + len(whole) - 1)) // the project, and all documents but one
			es := emitted(t, c, func() {
				c.POST(at(documents, top)+"/restore", nil).WantError(t, 403, "QUOTA_REACHED")
				c.POST(at(documents, top)+"/restore", nil).WantError(t, 403, "QUOTA_REACHED")
			})
			if len(es) != 0 {
				t.Errorf("the refused restore emitted %q", typesOf(es))
			}
			wantSame(t, "the tree", inTree(t, c, p), left)
			wantSame(t, "the trash", c.GET(documents+"?deleted=true&limit=100").IDs(t), trash)
			a.MaxRecords.Store(int64(1 + len(whole)))
			c.POST(at(documents, top)+"/restore", nil).Want(t, 200)
			wantSame(t, "with room", inTree(t, c, p), whole)
			a.MaxRecords.Store(0)
			for _, id := range []string{top, kept} {
				c.DELETE(at(documents, id)).Want(t, 204)
			}
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Errorf("the doctor: %q", v)
		}
	}, func(c *apitest.Config) { c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 2, Moved: 100}) })
}

// D163: a restore that has begun has its room. Restores in chunks at the same time, and documents that are created
// between two chunks, get no more than the plan allows, and no restore ends in the middle.
func TestTree_RestoresAtOnceKeepTheQuota(t *testing.T) {
	for name, start := range map[string]func(testing.TB, ...apitest.Option) *apitest.API{"sqlite": apitest.SQLite, "nodes": apitest.Nodes} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			restoresAtOnce(t, start)
		})
	}
}

func restoresAtOnce(t *testing.T, start func(testing.TB, ...apitest.Option) *apitest.API) {
	var between atomic.Pointer[func()]
	a := start(t, func(c *apitest.Config) {
		c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 2, Moved: 100, Between: func() {
			if f := between.Load(); f != nil {
				(*f)()
			}
		}})
	})
	c := a.Workspace(sheaf.Pro).Client("")
	var tops []string
	for i := range 4 {
		top := under(t, c, "", "", fmt.Sprint(i))
		for j := range 9 {
			under(t, c, "", top, fmt.Sprint(j))
		}
		c.DELETE(at(documents, top)).Want(t, 204)
		tops = append(tops, top)
	}
	a.MaxRecords.Store(15)
	rs := apitest.Together(4, func(i int) *apitest.Response { return c.POST(at(documents, tops[i])+"/restore", nil) })
	if n := apitest.Statuses(rs); n[200] != 1 || n[403] != 3 {
		t.Errorf("restores at once: %v", n)
	}
	if n := c.GET(documents).Want(t, 200).JSON["total"]; n != 10.0 {
		t.Errorf("%v documents are live", n)
	}
	a.MaxRecords.Store(20)
	top := tops[slices.IndexFunc(rs, func(r *apitest.Response) bool { return r.Status == 403 })]
	refused := 0
	create := func() {
		if c.POST(documents, fields{"title": "between"}).Status == 403 {
			refused++
		}
	}
	between.Store(&create)
	c.POST(at(documents, top)+"/restore", nil).Want(t, 200)
	between.Store(nil)
	if n := c.GET(documents).Want(t, 200).JSON["total"]; n != 20.0 || refused == 0 {
		t.Errorf("%v documents are live, and %d creates between chunks were refused", n, refused)
	}
	if v := a.Doctor(); len(v) > 0 {
		t.Errorf("the doctor: %q", v)
	}
}

// D130: a batch restores a document with as many others as it could delete.
func TestTree_BatchRestoresTheMost(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for below, status := range map[int]int{6: 200, 7: 409} {
			top := under(t, c, "", "", "top")
			for i := range below {
				under(t, c, "", top, fmt.Sprint(i))
			}
			c.DELETE(at(documents, top)).Want(t, 204)
			c.POST("/api/v1/batch", fields{"operations": []fields{{"action": "restore", "resource_type": "document", "resource_id": top}}}).Want(t, status)
		}
	}, func(c *apitest.Config) { c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 100, Moved: 100}) })
}

// D160: a level of the tree is read page by page, with the number of children, and a path from the top level down.
func TestTree_LevelAndPath(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Pro)
		c, ctx := w.Client(""), t.Context()
		caller := app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
		p := create(t, c, projects, fields{"name": "p"})
		levels := chain(t, c, p, 3)
		first := create(t, c, documents, fields{"title": "first", "project_id": p, "sort_order": -1})
		second := under(t, c, p, levels[0], "second")
		gone := under(t, c, p, levels[0], "gone")
		c.DELETE(at(documents, gone)).Want(t, 204)
		loose := under(t, c, "", "", "loose")
		level := func(project, parent string, page sheaf.Paging) (out []string) {
			t.Helper()
			var in *sheaf.ProjectID
			var below *sheaf.DocumentID
			if project != "" {
				in = (*sheaf.ProjectID)(&project)
			}
			if parent != "" {
				below = (*sheaf.DocumentID)(&parent)
			}
			got, err := a.App.DocumentLevel(ctx, caller, in, below, page)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got.Items {
				out = append(out, fmt.Sprint(e.Title, " depth ", e.Depth, " children ", e.Children, " of ", got.Total))
			}
			return out
		}
		whole := sheaf.Paging{Limit: 100}
		wantSame(t, "the top level", level(p, "", whole), []string{"first depth 1 children 0 of 2", "level 1 depth 1 children 2 of 2"})
		wantSame(t, "below", level("", levels[0], whole), []string{"level 2 depth 2 children 1 of 2", "second depth 2 children 0 of 2"})
		wantSame(t, "its second page", level("", levels[0], sheaf.Paging{Limit: 1, Offset: 1}), []string{"second depth 2 children 0 of 2"})
		wantSame(t, "the lowest", level("", levels[2], whole), nil)
		wantSame(t, "in no project", level("", "", whole), []string{"loose depth 1 children 0 of 1"})
		path := func(id string) (out []string) {
			t.Helper()
			got, err := a.App.DocumentPath(ctx, caller, sheaf.DocumentID(id))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range got {
				out = append(out, string(e.ID)+" "+e.Title)
			}
			return out
		}
		wantSame(t, "a path", path(levels[2]), []string{levels[0] + " level 1", levels[1] + " level 2", levels[2] + " level 3"})
		wantSame(t, "another", path(second), []string{levels[0] + " level 1", second + " second"})
		wantSame(t, "at the top level", path(first), []string{first + " first"})
		wantSame(t, "in no project", path(loose), []string{loose + " loose"})
		other := caller
		other.Workspace = a.Workspace(sheaf.Pro).ID
		for what, try := range map[string]struct {
			as app.Caller
			id string
		}{"deleted": {caller, gone}, "unknown": {caller, unknownID}, "another workspace's": {other, second}} {
			id := sheaf.DocumentID(try.id)
			if _, err := a.App.DocumentPath(ctx, try.as, id); sheaf.KindOf(err) != sheaf.NotFound {
				t.Errorf("the path of what is %s: %v", what, err)
			}
			if _, err := a.App.DocumentLevel(ctx, try.as, nil, &id, whole); sheaf.KindOf(err) != sheaf.NotFound {
				t.Errorf("below what is %s: %v", what, err)
			}
		}
		blind := app.Caller{Workspace: w.ID, Key: sheaf.Key{ID: "k", Scopes: sheaf.Scopes{sheaf.ProjectsRead}}}
		if _, err := a.App.DocumentPath(ctx, blind, sheaf.DocumentID(second)); sheaf.KindOf(err) != sheaf.Forbidden {
			t.Errorf("without the scope: %v", err)
		}
		if _, err := a.App.DocumentLevel(ctx, blind, nil, nil, whole); sheaf.KindOf(err) != sheaf.Forbidden {
			t.Errorf("without the scope: %v", err)
		}
	})
}
