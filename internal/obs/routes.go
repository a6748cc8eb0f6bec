package obs

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Routes counts requests by route. Every route is made once, at the start, so
// that a request looks nothing up.
type Routes struct{ all []*Route }

// Route is what is counted of one.
type Route struct {
	path, method string
	classes      [6]atomic.Uint64 // by the first digit of the status; 0: none was written
	took         *Histogram
}

var (
	requestsTotal = prometheus.NewDesc("sheaf_http_requests_total", "Requests answered, by route and class of status.",
		[]string{"route", "method", "status"}, nil)
	requestSeconds = prometheus.NewDesc("sheaf_http_request_duration_seconds", "From a request's headers to the end of its answer.",
		[]string{"route", "method"}, nil)
)

// Route adds a route. It must not be called once requests are counted.
func (r *Routes) Route(path, method string) *Route {
	n := &Route{path: path, method: method, took: NewDurations(
		250*time.Microsecond, 500*time.Microsecond, time.Millisecond, 2500*time.Microsecond, 5*time.Millisecond, 10*time.Millisecond,
		25*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, 500*time.Millisecond,
		time.Second, 2500*time.Millisecond, 5*time.Second, 10*time.Second)}
	r.all = append(r.all, n)
	return n
}

// Served counts a request.
func (r *Route) Served(status int, took time.Duration) {
	class := status / 100
	if class < 0 || class >= len(r.classes) {
		class = 0
	}
	r.classes[class].Add(1)
	r.took.Observe(int64(took))
}

// Describe is for Prometheus.
func (r *Routes) Describe(out chan<- *prometheus.Desc) {
	out <- requestsTotal
	out <- requestSeconds
}

// Collect shows the routes that were asked for.
func (r *Routes) Collect(out chan<- prometheus.Metric) {
	for _, n := range r.all {
		asked := false
		for class := range n.classes {
			if count := n.classes[class].Load(); count > 0 {
				asked = true
				out <- prometheus.MustNewConstMetric(requestsTotal, prometheus.CounterValue, float64(count), n.path, n.method, statusClass(class))
			}
		}
		if asked {
			out <- n.took.metric(requestSeconds, n.path, n.method)
		}
	}
}

func statusClass(class int) string {
	if class == 0 {
		return "none"
	}
	return strconv.Itoa(class) + "xx"
}
