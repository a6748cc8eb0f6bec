package front_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// person is somebody who is signed in to the console.
type person struct {
	api    *apitest.API
	ws     *apitest.Workspace
	cookie *http.Cookie
}

// newPerson starts a service with a console, and signs in the owner of a workspace.
func newPerson(t *testing.T, options ...apitest.Option) *person {
	t.Helper()
	if len(options) == 0 {
		options = []apitest.Option{apitest.WithConsole}
	}
	a := apitest.SQLite(t, options...)
	ws := a.Workspace(sheaf.Business, func(in *app.NewWorkspace) { in.OwnerEmail = "ada@example.com" })
	if _, err := a.App.Operator().SetPassword(t.Context(), "ada@example.com", "long enough"); err != nil {
		t.Fatal(err)
	}
	s, err := a.App.SignIn(t.Context(), app.SignIn{Email: "ada@example.com", Password: "long enough"}, "")
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(a.Server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &person{a, ws, &http.Cookie{Name: "sheaf-" + address.Port(), Value: s.Token}}
}

// asks returns a request for a page of the workspace.
func (p *person) asks(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, p.api.Server.URL+"/w/"+string(p.ws.ID)+path, nil)
	r.AddCookie(p.cookie)
	return r
}

// opens asks for a page and takes it.
func (p *person) opens(path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.api.Front.ServeHTTP(w, p.asks(path))
	return w
}

// largePage makes an event whose page is large, and returns the page's path.
func (p *person) largePage(t *testing.T) string {
	t.Helper()
	p.ws.Client("").POST("/api/v1/events", map[string]any{"type": "media.uploaded", "resource_id": sheaf.NewUUID(time.Now(), zeros{}),
		"payload": map[string]any{"text": strings.Repeat("x", 200_000)}}).Want(t, 202)
	return "/events/" + p.ws.Client("").GET("/api/v1/events?limit=1").Want(t, 200).IDs(t)[0]
}

// notReading is a client that takes nothing until it is told to.
type notReading struct {
	*httptest.ResponseRecorder
	asked, take chan struct{}
	once        sync.Once
}

func (w *notReading) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.asked) })
	<-w.take
	return w.ResponseRecorder.Write(b)
}

// Reproduced by somebody who opened large pages and did not read them: they were counted nowhere.
func TestConsole_LargePagesTakeFromTheBudgetOfAnswers(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	path, gate := p.largePage(t), p.api.Front
	slow := &notReading{ResponseRecorder: httptest.NewRecorder(), asked: make(chan struct{}), take: make(chan struct{})}
	var reading sync.WaitGroup
	reading.Go(func() { gate.ServeHTTP(slow, p.asks(path)) })
	<-slow.asked
	held := gate.Load().Answers
	if l := gate.Load(); l.Answers < 200_000 || l.Working != 0 {
		t.Errorf("%+v while a page waits for its reader", l)
	}
	crowd := front.MaxAnswers/4 - held
	gate.CrowdAnswers(string(p.ws.ID), crowd)
	wantCrowdedPage(t, p.opens(path))
	if got := p.opens("/keys"); got.Code != http.StatusOK {
		t.Errorf("a small page: %d", got.Code)
	}
	close(slow.take)
	reading.Wait()
	if l := gate.Load(); slow.Code != http.StatusOK || slow.Body.Len() < 200_000 || l.Answers != crowd {
		t.Errorf("%d with %d bytes, then %+v", slow.Code, slow.Body.Len(), l)
	}
	if got := p.opens(path); got.Code != http.StatusOK {
		t.Errorf("a large page once there is room: %d", got.Code)
	}
	gate.CrowdAnswers(string(p.ws.ID), -crowd)
	if l := gate.Load(); l.Answers != 0 || l.Working != 0 {
		t.Errorf("%+v in the end", l)
	}
}

func wantCrowdedPage(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	body := got.Body.String()
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || !strings.Contains(body, "Just a moment") || len(body) > 64<<10 {
		t.Errorf("got %d, Retry-After %q and %d bytes, want a small page with 503", got.Code, got.Header().Get("Retry-After"), len(body))
	}
}

// Reproduced by somebody who took every place: who opened a page then was shown JSON.
func TestConsole_APersonIsTurnedAwayWithAPage(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	gate := p.api.Front
	gate.Crowd(front.MaxWorking)
	for _, path := range []string{"/sign-in", "/", "/w/" + string(p.ws.ID) + "/keys", "/assets/console.css"} {
		w := httptest.NewRecorder()
		gate.ServeHTTP(&placeless{w, t, gate}, httptest.NewRequest(http.MethodGet, path, nil))
		wantCrowdedPage(t, w)
		if h := w.Header(); h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Cache-Control") != "no-store" ||
			h.Get("Content-Security-Policy") == "" || h.Get("X-Request-Id") == "" || !strings.HasPrefix(w.Body.String(), "<!doctype html>") {
			t.Errorf("%s: %v %s", path, h, w.Body)
		}
	}
	r := p.asks("/keys")
	r.Header.Set("HX-Request", "true")
	w := httptest.NewRecorder()
	gate.ServeHTTP(w, r)
	wantCrowdedPage(t, w)
	if strings.Contains(w.Body.String(), "<html") {
		t.Errorf("a script gets a page within its page: %s", w.Body)
	}
	if status, begins := openStream(t.Context(), t, p.api, "/w/"+string(p.ws.ID)+"/live", func(r *http.Request) { r.AddCookie(p.cookie) }); status != 200 || begins != "retry: 1000" {
		t.Errorf("the stream of an open page gets %d %q, and never comes again", status, begins)
	}
	for _, path := range []string{"/api/v1/projects", "/api", "/docs", "/none", "/w//x", "/setup"} {
		wantNoRoom(t, p.ws.Client("").GET(path))
	}
	gate.Crowd(-front.MaxWorking)
	becomes(t, p.api, "in work", 0, workingOf)
	if got := p.opens("/keys"); got.Code != http.StatusOK {
		t.Errorf("a page once there is room: %d", got.Code)
	}
}

// placeless looks, when the answer is written, whether it holds a place.
type placeless struct {
	*httptest.ResponseRecorder
	t    *testing.T
	gate *front.Front
}

func (w *placeless) Write(b []byte) (int, error) {
	if n := w.gate.Load().Working; n != front.MaxWorking {
		w.t.Errorf("%d requests are in work while one is turned away, want %d", n, front.MaxWorking)
	}
	return w.ResponseRecorder.Write(b)
}

func TestConsole_PagesHaveTheWorkspacesPlaces(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.api.Front.CrowdWorkspace(string(p.ws.ID), front.WorkspaceWorking)
	wantCrowdedPage(t, p.opens("/keys"))
	p.api.Front.CrowdWorkspace(string(p.ws.ID), -1)
	for range 2 { // a place that was refused, or is no longer needed, is given back
		if got := p.opens("/keys"); got.Code != http.StatusOK {
			t.Errorf("got %d with one place left", got.Code)
		}
	}
	p.api.Front.CrowdWorkspace(string(p.ws.ID), 1-front.WorkspaceWorking)
}

// openStream opens a stream and returns its status and first line; it stays open until ctx ends.
func openStream(ctx context.Context, t *testing.T, a *apitest.API, path string, change func(*http.Request)) (status int, begins string) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.Server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	change(r)
	res, err := a.Server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	b := make([]byte, 11)
	if _, err := io.ReadFull(res.Body, b); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// A person with 60 open pages found this: their streams did not count as streams.
func TestConsole_OpenPagesAreStreamsOfTheWorkspace(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	page := func() string {
		_, begins := openStream(ctx, t, p.api, "/w/"+string(p.ws.ID)+"/live", func(r *http.Request) { r.AddCookie(p.cookie) })
		return begins
	}
	const pages = 2 * front.StreamsPerKey // they have no key, and so no bound of one
	for range pages {
		if got := page(); got != "retry: 2000" {
			t.Fatalf("a page's stream begins with %q", got)
		}
	}
	var key string
	for i := range front.StreamsPerWorkspace - pages {
		if i%front.StreamsPerKey == 0 {
			key = p.ws.Key()
		}
		if got, _ := openStream(ctx, t, p.api, "/api/v1/events/stream", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+key) }); got != 200 {
			t.Fatalf("stream %d: %d", i, got)
		}
	}
	if got := page(); got != "retry: 1000" { // of 10000: it comes again in ten seconds
		t.Fatalf("the stream of one page too many begins with %q", got)
	}
	if got := p.opens("/live"); got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" {
		t.Errorf("who is no browser gets %d", got.Code)
	}
	p.ws.Client("").GET("/api/v1/events/stream").WantError(t, 429, "RATE_LIMITED", "streams")
	if l := p.api.Front.Load(); l.Streams != front.StreamsPerWorkspace {
		t.Errorf("%d streams are counted, want %d", l.Streams, front.StreamsPerWorkspace)
	}
	cancel()
	becomes(t, p.api, "streams", 0, func(l front.Load) int64 { return int64(l.Streams) })
	becomes(t, p.api, "in work", 0, workingOf)
}

// D11: who types a wrong address is shown a page, and a program JSON.
func TestConsole_APathOfNothingIsAPageForAPerson(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, test := range []struct {
		path, accept string
		page         bool
	}{
		{"/nope", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
		{"/nope", "text/html;q=0.5, application/json;q=0.4", true},
		{"/nope", "application/json, text/html;q=0.9", false},
		{"/nope", "*/*", false},
		{"/nope", "", false},
		{"/mcp", "text/html", false},
		{"/mcp/x", "text/html", false},
		{"/api/v1/nope", "text/html", false},
		{"/nope/", "text/html", true},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.api.Server.URL+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", test.accept)
		res, err := p.api.Server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		page := res.StatusCode == http.StatusNotFound && strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") &&
			strings.Contains(string(body), "There is no page at this address.") && res.Header.Get("Content-Security-Policy") != ""
		if page != test.page {
			t.Errorf("%s for %q: %d %s", test.path, test.accept, res.StatusCode, body)
		}
	}
}
