package deliver

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// plenty is the budget of a machine with much memory.
var plenty = BudgetFor(math.MaxInt64)

// fill claims for all lanes until none gets more, as if each had any number of
// deliveries waiting, and returns how many places it gave out.
func (l *lanes) fill(ids []sheaf.SubscriptionID) (given int) {
	l.markDue(ids)
	for {
		asked, _ := l.choose(time.Time{})
		if len(asked) == 0 {
			return given
		}
		var found store.Claimed
		for _, a := range asked {
			for range a.Room {
				found.Claims = append(found.Claims, store.Claim{Subscription: a.Subscription})
			}
		}
		given += len(l.claimed(asked, found, time.Time{}))
	}
}

// Hung endpoints leave room for the next one. At first this holds for 500 of them; when their
// requests have timed out a few times and the lanes are in balance, for any number. In balance
// each lane holds as much as a new lane would get.
func TestLanes_HungOnesLeaveRoom(t *testing.T) {
	for _, hung := range []int{1, 16, 64, 100, 200, 500, 1000} {
		l := newLanes(plenty)
		var ids []sheaf.SubscriptionID
		for i := range hung {
			ids = append(ids, sheaf.SubscriptionID(fmt.Sprint(i)))
		}
		l.fill(ids)
		l.fill([]sheaf.SubscriptionID{"fine"})
		first := l.end("fine")
		for range 5 {
			for _, id := range ids {
				l.end(id)
				l.fill([]sheaf.SubscriptionID{id})
			}
		}
		l.fill([]sheaf.SubscriptionID{"fine"})
		settled := l.end("fine")
		t.Logf("%d hung: %d places for another at once, %d once settled", hung, first, settled)
		fair := min(LaneCap, plenty.Places/(plenty.Places/fullShare+hung))
		if hung <= 500 && first < 1 || settled < max(1, fair-1) {
			t.Errorf("%d hung endpoints leave %d places at once and %d later, want 1 and %d", hung, first, settled, fair)
		}
	}
}

// quick makes a lane prove that it is.
func (l *lanes) quick(id sheaf.SubscriptionID) {
	for range 40 {
		l.at(id).learn(ended{arrived: true, took: time.Millisecond}, 500, time.Time{})
	}
}

// A fast lane claims more deliveries than it sends at a time, and sends them one by one. A slow
// lane, or one with large bodies, does not.
func TestLanes_QuickOnesAreClaimedAhead(t *testing.T) {
	l := newLanes(plenty)
	l.quick("a")
	l.markDue([]sheaf.SubscriptionID{"a"})
	asked, _ := l.choose(time.Time{})
	if asked[0].Room != LaneCap+aheadMost {
		t.Fatalf("claims %d", asked[0].Room)
	}
	found := store.Claimed{}
	for range asked[0].Room {
		found.Claims = append(found.Claims, store.Claim{Subscription: "a"})
	}
	if n := len(l.claimed(asked, found, time.Time{})); n != LaneCap {
		t.Errorf("%d begin, want %d", n, LaneCap)
	}
	if again, _ := l.choose(time.Time{}); len(again) != 0 {
		t.Errorf("claims more at once: %v", again)
	}
	for i := range aheadMost / 2 {
		if n := len(l.done(&store.Claim{Subscription: "a"}, ended{arrived: true, took: time.Millisecond}, time.Time{})); n != 1 {
			t.Fatalf("after %d requests %d begin, want 1", i, n)
		}
	}
	if again, _ := l.choose(time.Time{}); len(again) != 1 || again[0].Room != aheadMost/2 {
		t.Errorf("with half of it left: %v", again)
	}
	for _, c := range []struct {
		ended
		size int
	}{{ended{arrived: true, took: time.Second}, 500}, {ended{arrived: true, took: time.Millisecond}, aheadBytes}, {ended{took: time.Millisecond}, 500}} {
		slow := &lane{pace: time.Millisecond, size: 500}
		for range 20 {
			slow.learn(c.ended, c.size, time.Time{})
		}
		if n := slow.mayHaveAhead(); n > 1 {
			t.Errorf("%+v may have %d ahead", c, n)
		}
	}
}

// What was claimed ahead is given back when its subscription changes, when its
// endpoint has stopped answering, and at the end.
func TestLanes_AheadIsGivenBack(t *testing.T) {
	now := time.UnixMilli(1000)
	for name, when := range map[string]func(l *lanes) []store.Claim{
		"changed": func(l *lanes) []store.Claim {
			l.change([]sheaf.SubscriptionID{"a", "unknown"})
			return l.unused(now)
		},
		"hung":   func(l *lanes) []store.Claim { return l.unused(now.Add(patience + 1)) },
		"closed": func(l *lanes) []store.Claim { return l.close() },
		"late": func(l *lanes) []store.Claim {
			for range LaneCap {
				l.done(&store.Claim{Subscription: "a"}, ended{arrived: true}, now.Add(patience+1))
			}
			return l.unused(now)
		},
	} {
		l := newLanes(plenty)
		l.quick("a")
		l.markDue([]sheaf.SubscriptionID{"a"})
		asked, _ := l.choose(now)
		found := store.Claimed{}
		for i := range LaneCap + 10 {
			found.Claims = append(found.Claims, store.Claim{Subscription: "a", Delivery: sheaf.DeliveryID(fmt.Sprint(i))})
		}
		l.claimed(asked, found, now)
		if n := len(l.unused(now.Add(patience))); n != 0 {
			t.Fatalf("%s: %d given back too early", name, n)
		}
		if back := when(l); len(back) != 10 || l.ahead != 0 || len(l.at("a").ahead) != 0 {
			t.Errorf("%s: %d given back, want 10; %d left", name, len(back), l.ahead)
		}
	}
}

// If a subscription changed after a claim read it, the claimed deliveries are not sent.
func TestLanes_ChangedDuringAClaim(t *testing.T) {
	l := newLanes(plenty)
	l.markDue([]sheaf.SubscriptionID{"a"})
	asked, _ := l.choose(time.Time{})
	l.change([]sheaf.SubscriptionID{"a"})
	found := store.Claimed{Claims: []store.Claim{{Subscription: "a"}}}
	if begin := l.claimed(asked, found, time.Time{}); len(begin) != 0 || len(l.unused(time.Time{})) != 1 {
		t.Errorf("%d begin", len(begin))
	}
	l.markDue([]sheaf.SubscriptionID{"a"})
	asked, _ = l.choose(time.Time{})
	if begin := l.claimed(asked, found, time.Time{}); len(begin) != 1 {
		t.Error("the next one does not begin either")
	}
}

// end ends all requests of a lane, so that nothing waits in it, and returns their number.
func (l *lanes) end(id sheaf.SubscriptionID) int {
	n := l.at(id).inFlight
	for range n {
		l.done(&store.Claim{Subscription: id}, ended{}, time.Time{})
	}
	l.at(id).claimable = false
	return n
}

// A lane that is woken while its claim is under way is claimed for again.
func TestLanes_ToldDuringAClaim(t *testing.T) {
	l := newLanes(plenty)
	l.markDue([]sheaf.SubscriptionID{"a"})
	asked, _ := l.choose(time.Time{})
	l.markDue([]sheaf.SubscriptionID{"a"}) // a commit that the claim did not see
	l.claimed(asked, store.Claimed{}, time.Time{})
	if again, _ := l.choose(time.Time{}); len(again) != 1 {
		t.Error("the wake-up was lost")
	}
}

// A failed claim forgets nothing.
func TestLanes_UnclaimedIsTakenAgain(t *testing.T) {
	l := newLanes(plenty)
	l.markDue([]sheaf.SubscriptionID{"a", "b"})
	asked, _ := l.choose(time.Time{})
	l.unclaimed(asked)
	if again, _ := l.choose(time.Time{}); len(again) != 2 {
		t.Errorf("%d lanes, want 2", len(again))
	}
}

// A lane that nothing waits in takes no memory; one with a retry ahead, or a
// request in flight, is kept.
func TestLanes_EmptyOnesAreForgotten(t *testing.T) {
	l := newLanes(plenty)
	now := time.UnixMilli(1000)
	l.markDue([]sheaf.SubscriptionID{"empty", "busy", "later"})
	asked, _ := l.choose(now)
	l.claimed(asked, store.Claimed{Claims: []store.Claim{{Subscription: "busy"}},
		Next: map[sheaf.SubscriptionID]time.Time{"later": now.Add(time.Second)}}, now)
	if _, next := l.choose(now); len(l.byID) != 2 || !next.Equal(now.Add(time.Second)) {
		t.Errorf("%d lanes, next at %v", len(l.byID), next)
	}
	l.done(&store.Claim{Subscription: "busy"}, ended{}, now)
	if asked, _ := l.choose(now.Add(time.Second)); len(asked) != 1 || asked[0].Subscription != "later" || len(l.byID) != 1 {
		t.Errorf("asked %v of %d lanes", asked, len(l.byID))
	}
}

// If a lane gets its places one by one, every fourth place is for a retry.
func TestLanes_RetriesHaveTheirShare(t *testing.T) {
	for _, room := range []int{1, 2, 3, 5, LaneCap} {
		l := newLanes(plenty)
		l.markDue([]sheaf.SubscriptionID{"a"})
		all, retries := 0, 0
		for range 200 {
			l.at("a").claimable, l.at("a").inFlight = true, LaneCap-room
			asked, _ := l.choose(time.Time{})
			all += asked[0].Room
			retries += asked[0].Retries
		}
		if retries != all/retryShare {
			t.Errorf("%d places at a time: %d of %d for retries", room, retries, all)
		}
	}
}

// queues are lanes with the sizes of the bodies that wait in each.
type queues struct {
	*lanes
	waiting map[sheaf.SubscriptionID][]int64
}

// claim adds bodies to a lane, claims for all until nothing is claimed any more,
// as the store does, and returns what of that lane begins.
func (q *queues) claim(id sheaf.SubscriptionID, sizes ...int64) (begun []*ready) {
	q.waiting[id] = append(q.waiting[id], sizes...)
	q.markDue([]sheaf.SubscriptionID{id})
	for {
		asked, _ := q.choose(time.Time{})
		if len(asked) == 0 {
			return begun
		}
		found, left := store.Claimed{TooLarge: map[sheaf.SubscriptionID]int64{}}, q.claimBudget()
		for _, a := range asked {
			q.claimOne(a, &left, &found)
		}
		for _, r := range q.claimed(asked, found, time.Time{}) {
			if r.Subscription == id {
				begun = append(begun, r)
			}
		}
	}
}

func (q *queues) claimOne(a store.Lane, left *store.Budget, found *store.Claimed) {
	for range a.Room {
		waiting := q.waiting[a.Subscription]
		if len(waiting) == 0 {
			return
		}
		size := waiting[0]
		if size > min(a.Bytes, left.All) || size > store.SmallBody && size > left.Large {
			found.TooLarge[a.Subscription] = size
			return
		}
		a.Bytes -= size
		left.All -= size
		if size > store.SmallBody {
			left.Large -= size
		}
		q.waiting[a.Subscription] = waiting[1:]
		found.Claims = append(found.Claims, store.Claim{Subscription: a.Subscription, Body: []byte("{}"), Size: size})
	}
}

// However many lanes hang with large bodies, the claimed bytes stay within the budget, claiming
// ends, and the bodies of other lanes are claimed.
func TestLanes_BodiesKeepWithinTheBytes(t *testing.T) {
	for _, memory := range []int64{64 << 20, 256 << 20, 1 << 40} {
		q := &queues{newLanes(BudgetFor(memory)), map[sheaf.SubscriptionID][]int64{}}
		large := slices.Repeat([]int64{store.LargestBody}, 2*LaneCap)
		var hung []*ready
		for i := range 400 {
			id := sheaf.SubscriptionID(fmt.Sprint(i))
			hung = append(hung, q.claim(id, large...)...)
			if held := q.at(id).bytes; held > laneBytes {
				t.Errorf("lane %d has %d bytes", i, held)
			}
			if i == 19 && len(q.claim("another's", store.LargestBody)) != 1 { // after the webhooks of a workspace
				t.Error("20 hung lanes leave no bytes for a large body of another")
			}
		}
		if q.bytes > q.budget.Bytes-q.budget.Bytes/smallPart {
			t.Errorf("%d bytes of large bodies, of %d", q.bytes, q.budget.Bytes)
		}
		if n := len(q.claim("small", 500, 500, 500)); n != 3 {
			t.Errorf("%d small bodies begin beside them, want 3", n)
		}
		for len(q.woken) > 0 {
			<-q.woken
		}
		q.done(&hung[0].Claim, ended{answer: 100}, time.Time{})
		if hung[0].Body != nil || len(q.woken) != 1 {
			t.Error("the body is kept when its attempt has ended, or the lane that waits for bytes was not woken")
		}
	}
}

// Once their first attempts have failed, hung lanes leave half of the bytes to
// those that do not fail.
func TestLanes_FailingOnesLeaveBytes(t *testing.T) {
	q := &queues{newLanes(BudgetFor(256 << 20)), map[sheaf.SubscriptionID][]int64{}}
	large := slices.Repeat([]int64{store.LargestBody}, 10)
	var ids []sheaf.SubscriptionID
	hung := map[sheaf.SubscriptionID][]*ready{}
	for i := range 240 {
		id := sheaf.SubscriptionID(fmt.Sprint(i))
		ids = append(ids, id)
		hung[id] = q.claim(id, large...)
	}
	for _, id := range ids {
		q.at(id).failing = true
	}
	for range 3 {
		for _, id := range ids {
			for _, r := range hung[id] {
				q.done(&r.Claim, ended{}, time.Time{})
			}
			hung[id] = nil
		}
		for _, id := range ids {
			hung[id] = append(hung[id], q.claim(id)...)
		}
	}
	if q.large == 0 || q.large > q.largePart()/2 {
		t.Errorf("failing lanes hold %d of %d bytes, want some and at most half", q.large, q.largePart())
	}
	if n := len(q.claim("another's", large...)); n < 1 {
		t.Error("no large body of another begins")
	}
}

// A lane whose last attempt failed has a single large body in flight.
func TestLanes_FailingOnesHoldLittle(t *testing.T) {
	q := &queues{newLanes(plenty), map[sheaf.SubscriptionID][]int64{}}
	begun := q.claim("a", slices.Repeat([]int64{200_000}, 20)...)
	if len(begun) < 5 {
		t.Fatalf("%d large bodies begin", len(begun))
	}
	for _, r := range begun {
		q.done(&r.Claim, ended{}, time.Time{})
	}
	if n := len(q.claim("a")); n != 1 {
		t.Errorf("after failures %d large bodies begin, want 1", n)
	}
}

// Requests that ended, and deliveries that were given back, are no longer counted.
func TestLanes_BytesAreGivenBack(t *testing.T) {
	q := &queues{newLanes(plenty), map[sheaf.SubscriptionID][]int64{}}
	q.quick("a")
	all := append(q.claim("a", slices.Repeat([]int64{300}, LaneCap+5)...), q.claim("b", store.LargestBody, 20_000)...)
	if len(all) != LaneCap+2 || q.ahead != 5 {
		t.Fatalf("%d begin, %d are ahead", len(all), q.ahead)
	}
	q.change([]sheaf.SubscriptionID{"a"})
	for _, r := range all {
		q.done(&r.Claim, ended{answer: 10}, time.Time{})
	}
	q.recorded(int64(10 * len(all)))
	if q.bytes != 0 || q.large != 0 || q.at("a").bytes != 0 || q.at("b").bytes != 0 {
		t.Errorf("%d bytes, of large ones %d, are counted of nothing", q.bytes, q.large)
	}
}

// An endpoint that refuses everything is asked a few times a second, not as often as it can refuse; one that takes a
// delivery is asked at once.
func TestLanes_ThoseThatFailRest(t *testing.T) {
	l, now := newLanes(plenty), time.UnixMilli(1_790_000_000_000)
	// turn claims for the lane and ends what it was given; it returns when the next turn is.
	turn := func(arrives bool) (claimed int, next time.Time) {
		l.markDue([]sheaf.SubscriptionID{"refusing"})
		lanes, next := l.choose(now)
		for _, asked := range lanes {
			found := store.Claimed{}
			for range asked.Room {
				found.Claims = append(found.Claims, store.Claim{Subscription: asked.Subscription})
			}
			for _, r := range l.claimed(lanes, found, now) {
				l.done(&r.Claim, ended{arrived: arrives, took: time.Second}, now)
				claimed++
			}
		}
		return claimed, next
	}
	if n, _ := turn(false); n != LaneCap {
		t.Fatalf("the first turn has %d", n)
	}
	n, next := turn(false)
	if n != 0 || !next.Equal(now.Add(failingRest)) {
		t.Errorf("right after %d failures it has %d more, and the next turn is after %v", LaneCap, n, next.Sub(now))
	}
	now = next
	if n, _ := turn(true); n != LaneCap {
		t.Errorf("when it has rested it has %d", n)
	}
	if n, _ := turn(true); n != LaneCap {
		t.Errorf("right after a success it has %d", n)
	}
}
