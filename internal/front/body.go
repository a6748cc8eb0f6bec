package front

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bodyTimeout bounds how long a client may take to send a body that is read, discardWithin one
	// that nobody reads.
	bodyTimeout   = 60 * time.Second
	discardWithin = 20 * time.Second
)

// ReadBody reads the whole body, MaxBody at most. It returns an *http.MaxBytesError for a larger
// one, a *Refusal when too many bytes of bodies are held, and any other error when the body did not
// arrive whole. What is beyond freeBody counts against the budget until the request ends.
func (x *Exchange) ReadBody() (body []byte, err error) {
	size := x.Request.ContentLength
	if size > MaxBody {
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	// The server lifts the connection's deadline before the next request; a writer that has none,
	// as in tests, needs none.
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

// readGrowing reads a body whose size was not said.
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

// DiscardBody takes a body that nobody read, up to MaxBody, once the answer is on its way: many
// clients of HTTP/1.1 listen only when they have sent everything, and a connection that is closed
// on them hides the answer. A client that asks first (Expect) does not send it.
//
// HTTP/2 has a word for it: when the handler returns, net/http ends the answer and then tells the
// client to send no more of this request, and the connection stays. Waiting would only keep the end
// of the answer from a client that has stopped sending because it saw the status.
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

// Body returns the body for an edge that reads it piece by piece, and bounds it itself. Waiting for
// it is not work.
func (x *Exchange) Body() io.ReadCloser { return waitingBody{x.Request.Body, x} }

type waitingBody struct {
	io.ReadCloser
	x *Exchange
}

// Read reads, without a place while it waits.
func (b waitingBody) Read(p []byte) (n int, err error) {
	b.x.Outside(func() { n, err = b.ReadCloser.Read(p) })
	return n, err
}

const (
	// streamHeld is what a body that is read piece by piece counts against the budget of bodies: the
	// buffer through which it goes.
	streamHeld = 256 << 10
	// streamWithin bounds how long such a body may take to arrive. It is longer than bodyTimeout,
	// because what arrived of it counts.
	streamWithin = 5 * time.Minute
)

// StreamedBody is a body of which every byte that arrives counts.
type StreamedBody struct {
	x *Exchange
	r io.Reader

	mu          sync.Mutex // guards what follows
	ended       bool       // nobody reads it any more
	interrupted bool       // Interrupt has set a deadline
}

// StreamBody returns the body for a handler that keeps what arrives of it, MaxBody at most: a larger one
// ends with an *http.MaxBytesError. A *Refusal: too many bytes of bodies are held. The answer may take
// its time.
//
// From here on the request's context is another one: it ends when the client leaves, as before, and not
// because of an Interrupt.
func (x *Exchange) StreamBody() (*StreamedBody, error) {
	if x.Request.ContentLength > MaxBody {
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	if err := x.holdBody(streamHeld); err != nil {
		return nil, err
	}
	x.TakeTime()
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
		b.x.bodyRead = true // to its end, or as far as it came
		b.Release()
	}
	return n, err
}

// Interrupt ends a Read that waits for the client, with an error. Once the body has ended, it does
// nothing. It may be called by any goroutine.
//
// The connection of HTTP/1.1 ends with the answer. If the whole body had arrived, net/http listens on the connection
// already, takes the deadline for the client's leaving, and ends the context of this request and of
// every later one on the connection.
func (b *StreamedBody) Interrupt() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.interrupted = true
		_ = http.NewResponseController(b.x.w).SetReadDeadline(b.x.Started)
	}
}

// Release marks the body as read as far as anybody reads it. What is left of it is discarded after the answer. It is
// called before the answer, by the goroutine that answers.
func (b *StreamedBody) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if b.interrupted && b.x.Request.ProtoMajor == 1 {
		b.x.Header().Set("Connection", "close")
	}
}
