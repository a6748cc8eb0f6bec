package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// Claims that were not attempted are given back: by the node itself if it stops or has no room, or
// by any node once the lease has expired, because its node has died.

const (
	// dueAgain gives fresh rows of a range a due time.
	dueAgain = `
UPDATE deliveries
SET due = $5
WHERE ws = $1 AND sub = $2 AND number BETWEEN $3 AND $4 AND ` + fresh

	// releaseRow gives back a row that has a token: it is due again. holdRow is for an inactive
	// lane, if no client asked for the delivery by hand: the row becomes held.
	releaseRow = `
UPDATE deliveries
SET token = NULL, until = NULL, due = $5
WHERE ws = $1 AND sub = $2 AND number = $3 AND token = $4`

	holdRow = `
UPDATE deliveries
SET token = NULL, until = NULL, state = 3, stopped = 1
WHERE ws = $1 AND sub = $2 AND number = $3 AND token = $4`
)

// releaseCut gives the fresh rows from lo to hi, which are n, back to a lane that this transaction
// has locked. They become due now. If the lane is inactive, they stay fresh and so are held.
func (tx *Tx) releaseCut(l *lane, lo, hi, n int64, now time.Time) error {
	if l.active {
		return tx.exec(dueAgain, l.ws, l.sub, lo, hi, now)
	}
	l.mayHold(lo)
	l.holdFresh(n)
	return tx.saveLane(l)
}

// releaseOne is releaseCut for a row with a token.
func (tx *Tx) releaseOne(l *lane, number int64, token string, hand bool, now time.Time) error {
	if l.active || hand {
		return tx.exec(releaseRow, l.ws, l.sub, number, token, now)
	}
	n, err := tx.changed(holdRow, l.ws, l.sub, number, token)
	if err != nil || n == 0 {
		return err
	}
	l.mayHold(number)
	l.holds++
	return tx.saveLane(l)
}

const (
	expiredLeases = `
SELECT w.id, s.id, x.token, x.lo, x.hi
FROM leases x
JOIN subscriptions s ON s.sub = x.sub
JOIN workspaces w ON w.ws = x.ws
WHERE x.until < $1
ORDER BY x.until
LIMIT $2`
	expiredRows = `
SELECT w.id, s.id, d.token, d.number, d.hand
FROM deliveries d
JOIN subscriptions s ON s.sub = d.sub
JOIN workspaces w ON w.ws = d.ws
WHERE d.until < $1 AND d.until IS NOT NULL
ORDER BY d.until
LIMIT $2`
	// expiredMost is the most leases, and the most rows, that one transaction gives back.
	expiredMost = 1000
)

// ReleaseExpired gives back claims whose lease ended before `before`, because their node has died.
// The attempts that it may have made are made again. One transaction handles at most expiredMost
// leases and as many rows. It returns how many it found; 0 means that none are left.
func (tx *Tx) ReleaseExpired(before, now time.Time) (int64, error) {
	type expired struct {
		ws      sheaf.WorkspaceID
		id      sheaf.SubscriptionID
		token   string
		lo, hi  int64
		hand    bool
		ofALane bool
	}
	found, err := all(&tx.Reader, expiredLeases, func(r *row) expired {
		return expired{ws: readID[sheaf.WorkspaceID](r), id: readID[sheaf.SubscriptionID](r), token: r.Text(), lo: r.Int(), hi: r.Int(), ofALane: true}
	}, before, expiredMost)
	if err != nil {
		return 0, err
	}
	rows, err := all(&tx.Reader, expiredRows, func(r *row) expired {
		return expired{ws: readID[sheaf.WorkspaceID](r), id: readID[sheaf.SubscriptionID](r), token: r.Text(), lo: r.Int(), hand: r.Bool()}
	}, before, expiredMost)
	if err != nil {
		return 0, err
	}
	found = append(found, rows...)
	slices.SortStableFunc(found, func(a, b expired) int { return strings.Compare(string(a.id), string(b.id)) })
	lanes := map[sheaf.SubscriptionID]*lane{}
	for _, x := range found {
		l := lanes[x.id]
		if l == nil {
			locked, err := tx.lockLane(x.ws, x.id)
			if sheaf.KindOf(err) == sheaf.NotFound {
				continue
			}
			if err != nil {
				return 0, err
			}
			l = &locked
			lanes[x.id] = l
			tx.note.due(x.ws, x.id)
		}
		if !x.ofALane {
			if err := tx.releaseOne(l, x.lo, x.token, x.hand, now); err != nil {
				return 0, err
			}
			continue
		}
		// The lease may meanwhile have been fully recorded, or released.
		open, found, err := one(&tx.Reader, `DELETE FROM leases WHERE ws = $1 AND sub = $2 AND token = $3 RETURNING open`, (*row).Int, l.ws, l.sub, x.token)
		if err == nil && found {
			err = tx.releaseCut(l, x.lo, x.hi, open, now)
		}
		if err != nil {
			return 0, err
		}
	}
	return int64(len(found)), nil
}

// GiveBack gives back claims whose attempts were not made.
func (tx *Tx) GiveBack(claims []Claim, now time.Time) error {
	order := make([]*Claim, len(claims))
	for i := range claims {
		order[i] = &claims[i]
	}
	slices.SortFunc(order, func(a, b *Claim) int { return strings.Compare(string(a.Subscription), string(b.Subscription)) })
	var l lane
	for _, c := range order {
		var err error
		if l.id != c.Subscription {
			l, err = tx.lockLane(c.Workspace, c.Subscription)
			if sheaf.KindOf(err) == sheaf.NotFound {
				l = lane{}
				continue
			}
			tx.note.due(c.Workspace, c.Subscription)
		}
		if err == nil && c.cut {
			err = tx.releaseClaim(&l, c, now)
		} else if err == nil {
			err = tx.releaseOne(&l, c.number, c.Token, c.ByHand, now)
		}
		if err != nil {
			return fmt.Errorf("release delivery %s: %w", c.Delivery, err)
		}
	}
	return nil
}

// releaseClaim gives back one row of a lease, if the lease is still ours and the row was not
// recorded.
func (tx *Tx) releaseClaim(l *lane, c *Claim, now time.Time) error {
	leases, err := tx.lockLeases([]leaseKey{{c.ws, c.sub, c.Token}})
	if err != nil || leases[leaseKey{c.ws, c.sub, c.Token}] == nil {
		return err
	}
	d, found, err := one(&tx.Reader, selectStored, scanStored, c.ws, c.sub, c.number)
	if err != nil || !found || !d.fresh() || d.attempts != c.Attempts {
		return err
	}
	// If the lane is inactive, mark the row itself as held: as long as the lease exists, a fresh
	// row in it would count as being sent.
	if !l.active {
		if err := tx.exec(`UPDATE deliveries SET state = 3, stopped = 1 WHERE ws = $1 AND sub = $2 AND number = $3`, c.ws, c.sub, c.number); err != nil {
			return err
		}
	}
	if err := tx.releaseCut(l, c.number, c.number, 1, now); err != nil {
		return err
	}
	return tx.closeLeases(map[leaseKey]int64{{c.ws, c.sub, c.Token}: 1}, leases)
}

const countExpired = `
SELECT (SELECT COUNT(*) FROM leases WHERE until < $1) + (SELECT COUNT(*) FROM deliveries WHERE until < $1 AND until IS NOT NULL)`

// Expired counts the leases and leased rows that ended before `before` and were not given back.
func (r *Reader) Expired(before time.Time) (int64, error) { return r.count(countExpired, before) }
