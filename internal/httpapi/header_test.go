package httpapi_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// Whatever the length.
func TestHeaders_ContentLengthIsToldAtEveryLength(t *testing.T) {
	t.Parallel()
	c := apitest.SQLite(t).Workspace(sheaf.Business).Client("")
	for _, n := range []int{1, 1500, 1700, 1720, 1740, 1760, 1780, 1800, 1820, 2000} {
		made := c.POST("/api/v1/projects", map[string]any{"name": "a", "description": strings.Repeat("x", n)}).Want(t, 201)
		for _, method := range []string{"GET", "HEAD"} {
			got := c.Do(method, "/api/v1/projects/"+made.Text(t, "id"), nil).Want(t, 200)
			if h := got.Header["Content-Length"]; len(h) != 1 || h[0] == "0" || got.Header.Get("Transfer-Encoding") != "" {
				t.Errorf("%s of a description of %d: Content-Length is %q", method, n, h)
			}
		}
	}
}
