package deliver

import "sheaf.dev/internal/store"

// Budget bounds what all deliveries of this process hold together.
type Budget struct {
	Places int   // requests in flight
	Bytes  int64 // claimed bodies, and answers not recorded yet
}

// attemptBytes is the memory of a request in flight besides its body: connection, TLS state and
// buffers, and the answer's head and body.
const attemptBytes = 64 << 10

// BudgetFor returns the budget of a process that may use `memory` bytes: an eighth for connections and
// an eighth for bodies.
func BudgetFor(memory int64) Budget {
	part := memory / 8
	return Budget{Places: int(min(max(part/attemptBytes, 64), 4096)), Bytes: min(max(part, 8<<20), 64<<20)}
}

// The methods below compute how much of the budget is left, in all and for one lane. Callers hold
// l.mu.

// free returns how many more requests may be in flight.
func (l *lanes) free() int { return l.budget.Places - l.inFlight }

// places returns how many more requests the lane may have in flight if `free` places are free.
func (l *lanes) places(lane *lane, free int) int {
	share := max(1, min(LaneCap, free*fullShare/l.budget.Places))
	return max(0, min(share, free+lane.inFlight)-lane.inFlight)
}

// bytesLeft returns the free bytes. Large bodies may use only a part of them.
func (l *lanes) bytesLeft() store.Budget {
	all := l.budget.Bytes - l.bytes
	return store.Budget{All: all, Large: min(all, l.largePart()-l.large)}
}

// largePart returns the bytes that large bodies may use together. Failing lanes may use half of it, so
// that they do not delay the others.
func (l *lanes) largePart() int64 { return l.budget.Bytes - l.budget.Bytes/smallPart }

// bytesFor returns how many more bytes the lane may hold. A lane's first body always fits.
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

// fits reports whether a body of `size` bytes may be claimed for a lane that may hold `lane` more
// bytes. An unknown size (0) counts as that of a small body.
func fits(size, lane int64, left store.Budget) bool {
	if size == 0 {
		size = store.SmallBody
	}
	return size <= min(lane, left.All) && (size <= store.SmallBody || size <= left.Large)
}

// drop frees the body of a claim and removes it from the counts.
func (l *lanes) drop(lane *lane, c *store.Claim) {
	c.Body = nil
	l.count(lane, -c.Size)
	l.wakeStarved()
}

// count adds n bytes of bodies, or removes -n, for the lane and for all lanes.
func (l *lanes) count(lane *lane, n int64) {
	lane.bytes += n
	l.bytes += n
	if max(n, -n) > store.SmallBody {
		l.large += n
	}
}

// wakeStarved wakes the claiming goroutine if a lane was waiting for free bytes.
func (l *lanes) wakeStarved() {
	if l.starved {
		l.wake()
	}
}

// claimBudget returns the bytes that the next claim may use. Only one claim runs at a time. Meanwhile
// the free bytes only grow, except for answers, which the places bound.
func (l *lanes) claimBudget() store.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytesLeft()
}

// recorded frees the bytes of answers that have been written to the store.
func (l *lanes) recorded(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= bytes
	l.wakeStarved()
}
