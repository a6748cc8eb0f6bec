package store

import (
	"log/slog"
	"time"
)

const (
	// checkpointEvery is how many pages of the log are brought into the file at
	// once, beside the writer.
	checkpointEvery = 2000
	// checkpointLast is from how many pages on the writer itself brings over
	// what is left after each commit. Then it begins the log anew, which nobody
	// else can make it do: the log stays about as long as that.
	checkpointLast = 4 * checkpointEvery
	// checkpointLook is after how many writes it looks at the log: each is a
	// dozen pages and more.
	checkpointLook = 64
	// checkpointRest is the pause after one that failed.
	checkpointRest = time.Second
)

// checkpointer brings what the log holds into the file while the writer goes on
// writing. A group that is spread over many workspaces writes hundreds of
// pages, so that done by the writer, as SQLite does it by itself, it took a
// fifth of its time and two more fsyncs for every other group.
type checkpointer struct {
	conn *sqliteConn
	log  *slog.Logger
	n    int // writes since it looked; the writer's
	wake chan struct{}
	stop chan struct{}
	done chan struct{}
}

func newCheckpointer(c *sqliteConn, log *slog.Logger) *checkpointer {
	p := &checkpointer{conn: c, log: log, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p
}

// committed counts writes, has it look at the log, and never waits.
func (p *checkpointer) committed(writes int) {
	if p.n += writes; p.n < checkpointLook {
		return
	}
	p.n = 0
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *checkpointer) run() {
	defer close(p.done)
	for {
		select {
		case <-p.wake:
		case <-p.stop:
			return
		}
		if err := p.look(); err != nil {
			// Nothing is lost by it: the log has everything.
			p.log.Warn("could not bring the log of the database into its file", "error", err)
			p.rest()
		}
	}
}

func (p *checkpointer) rest() {
	select {
	case <-time.After(checkpointRest):
	case <-p.stop:
	}
}

func (p *checkpointer) look() error {
	waiting, err := p.checkpoint("PRAGMA wal_checkpoint(NOOP)")
	if err == nil && waiting >= checkpointEvery {
		_, err = p.checkpoint("PRAGMA wal_checkpoint(PASSIVE)")
	}
	return err
}

// checkpoint returns how many pages of the log are not in the file then.
func (p *checkpointer) checkpoint(sql string) (waiting int64, err error) {
	waiting, _, err = one(&Reader{conn: p.conn}, sql, func(r *row) int64 {
		_, pages, there := r.int(), r.int(), r.int()
		return pages - there
	})
	return waiting, err
}

func (p *checkpointer) close() error {
	close(p.stop)
	<-p.done
	return p.conn.close()
}
