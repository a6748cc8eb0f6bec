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

// SweepClock is what the chores of the clock remember of it.
type SweepClock struct {
	// Trusted is the latest time that the clock was believed to show.
	Trusted time.Time
	// Ran is for how long servers have run since with a clock that was not believed, and that
	// nobody set meanwhile.
	Ran time.Duration
}

// SweepClock returns what was stored last; found is false when nothing was.
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

// SetSweepClock stores it. Both are kept to the millisecond.
func (tx *Tx) SetSweepClock(c SweepClock) error {
	return tx.exec(setSetting, sweepClockSetting, fmt.Sprint(c.Trusted.UnixMilli(), c.Ran.Milliseconds()))
}

const newestEvent = `
SELECT MAX(newest)
FROM (SELECT (SELECT MAX(e.at) FROM events e WHERE e.ws = w.ws) AS newest FROM workspaces w) AS logs`

// NewestEvent returns the time of the newest event of all workspaces, by its own saying, or nil.
func (r *Reader) NewestEvent() (*time.Time, error) {
	at, _, err := one(r, newestEvent, (*row).OptTime)
	return at, err
}

// NoteSwept stores that events and finished deliveries from before a time may have been removed for
// their age: the doctor misses none of them. It belongs into the transaction that removes them.
func (tx *Tx) NoteSwept(before time.Time) error {
	swept, err := tx.Swept()
	if err != nil || swept != nil && !swept.Before(before) {
		return err
	}
	return tx.exec(setSetting, sweptSetting, fmt.Sprint(before.UnixMilli()))
}

// Swept returns the time that NoteSwept stored, or nil.
func (r *Reader) Swept() (*time.Time, error) { return r.timeSetting(sweptSetting) }

// TrashSince returns since when deleted documents are removed for their age: what was deleted before
// counts as deleted then. It is nil as long as nobody has noted it.
func (r *Reader) TrashSince() (*time.Time, error) { return r.timeSetting(trashSetting) }

// SetTrashSince notes it.
func (tx *Tx) SetTrashSince(t time.Time) error {
	return tx.exec(setSetting, trashSetting, fmt.Sprint(t.UnixMilli()))
}

// timeSetting reads a setting that is a time in milliseconds; nil where there is none.
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
