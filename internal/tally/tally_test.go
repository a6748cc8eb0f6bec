package tally

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

func TestTally_LosesNothingBesideTaking(t *testing.T) {
	c := New(time.Now)
	var counting sync.WaitGroup
	for range 8 {
		counting.Go(func() {
			for range 1000 {
				c.Of("a").Request()
				c.Of("b").Attempt(20*time.Millisecond, false, true)
			}
		})
	}
	sum := map[sheaf.WorkspaceID]sheaf.Counts{}
	add := func() {
		_, by := c.Take()
		for ws, counts := range by {
			s := sum[ws]
			s.Add(counts)
			sum[ws] = s
		}
	}
	add()
	counting.Wait()
	add()
	if a, b := sum["a"], sum["b"]; a.Requests != 8000 || b.Retried != 8000 || b.Took[1] != 8000 || b.TookMax != 20*time.Millisecond {
		t.Errorf("got %+v", sum)
	}
}

func TestTally_IsWrittenNowAndThenAndAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		var got []int64
		done := make(chan error)
		go func() {
			done <- c.Run(ctx, func(_ context.Context, _ time.Time, by map[sheaf.WorkspaceID]sheaf.Counts) error {
				got = append(got, by["a"].Requests)
				return errors.New("the store is away")
			}, slog.New(slog.DiscardHandler))
		}()
		c.Of("a").Request()
		c.Of("a").RateLimited()
		time.Sleep(35 * time.Second) // simulated
		c.Of("a").Request()
		c.Of("a").Request()
		stop()
		if err := <-done; err != nil || len(got) != 2 || got[0] != 1 || got[1] != 2 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestTally_NilCountsNothing(t *testing.T) {
	var none *Tally
	none.Of("a").Request()
	none.Of("a").RateLimited()
	none.Of("a").Attempt(time.Second, true, false)
}

// What a request pays for the charts.
func BenchmarkRequest(b *testing.B) {
	c := New(time.Now).Of("a")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			c.Request()
		}
	})
}
