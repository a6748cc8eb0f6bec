package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/sheaftest/openapitest"
)

// answerWithin bounds a request. It is far longer than any answer takes, and shorter than the
// timeout of a test run.
const answerWithin = 5 * time.Minute

// Client makes requests with one key. It is safe for concurrent use. It fails the test only if a
// request or an answer differs from the OpenAPI document; the Response reports any other failure.
type Client struct {
	api    *API
	header http.Header
}

// Client returns a client with the key. With an empty key it sends none.
func (a *API) Client(key string) *Client {
	c := &Client{api: a, header: http.Header{}}
	if key != "" {
		c.header.Set("Authorization", "Bearer "+key)
	}
	return c
}

// GET requests a path, which may have a query. Headers are lines such as "If-Match: *"; they
// replace the client's own.
func (c *Client) GET(path string, headers ...string) *Response {
	return c.Do(http.MethodGet, path, nil, headers...)
}

// POST sends a body as Do does.
func (c *Client) POST(path string, body any, headers ...string) *Response {
	return c.Do(http.MethodPost, path, body, headers...)
}

// PATCH sends a body as Do does.
func (c *Client) PATCH(path string, body any, headers ...string) *Response {
	return c.Do(http.MethodPatch, path, body, headers...)
}

// DELETE deletes the resource at the path.
func (c *Client) DELETE(path string, headers ...string) *Response {
	return c.Do(http.MethodDelete, path, nil, headers...)
}

// Do makes one request. The body is nil; a string or bytes, which are sent unchanged; a reader,
// which is sent in chunks; or any other value, which is sent as JSON. Its content type is
// application/json, unless a header has another. Do follows no redirect.
func (c *Client) Do(method, path string, body any, headers ...string) *Response {
	req, err := c.request(method, path, body, headers)
	if err != nil {
		return &Response{Err: err, what: method + " " + path}
	}
	client := *c.api.Server.Client()
	client.Timeout = answerWithin
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return &Response{Err: err, what: method + " " + path}
	}
	defer res.Body.Close()
	out := &Response{Status: res.StatusCode, Header: res.Header, what: method + " " + path}
	if out.Body, out.Err = io.ReadAll(res.Body); out.Err == nil {
		_ = json.Unmarshal(out.Body, &out.JSON) // nil if it is no object
		c.checkDocument(req, out)
	}
	return out
}

// theDocument is the API's OpenAPI document. It is read once in a process.
var theDocument = sync.OnceValues(func() (*openapitest.Document, error) { return openapitest.New(httpapi.OpenAPI()) })

// checkDocument checks the exchange against the OpenAPI document. A body that was streamed is not
// checked.
func (c *Client) checkDocument(req *http.Request, res *Response) {
	if req.Header.Get("Access-Control-Request-Method") != "" {
		return // a browser's question, which is no operation
	}
	held, err := theDocument()
	if err != nil {
		c.api.t.Errorf("read the OpenAPI document: %v", err)
		return
	}
	var sent []byte
	if req.GetBody != nil {
		if b, err := req.GetBody(); err == nil {
			sent, _ = io.ReadAll(b) // it is in memory
		}
	}
	if err := held.Check(req, sent, openapitest.Answer{Status: res.Status, Header: res.Header, Body: res.Body}); err != nil {
		c.api.t.Errorf("%s: %v", res.what, err)
	}
}

// request returns the request. The caller's headers replace the client's own. A header that occurs
// twice is sent twice.
func (c *Client) request(method, path string, body any, headers []string) (*http.Request, error) {
	content, err := reader(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(method, c.api.Server.URL+path, content)
	if err != nil {
		return nil, err
	}
	req.Header = c.header.Clone()
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		req.Header.Del(name)
		if name == "Host" {
			req.Host = strings.TrimSpace(value)
		}
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ":")
		req.Header.Add(name, strings.TrimSpace(value))
	}
	return req, nil
}

// reader returns the body for Do. It hides the type of a reader, so that its length is unknown.
func reader(body any) (io.Reader, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case string:
		return strings.NewReader(b), nil
	case []byte:
		return bytes.NewReader(b), nil
	case io.Reader:
		return struct{ io.Reader }{b}, nil
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(body)
	return &buf, err
}

// Response is the answer to one request, with its whole body. Its methods with a test parameter end
// the test if the answer is not the expected one.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
	JSON   map[string]any // nil if the body is no JSON object
	Err    error          // why there was no answer

	what string // the request, for a person
}

// Want ends the test unless the answer has the status. It returns the answer.
func (r *Response) Want(t testing.TB, status int) *Response {
	t.Helper()
	if r.Err != nil {
		t.Fatalf("%s: %v", r.what, r.Err)
	}
	if r.Status != status {
		t.Fatalf("%s: got %d %s, want %d", r.what, r.Status, clip(r.Body), status)
	}
	return r
}

// WantError ends the test unless the answer is an error in the API's form, with the status, the
// code, and each of the parts in its text. It returns the answer.
func (r *Response) WantError(t testing.TB, status int, code string, parts ...string) *Response {
	t.Helper()
	r.Want(t, status)
	text, _ := r.JSON["error"].(string)
	fields := 2
	if field, _ := r.JSON["field"].(string); field != "" && strings.Contains(text, field) {
		fields++
	}
	if index, is := r.JSON["index"].(float64); is && (strings.HasPrefix(text, fmt.Sprintf("operations[%v]: ", index)) || strings.HasPrefix(text, fmt.Sprintf("changes[%v]: ", index))) {
		fields++ // of a batch, or a proposal
	}
	if _, is := r.JSON["conflicts"].([]any); is {
		fields++ // of a proposal
	}
	if len(r.JSON) != fields || text == "" || r.JSON["code"] != code {
		t.Fatalf("%s: got %d %s, want {error, code: %s} and perhaps the field", r.what, r.Status, clip(r.Body), code)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Fatalf("%s: an error of Content-Type %q", r.what, got)
	}
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("%s: the text %q does not name %q", r.what, text, part)
		}
	}
	return r
}

// Text returns a field that must be a string.
func (r *Response) Text(t testing.TB, field string) string {
	t.Helper()
	s, ok := r.JSON[field].(string)
	if !ok {
		t.Fatalf("%s: %s is no string in %s", r.what, field, clip(r.Body))
	}
	return s
}

// Items returns the data of a list's envelope.
func (r *Response) Items(t testing.TB) []map[string]any {
	t.Helper()
	data, ok := r.JSON["data"].([]any)
	if !ok {
		t.Fatalf("%s: data is no array in %s", r.what, clip(r.Body))
	}
	items := make([]map[string]any, len(data))
	for i, v := range data {
		if items[i], ok = v.(map[string]any); !ok {
			t.Fatalf("%s: data[%d] is no object", r.what, i)
		}
	}
	return items
}

// IDs returns the ids of the items of a list, in their order.
func (r *Response) IDs(t testing.TB) []string {
	t.Helper()
	var ids []string
	for _, item := range r.Items(t) {
		ids = append(ids, fmt.Sprint(item["id"]))
	}
	return ids
}

// clip returns the part of a body that a failure shows.
func clip(b []byte) string {
	if len(b) > 500 {
		return string(b[:500]) + "…"
	}
	return string(b)
}
