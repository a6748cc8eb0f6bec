package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/store"
)

const (
	// queueMost bounds how many deliveries of a state a scrape counts.
	queueMost = 10_000
	// A count reads every lane, which takes about 2 µs each. Beyond manyLanes a scrape may return the
	// last count for keptByLane per lane, so that counting takes at most about 1 % of a core.
	manyLanes  = 1000
	keptByLane = 150 * time.Microsecond
	// scrapeTimeout bounds the store query of a scrape.
	scrapeTimeout = 2 * time.Second
)

// arrived is the class of an attempt that an endpoint answered with 2xx.
const arrived = "ok"

// Outcomes of an attempt for its delivery.
const (
	outcomeDelivered = "delivered"
	outcomeRetried   = "retried"
	outcomeFailed    = "failed" // the last attempt failed
)

// metrics counts what this node sends.
type metrics struct {
	attempts    *prometheus.CounterVec
	seconds     prometheus.Histogram
	deactivated prometheus.Counter
}

// newMetrics makes the counters.
func newMetrics() *metrics {
	m := &metrics{
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sheaf_delivery_attempts_total",
			Help: "Attempts that ended, by their class (ok: answered with 2xx) and the outcome for the delivery."}, []string{"class", "outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sheaf_delivery_attempt_duration_seconds",
			Help:    "From the beginning of an attempt to its end, whatever it was.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}),
		deactivated: prometheus.NewCounter(prometheus.CounterOpts{Name: "sheaf_subscriptions_deactivated_total",
			Help: "Subscriptions that were deactivated after too many failed deliveries in a row."}),
	}
	// Create every series at once, so that its first increase is visible.
	m.attempts.WithLabelValues(arrived, outcomeDelivered)
	for _, class := range []ErrorClass{ErrorTimeout, ErrorBlockedAddress, ErrorTLS, ErrorConnection, ErrorStatus} {
		m.attempts.WithLabelValues(string(class), outcomeRetried)
		m.attempts.WithLabelValues(string(class), outcomeFailed)
	}
	return m
}

// ended counts an attempt.
func (m *metrics) ended(o *store.Outcome) {
	class, outcome := o.Attempt.Class, outcomeFailed
	switch {
	case o.Attempt.OK():
		class, outcome = arrived, outcomeDelivered
	case o.Retry != nil:
		outcome = outcomeRetried
	}
	m.attempts.WithLabelValues(class, outcome).Inc()
	m.seconds.Observe(o.Attempt.Duration.Seconds())
}

// Register registers the metrics of deliveries.
func (d *Deliverer) Register(r prometheus.Registerer) {
	r.MustRegister(d.metrics.attempts, d.metrics.seconds, d.metrics.deactivated, &queueMetrics{d: d})
	gauge := func(name, help string, value func(load) int) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(value(d.lanes.load())) }))
	}
	gauge("sheaf_delivery_lanes_busy", "Subscriptions that this node sends to right now.", func(l load) int { return l.busy })
	gauge("sheaf_delivery_requests", "Requests to endpoints under way from this node.", func(l load) int { return l.inFlight })
	gauge("sheaf_delivery_bytes", "Bytes of the bodies that this node has claimed, and of the answers that it has not recorded yet.",
		func(l load) int { return int(l.bytes) })
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_delivery_clock_off",
		Help: "1 while this node sends nothing, because its clock is too far from the database's."}, d.clockMetric))
	gauge("sheaf_deliveries_ahead", "Deliveries that this node has claimed and not begun.", func(l load) int { return l.ahead })
}

// clockMetric returns 1 while the clocks differ by too much.
func (d *Deliverer) clockMetric() float64 {
	if d.clockOff.Load() {
		return 1
	}
	return 0
}

// load is a snapshot of what the lanes hold.
type load struct {
	busy, inFlight, ahead int
	bytes                 int64
}

// load returns what the lanes hold now.
func (l *lanes) load() load {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := load{inFlight: l.inFlight, ahead: l.ahead, bytes: l.bytes}
	for _, lane := range l.byID {
		if lane.inFlight > 0 {
			out.busy++
		}
	}
	return out
}

var (
	queueDesc = prometheus.NewDesc("sheaf_deliveries", "Deliveries of all nodes by state, each counted up to 10000.", []string{"state"}, nil)
	dueDesc   = prometheus.NewDesc("sheaf_deliveries_due", "Deliveries of all nodes that wait and are due, of the first 10000 that wait.", nil, nil)
	ageDesc   = prometheus.NewDesc("sheaf_delivery_oldest_due_seconds", "For how long the delivery has been due that waits longest; 0 when none is.", nil, nil)
)

// queueMetrics counts the queue at a scrape, or returns the last count: see manyLanes. While the store is
// unavailable, its metrics are missing.
type queueMetrics struct {
	d *Deliverer

	mu   sync.Mutex  // guards what follows
	last store.Queue // the last count
	at   time.Time   // when it was counted
}

// Describe implements prometheus.Collector.
func (q *queueMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- queueDesc
	ch <- dueDesc
	ch <- ageDesc
}

// Collect implements prometheus.Collector.
func (q *queueMetrics) Collect(ch chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.d.Now()
	if q.last.Lanes <= q.d.manyLanes || now.Before(q.at) || now.Sub(q.at) >= time.Duration(q.last.Lanes)*keptByLane {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
		defer cancel()
		err := q.d.Store.Read(ctx, func(r *store.Reader) (err error) {
			q.last, err = r.CountQueue(now, queueMost)
			return err
		})
		if err != nil {
			q.last = store.Queue{}
			return
		}
		q.at = now
	}
	queue := q.last
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(queueDesc, float64(queue.Waiting), "waiting")
	gauge(queueDesc, float64(queue.Sending), "sending")
	gauge(queueDesc, float64(queue.Held), "held")
	gauge(dueDesc, float64(queue.Due))
	age := time.Duration(0)
	if queue.Oldest != nil {
		age = now.Sub(*queue.Oldest)
	}
	gauge(ageDesc, age.Seconds())
}
