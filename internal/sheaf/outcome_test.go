package sheaf

import (
	"testing"
	"time"
)

// TestAttempted_DeliveryFollowsTheTable tries every row of the table in Delivery's comment.
//
// D68 D68a D64b
func TestAttempted_DeliveryFollowsTheTable(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	later, before := now.Add(time.Second), now.Add(-time.Second)
	failed := Attempted{Error: "answered 500", Ended: now, Active: true}
	with := func(change func(*Attempted)) Attempted {
		a := failed
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		a    Attempted
		want Following
	}{
		"arrived":           {Attempted{OK: true, Ended: now, Active: true}, Following{Delivered, nil, &now}},
		"arrived, inactive": {Attempted{OK: true, Ended: now}, Following{Delivered, nil, &now}},
		"arrived by hand":   {Attempted{OK: true, Ended: now, ByHand: true, Was: Failed}, Following{Delivered, nil, &now}},
		"more to come":      {with(func(a *Attempted) { a.Retry = &later }), Following{Waiting, &later, nil}},
		"the last":          {failed, Following{Failed, nil, &now}},
		"inactive":          {with(func(a *Attempted) { a.Active, a.Retry = false, &later }), Following{Held, nil, nil}},
		"inactive, last":    {with(func(a *Attempted) { a.Active = false }), Following{Held, nil, nil}},
		"by hand, failed":   {with(func(a *Attempted) { a.ByHand, a.Was = true, Failed }), Following{Failed, nil, nil}},
		"by hand, arrived before": {with(func(a *Attempted) { a.ByHand, a.Was = true, Delivered }),
			Following{Delivered, nil, nil}},
		"by hand, held, active again": {with(func(a *Attempted) { a.ByHand, a.Was = true, Held }), Following{Held, nil, nil}},
		"by hand, waiting": {with(func(a *Attempted) { a.ByHand, a.Was, a.WasDue = true, Waiting, &before }),
			Following{Waiting, &before, nil}},
		"by hand, waiting, inactive": {with(func(a *Attempted) { a.ByHand, a.Active, a.Was, a.WasDue = true, false, Waiting, &before }),
			Following{Held, nil, nil}},
	} {
		if got := c.a.Delivery(); got.State != c.want.State || !equalTime(got.Due, c.want.Due) || !equalTime(got.Finished, c.want.Finished) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func equalTime(a, b *time.Time) bool { return a == b || a != nil && b != nil && a.Equal(*b) }

// TestAttempted_SubscriptionFollowsTheTable tries every row of the table in Subscription's comment.
//
// D67 D68 D68a
func TestAttempted_SubscriptionFollowsTheTable(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	later, old := now.Add(time.Second), "an older error"
	for name, c := range map[string]struct {
		a                    Attempted
		active               bool
		count                int64
		wantCount            int64
		wantError            string
		changed, deactivated bool
	}{
		"arrived":                       {Attempted{OK: true}, true, 9, 0, "", true, false},
		"arrived, inactive":             {Attempted{OK: true}, false, 10, 0, "", true, false},
		"arrived by hand":               {Attempted{OK: true, ByHand: true}, true, 9, 9, old, false, false},
		"did not arrive by hand":        {Attempted{ByHand: true, Error: "e"}, true, 9, 9, old, false, false},
		"did not arrive, more to come":  {Attempted{Retry: &later, Error: "e"}, true, 9, 9, "e", true, false},
		"the same error, more to come":  {Attempted{Retry: &later, Error: old}, true, 9, 9, old, false, false},
		"the last":                      {Attempted{Error: "e"}, true, 8, 9, "e", true, false},
		"the last of the tenth":         {Attempted{Error: "e"}, true, 9, 10, "e", true, true},
		"the last, inactive":            {Attempted{Error: "e"}, false, 10, 10, old, false, false},
		"more to come, inactive":        {Attempted{Error: "e", Retry: &later}, false, 3, 3, old, false, false},
		"the last by hand of the tenth": {Attempted{Error: "e", ByHand: true}, true, 9, 9, old, false, false},
	} {
		c.a.Ended, c.a.Active = now, c.active
		s := Subscription{Active: c.active, FailureCount: c.count, LastError: &old, Revision: 4, UpdatedAt: now.Add(-time.Hour)}
		changed, deactivated := c.a.Subscription(&s)
		got := ""
		if s.LastError != nil {
			got = *s.LastError
		}
		if changed != c.changed || deactivated != c.deactivated || s.FailureCount != c.wantCount || got != c.wantError {
			t.Errorf("%s: changed %t, deactivated %t, count %d, error %q", name, changed, deactivated, s.FailureCount, got)
		}
		switch {
		case deactivated && (s.Active || *s.DeactivationReason != ByFailures || !s.DeactivatedAt.Equal(now) || s.Revision != 5 || !s.UpdatedAt.Equal(now)):
			t.Errorf("%s: deactivated as %+v", name, s)
		case !deactivated && (s.Active != c.active || s.Revision != 4):
			t.Errorf("%s: %+v", name, s)
		}
	}
}
