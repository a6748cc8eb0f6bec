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
func metricsWorker(l net.Listener, log *slog.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		s := newHTTP(obs.MetricsHandler(obs.NewMetrics()), log)
		defer context.AfterFunc(ctx, func() { s.Close() })()
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
}
