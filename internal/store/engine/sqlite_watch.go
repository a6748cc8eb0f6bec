package engine

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

// While a transaction reads SQLite's write-ahead log, the log cannot restart from its beginning,
// and every write makes it grow. So reads are interrupted if it has grown too much:
//
//	log larger than          what is interrupted
//	logBound                 reads of requests that are older than youngRead
//	snapshotBounds times it  snapshots too: a backup, an export, a check of the doctor
//	and than the file
//
// A transaction of another program cannot be interrupted. It is logged, and the operator has to end
// it.
const (
	// watchTick is the interval at which reads and the log are checked.
	watchTick = time.Second
	// readLimit is the most ticks that a read may last. Longer reads use Snapshots.
	readLimit = 30
	// logBound is the size from which the log is too large: twice the size at which the writer
	// restarts it if no read prevents that.
	logBound = 2 * checkpointLast * 4096
	// youngRead is the most ticks that a read may last while the log is too large.
	youngRead = 2
	// snapshotBounds times logBound, 1 GiB, is the size of the log up to which snapshots are never
	// interrupted. If the file is larger, the limit is the file's size, because its backup takes
	// longer.
	snapshotBounds = 8
)

// errLongRead is returned for a read that was interrupted at readLimit.
var errLongRead = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "the request read for longer than 30 seconds and was ended: ask for less at once, or repeat it when the service has less to do"}

// errGrownLog is returned for a read that was interrupted because the log has grown.
var errGrownLog = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "the request read for seconds while very much was written, and was ended: ask for less at once, or repeat it when the service has less to do"}

// errGrownBySnapshot is returned for a snapshot that was interrupted because the log has grown.
var errGrownBySnapshot = errors.New("it was ended, because the log of the database has grown larger than 1 GiB and than the database itself meanwhile: repeat it when less is written")

// leash interrupts the read of one connection if it lasts too long, or if its caller has left.
type leash struct {
	mu     sync.Mutex    // guards all below
	age    int           // ticks since the read began, starting at 1; 0: no read
	reads  int           // reads begun so far: a caller that has left interrupts only its own
	pulled error         // why the read was interrupted; nil: it was not
	pull   chan struct{} // once closed, SQLite interrupts the connection's query
}

// leashed prepares a connection for its first read, or for the next one after an interruption.
func (c *sqliteConn) leashed() {
	c.leash.mu.Lock()
	defer c.leash.mu.Unlock()
	c.leash.pull, c.leash.pulled = make(chan struct{}), nil
	c.c.SetInterrupt(c.leash.pull)
}

// begin marks the beginning of a read, which is interrupted if ctx ends before stop is called.
func (l *leash) begin(ctx context.Context) (stop func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age = 1
	l.reads++
	if ctx.Done() == nil {
		return func() bool { return true }
	}
	this := l.reads
	return context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.age > 0 && l.reads == this {
			l.end(sheaf.UnavailableError(ctx.Err()))
		}
	})
}

// end interrupts the read under way. l must be locked.
func (l *leash) end(why error) {
	if l.pulled == nil {
		l.pulled = why
		close(l.pull)
	}
}

// ended marks the end of the read, and returns why it was interrupted; nil if it was not.
func (l *leash) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age = 0
	return l.pulled
}

// tick adds one to the read's age, and interrupts it at readLimit.
func (l *leash) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.age == 0 {
		return
	}
	if l.age++; l.age > readLimit {
		l.end(errLongRead)
	}
}

// older interrupts the read under way if its age is more than `ticks`.
func (l *leash) older(ticks int, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.age > ticks {
		l.end(why)
	}
}

// snapshots are the snapshots under way, each with the function that ends it.
type snapshots struct {
	mu  sync.Mutex // guards all
	all map[*sqliteConn]context.CancelCauseFunc
}

// begin registers a snapshot on the connection; over removes it.
func (s *snapshots) begin(c *sqliteConn, end context.CancelCauseFunc) (over func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*sqliteConn]context.CancelCauseFunc{}
	}
	s.all[c] = end
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, c)
	}
}

// end interrupts all snapshots under way.
func (s *snapshots) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.all {
		end(why)
	}
}

// watchReads interrupts reads that last too long, or that keep a large log from restarting. It runs
// until the engine is closed.
func (e *SQLite) watchReads() {
	defer close(e.watched)
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for warned := int64(0); ; warned = e.boundLog(warned, logBound) {
		select {
		case <-tick.C:
		case <-e.closed:
			return
		}
		e.ageReads()
	}
}

// ageReads adds one tick to the age of every read under way.
func (e *SQLite) ageReads() {
	for _, c := range e.all {
		c.leash.tick()
	}
}

// boundLog interrupts the reads that keep the log larger than `bound`, and asks to
// truncate the log once no connection reads it. It warns when the log exceeds the bound, and again
// each time that it has doubled. warned is the size in the last warning; boundLog returns its new
// value.
func (e *SQLite) boundLog(warned, bound int64) int64 {
	size := e.LogBytes()
	if size > bound {
		for _, c := range e.all {
			c.leash.older(youngRead, errGrownLog)
		}
		if size > max(snapshotBounds*bound, sizeOf(e.path)) {
			e.snapshots.end(errGrownBySnapshot)
		}
		e.checkpoints.wantEmpty()
	}
	switch {
	case size > bound && size >= 2*warned:
		e.log.Warn("the log of the database grows, because somebody reads it without an end: a backup, an export or the doctor, or another program with a transaction open",
			"path", e.path+"-wal", "bytes", size)
		return size
	case size <= bound && warned > 0:
		e.log.Info("the log of the database is small again", "path", e.path+"-wal", "bytes", size)
		return 0
	}
	return warned
}

// LogBytes returns the size of the write-ahead log, or 0 if there is none.
func (e *SQLite) LogBytes() int64 { return sizeOf(e.path + "-wal") }

// sizeOf returns the size of a file, or 0 if it cannot be read.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
