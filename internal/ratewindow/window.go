// Package ratewindow is the exact sliding window behind the rate limit: in no 60 seconds are more
// requests of one key admitted than its limit, nor more of a group of keys than its ceiling. It
// keeps the admission times of the last 60 seconds, in this process alone; a new Window begins
// empty. It must not read the clock, start goroutines, or know what a key or a plan is.
//
// A key has a ring of times, the oldest first. A request is admitted while the ring has fewer times
// than the limit; the slot of the oldest frees when it is a minute old:
//
//	limit 4, now 75 s:   [ 12 s  41 s  58 s  74 s ]   12 s is more than 60 s ago: its slot is
//	                                                  free, and the request takes it
//	         now 76 s:   [ 41 s  58 s  74 s  75 s ]   full: the next slot frees at 101 s,
//	                                                  Retry-After is 26
package ratewindow

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	second = int64(time.Second)

	// shards is into how many parts the keys are divided, each with its lock, so that cores do not
	// wait for each other.
	shards = 64
)

// Decision is the answer to a request, or the answer that the next one would get.
type Decision struct {
	Admitted bool
	// Limit is the limit that was applied, 0 if there is none.
	Limit int
	// Remaining is how many more requests would be admitted now. It is 0 where there is no limit.
	Remaining int
	// Reset is the whole number of seconds, rounded up, until one more slot frees; 0 while some
	// remain.
	Reset int
	// RetryAfter is, for a refused request, the least whole number of seconds, at least 1, after
	// which a request is admitted if the limit stays and nobody else asks; else 0.
	RetryAfter int
	// Shared is true for a request that only the ceiling of its group refused.
	Shared bool
}

// Group is what several keys share: a window of its own, with a ceiling for the requests of all of
// them. The zero value is none. Its name is no key's.
type Group struct {
	Name    string
	Ceiling int
}

// Within returns the decision on a request that both its key, whose decision d is, and its group
// decide on.
func (d Decision) Within(group Decision) Decision {
	d.Shared = d.Admitted && !group.Admitted
	d.Admitted = d.Admitted && group.Admitted
	d.Remaining = min(d.Remaining, group.Remaining)
	d.Reset = max(d.Reset, group.Reset)
	d.RetryAfter = max(d.RetryAfter, group.RetryAfter)
	return d
}

// Window admits requests by key. Its methods may be called concurrently and never block for long.
//
// Time is what the callers say it is, but never runs backwards: an earlier now counts as the latest
// one seen, so that a clock that is set back, or callers that overtake each other, admit nothing
// more. Give it times with a monotonic reading, as time.Now does, and setting the wall clock has no
// effect.
//
// A key costs eight bytes for each admission of a busy minute, twice as much while it grows, never
// more than for its largest limit and what was admitted early, and is forgotten some time after the
// last of them has expired.
type Window struct {
	// held is how long an admission occupies its slot: the window's length and an instant, so that
	// even a closed interval of 60 seconds, both ends included, holds no more than the limit.
	held   int64
	seed   maphash.Seed
	origin atomic.Pointer[time.Time] // the first now; times are kept as nanoseconds since
	shards [shards]shard
}

// shard is a part of the keys. Its list is in the order of the latest admissions, the longest idle
// key first.
type shard struct {
	mu   sync.Mutex // guards all below, and the keys
	held int64      // the Window's
	now  int64      // the latest time seen
	keys map[string]*key
	idle list

	_ [64]byte // keeps the locks of neighbours apart
}

// key has the recent admissions of one key. It is removed with its last admission.
type key struct {
	name       string
	admissions ring
	prev, next *key // its neighbours in the shard's list
}

// New returns an empty Window of a minute.
func New() *Window { return NewOf(time.Minute) }

// NewOf returns an empty Window of the given length. It replaces the 60 seconds in all other
// comments.
func NewOf(length time.Duration) *Window {
	w := &Window{held: int64(length) + 1, seed: maphash.MakeSeed()}
	for i := range w.shards {
		w.shards[i].held, w.shards[i].keys = w.held, make(map[string]*key)
	}
	return w
}

// Admit decides on a request of the key and, if it is admitted, counts it. Refused requests do not
// count. The limit may differ from call to call and applies at once to all admissions of the last
// 60 seconds. A limit of 0 or less admits everything and counts nothing: requests admitted so are
// unknown to a limit that comes later.
func (w *Window) Admit(name string, limit int, now time.Time) Decision {
	return w.AdmitIn(name, limit, Group{}, now)
}

// AdmitIn is Admit for a key of a group: a request is admitted when the key and the group both have
// a slot, and then takes one of each; a refused one takes none.
func (w *Window) AdmitIn(name string, limit int, in Group, now time.Time) Decision {
	return w.decide(name, limit, in, now, demand{slots: 1, whole: 1, count: true})
}

// AdmitMore takes `more` further slots for an admitted request that costs several: all or none. If it
// refuses, RetryAfter says when the whole request, including its first slot, would be admitted.
func (w *Window) AdmitMore(name string, limit, more int, in Group, now time.Time) Decision {
	return w.AdmitMoreEarly(name, limit, more, in, now, 0)
}

// AdmitMoreEarly is AdmitMore as AdmitEarly is AdmitIn.
func (w *Window) AdmitMoreEarly(name string, limit, more int, in Group, now time.Time, early time.Duration) Decision {
	return w.decide(name, limit, in, now, demand{slots: more, whole: more + 1, early: early, count: true})
}

// PeekMoreEarly says what AdmitMoreEarly would.
func (w *Window) PeekMoreEarly(name string, limit, more int, in Group, now time.Time, early time.Duration) Decision {
	return w.decide(name, limit, in, now, demand{slots: more, whole: more + 1, early: early})
}

// AdmitEarly is AdmitIn for a caller whose slots another clock frees: one that frees within early
// counts as free. Then at most limit requests are admitted in 60 seconds less early.
func (w *Window) AdmitEarly(name string, limit int, in Group, now time.Time, early time.Duration) Decision {
	return w.decide(name, limit, in, now, demand{slots: 1, whole: 1, early: early, count: true})
}

// Peek says what Admit would say of a request now, with Remaining as it is before that request. It
// counts nothing.
func (w *Window) Peek(name string, limit int, now time.Time) Decision {
	return w.PeekIn(name, limit, Group{}, now)
}

// PeekIn is Peek for a key of a group.
func (w *Window) PeekIn(name string, limit int, in Group, now time.Time) Decision {
	return w.decide(name, limit, in, now, demand{slots: 1, whole: 1})
}

// PeekEarly says what AdmitEarly would. A refusal says after how many seconds a slot is free
// without being early.
func (w *Window) PeekEarly(name string, limit int, in Group, now time.Time, early time.Duration) Decision {
	return w.decide(name, limit, in, now, demand{slots: 1, whole: 1, early: early})
}

// demand is what a caller asks of a window.
type demand struct {
	slots int           // number of slots that one admission takes
	whole int           // slots that the request needs if it is made again: a refusal waits for these
	early time.Duration // a slot counts as free this long before it frees
	count bool          // take them, rather than look alone
}

// decide locks the shards of the key and of the group, so that no other request takes a slot of
// either meanwhile.
func (w *Window) decide(name string, limit int, in Group, now time.Time, want demand) Decision {
	if limit <= 0 {
		return Decision{Admitted: true}
	}
	at := w.since(now)
	own := w.shardOf(name)
	group := own
	if in.Ceiling > 0 {
		group = w.shardOf(in.Name)
	}
	w.lock(own, group)
	defer w.unlock(own, group)
	d := w.shards[own].peek(name, limit, at, want)
	if in.Ceiling > 0 {
		d = d.Within(w.shards[group].peek(in.Name, in.Ceiling, at, want))
	}
	if !d.Admitted || !want.count {
		return d
	}
	d = w.shards[own].count(name, limit, at, want.slots)
	if in.Ceiling > 0 {
		d = d.Within(w.shards[group].count(in.Name, in.Ceiling, at, want.slots))
	}
	return d
}

// Sweep forgets every key whose admissions have all expired. Admit does the same little by little,
// for keys that share a lock with its own; Sweep is for an owner that wants the memory back after
// the traffic has ended.
func (w *Window) Sweep(now time.Time) {
	at := w.since(now)
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		s.advance(at)
		s.forget(math.MaxInt)
		s.mu.Unlock()
	}
}

// Len returns the number of keys that are remembered.
func (w *Window) Len() int {
	n := 0
	for i := range w.shards {
		s := &w.shards[i]
		s.mu.Lock()
		n += len(s.keys)
		s.mu.Unlock()
	}
	return n
}

func (w *Window) shardOf(name string) int { return int(maphash.String(w.seed, name) % shards) }

// lock takes the locks of two shards, which may be one, in an order that all callers have.
func (w *Window) lock(a, b int) {
	w.shards[min(a, b)].mu.Lock()
	if a != b {
		w.shards[max(a, b)].mu.Lock()
	}
}

// unlock gives back what lock took.
func (w *Window) unlock(a, b int) {
	w.shards[a].mu.Unlock()
	if a != b {
		w.shards[b].mu.Unlock()
	}
}

// since returns the nanoseconds from the origin to now. They are at most half of what fits, so that
// sums fit.
func (w *Window) since(now time.Time) int64 {
	origin := w.origin.Load()
	if origin == nil {
		origin = w.begin(now)
	}
	return min(max(int64(now.Sub(*origin)), math.MinInt64/4), math.MaxInt64/4)
}

// begin makes now the origin unless another caller was first.
func (w *Window) begin(now time.Time) *time.Time {
	w.origin.CompareAndSwap(nil, &now)
	return w.origin.Load()
}

// advance moves the shard's time forward and returns it.
func (s *shard) advance(at int64) int64 {
	s.now = max(s.now, at)
	return s.now
}

// peek says whether there are the slots, now or early, and changes nothing.
func (s *shard) peek(name string, limit int, at int64, want demand) Decision {
	s.advance(at)
	k := s.find(name)
	if k == nil {
		k = new(key)
	}
	taken := k.admissions.n
	if taken+want.slots > limit && want.early > 0 {
		taken -= k.admissions.until(s.now + int64(want.early) - s.held)
	}
	d := s.decision(k, limit, at, taken+want.slots <= limit)
	if d.Admitted {
		return d
	}
	d.RetryAfter = s.wait(k, limit-want.whole, at)
	if d.Remaining == 0 {
		d.Reset = d.RetryAfter
	}
	return d
}

// count takes `slots` slots. The caller has checked that they are free.
func (s *shard) count(name string, limit int, at int64, slots int) Decision {
	clamped := s.advance(at)
	s.forget(2)
	k := s.find(name)
	if k == nil {
		k = s.insert(name)
	}
	for range slots {
		k.admissions.push(clamped, limit)
	}
	s.idle.moveToBack(k)
	return s.decision(k, limit, at, true)
}

// find returns a key without its expired admissions, or nil if it never had any or has none left
// and was forgotten.
func (s *shard) find(name string) *key {
	k := s.keys[name]
	if k != nil {
		k.admissions.drop(k.admissions.until(s.now - s.held))
	}
	return k
}

// insert adds a key that has no admissions yet.
func (s *shard) insert(name string) *key {
	k := &key{name: strings.Clone(name)} // the caller's string may be part of something large
	s.keys[k.name] = k
	s.idle.pushBack(k)
	return k
}

// forget drops up to most keys whose admissions have all expired. Two for each request are enough:
// a request adds at most one key.
func (s *shard) forget(most int) {
	for range most {
		k := s.idle.front
		if k == nil || k.admissions.newest()+s.held > s.now {
			return
		}
		s.idle.remove(k)
		delete(s.keys, k.name)
	}
}

// decision reads the state of a key whose expired admissions are gone. Seconds count from the
// caller's own now: if it lies behind the shard's, the wait is longer by as much.
func (s *shard) decision(k *key, limit int, at int64, admitted bool) Decision {
	d := Decision{Admitted: admitted, Limit: limit, Remaining: max(limit-k.admissions.n, 0)}
	if d.Remaining == 0 {
		d.Reset = s.wait(k, limit-1, at)
	}
	return d
}

// wait returns the seconds until the key has no more admissions than that. After a plan has shrunk
// there may be more of them than the limit: those have to expire too. For a request that is worth
// more than the limit it is as long as for one that takes all of it.
func (s *shard) wait(k *key, most int, at int64) int {
	last := min(k.admissions.n-most, k.admissions.n) - 1 // the last that must expire
	if last < 0 {
		return 1
	}
	frees := k.admissions.at(last) + s.held
	return int((frees - at + second - 1) / second)
}
