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
	totalCap = 4096
	// keepFree is the part of what is free that one lane may hold: hung
	// endpoints, however many, leave room for the others. With n lanes hung
	// each holds totalCap/(keepFree+n) requests, 16 up to n = 128. It takes 600
	// that begin to hang at the same moment to hold every place until their
	// timeout.
	keepFree = 128
	// retryShare is the part of a lane that is kept for retries, so that first
	// attempts, which go first, cannot starve them.
	retryShare = 4

	// aheadFor is for how long a quick lane has deliveries claimed ahead, so
	// that one transaction claims many; aheadMost and aheadBytes bound how many.
	aheadFor   = 25 * time.Millisecond
	aheadMost  = 128
	aheadBytes = 1 << 20
	// aheadTotal bounds what all lanes have ahead.
	aheadTotal = 4096
	// slow is the pace of a lane that nothing is known of: a dozen deliveries
	// must arrive before any is claimed ahead.
	slow = time.Second
	// patience is after how long what was claimed ahead is given back: its
	// endpoint has become slow, and its lease must last for the attempt.
	patience = 500 * time.Millisecond
)

// ready is a claim to be attempted now, or next.
type ready struct {
	store.Claim
	to *endpoint
	at time.Time // when it was claimed
}

// lanes are the subscriptions that have something to send. Each has a cap of
// its own, so that a slow endpoint holds up nobody else's deliveries; a full
// lane is not claimed for at all.
type lanes struct {
	mu       sync.Mutex // guards all below
	byID     map[sheaf.SubscriptionID]*lane
	inFlight int
	ahead    int
	back     []store.Claim                 // to be given back
	changed  map[sheaf.SubscriptionID]bool // since the claim under way began
	closed   bool
	woken    chan struct{} // has room for one
}

// lane is one subscription's state. look says that something may be due; due is
// when the next retry is, zero when none is known. turn counts the places that
// were claimed for, up to a retry's: a busy lane has them one by one.
type lane struct {
	inFlight int
	ahead    []ready
	pace     time.Duration // of late, how long an attempt took
	size     int           // of late, how large a body was
	look     bool
	due      time.Time
	turn     int
}

func newLanes() *lanes {
	return &lanes{byID: map[sheaf.SubscriptionID]*lane{}, changed: map[sheaf.SubscriptionID]bool{}, woken: make(chan struct{}, 1)}
}

func (l *lanes) at(id sheaf.SubscriptionID) *lane {
	if l.byID[id] == nil {
		l.byID[id] = &lane{pace: slow}
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
	clear(l.changed)
	looking := 0
	for id, lane := range l.byID {
		if !lane.due.IsZero() && !lane.due.After(now) {
			lane.look, lane.due = true, time.Time{}
		}
		if !lane.due.IsZero() && (next.IsZero() || lane.due.Before(next)) {
			next = lane.due
		}
		if lane.look {
			looking++
		} else {
			l.forget(id, lane)
		}
	}
	free, room := totalCap-l.inFlight, store.ClaimMost
	most := max(LaneCap, room/max(looking, 1))
	// The order of a map is random, which is fair enough.
	for id, lane := range l.byID {
		if !lane.look {
			continue
		}
		places := lane.places(free)
		own := min(l.wants(lane, places), most, room)
		if own <= 0 {
			continue
		}
		lane.look = false
		room -= own
		free -= min(own, places)
		lane.turn += own
		out = append(out, store.Lane{Subscription: id, Room: own, Retries: lane.turn / retryShare})
		lane.turn %= retryShare
	}
	return out, next
}

// places is how many more requests the lane may have in flight when so many are
// free.
func (l *lane) places(free int) int {
	return max(0, min(share(free), free+l.inFlight)-l.inFlight)
}

// share is how many requests one lane may have in flight when so many are free.
func share(free int) int { return max(1, min(LaneCap, free/keepFree)) }

// wants is how many deliveries to claim for the lane: as many as it has places
// for, and when less than half of what it may have ahead is left, that too.
func (l *lanes) wants(lane *lane, places int) int {
	allowed := min(lane.allowed(), aheadTotal-l.ahead)
	if places == 0 && len(lane.ahead) > allowed/2 {
		return 0
	}
	return max(0, places+allowed-len(lane.ahead))
}

// allowed is how many the lane may have ahead: what it sends in a moment, if it
// has proved to be quick.
func (l *lane) allowed() int {
	if l.pace > aheadFor {
		return 0
	}
	n := int(LaneCap * aheadFor / max(l.pace, aheadFor*LaneCap/aheadMost))
	return min(n, aheadBytes/max(l.size, 1))
}

func (l *lanes) forget(id sheaf.SubscriptionID, lane *lane) {
	if lane.inFlight == 0 && len(lane.ahead) == 0 && !lane.look && lane.due.IsZero() {
		delete(l.byID, id)
	}
}

// claimed notes what a claim found, and returns what of it is to begin now. A
// lane that was filled may have more, one that was not has nothing before its
// next retry.
func (l *lanes) claimed(asked []store.Lane, found store.Claimed, now time.Time) (begin []ready) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := map[sheaf.SubscriptionID][]ready{}
	for _, c := range found.Claims {
		got[c.Subscription] = append(got[c.Subscription], ready{c, nil, now})
	}
	for _, a := range asked {
		lane, claims := l.at(a.Subscription), got[a.Subscription]
		to := &endpoint{}
		for i := range claims {
			claims[i].to = to
		}
		lane.ahead = append(lane.ahead, claims...)
		l.ahead += len(claims)
		if len(claims) == a.Room {
			lane.look = true
		}
		if due, ok := found.Next[a.Subscription]; ok {
			lane.expect(due)
		}
		if l.changed[a.Subscription] {
			// The claim may have read it before it changed.
			l.giveBack(lane)
		}
		begin = append(begin, l.begin(lane, now)...)
	}
	return begin
}

// begin takes what the lane has places for from what it has ahead.
func (l *lanes) begin(lane *lane, now time.Time) (out []ready) {
	n := min(lane.places(totalCap-l.inFlight), len(lane.ahead))
	if l.closed {
		n = 0
	}
	for _, r := range lane.ahead[:n] {
		if now.Sub(r.at) > patience {
			l.back = append(l.back, r.Claim)
			continue
		}
		out = append(out, r)
	}
	lane.ahead = lane.ahead[n:]
	l.ahead -= n
	lane.inFlight += len(out)
	l.inFlight += len(out)
	return out
}

// unclaimed notes that a claim failed: the lanes are to be looked at again.
func (l *lanes) unclaimed(asked []store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		l.at(a.Subscription).look = true
	}
}

// ended is what a lane learns from an attempt.
type ended struct {
	arrived bool
	took    time.Duration
	size    int // of its body
}

// done notes that a request has ended, and returns what the lane is to begin in
// its place.
func (l *lanes) done(id sheaf.SubscriptionID, e ended, now time.Time) []ready {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.at(id)
	lane.learn(e)
	full := l.inFlight == totalCap
	lane.inFlight--
	l.inFlight--
	next := l.begin(lane, now)
	if full || len(l.back) > 0 || lane.look && l.wants(lane, lane.places(totalCap-l.inFlight)) > 0 {
		l.wake()
	}
	return next
}

// learn keeps the means of late. Who fails is slow until it has proved itself
// again.
func (l *lane) learn(e ended) {
	if !e.arrived {
		l.pace = slow
		return
	}
	l.pace += (e.took - l.pace) / 4
	l.size += (e.size - l.size) / 4
}

// drop gives back what is claimed ahead of these subscriptions.
func (l *lanes) drop(ids []sheaf.SubscriptionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.changed[id] = true
		if lane := l.byID[id]; lane != nil {
			l.giveBack(lane)
		}
	}
}

func (l *lanes) giveBack(lane *lane) {
	for _, r := range lane.ahead {
		l.back = append(l.back, r.Claim)
	}
	l.ahead -= len(lane.ahead)
	lane.ahead = nil
	l.wake()
}

// unused returns what is to be given back: what was dropped, and what has
// waited for too long.
func (l *lanes) unused(now time.Time) []store.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range l.byID {
		if len(lane.ahead) > 0 && now.Sub(lane.ahead[0].at) > patience {
			l.giveBack(lane)
		}
	}
	back := l.back
	l.back = nil
	return back
}

// close begins nothing more, and returns what was claimed ahead.
func (l *lanes) close() []store.Claim {
	l.mu.Lock()
	l.closed = true
	for _, lane := range l.byID {
		l.giveBack(lane)
	}
	l.mu.Unlock()
	return l.unused(time.Time{})
}
