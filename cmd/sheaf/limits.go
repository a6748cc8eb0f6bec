package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/httpapi"
	"sheaf.dev/internal/ratewindow"
	"sheaf.dev/internal/redislimit"
	"sheaf.dev/internal/sheaf"
)

// sharedLimits are the rate limits that several nodes count together; nil where this process counts
// alone.
type sharedLimits struct{ redis *redislimit.Limiter }

// limiter connects to Redis, where the operator gave one. Redis may be away: see redislimit.
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

// limiter returns what the edge asks; nil for a window of its own.
func (s *sharedLimits) limiter() httpapi.Limiter {
	if s == nil {
		return nil
	}
	return s.redis
}

// people returns the bound on what a person changes in the console: that of a key of the same plan,
// so that the console is no way around it.
func (s *sharedLimits) people(limits config.RateLimit) func(context.Context, string, sheaf.Plan, time.Time) time.Duration {
	admit := s.limiter()
	if admit == nil {
		admit = httpapi.NewLimiter()
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
	// sharePages is the number of pages of shares that an address may ask for in a minute.
	sharePages = 120
	// consoleReads is the number of times that a person may read in the console in a minute what is
	// rendered, compared or searched for, in each workspace.
	consoleReads = 600
)

// reading returns the bound on reading: most times a minute under each name.
func (s *sharedLimits) reading(most int) func(context.Context, string, time.Time) time.Duration {
	admit := s.limiter()
	if admit == nil {
		admit = httpapi.NewLimiter()
	}
	return func(ctx context.Context, name string, now time.Time) time.Duration {
		d := admit.Admit(ctx, name, most, ratewindow.Group{}, now)
		if d.Admitted {
			return 0
		}
		return time.Duration(d.RetryAfter) * time.Second
	}
}

// register adds what an operator watches: whether this node counts alone, and how many nodes it
// sees.
func (s *sharedLimits) register(r prometheus.Registerer) {
	if s == nil {
		return
	}
	gauge := func(name, help string, value func(redislimit.State) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(s.redis.State()) }))
	}
	gauge("sheaf_rate_limit_alone", "1 while Redis is lost and this node counts with its share of the limits.", func(st redislimit.State) float64 {
		if st.Degraded {
			return 1
		}
		return 0
	})
	gauge("sheaf_rate_limit_nodes", "How many nodes share the limits, as last seen.", func(st redislimit.State) float64 { return float64(st.Nodes) })
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sheaf_rate_limit_losses_total", Help: "How often Redis was lost since the start."},
		func() float64 { return float64(s.redis.State().Losses) }))
}

// run keeps the connection to the others until ctx ends.
func (s *sharedLimits) run(ctx context.Context) error {
	defer s.redis.Close()
	return s.redis.Run(ctx)
}

// rateLimit is how many requests a minute a key of the plan may make.
func rateLimit(limits config.RateLimit, plan sheaf.Plan) int {
	if plan == sheaf.Business {
		return limits.Business
	}
	return limits.Pro
}

// mostTrash returns how many deleted documents a workspace keeps: as many as the largest plan
// allows records, whatever its plan is, because changing a plan deletes nothing. 0 is any number.
func mostTrash(most config.MaxRecords) int {
	if most.Free == 0 || most.Pro == 0 || most.Business == 0 {
		return 0
	}
	return max(most.Free, most.Pro, most.Business)
}

// maxRecords returns how many records a workspace of a plan may have.
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

// quota returns how many bytes a workspace of a plan may store. One on the free plan keeps what it
// has, and what people write there in the console is bounded as on the first paid one.
func quota(most config.Quota) func(sheaf.Plan) int64 {
	return func(plan sheaf.Plan) int64 {
		if plan == sheaf.Business {
			return most.Business
		}
		return most.Pro
	}
}
