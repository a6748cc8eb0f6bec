// Package deliver sends events to webhook endpoints. It claims deliveries, makes one bounded attempt
// at a time for each, and records the outcome. It trusts nothing that an endpoint sends, and holds no
// database transaction while a request is in flight.
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
	"net/netip"
	"syscall"
	"time"
)

// Limits on what a receiver may make an attempt read or try.
const (
	maxAnswerHeader = 32 << 10
	maxAnswerBody   = 16 << 10
	maxAddresses    = 8 // most addresses of one name that one attempt tries
	// IdlePerHost is the number of idle connections kept per host, which many subscriptions may share.
	// It covers what a hundred fast subscriptions have in flight. Connections beyond it need a new
	// handshake for each delivery, which costs five times as much as the delivery.
	IdlePerHost = 512
	idleTimeout = 30 * time.Second
	maxIdle     = 1024
)

// ClientConfig configures a Client. Control and Blocked are required unless DialContext is set.
type ClientConfig struct {
	// Timeout bounds a whole attempt: name, connection, TLS, request, headers and body.
	Timeout time.Duration
	// Control is called for each address just before connecting; an error refuses the address.
	Control func(ctx context.Context, network, address string, c syscall.RawConn) error
	// Blocked reports whether an error is one of Control's refusals.
	Blocked func(error) bool
	// Special reports whether an address is left out of Result.RemoteAddress. If nil, every address is.
	Special func(netip.Addr) bool
	// Allowed reports whether the operator allows a special address. Names from the hosts file resolve
	// to allowed addresses only. If nil, no address is allowed.
	Allowed func(netip.Addr) bool
	// RootCAs are the trusted authorities; nil means the system's.
	RootCAs *x509.CertPool
	// PerHost is the most idle connections kept per host, Idle the most for all hosts; Idle 0 means
	// 1024.
	PerHost, Idle int
	// UserAgent is sent if the request's header has none.
	UserAgent string
	// DialContext replaces the network in tests. Control is then not called.
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client performs attempts. It is safe for concurrent use, keeps connections alive between
// attempts, and follows no proxy, redirect or cookie. Whether plain http is acceptable is the
// caller's rule, not the Client's.
//
// net/http encodes headers and parses answers, but does not manage connections: an attempt writes and
// reads on its own goroutine (attempt_exchange.go). net/http runs two more goroutines per connection,
// which made an attempt 1.5 to 2 times as expensive.
type Client struct {
	cfg   ClientConfig
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	tls   *tls.Config
	hosts *hosts
}

// NewClient returns a Client. It panics if cfg has neither a guard nor DialContext, so that a forgotten
// field cannot create a client that connects anywhere.
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
	c := &Client{cfg: cfg, dial: cfg.DialContext, hosts: &hosts{perHost: max(cfg.PerHost, 1), all: cmp.Or(cfg.Idle, maxIdle), byKey: map[hostKey]*host{}}}
	if c.dial == nil {
		c.dial = dialName(guardedDialer(cfg.Control), cfg.Allowed)
	}
	c.tls = &tls.Config{
		RootCAs:    cfg.RootCAs,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
	}
	return c
}

// CloseIdle closes the connections that no attempt is using.
func (c *Client) CloseIdle() { c.hosts.closeIdle() }

// Request is one POST. Attempt keeps nothing of it after it has returned.
type Request struct {
	URL    string
	Header http.Header // signed, with the subscription's own headers
	Body   []byte
	// Redact returns the strings to mask in the answer: secrets and values of custom headers. Strings
	// shorter than four bytes are ignored. It is called only if an answer has a body; nil masks nothing.
	Redact func() []string
}

// Result describes an attempt that has ended.
type Result struct {
	StartedAt time.Time
	Duration  time.Duration
	// StatusCode is 0 if no valid answer came. It may be 2xx although Class is set, if the answer's body
	// broke off.
	StatusCode int
	// Class is empty if and only if the endpoint accepted the delivery.
	Class ErrorClass
	// Error is a sentence for a person, empty on success. It reveals nothing about the internal network.
	Error string
	// RemoteAddress is the connected address without its port; empty if there was none or it is special.
	RemoteAddress string
	Timings       Timings
	// ResponseBody is the beginning of the answer: at most 16 KB of valid UTF-8 without NUL, with
	// Request.Redact masked.
	ResponseBody string
}

// Timings are the phases of an attempt. A phase that was not reached, or that a reused connection
// skipped, is zero. A phase that was cut short lasts until the attempt's end.
type Timings struct {
	DNS       time.Duration
	Connect   time.Duration
	TLS       time.Duration
	FirstByte time.Duration // time from the open connection to the first byte of the answer
	Body      time.Duration // from the first byte of the answer to its end
}

// Attempt sends r once and blocks until the outcome is known, at most the Client's Timeout (or
// ctx's deadline if that is earlier). Cancelling ctx ends it at once with ErrorCanceled: the
// endpoint may or may not have received it.
//
// A 2xx answer is a success once its body has ended, or once 16 KB of it have been read. If the body
// has not ended at the deadline, the attempt is a timeout; if it breaks off, a connection error. An
// answer other than 2xx is ErrorStatus, even if its body breaks off.
//
// At most one POST reaches the endpoint. A second connection is used only if a kept-alive one was
// closed before a single byte of this request was written to it. Otherwise the attempt fails with
// ErrorConnection.
//
// Clock: Attempt uses time.Now because sockets and deadlines run in real time; testing/synctest
// replaces all of them together.
func (c *Client) Attempt(ctx context.Context, r Request) Result {
	a := &attempt{caller: ctx, started: time.Now()}
	a.deadline = a.started.Add(c.cfg.Timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(a.deadline) {
		a.deadline = d
	}
	res := Result{StartedAt: a.started}
	var err error
	res.StatusCode, res.ResponseBody, err = c.roundTrip(a, r)
	res.Class, res.Error = c.outcome(a, res.StatusCode, err)
	end := time.Now()
	res.Duration = end.Sub(a.started)
	res.Timings = a.timings(end)
	if res.Error == textName { // later phases would show whether the name resolves to an internal address
		res.Timings = Timings{DNS: res.Timings.DNS + res.Timings.Connect}
	}
	res.RemoteAddress = a.remote(c.cfg.Special)
	return res
}

// roundTrip sends the request and returns as much of the answer as arrived.
func (c *Client) roundTrip(a *attempt, r Request) (status int, body string, err error) {
	to, err := targetOf(r.URL)
	if err != nil {
		return 0, "", err
	}
	request := requests.Get().(*bytes.Buffer)
	defer requests.Put(request)
	request.Reset()
	rest, err := c.encode(request, to, r)
	if err != nil {
		return 0, "", err
	}
	for {
		if err := c.connect(a, to); err != nil {
			return 0, "", err
		}
		status, body, err = a.exchange(request.Bytes(), rest, r.Redact)
		if !errors.Is(err, errStale) {
			return status, body, err
		}
		// Each round uses up one stale connection; the last one dials.
	}
}
