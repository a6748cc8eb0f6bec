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
//
// Requests and answers have the form that net/http gives them and reads. What it has no part in are
// the connections: an attempt writes and reads on the goroutine that makes it (attempt_exchange.go), where
// net/http has two more for each connection. With them an attempt cost half as much again, or twice.
type Client struct {
	cfg   ClientConfig
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	tls   *tls.Config
	hosts *hosts
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
	c := &Client{cfg: cfg, dial: cfg.DialContext, hosts: newHosts(max(cfg.PerHost, 1), cmp.Or(cfg.Idle, maxIdle))}
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

// Request is one POST. Nothing of it is used any more when Attempt has returned.
type Request struct {
	URL    string
	Header http.Header // signed, with the subscription's own headers
	Body   []byte
	// Redact returns what must not be kept of the answer: the secrets and the values of the custom
	// headers. Strings shorter than four bytes are ignored. It is asked where something is to be
	// kept; nil is nothing.
	Redact func() []string
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
// Clock: time.Now is right here, for an attempt happens in the real time of sockets and deadlines;
// testing/synctest replaces all of them together.
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
	if res.Error == textName { // how far it came says whether the name leads inside
		res.Timings = Timings{DNS: res.Timings.DNS + res.Timings.Connect}
	}
	res.RemoteAddress = a.remote(c.cfg.Special)
	return res
}

// roundTrip sends the request and returns the answer as far as it came.
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
		// Each turn uses up one stale connection, and the last one dials.
	}
}
