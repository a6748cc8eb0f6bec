package app

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// firstMissing orders the refusals of one request as the contract does: an identifier that leads
// nowhere before a stale If-Match, and that before any other rule about the stored state.
func firstMissing(reference, match error) error {
	if sheaf.KindOf(reference) == sheaf.Invalid && match != nil {
		return match
	}
	if reference != nil {
		return reference
	}
	return match
}

// checkChange returns what is wrong with a change: that it names none of its fields, or the fault
// of one.
func checkChange(empty bool, fields string, fault error) error {
	if empty {
		return sheaf.Invalidf("nothing to change: send at least one of %s", fields)
	}
	return fault
}

// after returns the transaction's time, and always something later than t: a change raises
// updated_at also when the clock stands still or goes back.
func (w *work) after(t time.Time) time.Time {
	if w.now.After(t) {
		return w.now
	}
	return t.Add(time.Millisecond)
}
