package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// canary is in every text of a record that the restricted keys of these tests must not see.
const canary = "canary-41d7"

// A divided workspace has records inside and outside of a restriction.
type divided struct {
	owner           *apitest.Client // sees everything
	folder, project string          // inside: a folder, a project in it
	document, file  string          // a document in that project, its file
	share           string
	out             map[string]string // ids outside, by the noun in paths
	inFolder        *apitest.Client   // restricted to the folder
	inProject       *apitest.Client   // restricted to the project
}

// restrictable are the scopes that go with a restriction.
func restrictable() (out []string) {
	for _, s := range sheaf.AllScopes {
		if s.Restrictable() {
			out = append(out, string(s))
		}
	}
	return out
}

// restrictedKey makes a key with these restrictions and returns its client.
func restrictedKey(t testing.TB, a *apitest.API, owner *apitest.Client, to fields) *apitest.Client {
	t.Helper()
	return a.Client(owner.POST(keys, fields{"name": "restricted", "scopes": restrictable(), "restricted_to": to}).Want(t, 201).Text(t, "key"))
}

func divide(t testing.TB, a *apitest.API) divided {
	t.Helper()
	d := divided{owner: a.Workspace(sheaf.Business).Client(""), out: map[string]string{}}
	c := d.owner
	place := func(name string) (folder, project, document, file, share string) {
		above := create(t, c, folders, fields{"name": canary + " above", "entity_type": "project"})
		folder = create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": above})
		project = create(t, c, projects, fields{"name": name, "folder_id": folder, "external_id": name})
		document = create(t, c, documents, fields{"title": name, "project_id": project, "content": "words of " + name})
		file = c.POST(mediaPath+"?document_id="+document, name, "Content-Type: text/plain").Want(t, 201).Text(t, "id")
		share = create(t, c, shares, fields{"resource_type": "document", "resource_id": document})
		return folder, project, document, file, share
	}
	d.out["folders"], d.out["projects"], d.out["documents"], d.out["media"], d.out["shares"] = place(canary)
	d.out["trashed"] = create(t, c, documents, fields{"title": canary + " trashed", "project_id": d.out["projects"]})
	c.DELETE(at(documents, d.out["trashed"])).Want(t, 204)
	d.out["loose"] = create(t, c, documents, fields{"title": canary + " in no project"})
	d.out["proposals"] = propose(c, fields{"op": "edit", "document_id": d.out["documents"], "base_version": 1, "title": canary}).Want(t, 201).Text(t, "id")
	d.out["brandings"] = create(t, c, "/api/v1/brandings", fields{"name": canary})
	d.out["subscriptions"] = idOf(subscribe(t, c, fields{"name": canary}))
	d.out["events"] = c.GET(events+"?limit=1&resource_id="+d.out["projects"]).Want(t, 200).IDs(t)[0]
	d.out["releases"] = strings.TrimPrefix(freeze(t, c, at(projects, d.out["projects"]), canary), "/api/v1/releases/")
	d.folder, d.project, d.document, d.file, d.share = place("inside")
	d.inFolder = restrictedKey(t, a, c, fields{"folder_ids": []string{d.folder}})
	d.inProject = restrictedKey(t, a, c, fields{"project_ids": []string{d.project}})
	return d
}

// D167: what a restriction may name, and which scopes go with it.
func TestRestriction_OfAKey(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		c := d.owner
		key := func(scopes []string, to any) *apitest.Response {
			return c.POST(keys, fields{"name": "k", "scopes": scopes, "restricted_to": to})
		}
		docs := []string{"documents:read"}
		key(docs, fields{}).WantError(t, 400, "VALIDATION_ERROR", "restricted_to", "empty")
		key(docs, fields{"project_ids": []string{}}).WantError(t, 400, "VALIDATION_ERROR", "restricted_to")
		key(docs, fields{"project_ids": slices.Repeat([]string{d.project}, 101)}).WantError(t, 400, "VALIDATION_ERROR", "101")
		key(docs, fields{"project_ids": []string{nowhereID}}).WantError(t, 404, "NOT_FOUND", "project")
		key(docs, fields{"folder_ids": []string{nowhereID}}).WantError(t, 404, "NOT_FOUND", "folder")
		key(docs, fields{"folder_ids": []string{"x"}}).WantError(t, 400, "VALIDATION_ERROR", "folder_ids")
		key(docs, fields{"folder_ids": []string{create(t, c, folders, fields{"name": "b", "entity_type": "branding"})}}).WantError(t, 400, "VALIDATION_ERROR", "folder_ids", "branding")
		for _, s := range []string{"keys:read", "keys:write", "events:write", "brandings:write"} {
			key([]string{"documents:read", s}, fields{"project_ids": []string{d.project}}).WantError(t, 400, "VALIDATION_ERROR", s)
		}
		r := key(docs, fields{"project_ids": []string{d.project}}).Want(t, 201)
		wantJSON(t, "the record", r.JSON["restricted_to"], fields{"project_ids": []any{d.project}, "folder_ids": []any{}})
		me := a.Client(r.Text(t, "key")).GET("/api/v1/me").Want(t, 200)
		wantJSON(t, "me", me.JSON["key"].(fields)["restricted_to"], fields{"project_ids": []any{d.project}, "folder_ids": []any{}})
		if me.JSON["storage"] != nil {
			t.Errorf("a restricted key learns what is stored: %v", me.JSON["storage"])
		}
		wantJSON(t, "absent", key(docs, nil).Want(t, 201).JSON["restricted_to"], nil)
	})
}

// sameAsUnknown sends a request about an id outside the restriction and about an id that never existed,
// and compares the answers. `path` and `body` have % where the id goes.
func sameAsUnknown(t *testing.T, c *apitest.Client, method, path string, body string, outside string) {
	t.Helper()
	ask := func(id string) string {
		var sent any
		if body != "" {
			sent = strings.ReplaceAll(body, "%", id)
		}
		r := c.Do(method, strings.ReplaceAll(path, "%", id), sent)
		header := r.Header.Clone()
		for _, name := range []string{"Date", "X-Request-Id", "Retry-After"} {
			header.Del(name)
		}
		if strings.Contains(string(r.Body), canary) {
			t.Errorf("%s %s %s shows what is outside: %s", method, path, body, r.Body)
		}
		return strings.ReplaceAll(fmt.Sprint(r.Status, header, string(r.Body)), id, "%")
	}
	unknown := nowhereID
	if strings.HasPrefix(outside, "evt_") {
		unknown = "evt_" + nowhereID
	}
	if got, want := ask(outside), ask(unknown); got != want {
		t.Errorf("%s %s %s about a record outside:\n%s\nabout one that never existed:\n%s", method, path, body, got, want)
	}
}

// D169, D170: every route answers about a record outside as about one that never existed, in the
// path, in each field and in each filter. A new route has to be in one of the two lists.
func TestRestriction_OutsideDoesNotExist(t *testing.T) {
	// What routes take besides the id in the path: a request for each field that names a record.
	named := map[string][]string{
		"POST /api/v1/projects":                         {`{"name":"n","folder_id":"%"}`},
		"PUT /api/v1/projects":                          {`?external_id=new {"name":"n","folder_id":"%"}`},
		"PATCH /api/v1/projects/{id}":                   {`{"name":"n"}`},
		"POST /api/v1/projects/{id}/move":               {`{"folder_id":null}`},
		"POST /api/v1/folders":                          {`{"name":"n","entity_type":"project","parent_id":"%"}`},
		"PUT /api/v1/folders":                           {`?external_id=new {"name":"n","entity_type":"project","parent_id":"%"}`},
		"PATCH /api/v1/folders/{id}":                    {`{"name":"n"}`},
		"POST /api/v1/folders/{id}/move":                {`{"parent_id":null}`},
		"POST /api/v1/documents":                        {`{"title":"t","project_id":"%"}`, `{"title":"t","project_id":"$project","parent_id":"%"}`, `{"title":"t","project_id":"$project","content":"![](media:%)"}`},
		"PUT /api/v1/documents":                         {`?external_id=new {"title":"t","project_id":"%"}`},
		"PATCH /api/v1/documents/{id}":                  {`{"title":"t"}`},
		"POST /api/v1/documents/{id}/move":              {`{"before_id":"$document"}`},
		"PUT /api/v1/documents/{id}/content":            {`text`},
		"POST /api/v1/shares":                           {`{"resource_type":"document","resource_id":"%"}`, `{"resource_type":"project","resource_id":"%"}`, `{"resource_type":"project","resource_id":"$project","release":"%"}`},
		"POST /api/v1/projects/{id}/releases":           {`{"name":"n"}`},
		"PATCH /api/v1/releases/{id}":                   {`{"notes":"n"}`},
		"GET /api/v1/releases/{id}/diff":                {``, `?to=%`},
		"PATCH /api/v1/shares/{id}":                     {`{"listed":true}`},
		"POST /api/v1/proposals":                        {`{"title":"t","changes":[{"op":"restore","document_id":"%"}]}`, `{"title":"t","changes":[{"op":"create","title":"t","project_id":"%"}]}`, `{"title":"t","changes":[{"op":"create","title":"t","project_id":"$project","content":"![](media:%)"}]}`},
		"POST /api/v1/proposals/{id}/comments":          {`{"body":"b"}`},
		"PATCH /api/v1/proposals/{id}/comments/{n}":     {`{"body":"b"}`},
		"PATCH /api/v1/proposals/{id}":                  {`{"title":"t"}`},
		"GET /api/v1/proposals":                         {`?project_id=%`, `?document_id=%`},
		"POST /api/v1/media":                            {`?document_id=% bytes`},
		"PATCH /api/v1/media/{id}":                      {`{"filename":"f"}`},
		"POST /api/v1/batch":                            {`{"operations":[{"action":"create","resource_type":"document","body":{"title":"t","project_id":"%"}}]}`, `{"operations":[{"action":"delete","resource_type":"document","resource_id":"%"}]}`, `{"operations":[{"action":"update","resource_type":"project","resource_id":"%","body":{"name":"n"}}]}`},
		"GET /api/v1/projects":                          {`?folder_id=%`},
		"GET /api/v1/folders":                           {`?parent_id=%`},
		"GET /api/v1/documents":                         {`?project_id=%`, `?parent_id=%`, `?project_id=%&deleted=true`},
		"GET /api/v1/shares":                            {`?resource_id=%`},
		"GET /api/v1/media":                             {`?document_id=%`},
		"GET /api/v1/search":                            {`?q=canary&project_id=%`, `?q=canary&folder_id=%`},
		"GET /api/v1/events":                            {`?resource_id=%`, `?after=%`},
		"GET /api/v1/media/{id}/content":                {`?document_id=$document`},
		"POST /api/webhooks/subscriptions":              {`{"name":"s","url":"https://example.com/","events":["document.created"],"filter":{"project_ids":["%"]}}`, `{"name":"s","url":"https://example.com/","events":["document.created"],"filter":{"folder_ids":["%"]}}`, `{"name":"s","url":"https://example.com/","events":["document.created"],"filter":{"resource_ids":["%"]}}`},
		"PATCH /api/webhooks/subscriptions/{id}":        {`{"name":"n"}`},
		"POST /api/webhooks/subscriptions/{id}/recover": {`{"since":"2026-01-01T00:00:00Z"}`},
	}
	// Routes without a record: what they need does not go with a restriction, or they are covered by
	// another test.
	without := map[string]string{
		"POST /api/v1/brandings": "needs brandings:write", "GET /api/v1/brandings": "is seen with brandings:read",
		"GET /api/v1/audit":   "needs audit:read",
		"POST /api/v1/events": "needs events:write", "GET /api/v1/events/stream": "TestRestriction_Events",
		"OPTIONS /api/v1/uploads": "no key", "OPTIONS /api/v1/uploads/{id}": "no key", "POST /api/v1/uploads": "TestRestriction_Files",
		"GET /api/webhooks/subscriptions": "TestRestriction_Events", "GET /api/v1/api-keys": "needs keys:read", "POST /api/v1/api-keys": "needs keys:write",
		"GET /api/v1/me": "TestRestriction_OfAKey", "GET /api/v1/icons": "the same for all",
	}
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		for line := range strings.Lines(strings.TrimSpace(needs)) {
			route, _, _ := strings.Cut(strings.TrimSpace(line), ": ")
			method, path, _ := strings.Cut(route, " ")
			if without[route] != "" {
				continue
			}
			requests := named[route]
			if len(requests) == 0 {
				if !strings.Contains(path, "{id}") {
					t.Errorf("%s: say how it names a record, or why it names none", route)
				}
				requests = []string{""}
			}
			for _, request := range requests {
				query, body := "", request
				if strings.HasPrefix(request, "?") {
					query, body, _ = strings.Cut(request, " ")
				}
				body = strings.NewReplacer("$project", d.project, "$document", d.document).Replace(body)
				query = strings.ReplaceAll(query, "$document", d.document)
				to := strings.NewReplacer("{id}", "%", "{n}", "1", "{document}", "%", "{medium}", "%").Replace(path) + query
				for noun, id := range d.out {
					// Brandings are seen with brandings:read. The id of an event is no UUID.
					if strings.HasPrefix(path, "/api/v1/brandings") || noun == "events" && !strings.HasPrefix(path, "/api/v1/events") {
						continue
					}
					sameAsUnknown(t, d.inFolder, method, to, body, id)
				}
			}
		}
		// Nothing outside was changed.
		for _, noun := range []string{"folders", "projects", "documents", "media", "shares", "proposals", "releases"} {
			d.owner.GET("/api/v1/"+noun+"/"+d.out[noun]).Want(t, 200)
		}
	})
}

// D169: lists, totals, search and the tree have what is inside, and nothing else.
func TestRestriction_Inside(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		below := create(t, d.owner, folders, fields{"name": "below", "entity_type": "project", "parent_id": d.folder})
		deep := create(t, d.owner, projects, fields{"name": "deep", "folder_id": below})
		deepest := create(t, d.owner, documents, fields{"title": "deepest", "project_id": deep, "content": "words of the deepest"})
		list := func(c *apitest.Client, path string, want ...string) {
			t.Helper()
			r := c.GET(path).Want(t, 200)
			got := r.IDs(t)
			slices.Sort(got)
			slices.Sort(want)
			wantSame(t, path, got, want)
			if total := r.JSON["total"]; total != float64(len(want)) {
				t.Errorf("%s: total %v, want %d", path, total, len(want))
			}
			if strings.Contains(string(r.Body), canary) {
				t.Errorf("%s shows what is outside: %s", path, r.Body)
			}
		}
		for _, sort := range []string{"", "?sort=updated_at", "?sort=title", "?sort=created_at&order=desc"} {
			list(d.inFolder, documents+sort, d.document, deepest)
			list(d.inProject, documents+sort, d.document)
		}
		list(d.inFolder, documents+"?q=deep", deepest)
		list(d.inProject, documents+"?q=deep")
		list(d.inFolder, documents+"?project_id=null")
		list(d.inFolder, documents+"?deleted=true")
		for _, sort := range []string{"", "?sort=name", "?sort=updated_at", "?sort=created_at"} {
			list(d.inFolder, projects+sort, d.project, deep)
			list(d.inProject, projects+sort, d.project)
		}
		list(d.inFolder, projects+"?folder_id="+below, deep)
		list(d.inProject, projects+"?folder_id="+d.folder, d.project)
		list(d.inFolder, folders, d.folder, below)
		list(d.inProject, folders)
		for _, c := range []*apitest.Client{d.inFolder, d.inProject} {
			list(c, mediaPath, d.file)
			list(c, shares, d.share)
			list(c, "/api/v1/search?q=canary")
			c.GET(at(projects, d.project)+"/tree").Want(t, 200)
		}
		list(d.inFolder, "/api/v1/search?q=words", d.document, deepest)
		list(d.inProject, "/api/v1/search?q=words", d.document)
		list(d.inFolder, "/api/v1/search?q=below", below)

		// D169: what leaves is invisible with the next request, whatever was cached; what comes is
		// visible.
		d.inFolder.GET(at(projects, deep)).Want(t, 200)
		d.inFolder.GET(documents).Want(t, 200)
		d.owner.POST(at(projects, deep)+"/move", fields{"folder_id": nil}).Want(t, 200)
		d.inFolder.GET(at(projects, deep)).Want(t, 404)
		d.inFolder.GET(at(documents, deepest)).Want(t, 404)
		list(d.inFolder, documents, d.document)
		list(d.inFolder, "/api/v1/search?q=deepest")
		d.owner.POST(at(projects, deep)+"/move", fields{"folder_id": d.folder}).Want(t, 200)
		list(d.inFolder, documents, d.document, deepest)
		// An answer that was cached for the whole workspace is not theirs.
		d.owner.GET(documents).Want(t, 200)
		list(d.inProject, documents, d.document)
	})
}

// D170: what would be outside, and what the restriction names, is refused.
func TestRestriction_Borders(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		f, p := d.inFolder, d.inProject
		refused := func(r *apitest.Response, parts ...string) {
			t.Helper()
			r.WantError(t, 403, "FORBIDDEN", parts...)
		}
		refused(f.POST(projects, fields{"name": "n"}), "folder_id")
		refused(f.POST(folders, fields{"name": "n", "entity_type": "project"}), "parent_id")
		refused(f.POST(folders, fields{"name": "n", "entity_type": "branding"}), "brandings")
		refused(f.POST(documents, fields{"title": "t"}), "project_id")
		refused(p.POST(documents, fields{"title": "t", "project_id": nil}), "one project")
		refused(f.POST(mediaPath, "bytes", "Content-Type: text/plain"), "document_id")
		refused(f.PATCH(at(mediaPath, d.file), fields{"document_id": nil}), "document_id")
		refused(f.PATCH(at(documents, d.document), fields{"project_id": nil}), "project_id")
		refused(f.POST(at(documents, d.document)+"/move", fields{"project_id": nil}), "project_id")
		refused(f.PATCH(at(projects, d.project), fields{"folder_id": nil}), "folder_id")
		refused(f.POST("/api/v1/batch", fields{"operations": []fields{{"action": "update", "resource_type": "document", "resource_id": d.document, "body": fields{"project_id": nil}}}}), "project_id")
		// What the restriction names stays.
		refused(f.DELETE(at(folders, d.folder)), "folder")
		refused(f.POST(at(folders, d.folder)+"/move", fields{"parent_id": nil}))
		refused(p.DELETE(at(projects, d.project)), "project")
		// A project with documents, a folder with projects.
		refused(f.DELETE(at(projects, d.project)), "documents")
		below := create(t, f, folders, fields{"name": "below", "entity_type": "project", "parent_id": d.folder})
		made := create(t, f, projects, fields{"name": "made", "folder_id": below})
		refused(f.DELETE(at(folders, below)), "projects")
		gone := create(t, f, documents, fields{"title": "gone", "project_id": made})
		f.DELETE(at(documents, gone)).Want(t, 204)
		refused(f.DELETE(at(projects, made)), "deleted")
		f.DELETE(at(documents, gone)+"/permanent").Want(t, 204)
		f.DELETE(at(projects, made)).Want(t, 204)
		f.DELETE(at(folders, below)).Want(t, 204)
		// Everyday work goes on.
		f.PATCH(at(folders, d.folder), fields{"name": "renamed"}).Want(t, 200)
		p.PATCH(at(projects, d.project), fields{"name": "renamed"}).Want(t, 200)
		p.Do("PUT", at(documents, d.document)+"/content", "new words", "Content-Type: text/markdown").Want(t, 200)
		create(t, p, documents, fields{"title": "second", "project_id": d.project, "parent_id": d.document})
		create(t, p, shares, fields{"resource_type": "project", "resource_id": d.project})
		// An external id that is taken outside tells only that.
		r := f.POST(projects, fields{"name": "n", "folder_id": d.folder, "external_id": canary}).WantError(t, 409, "CONFLICT")
		if strings.Contains(string(r.Body), d.out["projects"]) {
			t.Errorf("the conflict names its holder: %s", r.Body)
		}
		r = f.Do("PUT", projects+"?external_id="+canary, fields{"name": "n", "folder_id": d.folder}).WantError(t, 409, "CONFLICT")
		if strings.Contains(string(r.Body), d.out["projects"]) {
			t.Errorf("the conflict names its holder: %s", r.Body)
		}
	})
}

// D169: the file of another document is readable with a document whose text names it. D170: an upload
// needs a visible document, also when it ends.
func TestRestriction_Files(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		content := at(mediaPath, d.out["media"]) + "/content"
		d.inFolder.GET(content+"?document_id="+d.document).Want(t, 404)
		// The owner's text may name it; the restricted key may keep it there, and add no other.
		d.owner.PATCH(at(documents, d.document), fields{"content": "![](media:" + d.out["media"] + ")"}).Want(t, 200)
		d.inFolder.GET(content).Want(t, 404)
		if r := d.inFolder.GET(content+"?document_id="+d.document).Want(t, 200); string(r.Body) != canary {
			t.Errorf("the file is %q", r.Body)
		}
		d.inFolder.PATCH(at(documents, d.document), fields{"content": "kept ![](media:" + d.out["media"] + ") and ![](media:" + d.file + ")"}).Want(t, 200)
		d.inFolder.PATCH(at(documents, d.document), fields{"content": "without"}).Want(t, 200)
		named := fields{"content": "again ![](media:" + d.out["media"] + ")"}
		d.inFolder.PATCH(at(documents, d.document), named).WantError(t, 404, "NOT_FOUND", "medium")
		d.inFolder.POST(at(documents, d.document)+"/versions/2/restore", nil).WantError(t, 404, "NOT_FOUND", "medium")
		tus := []string{"Tus-Resumable: 1.0.0", "Upload-Length: 5"}
		d.inFolder.POST("/api/v1/uploads", nil, tus...).WantError(t, 403, "FORBIDDEN", "document_id")
	})
}

// D171: a restriction has a log of its own: events about what was visible before the change or is
// visible after it, and nothing else. Subscriptions keep the restriction.
func TestRestriction_Events(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		f := d.inFolder
		types := func(c *apitest.Client, query string) (out []string) {
			t.Helper()
			r := c.GET(events+"?limit=100"+query).Want(t, 200)
			for _, e := range r.Items(t) {
				out = append(out, e["type"].(string)+" "+e["resource_id"].(string))
			}
			if r.JSON["total"] != float64(len(out)) {
				t.Errorf("%s: total %v of %d events", query, r.JSON["total"], len(out))
			}
			if strings.Contains(string(r.Body), canary) {
				t.Errorf("the log shows what is outside: %s", r.Body)
			}
			return out
		}
		wantSame(t, "a new log", types(f, ""), nil)
		mine := idOf(subscribe(t, f, fields{"events": []string{"project.updated", "document.created"}}))
		wantSame(t, "its subscriptions", f.GET(subscriptions).Want(t, 200).IDs(t), []string{mine})
		d.inProject.GET(at(subscriptions, mine)).Want(t, 404)
		d.owner.GET(at(subscriptions, mine)).Want(t, 200)

		inside := create(t, d.owner, documents, fields{"title": "second", "project_id": d.project})
		create(t, d.owner, documents, fields{"title": canary + " second", "project_id": d.out["projects"]})
		d.owner.PATCH(at(projects, d.out["projects"]), fields{"description": canary}).Want(t, 200)
		d.owner.PATCH(at(folders, d.folder), fields{"name": "renamed"}).Want(t, 200)
		// It leaves: visible before.
		d.owner.POST(at(projects, d.project)+"/move", fields{"folder_id": nil}).Want(t, 200)
		d.owner.PATCH(at(projects, d.project), fields{"description": "while it is away"}).Want(t, 200)
		want := []string{"document.created " + inside, "folder.updated " + d.folder, "project.updated " + d.project}
		wantSame(t, "the log of the folder", types(f, ""), want)
		wantSame(t, "by type", types(f, "&type=project.updated"), want[2:])
		wantSame(t, "by record", types(f, "&resource_id="+inside), want[:1])
		wantSame(t, "the log of the project", types(d.inProject, ""), []string{want[0], want[2], want[2]})
		ids := f.GET(events).Want(t, 200).IDs(t)
		wantSame(t, "after the first", types(f, "&after="+ids[0]), want[1:])
		f.GET(at(events, ids[1])).Want(t, 200)
		away := d.inProject.GET(events+"?order=desc&limit=1").Want(t, 200).IDs(t)[0]
		f.GET(at(events, away)).Want(t, 404)
		f.GET(events+"?after="+away).Want(t, 404)
		f.GET(at(events, d.out["events"])).Want(t, 404)

		// The deliveries of its subscription: what the log has, of its types.
		page := d.owner.GET(at(subscriptions, mine)+"/deliveries").Want(t, 200)
		var got []string
		for _, x := range page.Items(t) {
			got = append(got, x["event_type"].(string))
		}
		slices.Sort(got)
		wantSame(t, "deliveries", got, []string{"document.created", "project.updated"})
		// A backfill by somebody who sees everything sends no more than that.
		r := d.owner.POST(at(subscriptions, mine)+"/recover", fields{"since": "2020-01-01T00:00:00Z", "delivered": true}).Want(t, 202)
		if n := len(d.owner.GET(at(subscriptions, mine)+"/deliveries").Want(t, 200).Items(t)); n != 2 {
			t.Errorf("after a backfill (%s) the subscription has %d deliveries, want 2", r.Body, n)
		}
		// Another key with the same ids has the same log; one that is made later for others begins
		// empty.
		again := restrictedKey(t, a, d.owner, fields{"folder_ids": []string{d.folder}})
		wantSame(t, "the log of the same restriction", types(again, ""), want)
		if v := a.Doctor(); len(v) > 0 {
			t.Errorf("the doctor finds %q", v)
		}
	})
}

// D169: an answer that is kept for an Idempotency-Key is only for callers with the same restriction.
func TestRestriction_KeptAnswers(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		body := fields{"title": "kept", "project_id": d.project}
		first := d.owner.POST(documents, body, "Idempotency-Key: k").Want(t, 201).Text(t, "id")
		second := d.inFolder.POST(documents, body, "Idempotency-Key: k").Want(t, 201)
		if second.Text(t, "id") == first || second.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a restricted key got the answer of another caller")
		}
		third := d.inFolder.POST(documents, body, "Idempotency-Key: k").Want(t, 201)
		if third.Text(t, "id") != second.Text(t, "id") {
			t.Error("its own repetition was not recognised")
		}
	})
}
