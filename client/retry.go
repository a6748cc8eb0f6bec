package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	firstPause = 250 * time.Millisecond
	// maxPause bounds the pauses that the server did not ask for.
	maxPause = 30 * time.Second
	// maxRetryAfter is the longest pause that is made because the server asks for it: the rate
	// limit's window is a minute.
	maxRetryAfter = 2 * time.Minute
)

// repeatable reports whether the request may be made again after err, and whether the attempt may
// have had its effect.
func (r *request) repeatable(err error) (again, maybe bool) {
	var e *Error
	if errors.As(err, &e) {
		switch e.Status {
		case http.StatusTooManyRequests:
			return e.RetryAfter <= maxRetryAfter, false
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return r.harmless() && e.RetryAfter <= maxRetryAfter, true
		}
		return false, false
	}
	if errors.Is(err, context.Canceled) {
		return false, true
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return true, false
	}
	return r.harmless(), true
}

// harmless reports whether a second attempt changes nothing that the first may have done.
func (r *request) harmless() bool {
	switch r.method {
	case http.MethodPost:
		return !r.unkeyed
	case http.MethodPatch, http.MethodPut:
		return r.header.Get("If-Match") == ""
	}
	return true
}

// pause waits before the next attempt; its error says what the wait was for.
func (c *Client) pause(ctx context.Context, cause error, try int) error {
	d := backoff(cause, try)
	c.config.OnRetry(cause, d)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the last attempt failed: %w", ctx.Err(), cause)
	}
}

// backoff is the pause after attempt number try, counted from 0.
func backoff(cause error, try int) time.Duration {
	step := min(firstPause<<min(try, 20), maxPause)
	var e *Error
	if errors.As(cause, &e) && e.RetryAfter > 0 {
		// A little later than asked, and not all clients at once.
		return e.RetryAfter + jitter(min(step, time.Second))
	}
	return step/2 + jitter(step/2)
}

// jitter is a random part of d.
func jitter(d time.Duration) time.Duration {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Duration(binary.NativeEndian.Uint64(b[:]) % uint64(d+1))
}
