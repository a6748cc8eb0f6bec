package deliver

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"
)

// target is the parsed URL of an endpoint.
type target struct {
	secure  bool   // use TLS
	host    string // value of the Host header
	name    string // host name in ASCII, for DNS and the certificate
	address string // name and port
	uri     string // path and query
}

var (
	errInvalidURL    = errors.New("invalid url")
	errInvalidHeader = errors.New("invalid header")
	errInvalidStatus = errors.New("invalid status code")
	errLongHead      = errors.New("the head of the answer is too long")
)

// targetOf parses the URL of an endpoint, or returns errInvalidURL.
func targetOf(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" {
		return target{}, errInvalidURL
	}
	t := target{secure: u.Scheme == "https", host: u.Host, name: u.Hostname(), uri: u.RequestURI()}
	if strings.ContainsFunc(t.name, func(r rune) bool { return r > 0x7f }) {
		if t.name, err = idna.Lookup.ToASCII(t.name); err != nil {
			return target{}, errInvalidURL
		}
		t.host = t.name
		if port := u.Port(); port != "" {
			t.host += ":" + port
		}
	}
	if !httpguts.ValidHostHeader(t.host) {
		return target{}, errInvalidURL
	}
	port := u.Port()
	switch {
	case port != "":
	case t.secure:
		port = "443"
	default:
		port = "80"
	}
	t.address = net.JoinHostPort(t.name, port)
	return t, nil
}

// ownHeaders are set by encode and never taken from the request.
var ownHeaders = map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true}

// requests holds buffers for encoded requests.
var requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// atOnce is the largest request that is written before its answer is read: socket buffers hold that
// much even if the endpoint does not read. A larger request is written while reading, because an
// endpoint may answer and stop reading.
const atOnce = 16 << 10

// encode writes the request into b. If the whole is larger than atOnce, it leaves the body out and
// returns it as rest. If a header is invalid, encode returns errInvalidHeader.
func (c *Client) encode(b *bytes.Buffer, to target, r Request) (rest []byte, err error) {
	for name, values := range r.Header {
		for _, v := range values {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(v) {
				return nil, errInvalidHeader
			}
		}
	}
	b.WriteString("POST ")
	b.WriteString(to.uri)
	b.WriteString(" HTTP/1.1\r\nHost: ")
	b.WriteString(to.host)
	if _, given := r.Header["User-Agent"]; !given && c.cfg.UserAgent != "" {
		b.WriteString("\r\nUser-Agent: ")
		b.WriteString(c.cfg.UserAgent)
	}
	b.WriteString("\r\nContent-Length: ")
	b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(len(r.Body)), 10))
	b.WriteString("\r\n")
	_ = r.Header.WriteSubset(b, ownHeaders) // into memory, which cannot fail
	b.WriteString("\r\n")
	if b.Len()+len(r.Body) > atOnce {
		return r.Body, nil
	}
	b.Write(r.Body)
	return nil, nil
}

// errStale means that a kept-alive connection was closed before it took any byte of the request. The
// request may be sent on another connection.
var errStale = errors.New("the connection was closed before anything was sent")

// exchange sends a request on the attempt's connection, reads its answer, and releases the
// connection. The connection is kept only if both ended well.
func (a *attempt) exchange(first, rest []byte, redact func() []string) (status int, body string, err error) {
	c, keep := a.conn, false
	forget := context.AfterFunc(a.caller, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	// If the caller's context has ended, its deadline may already be set: do not reuse the connection.
	defer func() { c.pool.release(c, forget() && keep) }()
	written := c.send(first, rest)
	resp, err := c.readHead(a)
	if err == nil {
		status = resp.StatusCode
		body, keep, err = readAnswer(resp, redact)
		keep = keep && !resp.Close && c.in.Buffered() == 0
	}
	var unsent error
	select {
	case unsent = <-written:
	default: // answered early, or not at all: closing the connection ends the writing
		keep = false
		_ = c.raw.Close()
		unsent = <-written
	}
	if err == nil || unsent == nil {
		return status, body, err
	}
	if status == 0 && c.reused && c.wrote == 0 && !errors.Is(unsent, os.ErrDeadlineExceeded) {
		// Reset the attempt to the state before it had a connection.
		a.conn, a.ready, a.firstByte = nil, time.Time{}, time.Time{}
		return 0, "", errStale
	}
	return status, body, errors.Join(err, unsent)
}

// send writes a request. The channel receives the result once the writing has ended.
func (c *conn) send(first, rest []byte) <-chan error {
	written := make(chan error, 1)
	if rest == nil {
		_, err := c.Write(first)
		written <- err
		return written
	}
	go func() {
		_, err := c.Write(first)
		if err == nil {
			_, err = c.Write(rest)
		}
		written <- err
	}()
	return written
}

// post is all that http.ReadResponse needs to know of the request.
var post = &http.Request{Method: http.MethodPost}

// readHead reads the answer up to its body. It skips interim answers (1xx), which count towards the
// head's limit.
func (c *conn) readHead(a *attempt) (*http.Response, error) {
	c.head = maxAnswerHeader
	if _, err := c.in.Peek(1); err != nil {
		return nil, err
	}
	a.firstByte = time.Now()
	for {
		resp, err := http.ReadResponse(c.in, post)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode < 100:
			return nil, errInvalidStatus
		case resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols:
			continue
		}
		c.head = math.MaxInt64
		return resp, nil
	}
}
