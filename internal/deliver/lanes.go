package deliver

import (
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// This file decides which subscription may send, and how much, so that an endpoint that hangs, fails or
// gets more events than others delays no other. A lane is one subscription's deliveries. Here it
// is what this node knows of them and has claimed of them:
//
//	store:      waiting ----- claimed -----> ahead ----- begin -----> in flight
//	                                           |                          |
//	            waiting <---- releaseAhead ----+                         done
//	                 (too old, or the subscription changed)               |
//	store:      delivered, or due again <------- recorded ----------------+
//
// One goroutine claims (claimUntil in deliver.go). choose returns the lanes to claim for, and how much
// for each. It chooses a lane if something may wait in it and it has room, unless the lane rests because
// all its attempts fail. So a full lane costs nothing, however long its backlog is. claimed receives
// what the store found: attempts start at once if there are places; the rest stays ahead, so that
// one transaction claims for many attempts of a fast endpoint. When a request ends, its goroutine starts
// the next one of its lane.
//
// Three things are shared. A lane gets a part of what is free, not of the total: the more lanes hang, the
// less each new one gets, and something always remains.
//
//	what                        all lanes together    one lane at most
//	places: requests in flight  Budget.Places         LaneCap; of what is free, fullShare/Places
//	bytes: bodies and answers   Budget.Bytes, of      laneBytes; of what is free, 1/keepBytes;
//	                            which 1/smallPart     failingBytes while it fails;
//	                            for small bodies      its first body always
//	ahead: claimed, not begun   aheadTotal            what it sends in aheadFor; aheadMost;
//	                                                  aheadBytes
//
// budget.go has the arithmetic of places and bytes.

const (
	// LaneCap bounds the requests in flight to one subscription.
	LaneCap = 16
	// fullShare/Places is the part of the free places that one lane may hold, before LaneCap. Hung
	// endpoints, however many, leave room for the others: of 4,096 places, n hung lanes hold
	// 4096/(128+n) each, which is 16 up to n = 128. Only 600 lanes that start to hang at the same
	// moment can hold every place until their timeout.
	fullShare = 32

	// laneBytes bounds the claimed bodies of one lane. failingBytes bounds those of a lane whose last
	// attempt failed: many small bodies, or one large one.
	laneBytes    = 2 << 20
	failingBytes = 256 << 10
	// One lane may hold 1/keepBytes of the free bytes, as with the places: if n lanes hang, each holds
	// 1/(keepBytes+n) of all bytes.
	keepBytes = 16
	// 1/smallPart of all bytes is reserved for small bodies, so that large ones do not delay them.
	smallPart = 4
	// 1/retryShare of a lane is kept for retries: one of four claimed deliveries may be a retry. First
	// attempts go before retries and would starve them otherwise.
	retryShare = 4

	// A fast lane claims ahead what it sends in aheadFor, so that one transaction claims many
	// deliveries; aheadMost and aheadBytes bound them.
	aheadFor   = 25 * time.Millisecond
	aheadMost  = 128
	aheadBytes = 1 << 20
	// aheadTotal bounds the deliveries that all lanes have ahead.
	aheadTotal = 4096
	// slow is the assumed pace of an unknown lane: about a dozen deliveries must succeed before any is
	// claimed ahead.
	slow = time.Second
	// failingRest is how long a lane rests after LaneCap failed attempts in a row. Otherwise an endpoint
	// that refuses at once would get thousands of requests a second, each with a claim, a record and a
	// retry, at the expense of other lanes.
	failingRest = 100 * time.Millisecond
	// patience is how long a claim may stay ahead before it is released: the endpoint has become slow,
	// and the lease must last for the whole attempt.
	patience = 500 * time.Millisecond
)

// ready is a claim that is being attempted, or ahead.
type ready struct {
	store.Claim
	to *endpoint
	at time.Time // when it was claimed
}

// lanes holds the lanes that, as far as this node knows, have something to send.
type lanes struct {
	budget Budget
	// woken signals that choose may find something new. Its buffer holds one signal; a second one would
	// add nothing.
	woken chan struct{}

	mu   sync.Mutex // guards the fields below, and every lane
	byID map[sheaf.SubscriptionID]*lane
	// Totals of all lanes: requests in flight, claims ahead, bytes of bodies and answers, and the bytes
	// of large bodies alone.
	inFlight, ahead int
	bytes, large    int64
	// starved is set if a lane was not chosen only because no bytes were free for it.
	starved bool
	// toRelease holds claims that this node will not attempt and must return to the store.
	toRelease []store.Claim
	// changed holds the subscriptions that changed since choose last ran. The claim in progress may have
	// read their old state.
	changed map[sheaf.SubscriptionID]bool
	closed  bool // no attempt starts any more
}

// lane is one subscription's state.
type lane struct {
	claimable bool      // something may be due: claim for this lane
	due       time.Time // when its next known retry is; zero when none is known

	inFlight int
	ahead    []*ready // in the order of the events
	bytes    int64    // bytes of the bodies in flight and in the look-ahead
	tooLarge int64    // the size of the next body, if it did not fit; 0 if unknown

	failing bool          // the last attempt failed
	failed  int           // failed attempts in a row
	rest    time.Time     // claim nothing before this time, because the lane fails
	pace    time.Duration // moving average of an attempt's duration
	size    int           // moving average of a body's size
	// turn counts the deliveries claimed for the lane, modulo retryShare. A busy lane gets one place at a
	// time, and a quarter of one place rounds to none, so the quarters add up here.
	turn int
}

func newLanes(b Budget) *lanes {
	return &lanes{budget: b, byID: map[sheaf.SubscriptionID]*lane{}, changed: map[sheaf.SubscriptionID]bool{}, woken: make(chan struct{}, 1)}
}

// at returns the lane of a subscription, and creates it if needed.
func (l *lanes) at(id sheaf.SubscriptionID) *lane {
	if l.byID[id] == nil {
		l.byID[id] = &lane{pace: slow}
	}
	return l.byID[id]
}

// markDue marks the lanes of these subscriptions: deliveries may be due.
func (l *lanes) markDue(ids []sheaf.SubscriptionID) {
	l.mu.Lock()
	for _, id := range ids {
		l.at(id).claimable = true
	}
	l.mu.Unlock()
	l.wake()
}

// expect records for each subscription when its next delivery is due, or has been due since.
func (l *lanes) expect(waiting map[sheaf.SubscriptionID]time.Time) {
	l.mu.Lock()
	for id, due := range waiting {
		l.at(id).expect(due)
	}
	l.mu.Unlock()
	l.wake()
}

// expect records a due time of the lane, unless an earlier one is known.
func (l *lane) expect(due time.Time) {
	if l.due.IsZero() || due.Before(l.due) {
		l.due = due
	}
}

// wake makes the claiming goroutine call choose again. It never blocks.
func (l *lanes) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// choose returns the lanes to claim for, with the room of each, and when the next known retry of the
// others is due. Lanes marked after this call are chosen the next time.
func (l *lanes) choose(now time.Time) (chosen []store.Lane, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.changed)
	l.starved = false
	looking, failing, next := l.survey(now)
	free, room := l.free(), store.ClaimMost
	most := max(LaneCap, room/max(looking, 1))
	failingLeft := min(l.bytesLeft().Large, l.largePart()/2-failing)
	// The order of a map is random, so no lane is always last.
	for id, lane := range l.byID {
		if !lane.claimable {
			continue
		}
		places := l.places(lane, free)
		own := min(l.wants(lane, places), most, room)
		if own <= 0 {
			continue
		}
		bytes := l.bytesFor(lane)
		if lane.failing && bytes > store.SmallBody {
			if bytes = min(bytes, max(failingLeft, store.SmallBody)); bytes > store.SmallBody {
				failingLeft -= bytes
			}
		}
		if !fits(lane.tooLarge, bytes, l.bytesLeft()) {
			l.starved = true
			continue
		}
		lane.claimable = false
		room -= own
		free -= min(own, places)
		lane.turn += own
		chosen = append(chosen, store.Lane{Subscription: id, Room: own, Retries: lane.turn / retryShare, Bytes: bytes})
		lane.turn %= retryShare
	}
	return chosen, next
}

// survey visits all lanes before choose selects some. It marks lanes whose retry is due, unmarks lanes
// that rest, and removes lanes without work. It returns the number of marked lanes, the bytes that
// failing lanes hold, and when the next retry of the others is due.
func (l *lanes) survey(now time.Time) (looking int, failing int64, next time.Time) {
	for id, lane := range l.byID {
		if lane.failing {
			failing += lane.bytes
		}
		if !lane.due.IsZero() && !lane.due.After(now) {
			lane.claimable, lane.due = true, time.Time{}
		}
		if lane.claimable && now.Before(lane.rest) {
			lane.claimable = false
			lane.expect(lane.rest)
		}
		if !lane.due.IsZero() && (next.IsZero() || lane.due.Before(next)) {
			next = lane.due
		}
		if lane.claimable {
			looking++
		} else if lane.inFlight == 0 && len(lane.ahead) == 0 && lane.due.IsZero() {
			delete(l.byID, id)
		}
	}
	return looking, failing, next
}

// wants returns how many deliveries to claim for the lane: enough to fill the free places, plus a
// refill of the look-ahead once it is less than half full.
func (l *lanes) wants(lane *lane, places int) int {
	allowed := min(lane.mayHaveAhead(), aheadTotal-l.ahead)
	if places == 0 && len(lane.ahead) > allowed/2 {
		return 0
	}
	return max(0, places+allowed-len(lane.ahead))
}

// mayHaveAhead returns how many deliveries the lane may have ahead: what it sends in aheadFor, or none
// if its attempts take longer than that.
func (l *lane) mayHaveAhead() int {
	if l.pace > aheadFor {
		return 0
	}
	n := int(LaneCap * aheadFor / max(l.pace, aheadFor*LaneCap/aheadMost))
	return min(n, aheadBytes/max(l.size, 1))
}

// claimed stores what a claim found and returns the deliveries to attempt now. A lane whose room was
// filled may have more; another has nothing before its next retry.
func (l *lanes) claimed(asked []store.Lane, found store.Claimed, now time.Time) (begin []*ready) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got := map[sheaf.SubscriptionID][]*ready{}
	for _, c := range found.Claims {
		got[c.Subscription] = append(got[c.Subscription], &ready{c, nil, now})
	}
	for _, a := range asked {
		lane, claims := l.at(a.Subscription), got[a.Subscription]
		to := &endpoint{}
		for i := range claims {
			claims[i].to = to
			l.count(lane, claims[i].Size)
		}
		lane.tooLarge = found.TooLarge[a.Subscription]
		lane.ahead = append(lane.ahead, claims...)
		l.ahead += len(claims)
		if len(claims) == a.Room || lane.tooLarge > 0 || found.More[a.Subscription] {
			lane.claimable = true
		}
		if due, ok := found.Next[a.Subscription]; ok {
			lane.expect(due)
		}
		if l.changed[a.Subscription] {
			l.releaseAhead(lane) // the claim may have read the subscription before it changed
		}
		begin = append(begin, l.moveToFlight(lane, now)...)
	}
	return begin
}

// unclaimed marks lanes again whose claim failed.
func (l *lanes) unclaimed(asked []store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		l.at(a.Subscription).claimable = true
	}
}

// moveToFlight moves deliveries from ahead to in flight, as many as the lane has places for, and returns them.
// It releases those that have been ahead for longer than patience.
func (l *lanes) moveToFlight(lane *lane, now time.Time) (out []*ready) {
	n := min(l.places(lane, l.free()), len(lane.ahead))
	if l.closed {
		n = 0
	}
	for _, r := range lane.ahead[:n] {
		if now.Sub(r.at) > patience {
			l.drop(lane, &r.Claim)
			l.toRelease = append(l.toRelease, r.Claim)
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

// ended describes a finished attempt to its lane.
type ended struct {
	arrived bool
	took    time.Duration
	answer  int // bytes of the answer, held until it is recorded
}

// done removes an ended request, frees its body, and returns the deliveries that the lane starts in
// its place.
func (l *lanes) done(c *store.Claim, e ended, now time.Time) []*ready {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.at(c.Subscription)
	lane.learn(e, int(c.Size), now)
	full := l.free() == 0
	l.drop(lane, c)
	l.bytes += int64(e.answer)
	lane.inFlight--
	l.inFlight--
	next := l.moveToFlight(lane, now)
	if full || len(l.toRelease) > 0 || lane.claimable && l.wants(lane, l.places(lane, l.free())) > 0 {
		l.wake()
	}
	return next
}

// learn updates the moving averages. A lane that fails counts as slow until attempts succeed again; a
// lane that only fails rests.
func (l *lane) learn(e ended, size int, now time.Time) {
	l.failing = !e.arrived
	if !e.arrived {
		l.pace = slow
		if l.failed++; l.failed >= LaneCap {
			l.rest = now.Add(failingRest)
		}
		return
	}
	l.failed, l.rest = 0, time.Time{}
	l.pace += (e.took - l.pace) / 4
	l.size += (size - l.size) / 4
}

// change handles subscriptions that changed: it releases their claims ahead, so that a later claim
// reads the new state.
func (l *lanes) change(ids []sheaf.SubscriptionID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.changed[id] = true
		if lane := l.byID[id]; lane != nil {
			l.releaseAhead(lane)
		}
	}
}

// releaseAhead releases all deliveries that the lane has ahead.
func (l *lanes) releaseAhead(lane *lane) {
	for _, r := range lane.ahead {
		l.drop(lane, &r.Claim)
		l.toRelease = append(l.toRelease, r.Claim)
	}
	l.ahead -= len(lane.ahead)
	lane.ahead = nil
	l.wake()
}

// unused returns the claims to return to the store, including those ahead for longer than patience.
func (l *lanes) unused(now time.Time) []store.Claim {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range l.byID {
		if len(lane.ahead) > 0 && now.Sub(lane.ahead[0].at) > patience {
			l.releaseAhead(lane)
		}
	}
	unused := l.toRelease
	l.toRelease = nil
	return unused
}

// close stops new attempts and returns the claims that are ahead.
func (l *lanes) close() []store.Claim {
	l.mu.Lock()
	l.closed = true
	for _, lane := range l.byID {
		l.releaseAhead(lane)
	}
	l.mu.Unlock()
	return l.unused(time.Time{})
}
