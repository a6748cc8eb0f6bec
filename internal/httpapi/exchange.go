package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
	"sheaf.dev/internal/tally"
)

// exchange is one request and its answer. It travels through the mux as the
// ResponseWriter, so that what was learned before the route is known behind it.
type exchange struct {
	http.ResponseWriter
	server  *Server
	request *http.Request
	counted *obs.Route // where the request leads, as far as that is known
	started time.Time
	id      string
	status  int
	passage passage
	tally   *tally.Counter // of the caller's workspace

	secret     string
	credential sheaf.Credential
	caller     app.Caller
	limit      ratewindow.Decision
	query      strict.Query
	body       []byte
}

// answer is what a handler returns. It may be kept and sent again, also by
// several at once: nothing changes it once it is prepared.
type answer struct {
	status   int
	body     []byte
	etag     string
	location string // a path; the base is added
	page     pageLinks
	replayed bool

	headers    [2]string // of Etag and Content-Length
	next, prev string    // paths; the base is added
}

// prepare makes what each time is the same.
func (a *answer) prepare(u *url.URL) {
	a.headers = [2]string{a.etag, strconv.Itoa(len(a.body))}
	if a.page.limit > 0 {
		a.next, a.prev = a.page.next(u), a.page.prev(u)
	}
}

func (a *answer) etagHeader() []string   { return a.headers[:1:1] }
func (a *answer) lengthHeader() []string { return a.headers[1:] }

// errStreamed is returned by a handler that has answered by itself.
var errStreamed = errors.New("the answer was streamed")

var errDraining = errors.New("the server is stopping")

// WriteHeader notes the status for the log.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	if t := x.Header()["Content-Type"]; len(t) == 1 && t[0] == "text/event-stream" {
		x.pause() // streams, the console's too, are counted by themselves
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write notes the status for the log.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if len(b) > quickWrite && x.passage.working {
		x.pause()
		defer x.resume()
	}
	return x.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// write sends the answer, and takes what it did not need of the request.
func (x *exchange) write(a *answer) {
	x.send(a)
	x.discard()
}

// send sends the answer, or 304 when the client has it already.
func (x *exchange) send(a *answer) {
	if err := x.holdAnswer(len(a.body)); err != nil {
		x.fail(err)
		return
	}
	h := x.Header()
	if a.etag != "" {
		h["Etag"] = a.etagHeader()
	}
	if a.location != "" {
		h.Set("Location", x.base()+a.location)
	}
	if a.replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	x.setLinks(a)
	if a.etag != "" && a.status == http.StatusOK && x.isRead() && noneMatch(x.request.Header, a.etag) {
		x.WriteHeader(http.StatusNotModified)
		return
	}
	if a.body == nil {
		x.WriteHeader(a.status)
		return
	}
	h["Content-Type"] = jsonType
	h["Content-Length"] = a.lengthHeader()
	x.WriteHeader(a.status)
	x.Write(a.body)
}

var jsonType = []string{"application/json; charset=utf-8"}

func (x *exchange) isRead() bool {
	return x.request.Method == http.MethodGet || x.request.Method == http.MethodHead
}

// say writes an answer that no handler returned.
func (x *exchange) say(a answer) {
	a.prepare(x.request.URL)
	x.write(&a)
}

// base is the beginning of every absolute link.
func (x *exchange) base() string {
	if x.server.base != "" {
		return x.server.base
	}
	scheme, host := x.origin()
	return scheme + "://" + host
}
