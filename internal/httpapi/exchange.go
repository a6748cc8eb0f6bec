package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// exchange is one request to the API and its answer, with its caller.
type exchange struct {
	door.Access
	server *Server
	query  strict.Query
	body   []byte
}

// answer is what a handler returns. It may be cached and sent by several requests at once, so it must not be
// changed after prepare.
type answer struct {
	status   int
	body     []byte
	etag     string
	location string   // a path; base is prepended
	media    []string // the Content-Type; nil: JSON
	policy   []string // the Content-Security-Policy; nil: none
	page     pageLinks
	replayed bool
	content  *sheaf.Medium // the medium whose bytes are sent instead of body; nil: none
	uncached bool          // it depends on more scopes than its route needs

	headers    [2]string // values of Etag and Content-Length
	next, prev string    // paths; base is prepended
}

// prepare computes the parts of the answer that are the same each time it is sent.
func (a *answer) prepare(u *url.URL) {
	a.headers = [2]string{a.etag, strconv.Itoa(len(a.body))}
	if a.page.limit > 0 {
		a.next, a.prev = a.page.next(u), a.page.prev(u)
	}
}

// errStreamed is returned by a handler that has answered by itself.
var errStreamed = errors.New("the answer was streamed")

// write sends the answer and discards the unread rest of the request.
func (x *exchange) write(a *answer) {
	x.send(a)
	x.DiscardBody()
}

// send sends the answer, or 304 if the client has it already.
func (x *exchange) send(a *answer) {
	if a.content != nil {
		x.sendContent(a.content)
		return
	}
	if x.IsRead() { // the answer to a change is never refused
		if err := x.HoldAnswer(len(a.body)); err != nil {
			x.fail(err)
			return
		}
	}
	h := x.Header()
	if a.etag != "" {
		h["Etag"] = a.headers[:1:1]
	}
	if a.location != "" {
		h.Set("Location", x.base()+a.location)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	x.setLinks(a)
	if a.etag != "" && a.status == http.StatusOK && x.IsRead() && front.HasTag(x.Request.Header, a.etag) {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	if a.body == nil {
		x.WriteHeader(a.status)
		return
	}
	h["Content-Type"] = jsonType
	if a.media != nil {
		h["Content-Type"] = a.media
	}
	if a.policy != nil {
		h["Content-Security-Policy"] = a.policy
	}
	h["Content-Length"] = a.headers[1:]
	x.WriteHeader(a.status)
	x.Write(a.body)
}

var (
	jsonType     = []string{"application/json; charset=utf-8"}
	markdownType = []string{"text/markdown; charset=utf-8"}
	plainType    = []string{"text/plain; charset=utf-8"}
	htmlType     = []string{"text/html; charset=utf-8"}
	// inertPolicy is for texts of users: in a browser they load nothing, run nothing, and have no origin.
	inertPolicy = []string{"default-src 'none'; sandbox"}
)

// reply prepares and writes an answer that does not come from a handler.
func (x *exchange) reply(a answer) {
	a.prepare(x.Request.URL)
	x.write(&a)
}

// base returns the base URL of absolute links.
func (x *exchange) base() string {
	if x.server.base != "" {
		return x.server.base
	}
	scheme, host := x.Origin()
	return scheme + "://" + host
}
