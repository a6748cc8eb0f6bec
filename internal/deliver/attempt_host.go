package deliver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Many subscriptions may share a host. When hundreds of deliveries to it begin in one moment, each
// would make a connection of its own, though those of a quick host become free again within
// milliseconds: a handshake costs five times what a delivery does, and what is above IdlePerHost is
// closed again. So once there are enough connections to a host, an attempt waits for one to become
// free, as long as they become free quickly. It dials when they do not: whoever shares a host with
// an endpoint that hangs must not wait for it.

const (
	// enoughConns is how many connections to a host are made without waiting.
	enoughConns = 64
	// hostRest is after how long a waiting attempt looks whether connections become free, and
	// hostRests how many such times all that wait may take at the pace of the last one.
	hostRest  = 25 * time.Millisecond
	hostRests = 8
)

// hosts are those that there are connections to.
type hosts struct {
	mu        sync.Mutex // guards what follows, and the fields of hosts but served
	byAddress map[string]*host
}

type host struct {
	address string
	open    int          // connections that are open or being made
	waiting int          // attempts that wait for one of them
	served  atomic.Int64 // attempts that were given one which was open
}

func newHosts() *hosts { return &hosts{byAddress: map[string]*host{}} }

// errServed ends a dial whose attempt has found a connection meanwhile.
var errServed = errors.New("a connection has become free")

// enter returns when a connection to the address may be made, which is then counted until leave. It
// returns errServed when served is closed before, because the attempt has a connection, and ctx's
// error when that ends.
func (s *hosts) enter(ctx context.Context, address string, served <-chan struct{}) (*host, error) {
	h, may := s.ask(address)
	for !may {
		had := h.served.Load()
		select {
		case <-served:
			s.change(h, 0, -1)
			return nil, errServed
		case <-ctx.Done():
			s.change(h, 0, -1)
			return nil, ctx.Err()
		case <-time.After(hostRest):
		}
		may = s.askAgain(h, h.served.Load()-had)
	}
	return h, nil
}

// ask counts a connection if there are not enough yet, and else an attempt that waits.
func (s *hosts) ask(address string) (h *host, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h = s.byAddress[address]; h == nil {
		h = &host{address: address}
		s.byAddress[address] = h
	}
	if h.open >= enoughConns {
		h.waiting++
		return h, false
	}
	h.open++
	return h, true
}

// askAgain is for an attempt that has waited while so many others were served.
func (s *hosts) askAgain(h *host, served int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.open >= enoughConns && served*hostRests >= int64(h.waiting) {
		return false
	}
	h.open++
	h.waiting--
	return true
}

// leave is for a connection that was not made, or is closed.
func (s *hosts) leave(h *host) { s.change(h, -1, 0) }

func (s *hosts) change(h *host, open, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.open += open
	h.waiting += waiting
	if h.open == 0 && h.waiting == 0 {
		delete(s.byAddress, h.address)
	}
}
