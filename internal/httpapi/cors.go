package httpapi

import (
	"net/http"
)

// A page of another origin may call the API from a browser only if the operator has listed its origin
// (https://fetch.spec.whatwg.org/#http-cors-protocol). The API reads no cookie, so a browser sends nothing
// that identifies a person by itself: a page needs a key. Access-Control-Allow-Credentials is never sent.

// everyOrigin is the entry of Config.Origins that allows every origin.
const everyOrigin = "*"

var (
	anyOrigin  = []string{everyOrigin}
	varyOrigin = []string{"Origin"}
	// exposedHeaders are the headers of answers that a script may read, besides those that it always may.
	exposedHeaders = []string{"ETag, Link, Location, Retry-After, Idempotency-Key, Idempotent-Replayed, X-Request-Id, " +
		"RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, WWW-Authenticate, Allow, " +
		"Content-Disposition, Content-Range, Accept-Ranges, Upload-Offset, Upload-Length, Upload-Expires, " +
		"Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size"}
	// acceptedHeaders are the headers of requests that a script may set, besides those that it always may.
	acceptedHeaders = []string{"Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Range, Last-Event-ID, " +
		"X-Request-Id, Traceparent, Tracestate, Upload-Offset, Upload-Length, Upload-Metadata, Upload-Defer-Length, Upload-Concat, Tus-Resumable"}
	acceptedMethods = []string{"GET, HEAD, POST, PUT, PATCH, DELETE"}
	// preflightAge is how long a browser keeps the answer to a preflight: two hours, the most that browsers keep.
	preflightAge = []string{"7200"}
)

// originsOf returns the origins as a set; nil if there are none.
func originsOf(list []string) map[string]bool {
	if len(list) == 0 {
		return nil
	}
	set := make(map[string]bool, len(list))
	for _, origin := range list {
		set[origin] = true
	}
	return set
}

// allowOrigin sets the headers that let a page of an allowed origin read the answer. If the request is a
// preflight, it answers that and returns true. It asks neither the store nor the rate limit.
func (x *exchange) allowOrigin() (answered bool) {
	origins := x.server.origins
	if origins == nil {
		return false
	}
	h := x.Header()
	allowed := origins[everyOrigin]
	if allowed {
		h["Access-Control-Allow-Origin"] = anyOrigin
	} else {
		h["Vary"] = varyOrigin // of every answer, or a cache could give one origin what another has got
		if sent := x.Request.Header["Origin"]; len(sent) == 1 && origins[sent[0]] {
			h["Access-Control-Allow-Origin"], allowed = sent, true
		}
	}
	if !x.isPreflight() {
		if allowed {
			h["Access-Control-Expose-Headers"] = exposedHeaders
		}
		return false
	}
	if allowed {
		h["Access-Control-Allow-Methods"], h["Access-Control-Allow-Headers"] = acceptedMethods, acceptedHeaders
		h["Access-Control-Max-Age"] = preflightAge
	}
	x.Counted = x.server.flights
	x.WriteHeader(http.StatusNoContent)
	x.DiscardBody()
	return true
}

// isPreflight reports whether a browser asks whether a page may make a request. Other programs, such as
// clients of tus, send OPTIONS without these headers.
func (x *exchange) isPreflight() bool {
	h := x.Request.Header
	return x.Request.Method == http.MethodOptions && len(h["Origin"]) > 0 && len(h["Access-Control-Request-Method"]) > 0
}
