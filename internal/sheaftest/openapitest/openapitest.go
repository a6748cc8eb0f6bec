// Package openapitest holds HTTP exchanges against an OpenAPI document. It imports nothing of the
// program: the validators take the compiler twenty seconds, and a package that imports what is
// tested is compiled again for every one of its importers' tests.
package openapitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/errors"
)

// Document is an OpenAPI document that exchanges are held against. It is safe for concurrent use.
type Document struct {
	requests, responses validator.Validator // of what clients send, and of what is answered
	operations          *http.ServeMux      // finds an operation, and serves nothing
	statuses            map[string][]string // by the pattern of an operation

	// The validators render a schema when they first meet it, and cannot do that twice at once.
	// known has the operations and statuses that they have met.
	first sync.Mutex
	known sync.Map

	counting sync.Mutex
	shapes   map[string]int // how many exchanges of each shape there were; counting guards it
}

// Answer is what came back, read whole.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Valid returns what makes the text no OpenAPI document.
func Valid(text []byte) error {
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return err
	}
	v, errs := validator.NewValidator(document)
	if len(errs) > 0 {
		return fmt.Errorf("%v", errs)
	}
	return faultsOf(v.ValidateDocument())
}

// New reads a document.
func New(text []byte) (*Document, error) {
	document, err := libopenapi.NewDocument(text)
	if err != nil {
		return nil, err
	}
	model, err := document.BuildV3Model()
	if err != nil {
		return nil, err
	}
	c := &Document{operations: http.NewServeMux(), statuses: map[string][]string{}, shapes: map[string]int{}}
	c.requests = validator.NewValidatorFromV3Model(&model.Model, config.WithFormatAssertions())
	// Strict: what the document does not name must not be answered, though a client may send it.
	c.responses = validator.NewValidatorFromV3Model(&model.Model, config.WithFormatAssertions(), config.WithStrictMode(),
		config.WithStrictIgnoredHeadersExtra("Cache-Control", "X-Accel-Buffering", "Connection", "X-Content-Type-Options",
			"Tus-Resumable", "Tus-Version"))
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			pattern := strings.ToUpper(method) + " " + path
			c.operations.Handle(pattern, http.NotFoundHandler())
			c.statuses[pattern] = slices.Collect(operation.Responses.Codes.KeysFromOldest())
		}
	}
	return c, nil
}

// beforeOperation are the statuses that an address may have which the document does not: what is
// refused before an operation is found.
var beforeOperation = []int{401, 403, 404, 405, 429, 500, 503}

// Check returns how an exchange under /api/ differs from the document. A request that was refused
// is not held against it, only the answer: tests send all sorts of things on purpose. sent is the
// request's body, unless it was streamed.
func (c *Document) Check(r *http.Request, sent []byte, res Answer) error {
	if !strings.HasPrefix(r.URL.Path, "/api/") {
		return nil
	}
	operation := c.operationOf(r)
	if operation == "" {
		if !slices.Contains(beforeOperation, res.Status) {
			return fmt.Errorf("answered %d, but the document has no such operation", res.Status)
		}
		return nil
	}
	if !slices.Contains(c.statuses[operation], strconv.Itoa(res.Status)) {
		return fmt.Errorf("answered %d, which the document does not have for %s", res.Status, operation)
	}
	if r.Method == http.MethodHead {
		return nil // GET is held against the document, and HEAD against GET
	}
	if c.isEnough(operation, r, sent, res) {
		return nil
	}
	defer c.alone(fmt.Sprint(operation, res.Status))()
	if streamed := r.Body != nil && r.GetBody == nil; res.Status < 300 && !streamed {
		if err := faultsOf(c.requests.ValidateHttpRequestSync(plain(r, r.URL.Path, sent))); err != nil {
			return fmt.Errorf("took a request that the document refuses: %w", err)
		}
	}
	if isFile(operation) && res.Status < 300 { // of any type, which the document does not list
		res.Header = res.Header.Clone()
		res.Header.Set("Content-Type", "application/octet-stream")
	}
	answer := &http.Response{StatusCode: res.Status, Header: res.Header, Request: r, Body: io.NopCloser(bytes.NewReader(res.Body))}
	// The id may be anything here, a slash too.
	_, path, _ := strings.Cut(strings.NewReplacer("{id}", "id", "{n}", "1").Replace(operation), " ")
	if err := faultsOf(c.responses.ValidateHttpResponse(plain(r, path, nil), answer)); err != nil {
		return fmt.Errorf("answered %d %s against the document: %w", res.Status, clip(res.Body), err)
	}
	return nil
}

// isFile reports whether the operation answers with the bytes of a file.
func isFile(operation string) bool { return strings.HasSuffix(operation, "/media/{id}/content") }

// alone lets the first exchange of a kind be checked while no other first one is, and all further
// ones beside each other. The function that it returns ends the check.
func (c *Document) alone(kind string) (done func()) {
	if _, known := c.known.Load(kind); known {
		return func() {}
	}
	c.first.Lock()
	return func() {
		c.known.Store(kind, true)
		c.first.Unlock()
	}
}

// operationOf returns the pattern of the operation that the document has for the request, or "".
func (c *Document) operationOf(r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, "/") || strings.Contains(r.URL.Path, "//") || strings.Contains(r.URL.Path+"/", "/./") || strings.Contains(r.URL.Path, "/..") {
		return ""
	}
	_, pattern := c.operations.Handler(r)
	return pattern
}

// plain is the request as the validator can read it: decoded once, each parameter once, as the last
// one counts.
func plain(r *http.Request, path string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: path}
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil {
		for name, values := range query {
			query[name] = values[len(values)-1:]
		}
		out.URL.RawQuery = query.Encode()
	}
	// A body without a type, or with odd parameters behind it, is JSON, but for the text of a document and
	// a file.
	out.Header.Set("Content-Type", "application/json")
	text := r.Method == http.MethodPut && strings.HasSuffix(path, "/content")
	if text {
		out.Header.Set("Content-Type", "text/markdown")
	}
	if r.Method == http.MethodPost && path == "/api/v1/media" { // a file, of whatever type
		out.Header.Set("Content-Type", "application/octet-stream")
	}
	if r.Method == http.MethodPatch && strings.HasPrefix(path, "/api/v1/uploads/") { // a piece of one
		out.Header.Set("Content-Type", "application/offset+octet-stream")
	}
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 && !text {
		out.Header.Del("Content-Type")
		out.Body = http.NoBody
	}
	return out
}

// faultsOf joins what a validator found into one error.
func faultsOf(ok bool, faults []*errors.ValidationError) error {
	if ok {
		return nil
	}
	var b strings.Builder
	for _, f := range faults {
		if unreadable(f) {
			continue
		}
		fmt.Fprintf(&b, "\n\t%s: %s", f.Message, f.Reason)
		for _, s := range f.SchemaValidationErrors {
			fmt.Fprintf(&b, "\n\t\t%s at %s", s.Reason, s.KeywordLocation)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return fmt.Errorf("%s", b.String())
}

// unreadable reports a fault that is the validator's own. A payload that another part sent is kept
// as it is: it may have numbers that no float has, and fields that no document names, which strict
// mode refuses though the schema is open.
func unreadable(f *errors.ValidationError) bool {
	return strings.Contains(f.Reason, "cannot unmarshal number") ||
		strings.Contains(f.Message, ".payload.") && strings.HasSuffix(f.Reason, "Declared properties: []")
}

// clip is as much of a body as an error shows.
func clip(b []byte) string {
	if len(b) > 500 {
		return string(b[:500]) + "…"
	}
	return string(b)
}
