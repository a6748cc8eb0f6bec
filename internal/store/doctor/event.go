package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// checkEvents are the promises about the log.
var checkEvents = []check{
	// The numbers have no gap above the oldest that is kept.
	{name: "event gap", judge: tells("event %s is kept and the one before it is not"), sql: `
SELECT e.number
FROM events e
WHERE e.ws = $1 AND e.number > (SELECT MIN(o.number) FROM events o WHERE o.ws = $1)
  AND NOT EXISTS (SELECT 1 FROM events b WHERE b.ws = e.ws AND b.number = e.number - 1)`},

	// The newest has the number that the workspace has counted to.
	{name: "event count", judge: (*patient).sameLastEvent, sql: `
SELECT MAX(number)
FROM events
WHERE ws = $1`},

	// Times do not fall from one number to the next, and the workspace has the newest.
	{name: "event time", judge: tells("event %s is of an earlier time than the one before it, or of a later one than the workspace's newest"), sql: `
SELECT e.number
FROM events e
JOIN workspaces w ON w.ws = e.ws
LEFT JOIN events b ON b.ws = e.ws AND b.number = e.number - 1
WHERE e.ws = $1 AND (e.at < b.at OR e.at > w.last_event_at)`},

	// An envelope says what its row says.
	{name: "event body", judge: (*patient).sameEnvelope, sql: `
SELECT ` + store.EventColumns + `
FROM events
WHERE ws = $1`},
}

// oldestEvent is the oldest stored event of the log. Its number is 0 if the log is empty.
type oldestEvent struct {
	number int64
	at     time.Time
}

const selectOldest = `
SELECT number, at
FROM events
WHERE ws = $1
ORDER BY number
LIMIT 1`

func (p *patient) oldestEvent() (oldestEvent, error) {
	e, _, err := engine.One(p.sql, selectOldest, func(r *engine.Row) oldestEvent { return oldestEvent{r.Int(), r.Time()} }, p.number)
	return e, err
}

// clockSlack is the most by which the time of a change may be ahead of its event's: the clocks of nodes differ,
// and each change raises updated_at even if the clock stands still.
const clockSlack = time.Minute

// kept reports whether the log must still have the event of a change at that time. It needs the retention only
// if the log is empty.
func (p *patient) kept(changed time.Time) bool {
	switch {
	case p.oldest.number == 1 || p.ws.LastEvent == 0: // nothing was ever removed
		return true
	case p.oldest.number > 0:
		return changed.After(p.oldest.at.Add(clockSlack))
	case p.swept != nil:
		return changed.After(p.swept.Add(clockSlack))
	}
	return p.Retention > 0 && changed.After(p.Now.Add(clockSlack-p.Retention))
}

// sameLastEvent compares the number of the newest event in the workspace with that in the log.
func (p *patient) sameLastEvent(r *engine.Row) string {
	last := r.OptInt()
	if last == nil || *last == p.ws.LastEvent {
		return ""
	}
	return fmt.Sprintf("the workspace has counted to %d, the log to %d", p.ws.LastEvent, *last)
}

// envelope has the fields of an event's body that are checked.
type envelope struct {
	ID         string                     `json:"id"`
	Type       string                     `json:"type"`
	Timestamp  string                     `json:"timestamp"`
	Workspace  *string                    `json:"workspace_id"`
	ResourceID string                     `json:"resource_id"`
	Payload    map[string]json.RawMessage `json:"payload"`
}

// sameEnvelope compares the body of an event, which receivers get, with the columns of its row.
func (p *patient) sameEnvelope(r *engine.Row) string {
	e := store.ScanEvent(r)
	var has envelope
	if err := json.Unmarshal(e.Body, &has); err != nil {
		return fmt.Sprintf("event %d has a body that is no envelope: %v", e.Number, err)
	}
	workspace := string(p.ws.ID)
	foreign := has.Workspace != nil && *has.Workspace != workspace || (has.Workspace == nil) != p.ws.Personal
	switch {
	case has.ID != string(e.ID) || has.Type != string(e.Type) || has.ResourceID != e.ResourceID || has.Payload == nil,
		has.Timestamp != e.At.Format(sheaf.TimeFormat):
		return fmt.Sprintf("event %d has the body of another event", e.Number)
	case foreign:
		return fmt.Sprintf("event %d has the body of another workspace", e.Number)
	case !e.Type.Known():
		return fmt.Sprintf("event %d is of type %s, which does not exist", e.Number, sheaf.Clip(string(e.Type)))
	}
	return ""
}

// types lists the types of events about a noun, as SQL has them.
func types(noun string, acts ...string) string {
	for i, act := range acts {
		acts[i] = fmt.Sprint(store.TypeNumber(sheaf.EventType(noun + "." + act)))
	}
	return "(" + strings.Join(acts, ", ") + ")"
}

// withNewest selects the rows of a table, each with the number, type and body of its newest event.
// The plus, here and below, keeps SQLite from taking the index of types, and with it all events of
// a type for each row.
func withNewest(columns, table, noun string) string {
	return `
SELECT t.*, e.type, e.body
FROM (
  SELECT ` + columns + `,
    (SELECT MAX(n.number) FROM events n
     WHERE n.ws = ` + table + `.ws AND n.resource_id = ` + table + `.id
       AND +n.type IN ` + types(noun, "created", "updated", "deleted") + `) AS newest
  FROM ` + table + `
  WHERE ws = $1) t
LEFT JOIN events e ON e.ws = $1 AND e.number = t.newest`
}

// lost selects records that exist according to the log but are missing in the table.
func lost(table, noun string) string {
	return `
SELECT e.resource_id, e.number, e.type
FROM events e
WHERE e.ws = $1 AND e.type IN ` + types(noun, "created", "updated") + `
  AND NOT EXISTS (SELECT 1 FROM ` + table + ` t WHERE t.ws = e.ws AND t.id = e.resource_id)
  AND NOT EXISTS (SELECT 1 FROM events l
    WHERE l.ws = e.ws AND l.resource_id = e.resource_id AND l.number > e.number
      AND +l.type IN ` + types(noun, "created", "updated", "deleted") + `)`
}

// logged is a row whose changes are in the log.
type logged struct {
	noun, id string
	record   sheaf.Record
	changed  time.Time // time of the last change
	deleted  bool      // it is in the trash
	mayLose  []string  // fields that become null without an event
	ends     string    // a field that is only the end of what the event has
}

// sameAsEvent compares a row with its newest event, whose number, type and body are the next
// columns.
func (p *patient) sameAsEvent(r *engine.Row, l logged) string {
	number, kind := r.OptInt(), (*sheaf.EventType)(nil)
	if r.Null() {
		r.Skip()
	} else {
		t := store.ReadEventType(r)
		kind = &t
	}
	body := r.OptText()
	switch {
	case number == nil && p.kept(l.changed):
		return fmt.Sprintf("%s %s was changed at %s and no event tells of it", l.noun, l.id, l.changed.Format(sheaf.TimeFormat))
	case number == nil:
		return ""
	case kind == nil || body == nil:
		return fmt.Sprintf("the newest event of %s %s, number %d, cannot be read", l.noun, l.id, *number)
	case l.deleted != (string(*kind) == l.noun+".deleted"):
		return fmt.Sprintf("the newest event of %s %s, number %d, is %s", l.noun, l.id, *number, *kind)
	}
	if fields := l.differences(*body); len(fields) > 0 {
		return fmt.Sprintf("%s %s differs from its newest event, number %d, in %s", l.noun, l.id, *number, strings.Join(fields, ", "))
	}
	return ""
}

// differences returns the own fields in which the row differs from an event.
func (l logged) differences(body string) (fields []string) {
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return []string{"all: it is no envelope"}
	}
	delete(e.Payload, "previous")
	for name, is := range sheaf.OwnFields(l.record) {
		was := e.Payload[name]
		if name == l.ends && bytes.HasSuffix(was, is[1:]) { // the quotes aside
			continue
		}
		if !bytes.Equal(is, was) && !(slices.Contains(l.mayLose, name) && string(is) == "null") {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return fields
}
