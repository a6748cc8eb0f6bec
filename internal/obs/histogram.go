package obs

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Histogram counts values into buckets that are known beforehand. To observe
// one takes two additions and no lock; a scrape that comes between them shows
// a sum that is ahead or behind by one value.
type Histogram struct {
	bounds []int64 // upper ones, rising
	unit   float64 // how many make one of what the metric shows
	counts []atomic.Uint64
	sum    atomic.Int64
}

// NewHistogram returns a histogram of whole numbers.
func NewHistogram(bounds ...int64) *Histogram {
	return &Histogram{bounds: bounds, unit: 1, counts: make([]atomic.Uint64, len(bounds)+1)}
}

// NewDurations returns a histogram of durations, which is shown in seconds.
func NewDurations(bounds ...time.Duration) *Histogram {
	values := make([]int64, len(bounds))
	for i, b := range bounds {
		values[i] = int64(b)
	}
	h := NewHistogram(values...)
	h.unit = float64(time.Second)
	return h
}

// Observe counts a value; a duration is counted as Observe(int64(d)).
func (h *Histogram) Observe(v int64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

// metric is the state as Prometheus has it.
func (h *Histogram) metric(d *prometheus.Desc, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(h.bounds))
	var count uint64
	for i, b := range h.bounds {
		count += h.counts[i].Load()
		buckets[float64(b)/h.unit] = count
	}
	count += h.counts[len(h.bounds)].Load()
	return prometheus.MustNewConstHistogram(d, count, float64(h.sum.Load())/h.unit, buckets, labels...)
}

// Register adds the histogram to r under a name.
func (h *Histogram) Register(r prometheus.Registerer, name, help string) {
	r.MustRegister(&single{h, prometheus.NewDesc(name, help, nil, nil)})
}

// single is a histogram without labels as a collector.
type single struct {
	*Histogram
	desc *prometheus.Desc
}

func (s *single) Describe(out chan<- *prometheus.Desc) { out <- s.desc }

func (s *single) Collect(out chan<- prometheus.Metric) { out <- s.metric(s.desc) }
