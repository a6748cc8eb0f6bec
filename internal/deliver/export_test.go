package deliver

import "sheaf.dev/internal/store"

// Ended hands outcomes to the recorder, as attempts do.
func (d *Deliverer) Ended(outcomes ...store.Outcome) {
	for _, o := range outcomes {
		d.outcomes <- o
	}
}
