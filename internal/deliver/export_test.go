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

// LookAround looks at every lane, and at the clock.
func (d *Deliverer) LookAround(ctx context.Context) { d.lookAround(ctx, d.everyLane) }

// ClockOff reports whether the clock is doubted.
func (d *Deliverer) ClockOff() bool { return d.clockOff.Load() }
