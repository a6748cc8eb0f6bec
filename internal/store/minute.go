package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

// minute returns the number under which a minute is stored.
func minute(t time.Time) int64 { return t.Unix() / 60 }

const addMinute = `
INSERT INTO minutes (ws, minute, requests, rate_limited, delivered, retried, failed, took_sum, took_max,
  took_10, took_30, took_100, took_300, took_1000, took_3000, took_more)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (ws, minute) DO UPDATE
SET requests = minutes.requests + excluded.requests, rate_limited = minutes.rate_limited + excluded.rate_limited,
  delivered = minutes.delivered + excluded.delivered, retried = minutes.retried + excluded.retried, failed = minutes.failed + excluded.failed,
  took_sum = minutes.took_sum + excluded.took_sum,
  took_max = CASE WHEN excluded.took_max > minutes.took_max THEN excluded.took_max ELSE minutes.took_max END,
  took_10 = minutes.took_10 + excluded.took_10, took_30 = minutes.took_30 + excluded.took_30,
  took_100 = minutes.took_100 + excluded.took_100, took_300 = minutes.took_300 + excluded.took_300,
  took_1000 = minutes.took_1000 + excluded.took_1000, took_3000 = minutes.took_3000 + excluded.took_3000,
  took_more = minutes.took_more + excluded.took_more`

const remains = `
SELECT ws
FROM workspaces
WHERE ws = $1 AND removing = 0`

// AddMinute adds m to the stored counts of its minute, which other nodes add to as well. It
// announces nothing, and does nothing for a workspace that is being removed.
func (tx *Tx) AddMinute(ws sheaf.WorkspaceID, m sheaf.Minute) error {
	_, found, err := one(&tx.Reader, remains+tx.dialect().ForKeyShare(), (*row).Int, ws)
	if err != nil || !found {
		return err
	}
	args := []any{ws, minute(m.At), m.Requests, m.RateLimited, m.Delivered, m.Retried, m.Failed, m.TookSum.Microseconds(), m.TookMax.Microseconds()}
	for _, n := range m.Took {
		args = append(args, n)
	}
	if err := tx.exec(addMinute, args...); err != nil {
		return fmt.Errorf("add the counts of workspace %s: %w", ws, err)
	}
	return nil
}

const selectMinutes = `
SELECT minute, requests, rate_limited, delivered, retried, failed, took_sum, took_max,
  took_10, took_30, took_100, took_300, took_1000, took_3000, took_more
FROM minutes
WHERE ws = $1 AND minute >= $2
ORDER BY minute`

// Minutes returns the workspace's minutes since `since` that have any counts, oldest first.
func (r *Reader) Minutes(ws sheaf.WorkspaceID, since time.Time) ([]sheaf.Minute, error) {
	return all(r, selectMinutes, scanMinute, ws, minute(since))
}

// scanMinute reads a row of selectMinutes.
func scanMinute(r *row) sheaf.Minute {
	m := sheaf.Minute{At: time.Unix(r.Int()*60, 0).UTC()}
	m.Counts = sheaf.Counts{Requests: r.Int(), RateLimited: r.Int(), Delivered: r.Int(), Retried: r.Int(), Failed: r.Int(),
		TookSum: r.Micros(), TookMax: r.Micros()}
	for i := range m.Took {
		m.Took[i] = r.Int()
	}
	return m
}

const oldMinutes = `
DELETE FROM minutes
WHERE (ws, minute) IN (SELECT ws, minute FROM minutes WHERE minute < $1 LIMIT $2)`

// DeleteMinutes deletes up to `most` minutes from before `before` and returns how many.
func (tx *Tx) DeleteMinutes(before time.Time, most int) (int64, error) {
	return tx.changed(oldMinutes, minute(before), most)
}
