package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D12
func TestRoutes_UnknownAndUncleanPathsAreNotFound(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	id := c.POST("/api/v1/projects", `{"name":"a"}`).Text(t, "id")
	for _, path := range []string{
		"/api", "/api/", "/api/v1", "/api/v1/", "/api/v2/projects", "/api/v1/Projects", "/api/v1/projects/" + id + "/documents", "/api/v1/projects.json",
		"/api/v1/projects/", "/api/v1/projects/" + id + "/", "/api//v1/projects", "/api/v1//projects", "/api/v1/projects//", "/api/v1/./projects",
		"/api/v1/projects/.", "/api/v1/projects/..", "/api/v1/folders/../projects", "/api/v1/projects/" + id + "/../" + id, "/api/v1/x/../projects",
		"/api/v1/%2e/projects", "/api/v1/folders/%2e%2e/projects", "/api/v1/projects/%2E%2e", "/api/v1%2Fprojects", "/api%2Fv1%2Fprojects",
		"/api/v1/projects%2F" + id, "/api/v1/projects%2f", "/api/v1/projects/%2F", "/api/v1%2f%2fprojects", "/api/v1/projects%3Flimit=1",
		"/api/v1/%252e%252e/projects", "/api/v1/projects%00", "/api/v1/projects;x=1",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			got := c.Do(method, path, nil).WantError(t, 404, "NOT_FOUND")
			if got.Header.Get("Location") != "" {
				t.Errorf("%s %s redirects to %s", method, path, got.Header.Get("Location"))
			}
		}
	}
	c.GET("/api/v1/projects/"+id).Want(t, 200)
}

// D14: a path that is one slip away from an address is told which; nothing else is.
func TestRoutes_SlipsAreNamed(t *testing.T) {
	t.Parallel()
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	for path, says := range map[string][]string{
		"//api/v1/projects":                              {"two slashes", "ask for /api/v1/projects"},
		"/api/v1//projects":                              {"two slashes", "ask for /api/v1/projects"},
		"/api/v1/projects/":                              {"ends in a slash", "ask for /api/v1/projects"},
		"/api/v1/projects//":                             {"two slashes", "ends in a slash", "ask for /api/v1/projects"},
		"/api/v1/./projects":                             {". or ..", "ask for /api/v1/projects"},
		"/api/v1/Projects":                               {"lower case", "ask for /api/v1/projects"},
		"/API/v1/projects":                               {"lower case", "ask for /api/v1/projects"},
		"/api/v1/projects.json":                          {".json", "ask for /api/v1/projects"},
		"/api/v1/api/v1/projects":                        {"twice", "ask for /api/v1/projects"},
		"/api/api/v1/projects":                           {"twice", "ask for /api/v1/projects"},
		"/api/v1/api/webhooks/subscriptions":             {"twice", "ask for /api/webhooks/subscriptions"},
		"/v1/projects":                                   {"begins with /api", "ask for /api/v1/projects"},
		"/projects":                                      {"begins with /api/v1", "ask for /api/v1/projects"},
		"/api/projects/" + unknownID:                     {"begins with /api/v1", "ask for /api/v1/projects/" + unknownID},
		"/api/v1/webhooks/subscriptions":                 {"no version", "ask for /api/webhooks/subscriptions"},
		"/api/v1/webhooks/deliveries/" + unknownID:       {"no version", "ask for /api/webhooks/deliveries/" + unknownID},
		"/api/v1/webhooks":                               {"no version", "ask for /api/webhooks/subscriptions"},
		"/api/v1/webhooks/" + unknownID + "/test":        {"ask for /api/webhooks/subscriptions/" + unknownID + "/test"},
		"//api/v1/webhooks/subscriptions/":               {"two slashes", "no version", "ask for /api/webhooks/subscriptions"},
		"/webhooks/subscriptions":                        {"begins with /api", "ask for /api/webhooks/subscriptions"},
		"/api/webhooks":                                  {"ask for /api/webhooks/subscriptions"},
		"/api/v1/subscriptions/" + unknownID:             {"ask for /api/webhooks/subscriptions/" + unknownID},
		"/api/v1/keys":                                   {"api-keys", "ask for /api/v1/api-keys"},
		"/api/v1/nothing":                                {"/docs"},
		"/api/v2/projects":                               {"/docs"},
		"/api/v1//nothing/":                              {"/docs", "two in a row"},
		"/invite//token":                                 {"/docs"},
		"/api/v1/" + strings.Repeat("/", 5000) + "x":     {"/docs"},
		"/api/v1/projects/" + unknownID + "/documents/x": {"/docs"},
	} {
		got := c.GET(path).WantError(t, 404, "NOT_FOUND", says...)
		if says[0] == "/docs" && strings.Contains(got.Text(t, "error"), "ask for") {
			t.Errorf("%.40s: %s", path, got.Body)
		}
	}
}

// D12: segments are percent-decoded once.
func TestRoutes_DecodeSegmentsOnce(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Pro).Client("")
	id := c.POST("/api/v1/projects", `{"name":"a"}`).Text(t, "id")
	encoded := fmt.Sprintf("%%%02x%s", id[0], id[1:])
	c.GET("/api/v1/projects/"+encoded).Want(t, 200)
	c.GET("/api/v1/%70rojects/"+id).Want(t, 200)
	c.GET("/api/v1/projects/"+strings.ReplaceAll(id, "-", "%2D")).Want(t, 200)
	twice := strings.ReplaceAll(encoded, "%", "%25")
	for _, bad := range []string{twice, "%252e%252e", "a%2Fb", id + "%2Fmove", "%00", "%ff", "%20", "+"} {
		c.GET("/api/v1/projects/"+bad).WantError(t, 400, "VALIDATION_ERROR", "id", "UUID")
	}
}

// D12: every path answers the methods that it has not with those that it has.
func TestRoutes_WrongMethod(t *testing.T) {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	allowed := map[string][]string{}
	for _, r := range a.Handler.Routes() {
		allowed[r.Path] = append(allowed[r.Path], r.Method)
		if r.Method == "GET" {
			allowed[r.Path] = append(allowed[r.Path], "HEAD")
		}
	}
	for path, has := range allowed {
		slices.Sort(has)
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "X"} {
			if slices.Contains(has, method) {
				continue
			}
			got := c.Do(method, strings.Replace(path, "{id}", unknownID, 1), nil).Want(t, 405)
			if allow := got.Header.Get("Allow"); allow != strings.Join(has, ", ") {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, allow, has)
			}
			if method != "HEAD" {
				got.WantError(t, 405, "METHOD_NOT_ALLOWED", method)
			}
		}
	}
}

// D12: HEAD is GET without the body.
func TestRoutes_HeadIsGetWithoutTheBody(t *testing.T) {
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	ids := resources(t, c)
	for _, path := range []string{"/api/v1/projects", "/api/v1/projects?limit=1&offset=1", "/api/v1/projects/" + ids["projects"], "/api/v1/folders/" + ids["folders"],
		"/api/v1/documents", "/api/v1/events", "/api/v1/events/" + ids["events"], "/api/v1/icons", "/api/v1/api-keys", "/api/v1/projects/1", "/api/v1/nothing",
		"/api/v1/projects/" + unknownID} {
		get, head := c.GET(path), c.Do("HEAD", path, nil)
		if head.Status != get.Status || len(head.Body) != 0 || head.Err != nil {
			t.Errorf("%s: HEAD got %d with %d bytes, GET %d", path, head.Status, len(head.Body), get.Status)
		}
		if got, want := head.Header.Get("Content-Length"), fmt.Sprint(len(get.Body)); got != want {
			t.Errorf("%s: Content-Length is %q, want %s", path, got, want)
		}
		head.Body = get.Body
		same(t, get, head)
	}
}

// D12: the target of a request may be a whole address or nothing that is a path.
func TestRoutes_OddRequestTargets(t *testing.T) {
	a := apitest.SQLite(t)
	key := a.Workspace(sheaf.Pro).Key()
	for line, want := range map[string]int{
		"GET http://elsewhere.example/api/v1/projects HTTP/1.1": 200,
		"GET /api/v1/projects#x HTTP/1.1":                       404,
		"GET //api/v1/projects HTTP/1.1":                        404,
		"GET ///api/v1/projects HTTP/1.1":                       404,
		"GET /api/v1\\projects HTTP/1.1":                        404,
		"CONNECT /api/v1/projects HTTP/1.1":                     405,
		"GET /api/v1/projects?  HTTP/1.1":                       400,
	} {
		conn, err := net.Dial("tcp", a.Server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", line, key)
		res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: "GET"})
		if err != nil {
			t.Errorf("%q: %v", line, err)
		} else if res.StatusCode != want || res.Header.Get("Location") != "" {
			t.Errorf("%q: got %s, Location %q, want %d", line, res.Status, res.Header.Get("Location"), want)
		}
		conn.Close()
	}
}
