package httpapi

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// serveAPI admits the request, finds and calls the route, and writes its answer or error. The order
// of all checks is that of the contract (D11).
func (s *Server) serveAPI(x *exchange) {
	if x.Request.Method == http.MethodOptions { // tus clients ask without a key
		if route, _ := s.routes.Find(x.Exchange); route != nil && route.public {
			x.Counted = route.counted
			a, _ := route.do(x)
			x.reply(a)
			return
		}
	}
	if err := x.Admit(); err != nil {
		x.fail(err)
		return
	}
	if a := s.cached(x); a != nil {
		x.write(a)
		return
	}
	route, allow := s.routes.Find(x.Exchange)
	switch {
	case allow != "":
		x.notAllowed(allow)
		return
	case route == nil:
		x.fail(x.noSuchRoute())
		return
	}
	x.Counted = route.counted
	switch a, err := x.run(route); {
	case err == nil:
		failpoint.Pass(failpoint.BeforeAnswer)
		x.write(a)
	case !errors.Is(err, errStreamed):
		x.fail(err)
	}
}

// run authorizes the caller and calls the route. If the answer depends only on the workspace's version,
// run caches it.
func (x *exchange) run(r *route) (*answer, error) {
	if err := x.authorize(r); err != nil {
		return nil, err
	}
	a, err := x.call(r)
	if err != nil {
		return nil, err
	}
	a.prepare(x.Request.URL)
	if !r.cached || a.uncached {
		return &a, nil
	}
	x.server.cache.misses.Add(1)
	if key, ok := x.cacheKey(); ok {
		x.server.cache.keep(key, r, &a)
	}
	return &a, nil
}

// authorize returns nil if the caller has the scopes that the route needs.
func (x *exchange) authorize(r *route) error {
	for _, scope := range r.need {
		if err := x.Caller.Authorize(scope); err != nil {
			x.ChallengeScopes(r.need)
			return err
		}
	}
	return x.authorizeOne(r.oneOf)
}

// authorizeOne returns nil if the caller has one of the scopes, or if there are none.
func (x *exchange) authorizeOne(of []sheaf.Scope) (err error) {
	for _, scope := range of {
		if err = x.Caller.Authorize(scope); err == nil {
			return nil
		}
	}
	if err != nil {
		x.ChallengeScopes(of)
	}
	return err
}

// call reads the body that the route takes, and calls the route.
func (x *exchange) call(r *route) (answer, error) {
	if r.hasBody() && !r.streams {
		if err := x.readBody(); err != nil {
			return answer{}, err
		}
	}
	var err error
	if x.query, err = strict.ParseQuery(x.Request.URL.RawQuery); err != nil {
		return answer{}, err
	}
	if r.doFile != nil {
		return x.callWithFile(r)
	}
	if r.once {
		if err := x.readIdempotencyKey(x.body); err != nil {
			return answer{}, err
		}
	}
	switch {
	case r.doText != nil:
		if err := x.checkTextType(); err != nil {
			return answer{}, err
		}
		return r.doText(x, string(x.body))
	case r.doJSON == nil:
		return r.do(x)
	}
	if err := x.checkContentType(); err != nil {
		return answer{}, err
	}
	if r.optional && len(x.body) == 0 {
		x.body = []byte("{}")
	}
	body, err := strict.ParseObject(x.body)
	if err != nil {
		return answer{}, err
	}
	return r.doJSON(x, body.Fields())
}

// readBody reads the whole body, at most front.MaxBody bytes.
func (x *exchange) readBody() (err error) {
	if x.body, err = x.ReadBody(); err == nil {
		return nil
	}
	var over *http.MaxBytesError
	var refusal *front.Refusal
	switch {
	case errors.As(err, &refusal):
		return err
	case errors.As(err, &over):
		return &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge,
			Text: "the body is larger than 10 MB (10,485,760 bytes): send less at once"}
	}
	return sheaf.Invalidf("body: it is incomplete: send it again")
}

// checkContentType refuses a body whose type is not JSON. PATCH follows JSON Merge Patch at one level, so
// that media type is accepted too.
func (x *exchange) checkContentType() error {
	t := x.Request.Header.Get("Content-Type")
	if t == "" || len(x.body) == 0 {
		return nil
	}
	switch mediaType(t) {
	case "application/json":
		return nil
	case "application/merge-patch+json":
		if x.Request.Method == http.MethodPatch {
			return nil
		}
	}
	return sheaf.Invalidf("Content-Type must be application/json, not %q: send JSON with this header", sheaf.Clip(t))
}

// mediaType returns a Content-Type without its parameters, which may be malformed.
func mediaType(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// checkTextType is checkContentType for a body that is a text.
func (x *exchange) checkTextType() error {
	t := x.Request.Header.Get("Content-Type")
	switch mediaType(t) {
	case "", "text/markdown", "text/plain":
		return nil
	}
	return sheaf.Invalidf("Content-Type must be text/markdown or text/plain, not %q: send the text itself with one of these types", sheaf.Clip(t))
}

// readIdempotencyKey reads the Idempotency-Key, if there is one, into caller.Once. A repetition must
// have the same body.
func (x *exchange) readIdempotencyKey(body []byte) error {
	values, sent := x.Request.Header["Idempotency-Key"]
	if !sent {
		return nil
	}
	key := values[len(values)-1]
	printable := !strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r > 0x7e })
	if len(key) < 1 || len(key) > 255 || !printable {
		return sheaf.Invalidf("Idempotency-Key must be 1 to 255 printable ASCII characters, such as a UUID")
	}
	hash := sha256.Sum256(body)
	// An id in the path is the same in either case.
	x.Caller.Once = &app.Once{Request: app.Request{Method: x.Request.Method, Path: strings.ToLower(x.Request.URL.Path), Key: key, BodyHash: hash[:]}}
	return nil
}

// once makes a call whose answer is stored for repetitions, without the values that are shown only once.
func once[T any](x *exchange, encode func(T) answer, call func(app.Caller) (T, error)) (answer, error) {
	if x.Caller.Once != nil {
		x.Caller.Once.Seal = func(result any) app.Answer {
			v := result.(T)
			if s, ok := result.(interface{ WithoutSecret() T }); ok {
				v = s.WithoutSecret()
			}
			a := encode(v)
			return app.Answer{Status: a.status, Location: a.location, ETag: a.etag, Body: a.body}
		}
	}
	v, err := call(x.Caller)
	if err != nil {
		return answer{}, err
	}
	return encode(v), nil
}

// pathID returns the id in the path, in lower case.
func pathID[T ~string](x *exchange) (T, error) { return pathIDOf[T](x, "id") }

// pathIDOf returns the id in the path that the route calls `name`.
func pathIDOf[T ~string](x *exchange, name string) (T, error) {
	id, ok := sheaf.ParseUUID(x.Request.PathValue(name))
	if !ok {
		return "", sheaf.InvalidField(name, "%s in the path must be a UUID such as 0190b0a0-0000-7000-8000-000000000000", name)
	}
	return T(id), nil
}

// queryID reads a parameter that is an id or null.
func queryID[T ~string](x *exchange, name string) (sheaf.Opt[T], error) {
	if !x.query.Has(name) {
		return sheaf.Opt[T]{}, nil
	}
	text := x.query.Text(name)
	if text == "null" {
		return sheaf.Nil[T](), nil
	}
	id, ok := sheaf.ParseUUID(text)
	if !ok {
		return sheaf.Opt[T]{}, sheaf.InvalidField(name, "%s must be a UUID, or null for those that have none", name)
	}
	return sheaf.Some(T(id)), nil
}

// search reads the parameter q of a list.
func (x *exchange) search() (string, error) {
	if !x.query.Has("q") {
		return "", nil
	}
	q := x.query.Text("q")
	if q == "" {
		return "", sheaf.InvalidField("q", "q must have 1 to %d characters, or be left out", sheaf.MaxQuery)
	}
	return q, sheaf.CheckLength("q", q, sheaf.MaxQuery)
}

// resource encodes a single resource with its ETag.
func resource(status int, r sheaf.Record, revision int64) answer {
	body := sheaf.AppendJSON(nil, r)
	return answer{status: status, body: body, etag: resourceTag(revision, body)}
}

// noContent returns the answer to a deletion.
func noContent(err error) (answer, error) { return answer{status: http.StatusNoContent}, err }
