package race

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// site is what contests are held on: the API, or naive SQL that answers the same requests.
type site interface {
	workspace(plan string) workspace
}

// workspace is that of one round.
type workspace struct {
	handler http.Handler
	key     string
	setPlan func(plan string)
}

type api struct{ *apitest.API }

func (a api) workspace(plan string) workspace {
	ws := a.Workspace(sheaf.Plan(plan))
	return workspace{handler: a.Server.Config.Handler, key: ws.Key(), setPlan: func(plan string) { ws.SetPlan(sheaf.Plan(plan)) }}
}

// item is a JSON object.
type item map[string]any

func (i item) text(name string) string {
	s, _ := i[name].(string)
	return s
}

type answer struct {
	status int
	header http.Header
	item
}

// do makes one request without a socket between, so that clients meet. Headers are lines.
func (w workspace) do(method, path, body string, headers ...string) answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.key)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{status: rec.Code, header: rec.Header()}
	_ = json.Unmarshal(rec.Body.Bytes(), &a.item) // nil when it is no object
	return a
}

// list returns all that is at the path: it is never more than a page.
func (w workspace) list(path string) (items []item) {
	for _, x := range w.do("GET", path+"?limit=100", "").item["data"].([]any) {
		items = append(items, x.(map[string]any))
	}
	return items
}

func (w workspace) ids(path string) (ids []string) {
	for _, x := range w.list(path) {
		ids = append(ids, x.text("id"))
	}
	return slices.Sorted(slices.Values(ids))
}
