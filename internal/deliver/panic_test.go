package deliver_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

// An attempt that panics, in the sender or where it dials, is a failed attempt with its stack in the log.
// It ends neither the process nor the deliveries of others, and is counted, so that it does not come back for ever.
func TestAttempt_APanicIsAFailedAttempt(t *testing.T) {
	for name, poison := range map[string]func(w *world, panicking func() bool) *deliver.Courier{
		"in the sender": func(w *world, panicking func() bool) *deliver.Courier {
			return &deliver.Courier{Client: w.client, Now: func() time.Time {
				if panicking() {
					poisoned()
				}
				return time.Now()
			}}
		},
		"in the dialer": func(w *world, panicking func() bool) *deliver.Courier {
			w.client = deliver.NewClient(deliver.ClientConfig{Timeout: timeout, RootCAs: w.endpoint.roots, PerHost: 1,
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					if panicking() {
						poisoned()
					}
					return w.endpoint.dial(ctx, network, address)
				}})
			return &deliver.Courier{Client: w.client, Now: time.Now}
		},
	} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *world) {
				log := new(sheaftest.Output)
				courier := poison(w, func() bool { return w.elapsed() < time.Minute })
				w.start(func(c *deliver.Config) { c.Courier, c.Log = courier, slog.New(slog.NewTextHandler(log, nil)) })
				sub := w.subscribe("/a")
				w.publish(1)
				w.at(5 * time.Second)
				w.wantStates(sub, map[sheaf.DeliveryState]int{sheaf.Waiting: 1})
				d := w.only(sub)
				if len(d.Attempts) != 2 || d.Attempts[0].Class != string(deliver.ErrorConnection) || !strings.Contains(d.Attempts[0].Error, "the service failed") {
					t.Errorf("attempts %+v", d.Attempts)
				}
				if text := log.String(); !strings.Contains(text, "deliver_test.poisoned") || !strings.Contains(text, string(d.ID)) {
					t.Errorf("the log has no stack of the panic:\n%s", text)
				}
				w.at(2 * time.Minute) // the fourth attempt, after 71 s, is made well
				w.wantStates(sub, map[sheaf.DeliveryState]int{sheaf.Delivered: 1})
				w.wantFailures(sub, 0, true)
			})
		})
	}
}

// A delivery whose every attempt panics is failed after its schedule, and counted.
func TestAttempt_APoisonDeliveryEnds(t *testing.T) {
	simulate(t, func(w *world) {
		w.start(func(c *deliver.Config) {
			c.Courier = &deliver.Courier{Client: w.client, Now: func() time.Time { poisoned(); return time.Time{} }}
		})
		sub := w.subscribe("/a")
		w.publish(1)
		w.at(2 * time.Minute)
		w.wantStates(sub, map[sheaf.DeliveryState]int{sheaf.Failed: 1})
		w.wantFailures(sub, 1, true)
	})
}

func poisoned() { panic("poison") }
