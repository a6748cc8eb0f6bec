package store

import (
	"errors"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Notice is a pending mail about a failing subscription, or to a person who was asked to approve a
// proposal. Each subscription has at most one, and so has each person for each proposal: a newer notice
// replaces one that was not sent yet.
type Notice struct {
	Workspace    sheaf.WorkspaceID
	Subscription sheaf.SubscriptionID // empty: the notice is about a proposal
	Proposal     sheaf.ProposalID     // empty: the notice is about a subscription
	User         sheaf.UserID         // who was asked to approve the proposal
	Event        int64                // number of the event that caused the notice, or milliseconds of the ask
	At           time.Time            // when that happened
	Tries        int64                // failed attempts to send it

	ws, sub, proposal int64
}

// key returns the values that identify the notice's row, in the order of noticeKey.
func (n *Notice) key() []any { return []any{n.ws, n.sub, n.proposal, userOrNone(n.User)} }

// userOrNone returns the stored form of the person of a notice: zeros if it is about a subscription.
func userOrNone(u sheaf.UserID) any {
	if u == "" {
		return make([]byte, 16)
	}
	return u
}

const (
	// noticesApart is the least time between two mails that a subscription begins to fail, and
	// between two that it was turned off. It keeps an unstable endpoint from filling mailboxes,
	// even if a person or a program turns the subscription on again at once.
	noticesApart = time.Hour
	// A workspace gets at most lettersAtOnce mails about webhooks in a burst, and then one every
	// letterEvery. The same holds, on its own, for mails about proposals.
	lettersAtOnce = 4
	letterEvery   = 15 * time.Minute
)

// upsertNotice returns the statement that makes a notice due, at the earliest $7 after the time in column
// `last`.
func upsertNotice(last string) string {
	return `
INSERT INTO notices (ws, sub, proposal, user_id, event, at, due, tries, told_at)
VALUES ($1, $2, $3, $4, $5, $6, $6, 0, 0)
ON CONFLICT (ws, sub, proposal, user_id) DO UPDATE
SET event = excluded.event, at = excluded.at, tries = 0,
  due = CASE WHEN notices.` + last + ` + $7 > excluded.due THEN notices.` + last + ` + $7 ELSE excluded.due END`
}

var (
	notifyFailing = upsertNotice("told_at")
	notifyOff     = upsertNotice("off_at")
	notifyAsked   = upsertNotice("told_at")
)

// notifySubscription requests a mail about a subscription, with one of the two statements.
func (tx *Tx) notifySubscription(sql string, ws, sub, event int64, at time.Time) error {
	return tx.exec(sql, ws, sub, 0, userOrNone(""), event, at, noticesApart.Milliseconds())
}

// NotifyAsked requests a mail to a person who was asked at `at` to approve the proposal. It is sent at the
// earliest sheaf.AskedApart after an earlier mail to that person about that proposal.
func (tx *Tx) NotifyAsked(ws sheaf.WorkspaceID, p *sheaf.Proposal, u sheaf.UserID, at time.Time) error {
	if err := tx.exec(notifyAsked, ws, 0, p.Number, u, at.UnixMilli(), at, sheaf.AskedApart.Milliseconds()); err != nil {
		return fmt.Errorf("notify user %s of proposal %s: %w", u, p.ID, err)
	}
	return nil
}

const selectNotices = `
SELECT w.id, s.id, p.id, n.user_id, n.event, n.at, n.tries, n.ws, n.sub, n.proposal
FROM notices n
JOIN workspaces w ON w.ws = n.ws
LEFT JOIN subscriptions s ON s.ws = n.ws AND s.sub = n.sub
LEFT JOIN proposals p ON p.ws = n.ws AND p.number = n.proposal
WHERE n.due IS NOT NULL AND n.due <= $1 AND w.deleted_at = 0 AND (s.id IS NOT NULL OR p.id IS NOT NULL)
ORDER BY n.due
LIMIT $2`

// NoticesDue returns up to `most` due notices of all workspaces, longest due first.
func (r *Reader) NoticesDue(now time.Time, most int) ([]Notice, error) {
	return all(r, selectNotices, func(w *row) Notice {
		n := Notice{Workspace: readID[sheaf.WorkspaceID](w)}
		if id := optID[sheaf.SubscriptionID](w); id != nil {
			n.Subscription = *id
		}
		if id := optID[sheaf.ProposalID](w); id != nil {
			n.Proposal = *id
		}
		user := readID[sheaf.UserID](w)
		if n.Proposal != "" {
			n.User = user
		}
		n.Event, n.At, n.Tries, n.ws, n.sub, n.proposal = w.Int(), w.Time(), w.Int(), w.Int(), w.Int(), w.Int()
		return n
	}, now, most)
}

// noticeKey is the condition for the row of a notice, with the values of Notice.key.
const noticeKey = `ws = $1 AND sub = $2 AND proposal = $3 AND user_id = $4`

const settleNotice = `
UPDATE notices
SET due = NULL
WHERE ` + noticeKey + ` AND event = $5`

// SettleNotice ends a notice without a mail, unless a newer one has replaced it.
func (tx *Tx) SettleNotice(n Notice) error {
	return tx.exec(settleNotice, append(n.key(), n.Event)...)
}

const (
	mailedTold = `
UPDATE notices
SET told_at = $5
WHERE ` + noticeKey
	mailedOff = `
UPDATE notices
SET off_at = $5
WHERE ` + noticeKey
	// letters_until is the time until which the mails sent so far use up the rate of one per
	// letterEvery.
	countLetter = `
UPDATE workspaces
SET letters_until = CASE WHEN letters_until > $2 THEN letters_until ELSE $2 END + $3
WHERE ws = $1`
	// asks_until is the same for mails about proposals.
	countAsk = `
UPDATE workspaces
SET asks_until = CASE WHEN asks_until > $2 THEN asks_until ELSE $2 END + $3
WHERE ws = $1`
)

// RecordMail records that a mail was sent: to a person who was asked to approve, that the subscription
// fails, or (off) that it was turned off. It ends the notice unless a newer one has replaced it.
func (tx *Tx) RecordMail(n Notice, now time.Time, off bool) error {
	mailed, count := mailedTold, countLetter
	if off {
		mailed = mailedOff
	}
	if n.Proposal != "" {
		count = countAsk
	}
	return errors.Join(tx.SettleNotice(n), tx.exec(mailed, append(n.key(), now)...), tx.exec(count, n.ws, now, letterEvery.Milliseconds()))
}

// NextLetter returns the earliest time at which the workspace may be sent another mail of that kind.
func (r *Reader) NextLetter(n Notice) (time.Time, error) {
	sql := `SELECT letters_until FROM workspaces WHERE ws = $1`
	if n.Proposal != "" {
		sql = `SELECT asks_until FROM workspaces WHERE ws = $1`
	}
	until, _, err := one(r, sql, (*row).Time, n.Workspace)
	return until.Add(-(lettersAtOnce - 1) * letterEvery), err
}

const delayNotice = `
UPDATE notices
SET due = $6
WHERE ` + noticeKey + ` AND event = $5`

// DelayNotice postpones a notice to `due` without counting a failure.
func (tx *Tx) DelayNotice(n Notice, due time.Time) error {
	return tx.exec(delayNotice, append(n.key(), n.Event, due)...)
}

const postponeNotice = `
UPDATE notices
SET tries = tries + 1, due = $6
WHERE ` + noticeKey + ` AND event = $5`

// PostponeNotice postpones a notice that could not be sent to `due`, and counts the failure.
func (tx *Tx) PostponeNotice(n Notice, due time.Time) error {
	return tx.exec(postponeNotice, append(n.key(), n.Event, due)...)
}
