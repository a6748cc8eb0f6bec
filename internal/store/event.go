package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// EventColumns are what ScanEvent reads, in its order.
const EventColumns = `id, number, type, resource_id, at, body`

// ScanEvent reads a row of EventColumns.
func ScanEvent(r *row) sheaf.Event {
	return sheaf.Event{ID: sheaf.EventID(r.Text()), Number: r.Int(), Type: sheaf.EventType(r.Text()),
		ResourceID: r.Text(), At: r.Time(), Body: []byte(r.Text())}
}

var insertEvents = engine.NewBulkInsert("events", "workspace_id", "number int", "id", "type", "resource_id", "at int", "body")

// AppendEvents adds events to the log of a workspace that this transaction
// locked, numbers them, and adds their deliveries, whose ids newID makes.
func (tx *Tx) AppendEvents(w *sheaf.Workspace, events []sheaf.Event, newID func() string) error {
	if len(events) == 0 {
		return nil
	}
	rows := make([][]any, len(events))
	for i := range events {
		e := &events[i]
		w.LastEvent++
		e.Number = w.LastEvent
		rows[i] = []any{w.ID, e.Number, e.ID, e.Type, e.ResourceID, e.At, string(e.Body)}
	}
	if err := tx.insertMany(insertEvents, rows); err != nil {
		return fmt.Errorf("append events: %w", err)
	}
	tx.note.Events = true
	tx.note.Workspaces.Add(w.ID)
	if w.Subscriptions == 0 {
		return nil
	}
	return tx.enqueue(w.ID, events, newID)
}

const selectEvent = `
SELECT ` + EventColumns + `
FROM events
WHERE workspace_id = $1 AND id = $2`

// Event returns the workspace's event, or NotFound.
func (r *Reader) Event(ws sheaf.WorkspaceID, id sheaf.EventID) (sheaf.Event, error) {
	e, found, err := one(r, selectEvent, ScanEvent, ws, id)
	if err == nil && !found {
		err = sheaf.Missing("event")
	}
	return e, err
}

// Events returns a page of the workspace's log, in commit order. after is the
// number behind which it begins.
func (r *Reader) Events(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) (sheaf.Page[sheaf.Event], error) {
	l := listing{columns: EventColumns, table: "events", where: eventsWhere(ws, f, after), order: []string{"number"}, total: -1}
	if err := r.eventTotal(&l, ws, f, after); err != nil {
		return sheaf.Page[sheaf.Event]{}, err
	}
	return list(r, l, f.Paging, ScanEvent)
}

func eventsWhere(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) (w engine.Conditions) {
	w.And("workspace_id = ?", ws)
	if after > 0 {
		w.And("number > ?", after)
	}
	if f.Type != "" {
		w.And("type = ?", f.Type)
	}
	if f.Resource != "" {
		w.And("resource_id = ?", f.Resource)
	}
	if f.Since != nil {
		// Their order is that of numbers, and times are in that order but for the
		// clocks of several nodes: the index of times finds the first number, and
		// the plus keeps the engine from reading by it again.
		w.And("number >= (SELECT MIN(number) FROM events WHERE workspace_id = ? AND at >= ?)", ws, f.Since)
		w.And("+at >= ?", f.Since)
	}
	return w
}

// EventsAfter returns at most that many of the workspace's events behind a
// number, in commit order.
func (r *Reader) EventsAfter(ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64, most int) ([]sheaf.Event, error) {
	l := listing{columns: EventColumns, table: "events", where: eventsWhere(ws, f, after), order: []string{"number"}}
	return all(r, l.text(false), ScanEvent, append(l.where.Args, most, 0)...)
}

// logEnds asks for the two numbers by themselves: asked for both at once, SQLite
// reads the whole log.
const logEnds = `
SELECT COALESCE((SELECT MIN(number) FROM events WHERE workspace_id = $1), 1),
  COALESCE((SELECT MAX(number) FROM events WHERE workspace_id = $1), 0)`

const countSince = `
SELECT COUNT(*)
FROM events
WHERE workspace_id = $1 AND at >= $2 AND number > $3`

// eventTotal needs no counting without filters, as the numbers have no gap
// above the oldest that is kept. Those since a time are counted in its index.
func (r *Reader) eventTotal(l *listing, ws sheaf.WorkspaceID, f sheaf.EventFilter, after int64) (err error) {
	switch {
	case f.Type != "" || f.Resource != "": // counted as all lists are
	case f.Since != nil:
		l.total, err = r.count(countSince, ws, f.Since, after)
	default:
		err = r.query(logEnds, func(w *row) {
			first, last := w.Int(), w.Int()
			l.total = last - max(first-1, after)
		}, ws)
	}
	return err
}

// oldLogs reads one entry of the index of times for each workspace.
const oldLogs = `
SELECT w.id
FROM workspaces w
WHERE (SELECT MIN(e.at) FROM events e WHERE e.workspace_id = w.id) < $1`

// OldLogs returns the workspaces that have events from before a time.
func (r *Reader) OldLogs(before time.Time) ([]sheaf.WorkspaceID, error) {
	return all(r, oldLogs, func(w *row) sheaf.WorkspaceID { return sheaf.WorkspaceID(w.Text()) }, before)
}

const oldestEvents = `
SELECT number, at
FROM events
WHERE workspace_id = $1
ORDER BY number
LIMIT $2`

const deleteOldest = `
DELETE FROM events
WHERE workspace_id = $1 AND number <= $2`

// DeleteEvents removes at most that many of the workspace's oldest events, as
// far as they are from before a time and below the number of one that is still
// needed, and returns how many it removed. It never leaves a gap: an event whose
// clock was ahead keeps those behind it.
func (tx *Tx) DeleteEvents(ws sheaf.WorkspaceID, needed int64, before time.Time, most int) (int64, error) {
	type old struct {
		number int64
		at     time.Time
	}
	oldest, err := all(&tx.Reader, oldestEvents, func(r *row) old { return old{r.Int(), r.Time()} }, ws, most)
	if err != nil {
		return 0, err
	}
	last := int64(0)
	for _, e := range oldest {
		if !e.at.Before(before) || e.number >= needed {
			break
		}
		last = e.number
	}
	if last == 0 {
		return 0, nil
	}
	return tx.changed(deleteOldest, ws, last)
}
