package deliver_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// A lane that is full all the time gets its places one by one. Its retries come
// all the same, though 600 first attempts wait before them.
func TestFair_RetriesDoNotStarveInAFullLane(t *testing.T) {
	simulate(t, func(w *world) {
		r := rand.New(rand.NewPCG(1, 2))
		var bad sheaf.EventID
		w.endpoint.on("/a", func(h hit) int {
			time.Sleep(time.Duration(500+r.IntN(1000)) * ms) // no two end together
			if h.event == bad {
				return 500
			}
			return 200
		})
		id := w.subscribe("/a")
		bad = w.publish(1)[0]
		w.publish(600)
		w.start()
		w.at(5 * time.Second)
		if n := len(w.deliveries(id)); n != 601 {
			t.Fatalf("%d deliveries", n)
		}
		var times []time.Duration
		for _, h := range w.endpoint.hits {
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

// First attempts go before retries: a repaired endpoint's backlog of retries
// does not hold up what is new.
func TestFair_FirstAttemptsGoBeforeRetries(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/a", always(500))
		id := w.subscribe("/a")
		w.start()
		w.publish(200)
		w.at(500 * ms)
		w.stop()
		w.at(2 * time.Second) // 200 retries are due
		w.endpoint.on("/a", slowly(time.Second, 200))
		fresh := w.publish(1)[0]
		w.start()
		w.at(2500 * ms)
		last := w.endpoint.hits[200:]
		if !slices.ContainsFunc(last, func(h hit) bool { return h.event == fresh }) {
			t.Errorf("of the first %d requests none was the first attempt", len(last))
		}
		w.at(time.Minute)
		w.wantStates(id, map[sheaf.DeliveryState]int{sheaf.Delivered: 201})
	})
}

// One endpoint hangs with 500 deliveries waiting beside healthy ones, on real
// time and sockets. How much slower the healthy ones are is printed; that they
// all arrive while it hangs is asserted.
func TestFair_OneHungEndpointDelaysNobody(t *testing.T) {
	alone := healthyLatency(t, 0)
	beside := healthyLatency(t, 500)
	t.Logf("healthy latency beside a hung endpoint, against without: p50 %.2f (%v to %v), p99 %.2f (%v to %v)",
		float64(beside[0])/float64(alone[0]), alone[0], beside[0], float64(beside[1])/float64(alone[1]), alone[1], beside[1])
}

// healthyLatency returns the median and the 99th percentile of 500 deliveries
// to five healthy endpoints.
func healthyLatency(t *testing.T, hung int) [2]time.Duration {
	a := apitest.SQLite(t)
	c := a.Workspace(sheaf.Business).Client("")
	r := newReceiver(t, a.Webhooks.CA)
	subscribe := func(path, event string) {
		c.POST("/api/webhooks/subscriptions", map[string]any{"name": path, "url": r.url + path, "events": []string{event}}).Want(t, 201)
	}
	subscribe("/hung", "media.uploaded")
	for i := range 5 {
		subscribe(fmt.Sprint("/fine/", i), "share.created")
	}
	publish := func(event string) string {
		return c.POST("/api/v1/events", map[string]any{"type": event, "resource_id": "0198c0de-0000-7000-8000-000000000000",
			"payload": map[string]any{}}).Want(t, 202).Text(t, "id")
	}
	for range hung {
		publish("media.uploaded")
	}
	a.Deliver(sheaf.DefaultSchedule)
	if hung > 0 {
		r.wait(t, "/hung", deliver.LaneCap)
	}
	sent := map[string]time.Time{}
	for range 100 {
		before := time.Now()
		sent[publish("share.created")] = before
	}
	for i := range 5 {
		r.wait(t, fmt.Sprint("/fine/", i), 100)
	}
	var took []time.Duration
	for _, h := range r.arrivals() {
		if begun, ok := sent[string(h.event)]; ok {
			took = append(took, h.when.Sub(begun))
		}
	}
	if n := r.count("/hung"); hung > 0 && n != deliver.LaneCap {
		t.Errorf("%d requests hang, want %d", n, deliver.LaneCap)
	}
	r.release()
	slices.Sort(took)
	return [2]time.Duration{took[len(took)/2], took[len(took)*99/100]}
}
