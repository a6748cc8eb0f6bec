// Package strict reads what comes from outside: JSON bodies, query strings and times. It accepts
// exactly what the API promises to accept. For everything else its error says which field is wrong,
// and what to do. It knows shapes only: bounds, required fields and other rules of the product
// belong to its callers. It must not read from the network, or keep anything of a request after the
// caller is done with it.
package strict

import (
	"math"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// FieldError is the only error of this package's readers of objects and queries: the input is
// wrong, and a person can put it right.
type FieldError struct {
	// Field is the path of the offending value, such as payload.items[2].name, the name of a query
	// parameter, or body or query when the whole is wrong. Its length is bounded whatever was sent.
	Field string
	// Text is the rest of a sentence that begins with the field, such as "must be a string, not a
	// number".
	Text string
}

// Error is a sentence for the person who sent the input. It never contains values that were sent,
// only names.
func (e *FieldError) Error() string { return "`" + e.Field + "` " + e.Text }

// Opt is a field of a PATCH: absent (the zero value), null (Set and Null), or a value (Set alone).
type Opt[T any] = sheaf.Opt[T]

// Pair is one member of an object of strings.
type Pair struct{ Name, Value string }

// PatchPair is one member of an object of strings that is merged with another; a nil value was null.
type PatchPair struct {
	Name  string
	Value *string
}

// wholeNumber words what an integer between min and max has to be.
func wholeNumber(min, max int64) string {
	text := "must be a whole number"
	switch {
	case min == math.MinInt64 && max == math.MaxInt64:
		return text
	case max == math.MaxInt64:
		return text + " of at least " + strconv.FormatInt(min, 10)
	case min == math.MinInt64:
		return text + " of at most " + strconv.FormatInt(max, 10)
	}
	return text + " from " + strconv.FormatInt(min, 10) + " to " + strconv.FormatInt(max, 10)
}
