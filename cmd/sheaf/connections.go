package main

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/front"
)

const (
	// maxConnections bounds the clients' connections. An idle one costs about 20 KB.
	maxConnections = 16384
	// ownFiles is the number of file descriptors that are reserved for the store, deliveries and
	// metrics.
	ownFiles = 512
	// leastShare is the least number of connections that one address may hold, unless it is more
	// than half of all.
	leastShare = 64
)

// connections is a listener that bounds the open connections: of all clients, and of one address.
// It closes further ones at once: in the kernel's backlog a client would wait without an answer. If
// all connections are taken, a new one replaces the longest idle connection of the address that
// holds most.
type connections struct {
	net.Listener
	most   int                      // open connections of all clients
	share  int                      // the most connections of one address
	exempt func(ip netip.Addr) bool // reports whether share does not bind the address
	idle   atomic.Int64             // the number of times that a connection became idle, which orders them
	silent atomic.Int64             // open connections on which the client has sent nothing
	full   atomic.Uint64            // connections refused because all were taken
	over   atomic.Uint64            // connections refused because their address held its share
	closed atomic.Uint64            // idle connections closed to admit others

	mu  sync.Mutex // guards all and by
	all []*connection
	by  map[netip.Addr]*network // addresses with open connections

	closing    sync.Once
	closeError error // error of the first Close
}

// network is an address with open connections, or a /64 of IPv6.
type network struct {
	ip   netip.Addr
	held int // open connections
}

// boundConnections returns l with bounds that leave files for everything else. Trusted proxies may
// hold any number of connections. So may this machine's own addresses, unless the operator has
// named a share.
func boundConnections(l net.Listener, c *config.Settings) *connections {
	most := mostConnections(openFiles())
	share := c.ConnectionsPerAddress
	if share == 0 {
		share = usualShare(most)
	}
	exempt := func(ip netip.Addr) bool {
		return c.ConnectionsPerAddress == 0 && ip.IsLoopback() || front.IsTrusted(c.TrustedProxy, ip)
	}
	return &connections{Listener: l, most: most, share: share, exempt: exempt, by: map[netip.Addr]*network{}}
}

// usualShare returns how many of `most` connections one address may hold: a quarter, at least
// leastShare, but never more than half.
func usualShare(most int) int { return min(max(most/4, leastShare), most/2) }

// mostConnections returns the bound on connections for a process that may open `files` files: all
// files except those that the process needs itself, and at least half of them.
func mostConnections(files uint64) int {
	if files >= maxConnections+ownFiles {
		return maxConnections
	}
	return int(max(files/2, files-min(files, ownFiles)))
}

// openFiles returns the number of files that the process may open; Go has raised it to the most
// that the system allows.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return maxConnections
	}
	return limit.Cur
}

// Close stops listening. It may be called again: net/http does when it stops, and would take the
// error of a second close for requests that were cut off.
func (l *connections) Close() error {
	l.closing.Do(func() { l.closeError = l.Listener.Close() })
	return l.closeError
}

// Accept returns the next connection that there is room for.
func (l *connections) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if counted := l.admit(c); counted != nil {
			return counted, nil
		}
		c.Close()
	}
}

// admit counts the connection. It returns nil if there is no room for it.
func (l *connections) admit(c net.Conn) *connection {
	var ip netip.Addr
	if peer, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		ip = peer.AddrPort().Addr().Unmap()
	}
	counted := &connection{Conn: c, listener: l}
	victim, refused := l.place(counted, ip)
	if refused != nil {
		refused.Add(1)
		return nil
	}
	l.silent.Add(1)
	if victim != nil {
		l.closed.Add(1)
		victim.Close()
	}
	return counted
}

// place adds the connection to the open ones. If all are taken, it removes an idle one, which the
// caller closes. If there is no room, it returns the counter of refused connections.
func (l *connections) place(c *connection, ip netip.Addr) (victim *connection, refused *atomic.Uint64) {
	key := front.Network(ip)
	l.mu.Lock()
	defer l.mu.Unlock()
	if from := l.by[key]; from != nil && from.held >= l.share && !l.exempt(ip) {
		return nil, &l.over
	}
	if len(l.all) >= l.most {
		if victim = l.longestIdle(); victim == nil {
			return nil, &l.full
		}
		l.remove(victim)
	}
	from := l.by[key]
	if from == nil {
		from = &network{ip: key}
		l.by[key] = from
	}
	from.held++
	c.network, c.at = from, len(l.all)
	l.all = append(l.all, c)
	c.idle.Store(l.idle.Add(1))
	return victim, nil
}

// longestIdle returns the connection that has been idle for longest, of the network with most
// connections that has an idle one; nil if no connection is idle. The caller holds mu.
func (l *connections) longestIdle() *connection {
	var found *connection
	var since int64
	for _, c := range l.all {
		at := c.idle.Load()
		if at == 0 {
			continue
		}
		if found == nil || c.network.held > found.network.held || c.network.held == found.network.held && at < since {
			found, since = c, at
		}
	}
	return found
}

// remove makes room for another connection, once. The caller holds mu.
func (l *connections) remove(c *connection) {
	if c.network == nil {
		return
	}
	if c.network.held--; c.network.held == 0 {
		delete(l.by, c.network.ip)
	}
	last := l.all[len(l.all)-1]
	l.all[c.at], last.at = last, c.at
	l.all[len(l.all)-1] = nil
	l.all = l.all[:len(l.all)-1]
	c.network = nil
}

// opened returns the number of open connections.
func (l *connections) opened() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// track is the ConnState of the server: it records whether a connection waits for a request. A new
// connection does until the first request's header has arrived, so that connections which send
// nothing can be closed.
func (l *connections) track(c net.Conn, state http.ConnState) {
	if encrypted, ok := c.(*tls.Conn); ok {
		c = encrypted.NetConn()
	}
	counted, ok := c.(*connection)
	if !ok || state != http.StateActive && state != http.StateIdle {
		return
	}
	idle := int64(0)
	if state == http.StateIdle {
		idle = l.idle.Add(1)
	}
	counted.idle.Store(idle)
}

// mayRequest reports whether a connected client may still send a request `waited` after the last
// was let in.
func (l *connections) mayRequest(waited time.Duration) bool {
	return l.opened() > 0 && waited < askWithin || l.silent.Load() > 0 && waited < askMost
}

type connection struct {
	net.Conn
	listener *connections
	network  *network     // nil when it is not counted any more; guarded by the listener's mu, as is at
	at       int          // index in listener.all
	idle     atomic.Int64 // when it became idle, in the order of connections.idle; 0 during a request
	heard    sync.Once    // the client has sent something, or the connection is closed
}

// Read notes that the client has sent something.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.hear()
	}
	return n, err
}

func (c *connection) hear() { c.heard.Do(func() { c.listener.silent.Add(-1) }) }

// ReadFrom lets the kernel send a file by itself, without a copy, as on a connection that is not
// counted.
func (c *connection) ReadFrom(r io.Reader) (int64, error) {
	if kernel, ok := c.Conn.(io.ReaderFrom); ok {
		return kernel.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}

// Close makes room for another connection.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.hear()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.remove(c)
	return err
}
