package store

import (
	"fmt"
	"math"
	"time"

	"sheaf.dev/internal/sheaf"
)

const insertMemberEvent = `
INSERT INTO member_events (ws, number, kind, user_id, by_user, role, was, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`

const dropMemberEvents = `
DELETE FROM member_events
WHERE ws = $1 AND number <= $2`

// AddMemberEvent stores a member event in the transaction of the change, which has locked the
// workspace. It deletes the oldest member event beyond sheaf.MemberEventsKept.
func (tx *Tx) AddMemberEvent(ws sheaf.WorkspaceID, e sheaf.MemberEvent) error {
	last, err := tx.count(`SELECT COALESCE(MAX(number), 0) FROM member_events WHERE ws = $1`, ws)
	if err != nil {
		return err
	}
	if err := tx.exec(insertMemberEvent, ws, last+1, string(e.Kind), e.User, e.By, e.Role, e.Was, e.At); err != nil {
		return fmt.Errorf("insert an event of member %s: %w", e.User, err)
	}
	return tx.exec(dropMemberEvents, ws, last+1-sheaf.MemberEventsKept)
}

const selectMemberEvents = `
SELECT e.kind, e.user_id, e.by_user, e.role, e.was, e.at, u.name, b.name
FROM member_events e
LEFT JOIN users u ON u.id = e.user_id
LEFT JOIN users b ON b.id = e.by_user
WHERE e.ws = $1 AND e.at >= $2 AND e.at < $3`

// ofPerson is a condition for the member events that a person caused or that concern the person.
const ofPerson = ` AND (e.user_id = $6 OR e.by_user = $6)`

// MemberEvents returns the workspace's member events that match the filter, newest first. It reads at most
// sheaf.MemberEventsKept rows.
func (r *Reader) MemberEvents(ws sheaf.WorkspaceID, f sheaf.MemberEventFilter) ([]sheaf.MemberEvent, error) {
	since, before := int64(math.MinInt64), int64(math.MaxInt64)
	if f.Since != nil {
		since = f.Since.UnixMilli()
	}
	if f.Before != nil {
		before = f.Before.UnixMilli()
	}
	sql, args := selectMemberEvents, []any{ws, since, before, f.Limit, f.Offset}
	if f.Person != "" {
		sql, args = sql+ofPerson, append(args, f.Person)
	}
	return all(r, sql+`
ORDER BY e.number DESC
LIMIT $4 OFFSET $5`, scanMemberEvent, args...)
}

func scanMemberEvent(w *row) sheaf.MemberEvent {
	name := func() string {
		if s := w.OptText(); s != nil {
			return *s
		}
		return ""
	}
	return sheaf.MemberEvent{Kind: sheaf.MemberEventKind(w.Text()), User: readID[sheaf.UserID](w), By: optID[sheaf.UserID](w),
		Role: sheaf.Role(w.Text()), Was: sheaf.Role(w.Text()), At: w.Time(), Name: name(), ByName: name()}
}

// DeleteMemberEvents deletes up to `most` member events older than `before`, and returns their number.
func (tx *Tx) DeleteMemberEvents(before time.Time, most int) (int64, error) {
	return tx.changed(oldMemberEvents, before, most)
}
