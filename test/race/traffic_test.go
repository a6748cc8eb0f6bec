package race

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// ./scripts/test watches these tests for data races, and with them the packages that have no run of their own under
// the race detector (internal/archtest, TestRaces_AreWatched): the API, the console, the shares, the index of search
// and the deliveries all work at once in this process.

func TestTraffic_SQLite(t *testing.T) {
	t.Parallel()
	drive(t, apitest.SQLite(t, apitest.WithConsole, apitest.WithShares, apitest.Quiet))
}

func TestTraffic_TwoNodes(t *testing.T) {
	t.Parallel()
	drive(t, apitest.Nodes(t, apitest.WithConsole, apitest.WithShares, apitest.Quiet))
}

// drive lets clients of one workspace do everything at once, each the same steps. Every step must succeed, and the
// doctor must find nothing wrong afterwards.
func drive(t *testing.T, a *apitest.API) {
	receiver, err := sheaftest.Receive(a.Webhooks.CA)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(receiver.Close)
	a.Follow()
	a.Deliver(sheaf.Schedule{time.Millisecond})
	w := api{a}.workspace("business")
	d := driver{t: t, workspace: w, api: a}
	d.want(201, "POST", hooksPath, fmt.Sprintf(`{"name":"all","url":%q,"events":["document.created"]}`, receiver.URL))

	const clients, rounds = 4, 5
	ctx, cancel := context.WithCancel(t.Context())
	var group, streams sync.WaitGroup
	for i := range clients {
		streams.Go(func() { d.stream(ctx) })
		group.Go(func() {
			for round := range rounds {
				d.work(fmt.Sprintf("client%dround%d", i, round))
			}
		})
	}
	group.Wait()
	d.readAtOnce(clients)
	cancel()
	streams.Wait()
	waited, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	if got := len(receiver.Await(waited, clients*rounds)); got < clients*rounds {
		t.Errorf("the endpoint got %d deliveries, want %d", got, clients*rounds)
	}
	a.WriteViews()
	a.WriteUsage()
	for _, v := range a.Doctor() {
		t.Errorf("doctor: %s", v)
	}
}

// driver is what all clients of a workspace share. It is safe for concurrent use.
type driver struct {
	workspace
	t   *testing.T
	api *apitest.API
}

// want makes a request and returns the answer, which must have the status.
func (d driver) want(status int, method, path, body string, headers ...string) answer {
	d.t.Helper()
	got := d.do(method, path, body, headers...)
	if got.status != status {
		d.t.Errorf("%s %s: got %d %v, want %d", method, path, got.status, got.item, status)
	}
	return got
}

// work does one of everything. The word is in what it creates, and in nothing else.
func (d driver) work(word string) {
	folder := d.want(201, "POST", foldersPath, `{"name":"f","entity_type":"project"}`).text("id")
	project := d.want(201, "POST", projectsPath, fmt.Sprintf(`{"name":"p","folder_id":%q}`, folder)).text("id")
	create := fmt.Sprintf(`{"title":%q,"project_id":%q,"content":"# %[1]s"}`, word, project)
	document := d.want(201, "POST", documentsPath, create, "Idempotency-Key: "+word).text("id")
	if again := d.want(201, "POST", documentsPath, create, "Idempotency-Key: "+word).text("id"); again != document {
		d.t.Errorf("the repeated request made %s beside %s", again, document)
	}
	path := documentsPath + "/" + document
	d.want(200, "PATCH", path, fmt.Sprintf(`{"content":"# %s\n\nmore"}`, word))
	d.want(200, "GET", path+"/content?format=html", "")
	d.want(200, "GET", path+"/versions", "")
	d.want(200, "GET", path+"/versions/2/diff", "")
	if found, _ := d.want(200, "GET", "/api/v1/search?q="+word, "").item["data"].([]any); len(found) != 1 {
		d.t.Errorf("searching for %s found %d", word, len(found))
	}
	d.want(200, "GET", projectsPath+"?q=p&sort=name", "")
	d.want(200, "GET", "/api/v1/events?limit=5", "")

	key := d.want(201, "POST", keysPath, `{"name":"k","scopes":["projects:read"]}`)
	other := d.workspace
	other.key = key.text("key")
	if got := other.do("GET", projectsPath, ""); got.status != 200 {
		d.t.Errorf("a new key: got %d", got.status)
	}
	d.want(204, "DELETE", keysPath+"/"+key.text("id"), "")
	if got := other.do("GET", projectsPath, ""); got.status != 401 {
		d.t.Errorf("a revoked key: got %d", got.status)
	}

	share := d.want(201, "POST", "/api/v1/shares", fmt.Sprintf(`{"resource_type":"document","resource_id":%q}`, document))
	d.visit(200, "GET", strings.TrimPrefix(share.text("url"), apitest.Address), nil)
	d.visit(200, "GET", "/sign-in", nil)
	d.visit(401, "POST", "/sign-in", url.Values{"email": {word + "@example.com"}, "password": {"a wrong password"}})

	d.want(200, "POST", "/api/v1/batch", fmt.Sprintf(`{"operations":[{"action":"update","resource_type":"project","resource_id":%q,"body":{"name":"q"}}]}`, project))
	d.want(204, "DELETE", path, "")
	d.want(200, "POST", path+"/restore", "")
	d.want(204, "DELETE", foldersPath+"/"+folder, "")
}

// readAtOnce lets clients read the same records and pages. Requests that write wait for each other, and the locks that they
// take hide an access without a lock from the race detector; reads overlap. test/planted plants such an access.
func (d driver) readAtOnce(clients int) {
	document := d.want(201, "POST", documentsPath, `{"title":"read by all","content":"# text"}`).text("id")
	share := d.want(201, "POST", "/api/v1/shares", fmt.Sprintf(`{"resource_type":"document","resource_id":%q}`, document))
	start := make(chan struct{})
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			<-start
			for range 20 {
				d.visit(200, "GET", strings.TrimPrefix(share.text("url"), apitest.Address), nil)
				d.want(200, "GET", documentsPath+"/"+document+"/content?format=html", "")
				d.want(200, "GET", "/api/v1/search?q=read", "")
				d.want(200, "GET", documentsPath, "")
			}
		})
	}
	close(start)
	group.Wait()
}

// visit asks for a page without a key, as a browser does.
func (d driver) visit(status int, method, path string, form url.Values) {
	d.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	rec := httptest.NewRecorder()
	d.handler.ServeHTTP(rec, r)
	if rec.Code != status {
		d.t.Errorf("%s %s: got %d %.200s, want %d", method, path, rec.Code, rec.Body, status)
	}
}

// stream follows the events until the context ends.
func (d driver) stream(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.api.Server.URL+"/api/v1/events/stream", nil)
	if err != nil {
		d.t.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+d.key)
	res, err := d.api.Server.Client().Do(r)
	if err != nil {
		d.t.Error(err)
		return
	}
	defer res.Body.Close()
	for buffer := make([]byte, 4096); err == nil; {
		_, err = res.Body.Read(buffer)
	}
}
