package httpapi_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D22, D23: the whole record, unset fields null, defaults as decided.
func TestProject_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		r := c.POST(projects, `{"name":"Guides"}`).Want(t, 201)
		id := r.Text(t, "id")
		wantBody(t, r, `{"id":"$id","name":"Guides","description":null,"icon":null,"color":null,"folder_id":null,"sort_order":0,`+
			`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`, "$id", id)
		if got, want := r.Header.Get("Location"), a.Server.URL+at(projects, id); got != want {
			t.Errorf("Location %q, want %q", got, want)
		}
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		all := fmt.Sprintf(`{"name":" <ä> ","description":"","icon":"not in the catalogue","color":"#ABCdef","folder_id":%q,"sort_order":-2147483648,"visibility":"private"}`, strings.ToUpper(folder))
		whole := `{"id":"$id","name":" <ä> ","description":"","icon":"not in the catalogue","color":"#ABCdef","folder_id":"$folder","sort_order":-2147483648,` +
			`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"`
		r = c.POST(projects, all).Want(t, 201)
		id = r.Text(t, "id")
		wantBody(t, r, whole+"}", "$id", id, "$folder", folder)
		wantBody(t, c.GET(at(projects, id)), whole+`,"documents":[]}`, "$id", id, "$folder", folder)
		wantBody(t, c.GET(projects+"?folder_id="+folder), `{"data":[`+whole+`}],"total":1,"limit":50,"offset":0}`, "$id", id, "$folder", folder)
		// PATCH and move answer the whole resource, without documents.
		r = c.PATCH(at(projects, id), `{"description":null,"icon":null,"color":null,"folder_id":null,"sort_order":2147483647}`).Want(t, 200)
		wantBody(t, r, `{"id":"$id","name":" <ä> ","description":null,"icon":null,"color":null,"folder_id":null,"sort_order":2147483647,`+
			`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.001Z"}`, "$id", id)
	})
}

// D23, D24: bounds of the fields, and null where it is not possible.
func TestProject_RefusedFields(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	id := create(t, c, projects, fields{"name": "p", "icon": strings.Repeat("é", 100), "description": strings.Repeat("é", 2000)})
	for _, field := range []string{
		`"name":""`, `"name":" \u2003"`, `"name":null`, `"name":1`, `"name":"` + strings.Repeat("é", 201) + `"`,
		`"description":1`, `"description":"` + strings.Repeat("é", 2001) + `"`,
		`"icon":""`, `"icon":"` + strings.Repeat("é", 101) + `"`, `"icon":[]`,
		`"color":"red"`, `"color":"#12345"`, `"color":"#12345g"`, `"color":"6b72801"`, `"color":""`,
		`"sort_order":null`, `"sort_order":2147483648`, `"sort_order":-2147483649`, `"sort_order":1.5`, `"sort_order":"1"`,
		`"visibility":null`, `"visibility":"public"`, `"visibility":""`, `"visibility":true`,
		`"folder_id":"nonsense"`, `"folder_id":7`,
	} {
		name := strings.Trim(strings.SplitN(field, ":", 2)[0], `"`)
		body := `{"name":"x",` + field + `}`
		if name == "name" {
			body = `{` + field + `}`
		}
		c.POST(projects, body).WantError(t, 400, "VALIDATION_ERROR", name)
		c.PATCH(at(projects, id), `{`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
	}
	c.POST(projects, `{}`).WantError(t, 400, "VALIDATION_ERROR", "name", "required")
	if n := len(wholeList(t, c, projects, 100)); n != 1 {
		t.Errorf("the refused requests made %d projects", n-1)
	}
	// 200 characters, not bytes, are a name.
	create(t, c, projects, fields{"name": strings.Repeat("é", 200)})
}

// D23: what a client read it may send back, and read-only fields are not even looked at.
func TestProject_ReadOnlyFieldsAreIgnored(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, projects, fields{"name": "p"})
		create(t, c, documents, fields{"title": "d", "project_id": id})
		read := c.GET(at(projects, id)).Want(t, 200)
		es := emitted(t, c, func() {
			echoed := c.PATCH(at(projects, id), read.Body).Want(t, 200)
			if jsonOf(echoed.JSON) != jsonOf(without(read.JSON, "documents")) {
				t.Errorf("echoing changed %s into %s", read.Body, echoed.Body)
			}
			odd := c.PATCH(at(projects, id), `{"name":"p","id":[],"document_count":"many","created_at":1,"updated_at":{},"documents":7,"nonsense":null}`).Want(t, 200)
			if jsonOf(odd.JSON) != jsonOf(echoed.JSON) {
				t.Errorf("read-only fields changed %s into %s", echoed.Body, odd.Body)
			}
			c.PATCH(at(projects, id), `{"id":"x","document_count":3}`).WantError(t, 400, "VALIDATION_ERROR", "sort_order")
			c.PATCH(at(projects, id), `{}`).WantError(t, 400, "VALIDATION_ERROR", "name")
		})
		if len(es) != 0 {
			t.Errorf("changing nothing emitted %q", typesOf(es))
		}
		made := c.POST(projects, `{"name":"q","id":"`+id+`","document_count":9,"created_at":"2000-01-01T00:00:00.000Z"}`).Want(t, 201)
		if made.Text(t, "id") == id || made.JSON["document_count"] != 0.0 || made.Text(t, "created_at") < "2001" {
			t.Errorf("read-only fields were taken: %s", made.Body)
		}
	})
}

// D20: by sort_order, then in the order of creation, whatever the clock says; desc reverses ties
// too.
func TestProjects_Order(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		var ids []string
		for i, p := range []fields{{"name": "b"}, {"name": "A"}, {"name": "a"}, {"name": "é", "sort_order": -1}, {"name": "B", "sort_order": 3},
			{"name": "z", "sort_order": -1}, {"name": "Z"}} {
			ids = append(ids, create(t, c, projects, p))
			if i%2 == 0 {
				a.Clock.Advance(-time.Hour) // a clock set back must not reorder
			}
		}
		a.Clock.Set(morning.Add(time.Hour))
		for _, i := range []int{4, 0} {
			c.PATCH(at(projects, ids[i]), fields{"color": "#000000"}).Want(t, 200)
		}
		pick := func(order ...int) (out []string) {
			for _, i := range order {
				out = append(out, ids[i])
			}
			return out
		}
		for sort, want := range map[string][]string{
			"":                pick(3, 5, 0, 1, 2, 6, 4),
			"sort=sort_order": pick(3, 5, 0, 1, 2, 6, 4),
			"sort=name":       pick(1, 2, 0, 4, 5, 6, 3), // A a b B z Z é: folded, by code point, ties as created
			"sort=created_at": pick(0, 1, 2, 3, 4, 5, 6),
			// Made at 10, 9, 9, 8, 8, 7 and 7 o'clock by a clock that is not followed backwards, then 4 and
			// 0 changed at one instant.
			"sort=updated_at": pick(1, 2, 3, 5, 6, 0, 4),
		} {
			wantSame(t, sort, c.GET(projects+"?"+sort).IDs(t), want)
			wantSame(t, sort+" asc", c.GET(projects+"?order=asc&"+sort).IDs(t), want)
			reversed := slices.Clone(want)
			slices.Reverse(reversed)
			wantSame(t, sort+" desc", c.GET(projects+"?order=desc&"+sort).IDs(t), reversed)
			for limit := 1; limit <= 8; limit++ { // however it is cut, also from the end
				wantSame(t, fmt.Sprint(sort, " by ", limit), idsOf(wholeList(t, c, projects+"?"+sort, limit)), want)
				wantSame(t, fmt.Sprint(sort, " desc by ", limit), idsOf(wholeList(t, c, projects+"?order=desc&"+sort, limit)), reversed)
			}
		}
		for _, bad := range []string{"sort=id", "sort=", "sort=Name", "order=up", "order=", "order=DESC"} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(projects+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
	})
}

// D20: a reader by offset neither repeats nor skips while others create.
func TestProjects_ReadByOffsetWhileOthersCreate(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		for range 30 {
			create(t, c, projects, fields{"name": "old"})
		}
		var reading atomic.Bool
		reading.Store(true)
		var reads [][]string
		together(5, func(i int) {
			if i > 0 {
				for n := 0; reading.Load() || n < 5; n++ {
					c.POST(projects, fields{"name": "new"})
				}
				return
			}
			defer reading.Store(false)
			for range 5 {
				var got []string
				for offset := 0; ; offset += 7 {
					r := c.GET(fmt.Sprintf("%s?limit=7&offset=%d", projects, offset))
					if r.Status != 200 {
						t.Errorf("got %d %s", r.Status, r.Body)
						return
					}
					got = append(got, r.IDs(t)...)
					if float64(offset+7) >= r.JSON["total"].(float64) || offset > 400 {
						break
					}
				}
				reads = append(reads, got)
			}
		})
		final := idsOf(wholeList(t, c, projects, 100))
		for _, got := range reads {
			if len(got) < 30 || !slices.Equal(got, final[:len(got)]) {
				t.Fatalf("a reader saw %d projects that are no beginning of the %d", len(got), len(final))
			}
		}
	})
}

// D21: filters by folder, and literal text folded alike on both engines.
func TestProjects_Filters(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		top := create(t, c, folders, fields{"name": "top", "entity_type": "project"})
		sub := create(t, c, folders, fields{"name": "sub", "entity_type": "project", "parent_id": top})
		inTop := create(t, c, projects, fields{"name": "t", "folder_id": top})
		inSub := create(t, c, projects, fields{"name": "s", "folder_id": sub})
		root := create(t, c, projects, fields{"name": "r"})
		for query, want := range map[string][]string{
			"folder_id=" + top:                      {inTop}, // direct children alone
			"folder_id=" + strings.ToUpper(sub):     {inSub},
			"folder_id=null":                        {root},
			"folder_id=null&folder_id=" + top:       {inTop},
			"folder_id=" + nowhereID:                nil,
			"folder_id=" + top + "&q=T":             {inTop},
			"folder_id=" + top + "&q=s":             nil,
			"nonsense=1&folder_id=null&q=r&offset=": nil,
		} {
			r := c.GET(projects + "?" + query)
			if strings.HasSuffix(query, "offset=") {
				r.WantError(t, 400, "VALIDATION_ERROR", "offset")
				continue
			}
			wantSame(t, query, r.Want(t, 200).IDs(t), want)
			if int(r.JSON["total"].(float64)) != len(want) {
				t.Errorf("%s: total %v", query, r.JSON["total"])
			}
		}
		other := a.Workspace(sheaf.Pro).Client("")
		theirs := create(t, other, folders, fields{"name": "x", "entity_type": "project"})
		wantBody(t, c.GET(projects+"?folder_id="+theirs), `{"data":[],"total":0,"limit":50,"offset":0}`)
		for _, bad := range []string{"folder_id=", "folder_id=x", "folder_id=NULL", "folder_id={" + top + "}", "q=", "q=" + strings.Repeat("%C3%A9", 201)} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(projects+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
		c.GET(projects+"?q="+strings.Repeat("%C3%A9", 200)).Want(t, 200)
	})
}

// D21
func TestProjects_Search(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for _, p := range []fields{
			{"name": "Straße"}, {"name": "İstanbul"}, {"name": "Café"}, {"name": "Cafe\u0301 two"}, {"name": "100% _sure_"},
			{"name": "100 percent"}, {"name": "plain", "description": "ΜΆΪΟΣ in the text"}, {"name": `back\slash 'quote" *?[a]`},
			{"name": "ᎣᏏᏲ"}, {"name": "ꭳꮟᏺꭰ"},
		} {
			create(t, c, projects, p)
		}
		for q, want := range map[string][]string{
			"STRASSE":    {"Straße"},
			"ꭳꮟᏺ":        {"ᎣᏏᏲ", "ꭳꮟᏺꭰ"}, // small letters of Cherokee
			"ᎣᏏᏲᎠ":       {"ꭳꮟᏺꭰ"},
			"straße":     {"Straße"},
			"ẞ":          {"Straße"},
			"i\u0307st":  {"İstanbul"},
			"İST":        {"İstanbul"},
			"istanbul":   nil, // the dot above is part of the letter
			"STANBUL":    {"İstanbul"},
			"CAFÉ":       {"Café", "Cafe\u0301 two"},
			"cafe\u0301": {"Café", "Cafe\u0301 two"},
			"cafe":       nil,
			"%":          {"100% _sure_"},
			"_":          {"100% _sure_"},
			"0% _":       {"100% _sure_"},
			"100_":       nil,
			"μάϊος":      {"plain"},
			"μάϊοσ":      {"plain"},
			`K\S`:        {`back\slash 'quote" *?[a]`},
			`'QUOTE" *`:  {`back\slash 'quote" *?[a]`},
			"*":          {`back\slash 'quote" *?[a]`},
			"null":       nil,
			" ":          {"Cafe\u0301 two", "100% _sure_", "100 percent", "plain", `back\slash 'quote" *?[a]`},
		} {
			r := c.GET(projects+"?q="+escape(q)).Want(t, 200)
			var got []string
			for _, p := range r.Items(t) {
				got = append(got, p["name"].(string))
			}
			wantSame(t, q, got, want)
			if int(r.JSON["total"].(float64)) != len(want) {
				t.Errorf("%s: total %v", q, r.JSON["total"])
			}
		}
	})
}

// D25: at most 100 documents, newest change first, in their short form; document_count counts all.
func TestProject_GetOneEmbedsTheNewestDocuments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, projects, fields{"name": "p"})
		other := create(t, c, documents, fields{"title": "elsewhere"})
		var docs []string
		for i := range 103 {
			a.Clock.Advance(time.Millisecond)
			docs = append(docs, create(t, c, documents, fields{"title": fmt.Sprint("d", i), "project_id": id}))
		}
		a.Clock.Set(morning.Add(time.Hour))
		c.PATCH(at(documents, docs[0]), fields{"description": "changed"}).Want(t, 200)
		c.PATCH(at(documents, docs[1]), fields{"description": "changed"}).Want(t, 200)
		c.DELETE(at(documents, docs[50])).Want(t, 204)
		got := c.GET(at(projects, id)).Want(t, 200)
		var ids []string
		for _, d := range got.JSON["documents"].([]any) {
			ids = append(ids, d.(fields)["id"].(string))
		}
		want := []string{docs[1], docs[0]}
		for i := 102; len(want) < 100; i-- {
			if i != 50 {
				want = append(want, docs[i])
			}
		}
		wantSame(t, "the embedded documents", ids, want)
		if got.JSON["document_count"] != 102.0 {
			t.Errorf("document_count %v", got.JSON["document_count"])
		}
		if !strings.Contains(string(got.Body), `"documents":[{"id":"`+docs[1]+`","title":"d1","description":"changed","external_id":null,`+
			`"version":1,"content_bytes":0,"content_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",`+
			`"created_at":"2026-11-15T10:00:00.002Z","updated_at":"2026-11-15T11:00:00.000Z"},{`) {
			t.Errorf("the first entry is otherwise in %.600s", got.Body)
		}
		if slices.Contains(ids, other) {
			t.Error("a document of no project is embedded")
		}
		// All of them, and only lists of documents have more.
		if n := len(wholeList(t, c, documents+"?project_id="+id, 40)); n != 102 {
			t.Errorf("the list has %d", n)
		}
		if strings.Contains(string(c.GET(projects).Body), `"documents"`) {
			t.Error("documents in a list")
		}
	})
}

// D26, D27: where a project may be put.
func TestProject_Move(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		one := create(t, c, folders, fields{"name": "1", "entity_type": "project"})
		two := create(t, c, folders, fields{"name": "2", "entity_type": "project"})
		branding := create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), folders, fields{"name": "x", "entity_type": "project"})
		id := create(t, c, projects, fields{"name": "p", "folder_id": one})
		count := func(folder string) any { return c.GET(at(folders, folder)).Want(t, 200).JSON["project_count"] }
		a.Clock.Advance(time.Second)
		es := emitted(t, c, func() {
			r := c.POST(at(projects, id)+"/move", fields{"folder_id": two}).Want(t, 200)
			wantBody(t, r, `{"id":"$id","name":"p","description":null,"icon":null,"color":null,"folder_id":"$two","sort_order":0,`+
				`"visibility":"private","external_id":null,"url":null,"metadata":null,"review":null,"document_count":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z"}`, "$id", id, "$two", two)
			if r.Header.Get("Location") != "" {
				t.Error("a move has a Location")
			}
		})
		wantSame(t, "moving", typesOf(es), []string{"project.updated " + id})
		payload := es[0]["payload"].(fields)
		if got := jsonOf(payload["previous"]); got != jsonOf(fields{"folder_id": one, "updated_at": "2026-11-15T10:00:00.000Z"}) {
			t.Errorf("previous is %s", got)
		}
		if payload["folder_id"] != two || count(one) != 0.0 || count(two) != 1.0 {
			t.Errorf("payload %v, counts %v %v", payload, count(one), count(two))
		}
		es = emitted(t, c, func() {
			again := c.POST(at(projects, id)+"/move", fields{"folder_id": strings.ToUpper(two), "name": 7}).Want(t, 200)
			if again.Text(t, "updated_at") != "2026-11-15T10:00:01.000Z" {
				t.Errorf("moving nowhere changed %s", again.Body)
			}
			for _, path := range []string{at(projects, id) + "/move"} {
				c.POST(path, `{}`).WantError(t, 400, "VALIDATION_ERROR", "folder_id", "null")
				c.POST(path, `{"Folder_id":null}`).WantError(t, 400, "VALIDATION_ERROR", "folder_id")
				c.POST(path, nil).WantError(t, 400, "VALIDATION_ERROR")
				c.POST(path, `{"folder_id":"x"}`).WantError(t, 400, "VALIDATION_ERROR", "folder_id")
				c.POST(path, fields{"folder_id": branding}).WantError(t, 400, "VALIDATION_ERROR", "folder_id", "branding")
				unknown := c.POST(path, fields{"folder_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "folder")
				foreign := c.POST(path, fields{"folder_id": theirs}).WantError(t, 404, "NOT_FOUND", "folder")
				wantBody(t, foreign, string(unknown.Body))
			}
			c.POST(at(projects, nowhereID)+"/move", `{"folder_id":null}`).WantError(t, 404, "NOT_FOUND", "project")
			// The same rules on create and PATCH.
			for folder, status := range map[string]int{branding: 400, nowhereID: 404, theirs: 404} {
				c.POST(projects, fields{"name": "q", "folder_id": folder}).Want(t, status)
				c.PATCH(at(projects, id), fields{"folder_id": folder}).Want(t, status)
			}
		})
		if len(es) != 0 || count(two) != 1.0 {
			t.Errorf("refused moves emitted %q, count %v", typesOf(es), count(two))
		}
		if r := c.POST(at(projects, id)+"/move", `{"folder_id":null}`).Want(t, 200); r.JSON["folder_id"] != nil {
			t.Errorf("not at the root: %s", r.Body)
		}
		c.PATCH(at(projects, id), fields{"folder_id": one}).Want(t, 200)
		if count(one) != 1.0 || count(two) != 0.0 {
			t.Errorf("counts %v %v", count(one), count(two))
		}
		c.DELETE(at(projects, id)).Want(t, 204)
		if count(one) != 0.0 {
			t.Errorf("count %v", count(one))
		}
	})
}

// D28, D60, D61: the documents stay, unlinked in the same transaction, deleted ones too.
func TestProject_Delete(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, projects, fields{"name": "p", "icon": "book"})
		d1 := create(t, c, documents, fields{"title": "one", "project_id": id})
		d2 := create(t, c, documents, fields{"title": "two", "project_id": id})
		gone := create(t, c, documents, fields{"title": "gone", "project_id": id})
		free := create(t, c, documents, fields{"title": "free"})
		c.DELETE(at(documents, gone)).Want(t, 204)
		a.Clock.Advance(time.Minute)
		es := emitted(t, c, func() {
			r := c.DELETE(at(projects, id)).Want(t, 204)
			if len(r.Body) != 0 || r.Header.Get("Content-Type") != "" {
				t.Errorf("a 204 with %q", r.Body)
			}
		})
		wantSame(t, "the events", typesOf(es), []string{"project.deleted " + id, "document.updated " + d1, "document.updated " + d2})
		last := fields{"id": id, "name": "p", "description": nil, "icon": "book", "color": nil, "folder_id": nil, "sort_order": 0, "visibility": "private",
			"external_id": nil, "url": nil, "metadata": nil, "review": nil, "document_count": 2, "created_at": "2026-11-15T10:00:00.000Z", "updated_at": "2026-11-15T10:00:00.000Z"}
		if got := jsonOf(es[0]["payload"]); got != jsonOf(last) {
			t.Errorf("project.deleted carries %s", got)
		}
		updated := fields{"id": d1, "title": "one", "description": nil, "project_id": nil, "parent_id": nil, "sort_order": es[1]["payload"].(fields)["sort_order"], "created_at": "2026-11-15T10:00:00.000Z",
			"external_id": nil, "url": nil, "metadata": nil, "version": 1, "content_bytes": 0, "content_sha256": sheaf.EmptySHA256,
			"updated_at": "2026-11-15T10:01:00.000Z", "previous": fields{"project_id": id, "updated_at": "2026-11-15T10:00:00.000Z"}}
		if got := jsonOf(es[1]["payload"]); got != jsonOf(updated) {
			t.Errorf("document.updated carries %s", got)
		}
		if got := c.GET(at(documents, d1)).Want(t, 200); jsonOf(withoutText(got.JSON)) != jsonOf(without(updated, "previous")) {
			t.Errorf("the document is %s", got.Body)
		}
		wantSame(t, "in no project", c.GET(documents+"?project_id=null").IDs(t), []string{d1, d2, free})
		wantSame(t, "in the project that was", c.GET(documents+"?project_id="+id).IDs(t), nil)
		if r := c.POST(at(documents, gone)+"/restore", nil).Want(t, 200); r.JSON["project_id"] != nil {
			t.Errorf("restored into a project that is gone: %s", r.Body)
		}
		c.DELETE(at(projects, id)).WantError(t, 404, "NOT_FOUND")
		c.GET(at(projects, id)).WantError(t, 404, "NOT_FOUND")
		c.PATCH(at(projects, id), fields{"name": "x"}).WantError(t, 404, "NOT_FOUND")
	})
}

// No answer may be older than the client's last write, nor than anybody's: each writer reads back
// what it wrote while others write, and readers keep the cache warm with the same addresses.
func TestReadYourWrites(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		const writers, rounds = 4, 5
		var folder [writers]string
		for i := range folder {
			folder[i] = create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		}
		var writing atomic.Int32
		writing.Store(writers)
		together(writers+2, func(i int) {
			if i >= writers {
				for writing.Load() > 0 { // fills the cache with what the writers will ask for
					c.GET(projects + "?folder_id=" + folder[i-writers])
					c.GET(at(folders, folder[i-writers]))
				}
				return
			}
			defer writing.Add(-1)
			w := &rereader{t, c, folder[i], rand.New(rand.NewPCG(uint64(i), 1))}
			for n := 0; n < rounds && !t.Failed(); n++ {
				w.round(fmt.Sprintf("w%d-%d", i, n))
			}
		})
	})
}

// rereader writes into its own folder and compares what it then reads.
type rereader struct {
	t      *testing.T
	c      *apitest.Client
	folder string
	r      *rand.Rand
}

func (w *rereader) expect(what string, ok bool, r *apitest.Response) {
	if !ok {
		w.t.Errorf("%s: read %d %s", what, r.Status, r.Body)
	}
}

func (w *rereader) round(name string) {
	list := projects + "?folder_id=" + w.folder
	made := w.c.POST(projects, fields{"name": name, "folder_id": w.folder})
	w.expect("create", made.Status == 201, made)
	id, _ := made.JSON["id"].(string)
	one := w.c.GET(at(projects, id))
	w.expect("one after create", one.Status == 200 && one.JSON["name"] == name, one)
	all := w.c.GET(list)
	w.expect("list after create", strings.Contains(string(all.Body), id), all)
	f := w.c.GET(at(folders, w.folder))
	w.expect("count after create", f.JSON["project_count"] == all.JSON["total"], f)

	w.c.PATCH(at(projects, id), fields{"name": name + "!"})
	one, all = w.c.GET(at(projects, id)), w.c.GET(list)
	w.expect("one after change", one.JSON["name"] == name+"!", one)
	w.expect("list after change", strings.Contains(string(all.Body), `"`+name+`!"`), all)

	doc, _ := w.c.POST(documents, fields{"title": name, "project_id": id}).JSON["id"].(string)
	one = w.c.GET(at(projects, id))
	w.expect("documents after create", one.JSON["document_count"] == 1.0 && strings.Contains(string(one.Body), doc), one)
	w.c.PATCH(at(documents, doc), fields{"title": name + "?"})
	one, d := w.c.GET(at(projects, id)), w.c.GET(at(documents, doc))
	w.expect("documents after change", strings.Contains(string(one.Body), `"`+name+`?"`), one)
	w.expect("document after change", d.JSON["title"] == name+"?", d)
	w.c.DELETE(at(documents, doc))
	one, d = w.c.GET(at(projects, id)), w.c.GET(documents+"?project_id="+id)
	w.expect("documents after delete", one.JSON["document_count"] == 0.0 && strings.HasSuffix(string(one.Body), `"documents":[]}`), one)
	w.expect("list of documents after delete", d.JSON["total"] == 0.0, d)

	if w.r.IntN(2) == 0 {
		w.c.DELETE(at(projects, id))
		one = w.c.GET(at(projects, id))
		w.expect("one after delete", one.Status == 404, one)
	} else {
		w.c.POST(at(projects, id)+"/move", `{"folder_id":null}`)
	}
	all = w.c.GET(list)
	w.expect("list after it left", all.Status == 200 && !strings.Contains(string(all.Body), id), all)
}
