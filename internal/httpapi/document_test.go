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

// D40, D41: the whole record, everywhere the same.
func TestDocument_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		r := c.POST(documents, `{"title":"One"}`).Want(t, 201)
		id := r.Text(t, "id")
		record := `{"id":"$id","title":"One","description":null,"project_id":null,"parent_id":null,"sort_order":$order,"external_id":null,"url":null,"metadata":null,"version":1,"content_bytes":0,"content_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`
		record = strings.ReplaceAll(record, "$order", orderOf(r.JSON))
		wantBody(t, r, record, "$id", id)
		if got, want := r.Header.Get("Location"), a.Server.URL+at(documents, id); got != want {
			t.Errorf("Location %q, want %q", got, want)
		}
		wantBody(t, c.GET(at(documents, id)), strings.TrimSuffix(record, "}")+`,"content":""}`, "$id", id)
		wantBody(t, c.GET(documents), `{"data":[`+record+`],"total":1,"limit":50,"offset":0}`, "$id", id)
		p := create(t, c, projects, fields{"name": "p"})
		a.Clock.Advance(time.Second)
		es := emitted(t, c, func() {
			r = c.PATCH(at(documents, id), fields{"title": "Two", "description": "d", "project_id": strings.ToUpper(p)}).Want(t, 200)
			wantBody(t, r, `{"id":"$id","title":"Two","description":"d","project_id":"$p","parent_id":null,"sort_order":$order,"external_id":null,"url":null,"metadata":null,"version":2,"content_bytes":0,"content_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z"}`,
				"$id", id, "$p", p, "$order", orderOf(r.JSON))
		})
		wantSame(t, "the change", typesOf(es), []string{"document.updated " + id})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"],
			fields{"title": "One", "description": nil, "project_id": nil, "version": 1.0, "updated_at": "2026-11-15T10:00:00.000Z"})
		es = emitted(t, c, func() {
			a.Clock.Advance(time.Second)
			wantBody(t, c.PATCH(at(documents, id), r.Body).Want(t, 200), string(r.Body))
			c.PATCH(at(documents, id), `{"id":1,"created_at":[]}`).WantError(t, 400, "VALIDATION_ERROR", "title", "project_id")
		})
		if len(es) != 0 {
			t.Errorf("changing nothing emitted %q", typesOf(es))
		}
	})
}

// D40: bounds and references.
func TestDocument_RefusedFields(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), projects, fields{"name": "x"})
		id := create(t, c, documents, fields{"title": strings.Repeat("é", 200), "description": strings.Repeat("é", 2000), "project_id": nil})
		for _, field := range []string{`"title":""`, `"title":" "`, `"title":null`, `"title":3`, `"title":"` + strings.Repeat("é", 201) + `"`,
			`"description":"` + strings.Repeat("é", 2001) + `"`, `"description":false`, `"project_id":"x"`, `"project_id":1`} {
			name := strings.Trim(strings.SplitN(field, ":", 2)[0], `"`)
			c.PATCH(at(documents, id), `{`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
			body := `{` + field + `}`
			if name != "title" {
				body = `{"title":"x",` + field + `}`
			}
			c.POST(documents, body).WantError(t, 400, "VALIDATION_ERROR", name)
		}
		c.POST(documents, `{}`).WantError(t, 400, "VALIDATION_ERROR", "title", "required")
		for _, project := range []string{nowhereID, theirs} {
			made := c.POST(documents, fields{"title": "x", "project_id": project}).WantError(t, 404, "NOT_FOUND", "project")
			wantBody(t, c.PATCH(at(documents, id), fields{"project_id": project}).Want(t, 404), string(made.Body))
		}
		if n := len(wholeList(t, c, documents, 100)); n != 1 {
			t.Errorf("the refused requests made %d documents", n-1)
		}
	})
}

// D41: orders and filters of the list.
func TestDocuments_List(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		theirs := create(t, a.Workspace(sheaf.Pro).Client(""), projects, fields{"name": "x"})
		var ids []string
		for _, d := range []fields{{"title": "b", "project_id": p}, {"title": "A"}, {"title": "a"}, {"title": "Straße", "project_id": p}, {"title": "c", "description": "50% _off_"}} {
			ids = append(ids, create(t, c, documents, d))
		}
		a.Clock.Advance(time.Second)
		c.PATCH(at(documents, ids[2]), fields{"description": "x"}).Want(t, 200)
		c.PATCH(at(documents, ids[0]), fields{"description": "x"}).Want(t, 200)
		deleted := create(t, c, documents, fields{"title": "deleted", "project_id": p})
		c.DELETE(at(documents, deleted)).Want(t, 204)
		pick := func(order ...int) (out []string) {
			for _, i := range order {
				out = append(out, ids[i])
			}
			return out
		}
		for query, want := range map[string][]string{
			"":                         pick(0, 1, 2, 3, 4),
			"sort=created_at":          pick(0, 1, 2, 3, 4),
			"sort=updated_at":          pick(1, 3, 4, 0, 2),
			"sort=title":               pick(1, 2, 0, 4, 3),
			"project_id=" + p:          pick(0, 3),
			"project_id=null":          pick(1, 2, 4),
			"project_id=" + theirs:     nil,
			"project_id=" + nowhereID:  nil,
			"q=STRASSE":                pick(3),
			"q=0%25%20_":               pick(4),
			"q=deleted":                nil,
			"q=a&project_id=null":      pick(1, 2),
			"q=X&sort=updated_at":      pick(0, 2),
			"q=b&project_id=" + theirs: nil,
		} {
			r := c.GET(documents+"?"+query).Want(t, 200)
			wantSame(t, query, r.IDs(t), want)
			if int(r.JSON["total"].(float64)) != len(want) {
				t.Errorf("%s: total %v", query, r.JSON["total"])
			}
			reversed := slices.Clone(want)
			slices.Reverse(reversed)
			wantSame(t, query+" desc by two", idsOf(wholeList(t, c, documents+"?order=desc&"+query, 2)), reversed)
		}
		for _, bad := range []string{"sort=name", "sort=", "order=x", "project_id=x", "project_id=", "q="} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(documents+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
	})
}

// D41, D60: deleting is soft, and undone by restoring.
func TestDocument_DeleteAndRestore(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		id := create(t, c, documents, fields{"title": "d", "project_id": p})
		keeper := create(t, c, documents, fields{"title": "k", "project_id": p})
		record := withoutText(c.GET(at(documents, id)).Want(t, 200).JSON)
		a.Clock.Advance(time.Second)
		es := emitted(t, c, func() { c.DELETE(at(documents, id)).Want(t, 204) })
		wantSame(t, "deleting", typesOf(es), []string{"document.deleted " + id})
		wantJSON(t, "document.deleted", es[0]["payload"], record)
		es = emitted(t, c, func() {
			c.GET(at(documents, id)).WantError(t, 404, "NOT_FOUND")
			c.DELETE(at(documents, id)).WantError(t, 404, "NOT_FOUND")
			c.PATCH(at(documents, id), fields{"title": "x"}).WantError(t, 404, "NOT_FOUND")
		})
		if len(es) != 0 {
			t.Errorf("a deleted document emitted %q", typesOf(es))
		}
		wantSame(t, "the list", c.GET(documents).IDs(t), []string{keeper})
		wantSame(t, "of the project", c.GET(documents+"?project_id="+p).IDs(t), []string{keeper})
		one := c.GET(at(projects, p)).Want(t, 200)
		if one.JSON["document_count"] != 1.0 || strings.Contains(string(one.Body), id) {
			t.Errorf("the project still has it: %s", one.Body)
		}
		a.Clock.Advance(time.Second)
		es = emitted(t, c, func() {
			r := c.POST(at(documents, id)+"/restore", nil).Want(t, 200)
			wantBody(t, r, `{"id":"$id","title":"d","description":null,"project_id":"$p","parent_id":null,"sort_order":$order,"external_id":null,"url":null,"metadata":null,"version":1,"content_bytes":0,"content_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:02.000Z"}`, "$id", id, "$p", p, "$order", orderOf(record))
			// A body is ignored; one that is not deleted stays as it is.
			wantBody(t, c.POST(at(documents, id)+"/restore", `{"title":"x"`).Want(t, 200), string(r.Body))
		})
		wantSame(t, "restoring", typesOf(es), []string{"document.created " + id})
		wantJSON(t, "document.created", es[0]["payload"], withoutText(c.GET(at(documents, id)).JSON))
		wantSame(t, "the list", c.GET(documents).IDs(t), []string{id, keeper})
		if got := c.GET(at(projects, p)).JSON["document_count"]; got != 2.0 {
			t.Errorf("document_count %v", got)
		}
		c.POST(at(documents, nowhereID)+"/restore", nil).WantError(t, 404, "NOT_FOUND")
	})
}

// D41: the counters that lists answer their totals from hold under concurrency.
func TestDocuments_TotalsUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		p, q := create(t, c, projects, fields{"name": "p"}), create(t, c, projects, fields{"name": "q"})
		var ids []string
		for i := range 8 {
			ids = append(ids, create(t, c, documents, fields{"title": fmt.Sprint(i), "project_id": p}))
		}
		together(64, func(i int) {
			one := at(documents, ids[i%8])
			switch i / 8 {
			case 0, 1:
				c.DELETE(one)
			case 2, 3, 4:
				c.POST(one+"/restore", nil)
			case 5:
				c.PATCH(one, fields{"project_id": q})
			case 6:
				c.PATCH(one, fields{"project_id": nil})
			default:
				c.PATCH(one, fields{"project_id": p})
			}
		})
		perProject := map[any]int{}
		list := c.GET(documents).Want(t, 200)
		for _, d := range list.Items(t) {
			perProject[d["project_id"]]++
		}
		if n := int(list.JSON["total"].(float64)); n != len(list.IDs(t)) {
			t.Errorf("total %d of %d", n, len(list.IDs(t)))
		}
		for _, id := range []string{p, q} {
			count := c.GET(at(projects, id)).JSON["document_count"].(float64)
			total := c.GET(documents + "?project_id=" + id).JSON["total"].(float64)
			if int(count) != perProject[id] || int(total) != perProject[id] {
				t.Errorf("document_count %v, total %v, really %d", count, total, perProject[id])
			}
		}
	})
}
