package app

import (
	"context"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Deliveries returns a page of a subscription's deliveries in `state`, or all if it is "". An
// unknown subscription is NotFound.
func (a *App) Deliveries(ctx context.Context, c Caller, id sheaf.SubscriptionID, state sheaf.DeliveryState, p sheaf.Paging) (sheaf.Page[sheaf.Delivery], error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (sheaf.Page[sheaf.Delivery], error) {
		return r.Deliveries(c.Workspace, id, state, p)
	})
}

// Delivery returns one delivery with its attempts, or NotFound.
func (a *App) Delivery(ctx context.Context, c Caller, id sheaf.DeliveryID) (sheaf.DeliveryDetail, error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (d sheaf.DeliveryDetail, err error) {
		if d.Delivery, err = r.Delivery(c.Workspace, id); err != nil {
			return d, err
		}
		d.Attempts, err = r.Attempts(c.Workspace, id)
		return d, err
	})
}

// Recovered is the number of deliveries that were queued again.
type Recovered struct{ Queued int64 }

// Fields appends the fields of the JSON object.
func (q *Recovered) Fields(o *sheaf.Object) { o.Int("queued", q.Queued) }

// RecoverDeliveries queues the failed and held deliveries of events since `since` again. They run
// the whole schedule, and their failures count. An inactive subscription is Invalid.
func (a *App) RecoverDeliveries(ctx context.Context, c Caller, id sheaf.SubscriptionID, since time.Time) (Recovered, error) {
	before, err := a.recoverable(ctx, c, id, &since)
	if err != nil {
		return Recovered{}, err
	}
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (Recovered, error) {
		if err := w.mayRecover(id); err != nil {
			return Recovered{}, err
		}
		return w.recover(id, before)
	})
}

// RecoverHeld is RecoverDeliveries since the oldest event that the subscription holds. If it holds
// none, nothing happens.
func (a *App) RecoverHeld(ctx context.Context, c Caller, id sheaf.SubscriptionID) (Recovered, error) {
	before, err := a.recoverable(ctx, c, id, nil)
	if err != nil {
		return Recovered{}, err
	}
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (Recovered, error) {
		if err := w.mayRecover(id); err != nil {
			return Recovered{}, err
		}
		return w.recover(id, before)
	})
}

// Failing describes the failed deliveries of a subscription.
type Failing struct {
	// Since is when the oldest of their events happened; nil if none failed.
	Since  *time.Time
	Failed int64 // number of failed deliveries since then
}

// Failing returns since when a subscription fails: since the first of the failures that it counts
// or, if it counts none, since the oldest failed delivery that is kept.
func (a *App) Failing(ctx context.Context, c Caller, id sheaf.SubscriptionID) (Failing, error) {
	return read(ctx, a, c, scope(sheaf.WebhooksRead), func(r *store.Reader) (Failing, error) {
		return failing(r, c.Workspace, id)
	})
}

func failing(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (out Failing, err error) {
	s, err := r.Subscription(ws, id)
	if err != nil {
		return out, err
	}
	p := sheaf.Paging{Limit: 1} // the oldest
	if s.FailureCount > 0 {
		p = sheaf.Paging{Limit: int(min(s.FailureCount, sheaf.MaxFailures)), Desc: true}
	}
	page, err := r.Deliveries(ws, id, sheaf.Failed, p)
	if err != nil || len(page.Items) == 0 {
		return out, err
	}
	out.Since, out.Failed = &page.Items[len(page.Items)-1].CreatedAt, page.Total
	if p.Desc {
		out.Failed = int64(len(page.Items))
	}
	return out, nil
}

// stoppedSince returns since when the subscription fails or holds deliveries, or nil if it does
// neither. For an unknown subscription it returns nil; the transaction that follows reports that.
func (a *App) stoppedSince(ctx context.Context, c Caller, id sheaf.SubscriptionID) (*time.Time, error) {
	since, err := read(ctx, a, c, scope(sheaf.WebhooksWrite), func(r *store.Reader) (*time.Time, error) {
		held, err := oldestHeld(r, c.Workspace, id)
		if err != nil {
			return nil, err
		}
		f, err := failing(r, c.Workspace, id)
		if f.Since == nil || held != nil && held.Before(*f.Since) {
			return held, err
		}
		return f.Since, err
	})
	if sheaf.KindOf(err) == sheaf.NotFound {
		return nil, nil
	}
	return since, err
}

// Reactivate sets a subscription active and recovers everything since it began to fail, and what it
// holds. It does both, or with an error neither. Otherwise a caller could be left with a
// subscription that sends new events and holds back older ones.
func (a *App) Reactivate(ctx context.Context, c Caller, id sheaf.SubscriptionID) (Recovered, error) {
	since, err := a.stoppedSince(ctx, c, id)
	if err != nil {
		return Recovered{}, err
	}
	before, err := a.recoverable(ctx, c, id, since)
	if err != nil {
		return Recovered{}, err
	}
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (Recovered, error) {
		s, err := w.LockSubscription(w.ws.ID, id)
		if err != nil {
			return Recovered{}, err
		}
		if _, err := w.changeSubscription(s, sheaf.SubscriptionChange{Active: sheaf.Some(true)}); err != nil {
			return Recovered{}, err
		}
		return w.recover(id, before)
	})
}

// mayRecover locks the subscription, and returns Invalid if it is inactive.
func (w *work) mayRecover(id sheaf.SubscriptionID) error {
	s, err := w.LockSubscription(w.ws.ID, id)
	if err == nil && !s.Active {
		err = sheaf.Invalidf("the subscription is inactive: set active to true first, then recover")
	}
	return err
}

// recoverable is what a recovery would find.
type recoverable struct {
	store.Recoverable
	since *time.Time // nil: nothing is held
}

// recoverable counts what a recovery would find since `since` or, if that is nil, since the oldest
// held event. It counts before the transaction that recovers: counting a million deliveries takes a
// second, and other writes must not wait for it. For an unknown subscription it counts nothing; the
// transaction that follows reports that, or replays its kept answer.
func (a *App) recoverable(ctx context.Context, c Caller, id sheaf.SubscriptionID, since *time.Time) (recoverable, error) {
	out, err := read(ctx, a, c, scope(sheaf.WebhooksWrite), func(r *store.Reader) (out recoverable, err error) {
		if out.since = since; since == nil {
			if out.since, err = oldestHeld(r, c.Workspace, id); err != nil || out.since == nil {
				return out, err
			}
		}
		out.Recoverable, err = r.Recoverable(c.Workspace, id, *out.since)
		return out, err
	})
	if sheaf.KindOf(err) == sheaf.NotFound {
		return recoverable{since: since}, nil
	}
	return out, err
}

// oldestHeld returns the time of the oldest held event, or nil if the subscription holds none.
func oldestHeld(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.SubscriptionID) (*time.Time, error) {
	at, found, err := r.OldestHeld(ws, id)
	if err != nil || !found {
		return nil, err
	}
	return &at, nil
}

// recover queues what was counted in `before`. If nothing was held then, it looks again.
func (w *work) recover(id sheaf.SubscriptionID, before recoverable) (Recovered, error) {
	since, err := before.since, error(nil)
	if since == nil {
		if since, err = oldestHeld(&w.Reader, w.ws.ID, id); err != nil || since == nil {
			return Recovered{}, err
		}
	}
	n, err := w.Recover(w.ws.ID, id, *since, w.now, before.Recoverable)
	return Recovered{n}, err
}

// Redeliver queues one more attempt of a delivery, also if its subscription is inactive. The
// attempt does not count as a failure or success.
func (a *App) Redeliver(ctx context.Context, c Caller, id sheaf.DeliveryID) (sheaf.Delivery, error) {
	return write(ctx, a, c, scope(sheaf.WebhooksWrite), nil, func(w *work) (sheaf.Delivery, error) {
		d, err := w.Delivery(w.ws.ID, id)
		if err != nil {
			return d, err
		}
		if err := w.Redeliver(w.ws.ID, d, w.now); err != nil {
			return d, err
		}
		return w.Delivery(w.ws.ID, id)
	})
}

// EventFates returns, for each subscription, the state of its delivery of the event, or why it got
// none.
func (a *App) EventFates(ctx context.Context, c Caller, id sheaf.EventID, p sheaf.Paging) (sheaf.Page[sheaf.Fate], error) {
	return read(ctx, a, c, scope(sheaf.EventsRead, sheaf.WebhooksRead), func(r *store.Reader) (sheaf.Page[sheaf.Fate], error) {
		e, err := r.Event(c.Workspace, id)
		if err != nil {
			return sheaf.Page[sheaf.Fate]{}, err
		}
		page, err := r.Subscriptions(c.Workspace, p)
		out := sheaf.Page[sheaf.Fate]{Total: page.Total, Paging: page.Paging}
		for i := range page.Items {
			if err == nil {
				var f sheaf.Fate
				f, err = fate(r, c.Workspace, &page.Items[i], e)
				out.Items = append(out.Items, f)
			}
		}
		return out, err
	})
}

// fate returns the state of the event's delivery to one subscription, or why there is none.
func fate(r *store.Reader, ws sheaf.WorkspaceID, s *sheaf.Subscription, e sheaf.Event) (sheaf.Fate, error) {
	f := sheaf.Fate{SubscriptionID: s.ID, SubscriptionName: s.Name}
	d, found, err := r.DeliveryOf(ws, s.ID, e.Number)
	switch {
	case err != nil:
		return f, err
	case found:
		f.Delivery, f.Reason = &d, reasonOf(d)
	case e.Number <= s.SinceEvent:
		f.Reason = "the subscription was created after this event"
	case e.Concerns(s):
		f.Reason = "a subscription does not get events about itself"
	case !s.Wants(e.Type):
		f.Reason = "the subscription is not subscribed to " + string(e.Type)
	case e.Number <= s.EventsSince:
		f.Reason = "the subscription's list of events was changed after this event: it was not subscribed to " + string(e.Type) + " then"
	case e.Number <= s.FilterSince:
		f.Reason = "the subscription's filter was changed after this event: it was filtered out by the one before, or the delivery is no longer kept"
	case s.Restriction != nil:
		f.Reason = "restricted: the subscription's key did not see the event's record, its filter did not match, or the delivery is no longer stored"
	case s.Filter != nil:
		f.Reason = "filtered: the event is about nothing that the subscription's filter names, or the delivery is no longer kept"
	default:
		f.Reason = "the delivery is no longer kept"
	}
	return f, nil
}

// reasonOf describes the state of a delivery in words.
func reasonOf(d sheaf.Delivery) string {
	switch d.State {
	case sheaf.Delivered:
		return "the endpoint took it"
	case sheaf.Failed:
		return "every attempt failed: recover or redeliver it when the endpoint is repaired"
	case sheaf.Held:
		return "the subscription was inactive: set it active and recover to send it"
	case sheaf.Sending:
		return "an attempt is under way"
	}
	return "the next attempt is due"
}
