package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A backfill sends the events of a time span to a subscription, including events that it already
// got and events older than the subscription. Recovery would move the lane's cursor back, which
// releases everything above it; but a span has an end, and some of its events have no row. So each
// row of a backfill gets a due time, like a retry, and no longer depends on the cursor. Rows are
// claimed in the order of their numbers. One transaction handles a bounded number of events.

// LogSpan is a range of event numbers.
type LogSpan struct {
	First, Last int64      // empty if Last < First
	Next        *time.Time // time of the earliest requested event after the span; nil: none is left
}

// SpanOf returns the log range of the events in [since, until) (nil: open end), capped at
// `most`. The cap does not cut off events that happened exactly at `since`, so that Next is always
// later than `since`.
func (r *Reader) SpanOf(ws sheaf.WorkspaceID, since time.Time, until *time.Time, most int64) (LogSpan, error) {
	first, found, err := r.firstSince(ws, since)
	if err != nil || !found {
		return LogSpan{First: 1}, err
	}
	last, _, err := one(r, `SELECT MAX(number) FROM events WHERE ws = $1`, (*row).Int, ws)
	if err == nil && until != nil {
		last, err = r.lastBefore(ws, *until, last)
	}
	out := LogSpan{First: first, Last: min(last, first+most-1)}
	if err != nil || out.Last >= last {
		return out, err
	}
	// All events of one change have the same time, and the next request names only a time. If this
	// span did not include all events at `since`, the next request would return this span again.
	same, err := r.lastBefore(ws, since.Truncate(time.Millisecond).Add(time.Millisecond), last)
	if out.Last = max(out.Last, same); err != nil || out.Last >= last {
		return out, err
	}
	next, args := selectAt, []any{ws, out.Last + 1}
	if to := r.sight.restriction; to != nil {
		next, args = selectNotedAt, append(args, to.Number)
	}
	at, found, err := one(r, next, (*row).Time, args...)
	if found {
		out.Next = &at
	}
	return out, err
}

// lastBefore returns the number of the last event before `until`, but not more than `last`.
func (r *Reader) lastBefore(ws sheaf.WorkspaceID, until time.Time, last int64) (int64, error) {
	first, found, err := r.firstSince(ws, until)
	if err != nil || !found {
		return last, err
	}
	return min(last, first-1), nil
}

const selectAt = `
SELECT at
FROM events
WHERE ws = $1 AND number = $2`

const selectNotedAt = `
SELECT e.at
FROM restricted_events x
JOIN events e ON e.ws = x.ws AND e.number = x.number
WHERE x.ws = $1 AND x.restriction = $3 AND x.number >= $2
ORDER BY x.number
LIMIT 1`

const selectSpan = `
SELECT ` + EventColumns + `
FROM events
WHERE ws = $1 AND number BETWEEN $2 AND $3
ORDER BY number`

const selectHeadsOfSpan = `
SELECT id, number, type, resource_id, at, '', key_number
FROM events
WHERE ws = $1 AND number BETWEEN $2 AND $3
ORDER BY number`

// EventsIn returns the events numbered first to last. Without bodies, which may be large, their
// Body is empty.
func (r *Reader) EventsIn(ws sheaf.WorkspaceID, first, last int64, bodies bool) ([]sheaf.Event, error) {
	if bodies {
		return all(r, selectSpan, ScanEvent, ws, first, last)
	}
	return all(r, selectHeadsOfSpan, ScanEvent, ws, first, last)
}

// again makes a delivery run the whole retry schedule again.
const again = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = {due}
{rows}
WHERE deliveries.ws = {ws} AND deliveries.sub = {sub} AND deliveries.number = {number}
  AND deliveries.due IS NULL AND deliveries.token IS NULL AND `

// Deliveries that wait or are being sent are left alone: they will arrive anyway.
const (
	isHeld   = `(deliveries.state = 3 OR deliveries.state = 0 AND deliveries.number <= {cursor} AND NOT ` + leased + `)`
	isFailed = `deliveries.state = 2`
	isEnded  = `deliveries.state IN (1, 2)`
)

var backfillColumns = []string{"ws int", "sub int", "number int", "due int", "cursor int"}

var (
	sendHeld   = engine.NewBulk(again+isHeld+"\nRETURNING {row}attempts", "", backfillColumns...)
	sendFailed = engine.NewBulk(again+isFailed+"\nRETURNING {row}attempts", "", backfillColumns[:4]...)
	sendEnded  = engine.NewBulk(again+isEnded+"\nRETURNING {row}attempts", "", backfillColumns[:4]...)

	findRows = engine.NewBulk(`
SELECT d.number
FROM deliveries d
WHERE d.ws = {ws} AND d.sub = {sub} AND d.number = {number}`, "", "ws int", "sub int", "number int")

	insertDue = engine.NewBulkInsert("deliveries", "ws int", "sub int", "number int", "due int")
)

// Backfill makes the deliveries of the events `numbers` due that failed or are held. If delivered
// is set, it includes those that succeeded and those that the subscription never had. It returns
// how many.
func (tx *Tx) Backfill(ws sheaf.WorkspaceID, s sheaf.SubscriptionID, numbers []int64, delivered bool, now time.Time) (queued int64, err error) {
	tx.note.due(ws, s)
	l, err := tx.lockLane(ws, s)
	if err != nil {
		return 0, err
	}
	cursor := l.cursor
	if !l.active {
		cursor = 1<<62 - 1
	}
	rows, others := make([][]any, len(numbers)), make([][]any, len(numbers))
	for i, n := range numbers {
		rows[i] = []any{l.ws, l.sub, n, now, cursor}
		others[i] = rows[i][:4]
	}
	if err := tx.run(sendHeld, rows, func(int, *row) { queued++ }); err != nil {
		return 0, err
	}
	if queued > 0 {
		l.holdFresh(-queued)
		if err := tx.saveLane(&l); err != nil {
			return 0, err
		}
	}
	update := sendFailed
	if delivered {
		update = sendEnded
	}
	if err := tx.run(update, others, func(int, *row) { queued++ }); err != nil || !delivered {
		return queued, err
	}
	added, err := tx.insertMissing(&l, numbers, now)
	return queued + added, err
}

// insertMissing adds the rows that the lane never had, or that were deleted.
func (tx *Tx) insertMissing(l *lane, numbers []int64, now time.Time) (int64, error) {
	asked := make([][]any, len(numbers))
	for i, n := range numbers {
		asked[i] = []any{l.ws, l.sub, n}
	}
	there := map[int64]bool{}
	if err := tx.run(findRows, asked, func(_ int, r *row) { there[r.Int()] = true }); err != nil {
		return 0, err
	}
	var rows [][]any
	for _, n := range numbers {
		if !there[n] {
			rows = append(rows, []any{l.ws, l.sub, n, now})
		}
	}
	return int64(len(rows)), tx.insertMany(insertDue, rows)
}
