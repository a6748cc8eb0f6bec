package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// wantReplay checks that again is the repetition of first.
func wantReplay(t testing.TB, first, again *apitest.Response) {
	t.Helper()
	again.Want(t, first.Status)
	wantBody(t, again, string(first.Body))
	for _, name := range []string{"Location", "Etag", "Content-Type"} {
		if first.Header.Get(name) != again.Header.Get(name) {
			t.Errorf("%s: first %q, again %q", name, first.Header.Get(name), again.Header.Get(name))
		}
	}
	if first.Header.Get("Idempotent-Replayed") != "" || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("Idempotent-Replayed: first %q, again %q", first.Header.Get("Idempotent-Replayed"), again.Header.Get("Idempotent-Replayed"))
	}
}

// D57: on every POST a repetition gets the first answer and does nothing.
func TestIdempotency_Replay(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		sub := create(t, c, folders, fields{"name": "s", "entity_type": "project"})
		project := create(t, c, projects, fields{"name": "p"})
		document := create(t, c, documents, fields{"title": "d"})
		c.DELETE(at(documents, document)).Want(t, 204)
		posts := map[string]string{
			projects:                             `{"name":"<new>"}`,
			folders:                              `{"name":"new","entity_type":"project"}`,
			documents:                            `{"title":"new"}`,
			events:                               `{"type":"media.uploaded","resource_id":"` + nowhereID + `","payload":{"n":1.0}}`,
			at(projects, project) + "/move":      `{"folder_id":"` + folder + `"}`,
			at(folders, sub) + "/move":           `{"parent_id":"` + folder + `"}`,
			at(documents, document) + "/restore": ``,
		}
		for path, body := range posts {
			var first, again *apitest.Response
			es := emitted(t, c, func() {
				first = c.POST(path, body, "Idempotency-Key: k")
				if first.Status/100 != 2 {
					t.Fatalf("%s: got %d %s", path, first.Status, first.Body)
				}
				a.Clock.Advance(time.Hour)
				again = c.POST(path, body, "Idempotency-Key: k", "If-None-Match: *")
			})
			if len(es) != 1 {
				t.Errorf("%s: twice emitted %q", path, typesOf(es))
			}
			wantReplay(t, first, again)
		}
		// The answer is the first one, also when the resource is another by now, or gone, or the
		// answer no longer possible.
		made := c.POST(projects, `{"name":"<new>"}`, "Idempotency-Key: k").Want(t, 201)
		c.PATCH(at(projects, made.Text(t, "id")), `{"name":"changed"}`).Want(t, 200)
		wantBody(t, c.POST(projects, `{"name":"<new>"}`, "Idempotency-Key: k").Want(t, 201), string(made.Body))
		c.DELETE(at(folders, folder)).Want(t, 204)
		c.DELETE(at(projects, project)).Want(t, 204)
		c.POST(at(projects, project)+"/move", posts[at(projects, project)+"/move"], "Idempotency-Key: k").Want(t, 200)
		c.POST(at(projects, project)+"/move", posts[at(projects, project)+"/move"], "Idempotency-Key: k", `If-Match: "99-x"`).Want(t, 200)
		c.POST(at(projects, project)+"/move", posts[at(projects, project)+"/move"]).WantError(t, 404, "NOT_FOUND")
		// A 2xx that changed nothing is kept too.
		es := emitted(t, c, func() {
			first := c.POST(at(documents, document)+"/restore", nil, "Idempotency-Key: other").Want(t, 200)
			c.DELETE(at(documents, document)).Want(t, 204)
			wantReplay(t, first, c.POST(at(documents, document)+"/restore", nil, "Idempotency-Key: other"))
		})
		wantSame(t, "restoring twice", typesOf(es), []string{"document.deleted " + document})
	})
}

// D57: another body is a conflict; an endpoint without a body has none to compare.
func TestIdempotency_Conflict(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		c.POST(projects, `{"name":"a"}`, "Idempotency-Key: k").Want(t, 201)
		for _, body := range []string{`{"name":"b"}`, `{"name":"a" }`, `{"name":"a","folder_id":"` + nowhereID + `"}`} {
			c.POST(projects, body, "Idempotency-Key: k").WantError(t, 409, "IDEMPOTENCY_CONFLICT", "Idempotency-Key")
		}
		c.POST(projects, `{"name":""}`, "Idempotency-Key: k").WantError(t, 400, "VALIDATION_ERROR") // what is no request conflicts with none
		c.POST(projects, `{`, "Idempotency-Key: k").WantError(t, 400, "VALIDATION_ERROR")
		c.POST(projects, `{"name":"a"}`, "Idempotency-Key: k").Want(t, 201)
		if n := len(c.GET(projects).IDs(t)); n != 1 {
			t.Errorf("%d projects", n)
		}
		id := create(t, c, documents, fields{"title": "d"})
		first := c.POST(at(documents, id)+"/restore", `{"a":1}`, "Idempotency-Key: k").Want(t, 200)
		wantReplay(t, first, c.POST(at(documents, id)+"/restore", `nonsense`, "Idempotency-Key: k"))
	})
}

// D57: what was refused has not used the key.
func TestIdempotency_RefusedLeavesTheKeyUnused(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		folder := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		project := create(t, c, projects, fields{"name": "p"})
		c.POST(projects, `{"name":""}`, "Idempotency-Key: k").Want(t, 400)
		c.POST(projects, fields{"name": "x", "folder_id": nowhereID}, "Idempotency-Key: k").Want(t, 404)
		ws.Client(ws.Key(sheaf.ProjectsRead)).POST(projects, `{"name":"x"}`, "Idempotency-Key: k").Want(t, 403)
		c.POST(projects, `{"name":"x"}`, "Idempotency-Key: k").Want(t, 201)
		move := at(projects, project) + "/move"
		c.POST(move, fields{"folder_id": folder}, "Idempotency-Key: k", `If-Match: "9-x"`).Want(t, 412)
		c.POST(move, fields{"folder_id": folder}, "Idempotency-Key: k").Want(t, 200)
		c.POST(folders, fields{"name": "b", "entity_type": "branding"}, "Idempotency-Key: k").WantError(t, 403, "PLAN_REQUIRED")
		ws.SetPlan(sheaf.Business)
		if r := c.POST(folders, fields{"name": "b", "entity_type": "branding"}, "Idempotency-Key: k").Want(t, 201); r.Header.Get("Idempotent-Replayed") != "" {
			t.Error("a refusal was replayed")
		}
	})
}

// D57: 64 repetitions at once have one effect and one answer.
func TestIdempotency_Concurrent(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		es := emitted(t, c, func() {
			replayed := 0
			bodies := map[string]bool{}
			for _, r := range apitest.Together(64, func(int) *apitest.Response { return c.POST(projects, `{"name":"p"}`, "Idempotency-Key: k") }) {
				r.Want(t, 201)
				bodies[string(r.Body)] = true
				if r.Header.Get("Idempotent-Replayed") == "true" {
					replayed++
				}
			}
			if replayed != 63 || len(bodies) != 1 {
				t.Errorf("%d of 64 were replayed, with %d bodies", replayed, len(bodies))
			}
		})
		if n := len(c.GET(projects).IDs(t)); n != 1 || len(es) != 1 {
			t.Errorf("%d projects, %d events", n, len(es))
		}
		// Of 64 with different bodies one is done, the others are conflicts.
		rs := apitest.Together(64, func(i int) *apitest.Response {
			return c.POST(documents, fields{"title": fmt.Sprint(i)}, "Idempotency-Key: k")
		})
		if n := apitest.Statuses(rs); n[201] != 1 || n[409] != 63 {
			t.Errorf("got %v", n)
		}
	})
}

// D57: while others send batches that are refused after their first operation, every answer names a
// project that exists: a repetition names that of the first, and a 409 the holder of the external_id.
func TestIdempotency_BesideBatchesThatAreRefused(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, other := a.Workspace(sheaf.Pro).Client(""), a.Workspace(sheaf.Pro).Client("")
		refused := []fields{{"action": "create", "resource_type": "project", "body": fields{"name": "a"}},
			{"action": "delete", "resource_type": "project", "resource_id": nowhereID}}
		done := make(chan struct{})
		var spoilers sync.WaitGroup
		for range 4 {
			spoilers.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						if r := run(other, refused); r.Status != 404 {
							t.Errorf("a batch that deletes what is not there got %d %s", r.Status, r.Body)
							return
						}
					}
				}
			})
		}
		for round := range 15 {
			made, held := map[string]bool{}, map[string]bool{}
			for i, r := range apitest.Together(16, func(i int) *apitest.Response {
				if i%2 == 0 {
					return c.POST(projects, fields{"name": "p"}, fmt.Sprint("Idempotency-Key: k", round))
				}
				return c.POST(projects, fields{"name": "q", "external_id": fmt.Sprint("x", round)})
			}) {
				switch {
				case i%2 == 0:
					made[r.Want(t, 201).Text(t, "id")] = true
				case r.Status == 201:
					held[r.Text(t, "id")] = true
				default:
					r.WantError(t, 409, "CONFLICT")
					held[regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(string(r.Body))] = true
				}
			}
			for _, ids := range []map[string]bool{made, held} {
				for id := range ids {
					c.GET(at(projects, id)).Want(t, 200)
				}
				if len(ids) != 1 {
					t.Errorf("round %d: the answers name %d projects", round, len(ids))
				}
			}
		}
		close(done)
		spoilers.Wait()
	})
}

// D57: secrets that are shown once are not kept: a repetition has null in their place.
func TestIdempotency_SecretsAreNotKept(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		body := `{"name":"k","scopes":["projects:read"],"expires_at":"2026-11-15T11:00:00.000Z"}`
		first := c.POST(keys, body, "Idempotency-Key: k").Want(t, 201)
		secret := first.Text(t, "key")
		a.Clock.Advance(2 * time.Hour) // the key has expired, the answer has not
		again := c.POST(keys, body, "Idempotency-Key: k").Want(t, 201)
		wantBody(t, again, strings.Replace(string(first.Body), `"key":"`+secret+`"`, `"key":null`, 1))
		if again.Header.Get("Idempotent-Replayed") != "true" || again.Header.Get("Location") != first.Header.Get("Location") {
			t.Errorf("headers %v", again.Header)
		}
		if n := len(c.GET(keys).IDs(t)); n != 1 {
			t.Errorf("%d live keys", n)
		}
	})
}

// D57: an Idempotency-Key counts for one path of one workspace, only for POST, and for all API keys.
func TestIdempotency_Scope(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		body := `{"name":"x","title":"x","entity_type":"project"}`
		first := c.POST(projects, body, "Idempotency-Key: k").Want(t, 201)
		for _, r := range []*apitest.Response{
			c.POST(folders, body, "Idempotency-Key: k"), c.POST(documents, body, "Idempotency-Key: k"),
			a.Workspace(sheaf.Pro).Client("").POST(projects, body, "Idempotency-Key: k"), c.POST(projects, body, "Idempotency-Key: K"),
		} {
			if r.Want(t, 201).Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("replayed: %s", r.Body)
			}
		}
		wantReplay(t, first, ws.Client("").POST(projects, body, "Idempotency-Key: k"))
		one := at(projects, first.Text(t, "id"))
		c.PATCH(one, `{"name":"y"}`, "Idempotency-Key: k").Want(t, 200)
		c.PATCH(one, `{"name":"z"}`, "Idempotency-Key: k").Want(t, 200)
		c.DELETE(one, "Idempotency-Key: k").Want(t, 204)
		c.DELETE(one, "Idempotency-Key: k").Want(t, 404)
	})
}

// D57: answers are kept for 24 hours.
func TestIdempotency_Expiry(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Set(morning)
		c := a.Workspace(sheaf.Pro).Client("")
		first := c.POST(projects, `{"name":"a"}`, "Idempotency-Key: k").Want(t, 201)
		a.Clock.Set(morning.Add(24*time.Hour - time.Millisecond))
		wantReplay(t, first, c.POST(projects, `{"name":"a"}`, "Idempotency-Key: k"))
		a.Clock.Set(morning.Add(24 * time.Hour))
		second := c.POST(projects, `{"name":"b"}`, "Idempotency-Key: k").Want(t, 201)
		if second.Header.Get("Idempotent-Replayed") != "" || second.Text(t, "name") != "b" {
			t.Errorf("after a day: %s", second.Body)
		}
		a.Clock.Advance(24*time.Hour - time.Millisecond) // the new answer has a day of its own
		wantReplay(t, second, c.POST(projects, `{"name":"b"}`, "Idempotency-Key: k"))
	})
}

// D57: 1 to 255 printable ASCII characters.
func TestIdempotency_KeysThemselves(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	for _, key := range []string{"", strings.Repeat("k", 256), "é", "a\tb"} {
		c.POST(projects, `{"name":"p"}`, "Idempotency-Key: "+key).WantError(t, 400, "VALIDATION_ERROR", "Idempotency-Key")
	}
	for _, key := range []string{"1", strings.Repeat("~", 255), `a b"'\%`} {
		c.POST(projects, `{"name":"p"}`, "Idempotency-Key: "+key).Want(t, 201)
		c.POST(projects, `{"name":"q"}`, "Idempotency-Key: "+key).WantError(t, 409, "IDEMPOTENCY_CONFLICT")
	}
	if n := len(c.GET(projects).IDs(t)); n != 3 {
		t.Errorf("%d projects", n)
	}
}
