package front_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

// renderer is what renders for all edges of a test, and its turns.
type renderer struct {
	*render.Renderer
	turns *fair.Turns
}

// newRenderer returns a renderer whose callers wait for that long.
func newRenderer(wait time.Duration) renderer {
	r := renderer{Renderer: render.New(render.Options{Wait: wait})}
	_, _ = r.Page(func(turns *fair.Turns, _ int64, _ int) (func(), error) {
		r.turns = turns
		return nil, errors.New("rendered nothing")
	}, "any text")
	return r
}

// mount mounts all edges with it.
func (r renderer) mount(c *apitest.Config) {
	c.Render = r.Renderer
	apitest.WithConsole(c)
	apitest.WithShares(c)
}

// form returns a request that sends a form to the console.
func (p *person) form(path string, fields url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, p.api.Server.URL+"/w/"+string(p.ws.ID)+path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.AddCookie(p.cookie)
	return r
}

// previews sends the text of an editor.
func (p *person) previews(text string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.api.Front.ServeHTTP(w, p.form("/documents/preview", url.Values{"content": {text}}))
	return w
}

// documentOf makes a document of the workspace and a share of it, and returns their addresses.
func documentOf(t *testing.T, ws *apitest.Workspace, text string) (id, share string) {
	t.Helper()
	c := ws.Client("")
	id = c.POST("/api/v1/documents", map[string]any{"title": "a", "content": text}).Want(t, 201).Text(t, "id")
	return id, c.POST("/api/v1/shares", map[string]any{"resource_type": "document", "resource_id": id}).Want(t, 201).Text(t, "url")
}

// D19: while one workspace's texts are rendered, another of its texts is refused after a while, at every
// edge, and other workspaces are served.
func TestTurns_OneWorkspacesTextsDoNotDelayTheOthers(t *testing.T) {
	t.Parallel()
	texts := newRenderer(time.Nanosecond)
	p := newPerson(t, texts.mount)
	other := p.api.Workspace(sheaf.Business)
	id, share := documentOf(t, p.ws, "one")
	theirs, theirShare := documentOf(t, other, "*theirs*")
	done, err := texts.turns.Take(t.Context(), string(p.ws.ID), 1)
	if err != nil {
		t.Fatal(err)
	}
	wantNoRoom(t, p.ws.Client("").GET("/api/v1/documents/"+id+"/content?format=html"))
	wantCrowdedPage(t, p.opens("/documents/"+id))
	wantCrowdedPage(t, p.previews("another"))
	reads := func(address string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		p.api.Front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		return w
	}
	wantCrowdedPage(t, reads(share))
	other.Client("").GET("/api/v1/documents/"+theirs+"/content?format=html").Want(t, 200)
	if got := reads(theirShare); got.Code != http.StatusOK {
		t.Errorf("a share of another workspace: %d", got.Code)
	}
	done()
	p.ws.Client("").GET("/api/v1/documents/"+id+"/content?format=html").Want(t, 200)
	for name, got := range map[string]*httptest.ResponseRecorder{"page": p.opens("/documents/" + id), "preview": p.previews("another"), "share": reads(share)} {
		if got.Code != http.StatusOK {
			t.Errorf("the %s afterwards: %d", name, got.Code)
		}
	}
}

// A request that waits for its turn holds no place. Its text counts in the budget of answers. If its
// client leaves, the request ends.
func TestTurns_WaitingHoldsCountedBytesAndNoPlace(t *testing.T) {
	t.Parallel()
	texts := newRenderer(time.Hour)
	p := newPerson(t, texts.mount)
	long := strings.Repeat("a word ", 20_000)
	id, _ := documentOf(t, p.ws, long)
	done, err := texts.turns.Take(t.Context(), string(p.ws.ID), 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	stays, leaves := httptest.NewRecorder(), httptest.NewRecorder()
	waiting.Go(func() { p.api.Front.ServeHTTP(stays, p.asks("/documents/"+id)) })
	waiting.Go(func() { p.api.Front.ServeHTTP(leaves, p.asks("/documents/"+id).WithContext(ctx)) })
	waiters := func(want int) func() bool {
		return func() bool { _, n := texts.turns.Load(); return n == want }
	}
	sheaftest.Eventually(t, "two requests wait", waiters(2))
	if l := p.api.Front.Load(); l.Working != 0 || l.Answers != 2*int64(len(long)) {
		t.Errorf("%+v while two requests wait with %d bytes each", l, len(long))
	}
	leave()
	sheaftest.Eventually(t, "one request waits", waiters(1))
	done()
	waiting.Wait()
	if stays.Code != http.StatusOK || leaves.Code == http.StatusOK {
		t.Errorf("who stays gets %d, who leaves %d", stays.Code, leaves.Code)
	}
}

// Previewing and saving gave back the bytes of their body from another share than they were of: after
// some hundred of them no text could be sent any more.
func TestConsole_EditingGivesBackWhatItHeld(t *testing.T) {
	t.Parallel()
	p := newPerson(t, func(c *apitest.Config) { c.Memory = 128 << 20 }, apitest.WithConsole)
	id, _ := documentOf(t, p.ws, "a")
	text := strings.Repeat("a word ", 15_000)
	for i := range 3 {
		if got := p.previews(text); got.Code != http.StatusOK {
			t.Fatalf("preview %d: %d", i, got.Code)
		}
		if held := p.api.Front.Held(); len(held) > 0 {
			t.Fatalf("after preview %d there is held %s", i, held)
		}
	}
	w := httptest.NewRecorder()
	p.api.Front.ServeHTTP(w, p.form("/documents/"+id, url.Values{"title": {"a"}, "content": {text}, "revision": {"1"}}))
	if held := p.api.Front.Held(); w.Code != http.StatusSeeOther || len(held) > 0 {
		t.Errorf("saving: %d, and there is held %s", w.Code, held)
	}
}

// The body of a console's form is of the share of the form's workspace.
func TestConsole_AFormIsOfItsWorkspacesShare(t *testing.T) {
	t.Parallel()
	p := newPerson(t, apitest.WithConsole)
	p.api.Front.CrowdBodies(string(p.ws.ID), front.MaxBodies/4)
	wantCrowdedPage(t, p.previews(strings.Repeat("a word ", 15_000)))
	p.api.Front.CrowdBodies(string(p.ws.ID), -front.MaxBodies/4)
	if got := p.previews(strings.Repeat("a word ", 15_000)); got.Code != http.StatusOK {
		t.Errorf("a preview once there is room: %d", got.Code)
	}
}
