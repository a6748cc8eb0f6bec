package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

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
