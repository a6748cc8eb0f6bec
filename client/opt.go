package client

import "encoding/json"

// Opt is a field of a change: left out (the zero value), null, or a value.
type Opt[T any] struct {
	set, null bool
	value     T
}

// Set is a field that gets a value.
func Set[T any](v T) Opt[T] { return Opt[T]{set: true, value: v} }

// Null is a field that is cleared.
func Null[T any]() Opt[T] { return Opt[T]{set: true, null: true} }

// IsZero reports whether the field is left out.
func (o Opt[T]) IsZero() bool { return !o.set }

// MarshalJSON returns the value or null.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.set || o.null {
		return []byte("null"), nil
	}
	return json.Marshal(o.value)
}

// Option changes one request.
type Option func(*request)

// IfMatch makes a change or deletion happen only while the record is as it was when it had this
// ETag; otherwise the error is ErrPreconditionFailed.
func IfMatch(etag string) Option { return header("If-Match", etag) }

// IfNoneMatch makes a read fail with ErrNotModified while the record still has this ETag.
func IfNoneMatch(etag string) Option { return header("If-None-Match", etag) }

// IdempotencyKey names a POST, in place of the random name that each gets: a repetition within 24
// hours, by another process too, has no second effect.
func IdempotencyKey(key string) Option { return header("Idempotency-Key", key) }

// RequestID names the request in the server's log: 1 to 128 of A-Za-z0-9._-.
func RequestID(id string) Option { return header("X-Request-Id", id) }

func header(name, value string) Option {
	return func(r *request) { r.header.Set(name, value) }
}
