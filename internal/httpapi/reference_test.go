package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// referred are the nouns that another system can refer to, each with its name's field and what it needs to be made.
var referred = []struct {
	list, name string
	body       fields
}{
	{projects, "name", fields{"name": "made"}},
	{folders, "name", fields{"name": "made", "entity_type": "project"}},
	{documents, "title", fields{"title": "made"}},
}

// by is the address of the record of an external id.
func by(list, externalID string) string { return list + "?external_id=" + url.QueryEscape(externalID) }

func putBy(c *apitest.Client, list, externalID string, body any, headers ...string) *apitest.Response {
	return c.Do("PUT", by(list, externalID), body, headers...)
}

// D84: PUT creates a record that does not exist, and sets the sent fields of one that does. Repeating it
// leaves no trace.
func TestPut_MakesChangesAndLeavesAlone(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		for _, noun := range referred {
			const id = "wiki:47/11 ä&?"
			made := putBy(c, noun.list, id, noun.body).Want(t, 201)
			where := at(noun.list, made.Text(t, "id"))
			if made.Text(t, "external_id") != id || !strings.HasSuffix(made.Header.Get("Location"), where) || made.Header.Get("ETag") == "" {
				t.Errorf("made %s, Location %q", made.Body, made.Header.Get("Location"))
			}
			es := emitted(t, c, func() {
				again := putBy(c, noun.list, id, noun.body).Want(t, 200)
				wantBody(t, again, string(made.Body))
				putBy(c, noun.list, id, `{}`).Want(t, 200)
			})
			wantSame(t, noun.list+": the same again", typesOf(es), nil)
			es = emitted(t, c, func() {
				changed := putBy(c, noun.list, id, fields{noun.name: "changed"}).Want(t, 200)
				if changed.Text(t, noun.name) != "changed" || changed.Text(t, "id") != made.Text(t, "id") {
					t.Errorf("changed to %s", changed.Body)
				}
			})
			kind := strings.TrimSuffix(noun.list[len("/api/v1/"):], "s")
			wantSame(t, noun.list+": a change", typesOf(es), []string{kind + ".updated " + made.Text(t, "id")})
			wantSame(t, noun.list+": by its external id", c.GET(by(noun.list, id)).IDs(t), []string{made.Text(t, "id")})
			wantSame(t, noun.list+": by another one", c.GET(by(noun.list, "WIKI:47/11 ä&?")).IDs(t), nil)
		}
	})
}

// D84, D11: the errors of a PUT come in the order of the contract, and nothing is created.
func TestPut_Refusals(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		for _, noun := range referred {
			c.Do("PUT", noun.list, noun.body).WantError(t, 400, "VALIDATION_ERROR", "external_id is required", noun.list+"?external_id=")
			putBy(c, noun.list, "", noun.body).WantError(t, 400, "VALIDATION_ERROR", "external_id")
			putBy(c, noun.list, strings.Repeat("ä", 201), noun.body).WantError(t, 400, "VALIDATION_ERROR", "external_id", "200")
			putBy(c, noun.list, "x", `{}`).WantError(t, 400, "VALIDATION_ERROR", noun.name+" is required")
			putBy(c, noun.list, "x", fields{noun.name: "n", "entity_type": "project", "external_id": "y"}).WantError(t, 400, "VALIDATION_ERROR", "external_id in the body")
			putBy(c, noun.list, "x", fields{noun.name: "n", "entity_type": "project", "external_id": nil}).WantError(t, 400, "VALIDATION_ERROR", "external_id in the body")
			putBy(c, noun.list, "x", noun.body, "If-Match: *").WantError(t, 404, "NOT_FOUND", `"x"`, "If-Match")
			putBy(c, noun.list, "x", noun.body, `If-Match: "1-x"`).WantError(t, 404, "NOT_FOUND")
			wantSame(t, noun.list+": nothing was made", c.GET(noun.list).IDs(t), nil)
		}
		putBy(c, documents, "x", fields{"project_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "project")
		putBy(c, folders, "x", fields{"parent_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "folder")
		putBy(c, folders, "x", fields{"name": "n", "entity_type": "nothing"}).WantError(t, 400, "VALIDATION_ERROR", "entity_type")
		for _, noun := range referred {
			made := putBy(c, noun.list, "x", noun.body).Want(t, 201)
			putBy(c, noun.list, "x", fields{noun.name: "new"}, `If-Match: "7-x"`).WantError(t, 412, "PRECONDITION_FAILED")
			putBy(c, noun.list, "x", fields{noun.name: "new"}, "If-Match: "+made.Header.Get("ETag")).Want(t, 200)
		}
		reader := w.Client(w.Key(sheaf.ProjectsRead, sheaf.DocumentsRead))
		for _, noun := range referred {
			putBy(reader, noun.list, "x", noun.body).WantError(t, 403, "FORBIDDEN")
			putBy(a.Workspace(sheaf.Pro).Client(""), noun.list, "x", noun.body).Want(t, 201) // in another workspace it is another one
		}
	})
}

// D84: a taken external id is 409 with every method, and the answer names the record that has it.
func TestExternalID_TakenNamesItsHolder(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		for _, noun := range referred {
			holder := putBy(c, noun.list, "taken", noun.body).Want(t, 201).Text(t, "id")
			body := fields{"external_id": "taken"}
			for k, v := range noun.body {
				body[k] = v
			}
			es := emitted(t, c, func() {
				c.POST(noun.list, body).WantError(t, 409, "CONFLICT", "taken", holder)
				body["external_id"] = "free"
				other := create(t, c, noun.list, body)
				c.PATCH(at(noun.list, other), `{"external_id":"taken"}`).WantError(t, 409, "CONFLICT", holder)
				c.PATCH(at(noun.list, other), `{"external_id":"free"}`).Want(t, 200)
			})
			if len(es) != 1 {
				t.Errorf("%s emitted %q", noun.list, typesOf(es))
			}
			c.PATCH(at(noun.list, holder), `{"external_id":null}`).Want(t, 200)
			body["external_id"] = "taken"
			create(t, c, noun.list, body)
		}
		gone := c.GET(by(documents, "taken")).IDs(t)[0]
		c.DELETE(at(documents, gone)).Want(t, 204)
		c.POST(documents, `{"title":"t","external_id":"taken"}`).WantError(t, 409, "CONFLICT", gone, "deleted")
	})
}

// D84: if 64 clients PUT the same record at once, one creates it, and the others find it.
func TestPut_TogetherMakesOne(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		for _, noun := range referred {
			es := emitted(t, c, func() {
				freed := holdForAMoment(t, a, ws)
				got := apitest.Statuses(apitest.Together(64, func(int) *apitest.Response { return putBy(c, noun.list, "one", noun.body) }))
				freed()
				if got[201] != 1 || got[200] != 63 {
					t.Errorf("%s: %v", noun.list, got)
				}
			})
			if len(es) != 1 || len(c.GET(noun.list).IDs(t)) != 1 {
				t.Errorf("%s: emitted %q", noun.list, typesOf(es))
			}
		}
	}, apitest.Quiet)
}

// D84: one in the trash is restored with the change, and told of as created, once.
func TestPut_RestoresWhatIsDeleted(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		made := putBy(c, documents, "d", `{"title":"old","content":"one"}`).Want(t, 201)
		id := made.Text(t, "id")
		c.DELETE(at(documents, id)).Want(t, 204)
		putBy(c, documents, "d", `{"title":"new"}`, "If-Match: "+made.Header.Get("ETag")).WantError(t, 404, "NOT_FOUND")
		es := emitted(t, c, func() {
			back := putBy(c, documents, "d", `{"title":"new","content":"two","metadata":{"a":"1"}}`).Want(t, 200)
			if back.Text(t, "id") != id || back.Text(t, "title") != "new" || back.JSON["version"] != 2.0 {
				t.Errorf("restored as %s", back.Body)
			}
		})
		wantSame(t, "the events", typesOf(es), []string{"document.created " + id})
		if got := c.GET(at(documents, id)).Want(t, 200); got.Text(t, "content") != "two" {
			t.Errorf("it has %s", got.Body)
		}
		if violations := a.Doctor(); len(violations) > 0 {
			t.Errorf("the doctor: %q", violations)
		}
	})
}

// D84: a PUT of a folder may move it, with all below it, in the same change; its type stays.
func TestPut_MovesAFolder(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		parent := create(t, c, folders, `{"name":"parent","entity_type":"project"}`)
		moved := putBy(c, folders, "f", `{"name":"f","entity_type":"project"}`).Want(t, 201).Text(t, "id")
		below := create(t, c, folders, fields{"name": "below", "entity_type": "project", "parent_id": moved})
		es := emitted(t, c, func() {
			putBy(c, folders, "f", fields{"name": "g", "parent_id": parent, "entity_type": "project"}).Want(t, 200)
		})
		wantSame(t, "the events", typesOf(es), []string{"folder.updated " + moved})
		if got := c.GET(at(folders, below)); got.JSON["depth"] != 3.0 {
			t.Errorf("below it: %s", got.Body)
		}
		putBy(c, folders, "f", fields{"parent_id": below}).WantError(t, 400, "VALIDATION_ERROR", "parent_id")
		putBy(c, folders, "f", fields{"entity_type": "branding"}).WantError(t, 400, "VALIDATION_ERROR", "entity_type")
		if violations := a.Doctor(); len(violations) > 0 {
			t.Errorf("the doctor: %q", violations)
		}
	})
}

// D84: POST and PUT write metadata as a whole, PATCH merges it name by name as RFC 7396 says.
func TestMetadata_WholeAndMerged(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for _, noun := range referred[:3:3] {
			if noun.list == folders {
				continue
			}
			want := func(r *apitest.Response, metadata string) {
				t.Helper()
				if !strings.Contains(string(r.Want(t, r.Status).Body), `"metadata":`+metadata) || r.Status > 201 {
					t.Errorf("got %d %s, want %s", r.Status, r.Body, metadata)
				}
			}
			id := create(t, c, noun.list, noun.body)
			one := at(noun.list, id)
			want(c.GET(one), `null`)
			want(c.PATCH(one, `{"metadata":{"b":"2","a":"1","C":"<ä>"}}`), `{"C":"<ä>","a":"1","b":"2"}`)
			want(c.PATCH(one, `{"metadata":{"a":null,"b":"3","none":null}}`), `{"C":"<ä>","b":"3"}`)
			es := emitted(t, c, func() { want(c.PATCH(one, `{"metadata":{"b":"3"}}`), `{"C":"<ä>","b":"3"}`) })
			wantSame(t, "merging the same", typesOf(es), nil)
			c.PATCH(one, `{"external_id":"m"}`).Want(t, 200)
			want(putBy(c, noun.list, "m", `{"metadata":{"z":"9"}}`), `{"z":"9"}`)
			want(c.PATCH(one, `{"metadata":{"z":null}}`), `{}`)
			want(c.PATCH(one, `{"metadata":null}`), `null`)
			for _, bad := range []string{`{"metadata":{"a":1}}`, `{"metadata":["a"]}`, `{"metadata":{"":"x"}}`, `{"metadata":{"a b":"x"}}`, `{"metadata":{"ä":"x"}}`,
				`{"metadata":{"` + strings.Repeat("n", 65) + `":"x"}}`, `{"metadata":"x"}`} {
				c.PATCH(one, bad).WantError(t, 400, "VALIDATION_ERROR", "metadata")
			}
			putBy(c, noun.list, "m", `{"metadata":{"a":null}}`).WantError(t, 400, "VALIDATION_ERROR", "metadata.a")
			// {"k":"…"} has eight bytes around the text.
			c.PATCH(one, fields{"metadata": fields{"k": strings.Repeat("x", 8192-8)}}).Want(t, 200)
			c.PATCH(one, fields{"metadata": fields{"k": strings.Repeat("x", 8192-7)}}).WantError(t, 400, "VALIDATION_ERROR", "8192")
			c.PATCH(one, `{"metadata":{"more":"x"}}`).WantError(t, 400, "VALIDATION_ERROR", "metadata")
		}
	})
}

// D84: url is an address of http or https, and nothing that a page must not link to.
func TestURL_IsOneOfTheWeb(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	for _, list := range []string{projects, documents} {
		id := create(t, c, list, `{"name":"n","title":"t","url":"https://example.com/a?b#c"}`)
		for _, good := range []string{`"http://x"`, `"HTTPS://EXAMPLE.com/ä"`, `null`, `"https://x/` + strings.Repeat("y", 2048-10) + `"`} {
			c.PATCH(at(list, id), `{"url":`+good+`}`).Want(t, 200)
		}
		for _, bad := range []string{`""`, `"x"`, `"javascript:alert(1)"`, `"//example.com"`, `"https:"`, `"https://"`, `"ftp://x"`, `"data:text/html,x"`, `5`,
			`"https://x/` + strings.Repeat("y", 2049-10) + `"`} {
			c.PATCH(at(list, id), `{"url":`+bad+`}`).WantError(t, 400, "VALIDATION_ERROR", "url")
		}
	}
}

// D85: the trash is a list like any other, and each entry says when it was deleted.
func TestTrash_ListsWhatIsDeleted(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, `{"name":"p"}`)
		var ids []string
		for i, title := range []string{"b", "a", "c", "kept"} {
			body := fields{"title": title, "external_id": fmt.Sprint(i)}
			if i == 0 {
				body["project_id"] = p
			}
			ids = append(ids, create(t, c, documents, body))
		}
		for _, i := range []int{1, 2, 0} {
			a.Clock.Advance(time.Second)
			c.DELETE(at(documents, ids[i])).Want(t, 204)
		}
		for query, want := range map[string][]string{
			"":                                 {ids[0], ids[1], ids[2]},
			"&sort=title":                      {ids[1], ids[0], ids[2]},
			"&sort=deleted_at":                 {ids[1], ids[2], ids[0]},
			"&sort=deleted_at&order=desc":      {ids[0], ids[2], ids[1]},
			"&sort=updated_at":                 {ids[0], ids[1], ids[2]},
			"&project_id=" + p:                 {ids[0]},
			"&project_id=null&sort=deleted_at": {ids[1], ids[2]},
			"&q=C":                             {ids[2]},
			"&external_id=1":                   {ids[1]},
			"&external_id=3":                   nil,
			"&limit=1&offset=1":                {ids[1]},
		} {
			wantSame(t, query, c.GET(documents+"?deleted=true"+query).Want(t, 200).IDs(t), want)
		}
		first := c.GET(documents + "?deleted=true&sort=deleted_at").Items(t)[0]
		if first["deleted_at"] != "2026-11-15T10:00:01.000Z" {
			t.Errorf("the first is %v", first)
		}
		wantSame(t, "the others", c.GET(documents+"?deleted=false").IDs(t), []string{ids[3]})
		if _, has := c.GET(documents).Items(t)[0]["deleted_at"]; has {
			t.Error("one that is there has deleted_at")
		}
		c.GET(documents+"?deleted=yes").WantError(t, 400, "VALIDATION_ERROR", "deleted must be true or false")
		c.GET(documents+"?sort=deleted_at").WantError(t, 400, "VALIDATION_ERROR", "deleted=true")
	})
}

// D85: a document in the trash can be deleted for good, with its texts and versions. That emits no further
// event.
func TestTrash_DeletedForGood(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Pro)
		c := w.Client("")
		made := putBy(c, documents, "x", `{"title":"t","content":"some text"}`).Want(t, 201)
		one := at(documents, made.Text(t, "id"))
		c.PATCH(one, `{"content":"another text"}`).Want(t, 200)
		c.DELETE(one+"/permanent").WantError(t, 409, "CONFLICT", "not deleted", "DELETE "+one)
		c.DELETE(one).Want(t, 204)
		c.DELETE(one+"/permanent", `If-Match: "7-x"`).WantError(t, 412, "PRECONDITION_FAILED")
		wantSame(t, "the trash", c.GET(documents+"?deleted=true").IDs(t), []string{made.Text(t, "id")})
		es := emitted(t, c, func() { c.DELETE(one+"/permanent").Want(t, 204) })
		wantSame(t, "the events", typesOf(es), nil)
		wantSame(t, "the trash, also from a cache", c.GET(documents+"?deleted=true").IDs(t), nil)
		c.DELETE(one+"/permanent").WantError(t, 404, "NOT_FOUND")
		c.POST(one+"/restore", nil).WantError(t, 404, "NOT_FOUND")
		if again := putBy(c, documents, "x", `{"title":"t"}`).Want(t, 201); again.Text(t, "id") == made.Text(t, "id") {
			t.Error("it came back")
		}
		if violations := a.Doctor(); len(violations) > 0 {
			t.Errorf("the doctor: %q", violations)
		}
	})
}

// D85: a document whose versions have much text goes in parts, between which others write, and all of it
// goes. A client that restores it in between has its text and its newest versions, and the client that
// deletes it gets an error.
func TestTrash_MuchTextGoesInParts(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		caller := app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
		id := create(t, c, documents, fields{"title": "t"})
		one, large := at(documents, id), strings.Repeat("x", sheaf.MaxContent-4)
		for i := range 80 {
			in := sheaf.DocumentChange{Content: sheaf.Some(large + fmt.Sprintf("%4d", i))}
			if _, err := a.App.UpdateDocument(t.Context(), caller, sheaf.DocumentID(id), in, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}
		purge := func(between func()) error {
			rules := a.App.WithCascades(app.Cascades{Whole: 10, Rows: 10, Between: between})
			return rules.PurgeDocument(t.Context(), caller, sheaf.DocumentID(id), false, sheaf.Match{})
		}
		c.DELETE(one).Want(t, 204)
		err := purge(func() { c.POST(one+"/restore", nil).Want(t, 200) })
		if sheaf.KindOf(err) != sheaf.Conflict {
			t.Errorf("one that was restored meanwhile: %v", err)
		}
		if text := c.GET(one).Text(t, "content"); text != large+"  79" {
			t.Errorf("restored with another text, of %d bytes", len(text))
		}
		if n, _ := c.GET(one + "/versions").JSON["total"].(float64); n < 40 || n > 60 {
			t.Errorf("restored with %v versions", n)
		}
		c.DELETE(one).Want(t, 204)
		parts := 0
		if err := purge(func() { parts++ }); err != nil || parts == 0 {
			t.Errorf("gone in %d parts before the last: %v", parts, err)
		}
		c.DELETE(one+"/permanent").WantError(t, 404, "NOT_FOUND")
		if violations := a.Doctor(); len(violations) > 0 {
			t.Errorf("the doctor: %q", violations)
		}
	})
}

// D86: updated_since is inclusive, in every list and in every order; folders take q.
func TestUpdatedSince_IsInclusive(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		for _, noun := range referred {
			var ids []string
			for range 3 {
				a.Clock.Advance(time.Second)
				ids = append(ids, create(t, c, noun.list, noun.body))
			}
			since := func(d time.Duration) string {
				return noun.list + "?updated_since=" + url.QueryEscape(a.Clock.Now().Add(d).Format(time.RFC3339Nano))
			}
			for _, sort := range []string{"", "&sort=updated_at", "&sort=created_at", "&sort=" + noun.name} {
				wantSame(t, sort+": all", c.GET(since(-time.Hour)+sort).Want(t, 200).IDs(t), ids)
				wantSame(t, sort+": that time too", c.GET(since(-time.Second)+sort).IDs(t), ids[1:])
				wantSame(t, sort+": between two milliseconds", c.GET(since(-time.Second+time.Microsecond)+sort).IDs(t), ids[2:])
				wantSame(t, sort+": none", c.GET(since(time.Millisecond)+sort).IDs(t), nil)
			}
			c.GET(noun.list+"?updated_since=yesterday").WantError(t, 400, "VALIDATION_ERROR", "updated_since must be an RFC 3339 time")
		}
		wantSame(t, "folders by q", c.GET(folders+"?q=MADE&limit=1").IDs(t), c.GET(folders+"?limit=1").IDs(t))
		wantSame(t, "folders by another q", c.GET(folders+"?q=nothing").IDs(t), nil)
	})
}

// D84, D85: while some put a document by its external id, others delete it, restore it and delete it for good. Each answer
// is one that can be, at most one document has the id, the log tells what is there, and no count and no byte is left over.
func TestTrash_ContestedByMany(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		project := create(t, c, projects, `{"name":"p"}`)
		var made, gone atomic.Int64
		var newest atomic.Value // the id that the last put was told
		put := func(text string) {
			r := putBy(c, documents, "x", fields{"title": "t", "content": text, "project_id": project})
			if r.Status == 201 {
				made.Add(1)
			} else {
				r.Want(t, 200)
			}
			newest.Store(r.Text(t, "id"))
		}
		put("first")
		together(16, func(i int) {
			for n := range 8 {
				one := at(documents, newest.Load().(string))
				switch i % 4 {
				case 0:
					put(fmt.Sprint(i, " ", n))
				case 1:
					wantOneOf(t, c.DELETE(one), 204, 404)
				case 2:
					wantOneOf(t, c.POST(one+"/restore", nil), 200, 404)
				case 3:
					if r := c.DELETE(one + "/permanent"); r.Status == 204 {
						gone.Add(1)
					} else {
						wantOneOf(t, r, 404, 409)
					}
				}
			}
		})
		live, deleted := wholeList(t, c, documents, 10), wholeList(t, c, documents+"?deleted=true", 10)
		if n := int64(len(live) + len(deleted)); n > 1 || n != made.Load()-gone.Load() {
			t.Errorf("%d documents were made and %d deleted for good; %d live ones and %d deleted ones are left", made.Load(), gone.Load(), len(live), len(deleted))
		}
		copied := map[string]map[string]fields{"project": {}, "document": {}}
		for _, e := range wholeList(t, c, events, 100) {
			apply(t, copied[e["resource_type"].(string)], e)
		}
		if len(copied["document"]) != len(live) {
			t.Errorf("the log tells of %d documents, and %d are there", len(copied["document"]), len(live))
		}
		for _, d := range live {
			wantJSON(t, "the document of the log", own(copied["document"][idOf(d)]), own(d))
		}
		if n := c.GET(at(projects, project)).Want(t, 200).JSON["document_count"]; n != float64(len(live)) {
			t.Errorf("the project counts %v documents of %d", n, len(live))
		}
		for _, d := range slices.Concat(live, deleted) {
			wantOneOf(t, c.DELETE(at(documents, idOf(d))), 204, 404)
			c.DELETE(at(documents, idOf(d))+"/permanent").Want(t, 204)
		}
		if used := storageUsed(t, c); used != 0 {
			t.Errorf("%d bytes are used, and nothing is there", used)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// wantOneOf fails the test unless the answer has one of the statuses.
func wantOneOf(t testing.TB, r *apitest.Response, statuses ...int) {
	t.Helper()
	if !slices.Contains(statuses, r.Status) {
		t.Errorf("status %d, want one of %v: %s %v", r.Status, statuses, r.Body, r.Err)
	}
}
