package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A frozen or unreachable server, or a pooler whose cluster has no leader, refuses nothing: only a
// timeout detects it. But a busy server is slow too, and calls that wait for their turn must not be
// refused. So we record when the server last answered any call. A call that waits while nothing is
// answered gives up after silentTimeout; a call that waits while others are answered keeps waiting.

// errSilent is wrapped by the error of a call that gave up.
var errSilent = errors.New("PostgreSQL says nothing to anybody")

// hear records that the server has answered.
func (e *Postgres) hear() { e.heard.Store(time.Now().UnixNano()) }

// attend returns a context that ends once the server has answered no call for e.silent since begun.
// If limit is not 0, it also ends after `limit`. done must be called.
func (e *Postgres) attend(ctx context.Context, begun time.Time, limit time.Duration) (attended context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{engine: e, begun: begun, cancel: cancel}
	if limit > 0 {
		w.end = time.Now().Add(limit)
	}
	w.check()
	return ctx, w.stop
}

// watch supervises one wait for the server.
type watch struct {
	engine *Postgres
	begun  time.Time
	end    time.Time // zero: no limit
	cancel context.CancelCauseFunc

	mu      sync.Mutex // guards what follows
	timer   *time.Timer
	stopped bool
}

// check ends the wait if it is over; otherwise it sets the timer for its next check.
func (w *watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	// The wait may last until the server has been silent for too long, or until its own end.
	since := w.begun
	if heard := time.Unix(0, w.engine.heard.Load()); heard.After(since) {
		since = heard
	}
	left := w.engine.silent - time.Since(since)
	if !w.end.IsZero() {
		left = min(left, time.Until(w.end))
	}
	if left <= 0 {
		w.cancel(fmt.Errorf("%w for %v", errSilent, w.engine.silent))
		return
	}
	if w.timer == nil {
		w.timer = time.AfterFunc(left, w.check)
	} else {
		w.timer.Reset(left)
	}
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

// orSilent wraps err with errSilent if that is why the wait ended.
func orSilent(attended context.Context, err error) error {
	if cause := context.Cause(attended); err != nil && errors.Is(cause, errSilent) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}
