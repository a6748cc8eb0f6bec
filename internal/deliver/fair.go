package deliver

import (
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// LaneCap bounds the requests in flight to one subscription.
	LaneCap = 16
	// totalCap bounds them all.
	totalCap = 2048
	// claimMost bounds one claim, and so its transaction.
	claimMost = 512
	// keepFree is the part of what is free that one lane may hold: hung
	// endpoints, however many, leave room for the others. With n lanes hung
	// each holds totalCap/(keepFree+n) requests, 16 up to n = 64.
	keepFree = 64
	// retryShare is the part of a lane that is kept for retries, so that first
	// attempts, which go first, cannot starve them.
	retryShare = 4
)

// lanes are the subscriptions that have something to send. Each has a cap of
// its own, so that a slow endpoint holds up nobody else's deliveries; a full
// lane is not claimed for at all.
type lanes struct {
	mu       sync.Mutex // guards all below
	byID     map[sheaf.SubscriptionID]*lane
	inFlight int
	woken    chan struct{} // has room for one
}

// lane is one subscription's state. look says that something may be due; due is
// when the next retry is, zero when none is known. turn counts the places that
// were claimed for, up to a retry's: a busy lane has them one by one.
type lane struct {
	inFlight int
	look     bool
	due      time.Time
	turn     int
}

func newLanes() *lanes {
	return &lanes{byID: map[sheaf.SubscriptionID]*lane{}, woken: make(chan struct{}, 1)}
}

func (l *lanes) at(id sheaf.SubscriptionID) *lane {
	if l.byID[id] == nil {
		l.byID[id] = &lane{}
	}
	return l.byID[id]
}

// look notes that deliveries of these subscriptions may be due.
func (l *lanes) look(ids []sheaf.SubscriptionID) {
	l.mu.Lock()
	for _, id := range ids {
		l.at(id).look = true
	}
	l.mu.Unlock()
	l.wake()
}

// expect notes what is waiting, and since or until when.
func (l *lanes) expect(waiting map[sheaf.SubscriptionID]time.Time) {
	l.mu.Lock()
	for id, due := range waiting {
		l.at(id).expect(due)
	}
	l.mu.Unlock()
	l.wake()
}

func (l *lane) expect(due time.Time) {
	if l.due.IsZero() || due.Before(l.due) {
		l.due = due
	}
}

func (l *lanes) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// take returns the lanes to claim for, with the room that each has, and when
// the next known retry is due in the others. Whoever is noted from now on is
// looked at the next time.
func (l *lanes) take(now time.Time) (out []store.Lane, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	free := totalCap - l.inFlight
	room := min(free, claimMost)
	// The order of a map is random, which is fair enough.
	for id, lane := range l.byID {
		if !lane.due.IsZero() && !lane.due.After(now) {
			lane.look, lane.due = true, time.Time{}
		}
		if !lane.due.IsZero() && (next.IsZero() || lane.due.Before(next)) {
			next = lane.due
		}
		own := min(share(free)-lane.inFlight, room)
		if !lane.look || own <= 0 {
			l.forget(id, lane)
			continue
		}
		lane.look = false
		room -= own
		free -= own
		lane.turn += own
		out = append(out, store.Lane{Subscription: id, Room: own, Retries: lane.turn / retryShare})
		lane.turn %= retryShare
	}
	return out, next
}

// share is how many requests one lane may have in flight when so many are free.
func share(free int) int { return max(1, min(LaneCap, free/keepFree)) }

func (l *lanes) forget(id sheaf.SubscriptionID, lane *lane) {
	if lane.inFlight == 0 && !lane.look && lane.due.IsZero() {
		delete(l.byID, id)
	}
}

// claimed notes what a claim found: a lane that was filled may have more, one
// that was not has nothing before its next retry.
func (l *lanes) claimed(asked []store.Lane, found store.Claimed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := map[sheaf.SubscriptionID]int{}
	for i := range found.Claims {
		got[found.Claims[i].Subscription]++
	}
	for _, a := range asked {
		lane := l.at(a.Subscription)
		n := got[a.Subscription]
		lane.inFlight += n
		l.inFlight += n
		if n == a.Room {
			lane.look = true
		}
		if due, ok := found.Next[a.Subscription]; ok {
			lane.expect(due)
		}
	}
}

// unclaimed notes that a claim failed: the lanes are to be looked at again.
func (l *lanes) unclaimed(asked []store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		l.at(a.Subscription).look = true
	}
}

// done notes that a request has ended.
func (l *lanes) done(id sheaf.SubscriptionID) {
	l.mu.Lock()
	l.at(id).inFlight--
	l.inFlight--
	l.mu.Unlock()
	l.wake()
}
