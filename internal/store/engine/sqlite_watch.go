package engine

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
)

// While a transaction reads the log of SQLite, the log is not begun anew: it grows by whatever others
// write. So reads are ended when it has grown too much:
//
//	log larger than          what is ended
//	logBound                 reads of requests that are older than youngRead
//	snapshotBounds times it  snapshots too: a backup, an export, a check of the doctor
//	and than the file
//
// A transaction of another program cannot be ended. It is logged, and the operator has to end it.
const (
	// watchTick is how often reads and the log are looked at.
	watchTick = time.Second
	// readLimit is how many ticks a read may last. What is meant to last longer uses Snapshots.
	readLimit = 30
	// logBound is the size from which on the log is too large: twice what the writer lets it have
	// beside readers that end.
	logBound = 2 * checkpointLast * 4096
	// youngRead is how many ticks old a read may be while the log is too large.
	youngRead = 2
	// snapshotBounds times logBound, a GiB, is the size of the log up to which snapshots may last in any
	// case. Beside a larger file, the log may grow to the file's size: its backup takes longer.
	snapshotBounds = 8
)

// errLongRead is what a client is told whose read was ended.
var errLongRead = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "the request read for longer than 30 seconds and was ended: ask for less at once, or repeat it when the service has less to do"}

// errGrownLog is what a client is told whose read was ended because the log has grown.
var errGrownLog = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 2 * time.Second,
	Text: "the request read for seconds while very much was written, and was ended: ask for less at once, or repeat it when the service has less to do"}

// errGrownBySnapshot is why a snapshot was ended.
var errGrownBySnapshot = errors.New("it was ended, because the log of the database has grown larger than 1 GiB and than the database itself meanwhile: repeat it when less is written")

// leash ends the read of one connection that lasts too long, or whose caller has left.
type leash struct {
	mu     sync.Mutex    // guards all below
	age    int           // ticks since the read began, from 1 on; 0: there is none
	reads  int           // how many have begun: a caller who left pulls at its own alone
	pulled error         // why the read is ended; nil: it is not
	pull   chan struct{} // closed: SQLite interrupts whatever the connection does
}

// leashed readies a connection for its first read, or for another one after it was interrupted.
func (c *sqliteConn) leashed() {
	c.leash.mu.Lock()
	defer c.leash.mu.Unlock()
	c.leash.pull, c.leash.pulled = make(chan struct{}), nil
	c.c.SetInterrupt(c.leash.pull)
}

// begin marks the begin of a read, which the end of ctx interrupts; stop ends that watch.
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

// end interrupts the read that is under way. l is locked.
func (l *leash) end(why error) {
	if l.pulled == nil {
		l.pulled = why
		close(l.pull)
	}
}

// ended marks the end of the read, and returns why it was interrupted; nil: it was not.
func (l *leash) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.age = 0
	return l.pulled
}

// tick lets the read grow older, and interrupts it at its limit.
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

// older interrupts the read that is under way if it is older than that many ticks.
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

// begin notes that a snapshot is read on the connection; the function that it returns, that it is over.
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

// watchReads ends reads that last too long, or that keep a log from being begun anew that has grown,
// until the engine is closed.
func (e *SQLite) watchReads() {
	defer close(e.watched)
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for warned := int64(0); ; warned = e.lookAtLog(warned, logBound) {
		select {
		case <-tick.C:
		case <-e.closed:
			return
		}
		e.ageReads()
	}
}

// ageReads lets every read that is under way grow older by a tick.
func (e *SQLite) ageReads() {
	for _, c := range e.all {
		c.leash.tick()
	}
}

// lookAtLog ends the reads because of which the log has passed the bound, and has the log cut off as
// soon as nobody reads it any more. It warns when the log has passed the bound, and again whenever it
// has doubled. It takes and returns the size that the last warning named.
func (e *SQLite) lookAtLog(warned, bound int64) int64 {
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

// LogBytes returns the size of the log beside the file, 0 when there is none.
func (e *SQLite) LogBytes() int64 { return sizeOf(e.path + "-wal") }

// sizeOf returns the size of a file, 0 when there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
