package obs

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Routes counts the requests of all routes, and how long they took. It is a prometheus.Collector,
// to be registered once.
type Routes struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewRoutes returns Routes that have no route yet.
func NewRoutes() *Routes {
	return &Routes{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sheaf_http_requests_total",
			Help: "Requests answered, by route and class of status."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "sheaf_http_request_duration_seconds",
			Help:    "From a request's headers to the end of its answer.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"route", "method"}),
	}
}

// Route counts the requests of one route. It is safe for concurrent use.
type Route struct {
	// classes are the counters by the first digit of the status; 0 counts requests without an
	// answer. Each counter is made when it is first used, so that a scrape shows only classes that
	// occurred.
	classes [6]func() prometheus.Counter
	seconds func() prometheus.Observer
}

// Route adds a route by its pattern and method. The caller keeps the result, so that no request has
// to look up counters by their labels.
func (r *Routes) Route(path, method string) *Route {
	n := &Route{seconds: sync.OnceValue(func() prometheus.Observer { return r.seconds.WithLabelValues(path, method) })}
	for class := range n.classes {
		n.classes[class] = sync.OnceValue(func() prometheus.Counter { return r.requests.WithLabelValues(path, method, statusClass(class)) })
	}
	return n
}

// Served counts a request that was answered with this status, 0 where none was written.
func (r *Route) Served(status int, took time.Duration) {
	class := status / 100
	if class < 0 || class >= len(r.classes) {
		class = 0
	}
	r.classes[class]().Inc()
	r.seconds().Observe(took.Seconds())
}

// statusClass is a status as the metrics have it: 2xx, 4xx.
func statusClass(class int) string {
	if class == 0 {
		return "none"
	}
	return strconv.Itoa(class) + "xx"
}

// Describe implements prometheus.Collector.
func (r *Routes) Describe(out chan<- *prometheus.Desc) {
	r.requests.Describe(out)
	r.seconds.Describe(out)
}

// Collect implements prometheus.Collector.
func (r *Routes) Collect(out chan<- prometheus.Metric) {
	r.requests.Collect(out)
	r.seconds.Collect(out)
}
