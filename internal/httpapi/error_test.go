package httpapi_test

import (
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D12: the field that is wrong is named for programs as well, by whichever room found it.
func TestError_NamesTheField(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		document, project := create(t, c, documents, fields{"title": "d"}), create(t, c, projects, fields{"name": "p"})
		share, text := create(t, c, shares, shareOf("document", document)), upload(c, []byte("x"), "?filename=x.txt").Want(t, 201).Text(t, "id")
		c.PATCH(at(documents, document), fields{"content": strings.Repeat("\n", 20_001)}).Want(t, 200)
		none, noneHeader := form(t, nil, "", "filename", "x")
		long, longHeader := form(t, []byte("x"), "x.txt", "document_id", strings.Repeat("x", 5000))
		hook := `{"name": "n", "url": "https://example.com", "events": ["project.created"], `
		for _, test := range []struct {
			answer *apitest.Response
			field  string // empty: it is none, or several
		}{
			{c.POST(projects, `{"name": ""}`), "name"},
			{c.POST(projects, `{}`), "name"},
			{c.POST(projects, `{"name": 5}`), "name"},
			{c.POST(projects, `{"name": "n", "color": "blue"}`), "color"},
			{c.POST(projects, `{"name": "n", "metadata": {"a b": "c"}}`), "metadata"},
			{c.POST(projects, `{"name": "n", "folder_id": "x"}`), "folder_id"},
			{c.POST(projects, `{`), ""},
			{c.PATCH(at(projects, project), `{}`), ""},
			{c.GET(projects + "?limit=x"), "limit"},
			{c.GET(projects + "?order=x"), "order"},
			{c.GET(projects + "?updated_since=x"), "updated_since"},
			{c.GET(projects + "?folder_id=x"), "folder_id"},
			{c.GET(projects + "/x"), "id"},
			{c.GET(documents + "?sort=deleted_at"), "sort"},
			{c.GET(at(documents, document) + "/versions/x"), "n"},
			{c.GET(at(documents, document) + "/versions/1/diff?to=x"), "to"},
			{c.GET(at(documents, document) + "/versions/1/diff?to=2"), ""},
			{put(c, at(documents, document), "a\x00b"), ""},
			{c.PATCH(at(shares, share), `{"listed": null}`), "listed"},
			{c.PATCH(at(shares, share), `{"password": "a"}`), "password"},
			{c.POST(brandings, `{"name": "n", "logo_media_id": "x"}`), "logo_media_id"},
			{c.POST(brandings, fields{"name": "n", "logo_media_id": text}), "logo_media_id"},
			{c.POST(mediaPath, none, noneHeader), "file"},
			{c.POST(mediaPath, []byte{}, "Content-Type: image/png"), "file"},
			{c.POST(mediaPath, long, longHeader), "document_id"},
			{c.POST("/api/webhooks/subscriptions", `{"name": "n", "url": "http://example.com", "events": ["project.created"]}`), "url"},
			{c.POST("/api/webhooks/subscriptions", `{"name": "n", "url": "https://example.com", "events": ["nothing"]}`), "events"},
			{c.POST("/api/webhooks/subscriptions", hook+`"filter": {}}`), "filter"},
			{c.POST("/api/webhooks/subscriptions", hook+`"filter": {"project_ids": ["x"]}}`), "project_ids[0]"},
			{c.POST("/api/webhooks/subscriptions", hook+`"filter": {"project_ids": [7]}}`), "project_ids[0]"},
			{c.POST("/api/webhooks/subscriptions", hook+`"headers": {"Host": "x"}}`), "headers"},
			{c.POST("/api/v1/events", `{"type": "share.created", "resource_id": "`+nowhereID+`", "payload": {}, "user_id": "x"}`), "user_id"},
			{c.POST("/api/v1/events", fields{"type": "share.created", "resource_id": share, "payload": fields{}}), "resource_id"},
			{c.POST(projects, `{"name": "n"}`, "Content-Type: text/csv"), ""},
		} {
			test.answer.WantError(t, 400, "VALIDATION_ERROR")
			if field, _ := test.answer.JSON["field"].(string); field != test.field {
				t.Errorf("%s names %q, want %q", test.answer.Body, field, test.field)
			}
		}
		missing := c.GET("/api/v1/projects/01a1ddaf-e289-7866-8c99-5e7007eaccda").WantError(t, 404, "NOT_FOUND")
		if field, named := missing.JSON["field"]; named {
			t.Errorf("a record that is not there names %v", field)
		}
	})
}
