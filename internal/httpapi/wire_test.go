package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// What deliveries have: a UUID of version 8, made of the numbers of their subscription and event.
const uuid8 = `[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

const uuid7 = `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`

// D1
func TestIDs_AreUUIDv7InLowerCase(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	for noun, id := range resources(t, c) {
		want := "^" + uuid7 + "$"
		switch noun {
		case "events":
			want = "^evt_" + uuid7 + "$"
		case "deliveries":
			want = "^" + uuid8 + "$"
		}
		if !regexp.MustCompile(want).MatchString(id) {
			t.Errorf("the id of %s is %q", noun, id)
		}
	}
}

// D1
func TestIDs_InARequest(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	id := c.POST("/api/v1/projects", `{"name":"a"}`).Text(t, "id")
	other := "F47AC10B-58CC-1372-8567-0E02B2C3D479" // version 1, in upper case
	places := map[string]func(id string) *apitest.Response{
		"path":  func(id string) *apitest.Response { return c.GET("/api/v1/projects/" + id) },
		"query": func(id string) *apitest.Response { return c.GET("/api/v1/projects?folder_id=" + id) },
		"body": func(id string) *apitest.Response {
			return c.POST("/api/v1/projects", map[string]any{"name": "b", "folder_id": id})
		},
	}
	for place, ask := range places {
		for _, bad := range []string{"{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + "0", id[1:],
			strings.Replace(id, "-", "_", 1), "g" + id[1:], "1", "0", "null%00", "%20" + id} {
			if got := ask(bad); got.Status != 400 || got.JSON["code"] != "VALIDATION_ERROR" {
				t.Errorf("%s: %s got %d %s, want 400", place, bad, got.Status, got.Body)
			}
		}
		if got := ask(other); got.Status == 400 {
			t.Errorf("%s: %s is well-formed, and got %s", place, other, got.Body)
		}
	}
	if got := c.GET("/api/v1/projects/"+strings.ToUpper(id)).Want(t, 200); got.Text(t, "id") != id {
		t.Errorf("in upper case it is %s", got.Body)
	}
}

// D2
func TestTimestamps_AreUTCWithMilliseconds(t *testing.T) {
	a := apitest.SQLite(t)
	a.Clock.Set(time.Date(2026, 11, 15, 11, 0, 0, 9_999_999, time.FixedZone("CET", 3600)))
	c := a.Workspace(sheaf.Business).Client("")
	resources(t, c)
	for noun, fields := range map[string][]string{"projects": {"created_at", "updated_at"}, "folders": {"created_at", "updated_at"},
		"documents": {"created_at", "updated_at"}, "events": {"timestamp"}, "api-keys": {"created_at"}} {
		for _, item := range c.GET("/api/v1/" + noun).Items(t) {
			for _, f := range fields {
				if item[f] != "2026-11-15T10:00:00.009Z" {
					t.Errorf("%s.%s is %v", noun, f, item[f])
				}
			}
		}
	}
}

// D3, D15
func TestTexts_CountCodePointsAndComeBackAsSent(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		for _, name := range []string{"a", " padded ", "tab\tnew\nline", "e\u0301", "\u00e9", "\U0001F5C2\U0001F3FD", "\u200b", "\u2028<&>\"\\/",
			strings.Repeat("\U0001F600", 200), "\ufeffmark", "\x01\x1f\x7f"} {
			for path, field := range map[string]string{"projects": "name", "folders": "name", "documents": "title"} {
				made := c.POST("/api/v1/"+path, map[string]any{field: name, "entity_type": "project", "description": name}).Want(t, 201)
				got := c.GET("/api/v1/"+path+"/"+made.Text(t, "id")).Want(t, 200)
				if made.JSON[field] != name || got.JSON[field] != name {
					t.Errorf("%s: sent %q, got %q, then %q", path, name, made.JSON[field], got.JSON[field])
				}
			}
		}
		long := strings.Repeat("\U0001F600", 201)
		for path, field := range map[string]string{"projects": "name", "folders": "name", "documents": "title"} {
			for _, name := range []string{"", " ", "\t\n", "\u00a0\u3000", long} {
				c.POST("/api/v1/"+path, map[string]any{field: name, "entity_type": "project"}).WantError(t, 400, "VALIDATION_ERROR", field, "200")
			}
		}
		c.POST("/api/v1/projects", map[string]any{"name": "a", "description": strings.Repeat("é", 2000)}).Want(t, 201)
		c.POST("/api/v1/projects", map[string]any{"name": "a", "description": strings.Repeat("é", 2001)}).
			WantError(t, 400, "VALIDATION_ERROR", "description", "2000")
	})
}

// D3
func TestTexts_InvalidUTF8AndNULAreRefusedEverywhere(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for _, bad := range []string{"a\xffb", "\xc0\xaf", "\xed\xa0\x80", `a\u0000b`, "a\x00b", `\ud800`, `\udc00x`} {
		c.POST("/api/v1/projects", `{"name":"`+bad+`"}`).WantError(t, 400, "VALIDATION_ERROR", "name")
	}
	c.GET("/api/v1/projects?q=a%00b").WantError(t, 400, "VALIDATION_ERROR", "q", "NUL")
	c.GET("/api/v1/projects?q=a%ffb").WantError(t, 400, "VALIDATION_ERROR", "q", "UTF-8")
	if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 0.0 {
		t.Errorf("something was written: %s", got.Body)
	}
}

// D4
func TestOptionalFields_UnsetArePresentAndNull(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	for _, test := range []struct{ path, required, optional string }{
		{"projects", `"name":"a"`, "description icon color folder_id"},
		{"documents", `"title":"a"`, "description project_id"},
		{"folders", `"name":"a","entity_type":"project"`, "parent_id"},
	} {
		bare := c.POST("/api/v1/"+test.path, "{"+test.required+"}").Want(t, 201)
		nulls := ""
		for _, f := range strings.Fields(test.optional) {
			nulls += `,"` + f + `":null`
			if v, present := bare.JSON[f]; !present || v != nil {
				t.Errorf("%s: an unset %s is %v, present: %t", test.path, f, v, present)
			}
		}
		sent := c.POST("/api/v1/"+test.path, "{"+test.required+nulls+"}").Want(t, 201)
		for _, f := range strings.Fields(test.optional) {
			if v, present := sent.JSON[f]; !present || v != nil {
				t.Errorf("%s: %s sent as null is %v, present: %t", test.path, f, v, present)
			}
		}
	}
}

// D4
func TestOptionalFields_NullClearsThem(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	folder := c.POST("/api/v1/folders", `{"name":"f","entity_type":"project","color":"#112233"}`).Text(t, "id")
	project := c.POST("/api/v1/projects", `{"name":"p","description":"d","icon":"book","color":"#112233","folder_id":"`+folder+`"}`).Text(t, "id")
	document := c.POST("/api/v1/documents", `{"title":"t","description":"d","project_id":"`+project+`"}`).Text(t, "id")
	for path, fields := range map[string]string{"projects/" + project: "description icon color folder_id", "documents/" + document: "description project_id"} {
		for _, f := range strings.Fields(fields) {
			got := c.PATCH("/api/v1/"+path, `{"`+f+`":null}`).Want(t, 200)
			if v, present := got.JSON[f]; !present || v != nil {
				t.Errorf("%s: %s is %v, present: %t", path, f, v, present)
			}
		}
	}
	if got := c.PATCH("/api/v1/folders/"+folder, `{"color":null}`).Want(t, 200); got.JSON["color"] != "#6b7280" {
		t.Errorf("a folder's cleared color is %v", got.JSON["color"])
	}
	for path, fields := range map[string]string{"projects/" + project: "name sort_order visibility", "folders/" + folder: "name sort_order", "documents/" + document: "title"} {
		for _, f := range strings.Fields(fields) {
			c.PATCH("/api/v1/"+path, `{"`+f+`":null}`).WantError(t, 400, "VALIDATION_ERROR", f)
		}
	}
	c.POST("/api/v1/projects", `{"name":null}`).WantError(t, 400, "VALIDATION_ERROR", "name")
	c.POST("/api/v1/projects", `{"name":"a","sort_order":null}`).WantError(t, 400, "VALIDATION_ERROR", "sort_order")
	c.POST("/api/v1/projects", `{"name":"a","visibility":null}`).WantError(t, 400, "VALIDATION_ERROR", "visibility")
	c.POST("/api/v1/folders", `{"name":"a","entity_type":null}`).WantError(t, 400, "VALIDATION_ERROR", "entity_type")
	c.POST("/api/v1/documents", `{"title":null}`).WantError(t, 400, "VALIDATION_ERROR", "title")
}

// patchable are the resources of a workspace that PATCH changes, and the field by which the tests
// change them.
func patchable(t *testing.T, c *apitest.Client) map[string]string {
	t.Helper()
	ids := resources(t, c)
	return map[string]string{"/api/v1/projects/" + ids["projects"]: "name", "/api/v1/folders/" + ids["folders"]: "name",
		"/api/v1/brandings/" + ids["brandings"]: "name", "/api/v1/documents/" + ids["documents"]: "title"}
}

// D6
func TestPatch_AnswersTheWholeResource(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze()
		c := a.Workspace(sheaf.Business).Client("")
		for path, field := range patchable(t, c) {
			before := withoutText(c.GET(path).Want(t, 200).JSON)
			delete(before, "documents")
			events := c.GET("/api/v1/events").JSON["total"]
			a.Clock.Advance(time.Second)

			// Nothing to change, or only what cannot be.
			for _, body := range []string{`{}`, `{"id":"x","created_at":1,"unknown":[]}`} {
				c.PATCH(path, body).WantError(t, 400, "VALIDATION_ERROR", "at least one", field)
			}
			same := c.PATCH(path, map[string]any{field: before[field]}).Want(t, 200)
			if diff := cmp.Diff(before, same.JSON); diff != "" {
				t.Errorf("%s: a PATCH that changes nothing changed:\n%s", path, diff)
			}
			if got := c.GET("/api/v1/events").JSON["total"]; got != events {
				t.Errorf("%s: a PATCH that changes nothing emitted an event", path)
			}

			changed := c.PATCH(path, map[string]any{field: "other"}).Want(t, 200)
			before[field], before["updated_at"] = "other", a.Clock.Now().UTC().Format(sheaf.TimeFormat)
			if field == "title" {
				before["version"] = 2.0
			}
			if diff := cmp.Diff(before, changed.JSON); diff != "" {
				t.Errorf("%s: a PATCH changed something else:\n%s", path, diff)
			}
			again := withoutText(c.GET(path).Want(t, 200).JSON)
			delete(again, "documents")
			if diff := cmp.Diff(changed.JSON, again); diff != "" {
				t.Errorf("%s: it was answered otherwise than it is:\n%s", path, diff)
			}
		}
	})
}

// D7
func TestDelete_AnswersNoContentAndThenNotFound(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		ids := resources(t, c)
		nouns := slices.Sorted(maps.Keys(ids))
		slices.Reverse(nouns) // releases go with their project, so they are deleted before it
		for _, noun := range nouns {
			id := ids[noun]
			path := "/api/v1/" + noun + "/" + id
			switch noun {
			case "events", "deliveries", "proposals", "released": // nobody deletes them, or a document in a release
				continue
			case "subscriptions":
				path = "/api/webhooks/" + noun + "/" + id
			}
			gone := c.DELETE(path, tusHeader).Want(t, 204) // only uploads look at it
			if len(gone.Body) != 0 || gone.Header.Get("Content-Type") != "" {
				t.Errorf("%s: answered %q of type %q", path, gone.Body, gone.Header.Get("Content-Type"))
			}
			c.DELETE(path, tusHeader).WantError(t, 404, "NOT_FOUND")
			if noun != "api-keys" && noun != "uploads" { // they have no GET
				c.GET(path).WantError(t, 404, "NOT_FOUND")
			}
		}
	})
}

// D14
func TestAnswers_AreJSONWhateverIsAccepted(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	made := c.POST("/api/v1/projects", `{"name":"<b>&\u2028</b>"}`, "Accept: text/html").Want(t, 201)
	for _, accept := range []string{"text/html", "application/xml;q=1, */*;q=0", "nonsense", ""} {
		for path, status := range map[string]int{"/api/v1/projects": 200, "/api/v1/projects/" + made.Text(t, "id"): 200,
			"/api/v1/projects/1": 400, "/api/v1/nothing": 404, "/nothing": 404, "/healthz": 200} {
			got := c.GET(path, "Accept: "+accept).Want(t, status)
			if got.JSON == nil || got.Header.Get("Content-Type") != "application/json; charset=utf-8" {
				t.Errorf("%s for %q: got %q of type %q", path, accept, got.Body, got.Header.Get("Content-Type"))
			}
		}
	}
	if !strings.Contains(string(made.Body), `"name":"<b>&`) {
		t.Errorf("the name was escaped: %s", made.Body)
	}
	if list := c.GET("/api/v1/projects"); !strings.Contains(string(list.Body), `"name":"<b>&`) {
		t.Errorf("the name was escaped: %s", list.Body)
	}
	refused := c.POST("/api/v1/projects", `{"name":"a","color":"<red>"}`).WantError(t, 400, "VALIDATION_ERROR", "<red>")
	if !strings.Contains(string(refused.Body), "<red>") {
		t.Errorf("the error was escaped: %s", refused.Body)
	}
}

// D14: a person can act on every text.
func TestErrors_SayWhatToDo(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	c := ws.Client("")
	c.POST("/api/v1/projects", `{}`).WantError(t, 400, "VALIDATION_ERROR", "name", "required", "200")
	c.POST("/api/v1/projects", `{"name":7}`).WantError(t, 400, "VALIDATION_ERROR", "name", "string", "number")
	c.POST("/api/v1/projects", `{"name":"a","color":"red"}`).WantError(t, 400, "VALIDATION_ERROR", "color", "#6b7280")
	c.GET("/api/v1/projects?limit=0").WantError(t, 400, "VALIDATION_ERROR", "limit", "1", "100")
	c.POST("/api/v1/folders", `{"name":"a","entity_type":"branding"}`).WantError(t, 403, "PLAN_REQUIRED", "Business", "upgrade")
	ws.Client(ws.Key(sheaf.ProjectsWrite)).GET("/api/v1/projects").WantError(t, 403, "FORBIDDEN", "projects:read")
	a.Client("").GET("/api/v1/projects").WantError(t, 401, "UNAUTHORIZED", "Authorization: Bearer")
	// What was sent comes back shortened.
	long := c.POST("/api/v1/projects", map[string]any{"name": "a", "color": strings.Repeat("x", 10_000)}).Want(t, 400)
	if len(long.Body) > 1000 {
		t.Errorf("an error of %d bytes", len(long.Body))
	}
}

// D16
func TestKeyLimit_IsSpeltRight(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for range 4 {
		c.POST("/api/v1/api-keys", `{"name":"k","scopes":["projects:read"]}`).Want(t, 201)
	}
	c.POST("/api/v1/api-keys", `{"name":"k","scopes":["projects:read"]}`).WantError(t, 403, "KEY_LIMIT_REACHED", "5")
}

// D17: one resource is bare, and a list's items are never wrapped.
func TestShapes_ListsHaveTheEnvelope(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	resources(t, c)
	for _, noun := range []string{"projects", "folders", "documents", "events", "api-keys", "icons"} {
		got := c.GET("/api/v1/"+noun+"?limit=7&offset=1").Want(t, 200)
		var keys []string
		d := json.NewDecoder(strings.NewReader(string(got.Body)))
		for key := range got.JSON {
			keys = append(keys, key)
		}
		if _, err := d.Token(); err != nil || len(keys) != 4 || got.JSON["limit"] != 7.0 || got.JSON["offset"] != 1.0 {
			t.Errorf("%s: the envelope is %s", noun, got.Body)
		}
		empty := c.GET(fmt.Sprintf("/api/v1/%s?offset=1000", noun)).Want(t, 200)
		if !strings.HasPrefix(string(empty.Body), `{"data":[],"total":`) {
			t.Errorf("%s: an empty page is %s", noun, empty.Body)
		}
		first := c.GET("/api/v1/"+noun).Want(t, 200)
		if first.JSON["limit"] != 50.0 || first.JSON["offset"] != 0.0 {
			t.Errorf("%s: the defaults are %v and %v", noun, first.JSON["limit"], first.JSON["offset"])
		}
		if _, has := first.Items(t)[0]["id"]; !has {
			t.Errorf("%s: an item is wrapped: %s", noun, first.Body)
		}
	}
}
