package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Code is the stable word of a refusal. It is an error, so that errors.Is tells refusals apart;
// newer servers may send codes that are not listed here.
type Code string

// The codes. NotModified is this package's own: the answer to [IfNoneMatch].
const (
	ErrValidation          Code = "VALIDATION_ERROR"
	ErrUnauthorized        Code = "UNAUTHORIZED"
	ErrForbidden           Code = "FORBIDDEN"
	ErrPlanRequired        Code = "PLAN_REQUIRED"
	ErrKeyLimit            Code = "KEY_LIMIT_REACHED"
	ErrSubscriptionLimit   Code = "SUBSCRIPTION_LIMIT_REACHED"
	ErrShareLimit          Code = "SHARE_LIMIT_REACHED"
	ErrQuota               Code = "QUOTA_REACHED"
	ErrNotFound            Code = "NOT_FOUND"
	ErrMethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	ErrIdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	ErrConflict            Code = "CONFLICT" // another record holds the external id
	ErrPreconditionFailed  Code = "PRECONDITION_FAILED"
	ErrTooLarge            Code = "PAYLOAD_TOO_LARGE"
	ErrRateLimited         Code = "RATE_LIMITED"
	ErrInternal            Code = "INTERNAL_ERROR"
	ErrUnavailable         Code = "UNAVAILABLE"
	ErrNotModified         Code = "NOT_MODIFIED"
)

// Error returns the code itself.
func (c Code) Error() string { return string(c) }

// Error is an answer that is no success. An answer that the service did not write itself, such as a
// proxy's, has no code.
type Error struct {
	Status  int
	Code    Code
	Message string // for a person: what is wrong, and what to do
	Field   string // of the body, or the parameter, that is wrong; empty where it is none or several
	// Index is that of the operation of a batch that was refused, counted from 0; nil for anything else.
	Index *int
	// RequestID names the request in the server's log.
	RequestID string
	// RetryAfter is the pause that the server asked for; 0 when it did not.
	RetryAfter time.Duration
}

// Error returns the message and the code.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Code)
}

// Is reports whether target is this error's code.
func (e *Error) Is(target error) bool { return e.Code != "" && target == e.Code }

// maxError bounds what is read of an answer that is no success.
const maxError = 1 << 20

// refusal reads an answer that is no success.
func refusal(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode, RequestID: res.Header.Get("X-Request-Id"), RetryAfter: retryAfter(res.Header)}
	if res.StatusCode == http.StatusNotModified {
		e.Code, e.Message = ErrNotModified, "not modified"
		return e
	}
	var body struct {
		Error string `json:"error"`
		Code  Code   `json:"code"`
		Field string `json:"field"`
		Index *int   `json:"index"`
	}
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	if json.Unmarshal(text, &body) == nil && body.Code != "" {
		e.Code, e.Message, e.Field, e.Index = body.Code, body.Error, body.Field, body.Index
		return e
	}
	e.Message = fmt.Sprintf("%s answered %s, not as Sheaf does", res.Request.URL.Host, res.Status)
	if to := res.Header.Get("Location"); to != "" {
		e.Message += fmt.Sprintf(": it points to %q", to)
	}
	return e
}

// retryAfter reads seconds, or a date that is compared with the answer's own: the clocks need not
// agree.
func retryAfter(h http.Header) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 1<<30)) * time.Second
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, until.Sub(now))
}
