package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D18
func TestRequestID_IsOnEveryAnswerAndInTheLog(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Pro).Client("")
	seen := map[string]bool{}
	for path, key := range map[string]*apitest.Client{"/api/v1/projects": c, "/api/v1/nothing": c, "/api/v1/me": a.Client(""), "/healthz": c, "/x": c, "/api//x": c} {
		got := key.GET(path)
		id := got.Header.Get("X-Request-Id")
		if !regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`).MatchString(id) || seen[id] {
			t.Errorf("%s: the id is %q", path, id)
		}
		seen[id] = true
		if line := servedLine(t, a, id); line["path"] != path || line["status"] != float64(got.Status) {
			t.Errorf("%s: the log has %v", path, line)
		}
	}
	for _, own := range []string{"a", "A-Z_0.9", strings.Repeat("x", 128)} {
		if got := c.GET("/api/v1/projects", "X-Request-Id: "+own).Want(t, 200).Header["X-Request-Id"]; len(got) != 1 || got[0] != own {
			t.Errorf("sent %q, got %q", own, got)
		}
		servedLine(t, a, own)
	}
	for _, odd := range []string{"", strings.Repeat("x", 129), "a b", "é", "a\"b", "<script>", "a/b", "a,b"} {
		if got := c.GET("/api/v1/projects", "X-Request-Id: "+odd).Want(t, 200).Header.Get("X-Request-Id"); got == odd || got == "" {
			t.Errorf("sent %q, got %q", odd, got)
		}
	}
}

// servedLine returns the line of the log that the request left.
func servedLine(t *testing.T, a *apitest.API, id string) map[string]any {
	t.Helper()
	var found map[string]any
	for line := range strings.Lines(a.Log()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("the log has %q: %v", line, err)
		}
		if entry["msg"] == "served request" && entry["request_id"] == id {
			if found != nil {
				t.Errorf("request %s has two lines", id)
			}
			found = entry
		}
	}
	if found == nil {
		t.Errorf("request %s has no line", id)
	}
	return found
}

// D18: the log never has a key, or what a body holds.
func TestLog_HasNoSecrets(t *testing.T) {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Pro)
	key := ws.Key()
	c := a.Client(key)
	other := c.POST("/api/v1/api-keys", `{"name":"hunter2","scopes":["projects:read"]}`).Want(t, 201).Text(t, "key")
	c.POST("/api/v1/projects", `{"name":"hunter2","color":"hunter2"}`).Want(t, 400)
	a.Client(flipped(key)).GET("/api/v1/me").Want(t, 401)
	for _, secret := range []string{key, other, flipped(key), "hunter2", "Bearer"} {
		if strings.Contains(a.Log(), secret) {
			t.Errorf("the log has %s", secret)
		}
	}
}

// D12, D18: a panic is a 500 in the one shape, which names the request and nothing else.
func TestPanic_IsAnInternalErrorInTheOneShape(t *testing.T) {
	a := apitest.SQLite(t, func(c *apitest.Config) { c.RateLimit = func(sheaf.Plan) int { panic("the secret reason") } })
	c := a.Workspace(sheaf.Pro).Client("")
	got := c.GET("/api/v1/projects", "X-Request-Id: mine").WantError(t, 500, "INTERNAL_ERROR", "mine")
	if strings.Contains(string(got.Body), "secret") || got.Header.Get("X-Request-Id") != "mine" {
		t.Errorf("answered %s with the id %q", got.Body, got.Header.Get("X-Request-Id"))
	}
	if !strings.Contains(a.Log(), "the secret reason") || !strings.Contains(a.Log(), "TestPanic") {
		t.Error("the log has no reason, or no stack")
	}
	if line := servedLine(t, a, "mine"); line["status"] != 500.0 {
		t.Errorf("the line is %v", line)
	}
	if head := c.Do("HEAD", "/api/v1/projects", nil).Want(t, 500); len(head.Body) != 0 {
		t.Error("HEAD has a body")
	}
	a.Client("").GET("/healthz").Want(t, 200)
}

// failing is a source of randomness that fails, and with it every creation.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// D12: also inside of a transaction, which leaves nothing behind.
func TestPanic_InATransactionIsAnInternalError(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Pro).Client("")
		server := a.Server.Config.Handler
		broken := a.Serve(app.New(app.Config{Store: a.Store, Now: a.Clock.Now, Random: failing{}}))
		a.Server.Config.Handler = broken
		c.POST("/api/v1/projects", `{"name":"a"}`).WantError(t, 500, "INTERNAL_ERROR")
		a.Server.Config.Handler = server
		if got := c.GET("/api/v1/projects").Want(t, 200); got.JSON["total"] != 0.0 {
			t.Errorf("something was written: %s", got.Body)
		}
		c.POST("/api/v1/projects", `{"name":"a"}`).Want(t, 201)
	})
}

// halfway writes the beginning of an answer and panics.
type halfway struct{}

func (halfway) Refuse(*front.Exchange, *front.Refusal) {}
func (halfway) Panicked(*front.Exchange)               {}

func (halfway) Serve(x *front.Exchange) {
	_, _ = io.WriteString(x, `{"data":[`)
	_ = http.NewResponseController(x).Flush()
	panic("halfway")
}

// D12: an answer that has begun cannot become an error: it is cut off, and no client takes it for
// whole.
func TestPanic_HalfwayCutsTheAnswerOff(t *testing.T) {
	a := apitest.SQLite(t, func(c *apitest.Config) {
		c.Beside = []front.Mount{{Edge: halfway{}, Name: "halfway", Paths: []string{"/halfway"}}}
	})
	server := httptest.NewUnstartedServer(a.Front)
	server.Start()
	defer server.Close()
	res, err := server.Client().Get(server.URL + "/halfway")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the answer seems whole: %q", body)
	}
}
