package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A server that is frozen or cut off, and a pooler whose cluster has no leader, refuse nothing: only
// time tells. But a server with much to do is slow too, and whoever waits for their turn there is
// not to be refused for that. So it is noted when the server last said something to anybody: who
// waits while nothing is heard gives up after silentTimeout; who waits while others are answered
// waits on.

// errSilent is in the error of whoever gave up.
var errSilent = errors.New("PostgreSQL says nothing to anybody")

// hear notes that the server has said something.
func (e *Postgres) hear() { e.heard.Store(time.Now().UnixNano()) }

// attend returns a context that ends when nothing was heard for as long as one waits for that since
// begun, or, where there is a limit, when that has passed from now on. done must be called.
func (e *Postgres) attend(ctx context.Context, begun time.Time, limit time.Duration) (attended context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{engine: e, begun: begun, cancel: cancel}
	if limit > 0 {
		w.end = time.Now().Add(limit)
	}
	w.look()
	return ctx, w.stop
}

// watch is one wait for the server.
type watch struct {
	engine *Postgres
	begun  time.Time
	end    time.Time // zero: only silence ends it
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	stopped bool
}

// look ends the wait, or comes again when it may be over.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	left := w.left()
	if left <= 0 {
		w.cancel(fmt.Errorf("%w for %v", errSilent, w.engine.silent))
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.look)
	} else {
		w.timer.Reset(left)
	}
}

// left is how long the wait may still last, if nothing is heard meanwhile.
func (w *watch) left() time.Duration {
	since := w.begun
	if heard := time.Unix(0, w.engine.heard.Load()); heard.After(since) {
		since = heard
	}
	left := w.engine.silent - time.Since(since)
	if !w.end.IsZero() {
		left = min(left, time.Until(w.end))
	}
	return left
}

// stop ends the watch. It may be called more than once.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.cancel(nil)
}

// orSilent adds to an error why the wait ended.
func orSilent(attended context.Context, err error) error {
	if cause := context.Cause(attended); err != nil && errors.Is(cause, errSilent) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
