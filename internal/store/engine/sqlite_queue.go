package engine

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"time"
)

const (
	// A write costs one, plus one for each rowsOfAWrite rows and each bytesOfAWrite bytes that it
	// writes. Other writes wait for the writer's time, which depends on rows and pages.
	bytesOfAWrite = 4096
	// heavyCost is the cost of a heavy write: about 300 rows or 250 KiB, some milliseconds.
	heavyCost = 64
	// lightCost is more than a usual write costs: about 35 rows or 28 KiB.
	lightCost = 8
	// groupCost is the most that the writes of a group cost together, unless a single one costs
	// more. Writes that are not light cost at most heavyCost together.
	groupCost = 512
	// lightWait is more than a client on the same machine needs from an answer to its next request.
	lightWait = 2 * time.Millisecond
	// maxLines is the most tenants without a waiting write that the queue remembers.
	maxLines = 10_000
)

// queue contains the jobs that wait for SQLite's writer: one line per tenant, served in turns.
// Turns depend on cost: the tenant whose writes have cost least is next.
//
//	tenant  at     waits
//	A       2,310  batch batch batch ...     12 connections: it has used 2,310
//	B       140    create                    next; then C, B, C, ... until one of them has used 2,310
//	C       142    create
//
// A tenant without waiting writes accumulates no credit: when it returns, it starts at the cost of
// the tenants being served. So its first write waits only for the job under way.
//
// A client that sends one small write after the other has no write waiting at the moment when its last
// one is answered. So before a costly write of another tenant, the writer waits lightWait for that
// client's next one, as long as its tenant has used less (expectsLight). Otherwise a costly write would
// run before each of the small ones.
//
// The cost of a write is known after it has run. Until then it is estimated from its tenant's last
// writes. A group that begins with a light write takes only light ones, and so does a group whose cost has
// reached heavyCost. Only the first write of a group can be heavy: a light one waits for little more
// than one heavy one before its COMMIT.
//
// Two heavy writes (WriteHeavyIn) never run in a row while any tenant's next write is an ordinary
// one. A heavy write waits in its tenant's line like any other. Only when its turn has come does it
// matter whether the last write was heavy, so that it delays no other tenant's heavy write before.
//
// The line "" is the service's own: deliveries, sweeps, sessions. It works for all tenants, so each
// of its writes costs one and none is heavy.
type queue struct {
	some chan struct{} // signals a new job, or the end; capacity 1

	mu     sync.Mutex // guards all below
	by     map[string]*line
	turns  turns // the lines with waiting jobs
	now    int64 // cost (at) of the line that was served last
	came   int64 // number of jobs ever added
	heavy  bool  // the job that was served last was heavy
	last   *line // the tenant's line that was served last; nil: none
	closed bool
}

// line contains the waiting jobs of one tenant.
type line struct {
	tenant   string
	jobs     []*job
	at       int64 // total cost of its writes so far
	expected int64 // estimated cost of its next write
	index    int   // index in queue.turns; -1: no waiting jobs
}

func newQueue() *queue {
	return &queue{some: make(chan struct{}, 1), by: map[string]*line{}}
}

// put adds a job. It returns false if the queue is closed.
func (q *queue) put(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if len(q.turns) == 0 { // no job waits: costs start at zero again
		clear(q.by)
		q.now, q.last = 0, nil
	}
	l := q.by[j.tenant]
	if l == nil {
		if len(q.by) >= maxLines+len(q.turns) {
			for tenant, other := range q.by {
				if other.index < 0 {
					delete(q.by, tenant)
				}
			}
		}
		l = &line{tenant: j.tenant, index: -1}
		q.by[j.tenant] = l
	}
	q.came++
	j.line, j.number = l, q.came
	l.jobs = append(l.jobs, j)
	if l.index < 0 {
		l.at = max(l.at, q.now)
		heap.Push(&q.turns, l)
	}
	signal(q.some)
	return true
}

// next removes and returns the job whose turn it is, if its expected cost is below `most`;
// otherwise nil. A job marked heavy costs at least heavyCost. waits reports whether any job is left.
func (q *queue) next(most int64) (j *job, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return nil, false
	}
	l := q.turns[0]
	if q.heavy && l.jobs[0].heavy {
		l = q.turns.ordinary(l)
	}
	if j = l.jobs[0]; l.expected >= most || j.heavy && most <= heavyCost {
		return nil, true
	}
	q.heavy, q.now = j.heavy, l.at
	if l.tenant != "" {
		q.last = l
	}
	l.jobs = slices.Delete(l.jobs, 0, 1)
	q.settle(l)
	return j, len(q.turns) > 0
}

// expectsLight reports whether the next job is a costly one, while the tenant that was served last
// writes little, has used less, and has no job waiting.
func (q *queue) expectsLight() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 || q.last == nil || q.last.index >= 0 || q.last.expected >= lightCost {
		return false
	}
	l := q.turns[0]
	return l.at > q.last.at && (l.expected >= lightCost || l.jobs[0].heavy)
}

// charge adds the actual cost of a job to its tenant, a costly one's twice: others wait for the whole of
// it, because a write cannot be interrupted, so it is to run half as often.
func (q *queue) charge(j *job, cost int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := j.line
	if l.tenant == "" {
		cost = 1
	}
	l.at += cost
	if cost >= lightCost {
		l.at += cost
	}
	l.expected = (l.expected + cost) / 2
	if l.index >= 0 {
		heap.Fix(&q.turns, l.index)
	}
}

// withdraw removes a job whose caller has left.
func (q *queue) withdraw(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(j.line.jobs, j); at >= 0 {
		j.line.jobs = slices.Delete(j.line.jobs, at, at+1)
		q.settle(j.line)
	}
}

// settle restores the position of a line whose jobs have changed. q must be locked.
func (q *queue) settle(l *line) {
	if len(l.jobs) == 0 {
		heap.Remove(&q.turns, l.index)
	} else {
		heap.Fix(&q.turns, l.index)
	}
}

// close makes put refuse further jobs.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.some)
}

// over reports whether the queue is closed and empty.
func (q *queue) over() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && len(q.turns) == 0
}

// waiting returns the number of waiting jobs.
func (q *queue) waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns {
		n += len(l.jobs)
	}
	return n
}

// turns is a heap of lines, lowest cost first; among equals, the one whose first job came first. It
// implements heap.Interface.
type turns []*line

func (t turns) Len() int { return len(t) }
func (t turns) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(t[i].at, t[k].at), cmp.Compare(t[i].jobs[0].number, t[k].jobs[0].number)) < 0
}

// ordinary returns the line that is next among those whose first job is not heavy; `otherwise` if
// there is none.
func (t turns) ordinary(otherwise *line) *line {
	best := -1
	for i, l := range t {
		if !l.jobs[0].heavy && (best < 0 || t.Less(i, best)) {
			best = i
		}
	}
	if best < 0 {
		return otherwise
	}
	return t[best]
}

func (t turns) Swap(i, k int) {
	t[i], t[k] = t[k], t[i]
	t[i].index, t[k].index = i, k
}
func (t *turns) Push(l any) {
	l.(*line).index = len(*t)
	*t = append(*t, l.(*line))
}
func (t *turns) Pop() any {
	last := len(*t) - 1
	l := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	l.index = -1
	return l
}
