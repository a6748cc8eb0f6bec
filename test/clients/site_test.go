package clients

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// site is one server, for all columns of the table.
type site struct {
	program *proctest.Program
	*proctest.Server
	library library
	ca      *sheaftest.CA // of all endpoints that it delivers to
	hooks   *sheaftest.Receiver
}

// library is a workspace that clients only read.
type library struct {
	key, project string
	ids          []string // of its documents, in the order of the list
}

// documents is the number of documents in the library: eleven pages, the last one not full.
const documents = 1050

func newSite(t *testing.T) *site {
	t.Helper()
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := ca.WriteFile(roots); err != nil {
		t.Fatal(err)
	}
	hooks, err := sheaftest.Receive(ca)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hooks.Close)
	s := &site{program: proctest.New(t), ca: ca, hooks: hooks}
	s.library.key = s.program.Workspace(t, "library")
	s.Server = s.program.Start(t, "--webhook-allow-cidr", "127.0.0.0/8,::1/128", "--webhook-ca-file", roots)
	s.fill(t)
	return s
}

// fill makes the documents of the library, and reads back in which order they are listed.
func (s *site) fill(t *testing.T) {
	t.Helper()
	s.library.project = s.make(t, s.library.key, "/api/v1/projects", object{"name": "Library"})["id"].(string)
	var made sync.Map
	var writers sync.WaitGroup
	for w := range 32 {
		writers.Go(func() {
			for i := w; i < documents; i += 32 {
				var document object
				body := object{"title": fmt.Sprintf("Document %d", i), "project_id": s.library.project}
				status, err := s.Call(s.library.key, http.MethodPost, "/api/v1/documents", body, &document)
				if err != nil || status != http.StatusCreated {
					t.Errorf("create: %d, %v", status, err)
					return
				}
				made.Store(document["id"], true)
			}
		})
	}
	writers.Wait()
	for offset := 0; offset < documents; offset += 50 {
		page := s.read(t, s.library.key, fmt.Sprintf("/api/v1/documents?project_id=%s&offset=%d", s.library.project, offset))
		for _, d := range page["data"].([]any) {
			id := d.(object)["id"].(string)
			if _, ok := made.LoadAndDelete(id); !ok {
				t.Errorf("%s was not made, or is listed twice", id)
			}
			s.library.ids = append(s.library.ids, id)
		}
	}
	if len(s.library.ids) != documents {
		t.Fatalf("%d documents are listed", len(s.library.ids))
	}
}

// object is JSON's.
type object = map[string]any

// read returns the answer to a GET, which must succeed.
func (s *site) read(t *testing.T, key, path string) (answer object) {
	t.Helper()
	status, err := s.Call(key, http.MethodGet, path, nil, &answer)
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", path, status, err)
	}
	return answer
}

// make returns the answer to a POST, which must succeed.
func (s *site) make(t *testing.T, key, path string, body object) (answer object) {
	t.Helper()
	status, err := s.Call(key, http.MethodPost, path, body, &answer)
	if err != nil || status/100 != 2 {
		t.Fatalf("POST %s: %d, %v: %v", path, status, err, answer)
	}
	return answer
}

// named lists the projects that have a name.
func (s *site) named(t *testing.T, key, name string) (ids []string) {
	t.Helper()
	for _, p := range s.read(t, key, "/api/v1/projects?limit=100")["data"].([]any) {
		if p.(object)["name"] == name {
			ids = append(ids, p.(object)["id"].(string))
		}
	}
	return ids
}

// newest is the id of the last event in the log.
func (s *site) newest(t *testing.T, key string) string {
	t.Helper()
	return s.read(t, key, "/api/v1/events?limit=1&order=desc")["data"].([]any)[0].(object)["id"].(string)
}

// log lists the ids of the events after one.
func (s *site) log(t *testing.T, key, after string) (ids []string) {
	t.Helper()
	for _, e := range s.read(t, key, "/api/v1/events?limit=100&after="+after)["data"].([]any) {
		ids = append(ids, e.(object)["id"].(string))
	}
	return ids
}

// delivered subscribes to what happens to documents, makes one, and returns the delivery that the service then sends, with
// the secret that it is signed with.
func (s *site) delivered(t *testing.T, key string) (sheaftest.Received, string) {
	t.Helper()
	made := s.make(t, key, "/api/webhooks/subscriptions", object{"name": "Verify", "url": s.hooks.URL, "events": []string{"document.created"}})
	subscription := made["subscription"].(object)
	document := s.make(t, key, "/api/v1/documents", object{"title": "Übersicht <1>"})
	ours := func() int {
		return slices.IndexFunc(s.hooks.Requests(), func(r sheaftest.Received) bool {
			return bytes.Contains(r.Body, []byte(document["id"].(string)))
		})
	}
	sheaftest.Eventually(t, "the delivery comes", func() bool { return ours() >= 0 })
	return s.hooks.Requests()[ours()], subscription["secret"].(string)
}
