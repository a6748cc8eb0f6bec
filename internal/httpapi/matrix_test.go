package httpapi_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// needs pins what each route asks of a key. A route that is added, or asks for something else, is
// to be written here by hand: that is the moment to think about it.
const needs = `
GET /api/v1/projects: projects:read
POST /api/v1/projects: projects:write
PUT /api/v1/projects: projects:write
GET /api/v1/projects/{id}: projects:read
PATCH /api/v1/projects/{id}: projects:write
DELETE /api/v1/projects/{id}: projects:write
POST /api/v1/projects/{id}/move: projects:write
GET /api/v1/projects/{id}/tree: projects:read documents:read
GET /api/v1/folders: projects:read
POST /api/v1/folders: projects:write
PUT /api/v1/folders: projects:write
GET /api/v1/folders/{id}: projects:read
PATCH /api/v1/folders/{id}: projects:write
DELETE /api/v1/folders/{id}: projects:write
POST /api/v1/folders/{id}/move: projects:write
GET /api/v1/brandings: brandings:read
POST /api/v1/brandings: brandings:write
GET /api/v1/brandings/{id}: brandings:read
PATCH /api/v1/brandings/{id}: brandings:write
DELETE /api/v1/brandings/{id}: brandings:write
POST /api/v1/brandings/{id}/move: brandings:write
GET /api/v1/documents: documents:read
POST /api/v1/documents: documents:write
PUT /api/v1/documents: documents:write
DELETE /api/v1/documents/{id}/permanent: documents:write
GET /api/v1/documents/{id}: documents:read
PATCH /api/v1/documents/{id}: documents:write
DELETE /api/v1/documents/{id}: documents:write
POST /api/v1/documents/{id}/move: documents:write
POST /api/v1/documents/{id}/restore: documents:write
GET /api/v1/documents/{id}/content: documents:read
PUT /api/v1/documents/{id}/content: documents:write
GET /api/v1/documents/{id}/versions: documents:read
GET /api/v1/documents/{id}/versions/{n}: documents:read
GET /api/v1/documents/{id}/versions/{n}/diff: documents:read
POST /api/v1/documents/{id}/versions/{n}/restore: documents:write
GET /api/v1/shares: shares:read
POST /api/v1/shares: shares:write documents:read media:read
GET /api/v1/shares/{id}: shares:read
PATCH /api/v1/shares/{id}: shares:write documents:read media:read
DELETE /api/v1/shares/{id}: shares:write
GET /api/v1/proposals: proposals:read
POST /api/v1/proposals: proposals:write
GET /api/v1/proposals/{id}: proposals:read
PATCH /api/v1/proposals/{id}: proposals:write
GET /api/v1/proposals/{id}/changes/{n}: proposals:read documents:read
POST /api/v1/proposals/{id}/approve: proposals:approve
DELETE /api/v1/proposals/{id}/approve: proposals:approve
POST /api/v1/proposals/{id}/accept: proposals:approve documents:write
POST /api/v1/proposals/{id}/reject: proposals:approve
POST /api/v1/proposals/{id}/withdraw: proposals:write
GET /api/v1/proposals/{id}/comments: proposals:read
POST /api/v1/proposals/{id}/comments: proposals:write
PATCH /api/v1/proposals/{id}/comments/{n}: proposals:write
DELETE /api/v1/proposals/{id}/comments/{n}: proposals:write
GET /api/v1/projects/{id}/releases: releases:read
POST /api/v1/projects/{id}/releases: releases:write
GET /api/v1/releases/{id}: releases:read
PATCH /api/v1/releases/{id}: releases:write
DELETE /api/v1/releases/{id}: releases:write
GET /api/v1/releases/{id}/tree: releases:read documents:read
GET /api/v1/releases/{id}/diff: releases:read documents:read
GET /api/v1/releases/{id}/documents/{document}: releases:read documents:read
GET /api/v1/releases/{id}/documents/{document}/content: releases:read documents:read
GET /api/v1/releases/{id}/media/{medium}/content: releases:read documents:read media:read
GET /api/v1/media: media:read
POST /api/v1/media: media:write
GET /api/v1/media/{id}: media:read
PATCH /api/v1/media/{id}: media:write
DELETE /api/v1/media/{id}: media:write
GET /api/v1/media/{id}/content: media:read
OPTIONS /api/v1/uploads: no key
OPTIONS /api/v1/uploads/{id}: no key
POST /api/v1/uploads: media:write
HEAD /api/v1/uploads/{id}: media:write
PATCH /api/v1/uploads/{id}: media:write
DELETE /api/v1/uploads/{id}: media:write
POST /api/v1/batch: projects:write or documents:write or shares:write
GET /api/v1/search: projects:read or documents:read
GET /api/v1/events: events:read
POST /api/v1/events: events:write
GET /api/v1/events/stream: events:read
GET /api/v1/events/{id}: events:read
GET /api/v1/events/{id}/deliveries: events:read webhooks:read
GET /api/v1/audit: audit:read
GET /api/webhooks/subscriptions: webhooks:read
POST /api/webhooks/subscriptions: webhooks:write
GET /api/webhooks/subscriptions/{id}: webhooks:read
PATCH /api/webhooks/subscriptions/{id}: webhooks:write
DELETE /api/webhooks/subscriptions/{id}: webhooks:write
POST /api/webhooks/subscriptions/{id}/test: webhooks:write
POST /api/webhooks/subscriptions/{id}/rotate-secret: webhooks:write
POST /api/webhooks/subscriptions/{id}/recover: webhooks:write
GET /api/webhooks/subscriptions/{id}/deliveries: webhooks:read
GET /api/webhooks/deliveries/{id}: webhooks:read
POST /api/webhooks/deliveries/{id}/redeliver: webhooks:write
GET /api/v1/api-keys: keys:read
POST /api/v1/api-keys: keys:write
POST /api/v1/api-keys/{id}/rotate: keys:write
DELETE /api/v1/api-keys/{id}: keys:write
GET /api/v1/me: any key
GET /api/v1/icons: any key
`

// The contract has every route of the API, with what it needs.
func TestRoutes_AreInTheContract(t *testing.T) {
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSpace(needs)) {
		method, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		path, need, _ := strings.Cut(rest, ": ")
		if need != "any key" && need != "no key" {
			need = "`" + strings.NewReplacer(" or ", "` or `", " ", "` and `").Replace(need) + "`"
		}
		row := fmt.Sprintf("\n| %s | `%s` | %s |", method, strings.NewReplacer("{id}", ":id", "{n}", ":n", "{document}", ":document", "{medium}", ":medium").Replace(path), need)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/contract.md has no row %s", strings.TrimSpace(row))
		}
	}
}

func TestRoutes_DeclareWhatTheyNeed(t *testing.T) {
	var got []string
	for _, r := range httpapi.New(httpapi.Config{}).Routes() {
		need := "any key"
		if r.Public {
			need = "no key"
		}
		if r.Need == nil && !r.Public {
			t.Errorf("%s %s declares no scope: give it one, or anyKey", r.Method, r.Path)
		}
		if len(r.Need) > 0 {
			need = strings.Join(sheaf.Scopes(r.Need).Strings(), " ")
		} else if len(r.OneOf) > 0 {
			need = strings.Join(sheaf.Scopes(r.OneOf).Strings(), " or ")
		}
		got = append(got, fmt.Sprintf("%s %s: %s", r.Method, r.Path, need))
	}
	want := strings.Split(strings.TrimSpace(needs), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the routes need something else (-want +got):\n%s", diff)
	}
}

// anyBody is valid for every route that takes one: fields that a route does not know are ignored.
const anyBody = `{"name":"n","notes":"n","title":"t","filename":"f","entity_type":"project","folder_id":null,"parent_id":null,
	"type":"media.uploaded","resource_id":"0190b0a0-0000-7000-8000-000000000000","payload":{},"scopes":["projects:read"],
	"content":"c","body":"b","listed":true,"changes":[{"op":"create","title":"t"}],
	"url":"https://hooks.example.com/sheaf","events":["project.created"],"since":"2020-01-01T00:00:00Z"}`

// resources makes one of each noun that stands before an {id}, and returns their ids.
func resources(t *testing.T, c *apitest.Client) map[string]string {
	t.Helper()
	made := map[string]string{}
	subscription := c.POST("/api/webhooks/subscriptions", anyBody).Want(t, 201).JSON["subscription"].(map[string]any)
	made["subscriptions"] = fmt.Sprint(subscription["id"])
	for _, noun := range []string{"projects", "folders", "brandings", "documents", "media", "events", "api-keys", "proposals"} {
		made[noun] = c.POST("/api/v1/"+noun, anyBody).Text(t, "id")
	}
	made["shares"] = c.POST("/api/v1/shares", map[string]string{"resource_type": "document", "resource_id": made["documents"]}).Text(t, "id")
	released := c.POST("/api/v1/documents", map[string]string{"title": "Released", "project_id": made["projects"], "content": "![](media:" + made["media"] + ")"})
	made["released"] = released.Text(t, "id")
	made["releases"] = c.POST("/api/v1/projects/"+made["projects"]+"/releases", map[string]string{"name": "1.0"}).Text(t, "id")
	made["uploads"] = strings.TrimPrefix(begin(t, c, 10), uploadsPath+"/")
	made["deliveries"] = c.GET("/api/webhooks/subscriptions/" + made["subscriptions"] + "/deliveries").IDs(t)[0]
	return made
}

const unknownID = "0190b0a0-dead-7000-8000-000000000000"

// target returns the route's path with an id of the right noun.
func target(t *testing.T, r httpapi.Route, ids map[string]string) string {
	t.Helper()
	before, _, has := strings.Cut(r.Path, "/{id}")
	if !has {
		return r.Path
	}
	noun := before[strings.LastIndexByte(before, '/')+1:]
	id, known := ids[noun]
	if !known {
		t.Fatalf("%s: resources makes none of the %s", r.Path, noun)
	}
	return strings.NewReplacer("{id}", id, "{n}", "1", "{document}", ids["released"], "{medium}", ids["media"]).Replace(r.Path)
}

// send makes the request of a route, with what its protocol asks for.
func send(c *apitest.Client, r httpapi.Route, path string) *apitest.Response {
	if strings.HasPrefix(r.Path, uploadsPath) {
		var body any
		if r.Body {
			body = anyBody
		}
		return c.Do(r.Method, path, body, tusHeader, pieceHeader, "Upload-Offset: 0", "Upload-Length: 10")
	}
	if strings.HasSuffix(r.Path, "/content") && r.Body {
		return c.Do(r.Method, path, anyBody, "Content-Type: text/plain")
	}
	if r.Body {
		return c.Do(r.Method, path, anyBody)
	}
	if r.Method == "POST" && strings.HasPrefix(r.Path, proposals) {
		return c.Do(r.Method, path, nil, `If-Match: "1-0"`) // some decisions need If-Match
	}
	return c.Do(r.Method, path, nil)
}

// wantRefusal is WantError; the answer to a HEAD has no body.
func wantRefusal(t *testing.T, r httpapi.Route, got *apitest.Response, status int, code string, parts ...string) *apitest.Response {
	t.Helper()
	if r.Method == "HEAD" {
		return got.Want(t, status)
	}
	return got.WantError(t, status, code, parts...)
}

// D8, D11, D50, D51, D53, D121: every route, with every sort of key that opens nothing.
func TestRoutes_RefuseEveryKeyThatMayNot(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		ids := resources(t, c)
		untouched := everything(t, c)

		secret, key := ws.NewKey(nil)
		ws.Revoke(key.ID)
		past := a.Clock.Now().Add(-time.Second)
		expired, _ := ws.NewKey(func(k *sheaf.Key) { k.ExpiresAt = &past })
		badKeys := map[string]string{"no key": "", "garbage": "garbage", "flipped checksum": flipped(ws.Key()), "expired": expired,
			"revoked": secret, "well-formed, unknown": otherKey()}
		free := a.Workspace(sheaf.Free).Client("")

		for _, r := range a.Handler.Routes() {
			if r.Public {
				continue
			}
			t.Run(r.Method+" "+r.Path, func(t *testing.T) {
				path := target(t, r, ids)
				for name, bad := range badKeys {
					got := wantRefusal(t, r, send(a.Client(bad), r, path), 401, "UNAUTHORIZED")
					want := `Bearer error="invalid_token"` // RFC 6750: no error where no key was sent
					if bad == "" {
						want = "Bearer"
					}
					if h := got.Header["Www-Authenticate"]; len(h) != 1 || h[0] != want {
						t.Errorf("%s: WWW-Authenticate is %q, want %q", name, h, want)
					}
				}
				if h := wantRefusal(t, r, send(free, r, path), 403, "PLAN_REQUIRED", "Pro", "Business").Header["Www-Authenticate"]; h != nil {
					t.Errorf("on the free plan WWW-Authenticate is %q", h)
				}
				challenge := `Bearer error="insufficient_scope", scope="` + joined(r.Need) + `"`
				if len(r.OneOf) > 0 {
					rest := slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return slices.Contains(r.OneOf, s) })
					got := send(ws.Client(ws.Key(rest...)), r, path).WantError(t, 403, "FORBIDDEN")
					if h := got.Header.Get("Www-Authenticate"); h != `Bearer error="insufficient_scope", scope="`+joined(r.OneOf)+`"` {
						t.Errorf("without any of %s WWW-Authenticate is %q", joined(r.OneOf), h)
					}
				}
				for _, scope := range r.Need {
					rest := slices.DeleteFunc(slices.Clone(sheaf.AllScopes), func(s sheaf.Scope) bool { return s == scope })
					got := wantRefusal(t, r, send(ws.Client(ws.Key(rest...)), r, path), 403, "FORBIDDEN", string(scope))
					if h := got.Header["Www-Authenticate"]; len(h) != 1 || h[0] != challenge {
						t.Errorf("without %s WWW-Authenticate is %q, want %q", scope, h, challenge)
					}
				}
			})
		}
		if diff := cmp.Diff(untouched, everything(t, c)); diff != "" {
			t.Errorf("a refused request changed something:\n%s", diff)
		}
	})
}

// D8: another workspace's id answers byte for byte as one that nobody has.
func TestRoutes_ForeignIDIsAsAnUnknownOne(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		theirs := a.Workspace(sheaf.Business).Client("")
		foreign := resources(t, theirs)
		unknown := map[string]string{}
		for noun, id := range foreign {
			unknown[noun] = unknownID
			if strings.HasPrefix(id, sheaf.EventPrefix) {
				unknown[noun] = sheaf.EventPrefix + unknownID
			}
		}
		untouched := everything(t, theirs)
		c := a.Workspace(sheaf.Business).Client("")
		for _, r := range a.Handler.Routes() {
			if !strings.Contains(r.Path, "{id}") || r.Public {
				continue
			}
			t.Run(r.Method+" "+r.Path, func(t *testing.T) {
				want := wantRefusal(t, r, send(c, r, target(t, r, unknown)), 404, "NOT_FOUND")
				got := wantRefusal(t, r, send(c, r, target(t, r, foreign)), 404, "NOT_FOUND")
				same(t, want, got)
			})
		}
		if diff := cmp.Diff(untouched, everything(t, theirs)); diff != "" {
			t.Errorf("a request from outside changed something:\n%s", diff)
		}
	})
}

// D8: the same for ids in bodies, and in filters, where they select nothing.
func TestReferences_ForeignIDIsAsAnUnknownOne(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		foreign := resources(t, a.Workspace(sheaf.Business).Client(""))
		c := a.Workspace(sheaf.Business).Client("")
		own := resources(t, c)
		for _, test := range []struct {
			method, path, body string
			noun               string // the id stands for %s
			status             int
		}{
			{"POST", "/api/v1/projects", `{"name":"n","folder_id":"%s"}`, "folders", 404},
			{"PATCH", "/api/v1/projects/" + own["projects"], `{"folder_id":"%s"}`, "folders", 404},
			{"POST", "/api/v1/projects/" + own["projects"] + "/move", `{"folder_id":"%s"}`, "folders", 404},
			{"POST", "/api/v1/folders", `{"name":"n","entity_type":"project","parent_id":"%s"}`, "folders", 404},
			{"PATCH", "/api/v1/documents/" + own["documents"], `{"parent_id":"%s"}`, "documents", 404},
			{"POST", "/api/v1/documents", `{"title":"x","parent_id":"%s"}`, "documents", 404},
			{"POST", "/api/v1/documents/" + own["documents"] + "/move", `{"project_id":"%s"}`, "projects", 404},
			{"POST", "/api/v1/documents/" + own["documents"] + "/move", `{"parent_id":"%s"}`, "documents", 404},
			{"POST", "/api/v1/documents/" + own["documents"] + "/move", `{"before_id":"%s"}`, "documents", 404},
			{"POST", "/api/v1/folders/" + own["folders"] + "/move", `{"parent_id":"%s"}`, "folders", 404},
			{"POST", "/api/v1/documents", `{"title":"t","project_id":"%s"}`, "projects", 404},
			{"PATCH", "/api/v1/documents/" + own["documents"], `{"project_id":"%s"}`, "projects", 404},
			{"POST", "/api/v1/brandings", `{"name":"n","folder_id":"%s"}`, "folders", 404},
			{"POST", "/api/v1/brandings", `{"name":"n","logo_media_id":"%s"}`, "media", 404},
			{"PATCH", "/api/v1/brandings/" + own["brandings"], `{"logo_media_id":"%s"}`, "media", 404},
			{"PATCH", "/api/v1/brandings/" + own["brandings"], `{"folder_id":"%s"}`, "folders", 404},
			{"POST", "/api/v1/brandings/" + own["brandings"] + "/move", `{"folder_id":"%s"}`, "folders", 404},
			{"GET", "/api/v1/brandings?folder_id=%s", "", "folders", 200},
			{"POST", "/api/v1/shares", `{"resource_type":"document","resource_id":"%s"}`, "documents", 404},
			{"POST", "/api/v1/shares", `{"resource_type":"project","resource_id":"%s"}`, "projects", 404},
			{"POST", "/api/v1/shares", `{"resource_type":"document","resource_id":"` + own["documents"] + `","branding_id":"%s"}`, "brandings", 404},
			{"PATCH", "/api/v1/shares/" + own["shares"], `{"branding_id":"%s"}`, "brandings", 404},
			{"GET", "/api/v1/shares?resource_id=%s", "", "documents", 200},
			{"POST", "/api/v1/proposals", `{"title":"t","changes":[{"op":"restore","document_id":"%s"}]}`, "documents", 404},
			{"POST", "/api/v1/proposals", `{"title":"t","changes":[{"op":"edit","base_version":1,"title":"x","document_id":"%s"}]}`, "documents", 404},
			{"POST", "/api/v1/proposals", `{"title":"t","changes":[{"op":"create","title":"x","project_id":"%s"}]}`, "projects", 404},
			{"POST", "/api/v1/proposals", `{"title":"t","changes":[{"op":"move","document_id":"` + own["documents"] + `","before_id":"%s"}]}`, "documents", 404},
			{"GET", "/api/v1/proposals?document_id=%s", "", "documents", 200},
			{"GET", "/api/v1/proposals?project_id=%s", "", "projects", 200},
			{"POST", "/api/v1/media?document_id=%s", "bytes", "documents", 404},
			{"PATCH", "/api/v1/media/" + own["media"], `{"document_id":"%s"}`, "documents", 404},
			{"GET", "/api/v1/media?document_id=%s", "", "documents", 200},
			{"GET", "/api/v1/projects?folder_id=%s", "", "folders", 200},
			{"GET", "/api/v1/folders?parent_id=%s", "", "folders", 200},
			{"GET", "/api/v1/documents?project_id=%s", "", "projects", 200},
			{"GET", "/api/v1/search?q=n&project_id=%s", "", "projects", 200},
			{"GET", "/api/v1/search?q=n&folder_id=%s", "", "folders", 200},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"create","resource_type":"project","body":{"name":"n","folder_id":"%s"}}]}`, "folders", 404},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"delete","resource_type":"project","resource_id":"%s"}]}`, "projects", 404},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"move","resource_type":"document","resource_id":"` + own["documents"] + `","body":{"project_id":"%s"}}]}`, "projects", 404},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"update","resource_type":"document","resource_id":"%s","body":{"title":"t"}}]}`, "documents", 404},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"delete","resource_type":"folder","resource_id":"%s"}]}`, "folders", 404},
			{"POST", "/api/v1/batch", `{"operations":[{"action":"delete","resource_type":"share","resource_id":"%s"}]}`, "shares", 404},
			{"GET", "/api/v1/events?resource_id=%s", "", "projects", 200},
			{"GET", "/api/v1/events?after=%s", "", "events", 404},
		} {
			t.Run(test.method+" "+test.path, func(t *testing.T) {
				ask := func(id string) *apitest.Response {
					path := strings.ReplaceAll(test.path, "%s", id)
					if test.body == "" {
						return c.GET(path)
					}
					return c.Do(test.method, path, strings.ReplaceAll(test.body, "%s", id))
				}
				nobodys := unknownID
				if test.noun == "events" {
					nobodys = sheaf.EventPrefix + nobodys
				}
				got := ask(foreign[test.noun]).Want(t, test.status)
				same(t, ask(nobodys).Want(t, test.status), got)
				if test.status == 200 && (len(got.Items(t)) != 0 || got.JSON["total"] != 0.0) {
					t.Errorf("got %s, want an empty page", got.Body)
				}
			})
		}
	})
}

// same ends the test if the answers differ in more than the request's id and the date.
func same(t *testing.T, want, got *apitest.Response) {
	t.Helper()
	for _, r := range []*apitest.Response{want, got} {
		r.Header = maps.Clone(r.Header)
		r.Header.Del("X-Request-Id")
		r.Header.Del("Date")
	}
	if diff := cmp.Diff(want.Header, got.Header); diff != "" {
		t.Errorf("the headers differ (-unknown +foreign):\n%s", diff)
	}
	if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
		t.Errorf("the bodies differ (-unknown +foreign):\n%s", diff)
	}
}

// everything returns all that the workspace's lists show, but for the keys: tests make some.
func everything(t *testing.T, c *apitest.Client) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, path := range []string{"v1/projects", "v1/folders", "v1/brandings", "v1/documents", "v1/shares", "v1/media", "v1/events", "webhooks/subscriptions"} {
		out[path] = string(c.GET("/api/"+path+"?limit=100").Want(t, 200).Body)
	}
	return out
}

// flipped returns the key with its last character changed.
func flipped(key string) string {
	last := byte('x')
	if key[len(key)-1] == last {
		last = 'y'
	}
	return key[:len(key)-1] + string(last)
}

func joined(scopes []sheaf.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, " ")
}
