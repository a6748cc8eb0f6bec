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

// attempt is what one call of Attempt learns about itself.
type attempt struct {
	caller    context.Context // Attempt's argument, without the attempt's own deadline
	started   time.Time
	deadline  time.Time
	dial      *dial     // the last that it made; nil where it made none
	conn      *conn     // the connection that it uses or used; nil before
	ready     time.Time // when it got that; zero before
	firstByte time.Time // when the answer began; zero before
}

// dial is the making of one connection.
type dial struct {
	tries     atomic.Int32 // addresses of the name that were tried
	secure    bool         // TLS follows
	started   time.Time
	resolving time.Time // zero where the host is an address
	resolved  time.Time
	connected time.Time
	secured   time.Time
	remote    netip.Addr
}

// conn is a connection to a host, which one attempt at a time uses.
type conn struct {
	net.Conn               // TLS where there is TLS
	raw      net.Conn      // below it
	in       *bufio.Reader // of what comes
	dial     *dial
	pool     *hosts
	host     *host
	silent   func() bool   // reports that nothing came since it was last used, and that it has not ended
	reused   bool          // it was kept alive from an earlier attempt
	wrote    int64         // of this attempt's request. Whoever writes uses it, and whoever waited for that
	head     int64         // how many bytes more the head of an answer may have
	since    time.Time     // when it became idle
	place    *list.Element // among those that are idle
}

func newConn(c, raw net.Conn, d *dial, s *hosts, h *host) *conn {
	made := &conn{Conn: c, raw: raw, dial: d, pool: s, host: h, silent: silence(raw)}
	made.in = bufio.NewReader(made)
	return made
}

// Write counts what the connection took of a request: only with that is it certain that it may be
// sent again. Under TLS, bytes that are not counted belong to a record that is incomplete, which
// the endpoint cannot decrypt.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote += int64(n)
	return n, err
}

// Read ends when the head of an answer is too long.
func (c *conn) Read(p []byte) (int, error) {
	if c.head <= 0 {
		return 0, errLongHead
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.head)])
	c.head -= int64(n)
	return n, err
}

// connect gives the attempt a connection, one that was kept or a new one, whose deadline is the
// attempt's.
func (c *Client) connect(a *attempt, to target) error {
	key := hostKey{to.address, to.secure}
	h, kept, wait := c.hosts.ask(key)
	for kept != nil {
		if a.take(kept) {
			return nil
		}
		c.hosts.release(kept, false)
		h, kept, wait = c.hosts.ask(key)
	}
	ctx, cancel := context.WithDeadline(a.caller, a.deadline)
	defer cancel()
	if wait != nil {
		kept, err := c.hosts.await(ctx, h, wait)
		if err != nil {
			return err
		}
		if kept != nil {
			if a.take(kept) {
				return nil
			}
			c.hosts.release(kept, false)
			return c.connect(a, to)
		}
	}
	made, err := c.open(ctx, a, h, to)
	if err == nil {
		a.take(made)
	}
	return err
}

// take makes the connection the attempt's. It reports false, and does not, when the connection has
// ended.
func (a *attempt) take(c *conn) bool {
	if c.Conn.SetDeadline(a.deadline) != nil || c.reused && !c.silent() {
		return false
	}
	c.wrote = 0
	a.conn, a.ready = c, time.Now()
	return true
}

// forget makes the attempt one that had no connection.
func (a *attempt) forget() { a.conn, a.ready, a.firstByte = nil, time.Time{}, time.Time{} }

// open makes a connection, which the host counts already.
func (c *Client) open(ctx context.Context, a *attempt, h *host, to target) (made *conn, err error) {
	defer func() {
		if made == nil { // also where the dialler panics
			c.hosts.leave(h)
		}
	}()
	d := &dial{started: time.Now(), secure: to.secure}
	a.dial = d
	raw, err := c.dial(d.trace(ctx), "tcp", to.address)
	if err != nil {
		return nil, err
	}
	d.connectedTo(raw.RemoteAddr())
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

// handshake makes the TLS connection. Its errors are marked, so that classify tells them from those
// of the request.
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

// guardedDialer asks control for each address, and tries only the first few of a name: a name with
// thousands of addresses would make every delivery a scan of somebody's network. Its resolver takes
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

// trace has the dialer note when it asked for the name, and find d again when it counts addresses.
func (d *dial) trace(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, dialKey{}, d)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { d.resolving = time.Now() },
		DNSDone:  func(httptrace.DNSDoneInfo) { d.resolved = time.Now() },
	})
}

// connectedTo notes that the dial has reached an address.
func (d *dial) connectedTo(address net.Addr) {
	d.connected = time.Now()
	if ap, err := netip.ParseAddrPort(address.String()); err == nil { // else a test's pipe
		d.remote = ap.Addr().Unmap()
	}
}

// late reports whether the deadline was what ended the attempt. Where it fell into the end of an
// answer, net/http does not tell it from a broken one.
func (a *attempt) late(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || !time.Now().Before(a.deadline)
}

// answered reports whether anything came back.
func (a *attempt) answered() bool { return !a.firstByte.IsZero() }

// named reports whether the attempt asked DNS for its host.
func (a *attempt) named() bool { return a.dial != nil && !a.dial.resolving.IsZero() }

// timings returns the phases of an attempt that ended then. The times that an attempt and its dial
// note, and the phases between them, are:
//
//	started  resolving   resolved   connected   secured, ready    firstByte        end
//	   |         |--- DNS ---|-- Connect --|--- TLS ---|-- FirstByte --|---- Body ----|
func (a *attempt) timings(end time.Time) Timings {
	var t Timings
	if a.dial != nil && (a.conn == nil || a.conn.dial == a.dial) {
		a.dial.timings(&t, end)
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

// timings fills in the phases that belong to the making of a connection.
func (d *dial) timings(t *Timings, end time.Time) {
	connecting := d.started
	if !d.resolving.IsZero() {
		t.DNS = until(d.resolved, end).Sub(d.resolving)
		connecting = until(d.resolved, end)
	}
	t.Connect = until(d.connected, end).Sub(connecting)
	if d.secure && !d.connected.IsZero() {
		t.TLS = until(d.secured, end).Sub(d.connected)
	}
}

// until is t, or the end if t never came.
func until(t, end time.Time) time.Time {
	if t.IsZero() {
		return end
	}
	return t
}

// remote is the address connected to, as far as it may be told.
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
