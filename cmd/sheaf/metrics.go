package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/obs"
)

// metricsWorker serves the metrics on a listener of their own until its context
// ends. Nobody waits for a scrape under way.
func metricsWorker(l net.Listener, log *slog.Logger, register ...func(prometheus.Registerer)) func(context.Context) error {
	return func(ctx context.Context) error {
		registry := obs.NewMetrics()
		for _, r := range register {
			r(registry)
		}
		s := newHTTP(obs.MetricsHandler(registry), log)
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}

// load is what clients ask of this process.
type load struct {
	api     *httpapi.Server
	clients *connections
}

// register adds what an operator watches to see whether there is room left.
func (l load) register(r prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	counter := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, value))
	}
	gauge("sheaf_requests_working", "Requests in work, those that wait for the store included.", func() float64 { return float64(l.api.Load().Working) })
	gauge("sheaf_request_body_bytes", "Bytes of large bodies that are held.", func() float64 { return float64(l.api.Load().Bodies) })
	gauge("sheaf_answer_bytes", "Bytes of large answers that were not taken yet.", func() float64 { return float64(l.api.Load().Answers) })
	gauge("sheaf_event_streams", "Open event streams.", func() float64 { return float64(l.api.Load().Streams) })
	gauge("sheaf_connections", "Open connections of clients.", func() float64 { return float64(l.clients.open.Load()) })
	counter("sheaf_requests_refused_total", "Requests that were refused with 503 for want of room.", func() float64 { return float64(l.api.Load().Refused) })
	counter("sheaf_connections_refused_total", "Connections that were closed for want of room.", func() float64 { return float64(l.clients.refused.Load()) })
}
