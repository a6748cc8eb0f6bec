package store

import (
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

// noticesApart is how much time is at least between two mails that a subscription begins to fail: an
// endpoint that comes and goes does not fill mailboxes. That it was deactivated is told at once: somebody
// has to reactivate it before that can be again.
const noticesApart = time.Hour

const upsertNotice = `
INSERT INTO notices (ws, sub, event, at, due, tries, told_at)
VALUES ($1, $2, $3, $4, $4, 0, 0)
ON CONFLICT (ws, sub) DO UPDATE
SET event = excluded.event, at = excluded.at, tries = 0,
  due = CASE WHEN notices.told_at + $5 > excluded.due THEN notices.told_at + $5 ELSE excluded.due END`

// notify asks that people are told of what became of a subscription, in the transaction that decides it.
func (tx *Tx) notify(l *lane, t sheaf.EventType, number int64, at time.Time) error {
	apart := noticesApart
	if t == sheaf.SubscriptionDeactivated {
		apart = 0
	}
	if err := tx.exec(upsertNotice, l.ws, l.sub, number, at, apart.Milliseconds()); err != nil {
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
SET due = NULL, told_at = CASE WHEN $5 = 1 THEN $4 ELSE told_at END
WHERE ws = $1 AND sub = $2 AND event = $3`

// SettleNotice ends a notice, of which people were told or not, unless a newer one has taken its place.
func (tx *Tx) SettleNotice(n Notice, now time.Time, told bool) error {
	return tx.exec(settleNotice, n.ws, n.sub, n.Event, now, told)
}

const postponeNotice = `
UPDATE notices
SET tries = tries + 1, due = $4
WHERE ws = $1 AND sub = $2 AND event = $3`

// PostponeNotice lets a notice that could not be sent be due later.
func (tx *Tx) PostponeNotice(n Notice, due time.Time) error {
	return tx.exec(postponeNotice, n.ws, n.sub, n.Event, due)
}
