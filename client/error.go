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

// Code is the stable code of a refusal. It is an error, for errors.Is. Newer servers may send codes that are
// not listed here.
type Code string

// The codes. NotModified is this package's own: the answer to [IfNoneMatch].
const (
	ErrValidation          Code = "VALIDATION_ERROR"
	ErrUnauthorized        Code = "UNAUTHORIZED"
	ErrForbidden           Code = "FORBIDDEN"
	ErrPlanRequired        Code = "PLAN_REQUIRED"
	ErrKeyLimit            Code = "KEY_LIMIT_REACHED"
	ErrRestrictionLimit    Code = "RESTRICTION_LIMIT_REACHED"
	ErrSubscriptionLimit   Code = "SUBSCRIPTION_LIMIT_REACHED"
	ErrShareLimit          Code = "SHARE_LIMIT_REACHED"
	ErrProposalLimit       Code = "PROPOSAL_LIMIT_REACHED"
	ErrReleaseLimit        Code = "RELEASE_LIMIT_REACHED"
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

// Error is an answer with an error status. An answer that another program wrote, such as a proxy, has no
// code.
type Error struct {
	Status  int
	Code    Code
	Message string // what is wrong and what to do, for a person
	Field   string // the wrong field or parameter; empty: none, or several
	// Index is the refused operation of a batch, counted from 0; nil for any other request.
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

// maxError bounds the bytes that are read of an error answer.
const maxError = 1 << 20

// refusal returns the Error of an error answer.
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

// retryAfter reads Retry-After: seconds, or a date. A date is compared with the Date of the answer, because
// the clocks of client and server may differ.
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
