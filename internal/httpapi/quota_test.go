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
		rs := answers(64, func(i int) *apitest.Response {
			switch i % 3 {
			case 0:
				return c.POST(projects, fields{"name": fmt.Sprint(i)})
			case 1:
				return c.POST(folders, fields{"name": fmt.Sprint(i), "entity_type": "project"})
			}
			return c.POST(documents, fields{"title": fmt.Sprint(i)})
		})
		if n := statuses(rs); n[201] != 20 || n[403] != 44 {
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
		// A text that the document had needs no room, and neither does what has none.
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
		rs := answers(64, func(i int) *apitest.Response {
			if text := fmt.Sprintf("text %05d", i); i%2 == 0 {
				return c.POST(documents, fields{"title": "new", "content": text})
			} else {
				return put(c, old[i/2], text)
			}
		})
		if n := statuses(rs); n[200]+n[201] != 20 || n[403] != 44 {
			t.Errorf("of 64 at once, where 20 have room: %v", n)
		}
		if body := string(c.GET(me).Want(t, 200).Body); !strings.HasSuffix(body, `"storage":{"used":200,"quota":209}}`) {
			t.Errorf("20 texts of ten bytes are stored, and /me says %s", body)
		}
	})
}
