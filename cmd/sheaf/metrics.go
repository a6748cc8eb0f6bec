package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"sheaf.dev/internal/obs"
)

// metricsWorker serves the metrics on a listener of their own until its context
// ends. Nobody waits for a scrape under way.
func metricsWorker(l net.Listener, shared *sharedLimits, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		registry := obs.NewMetrics()
		shared.register(registry)
		s := newHTTP(obs.MetricsHandler(registry), log)
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}
