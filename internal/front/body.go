package front

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bodyTimeout bounds how long a client may take to send a body that is read, discardWithin a
	// body that is discarded.
	bodyTimeout   = 60 * time.Second
	discardWithin = 20 * time.Second
)

// ReadBody reads the whole body, at most MaxBody bytes. It returns an *http.MaxBytesError for a larger
// body, a *Refusal if the process holds too many bytes of bodies, and any other error if the body did
// not arrive completely. Bytes beyond freeBody count against the budget until the request ends.
func (x *Exchange) ReadBody() (body []byte, err error) {
	size := x.Request.ContentLength
	if size > MaxBody {
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	// The server resets the deadline before the next request. Writers of tests have no deadline, and
	// their error is ignored.
	_ = http.NewResponseController(x.w).SetReadDeadline(x.Started.Add(bodyTimeout))
	x.Outside(func() {
		if size < 0 {
			body, err = x.readGrowing()
		} else {
			body, err = x.readSized(size)
		}
	})
	x.bodyRead = body != nil
	return body, err
}

// readSized reads a body whose length the client named.
func (x *Exchange) readSized(size int64) ([]byte, error) {
	if size > freeBody {
		if err := x.holdBody(size); err != nil {
			return nil, err
		}
	}
	b := make([]byte, size)
	_, err := io.ReadFull(x.Request.Body, b)
	return b, err
}

// readGrowing reads a body without a Content-Length.
func (x *Exchange) readGrowing() ([]byte, error) {
	x.Request.Body = http.MaxBytesReader(x.w, x.Request.Body, MaxBody)
	b := make([]byte, 0, freeBody)
	for {
		n, err := x.Request.Body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			if err := x.holdBody(int64(cap(b))); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, 2*cap(b)), b...)
		}
	}
}

// holdBody counts n bytes of the body until the request ends, or returns a Refusal.
func (x *Exchange) holdBody(n int64) error {
	if !x.body.reserve(x.front.bodies, x.workspace, n) {
		return x.front.refuse()
	}
	return nil
}

// DiscardBody reads and drops an unread body, up to MaxBody, after the answer was written. Many
// HTTP/1.1 clients read the answer only after they have sent everything; closing the connection would
// hide the answer from them. A client that sent Expect has not sent the body yet.
//
// On HTTP/2 it does nothing. When the handler returns, net/http ends the answer and tells the client to
// stop sending, and the connection stays open. Waiting would delay the end of the answer for a client
// that stopped sending when it saw the status.
func (x *Exchange) DiscardBody() {
	body := x.Request.Body
	if x.bodyRead || body == nil || body == http.NoBody || x.Request.Header.Get("Expect") != "" || x.Request.ProtoMajor > 1 {
		return
	}
	x.Outside(func() {
		c := http.NewResponseController(x.w)
		_ = c.Flush()
		_ = c.SetReadDeadline(x.front.Now().Add(discardWithin))
		_, _ = io.Copy(io.Discard, io.LimitReader(body, MaxBody))
	})
	x.Request.Body = http.NoBody
}

// Body returns the body for an edge that reads it in pieces and bounds it itself. While a Read waits,
// the request holds no place.
func (x *Exchange) Body() io.ReadCloser { return waitingBody{x.Request.Body, x} }

type waitingBody struct {
	io.ReadCloser
	x *Exchange
}

// Read implements io.Reader. While it waits, the request holds no place.
func (b waitingBody) Read(p []byte) (n int, err error) {
	b.x.Outside(func() { n, err = b.ReadCloser.Read(p) })
	return n, err
}

const (
	// streamHeld is what a streamed body counts against the budget of bodies: its buffer.
	streamHeld = 256 << 10
	// streamWithin bounds how long a streamed body may take to arrive. It is longer than bodyTimeout,
	// because a part of such a body is useful too.
	streamWithin = 5 * time.Minute
)

// StreamedBody is a body whose reader keeps what has arrived, even if the rest does not come.
type StreamedBody struct {
	x *Exchange
	r io.Reader

	mu          sync.Mutex // guards what follows
	ended       bool       // the body is no longer read
	interrupted bool       // Interrupt has set a deadline
}

// StreamBody returns the body for a handler that keeps what arrives of it. Beyond MaxBody bytes, reading
// it fails with an *http.MaxBytesError. StreamBody returns a *Refusal if the process holds too many bytes
// of bodies. It lifts the deadlines of the server.
//
// It replaces the context of the request: the new one ends when the client disconnects, but not because
// of an Interrupt.
func (x *Exchange) StreamBody() (*StreamedBody, error) {
	if x.Request.ContentLength > MaxBody {
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	if err := x.holdBody(streamHeld); err != nil {
		return nil, err
	}
	x.LiftDeadlines()
	_ = http.NewResponseController(x.w).SetReadDeadline(x.Started.Add(streamWithin))
	b := &StreamedBody{x: x, r: http.MaxBytesReader(x.w, x.Request.Body, MaxBody)}
	of := x.Request.Context()
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(of))
	context.AfterFunc(of, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.interrupted {
			cancel(context.Cause(of))
		}
	})
	x.Request, x.streaming = x.Request.WithContext(ctx), cancel
	return b, nil
}

// Read implements io.Reader. Waiting for the client is not work.
func (b *StreamedBody) Read(p []byte) (n int, err error) {
	b.x.Outside(func() { n, err = b.r.Read(p) })
	if err != nil {
		b.x.bodyRead = true // to its end, or as far as it arrived
		b.Release()
	}
	return n, err
}

// Interrupt makes a Read that waits for the client return an error. After the end of the body it does
// nothing. Any goroutine may call it.
//
// An HTTP/1.1 connection is closed after the answer. If the whole body has arrived, net/http already
// reads the connection in the background: it would take the deadline for a disconnect, and cancel the
// context of this request and of every later one on the connection.
func (b *StreamedBody) Interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.interrupted = true
		_ = http.NewResponseController(b.x.w).SetReadDeadline(b.x.Started)
	}
}

// Release ends the reading. The rest of the body is discarded after the answer. The goroutine that answers
// calls it before the answer.
func (b *StreamedBody) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.interrupted && b.x.Request.ProtoMajor == 1 {
		b.x.Header().Set("Connection", "close")
	}
}
