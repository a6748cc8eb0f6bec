package sheaf

import "time"

// Attempted is an ended attempt, with everything needed to decide what follows for its delivery
// (Delivery) and its subscription (Subscription). Both methods are pure: the store reads, calls
// them, and writes the results in the same transaction.
type Attempted struct {
	OK     bool      // the endpoint accepted it
	Error  string    // why not; empty if OK
	Ended  time.Time // when the attempt ended
	ByHand bool      // a caller asked for this attempt by redeliver
	Active bool      // the subscription is active now, not when the attempt began
	// Retry is the time of the next attempt in the schedule; nil if this was the last one. It has
	// no meaning for an attempt by hand, which belongs to no schedule.
	Retry *time.Time
	// For an attempt by hand, Was is the state of the delivery before the request, and WasDue is
	// when its next attempt was due.
	Was    DeliveryState
	WasDue *time.Time
}

// Following is the new state of a delivery.
type Following struct {
	State DeliveryState
	Due   *time.Time // if Waiting: the time of the next attempt
	// Finished is when the delivery ended. It is nil if it has not ended, and after an attempt by
	// hand that did not arrive, which leaves the earlier end unchanged.
	Finished *time.Time
}

// Delivery returns the new state of the delivery after the attempt.
//
//	the attempt   by hand  subscription  schedule   the delivery becomes
//	-----------   -------  ------------  ---------  -------------------------------------
//	arrived       -        -             -          delivered
//	did not       yes      active        -          what it was, due when it was due
//	did not       yes      inactive      -          what it was; held if that was waiting
//	did not       no       inactive      -          held, however many attempts are left
//	did not       no       active        has more   waiting for the next
//	did not       no       active        is over    failed
func (a *Attempted) Delivery() Following {
	switch {
	case a.OK:
		return Following{State: Delivered, Finished: &a.Ended}
	case a.ByHand && a.Was == Waiting && !a.Active:
		return Following{State: Held}
	case a.ByHand:
		return Following{State: a.Was, Due: a.WasDue}
	case !a.Active:
		return Following{State: Held}
	case a.Retry != nil:
		return Following{State: Waiting, Due: a.Retry}
	}
	return Following{State: Failed, Finished: &a.Ended}
}

// Closes reports whether the delivery fails for good with this attempt, if its subscription is
// active. Only such an attempt can deactivate the subscription.
func (a *Attempted) Closes() bool { return !a.OK && !a.ByHand && a.Retry == nil }

// Subscription applies the failure policy: it changes s according to the attempt. It reports
// whether s has changed, and whether the attempt has just deactivated it.
//
//	the attempt   by hand  subscription  schedule   failure_count     last_error  then
//	-----------   -------  ------------  ---------  ----------------  ----------  -------------------
//	any           yes      -             -          as it was         as it was   -
//	arrived       no       -             -          0                 none        -
//	did not       no       inactive      -          as it was         as it was   -
//	did not       no       active        has more   as it was         this one    -
//	did not       no       active        is over    one more          this one    at 10: inactive
//
// So it counts deliveries, not attempts. Failures of an inactive subscription do not count: its
// deliveries are held and do not fail.
func (a *Attempted) Subscription(s *Subscription) (changed, deactivated bool) {
	before := *s
	switch {
	case a.ByHand || !a.OK && !s.Active:
		return false, false
	case a.OK:
		s.FailureCount, s.LastError = 0, nil
	default:
		s.LastError = &a.Error
		if a.Closes() {
			s.FailureCount++
		}
	}
	if s.Active && s.FailureCount >= MaxFailures {
		s.Deactivate(ByFailures, a.Ended)
		s.Revision++
		if a.Ended.After(s.UpdatedAt) {
			s.UpdatedAt = a.Ended
		}
		return true, true
	}
	return s.FailureCount != before.FailureCount || !equalText(s.LastError, before.LastError), false
}

func equalText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// Deactivate makes the subscription inactive, for the reason ByFailures or ByHand.
func (s *Subscription) Deactivate(reason string, now time.Time) {
	s.Active, s.DeactivatedAt, s.DeactivationReason = false, &now, &reason
}

// Reactivate makes the subscription active, with no failures counted.
func (s *Subscription) Reactivate() {
	s.Active, s.FailureCount, s.DeactivatedAt, s.DeactivationReason, s.LastError = true, 0, nil, nil, nil
}
