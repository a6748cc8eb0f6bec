package deliver

import (
	"context"

	"sheaf.dev/internal/store"
)

// Ended hands outcomes to the recorder, as attempts do.
func (d *Deliverer) Ended(outcomes ...store.Outcome) {
	for _, o := range outcomes {
		d.outcomes <- o
	}
}

// Record writes outcomes as the recorder does.
func (d *Deliverer) Record(outcomes ...store.Outcome) { d.writeAll(outcomes) }

// PollLanes polls every lane, and compares the clocks.
func (d *Deliverer) PollLanes(ctx context.Context) { d.pollLanes(ctx, d.everyLane) }

// ClockOff reports whether the clock is doubted.
func (d *Deliverer) ClockOff() bool { return d.clockOff.Load() }

// KeepCounts makes scrapes reuse a count if there are more than `lanes` lanes.
func (d *Deliverer) KeepCounts(lanes int64) { d.manyLanes = lanes }
