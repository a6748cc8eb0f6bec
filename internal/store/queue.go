package store

import "time"

// Queue is what is still to happen with the deliveries of all workspaces. Each
// number is counted as far as CountQueue was asked to.
type Queue struct {
	Waiting int64 // for their first attempt or a retry
	Due     int64 // of those, by now
	Sending int64
	Held    int64
	// Oldest is since when the delivery has been due that waits longest; nil
	// when none is.
	Oldest *time.Time
}

// The states stand in the texts: that is how their partial indexes are found.
// The order is an index's, without which PostgreSQL may read the table instead.
const (
	countWaiting = `
SELECT COUNT(*), COALESCE(SUM(CASE WHEN next_attempt_at <= $2 THEN 1 ELSE 0 END), 0)
FROM (SELECT next_attempt_at FROM deliveries WHERE state = 'waiting' ORDER BY subscription_id, retry, next_attempt_at LIMIT $1) AS q`
	countSending = `
SELECT COUNT(*)
FROM (SELECT 1 FROM deliveries WHERE state = 'sending' ORDER BY lease_until LIMIT $1) AS q`
	countAllHeld = `
SELECT COUNT(*)
FROM (SELECT 1 FROM deliveries WHERE state = 'held' ORDER BY subscription_id, event_number LIMIT $1) AS q`
)

// CountQueue counts what is queued at that time, each state up to most: however
// much waits, it reads no more. The oldest is exact.
func (r *Reader) CountQueue(now time.Time, most int) (q Queue, err error) {
	err = r.query(countWaiting, func(w *row) { q.Waiting, q.Due = w.Int(), w.Int() }, most, now)
	if err != nil {
		return q, err
	}
	if q.Sending, err = r.count(countSending, most); err != nil {
		return q, err
	}
	if q.Held, err = r.count(countAllHeld, most); err != nil {
		return q, err
	}
	lanes, err := r.WaitingLanes()
	for _, due := range lanes {
		if !due.After(now) && (q.Oldest == nil || due.Before(*q.Oldest)) {
			q.Oldest = &due
		}
	}
	return q, err
}
