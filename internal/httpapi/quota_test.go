package httpapi_test

import (
	"fmt"
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
			r.WantError(t, 403, "QUOTA_REACHED", "4 projects, folders and documents", "pro plan allows 4", "delete", "upgrade")
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
