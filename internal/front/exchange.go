package front

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"sheaf.dev/internal/obs"
)

// Exchange is one request and its answer. It is the ResponseWriter of the request, and has the methods
// that reserve places and bytes (admission.go). Only the goroutine that serves the request may use it.
type Exchange struct {
	Request *http.Request
	ID      string // the request's id; the header of the answer has it already
	Started time.Time
	// Counted is the route under which the metrics count the request. An edge with several routes sets
	// it.
	Counted *obs.Route
	// Key is the id of the API key, for the log. It is empty if the request has none.
	Key string
	// Tool is the called tool if all calls have the same path, and Refused the code of its error. Both
	// are for the log, and empty if the path and the status say everything.
	Tool, Refused string

	front    *Front
	edge     Edge                // serves the request
	w        http.ResponseWriter // of net/http
	idHeader [1]string           // backs the header X-Request-Id
	status   int                 // the status sent; 0: none yet
	bodyRead bool                // the body was read, to its end or as far as it arrived

	workspace string                  // empty until AdmitWorkspace
	working   bool                    // the request is counted among the requests in work
	inShare   bool                    // it is counted for its workspace too
	streaming context.CancelCauseFunc // ends the context that StreamBody made; nil before
	body      held
	answer    held
}

// Header implements http.ResponseWriter.
func (x *Exchange) Header() http.Header { return x.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (x *Exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.w.WriteHeader(status)
}

// quickWrite is the number of bytes that fit into the buffer of the connection, so that writing them does
// not block.
const quickWrite = 2 << 10

// Write sends a part of the body. While it waits for the client, the request holds no place.
func (x *Exchange) Write(b []byte) (n int, err error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	if len(b) <= quickWrite {
		return x.w.Write(b)
	}
	x.Outside(func() { n, err = x.w.Write(b) })
	return n, err
}

// RequestID is the id of the request in the access log.
func (x *Exchange) RequestID() string { return x.ID }

// Unwrap lets http.ResponseController reach the connection.
func (x *Exchange) Unwrap() http.ResponseWriter { return x.w }

// IsRead reports whether the request is a GET or a HEAD, which changes nothing.
func (x *Exchange) IsRead() bool {
	return x.Request.Method == http.MethodGet || x.Request.Method == http.MethodHead
}

// RetryAfter sets the header Retry-After.
func (x *Exchange) RetryAfter(d time.Duration) {
	x.Header().Set("Retry-After", strconv.Itoa(Seconds(d)))
}

// Seconds returns the duration in whole seconds, rounded up, for a header.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// LiftDeadlines removes the server's deadlines for this request. A cascade of a million records takes minutes,
// and a stream has no end.
func (x *Exchange) LiftDeadlines() {
	c := http.NewResponseController(x.w)
	_ = c.SetReadDeadline(time.Time{}) // a writer that has no deadlines, as in tests, needs none lifted
	_ = c.SetWriteDeadline(time.Time{})
}

// Stopping returns a channel that is closed when the service begins to stop. Streams end then.
func (x *Exchange) Stopping() <-chan struct{} { return x.front.stopping }
