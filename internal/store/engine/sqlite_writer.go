package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/sheaf"
)

const (
	// maxGroup and groupSpan bound a group, and so how long its first member waits for the last:
	// whoever comes when so many have run, or when they have run for so long, is in the next one.
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
// writes share one: whoever asks while a commit is under way joins the next group, which is one
// transaction.
//
//	callers      do(A)   do(B)   do(C)                  do(D) waits in jobs
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
	jobs        chan *job     // those that wait; closed at the end
	span        time.Duration // of a group: groupSpan, except in tests
	done        chan struct{} // closed when run has ended

	// version is what PRAGMA data_version said last: it changes when another process commits. blind
	// says that it could not be read.
	version int64
	blind   bool

	observe    atomic.Pointer[func(GroupCommit)] // who listens to groups; nil: nobody
	committing time.Duration                     // how long the last COMMIT took

	mu     sync.RWMutex // guards closed, and that nobody sends on jobs once it is set
	closed bool
}

// job is one call of Write.
type job struct {
	fn    func(*Tx) error
	asked time.Time // when; zero while nobody listens to groups
	// decided is set once: by the writer, which begins the job, or by its caller, who withdraws it.
	decided atomic.Bool
	tx      *Tx           // of the closure's last run, for its Note; nil when that failed
	err     error         // the outcome, which the caller reads after done
	final   bool          // err stands whatever becomes of the transaction
	done    chan struct{} // gets one value when the outcome is final; has room for it, so that the writer never waits
}

// newWriter begins to write for whoever asks, until close.
func newWriter(c *sqliteConn, o Options, p *checkpointer) *writer {
	w := &writer{conn: c, options: o, checkpoints: p, jobs: make(chan *job, maxGroup), span: groupSpan, done: make(chan struct{})}
	w.lookAround()
	go w.run()
	return w
}

// do runs fn in the next group. Until fn has begun, it is withdrawn when ctx ends or after
// WriteTimeout; from then on its outcome is waited for. No request's context reaches a statement:
// in SQLite a cancelled one rolls back the whole group.
func (w *writer) do(ctx context.Context, fn func(*Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, WriteTimeout, ErrQueue)
	defer cancel()
	j := &job{fn: fn, asked: w.clock(), done: make(chan struct{}, 1)}
	if err := w.submit(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.decide() {
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	<-j.done
	return j.err
}

// decide reports whether whoever asks is the first to decide on the job: it is begun or withdrawn,
// never both.
func (j *job) decide() bool { return j.decided.CompareAndSwap(false, true) }

// submit puts the job where the writer finds it, and waits while there is no room.
func (w *writer) submit(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return sheaf.UnavailableError(errClosed)
	}
	// Of two cases that are ready, select takes any: the job of a caller who has left would get in.
	if ctx.Err() != nil {
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	select {
	case w.jobs <- j:
		return nil
	case <-ctx.Done():
		return sheaf.UnavailableError(context.Cause(ctx))
	}
}

// close lets no more jobs in, and returns when those that wait have run.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.jobs)
	}
	w.mu.Unlock()
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
		case j, ok := <-w.jobs:
			if !ok {
				return
			}
			if j.decide() {
				w.runGroup(j)
			}
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
	w.conn.rows = 0
	_, err := w.conn.exec("BEGIN IMMEDIATE", nil)
	return err
}

// attempt is the usual way of a group: one transaction without savepoints, which takes in whoever
// comes until nobody waits or the group is full. It returns all who were in it.
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
	for came := 0; len(members) < maxGroup && time.Now().Before(until); {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return members, w.commit(members)
			}
			if !j.decide() {
				continue // it was withdrawn
			}
			members = append(members, j)
			if !w.runPlain(j) {
				return members, errUndone
			}
			continue
		default:
		}
		if came == len(members) {
			break
		}
		came = len(members)
		runtime.Gosched()
	}
	return members, w.commit(members)
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
	if !w.call(j) {
		return false
	}
	if j.err != nil && w.conn.changed {
		w.rollback()
		return false
	}
	return true
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
