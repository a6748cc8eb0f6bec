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

// target is where a request goes.
type target struct {
	secure  bool   // by TLS
	host    string // as the request names it
	name    string // of the host, as it is looked up and as its certificate must have it
	address string // name and port
	uri     string // path and query
}

var (
	errInvalidURL    = errors.New("invalid url")
	errInvalidHeader = errors.New("invalid header")
	errInvalidStatus = errors.New("invalid status code")
	errLongHead      = errors.New("the head of the answer is too long")
)

// targetOf reads the URL of an endpoint, or returns errInvalidURL.
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

// ownHeaders are written from what is known otherwise.
var ownHeaders = map[string]bool{"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Trailer": true, "Connection": true}

// requests holds the buffers of what is written at once.
var requests = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// atOnce is how many bytes a request may have that is written before its answer is read: as many as
// a connection takes without the endpoint's reading them. A larger one is written beside the
// reading, since an endpoint may answer and read no more.
const atOnce = 16 << 10

// encode writes the request into b, and returns the body where it is too large for that; or
// errInvalidHeader.
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

// errStale says that a connection that was kept alive took nothing of the request: it may be sent
// on another one.
var errStale = errors.New("the connection was closed before anything was sent")

// exchange sends a request on the attempt's connection, reads its answer, and lets the connection
// go: it is kept for others if both ended well.
func (a *attempt) exchange(first, rest []byte, redact func() []string) (status int, body string, err error) {
	c, keep := a.conn, false
	forget := context.AfterFunc(a.caller, func() { _ = c.raw.SetDeadline(time.Unix(1, 0)) })
	// Once the end of the caller's context has begun to tell on the connection, nobody else may have it.
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
	default: // it was answered early, or not at all: the rest ends with the connection
		keep = false
		_ = c.raw.Close()
		unsent = <-written
	}
	if err == nil || unsent == nil {
		return status, body, err
	}
	if status == 0 && c.reused && c.wrote == 0 && !errors.Is(unsent, os.ErrDeadlineExceeded) {
		a.forget()
		return 0, "", errStale
	}
	return status, body, errors.Join(err, unsent)
}

// send writes a request. The channel gets what came of it when it is written.
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

// post is the request as far as it matters to the reading of its answer.
var post = &http.Request{Method: http.MethodPost}

// readHead reads the answer up to its body. Interim answers are passed over, and count as a part of
// the head.
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
