package deliver

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// This file pools connections by host. Many subscriptions may share a host. If hundreds of deliveries
// to it start at once, each would dial its own connection, although those of a fast host become free
// within milliseconds. A handshake costs five times as much as a delivery, and connections above
// IdlePerHost are closed again. So once enoughConns connections are open, an attempt waits for a free
// one while connections become free quickly, and dials if they do not: an endpoint that hangs must not
// delay others on the same host.

const (
	// enoughConns is the number of connections to a host that are dialled without waiting.
	enoughConns = 128
	// While attempts wait for a connection, the host is checked every hostRest. Attempts that would not
	// be served within hostRests intervals dial their own connection.
	hostRest  = 25 * time.Millisecond
	hostRests = 20
)

// hosts is the connection pool of all hosts.
type hosts struct {
	perHost, all int // the most idle connections to keep

	mu    sync.Mutex // guards the fields below, and every host
	byKey map[hostKey]*host
	idle  list.List   // idle *conn of all hosts, most recently used first
	tidy  *time.Timer // closes connections that were idle for too long; nil until one was idle
}

// hostKey identifies a host. Connections with and without TLS are pooled apart.
type hostKey struct {
	address string
	secure  bool
}

type host struct {
	key     hostKey
	open    int          // connections that are open or being dialled
	idle    []*conn      // idle ones, most recently used last
	waiting []chan *conn // attempts that wait for a connection, oldest first; nil tells one to dial
	served  int64        // attempts that were given an open connection
	had     int64        // the value of served at the last check
	checked bool         // a check is scheduled, because attempts wait
}

// acquire returns an idle connection to a host, or a channel on which one will arrive. If it returns
// neither, the caller dials; the new connection is counted until release or uncount.
func (s *hosts) acquire(key hostKey) (*host, *conn, chan *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.byKey[key]
	if h == nil {
		h = &host{key: key}
		s.byKey[key] = h
	}
	if n := len(h.idle); n > 0 {
		c := h.idle[n-1]
		s.removeIdle(c, n-1)
		h.served++
		return h, c, nil
	}
	if h.open < enoughConns {
		h.open++
		return h, nil, nil
	}
	free := make(chan *conn, 1) // buffered, so that the sender never blocks
	h.waiting = append(h.waiting, free)
	if !h.checked {
		h.checked, h.had = true, h.served
		time.AfterFunc(hostRest, func() { s.check(h) })
	}
	return h, nil, free
}

// removeIdle removes c, number i of its host's idle connections, from the idle lists.
func (s *hosts) removeIdle(c *conn, i int) {
	s.idle.Remove(c.place)
	c.host.idle = slices.Delete(c.host.idle, i, i+1)
}

// await blocks until a connection is free and returns it, or returns nil if the caller is to dial.
func (s *hosts) await(ctx context.Context, h *host, free chan *conn) (*conn, error) {
	select {
	case c := <-free:
		return c, nil
	case <-ctx.Done():
		s.giveUp(h, free)
		return nil, ctx.Err()
	}
}

// check tells the waiting attempts that would wait too long to dial their own connection.
func (s *hosts) check(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pace := h.served - h.had
	h.had = h.served
	for int64(len(h.waiting)) > pace*hostRests {
		h.open++
		h.serve(nil)
	}
	if h.checked = len(h.waiting) > 0; h.checked {
		time.AfterFunc(hostRest, func() { s.check(h) })
	}
}

// serve hands c, or nil to dial, to the attempt that has waited longest.
func (h *host) serve(c *conn) {
	h.waiting[0] <- c
	h.waiting[0] = nil
	h.waiting = h.waiting[1:]
}

// giveUp stops waiting for a connection. One that arrived at the same moment goes back to the pool.
func (s *hosts) giveUp(h *host, free chan *conn) {
	s.mu.Lock()
	i := slices.Index(h.waiting, free)
	if i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
		s.forgetUnused(h)
	}
	s.mu.Unlock()
	if i >= 0 {
		return
	}
	if c := <-free; c != nil {
		s.release(c, true)
	} else {
		s.uncount(h)
	}
}

// release returns the connection of a finished attempt to the pool if keep is set and there is room.
// Otherwise it closes the connection.
func (s *hosts) release(c *conn, keep bool) {
	if !keep || !s.kept(c) {
		_ = c.raw.Close()
		s.uncount(c.host)
	}
}

// kept hands c to a waiting attempt or adds it to the idle ones. It reports false if there is no room.
func (s *hosts) kept(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := c.host
	c.reused = true
	if len(h.waiting) > 0 {
		h.serve(c)
		h.served++
		return true
	}
	if len(h.idle) >= s.perHost {
		return false
	}
	c.since = time.Now()
	c.place = s.idle.PushFront(c)
	h.idle = append(h.idle, c)
	if s.idle.Len() > s.all {
		s.closeOldest()
	}
	switch {
	case s.tidy == nil:
		s.tidy = time.AfterFunc(idleTimeout, s.closeOld)
	case s.idle.Len() == 1:
		s.tidy.Reset(idleTimeout)
	}
	return true
}

// closeOldest closes the connection that has been idle longest; it is also its host's oldest.
func (s *hosts) closeOldest() {
	c := s.idle.Back().Value.(*conn)
	s.removeIdle(c, 0)
	_ = c.raw.Close()
	c.host.open--
	s.forgetUnused(c.host)
}

// closeOld closes connections that were idle for idleTimeout, and schedules the next call.
func (s *hosts) closeOld() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.idle.Len() > 0 {
		left := idleTimeout - time.Since(s.idle.Back().Value.(*conn).since)
		if left > 0 {
			s.tidy.Reset(left)
			return
		}
		s.closeOldest()
	}
}

// closeIdle closes all idle connections.
func (s *hosts) closeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.idle.Len() > 0 {
		s.closeOldest()
	}
	if s.tidy != nil {
		s.tidy.Stop()
	}
}

// uncount removes a connection that failed to open, or was closed, from the count of its host.
func (s *hosts) uncount(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.open--
	if len(h.waiting) > 0 && h.open < enoughConns {
		h.open++
		h.serve(nil)
	}
	s.forgetUnused(h)
}

// forgetUnused removes a host without connections and waiting attempts.
func (s *hosts) forgetUnused(h *host) {
	if h.open == 0 && len(h.waiting) == 0 {
		delete(s.byKey, h.key)
	}
}
