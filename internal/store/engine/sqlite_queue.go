package engine

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
)

const (
	// A write costs one, and one more for each rowsOfAWrite rows and each bytesOfAWrite bytes that it
	// writes. What others wait for is the writer's time, and that follows the rows and the pages.
	bytesOfAWrite = 4096
	// heavyCost is the cost of a heavy write: about 300 rows or 250 KiB, some milliseconds.
	heavyCost = 64
	// groupCost bounds what the writes of a group cost together, unless one alone costs more.
	groupCost = 512
	// maxLines bounds how many tenants without a waiting write the queue remembers.
	maxLines = 10_000
)

// queue is what waits for SQLite's writer: a line for each tenant, served in turns. Turns go by cost:
// the tenant whose writes have cost least is next.
//
//	tenant  at     waits
//	A       2,310  batch batch batch ...     12 connections: it has used 2,310
//	B       140    create                    next; then C, B, C, ... until one of them has used 2,310
//	C       142    create
//
// A tenant without waiting writes saves nothing up: when it comes again, it begins where the tenants
// are that are being served. So its first write waits for the job under way, and for no other.
//
// What a write costs is known after it has run. Until then it is taken for what its tenant's last
// writes did cost. A group begins with a heavy write or has none, so that light ones do not wait for
// it before their COMMIT.
//
// The line "" is the service's own: deliveries, sweeps, sessions. It works for all tenants, so each of
// its writes costs one and none is heavy.
type queue struct {
	some chan struct{} // a job came, or the end; has room for one signal

	mu     sync.Mutex // guards all below
	by     map[string]*line
	turns  turns // the lines with waiting jobs
	now    int64 // where the line stood that was served last
	came   int64 // how many jobs ever came
	closed bool
}

// line is the waiting jobs of one tenant.
type line struct {
	tenant   string
	jobs     []*job
	at       int64 // what its writes have cost so far
	expected int64 // what its next one will cost
	index    int   // in queue.turns; -1: it has no waiting jobs
}

func newQueue() *queue {
	return &queue{some: make(chan struct{}, 1), by: map[string]*line{}}
}

// put adds a job, and returns false when the queue is closed.
func (q *queue) put(j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if len(q.turns) == 0 { // nobody waits: nobody owes anything
		clear(q.by)
		q.now = 0
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

// next takes the job whose turn it is, if its line is expected to cost less than most. waits reports
// whether any job waits that was not taken.
func (q *queue) next(most int64) (j *job, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.turns) == 0 {
		return nil, false
	}
	l := q.turns[0]
	if l.expected >= most {
		return nil, true
	}
	j = l.jobs[0]
	l.jobs = slices.Delete(l.jobs, 0, 1)
	q.now = l.at
	q.settle(l)
	return j, len(q.turns) > 0
}

// charge counts what a job did cost for its tenant.
func (q *queue) charge(j *job, cost int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := j.line
	if l.tenant == "" {
		cost = 1
	}
	l.at += cost
	l.expected = (l.expected + cost) / 2
	if l.index >= 0 {
		heap.Fix(&q.turns, l.index)
	}
}

// withdraw removes a job that its caller no longer wants.
func (q *queue) withdraw(j *job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if at := slices.Index(j.line.jobs, j); at >= 0 {
		j.line.jobs = slices.Delete(j.line.jobs, at, at+1)
		q.settle(j.line)
	}
}

// settle moves a line whose jobs have changed to its place among the turns. q is locked.
func (q *queue) settle(l *line) {
	if len(l.jobs) == 0 {
		heap.Remove(&q.turns, l.index)
	} else {
		heap.Fix(&q.turns, l.index)
	}
}

// close lets no more jobs in.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	signal(q.some)
}

// over reports whether the queue is closed and nothing waits.
func (q *queue) over() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed && len(q.turns) == 0
}

// waiting returns how many jobs wait.
func (q *queue) waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.turns {
		n += len(l.jobs)
	}
	return n
}

// turns is a heap of lines: first the one whose writes have cost least, of equals the one whose job
// came first. It implements heap.Interface.
type turns []*line

func (t turns) Len() int { return len(t) }
func (t turns) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(t[i].at, t[k].at), cmp.Compare(t[i].jobs[0].number, t[k].jobs[0].number)) < 0
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
