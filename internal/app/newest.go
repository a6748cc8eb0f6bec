package app

import "time"

// Whoever copies a workspace asks again and again for what has changed since the newest updated_at
// that it has seen, and must miss nothing, however the clocks of the nodes differ. So the times of
// projects, folders and documents are given out under the lock of the workspace's row, which keeps
// the newest that was given:
//
//   - None is given that lies before it. A poller that has seen the newest has seen all below it.
//   - No more than mostShared records get the same one. A page of 100 that begins with the newest
//     that a poller has seen therefore always leads on to a later one.
//
// The times run ahead of a clock that stands still or goes back, by a millisecond for each
// mostShared changes. Imported records keep the times that they come with.

// mostShared is how many records of a workspace get the same updated_at. A page of a cascade has no
// more, since it is given one time as a whole.
const mostShared = 50

// createdAt returns the time of a record that is made now.
func (w *work) createdAt() time.Time {
	at := w.now
	if !at.After(w.ws.NewestAt) {
		at = w.ws.NewestAt
		if w.ws.NewestShared >= mostShared {
			at = at.Add(time.Millisecond)
		}
	}
	w.give(at, 1)
	return at
}

// updatedAt returns the time of a record that is changed now and was changed at t before, than which it
// is always later.
func (w *work) updatedAt(t time.Time) time.Time {
	if !t.Before(w.now) && !t.Before(w.ws.NewestAt) {
		w.give(t.Add(time.Millisecond), 0)
	}
	return w.createdAt()
}

// updatedTogether returns one time for a page of at most mostShared records that are changed now: one
// that no other record has.
func (w *work) updatedTogether() time.Time {
	at := w.now
	if !at.After(w.ws.NewestAt) {
		at = w.ws.NewestAt.Add(time.Millisecond)
	}
	w.give(at, mostShared)
	return at
}

// give counts `records` more records stamped `at`. `at` must not be before w.ws.NewestAt.
func (w *work) give(at time.Time, records int64) {
	if at.After(w.ws.NewestAt) {
		w.ws.NewestAt, w.ws.NewestShared = at, 0
	}
	w.ws.NewestShared += records
}
