package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

var tagForm = regexp.MustCompile(`^"([1-9][0-9]*)-[0-9a-f]{16,}"$`)

// tagOf returns the ETag of a single resource and its revision.
func tagOf(t testing.TB, r *apitest.Response) (tag, revision string) {
	t.Helper()
	tag = r.Header.Get("ETag")
	m := tagForm.FindStringSubmatch(tag)
	if m == nil {
		t.Fatalf("the ETag of %s is %q", r.Body, tag)
	}
	return tag, m[1]
}

func revisionOf(t testing.TB, r *apitest.Response) string {
	t.Helper()
	_, revision := tagOf(t, r)
	return revision
}

// D58: a strong tag "<revision>-<hash of the body>", on reads and on create, PATCH and move
// answers.
func TestConditional_TagsOfSingleResources(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		for list, change := range map[string]string{projects: `{"name":"b"}`, folders: `{"name":"b"}`, documents: `{"title":"b"}`} {
			made := c.POST(list, `{"name":"a","title":"a","entity_type":"project"}`).Want(t, 201)
			one := at(list, made.Text(t, "id"))
			read := c.GET(one).Want(t, 200)
			first, _ := tagOf(t, read)
			if revisionOf(t, made) != "1" || revisionOf(t, read) != "1" {
				t.Errorf("%s begins with %q and %q", list, made.Header.Get("ETag"), first)
			}
			changed := c.PATCH(one, change).Want(t, 200)
			nothing := c.PATCH(one, change).Want(t, 200)
			if revisionOf(t, changed) != "2" || nothing.Header.Get("ETag") != changed.Header.Get("ETag") {
				t.Errorf("%s changed: %q, then nothing: %q", list, changed.Header.Get("ETag"), nothing.Header.Get("ETag"))
			}
			if second, _ := tagOf(t, c.GET(one).Want(t, 200)); second == first {
				t.Errorf("%s: the same tag for another body", list)
			}
			if strings.Contains(list, "documents") {
				continue
			}
			moved := c.POST(one+"/move", fields{"folder_id": folder, "parent_id": folder}).Want(t, 200)
			if revisionOf(t, moved) != "3" {
				t.Errorf("%s moved: %q", list, moved.Header.Get("ETag"))
			}
		}
		published := c.POST(events, fields{"type": "share.created", "resource_id": nowhereID, "payload": fields{}}).Want(t, 202)
		if one := c.GET(at(events, published.Text(t, "id"))).Want(t, 200); one.Header.Get("ETag") != published.Header.Get("ETag") || revisionOf(t, one) != "1" {
			t.Errorf("events: %q and %q", one.Header.Get("ETag"), published.Header.Get("ETag"))
		}
	})
}

// D58: If-None-Match compares the whole tag.
func TestConditional_IfNoneMatch(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, projects, fields{"name": "p"})
		for _, path := range []string{at(projects, id), projects, documents, events, keys, projects + "?offset=5"} {
			first := c.GET(path).Want(t, 200)
			tag := first.Header.Get("ETag")
			for _, sent := range []string{tag, `W/` + tag, `"x", ` + tag, "*", `"x",W/` + tag + `,"y"`} {
				r := c.GET(path, "If-None-Match: "+sent).Want(t, 304)
				if len(r.Body) != 0 || r.Header.Get("ETag") != tag || r.Header.Get("Link") != first.Header.Get("Link") {
					t.Errorf("%s: a 304 with %q and ETag %q", path, r.Body, r.Header.Get("ETag"))
				}
				c.Do("HEAD", path, nil, "If-None-Match: "+sent).Want(t, 304)
			}
			for _, sent := range []string{`"x"`, strings.Trim(tag, `"`), strings.Replace(tag, "-", "_", 1) + "x", `"1-0000000000000000"`, ""} {
				c.GET(path, "If-None-Match: "+sent).Want(t, 200)
			}
		}
		// What is derived changes the body, and so the tag, but not the revision.
		before := c.GET(at(projects, id)).Want(t, 200)
		create(t, c, documents, fields{"title": "d", "project_id": id})
		after := c.GET(at(projects, id), "If-None-Match: "+before.Header.Get("ETag")).Want(t, 200)
		if revisionOf(t, before) != revisionOf(t, after) || before.Header.Get("ETag") == after.Header.Get("ETag") {
			t.Errorf("before %q, after %q", before.Header.Get("ETag"), after.Header.Get("ETag"))
		}
		c.GET(at(projects, id), "If-None-Match: "+after.Header.Get("ETag")).Want(t, 304)
		// Errors and writes are not conditional on it.
		c.GET(at(projects, nowhereID), "If-None-Match: *").Want(t, 404)
		c.POST(projects, `{"name":"q"}`, "If-None-Match: *").Want(t, 201)
	})
}

// D58: the tag of a list is of that exact page: one that pages share makes a client stop reading.
func TestConditional_TagsOfPages(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for i := range 6 {
			create(t, c, projects, fields{"name": fmt.Sprint(i)})
		}
		seen := map[string]string{}
		for _, query := range []string{"", "limit=2", "limit=2&offset=2", "limit=2&offset=4", "limit=2&offset=6", "limit=3", "limit=100", "order=desc", "offset=6", "offset=7", "limit=50&order=desc&offset=1"} {
			tag := c.GET(projects+"?"+query).Want(t, 200).Header.Get("ETag")
			if other, ok := seen[tag]; ok || !regexp.MustCompile(`^"[0-9a-f]{16,}"$`).MatchString(tag) {
				t.Errorf("?%s has the tag %s, as ?%s", query, tag, other)
			}
			seen[tag] = query
		}
		tag := c.GET(projects + "?limit=2").Header.Get("ETag")
		if again := c.GET(projects + "?limit=2&offset=0&order=asc").Header.Get("ETag"); again != tag {
			t.Errorf("the same page with tags %s and %s", tag, again)
		}
		last := c.GET(projects + "?limit=2&offset=4")
		c.PATCH(at(projects, last.IDs(t)[1]), `{"color":"#000000"}`).Want(t, 200)
		c.GET(projects+"?limit=2", "If-None-Match: "+tag).Want(t, 304) // that page is as it was
		c.GET(projects+"?limit=2&offset=4", "If-None-Match: "+last.Header.Get("ETag")).Want(t, 200)
		create(t, c, projects, fields{"name": "new"})
		c.GET(projects+"?limit=2", "If-None-Match: "+tag).Want(t, 200) // total is part of it
	})
}

// D58: If-Match compares the revision, on PATCH, DELETE and move.
func TestConditional_IfMatch(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		for _, list := range []string{projects, folders, documents} {
			made := c.POST(list, `{"name":"a","title":"a","entity_type":"project"}`).Want(t, 201)
			one := at(list, made.Text(t, "id"))
			read := c.GET(one).Want(t, 200)
			stale := read.Header.Get("ETag")
			name := func(s string) fields { return fields{"name": s, "title": s} }
			es := emitted(t, c, func() {
				// The tag of any answer with that revision will do.
				c.PATCH(one, name("b"), "If-Match: "+stale).Want(t, 200)
				for _, sent := range []string{stale, made.Header.Get("ETag"), `W/"2-x"`, `"2"`, "2-x", `""`, "", `"nonsense"`, `"1-x", "3-x"`, `"-2-x"`} {
					c.PATCH(one, name("c"), "If-Match: "+sent).WantError(t, 412, "PRECONDITION_FAILED", "If-Match")
					c.DELETE(one, "If-Match: "+sent).WantError(t, 412, "PRECONDITION_FAILED", "If-Match")
					if list != documents {
						c.POST(one+"/move", fields{"folder_id": folder, "parent_id": folder}, "If-Match: "+sent).WantError(t, 412, "PRECONDITION_FAILED", "If-Match")
					}
				}
				c.PATCH(one, name("b"), "If-Match: "+stale).Want(t, 412) // also when nothing would change
			})
			if len(es) != 1 {
				t.Errorf("%s: refused changes emitted %q", list, typesOf(es))
			}
			c.PATCH(one, name("c"), `If-Match: "9-x", "2-whatever" , W/"3-x"`).Want(t, 200)
			c.PATCH(one, name("d"), `If-Match: "9-x"`, `If-Match: "3-x"`).Want(t, 200)
			c.PATCH(one, name("e"), "If-Match: *").Want(t, 200)
			if list != documents {
				c.POST(one+"/move", fields{"folder_id": folder, "parent_id": folder}, `If-Match: "5-x"`).Want(t, 200)
				c.DELETE(one, `If-Match: "5-x"`).Want(t, 412)
				c.DELETE(one, `If-Match: "6-x"`).Want(t, 204)
			} else {
				c.DELETE(one, `If-Match: "4-x"`).Want(t, 412)
				c.DELETE(one, `If-Match: "5-x"`).Want(t, 204)
			}
			c.PATCH(one, name("f"), "If-Match: *").WantError(t, 404, "NOT_FOUND")
			c.DELETE(one, "If-Match: "+stale).WantError(t, 404, "NOT_FOUND")
		}
		// D11: 404 of a reference, then 412, then what the stored state forbids.
		p := at(projects, create(t, c, projects, fields{"name": "p"}))
		c.PATCH(p, fields{"folder_id": nowhereID}, `If-Match: "9-x"`).Want(t, 404)
		c.PATCH(p, fields{"name": ""}, `If-Match: "9-x"`).Want(t, 400)
		f := at(folders, folder)
		c.POST(f+"/move", fields{"parent_id": folder}, `If-Match: "9-x"`).Want(t, 412)
		c.POST(f+"/move", fields{"parent_id": folder}, "If-Match: *").Want(t, 400)
	})
}

// D58: derived fields do not raise the revision; whatever emits an update does.
func TestConditional_RevisionOfDerivedChanges(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		top := create(t, c, folders, fields{"name": "t", "entity_type": "project"})
		sub := create(t, c, folders, fields{"name": "s", "entity_type": "project", "parent_id": top})
		p := create(t, c, projects, fields{"name": "p", "folder_id": sub})
		d := create(t, c, documents, fields{"title": "d", "project_id": p})
		revisions := func() string {
			var out []string
			for _, one := range []string{at(folders, top), at(folders, sub), at(projects, p), at(documents, d)} {
				if r := c.GET(one); r.Status == 200 {
					out = append(out, revisionOf(t, r))
				} else {
					out = append(out, "-")
				}
			}
			return strings.Join(out, " ")
		}
		check := func(what, want string) {
			t.Helper()
			if got := revisions(); got != want {
				t.Errorf("after %s: revisions %s, want %s", what, got, want)
			}
		}
		check("creating", "1 1 1 1") // document_count and project_count rose since
		other := create(t, c, documents, fields{"title": "o", "project_id": p})
		c.PATCH(at(documents, other), fields{"project_id": nil}).Want(t, 200)
		check("documents that come and go", "1 1 1 1")
		c.POST(at(folders, sub)+"/move", `{"parent_id":null}`).Want(t, 200)
		check("moving a folder", "1 2 1 1")
		c.POST(at(folders, sub)+"/move", fields{"parent_id": top}).Want(t, 200)
		c.DELETE(at(folders, top), `If-Match: "1-x"`).Want(t, 204)
		check("deleting the folders", "- - 2 1")
		c.PATCH(at(projects, p), fields{"name": "q"}, `If-Match: "1-x"`).Want(t, 412)
		c.DELETE(at(projects, p), `If-Match: "2-x"`).Want(t, 204)
		check("deleting the project", "- - - 2")
		c.DELETE(at(documents, d)).Want(t, 204)
		c.POST(at(documents, d)+"/restore", nil).Want(t, 200)
		check("restoring the document", "- - - 3")
	})
}

// D58: of 64 clients with the same If-Match exactly one wins.
func TestConditional_OneOfManyWins(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		made := c.POST(projects, `{"name":"p"}`).Want(t, 201)
		one, tag := at(projects, made.Text(t, "id")), made.Header.Get("ETag")
		rs := apitest.Together(64, func(i int) *apitest.Response {
			return c.PATCH(one, fields{"name": fmt.Sprint("by ", i)}, "If-Match: "+tag)
		})
		if n := apitest.Statuses(rs); n[200] != 1 || n[412] != 63 {
			t.Errorf("got %v", n)
		}
		for _, r := range rs {
			if r.Status == 200 && r.Text(t, "name") != c.GET(one).Text(t, "name") {
				t.Errorf("%s won, and it is %s", r.Body, c.GET(one).Body)
			}
		}
		rs = apitest.Together(64, func(i int) *apitest.Response { return c.DELETE(one, `If-Match: "2-x"`) })
		if n := apitest.Statuses(rs); n[204] != 1 || n[404] != 63 {
			t.Errorf("deleting: got %v", n)
		}
	})
}

// D58: a tag is ours in exactly one form; only the revision in it is compared.
func TestConditional_IfMatchTakesOneForm(t *testing.T) {
	t.Parallel()
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	one := at(projects, create(t, c, projects, fields{"name": "a"}))
	for _, tag := range []string{`"01-x"`, `"+1-x"`, `"-1-x"`, `" 1-x"`, `"1 -x"`, `"1-"`, `"1"`, `1-x`, `W/"1-x"`, `"1_0-x"`, `"0x1-x"`, `"１-x"`, `"1-x"y"`, `""`} {
		c.PATCH(one, `{"name":"b"}`, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
		c.DELETE(one, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
	}
	c.PATCH(one, `{"name":"b"}`, `If-Match: "1-x"`).Want(t, 200)
}
