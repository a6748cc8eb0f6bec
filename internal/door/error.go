package door

import (
	"errors"
	"net/http"
	"time"

	"sheaf.dev/internal/front"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/strict"
)

// defaultRetry is the Retry-After if the error has none.
const defaultRetry = 2 * time.Second

// Refusal returns the error that the client is shown, and sets the headers that go with it.
func (a *Access) Refusal(err error) *sheaf.Error {
	e := a.Explain(err)
	switch e.Kind {
	case sheaf.Unauthorized:
		a.Header().Set("WWW-Authenticate", a.challenge())
	case sheaf.Unavailable:
		// A refusal under load has no cause, and is counted elsewhere. A client that disconnected is no fault
		// of the store.
		if e.Cause != nil && a.Request.Context().Err() == nil {
			a.door.Log.Error("answered that the store is unavailable", "request_id", a.ID, "error", err)
		}
		if e.RetryAfter == 0 {
			a.RetryAfter(defaultRetry)
		}
	}
	if e.RetryAfter > 0 {
		a.RetryAfter(e.RetryAfter)
	}
	return e
}

// Explain returns the error that the client is shown. An error that is not meant for clients is logged, and
// becomes an internal one that names only the request id.
func (a *Access) Explain(err error) *sheaf.Error {
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
	a.door.Log.Error("failed with an internal error", "request_id", a.ID, "error", err)
	return &sheaf.Error{Kind: sheaf.Internal, Code: sheaf.CodeInternal, Text: a.Unexpected()}
}
