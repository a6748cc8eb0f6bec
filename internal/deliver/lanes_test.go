package deliver

import (
	"fmt"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// fill claims for all lanes until none gets more, as if each had any number of
// deliveries waiting, and returns how many places it gave out.
func (l *lanes) fill(ids []sheaf.SubscriptionID) (given int) {
	l.look(ids)
	for {
		asked, _ := l.take(time.Time{})
		if len(asked) == 0 {
			return given
		}
		var found store.Claimed
		for _, a := range asked {
			for range a.Room {
				found.Claims = append(found.Claims, store.Claim{Subscription: a.Subscription})
			}
		}
		given += len(found.Claims)
		l.claimed(asked, found)
	}
}

// Hung endpoints leave room for the next one: 200 of them at once, any number
// once their requests have timed out a few times and the balance has come
// about. It is where each lane holds as much as a newcomer would get.
func TestLanes_HungOnesLeaveRoom(t *testing.T) {
	for _, hung := range []int{1, 16, 64, 100, 200, 500, 1000} {
		l := newLanes()
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
		fair := min(LaneCap, totalCap/(keepFree+hung))
		if hung <= 200 && first < 1 || settled < max(1, fair-1) {
			t.Errorf("%d hung endpoints leave %d places at once and %d later, want 1 and %d", hung, first, settled, fair)
		}
	}
}

// end ends all requests of a lane, in which nothing waits then, and returns how
// many they were.
func (l *lanes) end(id sheaf.SubscriptionID) int {
	n := l.at(id).inFlight
	for range n {
		l.done(id)
	}
	l.at(id).look = false
	return n
}

// A lane that is told of while its claim is under way is looked at again.
func TestLanes_ToldDuringAClaim(t *testing.T) {
	l := newLanes()
	l.look([]sheaf.SubscriptionID{"a"})
	asked, _ := l.take(time.Time{})
	l.look([]sheaf.SubscriptionID{"a"}) // a commit that the claim did not see
	l.claimed(asked, store.Claimed{})
	if again, _ := l.take(time.Time{}); len(again) != 1 {
		t.Error("the wake-up was lost")
	}
}

// A failed claim forgets nothing.
func TestLanes_UnclaimedIsTakenAgain(t *testing.T) {
	l := newLanes()
	l.look([]sheaf.SubscriptionID{"a", "b"})
	asked, _ := l.take(time.Time{})
	l.unclaimed(asked)
	if again, _ := l.take(time.Time{}); len(again) != 2 {
		t.Errorf("%d lanes, want 2", len(again))
	}
}

// A lane that nothing waits in takes no memory; one with a retry ahead, or a
// request in flight, is kept.
func TestLanes_EmptyOnesAreForgotten(t *testing.T) {
	l := newLanes()
	now := time.UnixMilli(1000)
	l.look([]sheaf.SubscriptionID{"empty", "busy", "later"})
	asked, _ := l.take(now)
	l.claimed(asked, store.Claimed{Claims: []store.Claim{{Subscription: "busy"}},
		Next: map[sheaf.SubscriptionID]time.Time{"later": now.Add(time.Second)}})
	if _, next := l.take(now); len(l.byID) != 2 || !next.Equal(now.Add(time.Second)) {
		t.Errorf("%d lanes, next at %v", len(l.byID), next)
	}
	l.done("busy")
	if asked, _ := l.take(now.Add(time.Second)); len(asked) != 1 || asked[0].Subscription != "later" || len(l.byID) != 1 {
		t.Errorf("asked %v of %d lanes", asked, len(l.byID))
	}
}

// Of the places that a lane gets one by one, every fourth is a retry's.
func TestLanes_RetriesHaveTheirShare(t *testing.T) {
	for _, room := range []int{1, 2, 3, 5, LaneCap} {
		l := newLanes()
		l.look([]sheaf.SubscriptionID{"a"})
		all, retries := 0, 0
		for range 200 {
			l.at("a").look, l.at("a").inFlight = true, LaneCap-room
			asked, _ := l.take(time.Time{})
			all += asked[0].Room
			retries += asked[0].Retries
		}
		if retries != all/retryShare {
			t.Errorf("%d places at a time: %d of %d for retries", room, retries, all)
		}
	}
}
