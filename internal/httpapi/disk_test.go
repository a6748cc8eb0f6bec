package httpapi_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D19: with less room than the reserve, what fills a disk is refused; with less than a quarter of it, everything but
// deletions. Deletions always work, and the server says that it is not ready.
func TestDisk_DeletionsAlwaysWork(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	id := func(path, body string) string { return at(path, c.POST(path, body).Want(t, 201).Text(t, "id")) }
	large := strings.Repeat("x", 64<<10+1)
	batch := func(action, resource, id string) *apitest.Response {
		o := fields{"action": action, "resource_type": resource}
		if id != "" {
			o["resource_id"] = id[strings.LastIndexByte(id, '/')+1:]
		} else {
			o["body"] = fields{"title": "d", "name": "p"}
		}
		return c.POST("/api/v1/batch", fields{"operations": []fields{o}})
	}
	upload := func() *apitest.Response {
		return c.POST("/api/v1/media?filename=x", "x", "Content-Type: text/plain")
	}
	refused := func(r *apitest.Response) {
		t.Helper()
		r.WantError(t, 503, "UNAVAILABLE", "no room")
		if r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	project, folder, document, other := id(projects, `{"name":"p"}`), id(folders, `{"name":"f","entity_type":"project"}`), id(documents, `{"title":"d"}`), id(documents, `{"title":"e"}`)
	share := id("/api/v1/shares", `{"resource_type":"document","resource_id":"`+document[strings.LastIndexByte(document, '/')+1:]+`"}`)
	medium := at("/api/v1/media", upload().Want(t, 201).Text(t, "id"))
	key := at(keys, c.POST(keys, `{"name":"k","scopes":["projects:read"]}`).Want(t, 201).Text(t, "id"))
	begun := c.POST("/api/v1/uploads", "", "Upload-Length: 5", "Tus-Resumable: 1.0.0").Want(t, 201).Header.Get("Location")
	begun = begun[strings.Index(begun, "/api/"):]

	a.SetDisk(999) // tight
	refused(upload())
	refused(report(c, 10))
	refused(c.POST(documents, fields{"title": "d", "content": large}))
	refused(put(c, document, large))
	refused(batch("create", "document", ""))
	refused(c.POST("/api/v1/uploads", "", "Upload-Length: 5", "Tus-Resumable: 1.0.0"))
	refused(c.Do("PATCH", begun, "12345", "Upload-Offset: 0", "Tus-Resumable: 1.0.0", "Content-Type: application/offset+octet-stream"))
	c.POST(documents, fields{"title": "d", "content": large[:64<<10]}).Want(t, 201)
	c.PATCH(project, `{"name":"q"}`).Want(t, 200)
	c.GET("/readyz").Want(t, 200)

	a.SetDisk(249) // full
	for _, r := range []*apitest.Response{c.POST(projects, `{"name":"p"}`), c.PATCH(project, `{"name":"r"}`), c.POST(folders, `{"name":"f","entity_type":"project"}`), put(c, document, "x"),
		c.POST(keys, `{"name":"k","scopes":["projects:read"]}`), upload(), report(c, 10), batch("create", "project", ""), c.POST(document+"/restore", nil)} {
		refused(r)
	}
	c.GET("/readyz").Want(t, 503)
	c.GET(documents).Want(t, 200)
	for _, path := range []string{share, begun, medium, document, folder, project, key} {
		c.DELETE(path, "Tus-Resumable: 1.0.0").Want(t, 204)
	}
	batch("delete", "document", other).Want(t, 200)
	a.SetDisk(1_000_000)
	upload().Want(t, 201)
	c.GET("/readyz").Want(t, 200)
}
