package deliver

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// recordMost bounds one transaction of outcomes.
const recordMost = 256

// record writes outcomes in batches until stop is closed and nothing is left. After stop is closed,
// nothing more is sent on the channels.
func (d *Deliverer) record(outcomes <-chan store.Outcome, stop <-chan struct{}) {
	for {
		select {
		case o := <-outcomes:
			d.writeAll(gather(o, outcomes))
		case c := <-d.released:
			d.release(gather(c, d.released))
		case <-stop:
			if len(outcomes) == 0 && len(d.released) == 0 {
				return
			}
		}
	}
}

// gather returns first and the values already in the channel, at most recordMost in all.
func gather[T any](first T, more <-chan T) []T {
	batch := []T{first}
	for len(batch) < recordMost {
		select {
		case v := <-more:
			batch = append(batch, v)
			continue
		default:
		}
		break
	}
	return batch
}

// writeAll records a batch and frees the bytes of its answers.
func (d *Deliverer) writeAll(batch []store.Outcome) {
	for _, part := range byClosing(batch) {
		if len(part) > 0 {
			d.write(part)
		}
	}
	answers := int64(0)
	for i := range batch {
		answers += int64(len(batch[i].Attempt.ResponseBody))
	}
	d.lanes.recorded(answers)
}

// byClosing splits a batch in two. Recording a delivery that failed for good waits for its workspace's
// lock (store/health.go), so outcomes of subscriptions with such a delivery come second and delay no
// other. Outcomes of one subscription stay together and in order, because consecutive failures count.
func byClosing(batch []store.Outcome) [2][]store.Outcome {
	closing := map[sheaf.SubscriptionID]bool{}
	for i := range batch {
		if batch[i].Closes() {
			closing[batch[i].Subscription] = true
		}
	}
	if len(closing) == 0 {
		return [2][]store.Outcome{batch}
	}
	var parts [2][]store.Outcome
	for _, o := range batch {
		at := 0
		if closing[o.Subscription] {
			at = 1
		}
		parts[at] = append(parts[at], o)
	}
	return parts
}

// stamp returns a new event id and the current time.
func (d *Deliverer) stamp() (sheaf.EventID, time.Time) {
	now := d.Now().UTC().Truncate(time.Millisecond)
	return sheaf.EventID(sheaf.EventPrefix + sheaf.NewUUID(now, rand.Reader)), now
}

// write records a batch. While the store is unavailable it retries, until the leases have expired and
// other nodes may claim the deliveries. If the store rejects one outcome for its content, the others
// are still recorded, and that one is recorded without the endpoint's data. Otherwise its POST would
// be repeated for ever.
func (d *Deliverer) write(batch []store.Outcome) {
	for deadline := d.Now().Add(d.Timeout + leaseSpare); ; {
		err := d.Store.Write(context.Background(), func(tx *store.Tx) error { return tx.Record(batch, d.stamp) })
		if err == nil {
			d.warn(batch)
			for i := range batch {
				o := &batch[i]
				d.Tally.Of(o.Workspace).Attempt(o.Attempt.Duration, o.Attempt.OK(), o.Retry != nil)
			}
			return
		}
		d.Log.Warn("could not record attempts", "error", err, "count", len(batch))
		if !errors.Is(err, context.Canceled) && sheaf.KindOf(err) != sheaf.Unavailable {
			if len(batch) > 1 {
				for _, o := range batch {
					d.write([]store.Outcome{o})
				}
			} else if bare := withoutContent(batch[0]); bare != batch[0].Attempt {
				batch[0].Attempt = bare
				d.write(batch)
			}
			return
		}
		if d.Now().After(deadline) {
			return
		}
		time.Sleep(storeRest) // also while the program stops: record what was sent if at all possible
	}
}

// withoutContent returns the outcome's attempt without anything that the endpoint sent.
func withoutContent(o store.Outcome) sheaf.Attempt {
	a := o.Attempt
	a.ResponseBody, a.RemoteAddress = "", ""
	if !a.OK() {
		a.Error = "what the endpoint answered could not be stored"
	}
	return a
}

// warn logs failures that the owner of a receiver should know of: deliveries given up and
// subscriptions deactivated.
func (d *Deliverer) warn(batch []store.Outcome) {
	for i := range batch {
		o := &batch[i]
		if o.Closes() {
			d.Log.Warn("gave up a delivery", "delivery_id", string(o.Delivery), "subscription_id", string(o.Subscription),
				"event_id", string(o.Event), "attempts", o.Attempts+1, "class", o.Attempt.Class, "error", o.Attempt.Error)
		}
		if o.Deactivated {
			d.metrics.deactivated.Inc()
			d.Log.Warn("deactivated a subscription after too many failed deliveries in a row", "subscription_id", string(o.Subscription),
				"failures", sheaf.MaxFailures, "error", o.Attempt.Error)
		}
	}
}

// release returns claims to the store whose attempts were not made or were cut short. If that fails,
// their leases expire.
func (d *Deliverer) release(claims []store.Claim) {
	now := d.Now()
	err := d.Store.Write(context.Background(), func(tx *store.Tx) error { return tx.GiveBack(claims, now) })
	if err != nil {
		d.Log.Warn("could not release deliveries", "error", err, "count", len(claims))
	}
}
