package main

import (
	"os"
	"time"

	"sheaf.dev/internal/store"
)

const megabyte = 1 << 20

// footprintRows measures what the program costs without work. The memory after the run is that of the server
// that answered the requests and made the deliveries.
func (b *bench) footprintRows() {
	b.try("process", b.binary)
	b.try("process", b.idle)
	b.try("process", b.memoryAfter)
	b.try("idle", b.idleRows)
	b.try("streams", b.streamRows)
	if !b.want("process") {
		b.try("memory", b.memoryAfter)
	}
}

// someWork lets the server answer each kind of request, and deliver.
func (b *bench) someWork() error {
	c, err := b.sheaf()
	if err != nil {
		return err
	}
	for _, requests := range [][][]byte{c.every(c.api.get), c.first(c.api.list), c.every(c.api.update), c.first(c.api.create)} {
		if _, err := b.generate(workload{Addr: c.process.addr, Conns: 64, Time: b.time, Requests: requests}); err != nil {
			return err
		}
	}
	hooks, owners, err := c.spread(lanes, lanes, b.endpoint.url+"/hook")
	if err != nil {
		return err
	}
	if _, err := b.deliver(c, hooks, owners, 5000); err != nil {
		return err
	}
	return c.unsubscribe(hooks)
}

func (b *bench) binary() error {
	info, err := os.Stat(b.program)
	if err != nil {
		return err
	}
	r := b.begin(row{Work: "size of the binary", Group: "process", Unit: "MB"})
	r.figure("sheaf").add(sample{value: float64(info.Size()) / megabyte})
	r.atMost(40, r.figure("sheaf").Median, "< 40 MB")
	b.keep(r)
	return nil
}

// idle starts the server on the standard data and leaves it alone.
func (b *bench) idle() error {
	c, end, err := b.grown("idle", func(o store.Options) ([]owner, error) { return seed(o, standard) })
	if err != nil {
		return err
	}
	if err := b.readyAgain(c, "ready, 10 thousand projects"); err != nil {
		return err
	}
	time.Sleep(2 * time.Second)
	now, _ := c.process.memory()
	r := b.begin(row{Work: "resident memory, idle", Group: "process", Unit: "MB"})
	r.figure("sheaf").add(sample{value: float64(now) / megabyte})
	r.atMost(80, r.figure("sheaf").Median, "< 80 MB")
	b.keep(r)
	return end()
}

// readyAgain measures the time from the start on an existing file until the service says that it is ready.
func (b *bench) readyAgain(c *contender, work string) error {
	r := b.begin(row{Work: work, Group: "process", Unit: "ms"})
	for range b.rounds {
		if err := c.process.stop(); err != nil {
			return err
		}
		began := time.Now()
		p, err := b.startSheaf(c.name, c.options.Folder)
		if err != nil {
			return err
		}
		c.process = p
		r.figure("sheaf").add(sample{value: float64(time.Since(began).Microseconds()) / 1e3})
	}
	r.atMost(300, r.figure("sheaf").Median, "≤ 300 ms")
	b.keep(r)
	return nil
}

// memoryAfter measures the memory of a server that has worked. In a whole run, that is all earlier work;
// alone, a part of it.
func (b *bench) memoryAfter() error {
	if b.onSQLite == nil {
		if err := b.someWork(); err != nil {
			return err
		}
	}
	r := b.begin(row{Work: "resident memory after the run", Group: "process", Unit: "MB"})
	now, most := b.onSQLite.process.memory()
	r.figure("sheaf").add(sample{value: float64(now) / megabyte})
	r.figure("sheaf, at its highest").add(sample{value: float64(most) / megabyte})
	if b.peerServer != nil {
		now, _ := b.peerServer.process.memory()
		r.figure("peer").add(sample{value: float64(now) / megabyte})
	}
	r.atMost(200, r.figure("sheaf").Median, "< 200 MB")
	b.keep(r)
	return nil
}
