package sheaf

import "time"

// Attempted is an attempt that has ended, with all that must be known to say what follows from it:
// for its delivery (Delivery) and for its subscription (Subscription). Both are pure: whoever
// stores them reads, asks here, and writes the answer in the same transaction.
type Attempted struct {
	OK     bool      // the endpoint took it
	Error  string    // why not; empty when OK
	Ended  time.Time // when the attempt ended
	ByHand bool      // somebody asked for this one attempt by redeliver
	Active bool      // whether the subscription is active now, not when the attempt began
	// Retry is when the schedule has the next attempt; nil when this was the last one. It says
	// nothing of an attempt by hand, which belongs to no schedule.
	Retry *time.Time
	// Was and WasDue are, of an attempt by hand, what the delivery was before somebody asked for
	// it, and when its next attempt was due.
	Was    DeliveryState
	WasDue *time.Time
}

// Following is what a delivery becomes.
type Following struct {
	State DeliveryState
	Due   *time.Time // when Waiting: the time of the next attempt
	// Finished is when it came to its end; nil when it has none, and after an attempt by hand that
	// did not arrive, which leaves the earlier end as it was.
	Finished *time.Time
}

// Delivery returns what the delivery becomes by the attempt.
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

// Closes reports whether the delivery fails for good with this attempt if its subscription is
// active: only such an attempt can deactivate it.
func (a *Attempted) Closes() bool { return !a.OK && !a.ByHand && a.Retry == nil }

// Subscription applies the failure policy: it changes s by the attempt, and reports whether
// anything of s changed, and whether the attempt has just deactivated it.
//
//	the attempt   by hand  subscription  schedule   failure_count     last_error  then
//	-----------   -------  ------------  ---------  ----------------  ----------  -------------------
//	any           yes      -             -          as it was         as it was   -
//	arrived       no       -             -          0                 none        -
//	did not       no       inactive      -          as it was         as it was   -
//	did not       no       active        has more   as it was         this one    -
//	did not       no       active        is over    one more          this one    at 10: inactive
//
// So it counts deliveries and not attempts, and an inactive subscription is not judged: its
// deliveries are held instead of failed.
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

// Deactivate turns the subscription inactive for a reason, ByFailures or ByHand.
func (s *Subscription) Deactivate(reason string, now time.Time) {
	s.Active, s.DeactivatedAt, s.DeactivationReason = false, &now, &reason
}

// Reactivate turns the subscription active: it begins anew, with no failure counted.
func (s *Subscription) Reactivate() {
	s.Active, s.FailureCount, s.DeactivatedAt, s.DeactivationReason, s.LastError = true, 0, nil, nil, nil
}
