package httpapi

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

var errPanic = errors.New("a panic")

// defaultRetry is what a client is told to wait when nothing better is known.
const defaultRetry = 2 * time.Second

// fail answers with an error: a rule's own text, or for what no rule made a
// 500 that tells nothing but the request's id.
func (x *exchange) fail(err error) {
	var replay *app.Replay
	if errors.As(err, &replay) {
		a := replay.Answer
		x.say(answer{status: a.Status, body: a.Body, etag: a.ETag, location: a.Location, replayed: true})
		return
	}
	e := x.explain(err)
	switch e.Kind {
	case sheaf.Unauthorized:
		x.Header().Set("WWW-Authenticate", x.challenge())
	case sheaf.Unavailable:
		if e.Cause != nil { // what the gate refuses is counted
			x.server.Log.Error("answered that the store is unavailable", "request_id", x.id, "error", err)
		}
		if e.RetryAfter == 0 {
			x.retryAfter(defaultRetry)
		}
	}
	if e.RetryAfter > 0 {
		x.retryAfter(e.RetryAfter)
	}
	x.say(answer{status: e.Kind.Status(), body: errorBody(e)})
}

func (x *exchange) retryAfter(d time.Duration) {
	x.Header().Set("Retry-After", strconv.Itoa(int((d+time.Second-1)/time.Second)))
}

// explain returns the error that the client is shown.
func (x *exchange) explain(err error) *sheaf.Error {
	var e *sheaf.Error
	if errors.As(err, &e) {
		return e
	}
	var field *strict.FieldError
	if errors.As(err, &field) {
		return sheaf.Invalidf("%s", field.Error())
	}
	if !errors.Is(err, errPanic) {
		x.server.Log.Error("failed with an internal error", "request_id", x.id, "error", err)
	}
	return &sheaf.Error{Kind: sheaf.Internal, Code: sheaf.CodeInternal,
		Text: fmt.Sprintf("an unexpected error happened here: repeat the request, and report it with the request id %s if it goes on", x.id)}
}

type errorRecord struct{ *sheaf.Error }

func (e errorRecord) Fields(o *sheaf.Object) {
	o.Text("error", e.Text)
	o.Text("code", string(e.Code))
}

func errorBody(e *sheaf.Error) []byte { return sheaf.AppendJSON(nil, errorRecord{e}) }

// notAllowed answers 405.
func (x *exchange) notAllowed(allow string) {
	x.Header().Set("Allow", allow)
	x.fail(&sheaf.Error{Kind: sheaf.MethodNotAllowed, Code: sheaf.CodeMethodNotAllowed,
		Text: fmt.Sprintf("%s is not possible here: this address takes %s", x.request.Method, allow)})
}
