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
	// fullShare is how many a lane might have if everything were free. Of what is
	// free it may hold that part: hung endpoints, however many, leave room for the
	// others. Of 4,096 places n hung lanes hold 4096/(128+n) each, 16 up to
	// n = 128. It takes 600 that begin to hang at the same moment to hold every
	// place until their timeout.
	fullShare = 32

	// laneBytes bounds the bodies that one lane has claimed, failingBytes those of
	// a lane whose last attempt failed: many small ones, or a single large one.
	laneBytes    = 2 << 20
	failingBytes = 256 << 10
	// keepBytes is the part of the free bytes that one lane may hold, as with the
	// places: with n lanes hung each holds 1/(keepBytes+n) of all.
	keepBytes = 16
	// smallPart is the part of all bytes that only small bodies may use, so that
	// nobody's large ones keep them waiting.
	smallPart = 4
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

// Budget is what all deliveries together may hold.
type Budget struct {
	Places int   // requests in flight
	Bytes  int64 // bodies that are claimed, and answers that are not recorded yet
}

// attemptBytes is what a request in flight takes beside its body: the connection
// with its goroutines, TLS state and buffers, and the answer's head and body.
const attemptBytes = 64 << 10

// BudgetFor returns what deliveries may hold in a process that may use so many
// bytes of memory: an eighth of it for the connections, as much for the bodies.
func BudgetFor(memory int64) Budget {
	part := memory / 8
	return Budget{Places: int(min(max(part/attemptBytes, 64), 4096)), Bytes: min(max(part, 8<<20), 64<<20)}
}

// lanes are the subscriptions that have something to send. Each has a cap of
// its own, so that a slow endpoint holds up nobody else's deliveries; a full
// lane is not claimed for at all.
type lanes struct {
	budget Budget

	mu       sync.Mutex // guards all below
	byID     map[sheaf.SubscriptionID]*lane
	inFlight int
	bytes    int64 // of bodies and answers
	large    int64 // of bodies that are not small
	starved  bool  // a lane was not claimed for, because there were no bytes for it
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
	ahead    []*ready
	bytes    int64         // of the bodies in flight and ahead
	tooLarge int64         // the size of what is next and did not fit; 0 when not known
	failing  bool          // the last attempt failed
	pace     time.Duration // of late, how long an attempt took
	size     int           // of late, how large a body was
	look     bool
	due      time.Time
	turn     int
}

func newLanes(b Budget) *lanes {
	return &lanes{budget: b, byID: map[sheaf.SubscriptionID]*lane{}, changed: map[sheaf.SubscriptionID]bool{}, woken: make(chan struct{}, 1)}
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
	l.starved = false
	looking, failing := 0, int64(0)
	for id, lane := range l.byID {
		if lane.failing {
			failing += lane.bytes
		}
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
	free, room := l.free(), store.ClaimMost
	most := max(LaneCap, room/max(looking, 1))
	patient := min(l.left().Large, l.largePart()/2-failing) // what failing lanes may still have
	// The order of a map is random, which is fair enough.
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
			if bytes = min(bytes, max(patient, store.SmallBody)); bytes > store.SmallBody {
				patient -= bytes
			}
		}
		if !l.left().fits(lane.tooLarge, bytes) {
			l.starved = true
			continue
		}
		lane.look = false
		room -= own
		free -= min(own, places)
		lane.turn += own
		out = append(out, store.Lane{Subscription: id, Room: own, Retries: lane.turn / retryShare, Bytes: bytes})
		lane.turn %= retryShare
	}
	return out, next
}

// free is how many more requests may be in flight.
func (l *lanes) free() int { return l.budget.Places - l.inFlight }

// places is how many more requests the lane may have in flight when so many are
// free.
func (l *lanes) places(lane *lane, free int) int {
	return max(0, min(l.share(free), free+lane.inFlight)-lane.inFlight)
}

// share is how many requests one lane may have in flight when so many are free.
func (l *lanes) share(free int) int {
	return max(1, min(LaneCap, free*fullShare/l.budget.Places))
}

// unheld is how many bytes a claim may take. Claims come one after the other: what
// others do meanwhile only adds to it, but for answers, which are bounded by the
// places.
func (l *lanes) unheld() store.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left().Budget
}

// left are the bytes that nobody has; for large bodies they are fewer.
func (l *lanes) left() left {
	all := l.budget.Bytes - l.bytes
	return left{store.Budget{All: all, Large: min(all, l.largePart()-l.large)}}
}

// largePart is how many bytes large bodies may have together. Those of failing
// lanes may have half of it, so that they do not keep the others' waiting.
func (l *lanes) largePart() int64 { return l.budget.Bytes - l.budget.Bytes/smallPart }

type left struct{ store.Budget }

// fits reports whether a body of this size may be claimed for a lane that has so
// many bytes. Of an unknown one, 0, it is tried as soon as a small one fits.
func (l left) fits(size, lane int64) bool {
	if size == 0 {
		size = store.SmallBody
	}
	return size <= min(lane, l.All) && (size <= store.SmallBody || size <= l.Large)
}

// bytesFor is how many bytes more the lane may have. The first body always fits.
func (l *lanes) bytesFor(lane *lane) int64 {
	most := int64(failingBytes)
	if !lane.failing {
		most = max(most, min(laneBytes, l.left().Large/keepBytes))
	}
	if lane.bytes == 0 {
		most = max(most, store.LargestBody)
	}
	return max(0, most-lane.bytes)
}

// hold counts the bytes of a claim's body, and give counts them out again. give
// wakes whoever waits for bytes.
func (l *lanes) hold(lane *lane, c *store.Claim) { l.count(lane, c.Size) }

func (l *lanes) give(lane *lane, c *store.Claim) {
	c.Body = nil // nobody needs it any more
	l.count(lane, -c.Size)
	l.freed()
}

func (l *lanes) count(lane *lane, n int64) {
	lane.bytes += n
	l.bytes += n
	if max(n, -n) > store.SmallBody {
		l.large += n
	}
}

func (l *lanes) freed() {
	if l.starved {
		l.wake()
	}
}

// recorded counts out answers that are written.
func (l *lanes) recorded(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= bytes
	l.freed()
}

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
			// The claim may have read it before it changed.
			l.giveBack(lane)
		}
		begin = append(begin, l.begin(lane, now)...)
	}
	return begin
}

// begin takes what the lane has places for from what it has ahead.
func (l *lanes) begin(lane *lane, now time.Time) (out []*ready) {
	n := min(l.places(lane, l.free()), len(lane.ahead))
	if l.closed {
		n = 0
	}
	for _, r := range lane.ahead[:n] {
		if now.Sub(r.at) > patience {
			l.give(lane, &r.Claim)
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
	answer  int // bytes of it, which are held until they are recorded
}

// done notes that a request has ended, takes its body away, and returns what the
// lane is to begin in its place.
func (l *lanes) done(c *store.Claim, e ended, now time.Time) []*ready {
	l.mu.Lock()
	defer l.mu.Unlock()
	lane := l.at(c.Subscription)
	lane.learn(e, int(c.Size))
	full := l.free() == 0
	l.give(lane, c)
	l.bytes += int64(e.answer)
	lane.inFlight--
	l.inFlight--
	next := l.begin(lane, now)
	if full || len(l.back) > 0 || lane.look && l.wants(lane, l.places(lane, l.free())) > 0 {
		l.wake()
	}
	return next
}

// learn keeps the means of late. Who fails is slow until it has proved itself
// again.
func (l *lane) learn(e ended, size int) {
	l.failing = !e.arrived
	if !e.arrived {
		l.pace = slow
		return
	}
	l.pace += (e.took - l.pace) / 4
	l.size += (size - l.size) / 4
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
		l.give(lane, &r.Claim)
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
