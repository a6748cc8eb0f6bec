package store

import (
	"math"
	"time"

	"sheaf.dev/internal/sheaf"
)

// lastOld reads the log from its beginning, so far as it is old.
func lastOld(by string) string {
	return `
SELECT number
FROM events ` + by + `
WHERE ws = $1 AND at >= $2
ORDER BY number
LIMIT 1`
}

// LastOld returns the number up to which all events of the workspace are from before a time: an
// event whose clock was ahead keeps those behind it.
func (r *Reader) LastOld(ws sheaf.WorkspaceID, before time.Time) (int64, error) {
	first, found, err := one(r, lastOld(r.dialect().By("events_in_order")), (*row).Int, ws, before)
	if err != nil || found {
		return first - 1, err
	}
	w, err := r.Workspace(ws)
	return w.LastEvent, err
}

const selectSubs = `
SELECT sub
FROM lanes
WHERE ws = $1`

const doneUpTo = `
SELECT number
FROM deliveries
WHERE ws = $1 AND sub = $2 AND number <= $3 AND state IN (1, 2) AND due IS NULL AND token IS NULL
ORDER BY number
LIMIT $4`

// DeleteDeliveries removes at most that many deliveries of the workspace that are done, of events
// up to a number, with their attempts, and returns how many it removed. Whoever recovers or
// redelivers one meanwhile waits for the workspace.
func (tx *Tx) DeleteDeliveries(ws sheaf.WorkspaceID, upTo int64, most int) (int64, error) {
	if _, err := tx.LockWorkspace(ws); err != nil {
		return 0, err
	}
	number, err := tx.number(ws)
	if err != nil {
		return 0, err
	}
	subs, err := all(&tx.Reader, selectSubs, (*row).Int, number)
	removed := 0
	for _, sub := range subs {
		if err != nil || removed == most {
			break
		}
		var done []int64
		if done, err = all(&tx.Reader, doneUpTo, (*row).Int, number, sub, upTo, most-removed); err == nil {
			err = tx.removeDeliveries(number, sub, done)
			removed += len(done)
		}
	}
	return int64(removed), err
}

const selectHolding = `
SELECT ` + laneColumns + `
FROM lanes l
JOIN subscriptions s ON s.ws = l.ws AND s.sub = l.sub
WHERE l.ws = $1 AND l.held_from <= $2
ORDER BY s.id`

// DeleteHeld removes at most that many of the workspace's held deliveries of events up to a number,
// and returns how many.
func (tx *Tx) DeleteHeld(ws sheaf.WorkspaceID, upTo int64, most int) (int64, error) {
	if _, err := tx.LockWorkspace(ws); err != nil {
		return 0, err
	}
	lanes, err := all(&tx.Reader, selectHolding+tx.dialect().ForUpdate(), scanLane, ws, upTo)
	if err != nil {
		return 0, err
	}
	removed := 0
	for i := range lanes {
		l := &lanes[i]
		in := listing{columns: "number", table: "deliveries", order: []string{"number"}}
		in.where.And("ws = ?", l.ws)
		in.where.And("sub = ?", l.sub)
		in.where.And("number <= ?", upTo)
		if err := tx.where(&in.where, l, sheaf.Held); err != nil {
			return 0, err
		}
		held, err := all(&tx.Reader, in.text(false), (*row).Int, append(in.where.Args, most-removed, 0)...)
		if err != nil {
			return 0, err
		}
		if err := tx.removeDeliveries(l.ws, l.sub, held); err != nil {
			return 0, err
		}
		if removed += len(held); removed == most {
			return int64(removed), nil
		}
		// All that was held up to there is gone.
		next := upTo + 1
		if l.heldFrom = &next; l.heldTo != nil && next > *l.heldTo {
			l.heldFrom, l.heldTo = nil, nil
		}
		if err := tx.saveLane(l); err != nil {
			return 0, err
		}
	}
	return int64(removed), nil
}

const firstNeeded = `
SELECT MIN(d.number)
FROM lanes l
JOIN deliveries d ON d.ws = l.ws AND d.sub = l.sub
WHERE l.ws = $1 AND d.number <= $2 AND (d.state IN (0, 3) OR d.due IS NOT NULL OR d.token IS NOT NULL)`

// NeededEvent returns the number of the oldest event of the workspace that is still to be
// delivered, as far as that is not above a number; else one above it.
func (r *Reader) NeededEvent(ws sheaf.WorkspaceID, upTo int64) (int64, error) {
	needed, _, err := one(r, firstNeeded, (*row).OptInt, ws, upTo)
	if needed == nil {
		return upTo + 1, err
	}
	return *needed, err
}

// removeDeliveries removes a delivery before its attempts: an attempt that is being recorded holds
// the delivery, and is there to be removed after it.
func (tx *Tx) removeDeliveries(ws, sub int64, numbers []int64) error {
	for _, number := range numbers {
		for _, sql := range []string{
			`DELETE FROM deliveries WHERE ws = $1 AND sub = $2 AND number = $3`,
			`DELETE FROM attempts WHERE ws = $1 AND sub = $2 AND event = $3`,
			`DELETE FROM old_ids WHERE ws = $1 AND sub = $2 AND number = $3`,
		} {
			if err := tx.exec(sql, ws, sub, number); err != nil {
				return err
			}
		}
	}
	return nil
}

const firstDeleted = `
SELECT ws, sub
FROM deleted_subscriptions
ORDER BY deleted_at, sub
LIMIT 1`

const deliveriesOf = `
SELECT number
FROM deliveries
WHERE ws = $1 AND sub = $2
LIMIT $3`

// DeleteOrphans removes at most that many deliveries of subscriptions that were deleted, and
// returns how many it removed; it has found them all when they are fewer than asked for.
func (tx *Tx) DeleteOrphans(most int) (int64, error) {
	type gone struct{ ws, sub int64 }
	g, found, err := one(&tx.Reader, firstDeleted, func(r *row) gone { return gone{r.Int(), r.Int()} })
	if err != nil || !found {
		return 0, err
	}
	numbers, err := all(&tx.Reader, deliveriesOf, (*row).Int, g.ws, g.sub, most)
	if err != nil {
		return 0, err
	}
	if err := tx.removeDeliveries(g.ws, g.sub, numbers); err != nil {
		return 0, err
	}
	if len(numbers) < most {
		// This subscription is done, and there may be another.
		return int64(most), tx.exec(`DELETE FROM deleted_subscriptions WHERE sub = $1`, g.sub)
	}
	return int64(len(numbers)), nil
}

// The statements remove at most $2 rows of one sort that no rule needs.
const (
	expiredSessions = `
DELETE FROM sessions
WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= $1 LIMIT $2)`
	expiredInvitations = `
DELETE FROM invitations
WHERE hash IN (SELECT hash FROM invitations WHERE expires_at <= $1 LIMIT $2)`
	oldFailures = `
DELETE FROM sign_in_failures
WHERE name IN (SELECT name FROM sign_in_failures WHERE failed_at <= $1 LIMIT $2)`
)

// DeleteSessionsEnded removes at most that many sessions and returns how many.
func (tx *Tx) DeleteSessionsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredSessions, now, most)
}

// DeleteInvitationsEnded removes at most that many invitations and returns how many.
func (tx *Tx) DeleteInvitationsEnded(now time.Time, most int) (int64, error) {
	return tx.changed(expiredInvitations, now, most)
}

// DeleteFailures removes at most that many names under which nobody failed to sign in since, and
// returns how many.
func (tx *Tx) DeleteFailures(before time.Time, most int) (int64, error) {
	return tx.changed(oldFailures, before, most)
}

// TrashEnd is a place in the order in which the documents of a workspace were deleted: it names those
// up to it.
type TrashEnd struct{ deletedAt, number int64 }

// TrashBefore names the documents that were deleted up to a time.
func TrashBefore(t time.Time) TrashEnd { return TrashEnd{t.UnixMilli(), math.MaxInt64} }

const selectTrashEnd = `
SELECT deleted_at, number
FROM documents
WHERE ws = $1 AND deleted_at IS NOT NULL
ORDER BY deleted_at DESC, number DESC
LIMIT 1 OFFSET $2`

// TrashBeyond names the workspace's deleted documents but for so many, those that were deleted last;
// found is false when there are no others. It reads as many as are kept, so it is asked once, and not
// while somebody waits.
func (r *Reader) TrashBeyond(ws sheaf.WorkspaceID, keep int) (end TrashEnd, found bool, err error) {
	return one(r, selectTrashEnd, func(w *row) TrashEnd { return TrashEnd{w.Int(), w.Int()} }, ws, keep)
}

const longestDeleted = `
SELECT id
FROM documents
WHERE ws = $1 AND deleted_at IS NOT NULL AND (deleted_at, number) <= ($2, $3)
ORDER BY deleted_at, number
LIMIT $4`

// purgedVersions is after how many versions, the present ones included, a transaction removes no further
// document.
const purgedVersions = 200

// DeleteTrash removes deleted documents of a workspace that this transaction holds, up to an end, those
// that were deleted longest ago first, at most that many and fewer where they have much text. It
// returns how many of so many it has dealt with: fewer than asked for when no more are there. One that
// was restored meanwhile stays, and so does one that was deleted again: its place is another.
//
// It calls first before it removes a document, for what hangs on it; with later, the document stays and
// so do those behind it, until the next time. The counters are the caller's to save.
func (tx *Tx) DeleteTrash(w *sheaf.Workspace, end TrashEnd, most int, first func(sheaf.DocumentID) (later bool, err error)) (int64, error) {
	ids, err := all(&tx.Reader, longestDeleted, readID[sheaf.DocumentID], w.ID, end.deletedAt, end.number, most)
	if err != nil {
		return 0, err
	}
	var versions, bytes int64 // that were removed
	for _, id := range ids {
		if versions >= purgedVersions || bytes >= purgedBytes {
			return int64(most), nil // there are others
		}
		later, err := first(id)
		if err != nil {
			return 0, err
		}
		if later {
			return int64(most), nil
		}
		gone, err := tx.PurgeDocument(w.ID, id)
		if err != nil {
			return 0, err
		}
		w.Storage -= gone.Bytes
		if !gone.Whole {
			return int64(most), nil
		}
		versions += gone.Versions + 1
		bytes += gone.Bytes
	}
	return int64(len(ids)), nil
}
