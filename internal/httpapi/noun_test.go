package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// What the tests of the nouns share.

// morning is when tests with golden bodies begin.
var morning = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// nowhereID is well-formed and nobody's.
const nowhereID = "0190b0a0-0000-7000-8000-00000000dead"

const (
	projects  = "/api/v1/projects"
	folders   = "/api/v1/folders"
	documents = "/api/v1/documents"
	brandings = "/api/v1/brandings"
	events    = "/api/v1/events"
	keys      = "/api/v1/api-keys"
	me        = "/api/v1/me"
)

// fields is a JSON object.
type fields = map[string]any

// at is the address of one resource.
func at(list, id string) string { return list + "/" + id }

// wantBody compares the whole body, byte by byte. Each old of the pairs stands in want for its new.
func wantBody(t testing.TB, r *apitest.Response, want string, oldnew ...string) {
	t.Helper()
	if want = strings.NewReplacer(oldnew...).Replace(want); string(r.Body) != want {
		t.Errorf("got  %s\nwant %s", r.Body, want)
	}
}

func wantSame(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// wantJSON compares values whose names may stand in any order.
func wantJSON(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := jsonOf(got), jsonOf(want); g != w {
		t.Errorf("%s: got %s, want %s", what, g, w)
	}
}

// together runs act n times at once, and returns when all have ended.
func together(n int, act func(i int)) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-begin
			act(i)
		})
	}
	close(begin)
	wg.Wait()
}

// holdForAMoment locks the workspace, as a slow write does, while other requests arrive: one that reads
// before its own turn sees the state before all of them. freed waits for the end of it.
func holdForAMoment(t *testing.T, a *apitest.API, ws *apitest.Workspace) (freed func()) {
	held := make(chan struct{})
	begun := sync.OnceFunc(func() { close(held) })
	var writer sync.WaitGroup
	writer.Go(func() {
		defer begun()
		err := a.Store.Write(context.Background(), func(tx *store.Tx) error {
			_, err := tx.LockWorkspace(ws.ID)
			begun()
			// A test cannot see whether another request has arrived too early, so it gets time to arrive. A correct
			// program does not need that.
			time.Sleep(100 * time.Millisecond)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-held
	return writer.Wait
}

// create posts the body to a list's path and returns the new resource's id.
func create(t testing.TB, c *apitest.Client, path string, body any) string {
	t.Helper()
	return c.POST(path, body).Want(t, 201).Text(t, "id")
}

// wholeList reads a list page by page, as the contract tells clients to.
func wholeList(t testing.TB, c *apitest.Client, path string, limit int) []fields {
	t.Helper()
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	var all []fields
	for offset := 0; ; offset += limit {
		r := c.GET(fmt.Sprintf("%s%slimit=%d&offset=%d", path, mark, limit, offset)).Want(t, 200)
		all = append(all, r.Items(t)...)
		if float64(offset+limit) >= r.JSON["total"].(float64) {
			return all
		}
	}
}

// emitted returns the events that act adds to the log.
func emitted(t testing.TB, c *apitest.Client, act func()) []fields {
	t.Helper()
	before := len(wholeList(t, c, events, 100))
	act()
	return wholeList(t, c, events, 100)[before:]
}

// idsOf returns the ids of records in their order.
func idsOf(records []fields) []string {
	var ids []string
	for _, r := range records {
		ids = append(ids, r["id"].(string))
	}
	return ids
}

// typesOf returns type and resource of events, as "project.created <id>".
func typesOf(es []fields) []string {
	var out []string
	for _, e := range es {
		out = append(out, e["type"].(string)+" "+e["resource_id"].(string))
	}
	return out
}

// jsonOf encodes v with its names sorted.
func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func without(r fields, names ...string) fields {
	out := fields{}
	for k, v := range r {
		if !slices.Contains(names, k) {
			out[k] = v
		}
	}
	return out
}

func escape(s string) string { return url.QueryEscape(s) }

// withoutText is a document as every answer but that of get-one shows it.
func withoutText(d fields) fields {
	d = maps.Clone(d)
	delete(d, "content")
	return d
}
