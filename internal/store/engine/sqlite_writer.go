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
	// maxGroup and groupSpan bound a group, and so how long its first member waits for the last: a job
	// that comes after maxGroup members, or after groupSpan, is in the next one. See groupCost, too.
	maxGroup  = 256
	groupSpan = 100 * time.Millisecond
	// rowsOfAWrite is how many rows a usual write changes: a record, its event, a delivery and the
	// counters. A chunk of a cascade counts as as many writes as its rows would be.
	rowsOfAWrite = 5
)

// ErrQueue is why a write was refused that waited too long for its turn.
var ErrQueue = errors.New("the writer has had no room for too long")

var errClosed = errors.New("the store is closed")

// writer is the only one that writes to the file. An fsync costs more than a write, so concurrent
// writes share one: a job that comes while a commit is under way joins a later group, which is one
// transaction. Tenants take turns (queue).
//
//	callers      do(A)   do(B)   do(C)                  do(D) waits in the queue
//	               \       |       /                       |
//	writer       BEGIN   A B C   COMMIT (one fsync)     BEGIN   D ...
//	                               |
//	answers                        A, B and C are told, all after the commit
//
// Nobody is answered before COMMIT has returned. Until its closure has begun, a caller who leaves
// withdraws it; after that the outcome is waited for.
//
// What a member that fails does to the others:
//
//	it fails                                 then
//	before it changed anything (nearly all)  nothing is to be undone, the group goes on
//	after it changed something               the transaction is rolled back, and its members run
//	or SQLite rolls everything back          again in a new one (again), each in a savepoint, so
//	under it, as when the disk is full       that a further one undoes itself alone
//	at COMMIT                                everybody gets the error
//
// An error is an answer too: a 409 names the record that is in the way, a replay the record that was
// made. So a member runs again, or gets the error of COMMIT, whatever it returned, if it may have read
// what was rolled back. Only an error of a member that ran before any other had changed something
// stands (job.final).
//
// Savepoints for all members always would cost a sixth of the writer's time.
type writer struct {
	conn        *sqliteConn
	options     Options       // whom to tell of commits
	checkpoints *checkpointer // counts what the log gets
	queue       *queue        // the jobs that wait
	span        time.Duration // of a group: groupSpan, except in tests
	done        chan struct{} // closed when run has ended

	// version is what PRAGMA data_version said last: it changes when another process commits. blind
	// says that it could not be read.
	version int64
	blind   bool

	observe    atomic.Pointer[func(GroupCommit)] // who listens to groups; nil: nobody
	committing time.Duration                     // how long the last COMMIT took
}

// job is one call of Write.
type job struct {
	tenant string // whose it is; empty: the service's own
	fn     func(*Tx) error
	asked  time.Time // when; zero while nobody listens to groups
	line   *line     // where it waits or waited
	number int64     // in the order of coming
	// decided is set once: by the writer, which begins the job, or by its caller, who withdraws it.
	decided atomic.Bool
	tx      *Tx           // of the closure's last run, for its Note; nil when that failed
	err     error         // the outcome, which the caller reads after done
	final   bool          // err stands whatever becomes of the transaction
	done    chan struct{} // gets one value when the outcome is final; has room for it, so that the writer never waits
}

// newWriter starts the writer, which runs until close.
func newWriter(c *sqliteConn, o Options, p *checkpointer) *writer {
	w := &writer{conn: c, options: o, checkpoints: p, queue: newQueue(), span: groupSpan, done: make(chan struct{})}
	w.lookAround()
	go w.run()
	return w
}

// do runs fn, which the tenant asks for, when its turn has come. Until fn has begun, it is withdrawn
// when ctx ends or after WriteTimeout; from then on its outcome is waited for. No request's context
// reaches a statement: in SQLite a cancelled one rolls back the whole group.
func (w *writer) do(ctx context.Context, tenant string, fn func(*Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, WriteTimeout, ErrQueue)
	defer cancel()
	if ctx.Err() != nil {
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	j := &job{tenant: tenant, fn: fn, asked: w.clock(), done: make(chan struct{}, 1)}
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

// decide reports whether this call is the first to decide on the job: it is begun or withdrawn, never
// both.
func (j *job) decide() bool { return j.decided.CompareAndSwap(false, true) }

// close lets no more jobs in, and returns when those that wait have run.
func (w *writer) close() error {
	w.queue.close()
	<-w.done
	return w.conn.close()
}

// run runs groups, and looks around between them.
func (w *writer) run() {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.lookAround()
		default:
		}
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
			w.lookAround()
		}
	}
}

// lookAround notices the commits of other processes, such as the command line: on this connection
// data_version changes with theirs alone. Where it cannot be read, somebody may have committed: a
// key that was revoked must not go on working.
func (w *writer) lookAround() {
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

// runGroup runs first and every job that is waiting, and answers them all.
func (w *writer) runGroup(first *job) {
	began := w.clock()
	members, err := w.attempt(first)
	for errors.Is(err, errUndone) {
		// After the second attempt, each further one has one more member whose error is final.
		members, err = w.again(members)
	}
	w.tell(members, began)
	for _, j := range members {
		if err != nil && !j.final {
			j.err = err
		}
		j.done <- struct{}{}
	}
}

// errUndone says that the transaction was rolled back under a member.
var errUndone = errors.New("the transaction was rolled back by the engine")

// begin begins a transaction.
func (w *writer) begin() error {
	w.conn.rows, w.conn.bytes = 0, 0
	_, err := w.conn.exec("BEGIN IMMEDIATE", nil)
	return err
}

// attempt is the usual way of a group: one transaction without savepoints, which takes in the jobs
// that come until none waits, the next one is heavy, or the group is full. It returns all who were in
// it.
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
	// Clients that were just answered are about to ask again. They are let run for as long as this
	// brings somebody, so that they are in this group: the larger it is, the fewer pages and fsyncs
	// each member costs.
	for came := 0; len(members) < maxGroup && w.cost() < groupCost && time.Now().Before(until); {
		j, waits := w.queue.next(heavyCost)
		switch {
		case j == nil && (waits || came == len(members)):
			return members, w.commit(members)
		case j == nil:
			came = len(members)
			runtime.Gosched()
		case j.decide(): // else it was withdrawn
			members = append(members, j)
			if !w.runPlain(j) {
				return members, errUndone
			}
		}
	}
	return members, w.commit(members)
}

// cost returns what the transaction has cost so far.
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

// runPlain runs one job without a savepoint. It returns false when the transaction no longer
// stands.
func (w *writer) runPlain(j *job) bool {
	w.conn.changed = false
	before := w.cost()
	stands := w.call(j)
	if stands && (j.err == nil || !w.conn.changed) {
		w.queue.charge(j, 1+w.cost()-before)
		return true
	}
	// All members run again because of this one, at its tenant's cost.
	w.queue.charge(j, 1+w.cost())
	w.rollback()
	return false
}

// runGuarded is runPlain in a savepoint, to which a job that fails is rolled back. Where it returns
// false, the job's error is final.
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

// call runs the job's closure, and returns false when SQLite rolled everything back under it. A job
// that failed keeps no Tx: what it noted is dropped.
func (w *writer) call(j *job) bool {
	first := w.conn.rows == 0 // no member has changed anything yet: it reads what is committed
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

// rollback ends the transaction, unless SQLite has done so.
func (w *writer) rollback() {
	if !w.conn.c.AutocommitEnabled() {
		w.conn.exec("ROLLBACK", nil)
	}
}

// commit makes the group durable. Options.Committing hears of it before and after.
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
		// %v hides which error it was: a broken constraint would look like the fault of each
		// member.
		return sheaf.UnavailableError(fmt.Errorf("commit: %v", err))
	}
	settle(true)
	w.checkpoints.committed(max(len(members), w.conn.rows/rowsOfAWrite))
	return nil
}
