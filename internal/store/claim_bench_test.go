package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"syscall"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// benchLanes creates subscriptions, each with n waiting deliveries.
func benchLanes(b *testing.B, s *Store, lanes, n int) []Lane {
	b.Helper()
	newID := func() string { return sheaf.NewUUID(time.Now(), rand.Reader) }
	var out []Lane
	err := s.Write(context.Background(), func(tx *Tx) error {
		w, err := tx.LockWorkspace(theWorkspace)
		if err != nil {
			return err
		}
		w.Subscriptions = int64(lanes)
		for i := range lanes {
			sub := sheaf.Subscription{ID: sheaf.SubscriptionID(newID()), Number: int64(i + 1), URL: "https://hook.example/", Events: []sheaf.EventType{sheaf.ShareCreated}, Active: true}
			if err := tx.InsertSubscription(theWorkspace, sub, Sealed{Secret: make([]byte, 80)}); err != nil {
				return err
			}
			out = append(out, Lane{Subscription: sub.ID, Room: 16, Retries: 4})
		}
		return tx.SaveWorkspace(w)
	})
	for at := 0; at < n && err == nil; at += 1000 {
		err = s.Write(context.Background(), func(tx *Tx) error {
			w, err := tx.LockWorkspace(theWorkspace)
			if err != nil {
				return err
			}
			var events []sheaf.Event
			for range min(1000, n-at) {
				events = append(events, sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + newID()), Type: sheaf.ShareCreated, ResourceID: newID(),
					At: time.UnixMilli(1_790_000_000_000), Body: append([]byte{'{'}, bytes.Repeat([]byte{'x'}, 599)...)})
			}
			if err := tx.AppendEvents(&w, events); err != nil {
				return err
			}
			return tx.SaveWorkspace(w)
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkClaimAndRecord claims for some lanes at once and records that all
// arrived, in a transaction each. An operation is a delivery.
func BenchmarkClaimAndRecord(b *testing.B) {
	for _, lanes := range []int{1, 4, 32} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			eachBench(b, func(b *testing.B, s *Store) {
				asked := benchLanes(b, s, lanes, b.N/lanes+1)
				now := time.UnixMilli(1_790_000_001_000)
				var claiming, recording time.Duration
				done := 0
				b.ReportAllocs()
				b.ResetTimer()
				used := processTime()
				for done < b.N {
					began := time.Now()
					var found Claimed
					err := s.Write(context.Background(), func(tx *Tx) (err error) {
						found, err = tx.Claim(asked, Unbounded, now, now.Add(time.Minute), rand.Text())
						return err
					})
					claimed := time.Now()
					if err == nil {
						err = s.Write(context.Background(), func(tx *Tx) error { return tx.Record(arrivedAll(found.Claims, now), nil) })
					}
					if err != nil || len(found.Claims) == 0 {
						b.Fatal(len(found.Claims), err)
					}
					claiming += claimed.Sub(began)
					recording += time.Since(claimed)
					done += len(found.Claims)
				}
				b.ReportMetric(float64((processTime()-used).Microseconds())/float64(done), "cpu-µs/op")
				b.ReportMetric(float64(claiming.Microseconds())/float64(done), "claim-µs/op")
				b.ReportMetric(float64(recording.Microseconds())/float64(done), "record-µs/op")
			})
		})
	}
}

func arrivedAll(claims []Claim, now time.Time) []Outcome {
	out := make([]Outcome, len(claims))
	for i, c := range claims {
		out[i] = Outcome{Claim: c, Ended: now, Attempt: sheaf.Attempt{StartedAt: now, Duration: time.Millisecond, StatusCode: 200}}
	}
	return out
}

// processTime returns the processor time that this process has used, which a busy machine distorts
// less than wall time.
func processTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkLane deactivates, reactivates and recovers a lane of 100,000 deliveries, and reports the
// writer's time for each.
func BenchmarkLane(b *testing.B) {
	eachBench(b, func(b *testing.B, s *Store) {
		lane := benchLanes(b, s, 1, 100_000)[0].Subscription
		act := func(name string, fn func(tx *Tx) error) {
			began := time.Now()
			err := s.Write(context.Background(), func(tx *Tx) error {
				if _, err := tx.LockWorkspace(theWorkspace); err != nil {
					return err
				}
				return fn(tx)
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, name+"-ms")
		}
		turn := func(active bool) func(tx *Tx) error {
			return func(tx *Tx) error {
				sub, err := tx.LockSubscription(theWorkspace, lane)
				sub.Active = active
				if err != nil {
					return err
				}
				return tx.UpdateSubscription(theWorkspace, sub)
			}
		}
		b.ResetTimer()
		for range b.N {
			act("off", turn(false))
			act("on", turn(true))
			var before Recoverable
			err := s.Read(context.Background(), func(r *Reader) (err error) {
				before, err = r.Recoverable(theWorkspace, lane, time.UnixMilli(0))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			act("recover", func(tx *Tx) error {
				n, err := tx.Recover(theWorkspace, lane, time.UnixMilli(0), time.UnixMilli(1_790_000_001_000), before)
				if err == nil && n != 100_000 {
					err = fmt.Errorf("recovered %d", n)
				}
				return err
			})
		}
	})
}
