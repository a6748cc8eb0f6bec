package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
)

// Queue counts the unfinished deliveries of all workspaces. Each count stops at the limit given to
// CountQueue.
type Queue struct {
	Waiting int64 // waiting for their first attempt or a retry
	Due     int64 // waiting deliveries that are due
	Sending int64
	Held    int64
	// Oldest is the due time of the delivery that has been due longest; nil if none is due.
	Oldest *time.Time
	// Lanes is the number of subscriptions: what it cost to count.
	Lanes int64
}

// Each count uses an index that contains only the rows to count, or goes lane by lane.
const (
	countDue = `
SELECT COUNT(*), COALESCE(SUM(CASE WHEN due <= $2 THEN 1 ELSE 0 END), 0)
FROM (SELECT due FROM deliveries WHERE due IS NOT NULL ORDER BY sub, retry, due, number LIMIT $1) AS q`
	countSending = `
SELECT (SELECT COALESCE(SUM(open), 0) FROM leases)
  + (SELECT COUNT(*) FROM (SELECT 1 FROM deliveries WHERE until IS NOT NULL ORDER BY until LIMIT $1) AS q)`
	laneTails = `
SELECT ` + laneColumns + `, w.given
FROM lanes l
JOIN subscriptions s ON s.sub = l.sub
JOIN workspaces w ON w.ws = l.ws
WHERE w.deleted_at = 0 AND (l.held_from IS NOT NULL OR l.active = 1 AND EXISTS (
  SELECT 1 FROM deliveries d WHERE d.ws = l.ws AND d.sub = l.sub AND d.number > l.cursor))`
	countBehind = `
SELECT COUNT(*)
FROM (
  SELECT 1 FROM deliveries WHERE ws = $1 AND sub = $2 AND number > $3 AND ` + fresh + ` AND NOT ` + leased + ` LIMIT $4) AS q`
)

// CountQueue counts the unfinished deliveries at time now, each state up to `most`. It reads no
// more than that, however many wait, and every lane. Oldest is exact.
func (r *Reader) CountQueue(now time.Time, most int) (q Queue, err error) {
	err = r.query(countDue, func(w *row) { q.Waiting, q.Due = w.Int(), w.Int() }, most, now)
	if err != nil {
		return q, err
	}
	if q.Sending, err = r.count(countSending, most); err != nil {
		return q, err
	}
	if q.Lanes, err = r.count(`SELECT COUNT(*) FROM lanes`); err != nil {
		return q, err
	}
	lanes, err := all(r, laneTails, func(w *row) lane {
		l := scanLane(w)
		q.Held += l.heldCount(w.Text())
		return l
	})
	for i := range lanes {
		if err == nil {
			err = r.countLane(&lanes[i], &q, int64(most))
		}
	}
	if err != nil {
		return q, err
	}
	q.Sending, q.Waiting, q.Due, q.Held = min(q.Sending, int64(most)), min(q.Waiting, int64(most)), min(q.Due, int64(most)), min(q.Held, int64(most))
	waiting, err := r.WaitingLanes()
	for _, due := range waiting {
		if !due.After(now) && (q.Oldest == nil || due.Before(*q.Oldest)) {
			q.Oldest = &due
		}
	}
	return q, err
}

// countLane adds the fresh rows of an active lane to q.
func (r *Reader) countLane(l *lane, q *Queue, most int64) error {
	if l.active && q.Waiting < most {
		n, err := r.count(countBehind, l.ws, l.sub, l.cursor, most-q.Waiting)
		if err != nil {
			return err
		}
		q.Waiting += n
		q.Due += n
	}
	return nil
}

const databaseClock = `
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`

// Clock returns the time of the database server. has is false on SQLite, which has no server.
func (r *Reader) Clock() (now time.Time, has bool, err error) {
	if !r.dialect().Postgres {
		return now, false, nil
	}
	return one(r, databaseClock, (*row).Time)
}

// dueLanes skips through the index on due times from one subscription to the next, without reading
// the deliveries between.
const dueLanes = `
WITH RECURSIVE lane_list (sub) AS (
  SELECT MIN(sub)
  FROM deliveries
  WHERE due IS NOT NULL
  UNION ALL
  SELECT (SELECT MIN(d.sub) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub > lane_list.sub)
  FROM lane_list
  WHERE lane_list.sub IS NOT NULL)
SELECT s.id,
  (SELECT MIN(d.due) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub = lane_list.sub AND d.retry = 0),
  (SELECT MIN(d.due) FROM deliveries d WHERE d.due IS NOT NULL AND d.sub = lane_list.sub AND d.retry = 1)
FROM lane_list
JOIN subscriptions s ON s.sub = lane_list.sub
JOIN workspaces w ON w.ws = s.ws
WHERE w.deleted_at = 0`

// DueLanes returns the subscriptions that have deliveries with a due time, each with its earliest.
// Such deliveries are retries, those asked for by hand, and those given back.
func (r *Reader) DueLanes() (map[sheaf.SubscriptionID]time.Time, error) {
	out := map[sheaf.SubscriptionID]time.Time{}
	err := r.query(dueLanes, func(w *row) {
		id, first, retry := readID[sheaf.SubscriptionID](w), w.OptTime(), w.OptTime()
		if first == nil || retry != nil && retry.Before(*first) {
			first = retry
		}
		if first != nil {
			out[id] = *first
		}
	})
	return out, err
}

// freshLanes returns the statement that finds, for each active lane of `lanes`, since when its
// first fresh delivery above the cursor has been waiting. MATERIALIZED makes PostgreSQL read one
// row per lane. Only a lane in which something waits costs a read of its subscription.
func freshLanes(lanes string) string {
	return `
WITH q AS MATERIALIZED (
  SELECT l.ws, l.sub, l.recovered_to, l.recovered_at, (
    SELECT number
    FROM deliveries
    WHERE deliveries.ws = l.ws AND deliveries.sub = l.sub AND number > l.cursor AND ` + fresh + ` AND NOT ` + leased + `
    ORDER BY number
    LIMIT 1) AS number
  FROM (` + lanes + `) AS l
  WHERE l.active = 1)
SELECT (SELECT s.id FROM subscriptions s WHERE s.sub = q.sub), CASE WHEN q.number <= q.recovered_to THEN q.recovered_at ELSE (SELECT e.at FROM events e WHERE e.ws = q.ws AND e.number = q.number) END
FROM q
WHERE q.number IS NOT NULL AND (SELECT w.deleted_at FROM workspaces w WHERE w.ws = q.ws) = 0`
}

// WaitingLanes returns the subscriptions that have waiting deliveries, each with its earliest due
// time. It reads every lane.
func (r *Reader) WaitingLanes() (map[sheaf.SubscriptionID]time.Time, error) {
	out, err := r.DueLanes()
	if err != nil {
		return nil, err
	}
	return out, r.waitingIn(out, `SELECT * FROM lanes`)
}

// waitingIn adds to out, for each of the lanes, since when its first fresh delivery has been
// waiting.
func (r *Reader) waitingIn(out map[sheaf.SubscriptionID]time.Time, lanes string, args ...any) error {
	return r.query(freshLanes(lanes), func(w *row) {
		id, at := readID[sheaf.SubscriptionID](w), w.OptTime()
		if known, found := out[id]; at != nil && (!found || at.Before(known)) {
			out[id] = *at
		}
	}, args...)
}
