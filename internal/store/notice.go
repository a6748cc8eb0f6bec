package store

import (
	"errors"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Notice is a pending mail about a failing subscription. Each subscription has at most one: a newer
// notice replaces one that was not sent yet.
type Notice struct {
	Workspace    sheaf.WorkspaceID
	Subscription sheaf.SubscriptionID
	Event        int64     // number of the event that caused the notice
	At           time.Time // when that event happened
	Tries        int64     // failed attempts to send it
	ws, sub      int64
}

const (
	// noticesApart is the least time between two mails that a subscription begins to fail, and
	// between two that it was turned off. It keeps an unstable endpoint from filling mailboxes,
	// even if a person or a program turns the subscription on again at once.
	noticesApart = time.Hour
	// A workspace gets at most lettersAtOnce mails in a burst, and then one every letterEvery.
	lettersAtOnce = 4
	letterEvery   = 15 * time.Minute
)

// upsertNotice returns the statement that makes a notice due, at the earliest noticesApart after
// the time in column `last`.
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

const selectNotices = `
SELECT w.id, s.id, n.event, n.at, n.tries, n.ws, n.sub
FROM notices n
JOIN workspaces w ON w.ws = n.ws
JOIN subscriptions s ON s.ws = n.ws AND s.sub = n.sub
WHERE n.due IS NOT NULL AND n.due <= $1 AND w.deleted_at = 0
ORDER BY n.due
LIMIT $2`

// NoticesDue returns up to `most` due notices of all workspaces, longest due first.
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

// SettleNotice ends a notice without a mail, unless a newer one has replaced it.
func (tx *Tx) SettleNotice(n Notice) error { return tx.exec(settleNotice, n.ws, n.sub, n.Event) }

const (
	mailedFailing = `
UPDATE notices
SET told_at = $3
WHERE ws = $1 AND sub = $2`
	mailedOff = `
UPDATE notices
SET off_at = $3
WHERE ws = $1 AND sub = $2`
	// letters_until is the time until which the mails sent so far use up the rate of one per
	// letterEvery.
	countLetter = `
UPDATE workspaces
SET letters_until = CASE WHEN letters_until > $2 THEN letters_until ELSE $2 END + $3
WHERE ws = $1`
)

// RecordMail records that a mail was sent, that the subscription fails or (off) that it was turned
// off. It ends the notice unless a newer one has replaced it.
func (tx *Tx) RecordMail(n Notice, now time.Time, off bool) error {
	mailed := mailedFailing
	if off {
		mailed = mailedOff
	}
	return errors.Join(tx.SettleNotice(n), tx.exec(mailed, n.ws, n.sub, now),
		tx.exec(countLetter, n.ws, now, letterEvery.Milliseconds()))
}

// NextLetter returns the earliest time at which the workspace may be sent another mail.
func (r *Reader) NextLetter(ws sheaf.WorkspaceID) (time.Time, error) {
	until, _, err := one(r, `SELECT letters_until FROM workspaces WHERE ws = $1`, (*row).Time, ws)
	return until.Add(-(lettersAtOnce - 1) * letterEvery), err
}

const delayNotice = `
UPDATE notices
SET due = $4
WHERE ws = $1 AND sub = $2 AND event = $3`

// DelayNotice postpones a notice to `due` without counting a failure.
func (tx *Tx) DelayNotice(n Notice, due time.Time) error {
	return tx.exec(delayNotice, n.ws, n.sub, n.Event, due)
}

const postponeNotice = `
UPDATE notices
SET tries = tries + 1, due = $4
WHERE ws = $1 AND sub = $2 AND event = $3`

// PostponeNotice postpones a notice that could not be sent to `due`, and counts the failure.
func (tx *Tx) PostponeNotice(n Notice, due time.Time) error {
	return tx.exec(postponeNotice, n.ws, n.sub, n.Event, due)
}
