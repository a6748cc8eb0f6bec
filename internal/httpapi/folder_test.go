package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D30, D35: the whole record, everywhere the same.
func TestFolder_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		r := c.POST(folders, `{"name":"Top","entity_type":"project","sort_order":4}`).Want(t, 201)
		top := r.Text(t, "id")
		record := `{"id":"$top","name":"Top","entity_type":"project","parent_id":null,"color":"#6b7280","sort_order":4,"external_id":null,"depth":1,` +
			`"project_count":0,"branding_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`
		wantBody(t, r, record, "$top", top)
		if got, want := r.Header.Get("Location"), a.Server.URL+at(folders, top); got != want {
			t.Errorf("Location %q, want %q", got, want)
		}
		wantBody(t, c.GET(at(folders, top)), record, "$top", top)
		wantBody(t, c.GET(folders), `{"data":[`+record+`],"total":1,"limit":50,"offset":0}`, "$top", top)
		r = c.POST(folders, fields{"name": "Sub", "entity_type": "project", "parent_id": strings.ToUpper(top), "color": "#FFffFF"}).Want(t, 201)
		sub := r.Text(t, "id")
		wantBody(t, r, `{"id":"$sub","name":"Sub","entity_type":"project","parent_id":"$top","color":"#FFffFF","sort_order":0,"external_id":null,"depth":2,`+
			`"project_count":0,"branding_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`, "$sub", sub, "$top", top)
		create(t, c, projects, fields{"name": "p", "folder_id": sub})
		if got := c.GET(at(folders, sub)).JSON["project_count"]; got != 1.0 {
			t.Errorf("project_count %v", got)
		}
		if got := c.GET(at(folders, top)).JSON["project_count"]; got != 0.0 {
			t.Errorf("project_count of the parent %v: it counts direct children", got)
		}
		c.GET(at(folders, nowhereID)).WantError(t, 404, "NOT_FOUND", "folder")
	})
}

// D30, D31: bounds, required fields, and null.
func TestFolder_RefusedFields(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	id := create(t, c, folders, fields{"name": strings.Repeat("é", 200), "entity_type": "branding", "color": nil, "parent_id": nil})
	for _, field := range []string{`"name":""`, `"name":"\t"`, `"name":null`, `"name":"` + strings.Repeat("x", 201) + `"`, `"color":"grey"`, `"color":1`,
		`"sort_order":null`, `"sort_order":2147483648`, `"sort_order":"1"`} {
		name := strings.Trim(strings.SplitN(field, ":", 2)[0], `"`)
		c.PATCH(at(folders, id), `{`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
		body := `{"entity_type":"project",` + field + `}`
		if name != "name" {
			body = `{"entity_type":"project","name":"x",` + field + `}`
		}
		c.POST(folders, body).WantError(t, 400, "VALIDATION_ERROR", name)
	}
	for _, body := range []string{`{"name":"x"}`, `{"name":"x","entity_type":null}`, `{"name":"x","entity_type":"Project"}`, `{"name":"x","entity_type":""}`,
		`{"name":"x","entity_type":["project"]}`} {
		c.POST(folders, body).WantError(t, 400, "VALIDATION_ERROR", "entity_type")
	}
	c.POST(folders, `{"entity_type":"project"}`).WantError(t, 400, "VALIDATION_ERROR", "name")
	c.POST(folders, `{"name":"x","entity_type":"project","parent_id":"x"}`).WantError(t, 400, "VALIDATION_ERROR", "parent_id")
	if n := len(wholeList(t, c, folders, 100)); n != 1 {
		t.Errorf("the refused requests made %d folders", n-1)
	}
}

// D31: a subfolder has its parent's type; an unknown parent is 404.
func TestFolder_Parents(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		project := create(t, c, folders, fields{"name": "p", "entity_type": "project"})
		branding := create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		theirs := create(t, a.Workspace(sheaf.Business).Client(""), folders, fields{"name": "x", "entity_type": "project"})
		c.POST(folders, fields{"name": "x", "entity_type": "branding", "parent_id": project}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "entity_type")
		c.POST(folders, fields{"name": "x", "entity_type": "project", "parent_id": branding}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "entity_type")
		create(t, c, folders, fields{"name": "x", "entity_type": "branding", "parent_id": branding})
		unknown := c.POST(folders, fields{"name": "x", "entity_type": "project", "parent_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "folder")
		foreign := c.POST(folders, fields{"name": "x", "entity_type": "project", "parent_id": theirs}).WantError(t, 404, "NOT_FOUND")
		wantBody(t, foreign, string(unknown.Body))
	})
}

// D30, D35: order as D20, and the filters.
func TestFolders_List(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		z := create(t, c, folders, fields{"name": "z", "entity_type": "project", "sort_order": -1})
		b := create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		y := create(t, c, folders, fields{"name": "y", "entity_type": "project"})
		x := create(t, c, folders, fields{"name": "X", "entity_type": "project", "parent_id": z, "sort_order": -2})
		w := create(t, c, folders, fields{"name": "w", "entity_type": "project", "parent_id": z, "sort_order": 1})
		a.Clock.Advance(time.Second)
		c.PATCH(at(folders, z), fields{"color": "#000000"}).Want(t, 200)
		for query, want := range map[string][]string{
			"":                                   {x, z, b, y, w},
			"sort=sort_order&order=desc":         {w, y, b, z, x},
			"sort=created_at":                    {z, b, y, x, w},
			"sort=updated_at":                    {b, y, x, w, z},
			"sort=name":                          {b, w, x, y, z},
			"sort=name&order=desc":               {z, y, x, w, b},
			"entity_type=project":                {x, z, y, w},
			"entity_type=branding":               {b},
			"parent_id=null":                     {z, b, y},
			"parent_id=" + z:                     {x, w},
			"parent_id=null&entity_type=project": {z, y},
			"parent_id=" + z + "&entity_type=branding": nil,
			"parent_id=" + nowhereID:                   nil,
		} {
			r := c.GET(folders+"?"+query).Want(t, 200)
			wantSame(t, query, r.IDs(t), want)
			if int(r.JSON["total"].(float64)) != len(want) {
				t.Errorf("%s: total %v", query, r.JSON["total"])
			}
			wantSame(t, query+" by two", idsOf(wholeList(t, c, folders+"?"+query, 2)), want)
		}
		for _, bad := range []string{"entity_type=", "entity_type=folder", "parent_id=x", "sort=depth", "order=no"} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(folders+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
	})
}

// D34: PATCH writes name, color and sort_order; parent and type are read-only there.
func TestFolder_Patch(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, folders, fields{"name": "f", "entity_type": "project", "color": "#111111"})
		a.Clock.Advance(time.Second)
		es := emitted(t, c, func() {
			r := c.PATCH(at(folders, id), `{"name":"g","color":null,"sort_order":1,"parent_id":"`+nowhereID+`","entity_type":"branding","depth":[],"project_count":"x"}`).Want(t, 200)
			wantBody(t, r, `{"id":"$id","name":"g","entity_type":"project","parent_id":null,"color":"#6b7280","sort_order":1,"external_id":null,"depth":1,`+
				`"project_count":0,"branding_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z"}`, "$id", id)
		})
		wantSame(t, "the change", typesOf(es), []string{"folder.updated " + id})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"], fields{"name": "f", "color": "#111111", "sort_order": 0, "updated_at": "2026-11-15T10:00:00.000Z"})
		es = emitted(t, c, func() {
			before := c.GET(at(folders, id)).Want(t, 200)
			a.Clock.Advance(time.Second)
			wantBody(t, c.PATCH(at(folders, id), before.Body).Want(t, 200), string(before.Body))
			c.PATCH(at(folders, id), `{"color":null}`).Want(t, 200)
			for _, nothing := range []string{`{}`, `{"parent_id":null}`, `{"entity_type":7,"parent_id":[]}`} {
				c.PATCH(at(folders, id), nothing).WantError(t, 400, "VALIDATION_ERROR", "name", "color", "sort_order")
			}
			c.PATCH(at(folders, nowhereID), `{"name":"x"}`).WantError(t, 404, "NOT_FOUND")
		})
		if len(es) != 0 {
			t.Errorf("changing nothing emitted %q", typesOf(es))
		}
	})
}

// D32: a child of a level-3 folder is refused, on create and on move, with the limit in the text.
func TestFolder_Depth(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		l1 := create(t, c, folders, fields{"name": "1", "entity_type": "project"})
		l2 := create(t, c, folders, fields{"name": "2", "entity_type": "project", "parent_id": l1})
		l3 := create(t, c, folders, fields{"name": "3", "entity_type": "project", "parent_id": l2})
		c.POST(folders, fields{"name": "4", "entity_type": "project", "parent_id": l3}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "3 levels")
		other := create(t, c, folders, fields{"name": "o", "entity_type": "project"})
		under := create(t, c, folders, fields{"name": "u", "entity_type": "project", "parent_id": other})
		c.POST(at(folders, other)+"/move", fields{"parent_id": l3}).WantError(t, 400, "VALIDATION_ERROR", "3 levels")
		c.POST(at(folders, other)+"/move", fields{"parent_id": l2}).WantError(t, 400, "VALIDATION_ERROR", "3 levels") // its child would be level 4
		if got := c.POST(at(folders, other)+"/move", fields{"parent_id": l1}).Want(t, 200).JSON["depth"]; got != 2.0 {
			t.Errorf("depth %v", got)
		}
		if got := c.GET(at(folders, under)).JSON["depth"]; got != 3.0 {
			t.Errorf("the child's depth %v", got)
		}
	})
}

// D35: moves of whole subtrees; no cycles, the same type, one event.
func TestFolder_Move(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		x := create(t, c, folders, fields{"name": "x", "entity_type": "project"})
		y := create(t, c, folders, fields{"name": "y", "entity_type": "project", "parent_id": x})
		z := create(t, c, folders, fields{"name": "z", "entity_type": "project", "parent_id": y})
		branding := create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), folders, fields{"name": "t", "entity_type": "project"})
		move := at(folders, x) + "/move"
		es := emitted(t, c, func() {
			for _, parent := range []string{x, y, z} {
				c.POST(move, fields{"parent_id": parent}).WantError(t, 400, "VALIDATION_ERROR", "parent_id")
			}
			c.POST(move, fields{"parent_id": branding}).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "branding")
			c.POST(move, fields{"parent_id": nowhereID}).WantError(t, 404, "NOT_FOUND")
			c.POST(move, fields{"parent_id": theirs}).WantError(t, 404, "NOT_FOUND")
			c.POST(move, `{"folder_id":null}`).WantError(t, 400, "VALIDATION_ERROR", "parent_id", "null")
			c.POST(at(folders, nowhereID)+"/move", `{"parent_id":null}`).WantError(t, 404, "NOT_FOUND")
			c.POST(move, `{"parent_id":null}`).Want(t, 200) // where it is
			c.POST(at(folders, z)+"/move", fields{"parent_id": y}).Want(t, 200)
		})
		if len(es) != 0 {
			t.Errorf("moving nowhere emitted %q", typesOf(es))
		}
		a.Clock.Advance(time.Second)
		es = emitted(t, c, func() {
			r := c.POST(at(folders, y)+"/move", `{"parent_id":null}`).Want(t, 200)
			wantBody(t, r, `{"id":"$y","name":"y","entity_type":"project","parent_id":null,"color":"#6b7280","sort_order":0,"external_id":null,"depth":1,`+
				`"project_count":0,"branding_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z"}`, "$y", y)
		})
		wantSame(t, "moving", typesOf(es), []string{"folder.updated " + y})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"], fields{"parent_id": x, "updated_at": "2026-11-15T10:00:00.000Z"})
		got := c.GET(at(folders, z)).Want(t, 200)
		if got.JSON["depth"] != 2.0 || got.JSON["updated_at"] != "2026-11-15T10:00:00.000Z" || got.JSON["parent_id"] != y {
			t.Errorf("what is below it: %s", got.Body)
		}
	})
}

// D36, D60, D61: the folder and all below it go, all their projects move to the root level, in one
// transaction.
func TestFolder_Delete(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		outer := create(t, c, folders, fields{"name": "outer", "entity_type": "project"})
		top := create(t, c, folders, fields{"name": "top", "entity_type": "project", "parent_id": outer})
		sub := create(t, c, folders, fields{"name": "sub", "entity_type": "project", "parent_id": top})
		stays := create(t, c, projects, fields{"name": "stays", "folder_id": outer})
		p1 := create(t, c, projects, fields{"name": "p1", "folder_id": top})
		p2 := create(t, c, projects, fields{"name": "p2", "folder_id": sub})
		doc := create(t, c, documents, fields{"title": "d", "project_id": p2})
		a.Clock.Advance(time.Minute)
		es := emitted(t, c, func() { c.DELETE(at(folders, top)).Want(t, 204) })
		got := typesOf(es)
		slices.Sort(got)
		want := []string{"folder.deleted " + top, "folder.deleted " + sub, "project.updated " + p1, "project.updated " + p2}
		slices.Sort(want)
		wantSame(t, "the events", got, want)
		for _, e := range es {
			payload := e["payload"].(fields)
			switch e["resource_id"] {
			case p2:
				wantJSON(t, "previous", payload["previous"], fields{"folder_id": sub, "updated_at": "2026-11-15T10:00:00.000Z"})
				wantJSON(t, "the project", without(payload, "previous"), without(c.GET(at(projects, p2)).Want(t, 200).JSON, "documents"))
				if payload["folder_id"] != nil || payload["updated_at"] != "2026-11-15T10:01:00.000Z" {
					t.Errorf("project.updated carries %v", payload)
				}
			case sub:
				wantJSON(t, "folder.deleted", payload, fields{"id": sub, "name": "sub", "entity_type": "project", "parent_id": top, "color": "#6b7280",
					"sort_order": 0, "external_id": nil, "depth": 3, "project_count": 1, "branding_count": 0, "created_at": "2026-11-15T10:00:00.000Z", "updated_at": "2026-11-15T10:00:00.000Z"})
			}
		}
		c.GET(at(folders, sub)).WantError(t, 404, "NOT_FOUND")
		c.DELETE(at(folders, top)).WantError(t, 404, "NOT_FOUND")
		wantSame(t, "the root level", c.GET(projects+"?folder_id=null").IDs(t), []string{p1, p2})
		wantSame(t, "the folder above", c.GET(projects+"?folder_id="+outer).IDs(t), []string{stays})
		if got := c.GET(at(documents, doc)).Want(t, 200); got.JSON["project_id"] != p2 || got.JSON["updated_at"] != "2026-11-15T10:00:00.000Z" {
			t.Errorf("the document changed: %s", got.Body)
		}
		c.DELETE(at(folders, outer)).Want(t, 204)
		if n := len(wholeList(t, c, folders, 100)); n != 0 {
			t.Errorf("%d folders are left", n)
		}
	})
}

// D33: what each plan includes, on create, update and move; reading and deleting always.
func TestFolder_Plans(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		project := create(t, c, folders, fields{"name": "p", "entity_type": "project"})
		top := create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		sub := create(t, c, folders, fields{"name": "s", "entity_type": "branding", "parent_id": top})
		ws.SetPlan(sheaf.Pro)
		es := emitted(t, c, func() {
			for _, r := range []*apitest.Response{
				c.POST(folders, fields{"name": "n", "entity_type": "branding"}),
				c.POST(folders, fields{"name": "n", "entity_type": "branding", "parent_id": top}),
				c.PATCH(at(folders, top), fields{"name": "n"}),
				c.PATCH(at(folders, top), fields{"name": "b"}), // also when it changes nothing
				c.POST(at(folders, sub)+"/move", `{"parent_id":null}`),
			} {
				r.WantError(t, 403, "PLAN_REQUIRED", "Business", "branding")
			}
			// Other faults come first.
			c.POST(folders, fields{"name": "n", "entity_type": "branding", "parent_id": nowhereID}).WantError(t, 404, "NOT_FOUND")
			c.POST(folders, fields{"name": "", "entity_type": "branding"}).WantError(t, 400, "VALIDATION_ERROR")
			c.PATCH(at(folders, top), fields{"name": "n"}, `If-Match: "9-x"`).WantError(t, 412, "PRECONDITION_FAILED")
			wantSame(t, "reading on pro", c.GET(folders+"?entity_type=branding").Want(t, 200).IDs(t), []string{top, sub})
			c.GET(at(folders, sub)).Want(t, 200)
		})
		if len(es) != 0 {
			t.Errorf("refused requests emitted %q", typesOf(es))
		}
		c.PATCH(at(folders, project), fields{"name": "q"}).Want(t, 200)
		create(t, c, folders, fields{"name": "r", "entity_type": "project", "parent_id": project})
		c.DELETE(at(folders, sub)).Want(t, 204)
		ws.SetPlan(sheaf.Free)
		c.GET(at(folders, top)).WantError(t, 403, "PLAN_REQUIRED", "Pro or Business")
		c.POST(folders, fields{"name": "n", "entity_type": "project"}).WantError(t, 403, "PLAN_REQUIRED", "Pro or Business")
		ws.SetPlan(sheaf.Business)
		c.PATCH(at(folders, top), fields{"name": "n"}).Want(t, 200) // nothing was deleted
	})
}

// D32, D35: neither a fourth level nor a cycle, however creates, moves and deletions race.
func TestFolder_TreeHoldsUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		folder := func(name string, parent any) string {
			return create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": parent})
		}
		for round := range 2 {
			x, y := folder("x", nil), folder("y", nil)
			x2, y2 := folder("x2", x), folder("y2", y)
			x3 := folder("x3", x2)
			rs := apitest.Together(64, func(i int) *apitest.Response {
				switch i % 8 {
				case 0:
					return c.POST(folders, fields{"name": "child of 2", "entity_type": "project", "parent_id": x2})
				case 1:
					return c.POST(folders, fields{"name": "child of 3", "entity_type": "project", "parent_id": x3})
				case 2:
					return c.POST(at(folders, x)+"/move", fields{"parent_id": y})
				case 3:
					return c.POST(at(folders, y)+"/move", fields{"parent_id": x})
				case 4:
					return c.POST(at(folders, x2)+"/move", fields{"parent_id": y2})
				case 5:
					return c.POST(at(folders, y2)+"/move", fields{"parent_id": []any{x2, nil, x}[i/8%3]})
				case 6:
					return c.POST(folders, fields{"name": "child of y2", "entity_type": "project", "parent_id": y2})
				default:
					return c.POST(at(folders, x2)+"/move", fields{"parent_id": []any{nil, x}[i/8%2]})
				}
			})
			for _, r := range rs {
				if r.Status != 200 && r.Status != 201 && r.Status != 400 {
					t.Errorf("round %d: got %d %s %v", round, r.Status, r.Body, r.Err)
				}
			}
			if n := apitest.Statuses(rs); n[201] == 0 || n[400] == 0 {
				t.Errorf("round %d: no race was tried: %v", round, n)
			}
		}
		checkTree(t, wholeList(t, c, folders, 100))
	})
}

// checkTree fails unless every folder hangs on the root, where its depth says.
func checkTree(t *testing.T, all []fields) {
	t.Helper()
	byID := map[any]fields{}
	for _, f := range all {
		byID[f["id"]] = f
	}
	for _, f := range all {
		depth := 1.0
		for g := f; g["parent_id"] != nil; depth++ {
			if g = byID[g["parent_id"]]; g == nil || depth > 10 {
				t.Fatalf("folder %v hangs on nothing, or in a cycle", f)
			}
		}
		if f["depth"] != depth || depth > 3 {
			t.Errorf("folder %v is at level %v", f, depth)
		}
	}
}

// D32: 64 clients at the last free level: every one of them gets it, none gets below it.
func TestFolder_DepthUnderConcurrentCreates(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		l1 := create(t, c, folders, fields{"name": "1", "entity_type": "project"})
		l2 := create(t, c, folders, fields{"name": "2", "entity_type": "project", "parent_id": l1})
		l3 := create(t, c, folders, fields{"name": "3", "entity_type": "project", "parent_id": l2})
		rs := apitest.Together(64, func(i int) *apitest.Response {
			return c.POST(folders, fields{"name": fmt.Sprint(i), "entity_type": "project", "parent_id": []string{l2, l3}[i%2]})
		})
		if n := apitest.Statuses(rs); n[201] != 32 || n[400] != 32 {
			t.Errorf("got %v", n)
		}
		checkTree(t, wholeList(t, c, folders, 100))
	})
}

// A move that gives many folders another depth waits for its turn among the heavy writes. A small move does not.
func TestFolder_MovingManyIsHeavy(t *testing.T) {
	apitest.EachStore(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		top, small, parent := create(t, c, folders, fields{"name": "top", "entity_type": "project"}),
			create(t, c, folders, fields{"name": "small", "entity_type": "project"}), create(t, c, folders, fields{"name": "parent", "entity_type": "project"})
		below := create(t, c, folders, fields{"name": "below", "entity_type": "project", "parent_id": top})
		var operations []fields
		for i := range 100 {
			operations = append(operations, fields{"action": "create", "resource_type": "folder",
				"body": fields{"name": fmt.Sprint(i), "entity_type": "project", "parent_id": top}})
		}
		for range 5 {
			c.POST("/api/v1/batch", fields{"operations": operations}).Want(t, 200)
		}
		leave := a.LockCascades(ws.ID)
		moved := make(chan *apitest.Response)
		go func() { moved <- c.POST(at(folders, top)+"/move", fields{"parent_id": parent}) }()
		c.POST(at(folders, small)+"/move", fields{"parent_id": parent}).Want(t, 200)
		select {
		case r := <-moved:
			t.Errorf("500 folders were moved beside another heavy write: %d", r.Status)
			leave()
		case <-time.After(200 * time.Millisecond): // a pause before checking that something did not happen
			leave()
			(<-moved).Want(t, 200)
		}
		if depth := c.GET(at(folders, below)).Want(t, 200).JSON["depth"]; depth != 3.0 {
			t.Errorf("a folder below it is at depth %v", depth)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}
