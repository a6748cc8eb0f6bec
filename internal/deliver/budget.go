package deliver

import "sheaf.dev/internal/store"

// Budget is what all deliveries of this process together may hold.
type Budget struct {
	Places int   // requests in flight
	Bytes  int64 // bodies that are claimed, and answers that are not recorded yet
}

// attemptBytes is what a request in flight takes beside its body: the connection with its
// goroutines, TLS state and buffers, and the answer's head and body.
const attemptBytes = 64 << 10

// BudgetFor returns what deliveries may hold in a process that may use so many bytes of memory: an
// eighth of it for the connections, and as much for the bodies.
func BudgetFor(memory int64) Budget {
	part := memory / 8
	return Budget{Places: int(min(max(part/attemptBytes, 64), 4096)), Bytes: min(max(part, 8<<20), 64<<20)}
}

// The methods below answer how much of the budget is left, for everybody and for one lane. Whoever
// calls them holds l.mu.

// free is how many more requests may be in flight.
func (l *lanes) free() int { return l.budget.Places - l.inFlight }

// share is how many requests one lane may have in flight when so many places are free.
func (l *lanes) share(free int) int {
	return max(1, min(LaneCap, free*fullShare/l.budget.Places))
}

// places is how many more requests the lane may have in flight when so many places are free.
func (l *lanes) places(lane *lane, free int) int {
	return max(0, min(l.share(free), free+lane.inFlight)-lane.inFlight)
}

// bytesLeft are the bytes that nobody holds; for large bodies they are fewer.
func (l *lanes) bytesLeft() store.Budget {
	all := l.budget.Bytes - l.bytes
	return store.Budget{All: all, Large: min(all, l.largePart()-l.large)}
}

// largePart is how many bytes large bodies may have together. Those of failing lanes may have half
// of it, so that they do not keep the others' waiting.
func (l *lanes) largePart() int64 { return l.budget.Bytes - l.budget.Bytes/smallPart }

// bytesFor is how many bytes more the lane may hold. However large it is, a lane's first body fits.
func (l *lanes) bytesFor(lane *lane) int64 {
	most := int64(failingBytes)
	if !lane.failing {
		most = max(most, min(laneBytes, l.bytesLeft().Large/keepBytes))
	}
	if lane.bytes == 0 {
		most = max(most, store.LargestBody)
	}
	return max(0, most-lane.bytes)
}

// fits reports whether a body of this size may be claimed for a lane that may hold so many bytes
// more. A size that is not known, 0, is tried as soon as a small one fits.
func fits(size, lane int64, left store.Budget) bool {
	if size == 0 {
		size = store.SmallBody
	}
	return size <= min(lane, left.All) && (size <= store.SmallBody || size <= left.Large)
}

// hold counts the body of a claim.
func (l *lanes) hold(lane *lane, c *store.Claim) { l.count(lane, c.Size) }

// drop takes the body of a claim away, which nobody needs any more, and counts it out.
func (l *lanes) drop(lane *lane, c *store.Claim) {
	c.Body = nil
	l.count(lane, -c.Size)
	l.wakeStarved()
}

// count adds n bytes of bodies to what the lane and all lanes hold; n is negative for those that
// go.
func (l *lanes) count(lane *lane, n int64) {
	lane.bytes += n
	l.bytes += n
	if max(n, -n) > store.SmallBody {
		l.large += n
	}
}

// wakeStarved has the lanes chosen anew, when bytes have become free that one of them lacked.
func (l *lanes) wakeStarved() {
	if l.starved {
		l.wake()
	}
}

// claimBudget is how many bytes the next claim may take. Claims come one after the other: what
// others do meanwhile only adds to it, but for answers, which are bounded by the places.
func (l *lanes) claimBudget() store.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytesLeft()
}

// recorded counts out answers that are written.
func (l *lanes) recorded(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= bytes
	l.wakeStarved()
}
