// Package openapitest checks HTTP exchanges against an OpenAPI document. It imports no package of
// the program: compiling the validators takes twenty seconds, and a package that imports a tested
// package is compiled again for that package's tests.
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

// Document is an OpenAPI document to check exchanges against. It is safe for concurrent use.
type Document struct {
	requests, responses validator.Validator // of requests and of responses
	operations          *http.ServeMux      // only finds operations
	statuses            map[string][]string // by the pattern of an operation

	// The validators render a schema at its first use, and cannot do that twice at once. known has
	// the operations and statuses that they have used.
	first sync.Mutex
	known sync.Map

	counting sync.Mutex
	shapes   map[string]int // the number of exchanges of each shape; counting guards it
}

// Answer is a response with its whole body.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Valid returns an error if the text is not a valid OpenAPI document.
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
	// Strict: a response must not contain what the document does not name, though a request may.
	c.responses = validator.NewValidatorFromV3Model(&model.Model, config.WithFormatAssertions(), config.WithStrictMode(),
		config.WithStrictIgnoredHeadersExtra("Cache-Control", "X-Accel-Buffering", "Connection", "X-Content-Type-Options", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary",
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

// beforeOperation are the possible statuses of an address that the document does not have: refusals
// before an operation is found.
var beforeOperation = []int{401, 403, 404, 405, 429, 500, 503}

// Check returns an error if an exchange under /api/ differs from the document. Of a refused request
// it checks only the response, because tests send invalid requests on purpose. `sent` is the
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
		return nil // GET is checked against the document, and other tests compare HEAD with GET
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
	if isFile(operation) && res.Status < 300 { // a file has any type, and the document does not list types
		res.Header = res.Header.Clone()
		res.Header.Set("Content-Type", "application/octet-stream")
	}
	answer := &http.Response{StatusCode: res.Status, Header: res.Header, Request: r, Body: io.NopCloser(bytes.NewReader(res.Body))}
	// The id may contain any character, also a slash.
	_, path, _ := strings.Cut(strings.NewReplacer("{id}", "id", "{n}", "1").Replace(operation), " ")
	if err := faultsOf(c.responses.ValidateHttpResponse(plain(r, path, nil), answer)); err != nil {
		return fmt.Errorf("answered %d %s against the document: %w", res.Status, clip(res.Body), err)
	}
	return nil
}

// isFile reports whether the operation answers with the bytes of a file.
func isFile(operation string) bool {
	return strings.HasSuffix(operation, "/media/{id}/content") || strings.HasSuffix(operation, "/media/{medium}/content")
}

// alone makes sure that the first check of a kind does not run in parallel with another first
// check. Later checks run in parallel. The caller calls done after the check.
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

// plain returns the request in the form that the validator can read: decoded once, and with only
// the last value of each parameter, which counts.
func plain(r *http.Request, path string, body []byte) *http.Request {
	out := r.Clone(r.Context())
	out.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: path}
	if query, err := url.ParseQuery(r.URL.RawQuery); err == nil {
		for name, values := range query {
			query[name] = values[len(values)-1:]
		}
		out.URL.RawQuery = query.Encode()
	}
	// A body without a type, or with unknown parameters of the type, is JSON, except for the text
	// of a document and for a file.
	out.Header.Set("Content-Type", "application/json")
	text := r.Method == http.MethodPut && strings.HasSuffix(path, "/content")
	if text {
		out.Header.Set("Content-Type", "text/markdown")
	}
	if r.Method == http.MethodPost && path == "/api/v1/media" { // a file of any type
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

// faultsOf joins a validator's findings into one error.
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

// unreadable reports whether a fault is the validator's own. A reported payload is stored
// unchanged: it may have numbers that do not fit a float, and fields that the document does not
// name. Strict mode refuses these although the schema allows them.
func unreadable(f *errors.ValidationError) bool {
	return strings.Contains(f.Reason, "cannot unmarshal number") ||
		strings.Contains(f.Message, ".payload.") && strings.HasSuffix(f.Reason, "Declared properties: []")
}

// clip returns the part of a body that an error shows.
func clip(b []byte) string {
	if len(b) > 500 {
		return string(b[:500]) + "…"
	}
	return string(b)
}
