package main

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// maxLoggedViolations bounds the log lines of one look at the stored data.
const maxLoggedViolations = 20

// doctorTimer looks at the stored data by and by, as `sheaf doctor` does, and keeps what it found
// for the metrics; nil: never.
type doctorTimer struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	every time.Duration
	x     doctor.Examination

	violations, last, took prometheus.Gauge
}

// doctorTimer returns nil where the operator wants no checks by the clock.
func (p *program) doctorTimer(c *config.Settings, st *store.Store, w *webhooks, log *slog.Logger) *doctorTimer {
	if c.DoctorEvery == 0 {
		return nil
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		g.Set(math.NaN()) // until this node has looked
		return g
	}
	return &doctorTimer{store: st, log: log, now: p.Now, every: c.DoctorEvery, x: doctor.Examination{Retention: c.Retention, Box: w.box},
		violations: gauge("sheaf_doctor_violations", "How many violations the last check of the stored data on this node found."),
		last:       gauge("sheaf_doctor_last_run_timestamp_seconds", "When this node last checked the stored data to the end."),
		took:       gauge("sheaf_doctor_duration_seconds", "How long that took.")}
}

// register adds its metrics, which are not a number until this node has looked.
func (d *doctorTimer) register(r prometheus.Registerer) {
	if d != nil {
		r.MustRegister(d.violations, d.last, d.took)
	}
}

// run looks now and then every so often, of several nodes one at a time, until ctx ends.
func (d *doctorTimer) run(ctx context.Context) error {
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	for {
		if err := d.store.Alone(ctx, "doctor", d.look); err != nil && ctx.Err() == nil {
			d.log.Warn("could not check the stored data", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// look checks the stored data once, and logs the first violations.
func (d *doctorTimer) look(ctx context.Context) error {
	began, found := d.now(), 0
	x := d.x
	x.Now = began
	err := doctor.Examine(ctx, d.store, x, func(f doctor.Finding) {
		if f.Information {
			return
		}
		if found++; found <= maxLoggedViolations {
			d.log.Error("found a violation in the stored data", "check", f.Check, "workspace_id", f.Workspace, "text", f.Text)
		}
	})
	if err != nil {
		return err
	}
	ended := d.now()
	d.violations.Set(float64(found))
	d.last.Set(float64(ended.UnixMilli()) / 1000)
	d.took.Set(ended.Sub(began).Seconds())
	d.log.Info("checked the stored data", "violations", found, "duration_ms", ended.Sub(began).Milliseconds())
	return nil
}
