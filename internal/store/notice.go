package store

import (
	"errors"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Notice is that people are to be told by mail of a subscription that fails. Each subscription has one at
// most: what is newer takes the place of what was not sent yet.
type Notice struct {
	Workspace    sheaf.WorkspaceID
	Subscription sheaf.SubscriptionID
	Event        int64     // the number of the event that tells of it
	At           time.Time // when that was
	Tries        int64     // how often it could not be sent
	ws, sub      int64
}

const (
	// noticesApart is the least time between two mails that a subscription begins to fail, and between
	// two that it was turned off: an endpoint that comes and goes does not fill mailboxes. Somebody, or
	// a program, may turn it on again at once.
	noticesApart = time.Hour
	// A workspace gets at most lettersAtOnce mails at once, and one more each letterEvery.
	lettersAtOnce = 4
	letterEvery   = 15 * time.Minute
)

// upsertNotice makes a notice due, not before noticesApart after the time in column `last`.
func upsertNotice(last string) string {
	return `
INSERT INTO notices (ws, sub, event, at, due, tries, told_at)
VALUES ($1, $2, $3, $4, $4, 0, 0)
ON CONFLICT (ws, sub) DO UPDATE
SET event = excluded.event, at = excluded.at, tries = 0,
  due = CASE WHEN notices.` + last + ` + $5 > excluded.due THEN notices.` + last + ` + $5 ELSE excluded.due END`
}

var (
	notifyFailing = upsertNotice("told_at")
	notifyOff     = upsertNotice("off_at")
)

// notify asks that people are told of what became of a subscription, in the transaction that decides it.
func (tx *Tx) notify(l *lane, t sheaf.EventType, number int64, at time.Time) error {
	sql := notifyFailing
	if t == sheaf.SubscriptionDeactivated {
		sql = notifyOff
	}
	if err := tx.exec(sql, l.ws, l.sub, number, at, noticesApart.Milliseconds()); err != nil {
		return fmt.Errorf("notify of subscription %s: %w", l.id, err)
	}
	return nil
}

const selectNotices = `
SELECT w.id, s.id, n.event, n.at, n.tries, n.ws, n.sub
FROM notices n
JOIN workspaces w ON w.ws = n.ws
JOIN subscriptions s ON s.ws = n.ws AND s.sub = n.sub
WHERE n.due IS NOT NULL AND n.due <= $1
ORDER BY n.due
LIMIT $2`

// NoticesDue returns at most that many notices of all workspaces that are to be sent now, the longest due
// first.
func (r *Reader) NoticesDue(now time.Time, most int) ([]Notice, error) {
	return all(r, selectNotices, func(w *row) Notice {
		return Notice{Workspace: readID[sheaf.WorkspaceID](w), Subscription: readID[sheaf.SubscriptionID](w), Event: w.Int(), At: w.Time(), Tries: w.Int(),
			ws: w.Int(), sub: w.Int()}
	}, now, most)
}

const settleNotice = `
UPDATE notices
SET due = NULL
WHERE ws = $1 AND sub = $2 AND event = $3`

// SettleNotice ends a notice of which nobody is told, unless a newer one has taken its place.
func (tx *Tx) SettleNotice(n Notice) error { return tx.exec(settleNotice, n.ws, n.sub, n.Event) }

const (
	toldFailing = `
UPDATE notices
SET told_at = $3
WHERE ws = $1 AND sub = $2`
	toldOff = `
UPDATE notices
SET off_at = $3
WHERE ws = $1 AND sub = $2`
	// letters_until is when the workspace will have been sent no more than one mail each letterEvery.
	countLetter = `
UPDATE workspaces
SET letters_until = CASE WHEN letters_until > $2 THEN letters_until ELSE $2 END + $3
WHERE ws = $1`
)

// ToldNotice notes that people were told by mail that a subscription fails, or that it was turned off,
// and ends the notice, unless a newer one has taken its place.
func (tx *Tx) ToldNotice(n Notice, now time.Time, off bool) error {
	told := toldFailing
	if off {
		told = toldOff
	}
	return errors.Join(tx.SettleNotice(n), tx.exec(told, n.ws, n.sub, now),
		tx.exec(countLetter, n.ws, now, letterEvery.Milliseconds()))
}

// NextLetter returns from when on the workspace may be sent a mail.
func (r *Reader) NextLetter(ws sheaf.WorkspaceID) (time.Time, error) {
	until, _, err := one(r, `SELECT letters_until FROM workspaces WHERE ws = $1`, (*row).Time, ws)
	return until.Add(-(lettersAtOnce - 1) * letterEvery), err
}

const delayNotice = `
UPDATE notices
SET due = $4
WHERE ws = $1 AND sub = $2 AND event = $3`

// DelayNotice lets a notice be due later.
func (tx *Tx) DelayNotice(n Notice, due time.Time) error {
	return tx.exec(delayNotice, n.ws, n.sub, n.Event, due)
}

const postponeNotice = `
UPDATE notices
SET tries = tries + 1, due = $4
WHERE ws = $1 AND sub = $2 AND event = $3`

// PostponeNotice lets a notice that could not be sent be due later.
func (tx *Tx) PostponeNotice(n Notice, due time.Time) error {
	return tx.exec(postponeNotice, n.ws, n.sub, n.Event, due)
}
