package apitest

import (
	"net/http"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaftest/openapitest"
)

// The check notices differences: without them it would prove nothing.
func TestDocument_FindsWhatTheDocumentDoesNotHave(t *testing.T) {
	c, err := theDocument()
	if err != nil {
		t.Fatal(err)
	}
	const document = `"id":"0190b0a0-0000-7000-8000-000000000003","title":"a","description":null,"project_id":null,"parent_id":null,"sort_order":1048576,"version":1,"content_bytes":0,"content_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","external_id":null,"url":null,"metadata":{},"created_at":"2026-11-15T10:00:00.000Z","updated_at":"2026-11-15T10:00:00.000Z"`
	for _, test := range []struct {
		name, method, path, sent string
		status                   int
		drop                     string // a header
		answer, want             string
	}{
		{"as it should be", "POST", "/api/v1/documents", `{"title":"a"}`, 201, "", "{" + document + "}", ""},
		{"a field too many", "POST", "/api/v1/documents", `{"title":"a"}`, 201, "", "{" + document + `,"revision":1}`, "revision"},
		{"a field too few", "POST", "/api/v1/documents", `{"title":"a"}`, 201, "", `{"id":"0190b0a0-0000-7000-8000-000000000003"}`, "title"},
		{"a field of another form", "POST", "/api/v1/documents", `{"title":"a"}`, 201, "", "{" + strings.Replace(document, ".000Z", "Z", 1) + "}", "created_at"},
		{"no header", "POST", "/api/v1/documents", `{"title":"a"}`, 201, "Location", "{" + document + "}", "Location"},
		{"a request that should be refused", "POST", "/api/v1/documents", `{"title":null}`, 201, "", "{" + document + "}", "title"},
		{"a parameter that should be refused", "GET", "/api/v1/documents?limit=101", "", 200, "", `{"data":[],"total":0,"limit":1,"offset":0}`, "limit"},
		{"another status", "GET", "/api/v1/documents", "", 201, "", "{}", "201"},
		{"another code", "GET", "/api/v1/documents", "", 400, "", `{"error":"no","code":"NOT_FOUND"}`, "VALIDATION_ERROR"},
		{"no operation", "GET", "/api/v1/secrets", "", 200, "", "{}", "no such operation"},
		{"refused before an operation", "GET", "/api/v1/secrets", "", 404, "", `{"error":"no","code":"NOT_FOUND"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest(test.method, "http://sheaf.test"+test.path, strings.NewReader(test.sent))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer shf_x")
			header := http.Header{"Content-Type": {"application/json; charset=utf-8"}, "X-Request-Id": {"a"}, "Etag": {`"1-a"`}, "Location": {"http://sheaf.test/x"}}
			header.Del(test.drop)
			if test.status != 201 {
				header.Del("Location")
			}
			err = c.Check(r, []byte(test.sent), openapitest.Answer{Status: test.status, Header: header, Body: []byte(test.answer)})
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want it to name %q", err, test.want)
			}
		})
	}
}
