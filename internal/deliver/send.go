// Package deliver brings events to webhook endpoints: it claims deliveries, makes one bounded
// attempt at a time for each, and records what came of it. It must not trust anything an endpoint
// says or does, and holds no database transaction while a request is under way.
package deliver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"syscall"
	"time"
)

// What an attempt spends at most on what a receiver sends.
const (
	maxAnswerHeader = 32 << 10
	maxAnswerBody   = 16 << 10
	maxAddresses    = 8 // of one name, tried in one attempt
	// IdlePerHost is how many idle connections are kept for one host, which many subscriptions may
	// share: what a hundred quick ones have in flight. What is above them shakes hands anew for
	// each delivery, at five times its cost.
	IdlePerHost = 512
	idleTimeout = 30 * time.Second
	maxIdle     = 1024
)

// ClientConfig is what a Client needs to know. Control and Blocked are required, unless DialContext
// replaces the network.
type ClientConfig struct {
	// Timeout bounds a whole attempt: name, connection, TLS, request, headers and body.
	Timeout time.Duration
	// Control judges each address just before it is connected to; an error refuses it.
	Control func(ctx context.Context, network, address string, c syscall.RawConn) error
	// Blocked reports whether an error is one of Control's refusals.
	Blocked func(error) bool
	// Special reports whether an address is kept out of Result.RemoteAddress. Without it every
	// address is.
	Special func(netip.Addr) bool
	// Allowed reports whether the operator allows a special address: names of the hosts file lead
	// to those alone. Without it none is.
	Allowed func(netip.Addr) bool
	// RootCAs are the trusted authorities; nil means the system's.
	RootCAs *x509.CertPool
	// PerHost is how many idle connections are kept for each host, Idle how many for all of them; 0
	// means 1024.
	PerHost, Idle int
	// UserAgent is sent where the request's header has none.
	UserAgent string
	// DialContext replaces the network in tests. Control is not asked then.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client performs attempts. It is safe for concurrent use, keeps connections alive between
// attempts, and follows no proxy, redirect or cookie. Whether plain http is acceptable is the
// caller's rule, not the Client's.
type Client struct {
	cfg       ClientConfig
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	tls       *tls.Config
	hosts     *hosts
	transport *http.Transport
}

// NewClient returns a Client, and panics if the config has neither a guard nor a replaced network:
// a sender that connects anywhere must not come about by forgetting a field.
func NewClient(cfg ClientConfig) *Client {
	if cfg.DialContext == nil && (cfg.Control == nil || cfg.Blocked == nil) {
		panic("deliver: a Client needs Control and Blocked")
	}
	if cfg.Blocked == nil {
		cfg.Blocked = func(error) bool { return false }
	}
	if cfg.Special == nil {
		cfg.Special = func(netip.Addr) bool { return true }
	}
	if cfg.Allowed == nil {
		cfg.Allowed = func(netip.Addr) bool { return false }
	}
	c := &Client{cfg: cfg, dial: cfg.DialContext, hosts: newHosts()}
	if c.dial == nil {
		c.dial = dialName(guardedDialer(cfg.Control), cfg.Allowed)
	}
	c.tls = &tls.Config{
		RootCAs:    cfg.RootCAs,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
	}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	c.transport = &http.Transport{
		DialContext:            c.openPlain,
		DialTLSContext:         c.openTLS,
		Protocols:              &http1,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConns:           cmp.Or(cfg.Idle, maxIdle),
		MaxIdleConnsPerHost:    max(cfg.PerHost, 1),
		IdleConnTimeout:        idleTimeout,
		// No MaxConnsPerHost: two subscriptions may share a host, and one that hangs must not hold
		// up the other.
	}
	return c
}

// CloseIdle closes the connections that no attempt is using.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

// Request is one POST. The Client owns Header from the call on and may change it; neither Header
// nor Body may be written to afterwards, not even when Attempt has returned: an endpoint that
// answers early leaves the rest of the request being written until its connection is closed.
type Request struct {
	URL    string
	Header http.Header // signed, with the subscription's own headers
	Body   []byte
	// Redact lists what must not be kept of the answer: the secrets and the values of the custom
	// headers. Strings shorter than four bytes are ignored.
	Redact []string
}

// Result is what is known of an attempt when it has ended.
type Result struct {
	StartedAt time.Time
	Duration  time.Duration
	// StatusCode is 0 if no valid answer came. It may be 2xx beside a Class: the answer's body then
	// did not end well.
	StatusCode int
	// Class is empty if, and only if, the endpoint took the delivery.
	Class ErrorClass
	// Error is a sentence for a person, empty on success; it tells nothing of the network inside.
	Error string
	// RemoteAddress is the address that was connected to, without its port; empty if none was, or a
	// special one.
	RemoteAddress string
	Timings       Timings
	// ResponseBody is the beginning of the answer: at most 16 KB of valid UTF-8 without NUL, with
	// Request.Redact masked.
	ResponseBody string
}

// Timings are the phases of an attempt. A phase that was not reached, or that a reused connection
// spared, is zero; one that was cut short lasts until the attempt's end.
type Timings struct {
	DNS       time.Duration
	Connect   time.Duration
	TLS       time.Duration
	FirstByte time.Duration // from the connection being ready, so it holds the sending of the request
	Body      time.Duration // from the first byte of the answer to its end
}

// Attempt sends r once and blocks until the outcome is known, at most the Client's Timeout (or
// ctx's deadline if that is earlier). Cancelling ctx ends it at once with ErrorCanceled: the
// endpoint may or may not have received it.
//
// A 2xx answer is a success once its body has ended, or once 16 KB of it have been read. A body
// that is still coming at the deadline makes the attempt a timeout, one that breaks off a
// connection error, whatever the status said. An answer other than 2xx is ErrorStatus, whatever
// becomes of its body.
//
// At most one POST reaches the endpoint. A second connection is used only when a kept-alive one
// turned out to be closed before a single byte of this request had been written to it; if any had,
// the attempt fails with ErrorConnection.
//
// A panic while connecting, which happens on a goroutine of net/http, is raised again here with the
// stack it had.
//
// Clock: time.Now is right here, for an attempt happens in the real time of sockets and context
// deadlines; testing/synctest replaces all of them together.
func (c *Client) Attempt(ctx context.Context, r Request) Result {
	a := &attempt{caller: ctx, started: time.Now()}
	a.deadline = a.started.Add(c.cfg.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(a.deadline) {
		a.deadline = d
	}
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()

	res := Result{StartedAt: a.started}
	resp, err := c.roundTrip(a.trace(ctx), a, r)
	if p, ok := errors.AsType[*panicked](err); ok {
		panic(p)
	}
	if err == nil {
		res.StatusCode = resp.StatusCode
		res.ResponseBody, err = readAnswer(resp, r.Redact)
	}
	res.Class, res.Error = c.outcome(ctx, a, res.StatusCode, err)
	end := time.Now()
	res.Duration = end.Sub(a.started)
	res.Timings = a.timings(end)
	if res.Error == textName { // how far it came says whether the name leads inside
		res.Timings = Timings{DNS: res.Timings.DNS + res.Timings.Connect}
	}
	res.RemoteAddress = a.remote(c.cfg.Special)
	return res
}

// roundTrip sends the request and returns the answer's head. The request has no GetBody, so that
// net/http cannot replay it by itself once its body has been touched.
func (c *Client) roundTrip(ctx context.Context, a *attempt, r Request) (*http.Response, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(r.Body))
		if err != nil {
			return nil, errInvalidURL
		}
		req.GetBody = nil
		req.Header = c.header(r.Header)
		resp, err := c.transport.RoundTrip(req)
		if err != nil && a.nothingWritten() && ctx.Err() == nil {
			continue // each turn uses up one stale connection, the last one dials
		}
		if err == nil && resp.StatusCode < 100 {
			_ = resp.Body.Close()
			return nil, errInvalidStatus
		}
		return resp, err
	}
}

// header completes the caller's header. The removed ones would tell net/http that a broken POST may
// be sent again.
func (c *Client) header(h http.Header) http.Header {
	if h == nil {
		h = http.Header{}
	}
	delete(h, "Idempotency-Key")
	delete(h, "X-Idempotency-Key")
	if _, ok := h["User-Agent"]; !ok && c.cfg.UserAgent != "" {
		h["User-Agent"] = []string{c.cfg.UserAgent}
	}
	return h
}

var (
	errInvalidURL    = errors.New("invalid url")
	errInvalidStatus = errors.New("invalid status code")
)

type attemptKey struct{}

// trace makes ctx report to a which connection is used and when the answer begins, and lets the
// dialer find a. Got1xxResponse stays unset on purpose: with it net/http would no longer count
// interim answers against maxAnswerHeader, and a flood of them would last until the deadline.
func (a *attempt) trace(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:              a.wants,
		GotConn:              a.gotConn,
		GotFirstResponseByte: a.gotFirstByte,
	})
}
