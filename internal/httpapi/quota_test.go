package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// A workspace has as many projects, folders and documents together as its plan allows, and is told
// what to do then.
func TestQuota_OfRecords(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Pro)
		c := ws.Client("")
		project, folder, document := `{"name":"p"}`, `{"name":"f","entity_type":"project"}`, `{"title":"d"}`
		made := c.POST(projects, project, "Idempotency-Key: first").Want(t, 201)
		c.POST(folders, folder).Want(t, 201)
		gone := c.POST(documents, document).Want(t, 201).Text(t, "id")
		c.DELETE(at(documents, gone)).Want(t, 204)
		kept := c.POST(documents, document).Want(t, 201).Text(t, "id")
		a.MaxRecords.Store(4)
		f := c.POST(folders, folder).Want(t, 201).Text(t, "id") // the fourth: one of the documents is deleted
		full := func(r *apitest.Response) {
			t.Helper()
			r.WantError(t, 403, "QUOTA_REACHED", "4 projects, folders, documents and brandings", "pro plan allows 4", "delete", "upgrade")
		}
		full(c.POST(projects, project))
		full(c.POST(folders, folder))
		full(c.POST(documents, document))
		full(c.POST(at(documents, gone)+"/restore", nil))
		// What adds nothing goes on, and nothing was added by what was refused.
		wantSame(t, "a repetition", []string{c.POST(projects, project, "Idempotency-Key: first").Want(t, 201).Text(t, "id")}, []string{made.Text(t, "id")})
		c.PATCH(at(documents, kept), `{"title":"other"}`).Want(t, 200)
		c.POST(at(documents, kept)+"/restore", nil).Want(t, 200)
		c.GET(me).Want(t, 200)
		if n := len(c.GET(projects).IDs(t)) + len(c.GET(folders).IDs(t)) + len(c.GET(documents).IDs(t)); n != 4 {
			t.Errorf("%d records are there", n)
		}
		// What is deleted makes room.
		c.DELETE(at(folders, f)).Want(t, 204)
		c.POST(at(documents, gone)+"/restore", nil).Want(t, 200)
		full(c.POST(projects, project))
		c.DELETE(at(documents, gone)).Want(t, 204)
		c.POST(projects, project).Want(t, 201)
		// Another workspace has a number of its own, and 0 is any number.
		a.Workspace(sheaf.Pro).Client("").POST(projects, project).Want(t, 201)
		a.MaxRecords.Store(0)
		c.POST(projects, project).Want(t, 201)
	})
}

// The number holds exactly when many create at once, whatever they create.
func TestQuota_UnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.MaxRecords.Store(20)
		c := a.Workspace(sheaf.Business).Client("")
		rs := apitest.Together(64, func(i int) *apitest.Response {
			switch i % 3 {
			case 0:
				return c.POST(projects, fields{"name": fmt.Sprint(i)})
			case 1:
				return c.POST(folders, fields{"name": fmt.Sprint(i), "entity_type": "project"})
			}
			return c.POST(documents, fields{"title": fmt.Sprint(i)})
		})
		if n := apitest.Statuses(rs); n[201] != 20 || n[403] != 44 {
			t.Errorf("of 64 at once, where 20 may be: %v", n)
		}
	})
}

// D105: a workspace stores as many bytes of texts, with those of past versions, as its plan allows, and /me tells how
// many they are.
func TestQuota_OfTexts(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		a.Quota.Store(20)
		c := a.Workspace(sheaf.Pro).Client("")
		stores := func(used int, quota string) {
			t.Helper()
			want := fmt.Sprintf(`"storage":{"used":%d,"quota":%s}}`, used, quota)
			if r := c.GET(me).Want(t, 200); !strings.HasSuffix(string(r.Body), want) {
				t.Errorf("got %s, want …%s", r.Body, want)
			}
		}
		stores(0, "20")
		d := at(documents, c.POST(documents, fields{"title": "d", "content": "0123456789"}).Want(t, 201).Text(t, "id"))
		put(c, d, "abcdefghij").Want(t, 200)
		stores(20, "20") // exactly full
		full := func(r *apitest.Response, bytes string) {
			t.Helper()
			r.WantError(t, 403, "QUOTA_REACHED", "stores 20 bytes", "pro plan allows 20", bytes+" more", "upgrade")
		}
		full(put(c, d, "x"), "1")
		full(c.PATCH(d, fields{"content": "xyz"}), "3")
		full(c.POST(documents, fields{"title": "e", "content": "x"}), "1")
		// A text that a version of the document has needs no room, and neither does an empty text.
		put(c, d, "0123456789").Want(t, 200)
		c.POST(d+"/versions/2/restore", nil).Want(t, 200)
		c.PATCH(d, fields{"title": "other", "content": nil}).Want(t, 200)
		c.POST(documents, fields{"title": "e"}).Want(t, 201)
		if n := len(c.GET(documents).IDs(t)); n != 2 {
			t.Errorf("%d documents are there, want 2", n)
		}
		// What is in the trash still counts.
		c.DELETE(d).Want(t, 204)
		stores(20, "20")
		// Another workspace has a number of its own, and 0 is any number.
		a.Workspace(sheaf.Pro).Client("").POST(documents, fields{"title": "d", "content": "x"}).Want(t, 201)
		a.Quota.Store(0)
		c.POST(documents, fields{"title": "f", "content": "x"}).Want(t, 201)
		stores(21, "null")
	})
}

// D105: the bytes hold exactly when many write at once, at the brink, new documents and new texts of old ones.
func TestQuota_OfTextsUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		var old []string
		for i := range 32 {
			old = append(old, at(documents, c.POST(documents, fields{"title": fmt.Sprint(i)}).Want(t, 201).Text(t, "id")))
		}
		a.Quota.Store(209) // room for 20 texts of ten bytes, and not for the 21st
		rs := apitest.Together(64, func(i int) *apitest.Response {
			if text := fmt.Sprintf("text %05d", i); i%2 == 0 {
				return c.POST(documents, fields{"title": "new", "content": text})
			} else {
				return put(c, old[i/2], text)
			}
		})
		if n := apitest.Statuses(rs); n[200]+n[201] != 20 || n[403] != 44 {
			t.Errorf("of 64 at once, where 20 have room: %v", n)
		}
		if body := string(c.GET(me).Want(t, 200).Body); !strings.HasSuffix(body, `"storage":{"used":200,"quota":209}}`) {
			t.Errorf("20 texts of ten bytes are stored, and /me says %s", body)
		}
	})
}

// used returns storage.used of /me.
func used(t *testing.T, c *apitest.Client) int {
	t.Helper()
	return int(c.GET(me).Want(t, 200).JSON["storage"].(map[string]any)["used"].(float64))
}

// report sends an event of another part with a payload of that many bytes.
func report(c *apitest.Client, payload int, headers ...string) *apitest.Response {
	return c.POST(events, `{"type":"generation.started","resource_id":"`+nowhereID+`","payload":{"x":"`+strings.Repeat("x", payload-len(`{"x":""}`))+`"}}`, headers...)
}

// D63, D105: a reported event counts in the quota with all of its bytes while it is kept, and one too many is refused
// before anything is done. No ordinary change is refused for it.
func TestQuota_OfReportedEvents(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		size := len(report(c, 256<<10).Want(t, 202).Body)
		if n := used(t, c); n != size || size < 256<<10 {
			t.Errorf("an event of %d bytes counts %d", size, n)
		}
		a.Quota.Store(int64(2 * size))
		report(c, 256<<10).Want(t, 202) // exactly full
		report(c, 10).WantError(t, 403, "QUOTA_REACHED", fmt.Sprintf("stores %d bytes, %[1]d of them in reported events", 2*size), "upgrade")
		if n := len(c.GET(events).IDs(t)); n != 2 || used(t, c) != 2*size {
			t.Errorf("after a refusal %d events are there, of %d bytes", n, used(t, c))
		}
		// What people and programs change goes on, with its own events.
		d := c.POST(documents, fields{"title": "d", "content": strings.Repeat("x", size)}).Want(t, 201).Text(t, "id")
		put(c, at(documents, d), "another").Want(t, 200)
		c.DELETE(at(documents, d)).Want(t, 204)
		if n := used(t, c); n != 3*size+len("another") {
			t.Errorf("%d bytes are used, want %d", n, 3*size+len("another"))
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D57, D105: a kept answer counts in the quota. When no byte is left, a request with an Idempotency-Key is refused before
// anything is done; a repetition and a request without a key are not.
func TestQuota_OfKeptAnswers(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		c.POST(projects, `{"name":"p"}`).Want(t, 201)
		if n := used(t, c); n != 0 {
			t.Errorf("without a key %d bytes are used", n)
		}
		made := c.POST(projects, `{"name":"p"}`, "Idempotency-Key: first").Want(t, 201)
		n := used(t, c)
		if n < len(made.Body) || n > len(made.Body)+500 {
			t.Errorf("an answer of %d bytes counts %d", len(made.Body), n)
		}
		a.Quota.Store(int64(n))
		full := func(r *apitest.Response) {
			t.Helper()
			r.WantError(t, 403, "QUOTA_REACHED", "no answer can be kept", "without one")
		}
		full(c.POST(projects, `{"name":"q"}`, "Idempotency-Key: second"))
		full(c.POST("/api/v1/media?filename=x", "x", "Content-Type: text/plain", "Idempotency-Key: third"))
		if r := c.POST(projects, `{"name":"p"}`, "Idempotency-Key: first").Want(t, 201); r.Text(t, "id") != made.Text(t, "id") {
			t.Error("a repetition got another project")
		}
		if got := len(c.GET(projects).IDs(t)); got != 2 {
			t.Errorf("%d projects are there, want 2", got)
		}
		c.POST(projects, `{"name":"q"}`).Want(t, 201)
		// A file that leaves no room for its answer is kept, and so is the answer.
		a.Quota.Store(int64(n + 4))
		file := c.POST("/api/v1/media?filename=x", "file", "Content-Type: text/plain", "Idempotency-Key: third").Want(t, 201)
		if again := c.POST("/api/v1/media?filename=x", "file", "Content-Type: text/plain", "Idempotency-Key: third").Want(t, 201); again.Text(t, "id") != file.Text(t, "id") {
			t.Error("a repetition got another medium")
		}
		// An answer that has expired makes room for the next one to its key.
		a.Quota.Store(0)
		before := used(t, c)
		a.Clock.Advance(sheaf.AnswersKept + 1)
		c.POST(projects, `{"name":"r"}`, "Idempotency-Key: first").Want(t, 201)
		if after := used(t, c); after != before {
			t.Errorf("%d bytes are used, and %d after an answer was replaced by one as long", before, after)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D105: the bytes of reported events hold exactly when many are reported at once.
func TestQuota_OfReportedEventsUnderConcurrency(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		size := len(report(c, 1000).Want(t, 202).Body)
		a.Quota.Store(int64(20*size + size - 1)) // room for 20, and not for the 21st
		rs := apitest.Together(64, func(i int) *apitest.Response { return report(c, 1000) })
		if n := apitest.Statuses(rs); n[202] != 19 || n[403] != 45 {
			t.Errorf("of 64 at once, where 19 have room: %v", n)
		}
		// A request with a key is refused as soon as no byte is left, and one answer may go beyond.
		a.Quota.Store(int64(20*size + 1))
		rs = apitest.Together(32, func(i int) *apitest.Response {
			return c.POST(projects, `{"name":"p"}`, fmt.Sprint("Idempotency-Key: ", i))
		})
		if n := apitest.Statuses(rs); n[201] != 1 || n[403] != 31 {
			t.Errorf("of 32 with a key at once, where one has room: %v", n)
		}
		if v := a.Doctor(); len(v) > 0 {
			t.Error(v)
		}
	})
}

// D63: a reported event costs the rate limit one request for each 16 KB of its payload begun.
func TestEvents_PublishCostsByItsSize(t *testing.T) {
	a := apitest.SQLite(t, apitest.PlanLimits)
	a.Clock.Set(morning)
	c := a.Workspace(sheaf.Pro).Client("")
	left := 100
	for _, test := range []struct{ payload, cost int }{{10, 1}, {10, 1}, {16 << 10, 1}, {16<<10 + 1, 2}, {256 << 10, 16}} {
		left -= test.cost
		report(c, test.payload).Want(t, 202).WantLimit(t, 100, left)
	}
	for left >= 16 {
		left -= 16
		report(c, 256<<10).Want(t, 202)
	}
	report(c, 256<<10).WantError(t, 429, "RATE_LIMITED")
	report(c, 10).Want(t, 202)
}
