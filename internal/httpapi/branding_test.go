package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// brandingFolder makes a folder that holds brandings.
func brandingFolder(t testing.TB, c *apitest.Client, name string, parent any) string {
	t.Helper()
	return create(t, c, folders, fields{"name": name, "entity_type": "branding", "parent_id": parent})
}

// ownerOf is the owner of a workspace, who is signed in.
func ownerOf(w *apitest.Workspace) app.Caller {
	return app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}
}

// D115, D116, D118: the whole record, everywhere the same, and no event of it.
func TestBranding_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		folder := brandingFolder(t, c, "Customers", nil)
		es := emitted(t, c, func() {
			r := c.POST(brandings, `{"name":"Acme"}`).Want(t, 201)
			id := r.Text(t, "id")
			record := `{"id":"$id","name":"Acme","folder_id":null,"logo_media_id":null,"color_primary":"#2563eb","font":"system","footer":null,` +
				`"sort_order":0,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`
			wantBody(t, r, record, "$id", id)
			if got, want := r.Header.Get("Location"), a.Server.URL+at(brandings, id); got != want {
				t.Errorf("Location %q, want %q", got, want)
			}
			wantBody(t, c.GET(at(brandings, id)), record, "$id", id)
			wantBody(t, c.GET(brandings), `{"data":[`+record+`],"total":1,"limit":50,"offset":0}`, "$id", id)
			a.Clock.Advance(time.Second)
			r = c.PATCH(at(brandings, id), fields{"name": "Acme Inc.", "folder_id": strings.ToUpper(folder), "color_primary": "#FFcc00", "font": "serif",
				"footer": "© <Acme>\n2026", "sort_order": -1, "id": "x", "created_at": 5}).Want(t, 200)
			record = `{"id":"$id","name":"Acme Inc.","folder_id":"$folder","logo_media_id":null,"color_primary":"#FFcc00","font":"serif","footer":"© <Acme>\n2026",` +
				`"sort_order":-1,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:01.000Z"}`
			wantBody(t, r, record, "$id", id, "$folder", folder)
			wantBody(t, c.GET(at(brandings, id)), record, "$id", id, "$folder", folder)
			// The same again leaves no trace; null clears, and is the default where there must be something.
			a.Clock.Advance(time.Second)
			wantBody(t, c.PATCH(at(brandings, id), `{"font":"serif","name":"Acme Inc."}`).Want(t, 200), record, "$id", id, "$folder", folder)
			r = c.PATCH(at(brandings, id), `{"folder_id":null,"color_primary":null,"font":null,"footer":null,"logo_media_id":null}`).Want(t, 200)
			wantJSON(t, "cleared", without(r.JSON, "id", "created_at", "updated_at"), fields{"name": "Acme Inc.", "folder_id": nil, "logo_media_id": nil,
				"color_primary": "#2563eb", "font": "system", "footer": nil, "sort_order": -1})
			c.DELETE(at(brandings, id)).Want(t, 204)
			c.DELETE(at(brandings, id)).WantError(t, 404, "NOT_FOUND", "branding")
			c.GET(at(brandings, id)).WantError(t, 404, "NOT_FOUND")
			wantBody(t, c.GET(brandings), `{"data":[],"total":0,"limit":50,"offset":0}`)
		})
		if len(es) != 0 {
			t.Errorf("brandings emitted %q", typesOf(es))
		}
	})
}

// D115: bounds, required fields, and null.
func TestBranding_RefusedFields(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	id := create(t, c, brandings, fields{"name": strings.Repeat("é", 200), "footer": strings.Repeat("é", 500)})
	for _, field := range []string{`"name":""`, `"name":" "`, `"name":null`, `"name":"` + strings.Repeat("x", 201) + `"`,
		`"color_primary":"red"`, `"color_primary":"#12345"`, `"color_primary":1`, `"font":"Comic Sans"`, `"font":"Serif"`, `"font":7`,
		`"footer":"` + strings.Repeat("é", 501) + `"`, `"footer":{}`, `"sort_order":null`, `"sort_order":2147483648`,
		`"folder_id":"x"`, `"logo_media_id":"x"`} {
		name := strings.Trim(strings.SplitN(field, ":", 2)[0], `"`)
		c.PATCH(at(brandings, id), `{`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
		body := `{` + field + `}`
		if name != "name" {
			body = `{"name":"x",` + field + `}`
		}
		c.POST(brandings, body).WantError(t, 400, "VALIDATION_ERROR", name)
	}
	c.POST(brandings, `{}`).WantError(t, 400, "VALIDATION_ERROR", "name")
	c.PATCH(at(brandings, id), `{"id":"x"}`).WantError(t, 400, "VALIDATION_ERROR", "name", "color_primary", "font", "footer")
	// No medium has this id: what leads nowhere is no logo.
	c.POST(brandings, fields{"name": "x", "logo_media_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "medium")
	c.PATCH(at(brandings, id), fields{"logo_media_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "medium")
	if n := len(wholeList(t, c, brandings, 100)); n != 1 {
		t.Errorf("the refused requests made %d brandings", n-1)
	}
}

// D115, D116: order as that of projects, and the filters.
func TestBrandings_List(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Business).Client("")
		folder := brandingFolder(t, c, "f", nil)
		z := create(t, c, brandings, fields{"name": "Zürich", "sort_order": -1})
		b := create(t, c, brandings, fields{"name": "basel", "folder_id": folder})
		a.Clock.Advance(time.Second)
		g := create(t, c, brandings, fields{"name": "Genf", "folder_id": folder, "sort_order": -2})
		a.Clock.Advance(time.Second)
		c.PATCH(at(brandings, z), fields{"footer": "x"}).Want(t, 200)
		for query, want := range map[string][]string{
			"":                        {g, z, b},
			"order=desc":              {b, z, g},
			"sort=name":               {b, g, z},
			"sort=created_at":         {z, b, g},
			"sort=updated_at":         {b, g, z},
			"folder_id=null":          {z},
			"folder_id=" + folder:     {g, b},
			"folder_id=" + nowhereID:  nil,
			"q=" + escape("ZÜR"):      {z},
			"q=e&folder_id=" + folder: {g, b},
			"q=x":                     nil, // the footer is not searched
			"updated_since=" + escape("2026-11-15T10:00:01Z") + "&sort=updated_at": {g, z},
		} {
			r := c.GET(brandings+"?"+query).Want(t, 200)
			wantSame(t, query, r.IDs(t), want)
			if int(r.JSON["total"].(float64)) != len(want) {
				t.Errorf("%s: total %v", query, r.JSON["total"])
			}
			wantSame(t, query+" one by one", idsOf(wholeList(t, c, brandings+"?"+query, 1)), want)
		}
		for _, bad := range []string{"folder_id=x", "sort=font", "updated_since=soon", "q="} {
			name, _, _ := strings.Cut(bad, "=")
			c.GET(brandings+"?"+bad).WantError(t, 400, "VALIDATION_ERROR", name)
		}
	})
}

// D116: a branding stands in a folder of brandings or at the root level; folders count them; moves and
// conditions are as those of projects.
func TestBranding_Folders(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		looks, other := brandingFolder(t, c, "looks", nil), brandingFolder(t, c, "other", nil)
		wrong := create(t, c, folders, fields{"name": "projects", "entity_type": "project"})
		theirs := brandingFolder(t, a.Workspace(sheaf.Business).Client(""), "theirs", nil)
		counts := func() string {
			t.Helper()
			var out []string
			for _, f := range []string{looks, other, wrong} {
				r := c.GET(at(folders, f)).Want(t, 200)
				out = append(out, fmt.Sprint(r.JSON["branding_count"], r.JSON["project_count"]))
			}
			return strings.Join(out, ", ")
		}
		id := create(t, c, brandings, fields{"name": "b", "folder_id": looks})
		move := at(brandings, id) + "/move"
		for _, r := range []*apitest.Response{
			c.POST(brandings, fields{"name": "x", "folder_id": wrong}),
			c.PATCH(at(brandings, id), fields{"folder_id": wrong}),
			c.POST(move, fields{"folder_id": wrong}),
		} {
			r.WantError(t, 400, "VALIDATION_ERROR", "folder_id", "entity_type is branding")
		}
		c.POST(projects, fields{"name": "p", "folder_id": looks}).WantError(t, 400, "VALIDATION_ERROR", "folder_id", "branding")
		for _, nowhere := range []string{theirs, nowhereID} {
			c.POST(move, fields{"folder_id": nowhere}).WantError(t, 404, "NOT_FOUND", "folder")
		}
		c.POST(move, `{}`).WantError(t, 400, "VALIDATION_ERROR", "folder_id", "null")
		if got := counts(); got != "1 0, 0 0, 0 0" {
			t.Errorf("after making one the folders count %s", got)
		}
		before := c.GET(at(brandings, id)).Want(t, 200)
		tag := "If-Match: " + before.Header.Get("ETag")
		moved := c.POST(move, fields{"folder_id": other}, tag).Want(t, 200)
		if moved.JSON["folder_id"] != other || counts() != "0 0, 1 0, 0 0" {
			t.Errorf("moved to %v, and the folders count %s", moved.JSON["folder_id"], counts())
		}
		c.POST(move, fields{"folder_id": looks}, tag).WantError(t, 412, "PRECONDITION_FAILED")
		c.DELETE(at(brandings, id), tag).WantError(t, 412, "PRECONDITION_FAILED")
		c.GET(at(brandings, id), "If-None-Match: "+moved.Header.Get("ETag")).Want(t, 304)
		wantBody(t, c.POST(move, fields{"folder_id": other}).Want(t, 200), string(moved.Body)) // where it is
		c.POST(move, `{"folder_id":null}`).Want(t, 200)
		if got := counts(); got != "0 0, 0 0, 0 0" {
			t.Errorf("at the root level the folders count %s", got)
		}
		// What is repeated with a key has one effect.
		first := c.POST(brandings, fields{"name": "once", "folder_id": looks}, "Idempotency-Key: k").Want(t, 201)
		wantBody(t, c.POST(brandings, fields{"name": "once", "folder_id": looks}, "Idempotency-Key: k").Want(t, 201), string(first.Body))
		if got := counts(); got != "1 0, 0 0, 0 0" {
			t.Errorf("after a repetition the folders count %s", got)
		}
	})
}

// D116, D118: deleting a folder of brandings moves the brandings in it, and below it, to the root level.
// The folders have events and the brandings have none.
func TestBranding_DeletingTheirFolder(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		outer := brandingFolder(t, c, "outer", nil)
		top := brandingFolder(t, c, "top", outer)
		sub := brandingFolder(t, c, "sub", top)
		stays := create(t, c, brandings, fields{"name": "stays", "folder_id": outer})
		one := create(t, c, brandings, fields{"name": "one", "folder_id": top})
		two := create(t, c, brandings, fields{"name": "two", "folder_id": sub})
		tag := c.GET(at(brandings, two)).Want(t, 200).Header.Get("ETag")
		a.Clock.Advance(time.Minute)
		es := emitted(t, c, func() { c.DELETE(at(folders, top)).Want(t, 204) })
		wantSame(t, "the events", typesOf(es), []string{"folder.deleted " + sub, "folder.deleted " + top})
		if n := es[0]["payload"].(fields)["branding_count"]; n != 1.0 {
			t.Errorf("folder.deleted counts %v brandings", n)
		}
		wantSame(t, "the root level", c.GET(brandings+"?folder_id=null").IDs(t), []string{one, two})
		wantSame(t, "the folder above", c.GET(brandings+"?folder_id="+outer).IDs(t), []string{stays})
		got := c.GET(at(brandings, two)).Want(t, 200)
		if got.JSON["folder_id"] != nil || !strings.HasPrefix(fmt.Sprint(got.JSON["updated_at"]), "2026-11-15T10:01:00.") || got.Header.Get("ETag") == tag {
			t.Errorf("what was in it is %s, ETag %s", got.Body, got.Header.Get("ETag"))
		}
		c.PATCH(at(brandings, two), fields{"name": "x"}, "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED")
	})
}

// D116: a folder with more brandings than one transaction moves loses none of them, and each chunk
// leaves everything as it must be.
func TestBranding_DeletingTheirFolderInChunks(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		top := brandingFolder(t, c, "top", nil)
		sub := brandingFolder(t, c, "sub", top)
		for i := range 7 {
			create(t, c, brandings, fields{"name": fmt.Sprint(i), "folder_id": []string{top, sub}[i%2]})
		}
		chunks := 0
		rules := a.App.WithCascades(app.Cascades{Whole: 3, Rows: 4, Between: func() {
			chunks++
			left := 0.0
			for _, f := range []string{top, sub} {
				if r := c.GET(at(folders, f)); r.Status == 200 {
					left += r.JSON["branding_count"].(float64)
				}
			}
			if root := float64(len(c.GET(brandings+"?folder_id=null").Want(t, 200).IDs(t))); root+left != 7 {
				t.Errorf("after chunk %d %v brandings are at the root level and the folders count %v", chunks, root, left)
			}
		}})
		if err := rules.DeleteFolder(context.Background(), ownerOf(ws), sheaf.FolderID(top), sheaf.Match{}); err != nil {
			t.Fatal(err)
		}
		if n := len(c.GET(brandings + "?folder_id=null").IDs(t)); n != 7 || chunks < 2 {
			t.Errorf("%d brandings are at the root level after %d chunks", n, chunks)
		}
		c.GET(at(folders, sub)).WantError(t, 404, "NOT_FOUND")
	})
}

// D117: making, changing and moving need the Business plan; reading and deleting any paid one.
func TestBranding_Plans(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		folder := brandingFolder(t, c, "f", nil)
		id := create(t, c, brandings, fields{"name": "b", "folder_id": folder})
		doomed := create(t, c, brandings, fields{"name": "d"})
		before := c.GET(at(brandings, id)).Want(t, 200)
		ws.SetPlan(sheaf.Pro)
		for _, r := range []*apitest.Response{
			c.POST(brandings, fields{"name": "n"}),
			c.PATCH(at(brandings, id), fields{"name": "n"}),
			c.PATCH(at(brandings, id), fields{"name": "b"}), // also when it changes nothing
			c.POST(at(brandings, id)+"/move", `{"folder_id":null}`),
		} {
			r.WantError(t, 403, "PLAN_REQUIRED", "Business", "brandings")
		}
		// Other faults come first.
		c.POST(brandings, fields{"name": "n", "folder_id": nowhereID}).WantError(t, 404, "NOT_FOUND")
		c.POST(brandings, fields{"name": ""}).WantError(t, 400, "VALIDATION_ERROR")
		c.PATCH(at(brandings, id), fields{"name": "n"}, `If-Match: "9-x"`).WantError(t, 412, "PRECONDITION_FAILED")
		wantBody(t, c.GET(at(brandings, id)).Want(t, 200), string(before.Body))
		wantSame(t, "reading on pro", c.GET(brandings).Want(t, 200).IDs(t), []string{id, doomed})
		c.DELETE(at(brandings, doomed)).Want(t, 204)
		ws.SetPlan(sheaf.Free)
		c.GET(at(brandings, id)).WantError(t, 403, "PLAN_REQUIRED", "Pro or Business")
		ws.SetPlan(sheaf.Business)
		c.PATCH(at(brandings, id), fields{"name": "n"}).Want(t, 200)
	})
}

// D121: a scope of brandings opens brandings and nothing else, and no other opens them.
func TestBranding_Scopes(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	id := create(t, ws.Client(""), brandings, fields{"name": "b"})
	reads := ws.Client(ws.Key(sheaf.BrandingsRead))
	reads.GET(at(brandings, id)).Want(t, 200)
	reads.GET(brandings).Want(t, 200)
	reads.PATCH(at(brandings, id), fields{"name": "x"}).WantError(t, 403, "FORBIDDEN", "brandings:write")
	for _, path := range []string{projects, folders, documents} {
		reads.GET(path).WantError(t, 403, "FORBIDDEN")
	}
	writes := ws.Client(ws.Key(sheaf.BrandingsWrite))
	writes.GET(brandings).WantError(t, 403, "FORBIDDEN", "brandings:read")
	writes.PATCH(at(brandings, id), fields{"name": "x"}).Want(t, 200)
	// The answer of one key is in the cache, and no other key gets it from there.
	reads.GET(at(brandings, id)).Want(t, 200)
	ws.Client(ws.Key(sheaf.ProjectsRead, sheaf.DocumentsRead)).GET(at(brandings, id)).WantError(t, 403, "FORBIDDEN", "brandings:read")
}

// D118: a read after a change never returns what a cache had before the change, on any node.
func TestBranding_NoCacheIsStale(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		id := create(t, c, brandings, fields{"name": "0"})
		for i := range 20 {
			c.GET(at(brandings, id)).Want(t, 200)
			c.GET(brandings).Want(t, 200)
			name := fmt.Sprint(i + 1)
			c.PATCH(at(brandings, id), fields{"name": name}).Want(t, 200)
			if got := c.GET(at(brandings, id)).Want(t, 200).JSON["name"]; got != name {
				t.Fatalf("after change %s the branding is called %v", name, got)
			}
			if got := c.GET(brandings).Want(t, 200).Items(t)[0]["name"]; got != name {
				t.Fatalf("after change %s the list has %v", name, got)
			}
		}
	})
}

// D116: counts and places hold however creates, moves and deletions of brandings and folders race.
func TestBranding_CountsHoldUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		x, y := brandingFolder(t, c, "x", nil), brandingFolder(t, c, "y", nil)
		doomed := brandingFolder(t, c, "doomed", nil)
		id := create(t, c, brandings, fields{"name": "b", "folder_id": x})
		rs := apitest.Together(64, func(i int) *apitest.Response {
			switch i % 4 {
			case 0:
				return c.POST(brandings, fields{"name": "n", "folder_id": []string{x, y, doomed}[i/4%3]})
			case 1:
				return c.POST(at(brandings, id)+"/move", fields{"folder_id": []any{x, y, doomed, nil}[i/4%4]})
			case 2:
				return c.PATCH(at(brandings, id), fields{"sort_order": i})
			default:
				if i > 40 && i < 48 {
					return c.DELETE(at(folders, doomed))
				}
				return c.POST(at(folders, y)+"/move", fields{"parent_id": []any{x, nil}[i/4%2]})
			}
		})
		for _, r := range rs {
			if r.Status >= 500 || r.Status == 0 {
				t.Errorf("got %d %s %v", r.Status, r.Body, r.Err)
			}
		}
		in := map[any]float64{}
		for _, b := range wholeList(t, c, brandings, 100) {
			in[b["folder_id"]]++
		}
		for _, f := range wholeList(t, c, folders, 100) {
			if f["branding_count"] != in[f["id"]] {
				t.Errorf("%v counts %v brandings and has %v", f["name"], f["branding_count"], in[f["id"]])
			}
		}
		if in[doomed] != 0 {
			t.Errorf("%v brandings are in a folder that was deleted", in[doomed])
		}
	})
}

// D119: a workspace's default branding is one of its own, and is none any more when that is deleted.
func TestBranding_Default(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ctx, ws := context.Background(), a.Workspace(sheaf.Business)
		c := ws.Client("")
		id := sheaf.BrandingID(create(t, c, brandings, fields{"name": "b"}))
		theirs := sheaf.BrandingID(create(t, a.Workspace(sheaf.Business).Client(""), brandings, fields{"name": "b"}))
		want := func(want sheaf.BrandingID) {
			t.Helper()
			got, err := a.App.DefaultBranding(ctx, ownerOf(ws))
			if err != nil || (got == nil) != (want == "") || got != nil && got.ID != want {
				t.Errorf("the default is %v, %v; want %q", got, err, want)
			}
		}
		want("")
		if err := a.App.SetDefaultBranding(ctx, ownerOf(ws), &theirs, sheaf.Opt[sheaf.BrandingID]{}); sheaf.KindOf(err) != sheaf.NotFound {
			t.Errorf("another workspace's branding as default: %v", err)
		}
		if err := a.App.SetDefaultBranding(ctx, ownerOf(ws), &id, sheaf.Opt[sheaf.BrandingID]{}); err != nil {
			t.Fatal(err)
		}
		want(id)
		ws.SetPlan(sheaf.Pro)
		if err := a.App.SetDefaultBranding(ctx, ownerOf(ws), &id, sheaf.Opt[sheaf.BrandingID]{}); sheaf.KindOf(err) != sheaf.Forbidden {
			t.Errorf("choosing a default on pro: %v", err)
		}
		c.DELETE(at(brandings, string(id))).Want(t, 204)
		want("")
	})
}

// D115, D121: a logo is a raster picture of the workspace, chosen by who may see it. Deleting the medium
// leaves the branding without one.
func TestBranding_Logo(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		logo := upload(c, picture(t, 4, 3), "?filename=logo.png").Want(t, 201).Text(t, "id")
		text := upload(c, []byte("just words"), "?filename=logo.png").Want(t, 201).Text(t, "id")
		theirs := upload(a.Workspace(sheaf.Business).Client(""), picture(t, 4, 3), "").Want(t, 201).Text(t, "id")
		id := create(t, c, brandings, fields{"name": "b", "logo_media_id": strings.ToUpper(logo)})
		other := create(t, c, brandings, fields{"name": "o", "logo_media_id": logo})
		before := c.GET(at(brandings, id)).Want(t, 200)
		if before.JSON["logo_media_id"] != logo {
			t.Errorf("got %s", before.Body)
		}
		c.PATCH(at(brandings, id), fields{"logo_media_id": text}).WantError(t, 400, "VALIDATION_ERROR", "logo_media_id", "PNG")
		for _, nowhere := range []string{theirs, nowhereID} {
			c.PATCH(at(brandings, id), fields{"logo_media_id": nowhere}).WantError(t, 404, "NOT_FOUND", "medium")
			c.POST(brandings, fields{"name": "n", "logo_media_id": nowhere}).WantError(t, 404, "NOT_FOUND", "medium")
		}
		blind := ws.Client(ws.Key(sheaf.BrandingsRead, sheaf.BrandingsWrite))
		blind.POST(brandings, fields{"name": "n", "logo_media_id": logo}).WantError(t, 403, "FORBIDDEN", "media:read")
		blind.PATCH(at(brandings, id), fields{"logo_media_id": logo}).WantError(t, 403, "FORBIDDEN", "media:read")
		blind.PATCH(at(brandings, other), `{"logo_media_id":null}`).Want(t, 200)
		a.Clock.Advance(time.Minute)
		es := emitted(t, c, func() { c.DELETE(at(mediaPath, logo)).Want(t, 204) })
		after := c.GET(at(brandings, id)).Want(t, 200)
		if len(es) != 0 || after.JSON["logo_media_id"] != nil || after.JSON["updated_at"] == before.JSON["updated_at"] || after.Header.Get("ETag") == before.Header.Get("ETag") {
			t.Errorf("after its logo was deleted it is %s, with the events %q", after.Body, typesOf(es))
		}
		wantSame(t, "changed since", c.GET(brandings+"?updated_since="+escape("2026-11-15T10:01:00Z")).Want(t, 200).IDs(t), []string{id})
	})
}
