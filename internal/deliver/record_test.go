package deliver_test

import (
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// D132: outcomes that are recorded together count in the order in which they came: what was delivered between
// failures ends their row, and others' outcomes are recorded too.
func TestRecord_ASuccessBetweenFailuresOfOneBatch(t *testing.T) {
	simulate(t, func(w *world) {
		failing, sound := w.subscribe("/a"), w.subscribe("/b")
		w.publish(13)
		var batch []store.Outcome
		for i, c := range append(w.claimAsAnother(failing), w.claimAsAnother(sound)...) {
			o := store.Outcome{Claim: c, Ended: time.Now(), Attempt: sheaf.Attempt{StartedAt: time.Now(), StatusCode: 200}}
			if i < 13 && i != 6 {
				o.Attempt.StatusCode, o.Attempt.Class, o.Attempt.Error = 500, "status", "no"
			}
			batch = append(batch, o)
		}
		d := deliver.New(deliver.Config{Store: w.store, Log: slog.New(slog.DiscardHandler), Now: time.Now, NewToken: rand.Text, Timeout: time.Second})
		d.Record(batch...)
		w.wantFailures(failing, 6, true)
		w.wantStates(failing, map[sheaf.DeliveryState]int{sheaf.Failed: 12, sheaf.Delivered: 1})
		w.wantStates(sound, map[sheaf.DeliveryState]int{sheaf.Delivered: 13})
	})
}
