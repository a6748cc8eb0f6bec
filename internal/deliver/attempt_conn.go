package deliver

import (
	"bufio"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// attempt is the state of one call of Attempt.
type attempt struct {
	caller    context.Context // Attempt's argument, without the attempt's own deadline
	started   time.Time
	deadline  time.Time
	dial      *dial     // its last dial; nil if it made none
	conn      *conn     // the connection that it uses; nil until it has one
	ready     time.Time // when it got the connection; zero until then
	firstByte time.Time // when the answer began; zero until then
}

// dial records how one connection was opened.
type dial struct {
	tries     atomic.Int32 // addresses tried so far
	secure    bool         // TLS follows
	started   time.Time
	resolving time.Time // zero if the host is an address
	resolved  time.Time
	connected time.Time
	secured   time.Time
	remote    netip.Addr
}

// conn is a connection to a host. One attempt at a time uses it.
type conn struct {
	net.Conn               // the TLS connection, if there is TLS
	raw      net.Conn      // the TCP connection below it
	in       *bufio.Reader // buffers incoming bytes
	dial     *dial
	pool     *hosts
	host     *host
	silent   func() bool   // reports that it is still open and has nothing to read
	reused   bool          // it was kept alive from an earlier attempt
	wrote    int64         // bytes of the current request written; read only after the writing has ended
	head     int64         // bytes that the head of the answer may still have
	since    time.Time     // when it became idle
	place    *list.Element // in hosts.idle
}

func newConn(c, raw net.Conn, d *dial, s *hosts, h *host) *conn {
	made := &conn{Conn: c, raw: raw, dial: d, pool: s, host: h, silent: silence(raw)}
	made.in = bufio.NewReader(made)
	return made
}

// Write counts the bytes of a request that the connection took. A request may be sent again only if
// that count is zero. Under TLS, uncounted bytes belong to an incomplete record, which the endpoint
// cannot decrypt.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote += int64(n)
	return n, err
}

// Read fails with errLongHead if the head of an answer is too long.
func (c *conn) Read(p []byte) (int, error) {
	if c.head <= 0 {
		return 0, errLongHead
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.head)])
	c.head -= int64(n)
	return n, err
}

// connect gives the attempt a pooled or a new connection, and sets the attempt's deadline on it.
func (c *Client) connect(a *attempt, to target) error {
	key := hostKey{to.address, to.secure}
	h, kept, wait := c.hosts.acquire(key)
	for kept != nil {
		if a.use(kept) {
			return nil
		}
		c.hosts.release(kept, false)
		h, kept, wait = c.hosts.acquire(key)
	}
	ctx, cancel := context.WithDeadline(a.caller, a.deadline)
	defer cancel()
	if wait != nil {
		kept, err := c.hosts.await(ctx, h, wait)
		if err != nil {
			return err
		}
		if kept != nil {
			if a.use(kept) {
				return nil
			}
			c.hosts.release(kept, false)
			return c.connect(a, to)
		}
	}
	made, err := c.open(ctx, a, h, to)
	if err == nil {
		a.use(made)
	}
	return err
}

// use makes c the attempt's connection. It reports false if c has been closed.
func (a *attempt) use(c *conn) bool {
	if c.Conn.SetDeadline(a.deadline) != nil || c.reused && !c.silent() {
		return false
	}
	c.wrote = 0
	a.conn, a.ready = c, time.Now()
	return true
}

// open dials a connection, which its host has already counted.
func (c *Client) open(ctx context.Context, a *attempt, h *host, to target) (made *conn, err error) {
	defer func() {
		if made == nil { // also if the dialler panics
			c.hosts.uncount(h)
		}
	}()
	d := &dial{started: time.Now(), secure: to.secure}
	a.dial = d
	raw, err := c.dial(d.trace(ctx), "tcp", to.address)
	if err != nil {
		return nil, err
	}
	d.connected = time.Now()
	if ap, err := netip.ParseAddrPort(raw.RemoteAddr().String()); err == nil { // else a test's pipe
		d.remote = ap.Addr().Unmap()
	}
	if !to.secure {
		return newConn(raw, raw, d, c.hosts, h), nil
	}
	secure, err := c.handshake(ctx, raw, to.name)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	d.secured = time.Now()
	return newConn(secure, raw, d, c.hosts, h), nil
}

// handshake opens the TLS connection. Its errors are marked, so that classify can distinguish them
// from errors of the request.
func (c *Client) handshake(ctx context.Context, raw net.Conn, name string) (*tls.Conn, error) {
	cfg := c.tls.Clone()
	cfg.ServerName = name
	tlsConn := tls.Client(raw, cfg)
	if err := tlsConn.HandshakeContext(ctx); err != nil {
		return nil, &handshakeError{err}
	}
	return tlsConn, nil
}

// handshakeError marks an error as one of the TLS handshake.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "tls handshake: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

type dialKey struct{}

var errTooManyAddresses = errors.New("the name has too many addresses")

// guardedDialer calls control for each address and tries at most maxAddresses of a name. Otherwise a
// name with thousands of addresses would turn every delivery into a network scan. Its resolver expects
// marked names (resolve.go).
func guardedDialer(control func(context.Context, string, string, syscall.RawConn) error) *net.Dialer {
	return &net.Dialer{
		Resolver: dnsOnly(new(net.Dialer).DialContext),
		ControlContext: func(ctx context.Context, network, address string, rc syscall.RawConn) error {
			if d, ok := ctx.Value(dialKey{}).(*dial); ok && d.tries.Add(1) > maxAddresses {
				return errTooManyAddresses
			}
			return control(ctx, network, address, rc)
		},
	}
}

// trace makes the dialer record the DNS times in d, and lets ControlContext find d.
func (d *dial) trace(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, dialKey{}, d)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { d.resolving = time.Now() },
		DNSDone:  func(httptrace.DNSDoneInfo) { d.resolved = time.Now() },
	})
}

// late reports whether the deadline ended the attempt. If it passed at the very end of an answer,
// net/http reports a broken answer instead, so the clock is compared too.
func (a *attempt) late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || !time.Now().Before(a.deadline)
}

// answered reports whether the endpoint sent at least one byte.
func (a *attempt) answered() bool { return !a.firstByte.IsZero() }

// named reports whether the attempt resolved its host by DNS.
func (a *attempt) named() bool { return a.dial != nil && !a.dial.resolving.IsZero() }

// timings returns the phases of an attempt that ended at end. These are the times that an attempt and
// its dial record, and the phases between them:
//
//	started  resolving   resolved   connected   secured, ready    firstByte        end
//	   |         |--- DNS ---|-- Connect --|--- TLS ---|-- FirstByte --|---- Body ----|
func (a *attempt) timings(end time.Time) Timings {
	var t Timings
	if a.dial != nil && (a.conn == nil || a.conn.dial == a.dial) {
		connecting := a.dial.started
		if !a.dial.resolving.IsZero() {
			t.DNS = until(a.dial.resolved, end).Sub(a.dial.resolving)
			connecting = until(a.dial.resolved, end)
		}
		t.Connect = until(a.dial.connected, end).Sub(connecting)
		if a.dial.secure && !a.dial.connected.IsZero() {
			t.TLS = until(a.dial.secured, end).Sub(a.dial.connected)
		}
	}
	if a.ready.IsZero() {
		return t
	}
	t.FirstByte = until(a.firstByte, end).Sub(a.ready)
	if !a.firstByte.IsZero() {
		t.Body = end.Sub(a.firstByte)
	}
	return t
}

// until returns t, or end if t is zero.
func until(t, end time.Time) time.Time {
	if t.IsZero() {
		return end
	}
	return t
}

// remote returns the connected address, or "" if there is none or it is special.
func (a *attempt) remote(special func(netip.Addr) bool) string {
	d := a.dial
	if a.conn != nil {
		d = a.conn.dial
	}
	if d == nil || !d.remote.IsValid() || special(d.remote) {
		return ""
	}
	return d.remote.String()
}
