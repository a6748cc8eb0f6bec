package main

import (
	"context"
	"crypto/rand"
	"log/slog"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/redislimit"
	"sheaf.dev/internal/sheaf"
)

// sharedLimits are the rate limits that several nodes count together; nil where
// this process counts alone.
type sharedLimits struct{ redis *redislimit.Limiter }

func (p *program) limiter(c *config.Settings, log *slog.Logger) (*sharedLimits, error) {
	if c.RedisURL == "" {
		if c.DatabaseURL != "" {
			log.Warn("rate limits are counted by each node alone: give all nodes the same --redis-url to share them")
		}
		return nil, nil
	}
	l, err := redislimit.New(redislimit.Config{URL: c.RedisURL.Reveal(), NodeID: rand.Text(), Log: log, Now: p.now})
	if err != nil {
		return nil, err
	}
	return &sharedLimits{l}, nil
}

// limiter returns what the edge asks; nil for a window of its own.
func (s *sharedLimits) limiter() httpapi.Limiter {
	if s == nil {
		return nil
	}
	return s.redis
}

// run keeps the connection to the others until ctx ends.
func (s *sharedLimits) run(ctx context.Context) error {
	defer s.redis.Close()
	return s.redis.Run(ctx)
}

func rateLimit(limits config.RateLimit, plan sheaf.Plan) int {
	if plan == sheaf.Business {
		return limits.Business
	}
	return limits.Pro
}
