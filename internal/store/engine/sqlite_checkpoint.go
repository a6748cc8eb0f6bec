package engine

import (
	"errors"
	"log/slog"
	"time"

	"sheaf.dev/internal/store/engine/checksum"
)

const (
	// checkpointEvery is how many pages of the log are brought into the file at once, beside the
	// writer. Of a page that was written several times only the last is brought over.
	checkpointEvery = 8000
	// checkpointLast is from how many pages on the writer itself brings over what is left after
	// each commit. Then it begins the log anew, which nobody else can make it do: the log stays
	// about as long as that.
	checkpointLast = 2 * checkpointEvery
	// checkpointLook is after how many writes it looks at the log: each is a dozen pages and more.
	checkpointLook = 64
	// checkpointRest is the pause after one that failed.
	checkpointRest = time.Second
	// checkpointTick is how often it does what no write asks for.
	checkpointTick = time.Second
	// emptyWait bounds how long it waits, and lets the writer wait, for those who still read the
	// log that it empties; stopWait does at a stop, when nobody else waits.
	emptyWait = 20 * time.Millisecond
	stopWait  = time.Second
)

// checkpointer brings what the log holds into the file while the writer goes on writing. A group
// that is spread over many workspaces writes hundreds of pages, so that done by the writer, as
// SQLite does it by itself, it took a fifth of its time and two more fsyncs for every other group.
type checkpointer struct {
	conn *sqliteConn
	hold *checksum.Hold // keeps other programs from bringing the log over
	log  *slog.Logger
	// writes counts the writes since it was last told to look. Only the writer's goroutine uses it.
	writes   int
	wake     chan struct{} // it is to look at the log; has room for one signal
	emptying chan struct{} // the log is to be emptied; has room for one signal
	stop     chan struct{} // closed at the end
	done     chan struct{} // closed when run has ended
}

// newCheckpointer begins to bring the log over, on a connection of its own, until close.
func newCheckpointer(c *sqliteConn, h *checksum.Hold, log *slog.Logger) *checkpointer {
	c.c.SetBusyTimeout(emptyWait)
	p := &checkpointer{conn: c, hold: h, log: log, wake: make(chan struct{}, 1), emptying: make(chan struct{}, 1),
		stop: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p
}

// committed counts writes, has it look at the log, and never waits.
func (p *checkpointer) committed(writes int) {
	if p.writes += writes; p.writes < checkpointLook {
		return
	}
	p.writes = 0
	signal(p.wake)
}

// wantEmpty has it empty the log, and never waits.
func (p *checkpointer) wantEmpty() { signal(p.emptying) }

// signal sends unless a signal is there already: it never waits.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run does what it is asked for, one thing after the other.
func (p *checkpointer) run() {
	defer close(p.done)
	tick := time.NewTicker(checkpointTick)
	defer tick.Stop()
	full := false // it was to be emptied, and somebody still read it
	for {
		var err error
		select {
		case <-p.wake:
			err = p.look()
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
			// Nothing is lost by it: the log has everything.
			p.log.Warn("could not bring the log of the database into its file", "error", err)
			p.rest()
		}
	}
}

// empty brings all of the log into the file and cuts it off. Otherwise, if we were killed, another
// program would bring over what was written without our checksums. It returns true while somebody
// still reads the log. Where another process holds the file, this is its work.
func (p *checkpointer) empty() (full bool, err error) {
	if !p.hold.Has() {
		return false, nil
	}
	busy, _, err := One(&Reader{conn: p.conn}, "PRAGMA wal_checkpoint(TRUNCATE)", (*Row).Bool)
	return busy || err != nil, err
}

// rest pauses after a failure, unless it is to stop.
func (p *checkpointer) rest() {
	select {
	case <-time.After(checkpointRest):
	case <-p.stop:
	}
}

// look brings the log over when enough has gathered in it.
func (p *checkpointer) look() error {
	waiting, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)")
	if err == nil && waiting >= checkpointEvery {
		_, err = p.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}

// checkpoint returns how many pages of the log are not in the file then.
func (p *checkpointer) checkpoint(sql string) (waiting int64, err error) {
	waiting, _, err = One(&Reader{conn: p.conn}, sql, func(r *Row) int64 {
		_, pages, there := r.Int(), r.Int(), r.Int()
		return pages - there
	})
	return waiting, err
}

// close leaves an empty log, even if another program keeps the file open.
func (p *checkpointer) close() error {
	close(p.stop)
	<-p.done
	p.conn.c.SetBusyTimeout(stopWait)
	_, err := p.empty()
	p.hold.Release()
	return errors.Join(err, p.conn.close())
}
