package deliver

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// attempt is what one call of Attempt learns about itself while net/http works for it.
type attempt struct {
	caller   context.Context // Attempt's argument, without the attempt's own deadline
	started  time.Time
	deadline time.Time

	mu        sync.Mutex    // guards what follows: net/http dials and reads in goroutines of its own
	served    chan struct{} // closed when it has a connection
	dial      *dial         // the one this attempt is waiting for, or waited for
	conn      *conn         // the one it uses
	wrote     int64         // conn's counter of bytes when this attempt got it
	reused    bool          // conn was kept alive from an earlier attempt
	ready     time.Time     // when conn was given to the request; zero before
	firstByte time.Time     // when the answer began; zero before
}

// dial is the making of one connection. net/http may finish it for a later attempt, so it has its
// own lock.
type dial struct {
	tries  atomic.Int32 // addresses of the name that were tried
	secure bool         // TLS follows

	mu        sync.Mutex // guards what follows
	started   time.Time
	resolving time.Time // zero where the host is an address
	resolved  time.Time
	connected time.Time
	secured   time.Time
	remote    netip.Addr
}

// conn counts the bytes of requests handed to it: only with that is it certain that a request may
// be sent again.
type conn struct {
	net.Conn          // TLS where there is TLS
	raw      net.Conn // below it
	dial     *dial
	wrote    atomic.Int64
	host     *host
	left     func() // counts it out, once
}

// Write counts what the connection took, of requests alone: the bytes of a TLS handshake go by the
// connection below.
func (c *conn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.wrote.Add(int64(n))
	return n, err
}

// Close closes the connection at once. It sends no TLS close alert, for which crypto/tls would wait
// up to 5 s when the endpoint has stopped reading; HTTP's own framing tells where messages end.
func (c *conn) Close() error {
	c.left()
	return c.raw.Close()
}

func (c *Client) openPlain(ctx context.Context, network, address string) (net.Conn, error) {
	return c.open(ctx, network, address, false)
}

func (c *Client) openTLS(ctx context.Context, network, address string) (net.Conn, error) {
	return c.open(ctx, network, address, true)
}

// open makes a connection for the attempt in ctx. net/http calls it with a context that neither the
// request's deadline nor its cancelling reaches, hence the bounds are taken from the attempt. The
// dial may outlive an attempt which found an idle connection meanwhile, but not that attempt's
// deadline. It runs on a goroutine of net/http, which no caller of Attempt could recover: a panic
// becomes the error *panicked.
func (c *Client) open(ctx context.Context, network, address string, secure bool) (opened net.Conn, err error) {
	a := ctx.Value(attemptKey{}).(*attempt)
	ctx, cancel := context.WithDeadline(a.caller, a.deadline)
	defer cancel()
	h, err := c.hosts.enter(ctx, address, a.wanting())
	if err != nil {
		return nil, err
	}
	var raw net.Conn
	defer func() {
		if err != nil {
			c.hosts.leave(h)
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			opened, err = nil, asPanicked(v)
			if raw != nil {
				_ = raw.Close()
			}
		}
	}()

	d := &dial{started: time.Now(), secure: secure}
	a.dialing(d)
	raw, err = c.dial(d.trace(ctx), network, address)
	if err != nil {
		return nil, err
	}
	d.connectedTo(raw.RemoteAddr())
	made := &conn{Conn: raw, raw: raw, dial: d, host: h, left: sync.OnceFunc(func() { c.hosts.leave(h) })}
	if !secure {
		return made, nil
	}
	tlsConn, err := c.handshake(ctx, raw, address)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	d.mark(&d.secured)
	made.Conn = tlsConn
	return made, nil
}

// handshake makes the TLS connection. Its errors are marked, so that classify tells them from those
// of the request.
func (c *Client) handshake(ctx context.Context, raw net.Conn, address string) (*tls.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	cfg := c.tls.Clone()
	cfg.ServerName = host
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
		DNSStart: func(httptrace.DNSStartInfo) { d.mark(&d.resolving) },
		DNSDone:  func(httptrace.DNSDoneInfo) { d.mark(&d.resolved) },
	})
}

// mark sets one of the times of the dial to now.
func (d *dial) mark(t *time.Time) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	*t = now
}

// connectedTo notes that the dial has reached an address.
func (d *dial) connectedTo(address net.Addr) {
	d.mark(&d.connected)
	ap, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return // a test's pipe
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remote = ap.Addr().Unmap()
}

// dialing notes which dial the attempt waits for.
func (a *attempt) dialing(d *dial) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dial = d
}

// wants notes that the attempt asks for a connection.
func (a *attempt) wants(string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served = make(chan struct{})
}

// wanting is closed when the attempt has the connection that it asked for.
func (a *attempt) wanting() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.served
}

// gotConn notes which connection net/http gave the request, and how much had been written to it
// before.
func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = info.Conn.(*conn)
	close(a.served)
	if info.Reused {
		a.conn.host.served.Add(1)
	}
	a.wrote = a.conn.wrote.Load()
	a.reused = info.Reused
	a.ready = now
}

// gotFirstByte notes when the answer began.
func (a *attempt) gotFirstByte() {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.firstByte = now
}

// nothingWritten reports whether the failed request was given a kept-alive connection which took no
// byte of it, and forgets that connection. It is exact: net/http returns an error only when its
// writing goroutine has ended. Under TLS, bytes that are not counted belong to a record that is
// incomplete, which the endpoint cannot decrypt.
func (a *attempt) nothingWritten() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn == nil || !a.reused || a.conn.wrote.Load() != a.wrote {
		return false
	}
	a.conn, a.ready, a.firstByte = nil, time.Time{}, time.Time{}
	return true
}

// answered reports whether anything came back.
func (a *attempt) answered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.firstByte.IsZero()
}

// connected reports whether the request was given a connection.
func (a *attempt) connected() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conn != nil
}

// named reports whether the attempt asked DNS for its host.
func (a *attempt) named() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dial == nil {
		return false
	}
	a.dial.mu.Lock()
	defer a.dial.mu.Unlock()
	return !a.dial.resolving.IsZero()
}

// timings returns the phases of an attempt that ended then. The times that an attempt and its dial
// note, and the phases between them, are:
//
//	started  resolving   resolved   connected   secured, ready    firstByte        end
//	   |         |--- DNS ---|-- Connect --|--- TLS ---|-- FirstByte --|---- Body ----|
func (a *attempt) timings(end time.Time) Timings {
	a.mu.Lock()
	defer a.mu.Unlock()
	var t Timings
	// A connection that became free before our own dial had ended is not that dial's.
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
	d.mu.Lock()
	defer d.mu.Unlock()
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
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.dial
	if a.conn != nil {
		d = a.conn.dial
	}
	if d == nil {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.remote.IsValid() || special(d.remote) {
		return ""
	}
	return d.remote.String()
}
