package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// D152: while the server says nothing to anybody, the wait for it ends, in time for an answer within 2 seconds.
func TestSilence_EndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Postgres{silent: silentTimeout}
		e.hear()
		time.Sleep(time.Hour) // simulated; no call was made since
		begun := time.Now()
		ctx, done := e.attend(context.Background(), begun, 0)
		defer done()
		<-ctx.Done()
		if took := time.Since(begun); took != silentTimeout || took >= 2*time.Second || !errors.Is(orSilent(ctx, ctx.Err()), errSilent) {
			t.Errorf("ended after %v: %v", took, context.Cause(ctx))
		}
	})
}

// D152: a request that waits for its turn keeps waiting as long as others are answered.
func TestSilence_OthersAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Postgres{silent: silentTimeout}
		ctx, done := e.attend(context.Background(), time.Now(), 0)
		defer done()
		for range 20 {
			time.Sleep(silentTimeout - time.Millisecond) // simulated
			e.hear()
		}
		if ctx.Err() != nil {
			t.Fatalf("refused beside others that were answered: %v", context.Cause(ctx))
		}
		last := time.Now()
		<-ctx.Done()
		if took := time.Since(last); took != silentTimeout {
			t.Errorf("ended %v after the last answer", took)
		}
	})
}

// D152: one connection has no longer for its first answer, whatever others are told.
func TestSilence_OneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Postgres{silent: silentTimeout}
		begun := time.Now()
		ctx, done := e.attend(context.Background(), begun, firstTimeout)
		defer done()
		for ctx.Err() == nil {
			time.Sleep(100 * time.Millisecond) // simulated
			e.hear()
		}
		if took := time.Since(begun); took < firstTimeout || took > firstTimeout+100*time.Millisecond {
			t.Errorf("ended after %v", took)
		}
	})
}

// A wait that has ended leaves no timer, and is not reported as silence.
func TestSilence_Done(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Postgres{silent: silentTimeout}
		ctx, done := e.attend(context.Background(), time.Now(), firstTimeout)
		done()
		done()
		time.Sleep(time.Minute) // simulated
		if errors.Is(context.Cause(ctx), errSilent) || orSilent(ctx, nil) != nil {
			t.Errorf("the end of a wait is %v", context.Cause(ctx))
		}
	})
}
