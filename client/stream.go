package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
)

// How a stream is read: Stream makes a follower, which connects, hands each event to the caller and
// remembers its id (pass). When a connection ends, it pauses and connects again after that id:
//
//	run ─ anchor ─┬─ follow ─ read ─ connect, then pass for each event
//	              └─ pause, when it ended for a passing reason
//
// A connection that says nothing for too long is cut, since what is in between may have died, or
// hold back what it should pass on; then the log is read up to its end before the next one.

// silence is the time without data after which a stream counts as broken: the server sends a sign of life
// every 15 seconds.
const silence = 45 * time.Second

var (
	errStopped = errors.New("the reader stopped")
	errSilent  = errors.New("the connection has gone silent")
	errClosed  = errors.New("the server closed the stream")
)

// Stream returns events as they happen: those after f.After, or since f.Since, or else from now on,
// in the order of commits. It ends with ctx or an error.
//
// If the connection breaks, it is dialled again, as often as needed, and resumes after the last event:
// none is missed, and none comes twice. While the reader works on an event no more is read, and nothing is
// lost however long that takes. An event to go on from that is no longer kept is ErrNotFound: what
// lies between is lost, and the caller decides where to begin.
func (s Events) Stream(ctx context.Context, f EventFilter, opts ...Option) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := &follower{c: s.c, filter: f, opts: opts, yield: yield}
		if err := w.run(ctx); !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// follower is one reader of the stream. filter.After is the last event that the caller had.
type follower struct {
	c      *Client
	filter EventFilter
	opts   []Option
	yield  func(Event, error) bool
	failed int // connections in a row that brought nothing; the pauses grow with it
}

// run reads the stream until ctx ends, the caller has had enough, or the error is one that another
// connection would meet too.
func (w *follower) run(ctx context.Context) error {
	w.filter.Paging = Paging{}
	if err := w.anchor(ctx); err != nil {
		return err
	}
	for {
		err := w.follow(ctx)
		if ctx.Err() != nil && !errors.Is(err, errStopped) {
			return ctx.Err()
		}
		if !passing(err) {
			return err
		}
		if err := w.c.pause(ctx, err, w.failed); err != nil {
			return ctx.Err()
		}
		w.failed++
	}
}

// anchor turns "from now on" into a place in the log, to which a connection that breaks before the
// first event can return.
func (w *follower) anchor(ctx context.Context) error {
	if w.filter.After != "" || !w.filter.Since.IsZero() {
		return nil
	}
	page, err := w.c.Events.List(ctx, EventFilter{Paging: Paging{Limit: 1, Desc: true}}, w.opts...)
	switch {
	case err != nil:
		return err
	case len(page.Data) > 0:
		w.filter.After = page.Data[0].ID
	default:
		w.filter.Since = time.Unix(0, 0) // whatever will be in the log is new
	}
	return nil
}

// passing reports whether another connection may succeed where this one ended.
func passing(err error) bool {
	if errors.Is(err, errStopped) || errors.Is(err, errNotStream) || errors.Is(err, errFrame) {
		return false
	}
	var e *Error
	return !errors.As(err, &e) || e.Status == http.StatusTooManyRequests || e.Status >= 500
}

// follow reads one connection until it ends, and returns why.
func (w *follower) follow(ctx context.Context) error {
	err := w.read(ctx)
	if !errors.Is(err, errSilent) {
		return err
	}
	// Something in between may hold back what it should pass on: what it has held is in the log.
	for e, err := range w.c.Events.All(ctx, w.filter, w.opts...) {
		if err != nil {
			return err
		}
		if err := w.pass(e); err != nil {
			return err
		}
	}
	return errSilent
}

// pass hands an event to the caller, and returns errStopped when that was the last it wants.
func (w *follower) pass(e Event) error {
	w.failed = 0
	w.filter.After = e.ID
	if !w.yield(e, nil) {
		return errStopped
	}
	return nil
}

// read passes on what one connection brings, until it ends.
func (w *follower) read(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer quiet.Stop()
	res, err := w.connect(ctx)
	if err != nil {
		return whyEnded(ctx, err)
	}
	defer res.Body.Close()
	in := newFrames(lively{res.Body, quiet})
	for first := true; ; first = false {
		f, err := in.next()
		if err != nil {
			return whyEnded(ctx, err)
		}
		if !first {
			w.failed = 0 // it said more than its greeting
		}
		if len(f.data) == 0 {
			continue
		}
		var e Event
		if err := decode(json.RawMessage(f.data), "", &e); err != nil {
			return fmt.Errorf("%w: %w", errNotStream, err)
		}
		quiet.Stop() // the reader may take its time
		if err := w.pass(e); err != nil {
			return err
		}
		quiet.Reset(silence)
	}
}

var errNotStream = errors.New("the answer is no event stream of Sheaf's")

// connect opens the stream after the last event.
func (w *follower) connect(ctx context.Context) (*http.Response, error) {
	f := w.filter
	r := request{method: http.MethodGet, path: eventsPath + "/stream"}
	if _, err := r.prepare(w.opts); err != nil {
		return nil, err
	}
	r.header.Set("Accept", "text/event-stream")
	r.header.Set("Cache-Control", "no-cache")
	if f.After != "" {
		r.header.Set("Last-Event-ID", f.After)
		f.After = ""
	}
	r.query = f.values()
	h := w.c.http
	h.Timeout = 0
	res, err := w.c.open(ctx, &h, r, nil)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res, nil
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK {
		return nil, errNotStream
	}
	return nil, refusal(res)
}

// whyEnded is the reason for which the connection was cut, if it was.
func whyEnded(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		return errSilent
	case errors.Is(err, io.EOF):
		return errClosed
	}
	return err
}

// lively is a connection whose bytes, whatever they are, put off the end of its silence.
type lively struct {
	io.Reader
	quiet *time.Timer
}

// Read notes that something came.
func (l lively) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	if n > 0 {
		l.quiet.Reset(silence)
	}
	return n, err
}
