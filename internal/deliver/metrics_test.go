package deliver_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// values gathers the metrics by name and label values.
func (w *world) values(r prometheus.Gatherer) map[string]float64 {
	w.Helper()
	families, err := r.Gather()
	w.must(err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			out[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func (w *world) wantValues(r prometheus.Gatherer, want map[string]float64) {
	w.Helper()
	got := w.values(r)
	for name, v := range want {
		if is, ok := got[name]; !ok || is != v {
			w.Errorf("%s is %v (there: %t), want %v", name, is, ok, v)
		}
	}
}

// An operator sees what was sent, what is under way, what waits and since when.
func TestMetrics_TellOfTheQueue(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/bad", always(500))
		w.endpoint.on("/hung", hang)
		w.subscribe("/fine")
		w.subscribe("/bad")
		w.subscribe("/hung")
		w.setActive(w.subscribe("/off"), false)
		registry := prometheus.NewRegistry()
		w.start().Register(registry)
		w.publish(2)
		w.at(500 * time.Millisecond)
		w.wantValues(registry, map[string]float64{
			"sheaf_delivery_attempts_total ok delivered": 2, "sheaf_delivery_attempts_total status retried": 2, "sheaf_delivery_attempts_total status failed": 0,
			"sheaf_delivery_attempts_total timeout retried": 0, "sheaf_delivery_attempts_total blocked_address retried": 0,
			"sheaf_delivery_attempt_duration_seconds": 4, "sheaf_subscriptions_deactivated_total": 0,
			"sheaf_delivery_lanes_busy": 1, "sheaf_delivery_requests": 2, "sheaf_deliveries_ahead": 0,
			"sheaf_deliveries waiting": 2, "sheaf_deliveries sending": 2, "sheaf_deliveries held": 2,
			"sheaf_deliveries_due": 0, "sheaf_delivery_oldest_due_seconds": 0,
		})
		w.at(11 * time.Second) // the hung ones have run into their timeout
		w.wantValues(registry, map[string]float64{"sheaf_delivery_attempts_total timeout retried": 2})
		w.at(90 * time.Second)
		w.wantValues(registry, map[string]float64{"sheaf_delivery_attempts_total status failed": 2, "sheaf_delivery_attempts_total status retried": 6})
	})
}

// If no node sends, the age of the oldest due delivery shows it.
func TestMetrics_TellHowFarBehindItIs(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/bad", always(500))
		w.subscribe("/bad")
		registry := prometheus.NewRegistry()
		w.start().Register(registry)
		w.publish(3)
		w.at(500 * time.Millisecond)
		w.stop()
		w.at(31 * time.Second) // the retries are due since second 1
		w.wantValues(registry, map[string]float64{"sheaf_deliveries waiting": 3, "sheaf_deliveries_due": 3, "sheaf_delivery_requests": 0})
		if v := w.values(registry)["sheaf_delivery_oldest_due_seconds"]; v < 29 || v > 30.1 {
			t.Errorf("the oldest has been due for %v s, want about 30", v)
		}
	})
}

// With many webhooks, a scrape returns the last count for a while: scrapes must not cost more and more
// while nothing happens. The age keeps growing.
func TestMetrics_ManyLanesAreCountedSeldom(t *testing.T) {
	simulate(t, func(w *world) {
		w.endpoint.on("/bad", always(500))
		w.subscribe("/bad")
		registry := prometheus.NewRegistry()
		d := w.start()
		d.KeepCounts(0)
		d.Register(registry)
		w.publish(1)
		w.at(500 * time.Millisecond)
		w.stop()
		w.wantValues(registry, map[string]float64{"sheaf_deliveries waiting": 1})
		w.publish(1)
		w.wantValues(registry, map[string]float64{"sheaf_deliveries waiting": 1})
		w.at(501 * time.Millisecond)
		w.wantValues(registry, map[string]float64{"sheaf_deliveries waiting": 2})
	})
}
