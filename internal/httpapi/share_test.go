package httpapi_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

const shares = "/api/v1/shares"

// shareOf is what one sends to share something.
func shareOf(kind, id string) fields { return fields{"resource_type": kind, "resource_id": id} }

// D110: the whole record, everywhere the same, and its events.
func TestShare_Record(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		d := create(t, c, documents, fields{"title": "One"})
		var made *apitest.Response
		es := emitted(t, c, func() { made = c.POST(shares, shareOf("document", strings.ToUpper(d))).Want(t, 201) })
		id, url := made.Text(t, "id"), made.Text(t, "url")
		if !regexp.MustCompile(`^` + regexp.QuoteMeta(apitest.Address) + `/s/[0-9A-Za-z]{22}$`).MatchString(url) {
			t.Errorf("the address is %q", url)
		}
		record := `{"id":"$id","resource_type":"document","resource_id":"$d","url":"$url","has_password":false,"expires_at":null,"branding_id":null,"listed":false,"release":null,"show_releases":false,"views":0,"last_viewed_at":null,"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"}`
		names := []string{"$id", id, "$d", d, "$url", url}
		wantBody(t, made, record, names...)
		if got, want := made.Header.Get("Location"), a.Server.URL+at(shares, id); got != want {
			t.Errorf("Location %q, want %q", got, want)
		}
		wantBody(t, c.GET(at(shares, id)), record, names...)
		wantBody(t, c.GET(shares), `{"data":[`+record+`],"total":1,"limit":50,"offset":0}`, names...)
		wantSame(t, "creating", typesOf(es), []string{"share.created " + id})
		wantJSON(t, "its payload", es[0]["payload"], made.JSON)

		a.Clock.Advance(time.Second)
		var changed *apitest.Response
		es = emitted(t, c, func() {
			changed = c.PATCH(at(shares, id), fields{"password": "open sesame", "expires_at": "2026-11-16T00:00:00Z", "listed": true}).Want(t, 200)
		})
		want := fields{"has_password": true, "expires_at": "2026-11-16T00:00:00.000Z", "listed": true, "updated_at": "2026-11-15T10:00:01.000Z", "url": url}
		for field, want := range want {
			wantJSON(t, field, changed.JSON[field], want)
		}
		if strings.Contains(string(changed.Body)+jsonOf(es), "sesame") || strings.Contains(string(changed.Body)+jsonOf(es), "argon2") {
			t.Error("the password, or its hash, is shown")
		}
		wantSame(t, "changing", typesOf(es), []string{"share.updated " + id})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"],
			fields{"has_password": false, "expires_at": nil, "listed": false, "updated_at": "2026-11-15T10:00:00.000Z"})

		es = emitted(t, c, func() { c.DELETE(at(shares, id)).Want(t, 204) })
		wantSame(t, "deleting", typesOf(es), []string{"share.deleted " + id})
		wantJSON(t, "as it was last", es[0]["payload"], changed.JSON)
		c.GET(at(shares, id)).WantError(t, 404, "NOT_FOUND", "share")
		c.DELETE(at(shares, id)).WantError(t, 404, "NOT_FOUND")
	})
}

// D6, D110: what changes nothing leaves no trace, the same password included; another one is a change.
func TestShare_ChangesNothing(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		body := shareOf("document", create(t, c, documents, fields{"title": "One"}))
		body["password"], body["expires_at"] = "open sesame", "2026-11-15T10:00:05Z"
		made := c.POST(shares, body).Want(t, 201)
		id := made.Text(t, "id")
		a.Clock.Advance(time.Minute) // it has expired: what was read may still be sent back
		es := emitted(t, c, func() {
			wantBody(t, c.PATCH(at(shares, id), made.Body).Want(t, 200), string(made.Body))
			wantBody(t, c.PATCH(at(shares, id), fields{"password": "open sesame"}).Want(t, 200), string(made.Body))
			c.PATCH(at(shares, id), fields{"resource_id": nowhereID, "views": 7}).WantError(t, 400, "VALIDATION_ERROR", "password", "listed")
		})
		if len(es) != 0 {
			t.Errorf("changing nothing emitted %q", typesOf(es))
		}
		es = emitted(t, c, func() { c.PATCH(at(shares, id), fields{"password": "another one"}).Want(t, 200) })
		wantSame(t, "another password", typesOf(es), []string{"share.updated " + id})
		wantJSON(t, "previous", es[0]["payload"].(fields)["previous"], fields{"updated_at": "2026-11-15T10:00:00.000Z"})
	})
}

// D110: bounds and references.
func TestShare_RefusedFields(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c, theirs := a.Workspace(sheaf.Pro).Client(""), a.Workspace(sheaf.Pro).Client("")
		d, p := create(t, c, documents, fields{"title": "d"}), create(t, c, projects, fields{"name": "p"})
		id := create(t, c, shares, shareOf("project", p))
		for _, field := range []string{`"password":""`, `"password":"abc"`, `"password":7`, `"password":"` + strings.Repeat("é", 201) + `"`,
			`"expires_at":"soon"`, `"expires_at":"2020-01-01T00:00:00Z"`, `"branding_id":"x"`, `"listed":null`, `"listed":"yes"`} {
			name := strings.Trim(strings.SplitN(field, ":", 2)[0], `"`)
			c.PATCH(at(shares, id), `{`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
			c.POST(shares, `{"resource_type":"project","resource_id":"`+p+`",`+field+`}`).WantError(t, 400, "VALIDATION_ERROR", name)
		}
		for body, name := range map[string]string{`{}`: "resource_type", `{"resource_type":"branding","resource_id":"` + p + `"}`: "resource_type",
			`{"resource_type":"project"}`: "resource_id", `{"resource_type":"project","resource_id":null}`: "resource_id", `{"resource_type":"project","resource_id":"x"}`: "resource_id"} {
			c.POST(shares, body).WantError(t, 400, "VALIDATION_ERROR", name)
		}
		foreign := create(t, theirs, documents, fields{"title": "theirs"})
		for kind, ids := range map[string][]string{"document": {nowhereID, p, foreign}, "project": {nowhereID, d, foreign}} {
			for _, id := range ids {
				c.POST(shares, shareOf(kind, id)).WantError(t, 404, "NOT_FOUND", kind)
			}
		}
		c.PATCH(at(shares, id), fields{"branding_id": nowhereID}).WantError(t, 404, "NOT_FOUND", "branding")
		c.DELETE(at(documents, d)).Want(t, 204)
		c.POST(shares, shareOf("document", d)).WantError(t, 404, "NOT_FOUND", "document")
		if n := len(wholeList(t, c, shares, 100)); n != 1 {
			t.Errorf("the refused requests made %d shares", n-1)
		}
	})
}

// D110: the list, oldest first, and of one resource.
func TestShares_List(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, theirs := a.Workspace(sheaf.Pro).Client(""), a.Workspace(sheaf.Pro).Client("")
		d, p := create(t, c, documents, fields{"title": "d"}), create(t, c, projects, fields{"name": "p"})
		var ids []string
		for _, body := range []fields{shareOf("document", d), shareOf("project", p), shareOf("document", d)} {
			ids = append(ids, create(t, c, shares, body))
		}
		for query, want := range map[string][]string{"": ids, "order=desc": {ids[2], ids[1], ids[0]}, "resource_id=" + strings.ToUpper(d): {ids[0], ids[2]},
			"resource_id=" + p: {ids[1]}, "resource_id=" + nowhereID: nil} {
			wantSame(t, query, c.GET(shares+"?"+query).Want(t, 200).IDs(t), want)
		}
		c.GET(shares+"?resource_id=null").WantError(t, 400, "VALIDATION_ERROR", "resource_id")
		if n := len(theirs.GET(shares+"?resource_id="+d).Want(t, 200).Items(t)); n != 0 {
			t.Errorf("another workspace sees %d of them", n)
		}
	})
}

// D110, D121: a key that shares something must be allowed to read it; so must one that opens a share wider.
func TestShare_ReadsNothingByADetour(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		d, p := create(t, c, documents, fields{"title": "d"}), create(t, c, projects, fields{"name": "p"})
		document, project := create(t, c, shares, shareOf("document", d)), create(t, c, shares, shareOf("project", p))
		for _, lacks := range []sheaf.Scope{sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead, sheaf.ProjectsRead} {
			rest := slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return s == lacks })
			k := ws.Client(ws.Key(rest...))
			if lacks != sheaf.ProjectsRead {
				k.POST(shares, shareOf("document", d)).WantError(t, 403, "FORBIDDEN", string(lacks))
				k.PATCH(at(shares, document), fields{"password": nil, "listed": true}).WantError(t, 403, "FORBIDDEN", string(lacks))
			}
			k.POST(shares, shareOf("project", p)).WantError(t, 403, "FORBIDDEN", string(lacks))
			k.PATCH(at(shares, project), fields{"password": nil, "listed": true}).WantError(t, 403, "FORBIDDEN", string(lacks))
		}
		k := ws.Client(ws.Key(sheaf.SharesWrite, sheaf.DocumentsRead, sheaf.MediaRead))
		k.PATCH(at(shares, document), fields{"listed": true}).Want(t, 200)
		k.GET(shares).WantError(t, 403, "FORBIDDEN", "shares:read")
		ws.Client(ws.Key(sheaf.SharesWrite)).DELETE(at(shares, project)).Want(t, 204)
	})
}

// D110, D121: a key that may write documents, but may not read them or their media, cannot make a share of
// others show them.
func TestShare_WritingShowsNothingByADetour(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		picture := upload(c, picture(t, 4, 3), "?filename=p.png").Want(t, 201).Text(t, "id")
		other := upload(c, []byte("secret"), "?filename=s.txt").Want(t, 201).Text(t, "id")
		shared, private := create(t, c, projects, fields{"name": "shared"}), create(t, c, projects, fields{"name": "private"})
		open := create(t, c, documents, fields{"title": "open", "project_id": shared, "content": "![x](media:" + picture + ")"})
		hidden := create(t, c, documents, fields{"title": "hidden", "project_id": private, "content": "a secret", "external_id": "hidden"})
		gone := create(t, c, documents, fields{"title": "gone", "project_id": shared, "content": "a secret"})
		c.DELETE(at(documents, gone)).Want(t, 204)
		create(t, c, shares, shareOf("project", shared))
		blind, half := ws.Client(ws.Key(sheaf.DocumentsWrite)), ws.Client(ws.Key(sheaf.DocumentsWrite, sheaf.DocumentsRead))
		into, named := fields{"project_id": shared}, "[x](media:"+other+")"
		one := func(o fields) fields { return fields{"operations": []fields{o}} }
		before := everything(t, c)
		for _, k := range []struct {
			c     *apitest.Client
			lacks string
		}{{blind, "documents:read"}, {half, "media:read"}} {
			// A document that the key did not write.
			k.c.PATCH(at(documents, hidden), into).WantError(t, 403, "FORBIDDEN", k.lacks, "share")
			k.c.PATCH(at(documents, hidden), fields{"project_id": shared, "content": "mine"}).WantError(t, 403, "FORBIDDEN", k.lacks)
			k.c.Do("PUT", documents+"?external_id=hidden", into).WantError(t, 403, "FORBIDDEN", k.lacks)
			k.c.POST(at(documents, gone)+"/restore", nil).WantError(t, 403, "FORBIDDEN", k.lacks)
			for _, o := range []fields{
				{"action": "move", "resource_type": "document", "resource_id": hidden, "body": into},
				{"action": "update", "resource_type": "document", "resource_id": hidden, "body": into},
				{"action": "restore", "resource_type": "document", "resource_id": gone},
			} {
				k.c.POST("/api/v1/batch", one(o)).WantError(t, 403, "FORBIDDEN", k.lacks, "operations[0]")
			}
			// A medium that the share does not show yet, however its address is written.
			for _, text := range []string{named, strings.Replace(named, ":", "&#58;", 1), strings.Replace(named, ":", "&#38;colon;", 1),
				strings.Replace(named, "media:", `MEDIA\:`, 1), "[x]: media:" + strings.ToUpper(other)} {
				k.c.POST(documents, fields{"title": "n", "project_id": shared, "content": text}).WantError(t, 403, "FORBIDDEN", "media:read")
				k.c.PATCH(at(documents, open), fields{"content": text}).WantError(t, 403, "FORBIDDEN", "media:read")
				put(k.c, at(documents, open), text).WantError(t, 403, "FORBIDDEN", "media:read")
			}
			k.c.Do("PUT", documents+"?external_id=new", fields{"title": "n", "project_id": shared, "content": named}).WantError(t, 403, "FORBIDDEN", "media:read")
		}
		wantJSON(t, "after the refusals", everything(t, c), before)
		// What shows nothing new is as free as before.
		create(t, blind, documents, fields{"title": "n", "project_id": shared, "content": "social media: mine"})
		create(t, blind, documents, fields{"title": "n", "project_id": private, "content": named})
		blind.PATCH(at(documents, open), fields{"content": "still ![x](media:" + picture + ")"}).Want(t, 200)
		blind.PATCH(at(documents, hidden), fields{"project_id": nil}).Want(t, 200)
		// An old text is one that the key did not send.
		blind.POST(at(documents, open)+"/versions/1/restore", nil).WantError(t, 403, "FORBIDDEN", "documents:read")
		all := ws.Client(ws.Key(sheaf.DocumentsWrite, sheaf.DocumentsRead, sheaf.MediaRead))
		all.PATCH(at(documents, hidden), into).Want(t, 200)
		all.PATCH(at(documents, open), fields{"content": named}).Want(t, 200)
		put(all, at(documents, open), "and "+named).Want(t, 200)
	})
}

// D113: the free plan makes and changes none, and keeps what it has.
func TestShare_OnTheFreePlan(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		d := create(t, c, documents, fields{"title": "d"})
		id := create(t, c, shares, shareOf("document", d))
		ws.SetPlan(sheaf.Free)
		caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
		in := sheaf.ShareChange{ResourceType: sheaf.Some("document"), ResourceID: sheaf.Some(d), Listed: sheaf.Some(true)}
		_, err := a.App.CreateShare(t.Context(), caller, in)
		wantCode(t, err, sheaf.CodePlanRequired)
		_, err = a.App.UpdateShare(t.Context(), caller, sheaf.ShareID(id), in, sheaf.Match{})
		wantCode(t, err, sheaf.CodePlanRequired)
		if s, err := a.App.Share(t.Context(), caller, sheaf.ShareID(id)); err != nil || s.Listed {
			t.Errorf("the share is %+v, %v", s, err)
		}
		if err := a.App.DeleteShare(t.Context(), caller, sheaf.ShareID(id), sheaf.Match{}); err != nil {
			t.Errorf("it cannot be deleted: %v", err)
		}
	})
}

func wantCode(t testing.TB, err error, want sheaf.Code) {
	t.Helper()
	if e, ok := err.(*sheaf.Error); !ok || e.Code != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// D113: exactly as many as the plan allows, however many make one at once.
func TestShare_LimitUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		d := create(t, c, documents, fields{"title": "d"})
		countShares(t, a, ws, 990)
		made := apitest.Together(30, func(int) *apitest.Response { return c.POST(shares, shareOf("document", d)) })
		if got := fmt.Sprint(apitest.Statuses(made)); got != "map[201:10 403:20]" {
			t.Fatalf("30 at once, with room for 10: %s", got)
		}
		c.POST(shares, shareOf("document", d)).WantError(t, 403, "SHARE_LIMIT_REACHED", "pro", "1000")
		c.DELETE(at(shares, c.GET(shares + "?resource_id=" + d).IDs(t)[0])).Want(t, 204)
		c.POST(shares, shareOf("document", d)).Want(t, 201)
	})
}

// countShares lets the workspace have that many shares, as far as its counter tells.
func countShares(t testing.TB, a *apitest.API, ws *apitest.Workspace, n int64) {
	t.Helper()
	err := a.Store.Write(t.Context(), func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(ws.ID)
		if err != nil {
			return err
		}
		w.Shares = n
		return tx.SaveWorkspace(w)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// D112: deleting a document for good, or a project, deletes their shares, each with its event; the
// trash does not.
func TestShare_GoesWithWhatItShows(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		d, other := create(t, c, documents, fields{"title": "d", "project_id": p}), create(t, c, documents, fields{"title": "o", "project_id": p})
		stays := create(t, c, shares, shareOf("document", other))
		ofDocument := []string{create(t, c, shares, shareOf("document", d)), create(t, c, shares, shareOf("document", d))}
		ofProject := create(t, c, shares, shareOf("project", p))
		wantSame(t, "into the trash", typesOf(emitted(t, c, func() { c.DELETE(at(documents, d)).Want(t, 204) })), []string{"document.deleted " + d})
		wantSame(t, "for good", typesOf(emitted(t, c, func() { c.DELETE(at(documents, d)+"/permanent").Want(t, 204) })),
			[]string{"share.deleted " + ofDocument[0], "share.deleted " + ofDocument[1]})
		wantSame(t, "the project", typesOf(emitted(t, c, func() { c.DELETE(at(projects, p)).Want(t, 204) })),
			[]string{"share.deleted " + ofProject, "project.deleted " + p, "document.updated " + other})
		wantSame(t, "what is left", c.GET(shares).IDs(t), []string{stays})
	})
}

// D110, D185a: a folder of projects is shared; a folder of another kind, and one of another workspace,
// is not.
func TestShare_OfAFolder(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		f, looks := create(t, c, folders, fields{"name": "f", "entity_type": "project"}), create(t, c, folders, fields{"name": "b", "entity_type": "branding"})
		id := create(t, c, shares, shareOf("folder", f))
		wantSame(t, "its shares", c.GET(shares+"?resource_id="+f).IDs(t), []string{id})
		if got := c.GET(at(shares, id)).Want(t, 200).Text(t, "resource_type"); got != "folder" {
			t.Errorf("it shows a %s", got)
		}
		c.POST(shares, shareOf("folder", looks)).WantError(t, 400, "VALIDATION_ERROR", "resource_id", "branding")
		c.POST(shares, shareOf("project", f)).WantError(t, 404, "NOT_FOUND")
		theirs := create(t, a.Workspace(sheaf.Business).Client(""), folders, fields{"name": "theirs", "entity_type": "project"})
		c.POST(shares, shareOf("folder", theirs)).WantError(t, 404, "NOT_FOUND")
		operation := fields{"operations": []fields{{"action": "create", "resource_type": "share", "body": shareOf("folder", f)}}}
		c.POST("/api/v1/batch", operation).Want(t, 200)
		for _, lacks := range []sheaf.Scope{sheaf.ProjectsRead, sheaf.DocumentsRead, sheaf.MediaRead} {
			scopes := []sheaf.Scope{sheaf.SharesWrite}
			for _, s := range []sheaf.Scope{sheaf.ProjectsRead, sheaf.DocumentsRead, sheaf.MediaRead} {
				if s != lacks {
					scopes = append(scopes, s)
				}
			}
			k := ws.Client(ws.Key(scopes...))
			k.POST(shares, shareOf("folder", f)).WantError(t, 403, "FORBIDDEN", string(lacks))
			k.POST("/api/v1/batch", operation).WantError(t, 403, "FORBIDDEN", string(lacks))
			k.PATCH(at(shares, id), fields{"listed": true}).WantError(t, 403, "FORBIDDEN", string(lacks))
		}
	})
}

// D121, D185a: a key that may not read everything moves neither a project nor a folder into a shared
// folder, and no document into a project there.
func TestShare_MovingIntoASharedFolderNeedsToRead(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		folder := func(name string, in any) string {
			return create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": in, "external_id": name})
		}
		site, private := folder("site", nil), folder("private", nil)
		low, inner := folder("low", site), folder("inner", private)
		p := create(t, c, projects, fields{"name": "p", "folder_id": private, "external_id": "p"})
		there := create(t, c, projects, fields{"name": "there", "folder_id": low})
		d := create(t, c, documents, fields{"title": "d", "project_id": p, "content": "a secret"})
		create(t, c, shares, shareOf("folder", site))
		before := everything(t, c)
		one := func(o fields) fields { return fields{"operations": []fields{o}} }
		for _, k := range []struct {
			c     *apitest.Client
			lacks string
		}{
			{ws.Client(ws.Key(sheaf.ProjectsWrite, sheaf.DocumentsWrite)), "documents:read"},
			{ws.Client(ws.Key(sheaf.ProjectsWrite, sheaf.DocumentsWrite, sheaf.DocumentsRead)), "media:read"},
			{ws.Client(ws.Key(sheaf.ProjectsWrite, sheaf.DocumentsWrite, sheaf.DocumentsRead, sheaf.MediaRead)), "projects:read"},
		} {
			for _, into := range []string{site, low} {
				k.c.PATCH(at(projects, p), fields{"folder_id": into}).WantError(t, 403, "FORBIDDEN", k.lacks, "share")
				k.c.POST(at(projects, p)+"/move", fields{"folder_id": into}).WantError(t, 403, "FORBIDDEN", k.lacks)
				k.c.Do("PUT", projects+"?external_id=p", fields{"folder_id": into}).WantError(t, 403, "FORBIDDEN", k.lacks)
				k.c.POST(at(folders, inner)+"/move", fields{"parent_id": into}).WantError(t, 403, "FORBIDDEN", k.lacks)
				k.c.Do("PUT", folders+"?external_id=inner", fields{"parent_id": into}).WantError(t, 403, "FORBIDDEN", k.lacks)
				for _, o := range []fields{
					{"action": "move", "resource_type": "project", "resource_id": p, "body": fields{"folder_id": into}},
					{"action": "update", "resource_type": "project", "resource_id": p, "body": fields{"folder_id": into}},
					{"action": "move", "resource_type": "folder", "resource_id": inner, "body": fields{"parent_id": into}},
				} {
					k.c.POST("/api/v1/batch", one(o)).WantError(t, 403, "FORBIDDEN", k.lacks, "operations[0]")
				}
			}
			if k.lacks != "projects:read" { // which nothing of a document needs
				k.c.PATCH(at(documents, d), fields{"project_id": there}).WantError(t, 403, "FORBIDDEN", k.lacks)
			}
		}
		wantJSON(t, "after the refusals", everything(t, c), before)
		// What shows nothing new is free: a new project, a move inside the site, and a move out of it.
		blind := ws.Client(ws.Key(sheaf.ProjectsWrite, sheaf.DocumentsWrite))
		mine := create(t, blind, projects, fields{"name": "mine", "folder_id": low})
		create(t, blind, documents, fields{"title": "mine", "project_id": mine, "content": "mine"})
		blind.PATCH(at(projects, mine), fields{"folder_id": site}).Want(t, 200)
		blind.POST(at(folders, low)+"/move", fields{"parent_id": nil}).Want(t, 200)
		blind.POST(at(projects, mine)+"/move", fields{"folder_id": nil}).Want(t, 200)
		c.PATCH(at(projects, p), fields{"folder_id": site}).Want(t, 200)
	})
}

// D112, D185a: deleting a folder deletes its shares and those of the folders below it, each with its
// event, and those of nothing else; many go in chunks.
func TestShare_OfAFolderGoesWithIt(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		tree := func() (top, low, p string) {
			top = create(t, c, folders, fields{"name": "top", "entity_type": "project"})
			low = create(t, c, folders, fields{"name": "low", "entity_type": "project", "parent_id": top})
			return top, low, create(t, c, projects, fields{"name": "p", "folder_id": low})
		}
		top, low, p := tree()
		ofProject := create(t, c, shares, shareOf("project", p))
		ofTop, ofLow := create(t, c, shares, shareOf("folder", top)), create(t, c, shares, shareOf("folder", low))
		wantSame(t, "the folder", typesOf(emitted(t, c, func() { c.DELETE(at(folders, top)).Want(t, 204) })),
			[]string{"share.deleted " + ofLow, "project.updated " + p, "folder.deleted " + low, "share.deleted " + ofTop, "folder.deleted " + top})
		wantSame(t, "what is left", c.GET(shares).IDs(t), []string{ofProject})
		top, low, p = tree()
		for range 5 {
			create(t, c, shares, shareOf("folder", top))
			create(t, c, shares, shareOf("folder", low))
		}
		chunks := 0
		small := a.App.WithCascades(app.Cascades{Whole: 3, Rows: 4, Between: func() { chunks++ }})
		caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
		deleted := map[string]int{}
		for _, e := range emitted(t, c, func() {
			if err := small.DeleteFolder(context.Background(), caller, sheaf.FolderID(top), sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}) {
			deleted[e["type"].(string)]++
		}
		if fmt.Sprint(deleted) != "map[folder.deleted:2 project.updated:1 share.deleted:10]" || chunks < 4 {
			t.Errorf("%v in %d chunks", deleted, chunks)
		}
		wantSame(t, "what is left", c.GET(shares).IDs(t), []string{ofProject})
		c.GET(at(projects, p)).Want(t, 200)
		wantSound(t, a)
	})
}

// D112, D36: many shares go in chunks, and all of them go.
func TestShare_ManyGoInChunks(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		p, d := create(t, c, projects, fields{"name": "p"}), create(t, c, documents, fields{"title": "d"})
		for range 7 {
			create(t, c, shares, shareOf("project", p))
			create(t, c, shares, shareOf("document", d))
		}
		create(t, c, documents, fields{"title": "in it", "project_id": p})
		c.DELETE(at(documents, d)).Want(t, 204)
		chunks := 0
		small := a.App.WithCascades(app.Cascades{Whole: 3, Rows: 4, Between: func() { chunks++ }})
		caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
		es := emitted(t, c, func() {
			if err := small.PurgeDocument(context.Background(), caller, sheaf.DocumentID(d), false, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
			if err := small.DeleteProject(context.Background(), caller, sheaf.ProjectID(p), sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		})
		deleted := 0
		for _, e := range es {
			if e["type"] == "share.deleted" {
				deleted++
			}
		}
		if deleted != 14 || chunks < 6 {
			t.Errorf("%d events of shares in %d chunks", deleted, chunks)
		}
		if n := len(c.GET(shares).Want(t, 200).Items(t)); n != 0 {
			t.Errorf("%d shares are left", n)
		}
		c.GET(at(projects, p)).WantError(t, 404, "NOT_FOUND")
	})
}

// D120: nobody else tells of a share of this workspace.
func TestEvents_PublishNothingOfAShare(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c, theirs := a.Workspace(sheaf.Pro).Client(""), a.Workspace(sheaf.Pro).Client("")
		id := create(t, c, shares, shareOf("document", create(t, c, documents, fields{"title": "d"})))
		event := fields{"type": "share.deleted", "resource_id": id, "payload": fields{}}
		c.POST(events, event).WantError(t, 400, "VALIDATION_ERROR", "resource_id", "share")
		theirs.POST(events, event).Want(t, 202)
		c.DELETE(at(shares, id)).Want(t, 204)
		c.POST(events, event).Want(t, 202)
	})
}

// D57, D58: creating one twice, and changing what somebody else has changed.
func TestShare_OnceAndConditional(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		body := shareOf("document", create(t, c, documents, fields{"title": "d"}))
		first := c.POST(shares, body, "Idempotency-Key: k").Want(t, 201)
		again := c.POST(shares, body, "Idempotency-Key: k").Want(t, 201)
		wantBody(t, again, string(first.Body))
		id, etag := first.Text(t, "id"), first.Header.Get("ETag")
		c.GET(at(shares, id), "If-None-Match: "+etag).Want(t, 304)
		c.PATCH(at(shares, id), fields{"listed": true}, "If-Match: "+etag).Want(t, 200)
		c.PATCH(at(shares, id), fields{"listed": false}, "If-Match: "+etag).WantError(t, 412, "PRECONDITION_FAILED")
		c.DELETE(at(shares, id), "If-Match: "+etag).WantError(t, 412, "PRECONDITION_FAILED")
		if n := len(c.GET(shares).Want(t, 200).Items(t)); n != 1 {
			t.Errorf("%d shares", n)
		}
	})
}
