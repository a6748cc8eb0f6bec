package main

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxConnections bounds the clients' connections: an idle one costs some 20 KB.
	maxConnections = 16384
	// ownFiles is how many of the process's files are kept from clients: for the store, for
	// deliveries and for the metrics.
	ownFiles = 512
)

// connections is a listener with at most `most` open connections. It closes further ones at once: in the
// kernel's backlog a client would wait without an answer.
type connections struct {
	net.Listener
	most    int64
	open    atomic.Int64
	silent  atomic.Int64 // of these, who has not said a word
	refused atomic.Uint64
	closing sync.Once
	closed  error // of the first Close
}

// boundConnections returns l with a bound that leaves files for everything else.
func boundConnections(l net.Listener) *connections {
	return &connections{Listener: l, most: mostConnections(openFiles())}
}

// mostConnections returns the bound on connections for a process that may open `files` files: all files
// except those that the process needs itself, and at least half of them.
func mostConnections(files uint64) int64 {
	if files >= maxConnections+ownFiles {
		return maxConnections
	}
	return int64(max(files/2, files-min(files, ownFiles)))
}

// openFiles is how many files the process may have open; Go has raised that to what the system
// allows.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxConnections
	}
	return limit.Cur
}

// Close lets nobody in any more. It may be called again: net/http does when it stops, and would
// take the error of a second one for requests that were cut off.
func (l *connections) Close() error {
	l.closing.Do(func() { l.closed = l.Listener.Close() })
	return l.closed
}

// Accept returns the next connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			l.silent.Add(1)
			return &connection{Conn: c, closed: sync.OnceFunc(func() { l.open.Add(-1) }), heard: sync.OnceFunc(func() { l.silent.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused.Add(1)
		c.Close()
	}
}

// mayAsk tells whether somebody who is connected may still ask, so long after the last one was let in.
func (l *connections) mayAsk(waited time.Duration) bool {
	return l.open.Load() > 0 && waited < askWithin || l.silent.Load() > 0 && waited < askMost
}

type connection struct {
	net.Conn
	closed, heard func()
}

// Read hears what the client says.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.heard()
	}
	return n, err
}

// ReadFrom lets the kernel send a file by itself, without a copy, as it does on a connection that nobody
// counts.
func (c *connection) ReadFrom(r io.Reader) (int64, error) {
	if kernel, ok := c.Conn.(io.ReaderFrom); ok {
		return kernel.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// Close makes room for another.
func (c *connection) Close() error {
	defer c.closed()
	defer c.heard()
	return c.Conn.Close()
}
