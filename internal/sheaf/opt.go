package sheaf

import "encoding/json"

// Opt is a field that a client may leave out, send as null, or send with a value: PATCH treats the
// three differently.
type Opt[T any] struct {
	Set   bool // the field was sent
	Null  bool // it was sent as null; Value is then the zero value
	Value T
}

// Some returns a field that was sent with a value.
func Some[T any](v T) Opt[T] { return Opt[T]{Set: true, Value: v} }

// Nil returns a field that was sent as null.
func Nil[T any]() Opt[T] { return Opt[T]{Set: true, Null: true} }

// Given reports whether the field was sent with a value.
func (o Opt[T]) Given() bool { return o.Set && !o.Null }

// Pointer returns the value, or nil if it is null or was not sent.
func (o Opt[T]) Pointer() *T {
	if !o.Given() {
		return nil
	}
	return &o.Value
}

// IsZero reports whether the field was not sent, whatever its value is. `omitzero` leaves it out.
func (o Opt[T]) IsZero() bool { return !o.Set }

// MarshalJSON returns the stored form of a field. A field that was not sent is left out by
// `omitzero`.
func (o Opt[T]) MarshalJSON() ([]byte, error) {
	if !o.Given() {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*o = Nil[T]()
		return nil
	}
	o.Set = true
	return json.Unmarshal(b, &o.Value)
}
