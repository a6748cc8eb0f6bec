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

// maxGroup and groupSpan bound a group, and so how long its first member waits
// for the last: whoever comes when so many have run, or for so long, is in the
// next one.
const (
	maxGroup  = 256
	groupSpan = 100 * time.Millisecond
	// rowsOfAWrite is what a write changes, as a create does with its event, a
	// delivery and the counters. A chunk of a cascade counts as many of them.
	rowsOfAWrite = 5
)

// ErrQueue is why a write was refused that waited too long for its turn.
var ErrQueue = errors.New("the writer has had no room for too long")

var errClosed = errors.New("the store is closed")

// writer is the only one that writes to the file. An fsync costs more than a
// write, so concurrent writes share one: whoever asks while a commit is under way
// joins the next group, which is one transaction.
//
//	callers      do(A)   do(B)   do(C)                  do(D) waits in jobs
//	               \       |       /                       |
//	writer       BEGIN   A B C   COMMIT (one fsync)     BEGIN   D ...
//	                               |
//	answers                        A, B and C are told, all after the commit
//
// Nobody is answered before COMMIT has returned. Until its closure has begun, a
// caller who leaves withdraws it; after that the outcome is waited for.
//
// A member that fails before it changed anything, as nearly all that fail do,
// leaves nothing to undo. One that fails later takes the transaction with it,
// and the others run again, this time with a savepoint each: savepoints for all
// of them always would cost a sixth of the writer's time.
type writer struct {
	conn        *sqliteConn
	options     Options       // who is told
	checkpoints *checkpointer // is told what the log gets
	jobs        chan *job
	span        time.Duration // of a group: groupSpan
	done        chan struct{}
	version     int64 // data_version: changes when another process commits
	blind       bool  // data_version could not be read

	observe    atomic.Pointer[func(Group)]
	committing time.Duration // of the last COMMIT

	mu     sync.RWMutex // guards closed, and sending on jobs after it
	closed bool
}

// job is one call of Write.
type job struct {
	fn    func(*Tx) error
	asked time.Time
	taken atomic.Bool // by the writer, which begins it, or by the caller, who withdraws it
	tx    *Tx
	err   error
	done  chan struct{} // gets one value when the outcome is final; has room for it, so that the writer never waits
}

func newWriter(c *sqliteConn, o Options, p *checkpointer) *writer {
	w := &writer{conn: c, options: o, checkpoints: p, jobs: make(chan *job, maxGroup), span: groupSpan, done: make(chan struct{})}
	w.lookAround()
	go w.run()
	return w
}

// do runs fn in the next group. Until fn has begun, it is withdrawn when ctx ends
// or after WriteTimeout; then its outcome is waited for. No request's context
// reaches a statement: in SQLite a cancelled one rolls back the whole group.
func (w *writer) do(ctx context.Context, fn func(*Tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, WriteTimeout, ErrQueue)
	defer cancel()
	j := &job{fn: fn, asked: w.clock(), done: make(chan struct{}, 1)}
	if err := w.enqueue(ctx, j); err != nil {
		return err
	}
	select {
	case <-j.done:
		return j.err
	case <-ctx.Done():
	}
	if j.take() {
		return sheaf.UnavailableError(context.Cause(ctx))
	}
	<-j.done
	return j.err
}

// take reports whether nobody took the job before.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

func (w *writer) enqueue(ctx context.Context, j *job) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return sheaf.UnavailableError(errClosed)
	}
	// Of two cases that are ready, select takes any.
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
			if j.take() {
				w.group(j)
			}
		case <-tick.C:
			w.lookAround()
		}
	}
}

// lookAround notices the commits of other processes, such as the command line:
// on this connection data_version changes with theirs alone. Where that cannot be
// read, somebody may have committed: a key that was revoked must not go on.
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

// group runs first and whoever is waiting, and answers them all.
func (w *writer) group(first *job) {
	began := w.clock()
	members, err := w.attempt(first)
	for errors.Is(err, errUndone) {
		// The whole transaction was thrown away under one member, which now has
		// its error: the others run again, in a new group.
		members, err = w.again(members)
	}
	w.tell(members, began)
	for _, j := range members {
		if err != nil && j.err == nil {
			j.err = err
		}
		j.done <- struct{}{}
	}
}

// errUndone is a transaction that was rolled back under a member.
var errUndone = errors.New("the transaction was rolled back by the engine")

func (w *writer) attempt(first *job) ([]*job, error) {
	until := time.Now().Add(w.span)
	if _, err := w.conn.exec("BEGIN IMMEDIATE", nil); err != nil {
		return []*job{first}, err
	}
	failpoint.Pass(failpoint.Begun)
	members := []*job{first}
	if !w.member(first) {
		return members, errUndone
	}
	// A client that was just answered is about to ask again: let it in.
	runtime.Gosched()
	for len(members) < maxGroup && time.Now().Before(until) {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return members, w.commit(members)
			}
			if !j.take() {
				continue
			}
			members = append(members, j)
			if !w.member(j) {
				return members, errUndone
			}
			continue
		default:
		}
		break
	}
	return members, w.commit(members)
}

// again runs the members that have no error of their own in a new transaction,
// so that none of them can undo it once more.
func (w *writer) again(members []*job) ([]*job, error) {
	if _, err := w.conn.exec("BEGIN IMMEDIATE", nil); err != nil {
		return members, err
	}
	for _, j := range members {
		if j.err == nil && !w.guarded(j) {
			return members, errUndone
		}
	}
	return members, w.commit(members)
}

// member runs one job. It returns false when the transaction no longer stands.
func (w *writer) member(j *job) bool {
	w.conn.changed = false
	if !w.call(j) {
		return false
	}
	if j.err != nil && w.conn.changed {
		return w.abandon(j, j.err)
	}
	return true
}

// guarded is member in a savepoint.
func (w *writer) guarded(j *job) bool {
	if _, err := w.conn.exec("SAVEPOINT member", nil); err != nil {
		j.err = err
		return !w.conn.c.AutocommitEnabled()
	}
	if !w.call(j) {
		return false
	}
	if j.err != nil {
		if _, err := w.conn.exec("ROLLBACK TO member", nil); err != nil {
			return w.abandon(j, err)
		}
	}
	if _, err := w.conn.exec("RELEASE member", nil); err != nil {
		return w.abandon(j, err)
	}
	return true
}

// call runs fn, and returns false when SQLite rolled everything back under it.
// Of what failed nothing is told.
func (w *writer) call(j *job) bool {
	j.tx = &Tx{Reader: Reader{conn: w.conn}}
	j.err = safely(j.fn, j.tx)
	stands := !w.conn.c.AutocommitEnabled()
	if !stands && j.err == nil {
		j.err = sheaf.UnavailableError(errUndone)
	}
	if j.err != nil {
		j.tx = nil
	}
	return stands
}

func (w *writer) abandon(j *job, err error) bool {
	if j.err == nil {
		j.err = err
	}
	w.rollback()
	return false
}

func (w *writer) rollback() {
	if !w.conn.c.AutocommitEnabled() {
		w.conn.exec("ROLLBACK", nil)
	}
}

// commit makes the group durable, and tells of it.
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
		// Nobody's own fault, and so no constraint of theirs: hence %v.
		return sheaf.UnavailableError(fmt.Errorf("commit: %v", err))
	}
	settle(true)
	w.checkpoints.committed(max(len(members), w.conn.rows/rowsOfAWrite))
	w.conn.rows = 0
	return nil
}
