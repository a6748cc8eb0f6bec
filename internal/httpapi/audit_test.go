package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

const audit = "/api/v1/audit"

// audited has the lines that each route adds with a body that changes something. All other routes add none.
var audited = map[string]string{
	"POST /api/v1/shares":                                 "share.created",
	"PATCH /api/v1/shares/{id}":                           "share.password_set",
	"DELETE /api/v1/shares/{id}":                          "share.deleted",
	"POST /api/v1/projects/{id}/releases":                 "release.created",
	"PATCH /api/v1/releases/{id}":                         "release.notes_changed",
	"DELETE /api/v1/releases/{id}":                        "release.deleted",
	"PATCH /api/v1/projects/{id}":                         "project.review_changed",
	"DELETE /api/v1/projects/{id}":                        "share.deleted share.deleted release.deleted",
	"DELETE /api/v1/documents/{id}/permanent":             "share.deleted",
	"POST /api/v1/batch":                                  "share.created",
	"POST /api/webhooks/subscriptions":                    "webhook.created",
	"PATCH /api/webhooks/subscriptions/{id}":              "webhook.updated",
	"POST /api/webhooks/subscriptions/{id}/rotate-secret": "webhook.secret_rotated",
	"DELETE /api/webhooks/subscriptions/{id}":             "webhook.deleted",
	"POST /api/v1/api-keys":                               "key.created",
	"POST /api/v1/api-keys/{id}/rotate":                   "key.rotated",
	"DELETE /api/v1/api-keys/{id}":                        "key.revoked",
}

// D200: every route that changes rights adds its audit line, with the key that did it, and no other route adds one.
func TestAudit_EveryRoute(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		ids := resources(t, c)
		project := c.POST(projects, fields{"name": "Audited"}).Want(t, 201).Text(t, "id")
		kept := c.POST(projects, fields{"name": "Kept"}).Want(t, 201).Text(t, "id")
		share := fields{"resource_type": "project", "resource_id": project}
		ids["shares"] = c.POST("/api/v1/shares", fields{"resource_type": "project", "resource_id": kept}).Want(t, 201).Text(t, "id")
		bodies := map[string]any{
			"POST /api/v1/shares":                    share,
			"PATCH /api/v1/shares/{id}":              fields{"password": "a secret word"},
			"POST /api/v1/projects/{id}/releases":    fields{"name": "audited"},
			"PATCH /api/v1/releases/{id}":            fields{"notes": "audited"},
			"PATCH /api/v1/projects/{id}":            fields{"review": fields{"approvals": 1}},
			"POST /api/v1/batch":                     fields{"operations": []any{fields{"action": "create", "resource_type": "share", "body": share}}},
			"POST /api/webhooks/subscriptions":       fields{"name": "n", "url": "https://example.com/secret-path", "events": []string{"project.created"}},
			"PATCH /api/webhooks/subscriptions/{id}": fields{"name": "audited", "url": "https://example.com/another-secret"},
			"POST /api/v1/api-keys":                  fields{"name": "audited", "scopes": []string{"projects:read"}},
		}
		var order []string // deletions last, content before the routes that change rights
		routes := a.Handler.Routes()
		for i, r := range routes {
			if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions {
				order = append(order, fmt.Sprintf("%v %v %03d", r.Method == http.MethodDelete, audited[r.Method+" "+r.Path] != "", i))
			}
		}
		slices.Sort(order)
		for _, key := range order {
			var at int
			fmt.Sscanf(key[strings.LastIndexByte(key, ' ')+1:], "%d", &at)
			r := routes[at]
			name := r.Method + " " + r.Path
			path := target(t, r, ids)
			if strings.HasPrefix(r.Path, projects+"/{id}") && audited[name] != "" {
				path = strings.Replace(r.Path, "{id}", project, 1)
			}
			before := c.GET(audit+"?order=desc&limit=1").Want(t, 200)
			var got *apitest.Response
			if body, given := bodies[name]; given {
				got = c.Do(r.Method, path, body)
			} else {
				got = send(c, r, path)
			}
			rest := c.GET(audit+"?after="+fmt.Sprint(before.Items(t)[0]["id"])).Want(t, 200)
			var added []string
			for _, l := range rest.Items(t) {
				added = append(added, fmt.Sprint(l["action"]))
				if actor := l["actor"].(map[string]any); actor["key_id"] == nil || l["request_id"] != got.Header.Get("X-Request-Id") {
					t.Errorf("%s: the line is %v, of request %s", name, l, got.Header.Get("X-Request-Id"))
				}
			}
			if strings.Join(added, " ") != audited[name] {
				t.Errorf("%s: %d, adds %q, want %q", name, got.Status, added, audited[name])
			}
			for _, secret := range []string{"a secret word", "secret-path", "another-secret", "/s/", "shf_", "whsec_"} {
				if strings.Contains(string(rest.Body), secret) {
					t.Errorf("%s: the line has %s: %s", name, secret, rest.Body)
				}
			}
		}
	})
}

// D200: what a client may ask the audit log for.
func TestAudit_Read(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		for _, name := range []string{"one", "two", "three"} {
			c.POST(keys, fields{"name": name, "scopes": []string{"projects:read"}}).Want(t, 201)
		}
		all := c.GET(audit+"?action=key.created").Want(t, 200)
		n := len(all.Items(t))
		if all.JSON["total"] != float64(n) || n < 3 {
			t.Fatalf("the log has %v", all.JSON)
		}
		newest := all.Items(t)[n-1]
		if after := newest["after"].(map[string]any); after["name"] != "three" || newest["before"] != nil {
			t.Errorf("the newest line is %v", newest)
		}
		page := c.GET(audit+"?limit=2&after="+fmt.Sprint(all.Items(t)[n-3]["id"])).Want(t, 200)
		if len(page.Items(t)) != 2 || fmt.Sprint(page.Items(t)[1]["id"]) != fmt.Sprint(newest["id"]) {
			t.Errorf("after the third newest: %v", page.JSON)
		}
		c.GET(audit+"?after="+nowhereID).WantError(t, 404, "NOT_FOUND", "after")
		c.GET(audit+"?after=x").WantError(t, 400, "VALIDATION_ERROR", "after")
		c.GET(audit+"?after="+nowhereID+"&offset=1").WantError(t, 400, "VALIDATION_ERROR", "offset")
		c.GET(audit+"?action=key.eaten").WantError(t, 400, "VALIDATION_ERROR", "action")
		c.GET(audit+"?user_id=x").WantError(t, 400, "VALIDATION_ERROR", "user_id")
		c.GET(audit+"?since=x").WantError(t, 400, "VALIDATION_ERROR", "since")
		if other := a.Workspace(sheaf.Business).Client("").GET(audit+"?target="+fmt.Sprint(newest["target"])).Want(t, 200); len(other.Items(t)) != 0 {
			t.Errorf("another workspace reads %v", other.JSON)
		}
		a.Workspace(sheaf.Pro).Client("").GET(audit).WantError(t, 403, "PLAN_REQUIRED", "Business")
	})
}
