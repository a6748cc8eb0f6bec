package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
)

const setSetting = `
INSERT INTO settings (name, value)
VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET value = excluded.value`

// The settings of the sweep.
const (
	sweepClockSetting = "sweep_clock"
	sweptSetting      = "swept_before"
	trashSetting      = "trash_since"
)

// SweepClock is the stored state by which the sweep judges whether the clock can be trusted.
type SweepClock struct {
	// Trusted is the latest time at which the clock was trusted.
	Trusted time.Time
	// Ran is how long servers have since run with a clock that was not trusted, and that was not
	// set meanwhile.
	Ran time.Duration
}

// SweepClock returns the stored state; found is false if there is none.
func (r *Reader) SweepClock() (c SweepClock, found bool, err error) {
	text, found, err := r.Setting(sweepClockSetting)
	if err != nil || !found {
		return c, false, err
	}
	var trusted, ran int64
	if _, err := fmt.Sscan(text, &trusted, &ran); err != nil {
		return c, false, fmt.Errorf("the setting %s is %q: %w", sweepClockSetting, sheaf.Clip(text), err)
	}
	return SweepClock{time.UnixMilli(trusted).UTC(), time.Duration(ran) * time.Millisecond}, true, nil
}

// SetSweepClock stores the state. Both fields are rounded down to the millisecond.
func (tx *Tx) SetSweepClock(c SweepClock) error {
	return tx.exec(setSetting, sweepClockSetting, fmt.Sprint(c.Trusted.UnixMilli(), c.Ran.Milliseconds()))
}

const newestEvent = `
SELECT MAX(newest)
FROM (SELECT (SELECT MAX(e.at) FROM events e WHERE e.ws = w.ws) AS newest FROM workspaces w) AS logs`

// NewestEvent returns the time of the newest event of all workspaces, as recorded in the event, or
// nil.
func (r *Reader) NewestEvent() (*time.Time, error) {
	at, _, err := one(r, newestEvent, (*row).OptTime)
	return at, err
}

// NoteSwept records that events and finished deliveries from before `before` may have been deleted
// for their age, so that the doctor does not report them as missing. Call it in the transaction
// that deletes them.
func (tx *Tx) NoteSwept(before time.Time) error {
	swept, err := tx.Swept()
	if err != nil || swept != nil && !swept.Before(before) {
		return err
	}
	return tx.exec(setSetting, sweptSetting, fmt.Sprint(before.UnixMilli()))
}

// Swept returns the time that NoteSwept stored, or nil.
func (r *Reader) Swept() (*time.Time, error) { return r.timeSetting(sweptSetting) }

// TrashSince returns when the removal of old deleted documents was introduced, or nil if that is
// not recorded yet. Documents deleted before then count as deleted then.
func (r *Reader) TrashSince() (*time.Time, error) { return r.timeSetting(trashSetting) }

// SetTrashSince records the time that TrashSince returns.
func (tx *Tx) SetTrashSince(t time.Time) error {
	return tx.exec(setSetting, trashSetting, fmt.Sprint(t.UnixMilli()))
}

// timeSetting returns a setting that is stored as milliseconds, or nil if there is none.
func (r *Reader) timeSetting(name string) (*time.Time, error) {
	text, found, err := r.Setting(name)
	if err != nil || !found {
		return nil, err
	}
	var ms int64
	if _, err := fmt.Sscan(text, &ms); err != nil {
		return nil, fmt.Errorf("the setting %s is %q: %w", name, sheaf.Clip(text), err)
	}
	at := time.UnixMilli(ms).UTC()
	return &at, nil
}
