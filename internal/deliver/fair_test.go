package deliver_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/store"
)

// A lane that is always full gets its places one by one. Its retries are sent all the same,
// although 200 first attempts wait before them.
func TestFair_RetriesDoNotStarveInAFullLane(t *testing.T) {
	simulate(t, func(w *world) {
		var bad sheaf.EventID
		w.endpoint.on("/a", func(h hit) int {
			time.Sleep(time.Duration(500+rand.IntN(1000)) * ms) // simulated; no two end together
			if h.event == bad {
				return 500
			}
			return 200
		})
		id := w.subscribe("/a")
		bad = w.publish(1)[0]
		w.publish(200)
		w.start()
		w.at(5 * time.Second)
		if n := len(w.deliveries(id)); n != 201 {
			t.Fatalf("%d deliveries", n)
		}
		var times []time.Duration
		for _, h := range w.endpoint.arrived() {
			if h.event == bad {
				times = append(times, h.at)
			}
		}
		if len(times) < 2 {
			t.Errorf("after 5 s the first one was tried at %v only; %d requests", times, len(w.endpoint.times("/a")))
		}
		w.at(2 * time.Minute)
	})
}

// First attempts go before retries: when an endpoint is repaired, its backlog of retries does not
// delay new deliveries.
func TestFair_FirstAttemptsGoBeforeRetries(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		id := w.subscribe("/a")
		w.start()
		w.publish(60)
		w.at(500 * ms)
		w.stop()
		w.at(2 * time.Second) // 60 retries are due
		w.endpoint.on("/a", slowly(time.Second, 200))
		fresh := w.publish(1)[0]
		w.start()
		w.at(2500 * ms)
		last := w.endpoint.arrived()[60:]
		if !slices.ContainsFunc(last, func(h hit) bool { return h.event == fresh }) {
			t.Errorf("of the first %d requests none was the first attempt", len(last))
		}
		w.at(time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 61})
	})
}

// D70: one endpoint hangs with 500 deliveries waiting beside healthy ones, on real
// time and sockets. How much slower the healthy ones are is printed; that they
// all arrive while it hangs is asserted.
func TestFair_OneHungEndpointDelaysNobody(t *testing.T) {
	alone := healthyLatency(t, 0)
	beside := healthyLatency(t, 500)
	t.Logf("healthy latency beside a hung endpoint, against without: p50 %.2f (%v to %v), p99 %.2f (%v to %v)",
		float64(beside[0])/float64(alone[0]), alone[0], beside[0], float64(beside[1])/float64(alone[1]), alone[1], beside[1])
}

// healthyLatency returns the median and the 99th percentile of 300 deliveries
// to five healthy endpoints.
func healthyLatency(t *testing.T, hung int) [2]time.Duration {
	a := apitest.SQLite(t)
	ws := a.Workspace(sheaf.Business)
	c := ws.Client("")
	r := newReceiver(t, a.Webhooks.CA)
	subscribe := func(path, event string) {
		c.POST("/api/webhooks/subscriptions", map[string]any{"name": path, "url": r.url + path, "events": []string{event}}).Want(t, 201)
	}
	subscribe("/hung", "media.uploaded")
	for i := range 5 {
		subscribe(fmt.Sprint("/fine/", i), "share.created")
	}
	publish := func(t sheaf.EventType, n int) (ids []sheaf.EventID, err error) {
		err = a.Store.Write(context.Background(), func(tx *store.Tx) error {
			w, err := tx.LockWorkspace(ws.ID)
			if err != nil {
				return err
			}
			newID := func() string { return sheaf.NewUUID(time.Now(), crand.Reader) }
			var events []sheaf.Event
			ids = nil
			for range n {
				events = append(events, sheaf.Event{ID: sheaf.EventID("evt_" + newID()), Type: t, ResourceID: newID(), At: time.Now(), Body: []byte(`{}`)})
				ids = append(ids, events[len(events)-1].ID)
			}
			return errors.Join(tx.AppendEvents(&w, events), tx.SaveWorkspace(w))
		})
		return ids, err
	}
	if _, err := publish(sheaf.MediaUploaded, hung); err != nil {
		t.Fatal(err)
	}
	stop := a.Deliver(sheaf.DefaultSchedule)
	if hung > 0 {
		r.wait(t, "/hung", deliver.LaneCap)
	}
	const healthy = 60
	sent := map[sheaf.EventID]time.Time{}
	for range healthy {
		before := time.Now()
		ids, err := publish(sheaf.ShareCreated, 1)
		if err != nil {
			t.Fatal(err)
		}
		sent[ids[0]] = before
	}
	for i := range 5 {
		r.wait(t, fmt.Sprint("/fine/", i), healthy)
	}
	var took []time.Duration
	for _, h := range r.arrivals() {
		if begun, ok := sent[h.event]; ok {
			took = append(took, h.when.Sub(begun))
		}
	}
	if n := len(r.events("/hung")); n >= max(hung, 1) {
		t.Errorf("%d requests arrived where all hang: nothing was waiting any more", n)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	r.release()
	<-stopped
	slices.Sort(took)
	return [2]time.Duration{took[len(took)/2], took[len(took)*99/100]}
}
