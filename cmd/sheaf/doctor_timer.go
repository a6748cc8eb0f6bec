package main

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

// maxLoggedViolations bounds the log lines of one check.
const maxLoggedViolations = 20

// maxMediaChecks bounds the files of media that one check reads, because in a bucket each is a
// request. The next check continues after them. After the last file, a check may read as many again
// from the first.
const maxMediaChecks = 5_000

// doctorTimer checks the stored data periodically, as `sheaf doctor` does, and exports the results
// as metrics. It is nil if the operator has turned the checks off.
type doctorTimer struct {
	store *store.Store
	log   *slog.Logger
	now   func() time.Time
	every time.Duration
	x     doctor.Examination
	media mediaRound

	violations, last, took prometheus.Gauge
}

// doctorTimer returns nil if the operator has turned periodic checks off.
func (p *program) doctorTimer(c *config.Settings, st *store.Store, files media.Store, w *webhooks, log *slog.Logger) *doctorTimer {
	if c.DoctorEvery == 0 {
		return nil
	}
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
		g.Set(math.NaN()) // until this node has made a check
		return g
	}
	return &doctorTimer{store: st, log: log, now: p.Now, every: c.DoctorEvery, x: doctor.Examination{Retention: c.Retention, Box: w.box},
		media:      mediaRound{store: st, files: doctor.MediaFiles{Store: files}, most: maxMediaChecks, faulty: map[doctor.MediaPlace]bool{}},
		violations: gauge("sheaf_doctor_violations", "How many violations the last check of the stored data on this node found."),
		last:       gauge("sheaf_doctor_last_run_timestamp_seconds", "When this node last checked the stored data to the end."),
		took:       gauge("sheaf_doctor_duration_seconds", "How long that took.")}
}

// register adds its metrics, which are NaN until the first check on this node.
func (d *doctorTimer) register(r prometheus.Registerer) {
	if d != nil {
		r.MustRegister(d.violations, d.last, d.took)
	}
}

// run checks at once and then periodically, on one node at a time, until ctx ends.
func (d *doctorTimer) run(ctx context.Context) error {
	tick := time.NewTicker(d.every)
	defer tick.Stop()
	for {
		if err := d.store.Alone(ctx, "doctor", d.check); err != nil && ctx.Err() == nil {
			d.log.Warn("could not check the stored data", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// check checks the stored data once, and some of the files of media, and logs the first violations.
func (d *doctorTimer) check(ctx context.Context) error {
	began, found := d.now(), 0
	x := d.x
	x.Now = began
	report := func(f doctor.Finding) {
		if f.Information {
			return
		}
		if found++; found <= maxLoggedViolations {
			d.log.Error("found a violation in the stored data", "check", f.Check, "workspace_id", f.Workspace, "text", f.Text)
		}
	}
	if err := doctor.Examine(ctx, d.store, x, report); err != nil {
		return err
	}
	if err := d.media.check(ctx, report); err != nil {
		d.log.Warn("could not look at all files of media", "error", err)
	}
	ended := d.now()
	d.violations.Set(float64(found))
	d.last.Set(float64(ended.UnixMilli()) / 1000)
	d.took.Set(ended.Sub(began).Seconds())
	d.log.Info("checked the stored data", "violations", found, "duration_ms", ended.Sub(began).Milliseconds())
	return nil
}

// mediaRound checks all files of media in turn, some at each check. It is for one goroutine.
type mediaRound struct {
	store *store.Store
	files doctor.MediaFiles // without a store: there are none
	most  int
	toEnd bool               // a check ends with the last file, and the next one begins with the first
	at    *doctor.MediaPlace // nil before the first check, which begins at a random file
	// faulty has the places before faulty media. They are checked each time, so that a violation is
	// reported until it is repaired.
	faulty map[doctor.MediaPlace]bool
}

// maxFaulty bounds the number of places in faulty.
const maxFaulty = 1_000

// check checks the next files and the faulty ones of earlier checks, and reports what is wrong.
// After the last file it continues with the first, unless toEnd is set.
func (m *mediaRound) check(ctx context.Context, report func(doctor.Finding)) (err error) {
	if m.files.Store == nil {
		return nil
	}
	known := m.faulty
	m.faulty = map[doctor.MediaPlace]bool{}
	found := func(before doctor.MediaPlace, f doctor.Finding) {
		if m.faulty[before] {
			return // it was reported already
		}
		if len(m.faulty) < maxFaulty {
			m.faulty[before] = true
		}
		report(f)
	}
	for place := range known {
		if _, err := doctor.ExamineMedia(ctx, m.store, m.files, place, 1, found); err != nil {
			maps.Copy(m.faulty, known)
			return err
		}
	}
	if m.at == nil {
		place, err := doctor.RandomMediaPlace(ctx, m.store, rand.Int64N)
		if err != nil {
			return err
		}
		m.at = &place
	}
	*m.at, err = doctor.ExamineMedia(ctx, m.store, m.files, *m.at, m.most, found)
	if err == nil && !m.toEnd && *m.at == (doctor.MediaPlace{}) {
		*m.at, err = doctor.ExamineMedia(ctx, m.store, m.files, *m.at, m.most, found)
	}
	return err
}
