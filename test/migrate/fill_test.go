package migrate

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

type object = map[string]any

// publicURL is the address in the links of shares, the same for every start.
const publicURL = "https://docs.example.com"

// content is what a store was filled with: its API key, and the program's answers by path.
type content struct {
	key     string
	answers map[string]any
}

// fill starts the program, makes some of everything with it, and stops it.
func fill(t *testing.T, p *proctest.Program) content {
	t.Helper()
	c := content{key: p.Workspace(t, "Acme"), answers: map[string]any{}}
	hook, roots := receive(t)
	server := p.Start(t, "--public-url", publicURL, "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-ca-file", roots, "--webhook-retry-delays", "1ms,1ms,1ms")
	f := &filler{t: t, server: server, key: c.key}
	subscription := f.makeAll(hook)
	sheaftest.Eventually(t, "every delivery has ended", func() bool { return f.unsent(subscription) == 0 })
	for _, path := range []string{"/api/v1/folders", "/api/v1/projects", "/api/v1/documents", "/api/v1/documents?deleted=true", "/api/v1/brandings", "/api/v1/shares",
		"/api/v1/media", "/api/v1/events", "/api/webhooks/subscriptions", "/api/webhooks/subscriptions/" + subscription + "/deliveries"} {
		var answer any
		f.do("GET", path, nil, &answer)
		c.answers[path] = answer
	}
	if err := server.Terminate(); err != nil {
		t.Fatal(err)
	}
	return c
}

// receive starts an endpoint that refuses folders, and returns the file of its root certificate.
func receive(t *testing.T) (url, roots string) {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	r, err := sheaftest.Receive(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.Answer(func(got sheaftest.Received) sheaftest.Reply {
		if strings.Contains(string(got.Body), `"type":"folder.created"`) {
			return sheaftest.Reply{Status: http.StatusInternalServerError, Body: "no folders"}
		}
		return sheaftest.Reply{}
	})
	return r.URL, roots
}

// filler makes records through the API.
type filler struct {
	t      *testing.T
	server *proctest.Server
	key    string
}

// makeAll makes records of every kind, some of them moved, changed or deleted. It returns the id of an active
// subscription.
func (f *filler) makeAll(hook string) string {
	f.t.Helper()
	wanted := []string{"folder.created", "project.created", "project.updated", "document.created", "document.deleted"}
	on := f.make("/api/webhooks/subscriptions", object{"name": "On", "url": hook, "events": wanted, "headers": object{"X-Mine": "secret"}})
	f.do("POST", "/api/webhooks/subscriptions/"+on+"/rotate-secret", object{"grace_seconds": 600000}, nil)
	off := f.make("/api/webhooks/subscriptions", object{"name": "Off", "url": hook, "events": wanted})
	f.do("PATCH", "/api/webhooks/subscriptions/"+off, object{"active": false}, nil)
	gone := f.make("/api/webhooks/subscriptions", object{"name": "Gone", "url": hook, "events": wanted})

	top := f.make("/api/v1/folders", object{"name": "Products", "entity_type": "project"})
	low := f.make("/api/v1/folders", object{"name": "Käse", "entity_type": "project", "parent_id": top, "color": "#2563eb"})
	leaf := f.make("/api/v1/folders", object{"name": "Leaf", "entity_type": "project", "parent_id": low, "external_id": "leaf"})
	f.make("/api/v1/folders", object{"name": "Brand", "entity_type": "branding"})
	filed := f.make("/api/v1/projects", object{"name": "Handbook", "folder_id": leaf, "icon": "book-open", "description": "“odd” \\ \n ☃ 😀"})
	f.do("PATCH", "/api/v1/projects/"+filed, object{"sort_order": -7}, nil)
	f.make("/api/v1/projects", object{"name": "Free", "metadata": object{"a": "b"}})
	doomed := f.make("/api/v1/projects", object{"name": "Doomed", "folder_id": low})
	f.make("/api/v1/documents", object{"title": "In", "project_id": filed, "content": "# A text\n"})
	f.make("/api/v1/documents", object{"title": "Loose", "description": "d"})
	f.make("/api/v1/documents", object{"title": "Unlinked", "project_id": doomed})
	deleted := f.make("/api/v1/documents", object{"title": "Deleted", "project_id": doomed})
	f.do("DELETE", "/api/v1/documents/"+deleted, nil, nil)
	f.do("DELETE", "/api/v1/projects/"+doomed, nil, nil)
	branding := f.make("/api/v1/brandings", object{"name": "Ours", "color_primary": "#2563eb"})
	f.make("/api/v1/shares", object{"resource_type": "project", "resource_id": filed, "branding_id": branding})
	f.do("POST", "/api/v1/events", object{"type": "media.uploaded", "resource_id": filed, "payload": object{"size": 1.5}}, nil)
	f.do("DELETE", "/api/webhooks/subscriptions/"+gone, nil, nil)
	return on
}

// do makes a request that must succeed.
func (f *filler) do(method, path string, body, answer any) {
	f.t.Helper()
	status, err := f.server.Call(f.key, method, path, body, answer)
	if err != nil || status >= 300 {
		f.t.Fatalf("%s %s: %d, %v", method, path, status, err)
	}
}

// make creates a record and returns its id.
func (f *filler) make(path string, body object) string {
	f.t.Helper()
	var made struct {
		ID           string
		Subscription struct{ ID string }
	}
	f.do("POST", path, body, &made)
	return made.ID + made.Subscription.ID
}

// unsent counts the deliveries of a subscription that are still to be sent. One request reads all of them: between two, a
// delivery could pass from sending back to waiting and be in neither.
func (f *filler) unsent(subscription string) (n int) {
	var page struct{ Data []struct{ State string } }
	f.do("GET", "/api/webhooks/subscriptions/"+subscription+"/deliveries?limit=100", nil, &page)
	for _, d := range page.Data {
		if d.State == "waiting" || d.State == "sending" {
			n++
		}
	}
	return n
}

// takeKey gives a program the master key of another.
func takeKey(t *testing.T, p, from *proctest.Program) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from.Data, "master.key"))
	if err == nil {
		err = os.MkdirAll(p.Data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Data, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
