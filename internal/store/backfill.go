package store

import (
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// A backfill sends events of a span of time to a subscription, also those that it got already, or that
// are from before it was made. Recovery moves the cursor of a lane back, which frees everything behind it;
// a span has an end, and some of its events have no row. So each row of a backfill gets a due time, as a
// retry has one, and leaves the cursor's care. They are claimed by their numbers. One transaction looks at
// a bounded number of events.

// LogSpan is a part of the log by its numbers.
type LogSpan struct {
	First, Last int64      // it is empty where Last is less than First
	Next        *time.Time // when the first event behind it happened that is asked for too; nil: it is all
}

// SpanOf returns where the events since a time and before another, nil for the end of the log, can be: at
// most so many, and those beyond that happened at since itself, so that Next is always later than since.
// Their own times are still to be looked at, since clocks differ a little.
func (r *Reader) SpanOf(ws sheaf.WorkspaceID, since time.Time, until *time.Time, most int64) (LogSpan, error) {
	first, found, err := r.firstSince(ws, since)
	if err != nil || !found {
		return LogSpan{First: 1}, err
	}
	last, _, err := one(r, `SELECT MAX(number) FROM events WHERE ws = $1`, (*row).Int, ws)
	if err == nil && until != nil {
		var high int64
		if high, _, err = one(r, bisectLog, (*row).Int, ws, until.Add(clockSlack)); err == nil {
			last = min(last, high-1)
		}
	}
	out := LogSpan{First: first, Last: min(last, first+most-1)}
	if err != nil || out.Last >= last {
		return out, err
	}
	err = r.goOn(ws, since, last, &out)
	return out, err
}

const selectAt = `
SELECT at
FROM events
WHERE ws = $1 AND number = $2`

const lastAt = `
SELECT MAX(number)
FROM events
WHERE ws = $1 AND number > $2 AND number <= $3 AND +at = $4`

const earliestBehind = `
SELECT MIN(+at)
FROM events
WHERE ws = $1 AND number > $2 AND number <= $3 AND +at > $4`

// goOn says where a request goes on behind a span that does not reach the last number. The next event in
// the log is not always the earliest of the rest, since clocks differ: whatever is earlier stands before
// high. All events of one change have one time, and a time is all that the next request names: what
// happened at since itself is taken into this span, or the next would be this one again.
func (r *Reader) goOn(ws sheaf.WorkspaceID, since time.Time, last int64, span *LogSpan) error {
	at, _, err := one(r, selectAt, (*row).Time, ws, span.Last+1)
	if err != nil {
		return err
	}
	if at.Before(since) {
		at = since
	}
	high, _, err := one(r, bisectLog, (*row).Int, ws, at.Add(clockSlack))
	if err != nil {
		return err
	}
	high = min(high, last)
	same, _, err := one(r, lastAt, (*row).OptInt, ws, span.Last, high, since)
	if err != nil {
		return err
	}
	if same != nil {
		span.Last = *same
	}
	span.Next, _, err = one(r, earliestBehind, (*row).OptTime, ws, span.Last, high, since)
	return err
}

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

// EventsIn returns the events of those numbers; without bodies where nobody needs them, which may be
// large.
func (r *Reader) EventsIn(ws sheaf.WorkspaceID, first, last int64, bodies bool) ([]sheaf.Event, error) {
	if bodies {
		return all(r, selectSpan, ScanEvent, ws, first, last)
	}
	return all(r, selectHeadsOfSpan, ScanEvent, ws, first, last)
}

// again is what becomes of a row that is sent again: it runs the whole schedule.
const again = `
UPDATE deliveries
SET state = 0, stopped = NULL, tries = 0, finished_at = NULL, hand = 0, back_at = NULL, retry = 0, due = {due}
{rows}
WHERE deliveries.ws = {ws} AND deliveries.sub = {sub} AND deliveries.number = {number}
  AND deliveries.due IS NULL AND deliveries.token IS NULL AND `

// What waits or is sent is left alone: it comes anyway.
const (
	stoppedOrHeld = `(deliveries.state IN (2, 3) OR deliveries.state = 0 AND deliveries.number <= {cursor} AND NOT ` + leased + `)`
	endedOrHeld   = `(deliveries.state <> 0 OR deliveries.number <= {cursor} AND NOT ` + leased + `)`
)

var backfillColumns = []string{"ws int", "sub int", "number int", "due int", "cursor int"}

var (
	sendStopped = engine.NewBulk(again+stoppedOrHeld+"\nRETURNING {row}attempts", "", backfillColumns...)
	sendEnded   = engine.NewBulk(again+endedOrHeld+"\nRETURNING {row}attempts", "", backfillColumns...)

	findRows = engine.NewBulk(`
SELECT d.number
FROM deliveries d
WHERE d.ws = {ws} AND d.sub = {sub} AND d.number = {number}`, "", "ws int", "sub int", "number int")

	insertDue = engine.NewBulkInsert("deliveries", "ws int", "sub int", "number int", "due int")
)

// Backfill makes the deliveries of events by their numbers due, those that failed or are held, and with
// delivered also those that arrived and those that the subscription never had. It returns how many.
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
	rows := make([][]any, len(numbers))
	for i, n := range numbers {
		rows[i] = []any{l.ws, l.sub, n, now, cursor}
	}
	update := sendStopped
	if delivered {
		update = sendEnded
	}
	if err := tx.run(update, rows, func(int, *row) { queued++ }); err != nil || !delivered {
		return queued, err
	}
	added, err := tx.insertMissing(&l, numbers, now)
	return queued + added, err
}

// insertMissing adds the rows that the lane never had, or has no more.
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
