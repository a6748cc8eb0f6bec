package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

const selectRestrictions = `
SELECT number, ids
FROM restrictions
WHERE ws = $1 AND live = 1
ORDER BY number`

// Restrictions returns the live restrictions of the workspace, at most sheaf.MaxRestrictions.
func (r *Reader) Restrictions(ws sheaf.WorkspaceID) ([]*sheaf.Restriction, error) {
	return all(r, selectRestrictions, func(w *row) *sheaf.Restriction { return sheaf.ParseRestriction(w.Int(), w.Text()) }, ws)
}

// InsertRestriction adds a restriction. The caller has counted it in the workspace.
func (tx *Tx) InsertRestriction(ws sheaf.WorkspaceID, to sheaf.Restriction) error {
	if err := tx.exec(`INSERT INTO restrictions (ws, number, ids) VALUES ($1, $2, $3)`, ws, to.Number, to.String()); err != nil {
		return fmt.Errorf("insert restriction %d: %w", to.Number, err)
	}
	return nil
}

const endRestrictions = `
UPDATE restrictions
SET live = 0
WHERE ws = $1 AND live = 1
  AND NOT EXISTS (SELECT 1 FROM api_keys k WHERE k.ws = $1 AND k.restriction = restrictions.number
    AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > $2))
  AND NOT EXISTS (SELECT 1 FROM subscriptions s WHERE s.ws = $1 AND s.restriction = restrictions.number)
  AND NOT EXISTS (SELECT 1 FROM members m WHERE m.ws = $1 AND m.restriction <> 0 AND m.restriction = restrictions.number)
  AND NOT EXISTS (SELECT 1 FROM invitations i WHERE i.ws = $1 AND i.restriction <> 0 AND i.restriction = restrictions.number)`

// EndRestrictions ends the restrictions that no live key, subscription, member or invitation has, and
// returns their number. Events are no longer noted for them. An expired invitation counts until it is
// deleted: a node whose clock is late may still accept it. The caller, who has locked the workspace,
// counts the restrictions.
func (tx *Tx) EndRestrictions(ws sheaf.WorkspaceID, now time.Time) (int64, error) {
	return tx.changed(endRestrictions, ws, now)
}

// EndIdleRestrictions is EndRestrictions in a transaction that has not locked the workspace.
func (tx *Tx) EndIdleRestrictions(ws sheaf.WorkspaceID, now time.Time) error {
	w, err := tx.LockWorkspace(ws)
	if err != nil || w.Restrictions == 0 {
		return err
	}
	ended, err := tx.EndRestrictions(ws, now)
	if err != nil || ended == 0 {
		return err
	}
	w.Restrictions -= ended
	return tx.SaveWorkspace(w)
}

// restrictionNumber returns the stored number of a restriction; 0 is none.
func restrictionNumber(to *sheaf.Restriction) int64 {
	if to == nil {
		return 0
	}
	return to.Number
}

var noteEvents = engine.NewBulkInsert("restricted_events", "ws int", "restriction int", "number int", "type int")

const countNoted = `
UPDATE restrictions
SET events = events + $3
WHERE ws = $1 AND number = $2`

// noteRestricted adds each event to the logs of the restrictions that cover it. It runs in the
// transaction that appends the events.
func (tx *Tx) noteRestricted(w *sheaf.Workspace, events []sheaf.Event) error {
	restrictions, err := tx.Restrictions(w.ID)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, to := range restrictions {
		had := len(rows)
		for i := range events {
			if to.Covers(&events[i]) {
				rows = append(rows, []any{w.ID, to.Number, events[i].Number, events[i].Type})
			}
		}
		if n := len(rows) - had; n > 0 {
			if err := tx.exec(countNoted, w.ID, to.Number, n); err != nil {
				return fmt.Errorf("count the events of restriction %d: %w", to.Number, err)
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.insertMany(noteEvents, rows); err != nil {
		return fmt.Errorf("note events for restrictions: %w", err)
	}
	return nil
}

const selectNoted = `
SELECT number
FROM restricted_events
WHERE ws = $1 AND restriction = $2 AND number BETWEEN $3 AND $4`

// Noted returns which of the events `first` to `last` are in the log of the restriction with that
// number.
func (r *Reader) Noted(ws sheaf.WorkspaceID, restriction, first, last int64) (map[int64]bool, error) {
	noted := map[int64]bool{}
	return noted, r.query(selectNoted, func(w *row) { noted[w.Int()] = true }, ws, restriction, first, last)
}

const (
	forgetNoted = `
DELETE FROM restricted_events
WHERE ws = $1 AND restriction = $2 AND number <= $3`
	forgetEnded = `
DELETE FROM restrictions
WHERE ws = $1 AND live = 0 AND events = 0`
)

// forgetRestricted removes the events up to number `upTo` from the logs of all restrictions, and the
// restrictions that have ended and have no more events.
func (tx *Tx) forgetRestricted(ws sheaf.WorkspaceID, upTo int64) error {
	numbers, err := all(&tx.Reader, `SELECT number FROM restrictions WHERE ws = $1`, (*row).Int, ws)
	if err != nil || len(numbers) == 0 {
		return err
	}
	for _, number := range numbers {
		n, err := tx.changed(forgetNoted, ws, number, upTo)
		if err == nil && n > 0 {
			err = tx.exec(countNoted, ws, number, -n)
		}
		if err != nil {
			return fmt.Errorf("forget events of restriction %d: %w", number, err)
		}
	}
	return tx.exec(forgetEnded, ws)
}
