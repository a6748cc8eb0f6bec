package engine

import (
	"errors"
	"log/slog"
	"time"

	"sheaf.dev/internal/store/engine/checksum"
)

const (
	// checkpointEvery is the number of log pages at which a checkpoint runs, beside the writer. If
	// a page was written several times, only its last version is copied to the file.
	checkpointEvery = 8000
	// checkpointLast is the number of pages from which the writer itself checkpoints the rest after
	// each commit. Then it restarts the log from its beginning, which only the writer can do. So
	// the log does not grow much beyond that.
	checkpointLast = 2 * checkpointEvery
	// checkpointLook is the number of writes between two checks of the log: each writes a dozen
	// pages or more.
	checkpointLook = 64
	// checkpointRest is the pause after a failed checkpoint.
	checkpointRest = time.Second
	// checkpointTick is the interval of the work that no write triggers.
	checkpointTick = time.Second
	// emptyWait is how long emptying the log waits, and blocks the writer, for connections that
	// still read the log. stopWait is the same at a stop, when no other call waits.
	emptyWait = 20 * time.Millisecond
	stopWait  = time.Second
)

// checkpointer copies the write-ahead log into the file while the writer goes on. A group of writes
// to many workspaces writes hundreds of pages. When the writer did the checkpoints, as is SQLite's
// default, they took a fifth of its time, and two more fsyncs for every other group.
type checkpointer struct {
	conn *sqliteConn
	hold *checksum.Hold // keeps other programs from running a checkpoint
	log  *slog.Logger
	// writes counts the writes since the last signal to wake. Only the writer's goroutine uses it.
	writes   int
	wake     chan struct{} // asks for a check of the log; capacity 1
	emptying chan struct{} // asks to empty the log; capacity 1
	stop     chan struct{} // closed by close
	done     chan struct{} // closed when run has ended
}

// newCheckpointer starts a checkpointer on the connection c, which runs until close.
func newCheckpointer(c *sqliteConn, h *checksum.Hold, log *slog.Logger) *checkpointer {
	c.c.SetBusyTimeout(emptyWait)
	p := &checkpointer{conn: c, hold: h, log: log, wake: make(chan struct{}, 1), emptying: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p
}

// committed counts writes and asks for a check of the log once there are enough. It never blocks.
func (p *checkpointer) committed(writes int) {
	if p.writes += writes; p.writes < checkpointLook {
		return
	}
	p.writes = 0
	signal(p.wake)
}

// wantEmpty asks to empty the log. It never blocks.
func (p *checkpointer) wantEmpty() { signal(p.emptying) }

// signal sends a value unless one is pending. It never blocks.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run handles the signals, one at a time.
func (p *checkpointer) run() {
	defer close(p.done)
	tick := time.NewTicker(checkpointTick)
	defer tick.Stop()
	full := false // the log could not be emptied, because it was being read
	for {
		var err error
		select {
		case <-p.wake:
			err = p.checkpointIfFull()
		case <-p.emptying:
			full, err = p.empty()
		case <-tick.C:
			if err = p.hold.Retry(); err == nil && full {
				full, err = p.empty()
			}
		case <-p.stop:
			return
		}
		if err != nil {
			// No data is lost: the log has everything.
			p.log.Warn("could not bring the log of the database into its file", "error", err)
			// Pause, unless the checkpointer is stopped.
			select {
			case <-time.After(checkpointRest):
			case <-p.stop:
			}
		}
	}
}

// empty copies all of the log into the file and truncates it. Otherwise, if we were killed, another
// program would copy it without our checksums. full is true if some connection still reads the log.
// If another process holds the file, it does this work.
func (p *checkpointer) empty() (full bool, err error) {
	if !p.hold.Has() {
		return false, nil
	}
	// Most pages are copied before, while the writer runs: TRUNCATE blocks the writer while it copies.
	if _, err := p.checkpoint("PRAGMA wal_checkpoint(PASSIVE)"); err != nil {
		return true, err
	}
	busy, _, err := One(&Reader{conn: p.conn}, "PRAGMA wal_checkpoint(TRUNCATE)", (*Row).Bool)
	return busy || err != nil, err
}

// checkpointIfFull runs a checkpoint if the log has at least checkpointEvery pages to copy.
func (p *checkpointer) checkpointIfFull() error {
	waiting, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)")
	if err == nil && waiting >= checkpointEvery {
		_, err = p.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}

// checkpoint runs the PRAGMA and returns how many pages of the log are not yet in the file.
func (p *checkpointer) checkpoint(sql string) (waiting int64, err error) {
	waiting, _, err = One(&Reader{conn: p.conn}, sql, func(r *Row) int64 {
		_, pages, there := r.Int(), r.Int(), r.Int()
		return pages - there
	})
	return waiting, err
}

// close stops the checkpointer and empties the log, even if another program keeps the file open.
func (p *checkpointer) close() error {
	close(p.stop)
	<-p.done
	p.conn.c.SetBusyTimeout(stopWait)
	_, err := p.empty()
	p.hold.Release()
	return errors.Join(err, p.conn.close())
}
