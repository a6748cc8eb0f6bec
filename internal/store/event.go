package store

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// EventColumns are what ScanEvent reads, in its order.
const EventColumns = `id, number, type, resource_id, at, body, key_number`

// ScanEvent reads a row of EventColumns.
func ScanEvent(r *row) sheaf.Event {
	return sheaf.Event{ID: readEventID(r), Number: r.Int(), Type: ReadEventType(r),
		ResourceID: readID[string](r), At: r.Time(), Body: []byte(r.Text()), Key: r.Int()}
}

// storedTypes lists the event types in the order of their stored numbers, which begin at 1. Add new
// types at the end only: every log contains these numbers.
var storedTypes = []sheaf.EventType{sheaf.DocumentCreated, sheaf.DocumentUpdated, sheaf.DocumentDeleted,
	sheaf.ProjectCreated, sheaf.ProjectUpdated, sheaf.ProjectDeleted, sheaf.FolderCreated, sheaf.FolderUpdated, sheaf.FolderDeleted,
	sheaf.MediaUploaded, sheaf.GenerationStarted, sheaf.GenerationCompleted, sheaf.GenerationFailed,
	sheaf.ShareCreated, sheaf.ShareUpdated, sheaf.ShareDeleted, sheaf.WebhookTest,
	sheaf.SubscriptionFailing, sheaf.SubscriptionDeactivated, sheaf.SubscriptionReactivated,
	sheaf.ProposalCreated, sheaf.ProposalUpdated, sheaf.ProposalApproved, sheaf.ProposalAccepted, sheaf.ProposalRejected, sheaf.ProposalWithdrawn, sheaf.ProposalCommented,
	sheaf.ReleaseCreated, sheaf.ReleaseDeleted}

// typeNumber returns the stored number of a type, or 0 if the type does not exist.
func typeNumber(t sheaf.EventType) int64 { return int64(slices.Index(storedTypes, t) + 1) }

// TypeNumber returns the stored number of a type, for the doctor's SQL.
func TypeNumber(t sheaf.EventType) int64 { return typeNumber(t) }

// ReadEventType reads the type of an event. An unknown number becomes a type for which Known is
// false.
func ReadEventType(r *row) sheaf.EventType {
	n := r.Int()
	if n < 1 || n > int64(len(storedTypes)) {
		return sheaf.EventType(fmt.Sprint("number ", n))
	}
	return storedTypes[n-1]
}

var insertEvents = engine.NewBulkInsert("events", "ws int", "number int", "id id", "type int", "resource_id id", "at int", "body", "key_number int", "person id")

const insertReported = `
INSERT INTO reported_events (ws, number, bytes)
VALUES ($1, $2, $3)`

// AppendEvents numbers the events and raises their times to that of the newest event, appends them to the log of a workspace that this transaction has
// locked, and adds their deliveries. The bytes of reported events are added to w.Kept, and the
// deliveries to w.Given. The caller saves w.
func (tx *Tx) AppendEvents(w *sheaf.Workspace, events []sheaf.Event) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([][]any, len(events))
	for i := range events {
		e := &events[i]
		w.LastEvent++
		e.Number = w.LastEvent
		e.At = w.EventTime(e.At) // Body has this time already, if it has one
		w.LastEventAt = e.At
		rows[i] = []any{w.ID, e.Number, e.ID, e.Type, idBytes(e.ResourceID), e.At, string(e.Body), e.Key, e.Person}
		if e.Reported {
			w.Kept += int64(len(e.Body))
			if err := tx.exec(insertReported, w.ID, e.Number, len(e.Body)); err != nil {
				return fmt.Errorf("count reported event %s: %w", e.ID, err)
			}
		}
	}
	if err := tx.insertMany(insertEvents, rows); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	tx.note.Events = true
	tx.note.Workspaces.Add(w.ID)
	if w.Restrictions > 0 {
		if err := tx.noteRestricted(w, events); err != nil {
			return err
		}
	}
	if w.Subscriptions == 0 {
		return nil
	}
	return tx.addDeliveries(w, events)
}

const selectEvent = `
SELECT ` + EventColumns + `
FROM events
WHERE ws = $1 AND id = $2`

// noted is a condition for events in the log of a restriction.
const noted = `
  AND EXISTS (SELECT 1 FROM restricted_events x WHERE x.ws = $1 AND x.restriction = $3 AND x.number = events.number)`

// Event returns the workspace's event, or NotFound.
func (r *Reader) Event(ws sheaf.WorkspaceID, id sheaf.EventID) (sheaf.Event, error) {
	if to := r.sight.restriction; to != nil {
		return mustFind(r, "event", selectEvent+noted, ScanEvent, ws, id, to.Number)
	}
	return mustFind(r, "event", selectEvent, ScanEvent, ws, id)
}

// Events returns a page of the workspace's events with numbers above `after`, in commit order.
func (r *Reader) Events(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) (sheaf.Page[sheaf.Event], error) {
	l, err := r.eventList(ws, f, after)
	if err != nil {
		return sheaf.Page[sheaf.Event]{}, err
	}
	if r.sight.restriction != nil {
		err = r.restrictedTotal(&l, ws, f)
	} else {
		err = r.eventTotal(&l, ws, f, after)
	}
	if err != nil {
		return sheaf.Page[sheaf.Event]{}, err
	}
	return list(r, l, f.Paging, ScanEvent)
}

// eventList lists the events with numbers above `after` that match the filter: those of the whole
// log, or those of the restriction's log.
func (r *Reader) eventList(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) (l listing, err error) {
	if f.Since != nil {
		first, found, err := r.firstSince(ws, *f.Since)
		if err != nil {
			return l, err
		}
		if !found {
			first = math.MaxInt64
		}
		after = max(after, first-1)
	}
	l = listing{columns: EventColumns, table: "events", order: []string{"number"}, total: -1}
	resource, log := "", ""
	if to := r.sight.restriction; to == nil {
		l.where.And("ws = ?", ws)
	} else {
		// CROSS JOIN makes SQLite begin with the first table, which has the order.
		resource, log = "e.", "x."
		l.columns, l.order = restrictedColumns, []string{"x.number"}
		l.table = "restricted_events x CROSS JOIN events e"
		if f.Resource != "" {
			l.table = "events e CROSS JOIN restricted_events x"
		}
		l.where.And("x.ws = ?", ws)
		l.where.And("x.restriction = ?", to.Number)
	}
	if after > 0 {
		l.where.And(log+"number > ?", after)
	}
	if f.Type != "" {
		l.where.And(log+"type = ?", f.Type)
	}
	if f.Resource != "" {
		l.where.And(resource+"resource_id = ?", idBytes(f.Resource))
	}
	if f.Person != "" {
		l.where.And(resource+"person = ?", f.Person)
	}
	return l, nil
}

// restrictedColumns are EventColumns of a join with restricted_events.
const restrictedColumns = `e.id, e.number, e.type, e.resource_id, e.at, e.body, e.key_number`

// restrictedTotal sets l.total for the log of a restriction, and joins it with the events.
func (r *Reader) restrictedTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.EventFilter) (err error) {
	whole := sheaf.EventFilter{Paging: f.Paging}
	switch {
	case f == whole:
		l.total, err = r.count(`SELECT events FROM restrictions WHERE ws = $1 AND number = $2`, ws, r.sight.restriction.Number)
	case f.Resource == "" && f.Person == "":
		l.total, err = r.count("SELECT COUNT(*) FROM restricted_events x "+l.where.SQL(), l.where.Args...)
	}
	l.joinEvents()
	return err
}

// joinEvents adds the condition that joins the log of a restriction with the events.
func (l *listing) joinEvents() { l.where.And("e.ws = x.ws AND e.number = x.number") }

// Events since a given time are found without an index on the time, which would cost one more page
// per write. The numbers have no gaps, and the times never fall from one number to the next
// (AppendEvents). So the log is bisected.

const isEarly = `(SELECT e.at FROM events e WHERE e.ws = $1 AND e.number = (b.low + b.high) / 2) < $2`

const bisectLog = `
WITH RECURSIVE bisection (low, high) AS (
  SELECT (SELECT MIN(number) FROM events WHERE ws = $1), (SELECT MAX(number) FROM events WHERE ws = $1) + 1
  UNION ALL
  SELECT CASE WHEN ` + isEarly + ` THEN (b.low + b.high) / 2 + 1 ELSE b.low END,
    CASE WHEN ` + isEarly + ` THEN b.high ELSE (b.low + b.high) / 2 END
  FROM bisection b
  WHERE b.low < b.high
)
SELECT low, (SELECT MAX(number) FROM events WHERE ws = $1)
FROM bisection
WHERE low >= high`

// firstSince returns the number of the first event whose time is not before `since`; found is false
// if there is none.
func (r *Reader) firstSince(ws sheaf.WorkspaceID, since time.Time) (number int64, found bool, err error) {
	type place struct{ first, last int64 }
	p, found, err := one(r, bisectLog, func(w *row) place { return place{w.Int(), w.Int()} }, ws, since)
	return p.first, found && p.first <= p.last, err
}

// EventsAfter returns at most `most` of the workspace's events with numbers above `after` that
// match the filter, in commit order.
func (r *Reader) EventsAfter(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64, most int) ([]sheaf.Event, error) {
	l, err := r.eventList(ws, f, after)
	if err != nil {
		return nil, err
	}
	if r.sight.restriction != nil {
		l.joinEvents()
	}
	return all(r, l.text(false), ScanEvent, append(l.where.Args, most, 0)...)
}

const lastNoted = `
SELECT number
FROM restricted_events
WHERE ws = $1 AND restriction = $2
ORDER BY number DESC
LIMIT 1`

// LogEnd returns the number of the newest event of the workspace's log, or of the restriction's log; 0
// if it has none.
func (r *Reader) LogEnd(ws sheaf.WorkspaceID) (int64, error) {
	if to := r.sight.restriction; to != nil {
		last, _, err := one(r, lastNoted, (*row).Int, ws, to.Number)
		return last, err
	}
	w, err := r.Workspace(ws)
	return w.LastEvent, err
}

// logEnds has one subquery for each end. If one query asks for both, SQLite reads the whole log.
const logEnds = `
SELECT COALESCE((SELECT MIN(number) FROM events WHERE ws = $1), 1),
  COALESCE((SELECT MAX(number) FROM events WHERE ws = $1), 0)`

// eventTotal sets l.total. Without a filter it need not count, because the numbers have no gaps
// above the oldest event kept.
func (r *Reader) eventTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) error {
	if f.Type != "" || f.Resource != "" || f.Person != "" { // list counts the rows
		return nil
	}
	var first, last int64
	err := r.query(logEnds, func(w *row) { first, last = w.Int(), w.Int() }, ws)
	if err == nil && f.Since != nil {
		var found bool
		if first, found, err = r.firstSince(ws, *f.Since); !found {
			first = last + 1
		}
	}
	l.total = max(0, last-max(first-1, after))
	return err
}

const deleteOldest = `
DELETE FROM events
WHERE ws = $1 AND number <= $2`

const deleteReported = `
DELETE FROM reported_events
WHERE ws = $1 AND number <= $2
RETURNING bytes`

const giveBack = `
UPDATE workspaces
SET kept = kept - $2
WHERE ws = $1`

// DeleteEvents deletes up to `most` of the workspace's oldest events, none above number `upTo`, and
// returns how many it deleted. It never leaves a gap. The bytes of reported events leave the
// workspace's quota.
func (tx *Tx) DeleteEvents(ws sheaf.WorkspaceID, upTo int64, most int) (int64, error) {
	first, _, err := one(&tx.Reader, `SELECT MIN(number) FROM events WHERE ws = $1`, (*row).OptInt, ws)
	if err != nil || first == nil || *first > upTo {
		return 0, err
	}
	end := min(upTo, *first+int64(most)-1)
	// Give back only the bytes of rows that this transaction deletes: a node that has lost its turn
	// to sweep may still be deleting.
	sizes, err := all(&tx.Reader, deleteReported, (*row).Int, ws, end)
	if err != nil {
		return 0, err
	}
	bytes := int64(0)
	for _, n := range sizes {
		bytes += n
	}
	if bytes > 0 {
		if err := tx.exec(giveBack, ws, bytes); err != nil {
			return 0, err
		}
	}
	if err := tx.forgetRestricted(ws, end); err != nil {
		return 0, err
	}
	return tx.changed(deleteOldest, ws, end)
}
