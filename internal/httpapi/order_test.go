package httpapi_test

import (
	"testing"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// world is a workspace in which everything can go wrong, on a limit of requests that is all used up
// for one key.
type world struct {
	api  *apitest.API
	ws   *apitest.Workspace
	full *apitest.Client // with every scope

	exhausted, weak, freeKey string
	project, gone, deep      string // deep: a branding folder at the lowest level
	branding                 string
}

func newWorld(t *testing.T, a *apitest.API) *world {
	t.Helper()
	w := &world{api: a, ws: a.Workspace(sheaf.Business)}
	w.full = w.ws.Client("")
	w.weak = w.ws.Key(sheaf.KeysRead)
	w.freeKey = a.Workspace(sheaf.Free).Key()
	w.project = w.full.POST("/api/v1/projects", `{"name":"p"}`).Text(t, "id")
	parent := ""
	for range 3 {
		body := map[string]any{"name": "b", "entity_type": "branding"}
		if parent != "" {
			body["parent_id"] = parent
		}
		parent = w.full.POST("/api/v1/folders", body).Text(t, "id")
		if w.branding == "" {
			w.branding = parent
		}
	}
	w.deep = parent
	// One move is kept under an Idempotency-Key, then its project goes.
	w.gone = w.full.POST("/api/v1/projects", `{"name":"p"}`).Text(t, "id")
	w.full.POST("/api/v1/projects/"+w.gone+"/move", `{"folder_id":null}`, "Idempotency-Key: used").Want(t, 200)
	w.full.DELETE("/api/v1/projects/"+w.gone).Want(t, 204)
	w.ws.SetPlan(sheaf.Pro) // branding folders are beyond it now
	w.exhausted = w.ws.Key(sheaf.KeysRead)
	for range orderLimit {
		a.Client(w.exhausted).GET("/api/v1/me").Want(t, 200)
	}
	return w
}

const orderLimit = 40 // more than a test makes with any other key

// D11: of several faults the first in the order is answered.
func TestOrderOfChecks(t *testing.T) {
	limit := func(c *apitest.Config) { c.RateLimit = func(sheaf.Plan) int { return orderLimit } }
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		a.Clock.Freeze()
		w := newWorld(t, a)
		huge := bodyOf(front.MaxBody + 1)
		const stale, used = `If-Match: "99-x"`, "Idempotency-Key: used"
		projects, project, gone := "/api/v1/projects", "/api/v1/projects/"+w.project, "/api/v1/projects/"+w.gone
		for _, test := range []struct {
			name, key, method, path, body string
			headers                       []string
			status                        int
			code                          string
		}{
			{"key before plan", flipped(w.freeKey), "GET", projects, "", nil, 401, "UNAUTHORIZED"},
			{"key before rate", flipped(w.exhausted), "GET", projects, "", nil, 401, "UNAUTHORIZED"},
			{"key before route", "", "GET", "/api/v1/nothing", "", nil, 401, "UNAUTHORIZED"},
			{"key before an unclean path", "", "GET", "/api//v1/projects", "", nil, 401, "UNAUTHORIZED"},
			{"key before a trailing slash", "", "GET", "/api/v1/projects/", "", nil, 401, "UNAUTHORIZED"},
			{"key before the root of the API", "", "GET", "/api", "", nil, 401, "UNAUTHORIZED"},
			{"key before method", "", "PUT", projects, "", nil, 401, "UNAUTHORIZED"},
			{"key before size", "", "POST", projects, huge, nil, 401, "UNAUTHORIZED"},
			{"key before body", "", "POST", projects, "{", nil, 401, "UNAUTHORIZED"},
			{"plan before route", w.freeKey, "GET", "/api/v1/nothing", "", nil, 403, "PLAN_REQUIRED"},
			{"plan before body", w.freeKey, "POST", projects, "{", nil, 403, "PLAN_REQUIRED"},
			{"rate before route", w.exhausted, "GET", "/api/v1/nothing", "", nil, 429, "RATE_LIMITED"},
			{"rate before an unclean path", w.exhausted, "GET", "/api/v1/./me", "", nil, 429, "RATE_LIMITED"},
			{"rate before method", w.exhausted, "PUT", projects, "", nil, 429, "RATE_LIMITED"},
			{"rate before scope", w.exhausted, "GET", projects, "", nil, 429, "RATE_LIMITED"},
			{"rate before body", w.exhausted, "POST", projects, huge, nil, 429, "RATE_LIMITED"},
			{"route before scope", w.weak, "POST", "/api/v1/project", huge, nil, 404, "NOT_FOUND"},
			{"method before scope", w.weak, "PATCH", projects, huge, nil, 405, "METHOD_NOT_ALLOWED"},
			{"method before the id's syntax", w.weak, "PUT", projects + "/1", "{", nil, 405, "METHOD_NOT_ALLOWED"},
			{"scope before size", w.weak, "POST", projects, huge, nil, 403, "FORBIDDEN"},
			{"scope before the id's syntax", w.weak, "PATCH", projects + "/1", "{", nil, 403, "FORBIDDEN"},
			{"scope before query", w.weak, "GET", projects + "?limit=x", "", nil, 403, "FORBIDDEN"},
			{"scope before resource", w.weak, "GET", gone, "", nil, 403, "FORBIDDEN"},
			{"size before query", "", "POST", projects + "?%zz", huge, nil, 413, "PAYLOAD_TOO_LARGE"},
			{"size before the id's syntax", "", "PATCH", projects + "/1", huge, nil, 413, "PAYLOAD_TOO_LARGE"},
			{"size before Content-Type", "", "POST", projects, huge, []string{"Content-Type: text/plain"}, 413, "PAYLOAD_TOO_LARGE"},
			{"size before Idempotency-Key", "", "POST", gone + "/move", huge, []string{used}, 413, "PAYLOAD_TOO_LARGE"},
			{"syntax before conflict", "", "POST", gone + "/move", `{"folder_id":1}`, []string{used}, 400, "VALIDATION_ERROR"},
			{"query before conflict", "", "POST", gone + "/move?%zz", `{"folder_id":"` + w.deep + `"}`, []string{used}, 400, "VALIDATION_ERROR"},
			{"syntax before resource", "", "PATCH", gone, `{"name":""}`, []string{stale}, 400, "VALIDATION_ERROR"},
			{"nothing to change before resource", "", "PATCH", gone, `{}`, nil, 400, "VALIDATION_ERROR"},
			{"conflict before resource", "", "POST", gone + "/move", `{"folder_id":"` + w.deep + `"}`, []string{used, stale}, 409, "IDEMPOTENCY_CONFLICT"},
			{"replay before resource", "", "POST", gone + "/move", `{"folder_id":null}`, []string{used, stale}, 200, ""},
			{"resource before match", "", "PATCH", gone, `{"name":"x"}`, []string{stale}, 404, "NOT_FOUND"},
			{"resource before match, delete", "", "DELETE", gone, "", []string{stale}, 404, "NOT_FOUND"},
			{"reference before match", "", "PATCH", project, `{"folder_id":"` + unknownID + `"}`, []string{stale}, 404, "NOT_FOUND"},
			{"reference before match, move", "", "POST", "/api/v1/folders/" + w.branding + "/move", `{"parent_id":"` + unknownID + `"}`, []string{stale}, 404, "NOT_FOUND"},
			{"match before the folder's type", "", "PATCH", project, `{"folder_id":"` + w.deep + `"}`, []string{stale}, 412, "PRECONDITION_FAILED"},
			{"match before a cycle", "", "POST", "/api/v1/folders/" + w.branding + "/move", `{"parent_id":"` + w.deep + `"}`, []string{stale}, 412, "PRECONDITION_FAILED"},
			{"match before the plan of the operation", "", "PATCH", "/api/v1/folders/" + w.deep, `{"name":"x"}`, []string{stale}, 412, "PRECONDITION_FAILED"},
			{"depth before the plan of the operation", "", "POST", "/api/v1/folders", `{"name":"x","entity_type":"branding","parent_id":"` + w.deep + `"}`, nil, 400, "VALIDATION_ERROR"},
			{"type before the plan of the operation", "", "POST", "/api/v1/folders", `{"name":"x","entity_type":"project","parent_id":"` + w.branding + `"}`, nil, 400, "VALIDATION_ERROR"},
			{"cycle before the plan of the operation", "", "POST", "/api/v1/folders/" + w.branding + "/move", `{"parent_id":"` + w.deep + `"}`, nil, 400, "VALIDATION_ERROR"},
			{"the plan of the operation at last", "", "PATCH", "/api/v1/folders/" + w.deep, `{"name":"x"}`, nil, 403, "PLAN_REQUIRED"},
		} {
			t.Run(test.name, func(t *testing.T) {
				key := test.key
				if key == "" && test.code != "UNAUTHORIZED" {
					key = w.ws.Key()
				}
				var body any
				if test.body != "" {
					body = test.body
				}
				got := a.Client(key).Do(test.method, test.path, body, test.headers...)
				if test.code == "" {
					got.Want(t, test.status)
					return
				}
				got.WantError(t, test.status, test.code)
			})
		}
	}, limit)
}

// D11: outside of /api/ no key is needed, and an unknown path is a 404 in JSON.
func TestOutsideOfTheAPI(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Client("")
	for _, path := range []string{"/healthz", "/readyz"} {
		c.GET(path).Want(t, 200)
		c.POST(path, "{}").WantError(t, 405, "METHOD_NOT_ALLOWED")
		if got := c.Do("HEAD", path, nil).Want(t, 200); len(got.Body) != 0 {
			t.Errorf("HEAD %s has a body", path)
		}
	}
	for _, path := range []string{"/", "/nothing", "/apis", "/API/v1/projects", "/healthz/", "//healthz", "/./healthz", "/index.html", "//api/v1/projects",
		"/x/../api/v1/projects", "/favicon.ico"} {
		c.GET(path).WantError(t, 404, "NOT_FOUND")
		c.POST(path, "{}").WantError(t, 404, "NOT_FOUND")
	}
	a.Front.Drain()
	if got := c.GET("/readyz").WantError(t, 503, "UNAVAILABLE"); got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	c.GET("/healthz").Want(t, 200)
}
