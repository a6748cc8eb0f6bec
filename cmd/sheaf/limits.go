package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/door"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/redislimit"
	"sheaf.dev/internal/sheaf"
)

// sharedLimits are the rate limits that several nodes count together. It is nil if this process
// counts alone.
type sharedLimits struct{ redis *redislimit.Limiter }

// limiter connects to Redis, if the settings name one. Redis may be unreachable: see redislimit.
func (p *program) limiter(c *config.Settings, log *slog.Logger) (*sharedLimits, error) {
	if c.RedisURL == "" {
		if c.DatabaseURL != "" {
			log.Warn("rate limits are counted by each node alone: give all nodes the same --redis-url to share them")
		}
		return nil, nil
	}
	l, err := redislimit.New(redislimit.Config{URL: c.RedisURL.Reveal(), NodeID: rand.Text(), Log: log, Now: p.Now})
	if err != nil {
		return nil, err
	}
	return &sharedLimits{l}, nil
}

// limiter returns the limiter of the API; nil makes the API use its own.
func (s *sharedLimits) limiter() door.Limiter {
	if s == nil {
		return nil
	}
	return s.redis
}

// people returns the function that limits a person's changes in the console. The limit is that of a
// key of the same plan, so that the console is no way around it.
func (s *sharedLimits) people(limits config.RateLimit) func(context.Context, string, sheaf.Plan, time.Time) time.Duration {
	admit := s.limiter()
	if admit == nil {
		admit = door.NewLimiter()
	}
	return func(ctx context.Context, name string, plan sheaf.Plan, now time.Time) time.Duration {
		d := admit.Admit(ctx, name, rateLimit(limits, plan), ratewindow.Group{}, now)
		if d.Admitted {
			return 0
		}
		return time.Duration(d.RetryAfter) * time.Second
	}
}

const (
	// sharePages is the number of pages of shares that one address may request in a minute.
	sharePages = 120
	// consoleReads is the number of console pages that render, compare or search which a person may
	// request in a minute, in each workspace.
	consoleReads = 600
)

// reading returns the function that limits reading to `most` times a minute under each name.
func (s *sharedLimits) reading(most int) func(context.Context, string, time.Time) time.Duration {
	admit := s.limiter()
	if admit == nil {
		admit = door.NewLimiter()
	}
	return func(ctx context.Context, name string, now time.Time) time.Duration {
		d := admit.Admit(ctx, name, most, ratewindow.Group{}, now)
		if d.Admitted {
			return 0
		}
		return time.Duration(d.RetryAfter) * time.Second
	}
}

// register adds the metrics: whether this node counts alone, and how many nodes share the limits.
func (s *sharedLimits) register(r prometheus.Registerer) {
	if s == nil {
		return
	}
	gauge := func(name, help string, value func(redislimit.State) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(s.redis.State()) }))
	}
	gauge("sheaf_rate_limit_alone", "1 while Redis cannot be reached and this node counts alone, with its share of the limits.", func(st redislimit.State) float64 {
		if st.Degraded {
			return 1
		}
		return 0
	})
	gauge("sheaf_rate_limit_nodes", "How many nodes share the limits, as last seen.", func(st redislimit.State) float64 { return float64(st.Nodes) })
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sheaf_rate_limit_losses_total", Help: "How often Redis was lost since the start."},
		func() float64 { return float64(s.redis.State().Losses) }))
}

// run shares the counts with the other nodes until ctx ends.
func (s *sharedLimits) run(ctx context.Context) error {
	defer s.redis.Close()
	return s.redis.Run(ctx)
}

// rateLimit returns the number of requests that a key of the plan may make in a minute.
func rateLimit(limits config.RateLimit, plan sheaf.Plan) int {
	if plan == sheaf.Business {
		return limits.Business
	}
	return limits.Pro
}

// mostTrash returns the number of deleted documents that a workspace keeps; 0 means no limit. It is
// the largest number of records of any plan, whatever the workspace's plan is, because changing a
// plan deletes nothing.
func mostTrash(most config.MaxRecords) int {
	if most.Free == 0 || most.Pro == 0 || most.Business == 0 {
		return 0
	}
	return max(most.Free, most.Pro, most.Business)
}

// maxRecords returns the function that bounds the records of a workspace, by its plan.
func maxRecords(most config.MaxRecords) func(sheaf.Plan) int {
	return func(plan sheaf.Plan) int {
		switch plan {
		case sheaf.Business:
			return most.Business
		case sheaf.Pro:
			return most.Pro
		}
		return most.Free
	}
}

// quota returns the function that bounds the bytes of a workspace, by its plan. A workspace on the
// free plan keeps what it has; people may still write there in the console, within the quota of the
// first paid plan.
func quota(most config.Quota) func(sheaf.Plan) int64 {
	return func(plan sheaf.Plan) int64 {
		if plan == sheaf.Business {
			return most.Business
		}
		return most.Pro
	}
}
