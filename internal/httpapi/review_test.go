package httpapi_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// door is a request that changes a document of a project under review, whose id is in its path as {id}.
type door struct {
	route string // of the table
	path  string // {id}: a document in the project; {deleted}: a deleted one; {other}: one outside; {project}
	body  fields // "": the whole body, as text
}

// doors are all requests that change documents. A new route that needs documents:write must be here, or in
// notDoors.
var doors = []door{
	{route: "POST /api/v1/documents", path: "/api/v1/documents", body: fields{"title": "New", "project_id": "{project}"}},
	{route: "POST /api/v1/documents", path: "/api/v1/documents", body: fields{"title": "New", "project_id": "{project}", "parent_id": "{id}"}},
	{route: "PUT /api/v1/documents", path: "/api/v1/documents?external_id=new", body: fields{"title": "New", "project_id": "{project}"}},
	{route: "PUT /api/v1/documents", path: "/api/v1/documents?external_id=known", body: fields{"content": "other"}},
	{route: "PUT /api/v1/documents", path: "/api/v1/documents?external_id=gone", body: fields{"content": "back"}},
	{route: "PUT /api/v1/documents", path: "/api/v1/documents?external_id=gone", body: fields{"project_id": nil}},
	{route: "PUT /api/v1/documents", path: "/api/v1/documents?external_id=gone", body: fields{"project_id": "{free}", "content": "elsewhere"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"title": "Other"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"content": "other"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"description": "other"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"external_id": "other"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"url": "https://example.com/"}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"metadata": fields{"a": "b"}}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"sort_order": 7}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{id}", body: fields{"project_id": nil}},
	{route: "PATCH /api/v1/documents/{id}", path: "/api/v1/documents/{other}", body: fields{"project_id": "{project}"}},
	{route: "DELETE /api/v1/documents/{id}", path: "/api/v1/documents/{id}"},
	{route: "POST /api/v1/documents/{id}/move", path: "/api/v1/documents/{id}/move", body: fields{"project_id": nil, "parent_id": nil}},
	{route: "POST /api/v1/documents/{id}/move", path: "/api/v1/documents/{other}/move", body: fields{"project_id": "{project}", "parent_id": nil}},
	{route: "POST /api/v1/documents/{id}/move", path: "/api/v1/documents/{id}/move", body: fields{"parent_id": "{sibling}"}},
	{route: "POST /api/v1/documents/{id}/move", path: "/api/v1/documents/{id}/move", body: fields{"after_id": "{sibling}"}},
	{route: "POST /api/v1/documents/{id}/restore", path: "/api/v1/documents/{deleted}/restore"},
	{route: "PUT /api/v1/documents/{id}/content", path: "/api/v1/documents/{id}/content", body: fields{"": "other"}},
	{route: "POST /api/v1/documents/{id}/versions/{n}/restore", path: "/api/v1/documents/{id}/versions/1/restore"},
	{route: "POST /api/v1/batch", path: "/api/v1/batch", body: operations(fields{"action": "create", "resource_type": "document", "body": fields{"title": "New", "project_id": "{project}"}})},
	{route: "POST /api/v1/batch", path: "/api/v1/batch", body: operations(fields{"action": "update", "resource_type": "document", "resource_id": "{id}", "body": fields{"title": "Other"}})},
	{route: "POST /api/v1/batch", path: "/api/v1/batch", body: operations(fields{"action": "move", "resource_type": "document", "resource_id": "{id}", "body": fields{"after_id": "{sibling}"}})},
	{route: "POST /api/v1/batch", path: "/api/v1/batch", body: operations(fields{"action": "delete", "resource_type": "document", "resource_id": "{id}"})},
	{route: "POST /api/v1/batch", path: "/api/v1/batch", body: operations(fields{"action": "restore", "resource_type": "document", "resource_id": "{deleted}"})},
}

func operations(all ...fields) fields { return fields{"operations": all} }

// notDoors are the routes that need documents:write, with what they need under review.
var notDoors = map[string]string{
	"DELETE /api/v1/documents/{id}/permanent": "projects:admin",
	"POST /api/v1/proposals/{id}/accept":      "the approvals",
}

// reviewed is a workspace with a project under review.
type reviewed struct {
	*apitest.Workspace
	admin, writer *apitest.Client
	ids           map[string]string
}

func newReviewed(t *testing.T, a *apitest.API, approvals int) *reviewed {
	w := a.Workspace(sheaf.Business)
	r := &reviewed{Workspace: w, admin: w.Client(w.Key(sheaf.AllScopes...)), ids: map[string]string{}}
	r.writer = w.Client(w.Key(slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return s == sheaf.ProjectsAdmin })...))
	r.ids["{project}"] = r.admin.POST("/api/v1/projects", fields{"name": "Manual"}).Want(t, 201).Text(t, "id")
	document := func(name string, f fields) {
		f["title"] = name
		r.ids[name] = r.admin.POST(documents, f).Want(t, 201).Text(t, "id")
	}
	document("{id}", fields{"project_id": r.ids["{project}"], "content": "first", "external_id": "known"})
	r.admin.PATCH(documents+"/"+r.ids["{id}"], fields{"content": "first second"}).Want(t, 200)
	document("{sibling}", fields{"project_id": r.ids["{project}"]})
	document("{deleted}", fields{"project_id": r.ids["{project}"], "external_id": "gone"})
	r.admin.DELETE(documents+"/"+r.ids["{deleted}"]).Want(t, 204)
	document("{other}", fields{})
	r.ids["{free}"] = r.admin.POST("/api/v1/projects", fields{"name": "Free"}).Want(t, 201).Text(t, "id")
	r.admin.PATCH("/api/v1/projects/"+r.ids["{project}"], fields{"review": fields{"approvals": approvals}}).Want(t, 200)
	return r
}

// fill returns the text with the ids of the workspace.
func (r *reviewed) fill(s string) string {
	for name, id := range r.ids {
		s = strings.ReplaceAll(s, name, id)
	}
	return s
}

// person is another member of the workspace, with a key.
type person struct {
	*apitest.Client
	user sheaf.UserID
}

// join adds a member who has that role.
func (r *reviewed) join(t *testing.T, a *apitest.API, role sheaf.Role) person {
	t.Helper()
	p := person{user: a.Workspace(sheaf.Business).Owner}
	secret, _ := r.NewKey(func(k *sheaf.Key) { k.UserID = p.user })
	p.Client = r.Client(secret)
	r.members(t, a, p.user, func(tx *store.Tx) error {
		return tx.InsertMember(sheaf.Membership{Workspace: sheaf.Workspace{ID: r.ID}, User: sheaf.User{ID: p.user}, Role: role, Since: a.Clock.Now()})
	})
	return p
}

// members changes members of the workspace.
func (r *reviewed) members(t *testing.T, a *apitest.API, u sheaf.UserID, change func(tx *store.Tx) error) {
	t.Helper()
	err := a.Store.Write(t.Context(), func(tx *store.Tx) error {
		now := a.Clock.Now()
		line := sheaf.AuditLine{ID: sheaf.AuditID(sheaf.NewUUID(now, rand.Reader)), At: now, Action: sheaf.ActionMemberRoleChanged, Target: string(u)}
		return errors.Join(change(tx), tx.InsertAudit(r.ID, line))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// D177: no request changes a document of a project under review, except by an accepted proposal.
func TestReview_EveryDoorIsClosed(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		r := newReviewed(t, a, 1)
		state := func() string {
			return string(r.admin.GET("/api/v1/projects/"+r.ids["{project}"]+"/tree").Want(t, 200).Body) +
				string(r.admin.GET(documents+"/"+r.ids["{id}"]).Want(t, 200).Body)
		}
		before := state()
		for _, d := range doors {
			method, _, _ := strings.Cut(d.route, " ")
			body := r.fill(jsonOf(d.body))
			var headers []string
			if text, raw := d.body[""]; raw {
				body, headers = text.(string), []string{"Content-Type: text/markdown"}
			}
			for _, c := range []*apitest.Client{r.admin, r.writer} {
				if d.body == nil {
					body = ""
				}
				c.Do(method, r.fill(d.path), body, headers...).WantError(t, 403, "REVIEW_REQUIRED", "proposal")
			}
		}
		if after := state(); after != before {
			t.Errorf("it is\n%s\nand was\n%s", after, before)
		}
		for _, route := range a.Handler.Routes() {
			name := route.Method + " " + route.Path
			listed := notDoors[name] != "" || slices.ContainsFunc(doors, func(d door) bool { return d.route == name })
			if writes := slices.Contains(route.Need, sheaf.DocumentsWrite) || slices.Contains(route.OneOf, sheaf.DocumentsWrite); writes != listed {
				t.Errorf("%s changes documents: %t; it is in doors or notDoors: %t", name, writes, listed)
			}
		}
	})
}

// D177: a change that changes nothing needs no review, and neither do media, shares and the project's own fields.
func TestReview_IsOnlyForChangesOfDocuments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		r := newReviewed(t, a, 3)
		r.writer.PATCH(documents+"/"+r.ids["{id}"], fields{"content": "first second"}).Want(t, 200)
		r.writer.PATCH("/api/v1/projects/"+r.ids["{project}"], fields{"name": "Handbook"}).Want(t, 200)
		r.writer.POST("/api/v1/shares", fields{"resource_type": "document", "resource_id": r.ids["{id}"]}).Want(t, 201)
		r.writer.POST(documents, fields{"title": "Elsewhere"}).Want(t, 201)
	})
}

// D177: only admins set and lift the review, delete such a project, and delete its documents for good.
func TestReview_NeedsProjectsAdmin(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		r := newReviewed(t, a, 1)
		project := "/api/v1/projects/" + r.ids["{project}"]
		for _, change := range []any{nil, fields{"approvals": 2}} {
			r.writer.PATCH(project, fields{"review": change}).WantError(t, 403, "FORBIDDEN", "projects:admin")
		}
		r.writer.PATCH(project, fields{"review": fields{"approvals": 1}}).Want(t, 200) // as it is
		r.writer.POST("/api/v1/projects", fields{"name": "x", "review": fields{"approvals": 1}}).WantError(t, 403, "FORBIDDEN", "projects:admin")
		r.writer.DELETE(project).WantError(t, 403, "FORBIDDEN", "projects:admin")
		r.writer.POST("/api/v1/batch", operations(fields{"action": "delete", "resource_type": "project", "resource_id": r.ids["{project}"]})).WantError(t, 403, "FORBIDDEN", "projects:admin")
		r.writer.DELETE(documents+"/"+r.ids["{deleted}"]+"/permanent").WantError(t, 403, "FORBIDDEN", "projects:admin")
		for _, bad := range []any{0, 4, "one", fields{}, fields{"approvals": 0}, fields{"approvals": 4}, fields{"approvals": 1.5}, fields{"approvals": nil}, []int{1}, true} {
			r.admin.PATCH(project, fields{"review": bad}).WantError(t, 400, "VALIDATION_ERROR", "review")
		}
		r.admin.POST("/api/v1/api-keys", fields{"name": "k", "scopes": []string{"projects:admin"}, "restricted_to": fields{"project_ids": []string{r.ids["{project}"]}}}).
			WantError(t, 400, "VALIDATION_ERROR", "projects:admin")

		if got := r.admin.PATCH(project, fields{"review": nil}).Want(t, 200); got.JSON["review"] != nil {
			t.Errorf("lifted: %s", got.Body)
		}
		r.writer.PATCH(documents+"/"+r.ids["{id}"], fields{"title": "Free"}).Want(t, 200)
		if got := r.admin.PATCH(project, fields{"review": fields{"approvals": 2}}).Want(t, 200); fmt.Sprint(got.JSON["review"]) != "map[approvals:2]" {
			t.Errorf("set: %s", got.Body)
		}
		r.admin.DELETE(documents+"/"+r.ids["{deleted}"]+"/permanent").Want(t, 204)
		r.admin.DELETE(project).Want(t, 204)
		if d := r.admin.GET(documents+"/"+r.ids["{id}"]).Want(t, 200); d.JSON["project_id"] != nil {
			t.Errorf("after the project's deletion: %s", d.Body)
		}
		r.writer.PATCH(documents+"/"+r.ids["{id}"], fields{"title": "Left"}).Want(t, 200)
	})
}

// D177: accepting needs approvals of people who did not write the proposal, and may approve at that moment.
func TestReview_Approvals(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		r := newReviewed(t, a, 2)
		p := propose(r.writer, fields{"op": "edit", "document_id": r.ids["{id}"], "base_version": 2, "content": "better"},
			fields{"op": "create", "title": "Second", "project_id": r.ids["{project}"]}).Want(t, 201).Text(t, "id")
		approve := func(c *apitest.Client) *apitest.Response {
			return c.POST(proposals+"/"+p+"/approve", nil, "If-Match: "+c.GET(proposals+"/"+p).Want(t, 200).Header.Get("ETag"))
		}
		missing := func(has int) {
			t.Helper()
			accept(t, r.admin, p).WantError(t, 409, "APPROVALS_MISSING", fmt.Sprintf("has %d of the 2 approvals that it needs by people who did not write it", has))
			if got := textOf(t, r.admin, r.ids["{id}"]); got != "first second" {
				t.Errorf("it wrote %q", got)
			}
		}
		missing(0)
		approve(r.writer).WantError(t, 403, "FORBIDDEN", "another person")
		bob, carl, dora := r.join(t, a, sheaf.Admin), r.join(t, a, sheaf.Admin), r.join(t, a, sheaf.Admin)
		role := func(role sheaf.Role) {
			r.members(t, a, carl.user, func(tx *store.Tx) error { return tx.SetRole(r.ID, carl.user, role) })
		}
		approve(bob.Client).Want(t, 200)
		approve(bob.Client).Want(t, 200) // a second approval by the same user counts once
		missing(1)
		approve(carl.Client).Want(t, 200)
		role(sheaf.Member)
		missing(1)
		role(sheaf.Editor)
		r.members(t, a, bob.user, func(tx *store.Tx) error { return tx.DeleteMember(r.ID, bob.user) })
		missing(1)
		approve(dora.Client).Want(t, 200)
		// Dora rewrites the proposal. The earlier approvals no longer count, and hers never counts.
		dora.PATCH(proposals+"/"+p, fields{"changes": []fields{{"op": "edit", "document_id": r.ids["{id}"], "base_version": 2, "content": "best"}}}).Want(t, 200)
		missing(0)
		approve(dora.Client).WantError(t, 403, "FORBIDDEN", "another person")
		approve(r.join(t, a, sheaf.Owner).Client).Want(t, 200)
		approve(r.join(t, a, sheaf.Editor).Client).Want(t, 200)
		accept(t, r.admin, p).Want(t, 200)
		if got := textOf(t, r.admin, r.ids["{id}"]); got != "best" {
			t.Errorf("accepted: %q", got)
		}
	})
}
