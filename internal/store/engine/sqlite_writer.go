package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
)

const (
	// maxGroup and groupSpan limit a group, and so how long its first member waits for the last. A
	// job that comes after maxGroup members, or after groupSpan, is in the next group. See also
	// groupCost.
	maxGroup  = 256
	groupSpan = 100 * time.Millisecond
	// rowsOfAWrite is the number of rows that a usual write changes: a record, its event, a
	// delivery and the counters. A chunk of a cascade counts as several writes, by its rows.
	rowsOfAWrite = 5
)

// ErrQueue is the cause of the refusal of a write that waited too long for its turn.
var ErrQueue = errors.New("the writer has had no room for too long")

var errClosed = errors.New("the store is closed")

// writer is the only goroutine that writes to the file. An fsync costs more than a write, so
// concurrent writes share one: a job that comes while a commit is under way joins a later group,
// which is one transaction. Tenants take turns (queue).
//
//	callers      do(A)   do(B)   do(C)                  do(D) waits in the queue
//	               \       |       /                       |
//	writer       BEGIN   A B C   COMMIT (one fsync)     BEGIN   D ...
//	                               |
//	answers                        A, B and C are answered, all after the commit
//
// No caller is answered before COMMIT has returned. If a caller leaves before its closure has
// begun, the job is withdrawn; after that, the caller waits for the outcome.
//
// What happens to the other members if one fails:
//
//	it fails                                 then
//	before it changed anything (nearly all)  nothing must be undone, the group goes on
//	after it changed something               the transaction is rolled back, and its members run
//	or SQLite rolls everything back          again in a new one (again), each in a savepoint, so
//	under it, as when the disk is full       that if another fails, only that one is undone
//	at COMMIT                                every member gets the error
//
// An error is an answer too: a 409 names the conflicting record, a replay the record that was
// created. So if a member may have read what was rolled back, it runs again, or gets the error of
// COMMIT, whatever it returned. Only an error of a member that ran before any other had changed
// something is final (job.final).
//
// Savepoints for all members in every group would cost a sixth of the writer's time.
type writer struct {
	conn        *sqliteConn
	options     Options       // has the functions to call about commits
	checkpoints *checkpointer // is told of the writes to the log
	queue       *queue        // the waiting jobs
	span        time.Duration // longest duration of a group: groupSpan, except in tests
	done        chan struct{} // closed when run has ended

	// version is the last value of PRAGMA data_version, which changes when another process commits.
	// blind is set if it could not be read.
	version int64
	blind   bool

	observe    atomic.Pointer[func(GroupCommit)] // listener for groups; nil: none
	committing time.Duration                     // duration of the last COMMIT
}

// job is one call of Write.
type job struct {
	tenant string // tenant of the write; empty: the service itself
	heavy  bool   // it writes thousands of rows
	fn     func(*Tx) error
	asked  time.Time // when it was queued; zero if groups have no listener
	line   *line     // the line in which it waits or waited
	number int64     // position in the order of arrival
	// decided is set once: by the writer when it begins the job, or by the caller when it withdraws
	// it.
	decided atomic.Bool
	tx      *Tx           // Tx of the closure's last run, for its Note; nil if that failed
	err     error         // the outcome, which the caller reads after done
	final   bool          // err is the answer, whatever happens to the transaction
	done    chan struct{} // gets one value once err is the outcome; capacity 1, so that the writer never blocks
}

// newWriter starts the writer, which runs until close.
func newWriter(c *sqliteConn, o Options, p *checkpointer) *writer {
	w := &writer{conn: c, options: o, checkpoints: p, queue: newQueue(), span: groupSpan, done: make(chan struct{})}
	c.writes = true
	w.pollCommits()
	go w.run()
	return w
}

// do runs fn, on behalf of the tenant, when its turn has come. Before fn has begun, it is withdrawn
// if ctx ends, or after WriteTimeout; once it has begun, do waits for the outcome. No request's
// context reaches a statement, because in SQLite cancelling one rolls back the whole group.
func (w *writer) do(ctx context.Context, tenant string, heavy bool, fn func(*Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, WriteTimeout, ErrQueue)
	defer cancel()
	if ctx.Err() != nil {
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	j := &job{tenant: tenant, heavy: heavy, fn: fn, asked: w.clock(), done: make(chan struct{}, 1)}
	if !w.queue.put(j) {
		return sheaf.UnavailableError(errClosed)
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.decide() {
		w.queue.withdraw(j)
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	<-j.done
	return j.err
}

// decide reports whether this call is the first to decide on the job. A job is begun or withdrawn,
// never both.
func (j *job) decide() bool { return j.decided.CompareAndSwap(false, true) }

// close refuses further jobs, and returns once the waiting ones have run.
func (w *writer) close() error {
	w.queue.close()
	<-w.done
	return w.conn.close()
}

// run runs groups until the queue is closed, and calls pollCommits between them.
func (w *writer) run() {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.pollCommits()
		default:
		}
		w.awaitLight()
		if j, _ := w.queue.next(math.MaxInt64); j != nil {
			if j.decide() {
				w.runGroup(j)
			}
			continue
		}
		if w.queue.over() {
			return
		}
		select {
		case <-w.queue.some:
		case <-tick.C:
			w.pollCommits()
		}
	}
}

// awaitLight waits up to lightWait while the queue expects a light write.
func (w *writer) awaitLight() {
	var end <-chan time.Time
	for w.queue.expectsLight() {
		if end == nil {
			end = time.After(lightWait)
		}
		select {
		case <-w.queue.some:
		case <-end:
			return
		}
	}
}

// pollCommits notices the commits of other processes, such as the command line. On this connection,
// data_version changes only with commits of others. If it cannot be read, another process may have
// committed, so everything cached is dropped: a revoked key must not keep working.
func (w *writer) pollCommits() {
	now, _, err := One(&Reader{conn: w.conn}, "PRAGMA data_version", (*Row).Int)
	if err != nil {
		if !w.blind {
			w.options.Log.Warn("could not look for the commits of other processes", "error", err)
		}
		w.blind = true
		w.options.Elsewhere()
		return
	}
	w.blind = false
	if now == w.version {
		return
	}
	if w.version != 0 {
		w.options.Elsewhere()
		w.checkpoints.wantEmpty()
	}
	w.version = now
}

// runGroup runs `first` and the jobs that are waiting as one group, and answers them all.
func (w *writer) runGroup(first *job) {
	began := w.clock()
	members, err := w.attempt(first)
	for errors.Is(err, errUndone) {
		// After the second attempt, each further one has one more member whose error is final, so
		// the loop ends.
		members, err = w.again(members)
	}
	w.reportGroup(members, began)
	for _, j := range members {
		if err != nil && !j.final {
			j.err = err
		}
		j.done <- struct{}{}
	}
	runtime.Gosched() // to the callers: otherwise their answers wait for the next group on a machine with few cores
}

// errUndone means that the transaction was rolled back during a member.
var errUndone = errors.New("the transaction was rolled back by the engine")

// begin begins a transaction.
func (w *writer) begin() error {
	w.conn.rows, w.conn.bytes = 0, 0
	_, err := w.conn.exec("BEGIN IMMEDIATE", nil)
	return err
}

// attempt runs a group in the usual way: one transaction without savepoints. It adds jobs until
// none waits, the next one would make the group heavy, or the group is full. It returns all members.
func (w *writer) attempt(first *job) ([]*job, error) {
	until := time.Now().Add(w.span)
	if err := w.begin(); err != nil {
		return []*job{first}, err
	}
	failpoint.Pass(failpoint.Begun)
	members := []*job{first}
	if !w.runPlain(first) {
		return members, errUndone
	}
	most := int64(heavyCost)
	if w.cost() < lightCost {
		most = lightCost
	}
	// Clients that were just answered are about to send their next request. Yield to them as long
	// as that brings new jobs, so that they join this group: the larger it is, the fewer pages and
	// fsyncs each member costs.
	for came := 0; len(members) < maxGroup && w.cost() < groupCost && time.Now().Before(until); {
		j, waits := w.queue.next(max(most-w.cost(), lightCost))
		switch {
		case j == nil && (waits || came == len(members)):
			return members, w.commit(members)
		case j == nil:
			came = len(members)
			runtime.Gosched()
		case j.decide(): // otherwise it was withdrawn
			members = append(members, j)
			if !w.runPlain(j) {
				return members, errUndone
			}
		}
	}
	return members, w.commit(members)
}

// cost returns the cost of the transaction so far.
func (w *writer) cost() int64 {
	return int64(w.conn.rows/rowsOfAWrite + w.conn.bytes/bytesOfAWrite)
}

// again runs the members whose outcome is not final in a new transaction, each in a savepoint.
func (w *writer) again(members []*job) ([]*job, error) {
	if err := w.begin(); err != nil {
		return members, err
	}
	for _, j := range members {
		if !j.final && !w.runGuarded(j) {
			return members, errUndone
		}
	}
	return members, w.commit(members)
}

// runPlain runs one job without a savepoint. It returns false if the transaction was rolled back.
func (w *writer) runPlain(j *job) bool {
	w.conn.changed = false
	before := w.cost()
	stands := w.call(j)
	if stands && (j.err == nil || !w.conn.changed) {
		w.queue.charge(j, 1+w.cost()-before)
		return true
	}
	// All members run again because of this one. Its tenant is charged for it.
	w.queue.charge(j, 1+w.cost())
	w.rollback()
	return false
}

// runGuarded is runPlain in a savepoint, to which a failed job is rolled back. If it returns false,
// the job's error is final.
func (w *writer) runGuarded(j *job) bool {
	_, err := w.conn.exec("SAVEPOINT member", nil)
	if err == nil {
		if !w.call(j) {
			return false
		}
		if j.err != nil {
			_, err = w.conn.exec("ROLLBACK TO member", nil)
		}
		if err == nil {
			_, err = w.conn.exec("RELEASE member", nil)
		}
	}
	if err != nil {
		w.rollback()
		j.err, j.tx, j.final = sheaf.UnavailableError(err), nil, true
		return false
	}
	return true
}

// call runs the job's closure. It returns false if SQLite rolled back the whole transaction
// meanwhile. A failed job keeps no Tx, so that its Note is dropped.
func (w *writer) call(j *job) bool {
	first := w.conn.rows == 0 // no member has changed anything yet, so it reads only committed data
	j.tx = &Tx{Reader: Reader{conn: w.conn}}
	j.err = safely(j.fn, j.tx)
	stands := !w.conn.c.AutocommitEnabled()
	if !stands && sheaf.KindOf(j.err) != sheaf.Unavailable {
		j.err = sheaf.UnavailableError(errors.Join(errUndone, j.err))
	}
	if j.err != nil {
		j.tx = nil
	}
	j.final = j.err != nil && (first || !stands)
	return stands
}

// rollback rolls the transaction back, unless SQLite has done so.
func (w *writer) rollback() {
	if !w.conn.c.AutocommitEnabled() {
		w.conn.exec("ROLLBACK", nil)
	}
}

// commit commits the group. It calls Options.Committing before, and the returned function after it.
func (w *writer) commit(members []*job) error {
	var notes []any
	for _, j := range members {
		if j.err == nil && j.tx != nil {
			notes = append(notes, j.tx.Note)
		}
	}
	settle := w.options.Committing(notes)
	failpoint.Pass(failpoint.BeforeCommit)
	began := w.clock()
	_, err := w.conn.exec("COMMIT", nil)
	w.committing = w.clock().Sub(began)
	failpoint.Pass(failpoint.AfterCommit)
	if err != nil {
		w.rollback()
		settle(false)
		// %v hides which error it was: otherwise a violated constraint would look like the fault of
		// each member.
		return sheaf.UnavailableError(fmt.Errorf("commit: %v", err))
	}
	settle(true)
	w.checkpoints.committed(max(len(members), w.conn.rows/rowsOfAWrite))
	return nil
}
