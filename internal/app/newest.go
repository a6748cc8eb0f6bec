package app

import "time"

// A client that copies a workspace polls for everything changed since the newest updated_at it has
// seen. It must miss nothing, however far the nodes' clocks differ. So the times of projects,
// folders and documents are given under the lock of the workspace's row, which stores the newest
// time given:
//
//   - No time is given that is before it. A poller that has seen the newest has seen all before it.
//   - At most mostShared records get the same time. So a page of 100 that begins with the newest
//     time a poller has seen always leads on to a later one.
//
// If the clock stands still or goes back, the times run ahead of it, by a millisecond per
// mostShared changes. Imported records keep their own times.

// mostShared is the largest number of records of a workspace with the same updated_at. A page of a
// cascade gets one time, so it has no more records.
const mostShared = 50

// createdAt returns the time for a record that is created now.
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

// updatedAt returns the time for a record that is changed now and was last changed at t. It is
// always later than t.
func (w *work) updatedAt(t time.Time) time.Time {
	if !t.Before(w.now) && !t.Before(w.ws.NewestAt) {
		w.give(t.Add(time.Millisecond), 0)
	}
	return w.createdAt()
}

// updatedTogether returns one time for a page of at most mostShared records that are changed now.
// No other record has that time.
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
