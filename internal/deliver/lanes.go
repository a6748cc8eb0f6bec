package deliver

import (
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// This file decides who may send, and how much, so that an endpoint which hangs, fails or gets
// more than others holds up nobody else's deliveries. A lane is the deliveries of one subscription;
// here it is what this node knows of them and holds of them:
//
//	store:      waiting ----- claimed -----> ahead ----- begin -----> in flight
//	                                           |                          |
//	            waiting <---- releaseAhead ----+                         done
//	                 (too old, or the subscription changed)               |
//	store:      delivered, or due again <------- recorded ----------------+
//
// One goroutine claims (claimUntil in deliver.go). It asks choose for which lanes to claim, and how
// much for each. A lane is chosen when something may wait in it and it has room, unless it rests
// because it only fails; so a full lane costs nothing, however much waits in it. claimed takes what
// the store found: as much of it as there are places for begins at once, the rest stays ahead, so
// that one transaction claims for many attempts of a quick endpoint. Whenever a request is done,
// its goroutine begins the next of its lane.
//
// Three things are shared out. A lane gets a part of what is free, not of all: the more lanes hang,
// the less each new one gets, and something always remains.
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
	// fullShare is how many places a lane might have if everything were free. Of what is free it
	// may hold that part: hung endpoints, however many, leave room for the others. Of 4,096 places
	// n hung lanes hold 4096/(128+n) each, 16 up to n = 128. It takes 600 that begin to hang at the
	// same moment to hold every place until their timeout.
	fullShare = 32

	// laneBytes bounds the bodies that one lane has claimed, failingBytes those of a lane whose
	// last attempt failed: many small ones, or a single large one.
	laneBytes    = 2 << 20
	failingBytes = 256 << 10
	// keepBytes is the part of the free bytes that one lane may hold, as with the places: with n
	// lanes hung each holds 1/(keepBytes+n) of all.
	keepBytes = 16
	// smallPart is the part of all bytes that only small bodies may use, so that nobody's large
	// ones keep them waiting.
	smallPart = 4
	// retryShare is the part of a lane that is kept for retries: of four deliveries that are
	// claimed, one may be a retry. First attempts go before retries, and would starve them
	// otherwise.
	retryShare = 4

	// aheadFor is for how long a quick lane has deliveries claimed ahead, so that one transaction
	// claims many; aheadMost and aheadBytes bound how many.
	aheadFor   = 25 * time.Millisecond
	aheadMost  = 128
	aheadBytes = 1 << 20
	// aheadTotal bounds what all lanes have ahead.
	aheadTotal = 4096
	// slow is the pace of a lane that nothing is known of: a dozen deliveries must arrive before
	// any is claimed ahead.
	slow = time.Second
	// failingRest is how long a lane rests whose last attempts, as many as it may have in flight,
	// all failed. An endpoint that refuses at once would be asked thousands of times a second, each
	// time with a claim, a record and a retry to come, and take the time of the others.
	failingRest = 100 * time.Millisecond
	// patience is after how long what was claimed ahead is given back: its endpoint has become
	// slow, and its lease must last for the attempt.
	patience = 500 * time.Millisecond
)

// ready is a claim to be attempted now, or next.
type ready struct {
	store.Claim
	to *endpoint
	at time.Time // when it was claimed
}

// lanes are the subscriptions that have something to send, as far as this node knows.
type lanes struct {
	budget Budget
	// woken says that choose may find something new. It has room for one signal: a second one would
	// say nothing more.
	woken chan struct{}

	mu   sync.Mutex // guards all below, and every lane
	byID map[sheaf.SubscriptionID]*lane
	// What all lanes hold: requests in flight, claims ahead, the bytes of bodies and answers, and
	// of these the bytes of bodies that are not small.
	inFlight, ahead int
	bytes, large    int64
	// starved says that a lane was not chosen only because there were no bytes for it.
	starved bool
	// toRelease are claims that will not be attempted here, and are to be given back to the store.
	toRelease []store.Claim
	// changed are the subscriptions that changed since lanes were last chosen: the claim that is
	// under way may have read them as they were before.
	changed map[sheaf.SubscriptionID]bool
	closed  bool // nothing begins any more
}

// lane is one subscription's state.
type lane struct {
	look bool      // something may be due: claim for this lane
	due  time.Time // when its next known retry is; zero when none is known

	inFlight int
	ahead    []*ready // in the order of the events
	bytes    int64    // of the bodies in flight and ahead
	tooLarge int64    // the size of the next body, when it did not fit; 0 when it is not known

	failing bool          // the last attempt failed
	failed  int           // how many did, one after the other
	rest    time.Time     // until when nothing is claimed for it, because it fails
	pace    time.Duration // of late, how long an attempt took
	size    int           // of late, how large a body was
	// turn counts what was claimed for the lane, modulo retryShare. A busy lane gets one place at a
	// time, and a fourth of one would be none: so the fourths are remembered until they are one.
	turn int
}

func newLanes(b Budget) *lanes {
	return &lanes{budget: b, byID: map[sheaf.SubscriptionID]*lane{}, changed: map[sheaf.SubscriptionID]bool{}, woken: make(chan struct{}, 1)}
}

// at returns the lane of a subscription, and makes one that nothing is known of.
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

// expect notes of each subscription when its next delivery is due, or since when it is.
func (l *lanes) expect(waiting map[sheaf.SubscriptionID]time.Time) {
	l.mu.Lock()
	for id, due := range waiting {
		l.at(id).expect(due)
	}
	l.mu.Unlock()
	l.wake()
}

// expect notes when something of the lane is due, unless something else is due earlier.
func (l *lane) expect(due time.Time) {
	if l.due.IsZero() || due.Before(l.due) {
		l.due = due
	}
}

// wake has choose called anew. It never waits: a signal that is there already says as much.
func (l *lanes) wake() {
	select {
	case l.woken <- struct{}{}:
	default:
	}
}

// choose returns the lanes to claim for, with the room that each has, and when the next known
// retry of the others is due. What look notes from now on is chosen the next time.
func (l *lanes) choose(now time.Time) (chosen []store.Lane, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.changed)
	l.starved = false
	looking, failing, next := l.survey(now)
	free, room := l.free(), store.ClaimMost
	most := max(LaneCap, room/max(looking, 1))
	failingLeft := min(l.bytesLeft().Large, l.largePart()/2-failing)
	// The order of a map is random, so that nobody is always the last.
	for id, lane := range l.byID {
		if !lane.look {
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
		lane.look = false
		room -= own
		free -= min(own, places)
		lane.turn += own
		chosen = append(chosen, store.Lane{Subscription: id, Room: own, Retries: lane.turn / retryShare, Bytes: bytes})
		lane.turn %= retryShare
	}
	return chosen, next
}

// survey passes over all lanes before some are chosen. It marks those whose retry is due now,
// lets rest those that fail, forgets those that have nothing, and returns how many are to be looked
// at, how many bytes the failing ones hold, and when the next retry of the others is due.
func (l *lanes) survey(now time.Time) (looking int, failing int64, next time.Time) {
	for id, lane := range l.byID {
		if lane.failing {
			failing += lane.bytes
		}
		if !lane.due.IsZero() && !lane.due.After(now) {
			lane.look, lane.due = true, time.Time{}
		}
		if lane.look && now.Before(lane.rest) {
			lane.look = false
			lane.expect(lane.rest)
		}
		if !lane.due.IsZero() && (next.IsZero() || lane.due.Before(next)) {
			next = lane.due
		}
		if lane.look {
			looking++
		} else if lane.inFlight == 0 && len(lane.ahead) == 0 && lane.due.IsZero() {
			delete(l.byID, id)
		}
	}
	return looking, failing, next
}

// wants is how many deliveries to claim for the lane: as many as it has places for, and when less
// than half of what it may have ahead is left, that too.
func (l *lanes) wants(lane *lane, places int) int {
	allowed := min(lane.mayHaveAhead(), aheadTotal-l.ahead)
	if places == 0 && len(lane.ahead) > allowed/2 {
		return 0
	}
	return max(0, places+allowed-len(lane.ahead))
}

// mayHaveAhead is how many the lane may have ahead: what it sends in a moment, if it has proved to
// be quick.
func (l *lane) mayHaveAhead() int {
	if l.pace > aheadFor {
		return 0
	}
	n := int(LaneCap * aheadFor / max(l.pace, aheadFor*LaneCap/aheadMost))
	return min(n, aheadBytes/max(l.size, 1))
}

// claimed notes what a claim found, and returns what of it is to begin now. A lane that was filled
// may have more; one that was not has nothing before its next retry.
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
			l.hold(lane, &claims[i].Claim)
		}
		lane.tooLarge = found.TooLarge[a.Subscription]
		lane.ahead = append(lane.ahead, claims...)
		l.ahead += len(claims)
		if len(claims) == a.Room || lane.tooLarge > 0 || found.More[a.Subscription] {
			lane.look = true
		}
		if due, ok := found.Next[a.Subscription]; ok {
			lane.expect(due)
		}
		if l.changed[a.Subscription] {
			l.releaseAhead(lane) // the claim may have read it before it changed
		}
		begin = append(begin, l.begin(lane, now)...)
	}
	return begin
}

// unclaimed notes that a claim failed: the lanes are to be chosen again.
func (l *lanes) unclaimed(asked []store.Lane) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range asked {
		l.at(a.Subscription).look = true
	}
}

// begin moves as much as the lane has places for from ahead to in flight, and returns it. What has
// been ahead for too long is given back instead.
func (l *lanes) begin(lane *lane, now time.Time) (out []*ready) {
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

// ended is what a lane learns from an attempt.
type ended struct {
	arrived bool
	took    time.Duration
	answer  int // bytes of it, which are held until they are recorded
}

// done notes that a request has ended, takes its body away, and returns what the lane is to begin
// in its place.
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
	next := l.begin(lane, now)
	if full || len(l.toRelease) > 0 || lane.look && l.wants(lane, l.places(lane, l.free())) > 0 {
		l.wake()
	}
	return next
}

// learn keeps the means of late. A lane that fails is slow until it has proved itself again, and
// one that does nothing else rests.
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

// change notes that these subscriptions changed: what is claimed ahead of them is given back, and
// read again as it is by then.
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

// releaseAhead gives all back that the lane has ahead.
func (l *lanes) releaseAhead(lane *lane) {
	for _, r := range lane.ahead {
		l.drop(lane, &r.Claim)
		l.toRelease = append(l.toRelease, r.Claim)
	}
	l.ahead -= len(lane.ahead)
	lane.ahead = nil
	l.wake()
}

// unused returns what is to be given back to the store, with what has been ahead for too long.
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

// close begins nothing more, and returns what was claimed ahead.
func (l *lanes) close() []store.Claim {
	l.mu.Lock()
	l.closed = true
	for _, lane := range l.byID {
		l.releaseAhead(lane)
	}
	l.mu.Unlock()
	return l.unused(time.Time{})
}
