package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// firstMissing returns the error that comes first in the contract: NotFound of a reference, then a
// failed If-Match, then any other error of the reference.
func firstMissing(reference, match error) error {
	if sheaf.KindOf(reference) == sheaf.Invalid && match != nil {
		return match
	}
	if reference != nil {
		return reference
	}
	return match
}

// checkChange returns an error if a change names none of its fields. Otherwise it returns fault.
func checkChange(empty bool, fields string, fault error) error {
	if empty {
		return sheaf.Invalidf("nothing to change: send at least one of %s", fields)
	}
	return fault
}

// after returns the transaction's time, or if that is not later than t, the millisecond after t. So
// a change raises updated_at even if the clock stands still or goes back.
func (w *work) after(t time.Time) time.Time {
	if w.now.After(t) {
		return w.now
	}
	return t.Add(time.Millisecond)
}
