package sheaf

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of a refusal. What a program does about it depends on the kind.
type Kind int

// The kinds. Internal, the zero value, is the kind of every error that no rule returned.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	PreconditionFailed
	TooLarge
	UnsupportedType
	RangeNotSatisfiable
	RateLimited
	Unavailable
)

// Code is the stable word by which a program distinguishes refusals.
type Code string

// The codes of the contract, and below the blank line those added to it.
const (
	CodeValidation   Code = "VALIDATION_ERROR"
	CodeUnauthorized Code = "UNAUTHORIZED"
	CodeForbidden    Code = "FORBIDDEN"
	CodePlanRequired Code = "PLAN_REQUIRED"
	CodeKeyLimit     Code = "KEY_LIMIT_REACHED"
	CodeNotFound     Code = "NOT_FOUND"
	CodeTooLarge     Code = "PAYLOAD_TOO_LARGE"
	CodeQuota        Code = "QUOTA_REACHED"
	CodeRateLimited  Code = "RATE_LIMITED"
	CodeInternal     Code = "INTERNAL_ERROR"

	CodeMethodNotAllowed    Code = "METHOD_NOT_ALLOWED"
	CodeIdempotencyConflict Code = "IDEMPOTENCY_CONFLICT"
	CodeConflict            Code = "CONFLICT"
	CodePreconditionFailed  Code = "PRECONDITION_FAILED"
	CodeSubscriptionLimit   Code = "SUBSCRIPTION_LIMIT_REACHED"
	CodeShareLimit          Code = "SHARE_LIMIT_REACHED"
	CodeRestrictionLimit    Code = "RESTRICTION_LIMIT_REACHED"
	CodeProposalLimit       Code = "PROPOSAL_LIMIT_REACHED"
	CodeReleaseLimit        Code = "RELEASE_LIMIT_REACHED"
	CodeReviewRequired      Code = "REVIEW_REQUIRED"
	CodeApprovalsMissing    Code = "APPROVALS_MISSING"
	CodeUploadLimit         Code = "UPLOAD_LIMIT_REACHED"
	CodeUnsupportedType     Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeRange               Code = "RANGE_NOT_SATISFIABLE"
	CodeUnavailable         Code = "UNAVAILABLE"
)

// Error is a refusal by a rule. Text is shown to the person who caused it: it says what is wrong,
// with which field, scope or limit, and what to do. Any other error is internal: it is logged once
// at the edge and never shown.
type Error struct {
	Kind Kind
	Code Code
	Text string
	// Field is the API's name of the wrong field of the body, or of the wrong parameter. It is
	// empty if there is none, or several.
	Field string
	// Noun is what Missing did not find; empty in other errors.
	Noun string
	// Index is the position, from 0, of the refused operation in a batch; nil outside of batches.
	Index *int
	// Conflicts are the places at which a proposal conflicts with its documents as they are now; nil in
	// other errors.
	Conflicts []ProposalConflict
	// Person is the text for a person who is signed in to the console, if Text speaks of a key, or
	// for a person without an account. If it is set, people see it even if there is a Cause. It is
	// empty if Text serves both.
	Person string
	// RetryAfter is how long to wait before a retry may help. If it is zero, the edge decides.
	RetryAfter time.Duration
	// Cause is the internal error, only for the log. Only Unavailable has one.
	Cause error
}

// Error returns the text, with the cause for the log.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Text + ": " + e.Cause.Error()
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of err, or Internal if no rule made it.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// OperatorText returns the text of an error for the command line. The text of an unavailable store
// is meant for API clients, so an operator sees the cause.
func OperatorText(err error) string {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return err.Error()
	case e.Cause != nil:
		return "the store cannot do it at the moment: " + e.Cause.Error()
	}
	return e.Text
}

// Invalidf refuses an input that is not a single field or parameter: VALIDATION_ERROR without a
// Field.
func Invalidf(format string, args ...any) *Error {
	return &Error{Kind: Invalid, Code: CodeValidation, Text: fmt.Sprintf(format, args...)}
}

// InvalidField refuses the value of a field or parameter: VALIDATION_ERROR. Programs read `field`;
// people read the text, which names the field too.
func InvalidField(field, format string, args ...any) *Error {
	return Invalidf(format, args...).At(field)
}

// ForPerson returns the error with another text for people at the console.
func (e *Error) ForPerson(text string) *Error {
	e.Person = text
	return e
}

// At returns the error with its Field set.
func (e *Error) At(field string) *Error {
	e.Field = field
	return e
}

// Missing refuses an identifier that does not exist, or that is of another workspace. The text is
// the same for both.
func Missing(noun string) *Error {
	gone := noun + " not found: it does not exist, was deleted, or "
	return &Error{Kind: NotFound, Code: CodeNotFound, Noun: noun, Text: gone + "this key has no access to it", Person: gone + "you have no access to it"}
}

// Forbiddenf refuses a caller that lacks a scope or a role.
func Forbiddenf(format string, args ...any) *Error {
	return &Error{Kind: Forbidden, Code: CodeForbidden, Text: fmt.Sprintf(format, args...)}
}

// PlanRequiredf refuses what the workspace's plan does not include.
func PlanRequiredf(format string, args ...any) *Error {
	return &Error{Kind: Forbidden, Code: CodePlanRequired, Text: fmt.Sprintf(format, args...)}
}

// Conflictf refuses what the state of this record or another one does not allow: CONFLICT.
func Conflictf(format string, args ...any) *Error {
	return &Error{Kind: Conflict, Code: CodeConflict, Text: fmt.Sprintf(format, args...)}
}

// UnavailableError means that the store cannot do it now. `cause` is for the log.
func UnavailableError(cause error) *Error {
	return &Error{Kind: Unavailable, Code: CodeUnavailable, Cause: cause,
		Text: "the service cannot reach its store at the moment: repeat the request in a few seconds, a POST with the same Idempotency-Key"}
}

// FileRefused refuses to send a file: because of the requested range if `ranged`, and otherwise
// because of a precondition.
func FileRefused(ranged bool, text string) *Error {
	if ranged {
		return &Error{Kind: RangeNotSatisfiable, Code: CodeRange, Text: text}
	}
	return &Error{Kind: PreconditionFailed, Code: CodePreconditionFailed, Text: text}
}
