package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/door"
	"sheaf.dev/internal/front"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/obs"
	"sheaf.dev/internal/render"
	"sheaf.dev/internal/store"
)

// metricsWorker returns the worker that serves the metrics on their own listener until its context
// ends. It does not wait for a scrape in flight. The metrics are registered before metricsWorker
// returns, so that the first request is counted.
func metricsWorker(l net.Listener, log *slog.Logger, register ...func(prometheus.Registerer)) func(context.Context) error {
	registry := obs.NewMetrics()
	for _, r := range register {
		r(registry)
	}
	return func(ctx context.Context) error {
		s := newHTTP(obs.MetricsHandler(registry), log)
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// load has the sources of the metrics about the load by clients.
type load struct {
	front    *front.Front
	keys     *door.Door
	api      *httpapi.Server
	requests *obs.Routes
	clients  *connections
	store    *store.Store
	texts    *render.Renderer
}

// register adds the metrics that show whether the server has capacity left.
func (l load) register(r prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	r.MustRegister(l.requests, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_build_info", Help: "Which program this is.",
		ConstLabels: prometheus.Labels{"version": version, "commit": builtFrom(), "goversion": runtime.Version()}}, func() float64 { return 1 }))
	groupMetrics(r, l.store)
	if _, ok := l.store.LogBytes(); ok {
		gauge("sheaf_store_log_bytes", "Size of the log beside the SQLite file.", func() float64 {
			n, _ := l.store.LogBytes()
			return float64(n)
		})
	}
	counter("sheaf_http_rate_limited_total", "Requests that the rate limit refused.", func() float64 { return float64(l.keys.Limited()) })
	counter("sheaf_page_cache_hits_total", "Answers that came from the cache.", func() float64 { return float64(l.api.Load().PageHits) })
	counter("sheaf_page_cache_misses_total", "Answers about projects, folders, documents and brandings that were not in the cache.", func() float64 { return float64(l.api.Load().PageMisses) })
	gauge("sheaf_page_cache_bytes", "Size of the answer cache.", func() float64 { return float64(l.api.Load().PageBytes) })
	gauge("sheaf_requests_working", "Requests in progress, including those that wait for the store.", func() float64 { return float64(l.front.Load().Working) })
	gauge("sheaf_request_body_bytes", "Bytes of large bodies that are held.", func() float64 { return float64(l.front.Load().Bodies) })
	gauge("sheaf_answer_bytes", "Bytes of large answers that clients have not read yet.", func() float64 { return float64(l.front.Load().Answers) })
	gauge("sheaf_event_streams", "Open event streams.", func() float64 { return float64(l.front.Load().Streams) })
	gauge("sheaf_render_waiting", "Texts that wait for their turn to be rendered.", func() float64 {
		waiting, _ := l.texts.Load()
		return float64(waiting)
	})
	counter("sheaf_render_refused_total", "Texts that got no turn to be rendered.", func() float64 {
		_, refused := l.texts.Load()
		return float64(refused)
	})
	gauge("sheaf_connections", "Open connections of clients.", func() float64 { return float64(l.clients.opened()) })
	counter("sheaf_requests_refused_total", "Requests that were refused with 503 because the server was full.", func() float64 { return float64(l.front.Load().Refused) })
	counter("sheaf_connections_refused_total", "New connections that were closed because the maximum was reached.", func() float64 { return float64(l.clients.full.Load()) })
	counter("sheaf_connections_address_refused_total", "New connections that were closed because their address had its maximum.", func() float64 { return float64(l.clients.over.Load()) })
	counter("sheaf_connections_idle_closed_total", "Idle connections that were closed to admit others.", func() float64 { return float64(l.clients.closed.Load()) })
}

// groupMetrics adds the metrics that show whether SQLite's writer keeps up.
func groupMetrics(r prometheus.Registerer, st *store.Store) {
	histogram := func(name, help string, bounds ...float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds})
		r.MustRegister(h)
		return h
	}
	seconds := []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1, 5}
	members := histogram("sheaf_store_group_members", "Writes that SQLite's writer committed together.", 1, 2, 4, 8, 16, 32, 64, 128, 256)
	waited := histogram("sheaf_store_group_wait_seconds", "How long the first write of a group waited for its turn.", seconds...)
	took := histogram("sheaf_store_group_duration_seconds", "From the beginning of a group's transaction to the answers.", seconds...)
	commit := histogram("sheaf_store_commit_duration_seconds", "COMMIT alone, the fsync included.", seconds...)
	st.OnGroup(func(g store.GroupCommit) {
		members.Observe(float64(g.Members))
		waited.Observe(g.Waited.Seconds())
		took.Observe(g.Took.Seconds())
		commit.Observe(g.Commit.Seconds())
	})
}
