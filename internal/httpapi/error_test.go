package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// A client who left interrupts its read. That is no fault of the store, and no line of an operator's log.
func TestError_AClientWhoLeftIsNoFaultOfTheStore(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		key := a.Workspace(sheaf.Pro).Key()
		r := httptest.NewRequest("GET", "/api/v1/projects?limit=7", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		gone, leave := context.WithCancel(t.Context())
		leave()
		w := httptest.NewRecorder()
		a.Front.ServeHTTP(w, r.WithContext(gone))
		if w.Code != 503 {
			t.Errorf("the read was answered %d: it was not interrupted, so this shows nothing", w.Code)
		}
		if strings.Contains(a.Log(), "the store is unavailable") {
			t.Errorf("the log has %s", a.Log())
		}
	})
}

// D12: the field that is wrong is named for programs as well, by whichever room found it.
func TestError_NamesTheField(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		for _, test := range []struct {
			path  string
			body  string
			field string
		}{
			{"/api/v1/projects", `{"name": ""}`, "name"},
			{"/api/v1/projects", `{}`, "name"},
			{"/api/v1/projects", `{"name": 5}`, "name"},
			{"/api/v1/projects", `{"name": "n", "color": "blue"}`, "color"},
			{"/api/v1/projects", `{"name": "n", "metadata": {"a b": "c"}}`, "metadata"},
			{"/api/webhooks/subscriptions", `{"name": "n", "url": "http://example.com", "events": ["project.created"]}`, "url"},
			{"/api/webhooks/subscriptions", `{"name": "n", "url": "https://example.com", "events": ["nothing"]}`, "events"},
			{"/api/v1/projects", `{`, ""},
		} {
			got := c.POST(test.path, test.body)
			got.WantError(t, 400, "VALIDATION_ERROR")
			if field, _ := got.JSON["field"].(string); field != test.field {
				t.Errorf("%s %s names %q, want %q", test.path, test.body, field, test.field)
			}
		}
		if field := c.GET("/api/v1/projects?limit=x").WantError(t, 400, "VALIDATION_ERROR").JSON["field"]; field != "limit" {
			t.Errorf("a parameter is named %v", field)
		}
		missing := c.GET("/api/v1/projects/01a1ddaf-e289-7866-8c99-5e7007eaccda").WantError(t, 404, "NOT_FOUND")
		if field, named := missing.JSON["field"]; named {
			t.Errorf("a record that is not there names %v", field)
		}
	})
}
