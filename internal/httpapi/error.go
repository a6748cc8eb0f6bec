package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// defaultRetry is the Retry-After if the error has none.
const defaultRetry = 2 * time.Second

// fail answers with an error. An error that is no *sheaf.Error becomes a 500 that shows only the request id.
func (x *exchange) fail(err error) {
	var replay *app.Replay
	if errors.As(err, &replay) {
		a := replay.Answer
		x.say(answer{status: a.Status, body: a.Body, etag: a.ETag, location: a.Location, replayed: true})
		return
	}
	e := x.refusal(err)
	x.say(answer{status: front.Status(e.Kind), body: errorBody(e)})
}

// refusal returns the error that the client is shown, and sets the headers that go with it.
func (x *exchange) refusal(err error) *sheaf.Error {
	e := x.explain(err)
	switch e.Kind {
	case sheaf.Unauthorized:
		x.Header().Set("WWW-Authenticate", x.challenge())
	case sheaf.Unavailable:
		// A refusal under load has no cause, and is counted elsewhere. A client that disconnected is no fault
		// of the store.
		if e.Cause != nil && x.Request.Context().Err() == nil {
			x.server.Log.Error("answered that the store is unavailable", "request_id", x.ID, "error", err)
		}
		if e.RetryAfter == 0 {
			x.RetryAfter(defaultRetry)
		}
	}
	if e.RetryAfter > 0 {
		x.RetryAfter(e.RetryAfter)
	}
	return e
}

// explain returns the error that the client is shown.
func (x *exchange) explain(err error) *sheaf.Error {
	var e *sheaf.Error
	if errors.As(err, &e) {
		return e
	}
	var field *strict.FieldError
	if errors.As(err, &field) {
		if field.Field == "body" || field.Field == "query" {
			return sheaf.Invalidf("%s", field)
		}
		return sheaf.InvalidField(field.Field, "%s", field)
	}
	var refusal *front.Refusal
	if errors.As(err, &refusal) {
		kind, code := sheaf.Unavailable, sheaf.CodeUnavailable
		if refusal.Status == http.StatusTooManyRequests {
			kind, code = sheaf.RateLimited, sheaf.CodeRateLimited
		}
		return &sheaf.Error{Kind: kind, Code: code, RetryAfter: refusal.RetryAfter, Text: refusal.Text}
	}
	var file *front.FileRefusal
	if errors.As(err, &file) {
		return sheaf.FileRefused(file.Range, file.Text)
	}
	x.server.Log.Error("failed with an internal error", "request_id", x.ID, "error", err)
	return &sheaf.Error{Kind: sheaf.Internal, Code: sheaf.CodeInternal, Text: x.Unexpected()}
}

type errorRecord struct{ *sheaf.Error }

func (e errorRecord) Fields(o *sheaf.Object) {
	o.Text("error", e.Text)
	o.Text("code", string(e.Code))
	if e.Field != "" {
		o.Text("field", e.Field)
	}
	if e.Index != nil {
		o.Int("index", int64(*e.Index))
	}
}

func errorBody(e *sheaf.Error) []byte { return sheaf.AppendJSON(nil, errorRecord{e}) }

// notAllowed answers 405.
func (x *exchange) notAllowed(allow string) {
	x.Header().Set("Allow", allow)
	x.fail(&sheaf.Error{Kind: sheaf.MethodNotAllowed, Code: sheaf.CodeMethodNotAllowed,
		Text: fmt.Sprintf("%s is not possible here: this address takes %s", x.Request.Method, allow)})
}
