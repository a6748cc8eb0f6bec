package deliver

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

// Connections are kept for the next attempt to the same host. Many subscriptions may share one: when
// hundreds of deliveries to it begin in one moment, each would make a connection of its own, though
// those of a quick host become free again within milliseconds. A handshake costs five times what a
// delivery does, and what is above IdlePerHost is closed again. So once there are enough connections
// to a host, an attempt waits for one to become free, as long as they become free quickly. It dials
// when they do not: whoever shares a host with an endpoint that hangs must not wait for it.

const (
	// enoughConns is how many connections to a host are made without waiting.
	enoughConns = 128
	// hostRest is how often a host is looked at for which attempts wait, and hostRests how many such
	// times they may take together at the pace of the last one.
	hostRest  = 25 * time.Millisecond
	hostRests = 20
)

// hosts are those that there are connections to.
type hosts struct {
	perHost, all int // how many idle connections are kept

	mu    sync.Mutex // guards what follows, and all hosts
	byKey map[hostKey]*host
	idle  list.List   // of all hosts' *conn, the one that was used last at the front
	tidy  *time.Timer // closes those that were idle for too long; nil before there was one
}

// hostKey names a host. Connections with and without TLS are not each other's.
type hostKey struct {
	address string
	secure  bool
}

type host struct {
	key     hostKey
	open    int          // connections that are open or being made
	idle    []*conn      // of them, the one that was used last at the end
	waiting []chan *conn // attempts that wait for one of them, the first one first; nil says to make one
	served  int64        // attempts that were given one which was open
	had     int64        // how many that were at the last look
	looked  bool         // whether it is looked at, since attempts wait
}

func newHosts(perHost, all int) *hosts {
	return &hosts{perHost: perHost, all: all, byKey: map[hostKey]*host{}}
}

// ask returns an idle connection to a host, or what is to be awaited for one, or neither when one may
// be made, which is then counted until release or leave.
func (s *hosts) ask(key hostKey) (*host, *conn, chan *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.byKey[key]
	if h == nil {
		h = &host{key: key}
		s.byKey[key] = h
	}
	if n := len(h.idle); n > 0 {
		c := h.idle[n-1]
		s.wake(c, n-1)
		h.served++
		return h, c, nil
	}
	if h.open < enoughConns {
		h.open++
		return h, nil, nil
	}
	free := make(chan *conn, 1) // with room, so that nobody waits who hands one over
	h.waiting = append(h.waiting, free)
	if !h.looked {
		h.looked, h.had = true, h.served
		time.AfterFunc(hostRest, func() { s.look(h) })
	}
	return h, nil, free
}

// wake takes an idle connection, which is number i of its host's, from those that are idle.
func (s *hosts) wake(c *conn, i int) {
	s.idle.Remove(c.place)
	c.host.idle = slices.Delete(c.host.idle, i, i+1)
}

// await returns a connection that has become free, or nil when one may be made.
func (s *hosts) await(ctx context.Context, h *host, free chan *conn) (*conn, error) {
	select {
	case c := <-free:
		return c, nil
	case <-ctx.Done():
		s.giveUp(h, free)
		return nil, ctx.Err()
	}
}

// look lets those of the attempts that wait make connections for whom too few become free.
func (s *hosts) look(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pace := h.served - h.had
	h.had = h.served
	for int64(len(h.waiting)) > pace*hostRests {
		h.open++
		h.serve(nil)
	}
	if h.looked = len(h.waiting) > 0; h.looked {
		time.AfterFunc(hostRest, func() { s.look(h) })
	}
}

// serve hands the connection, or nil to make one, to the attempt that has waited for longest.
func (h *host) serve(c *conn) {
	h.waiting[0] <- c
	h.waiting[0] = nil
	h.waiting = h.waiting[1:]
}

// giveUp is for an attempt that waits no longer. What it was given in the same moment goes on to others.
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
		s.leave(h)
	}
}

// release is for a connection that an attempt has done with. Unless it is to be kept, for whoever
// waits or comes next, it is closed.
func (s *hosts) release(c *conn, keep bool) {
	if !keep || !s.kept(c) {
		_ = c.raw.Close()
		s.leave(c.host)
	}
}

// kept hands a connection to who waits, or keeps it, and reports whether there was room for it.
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

// closeOldest closes the connection that has been idle for longest, which is so among its host's.
func (s *hosts) closeOldest() {
	c := s.idle.Back().Value.(*conn)
	s.wake(c, 0)
	_ = c.raw.Close()
	c.host.open--
	s.forgetUnused(c.host)
}

// closeOld closes those that were idle for too long, and looks again when the next one will be.
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

// closeIdle closes all that are idle.
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

// leave is for a connection that was not made, or is closed.
func (s *hosts) leave(h *host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.open--
	if len(h.waiting) > 0 && h.open < enoughConns {
		h.open++
		h.serve(nil)
	}
	s.forgetUnused(h)
}

// forgetUnused forgets a host that nobody has to do with.
func (s *hosts) forgetUnused(h *host) {
	if h.open == 0 && len(h.waiting) == 0 {
		delete(s.byKey, h.key)
	}
}
