package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/config"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/doctor"
)

const (
	// scrubEvery is the interval of the scrub, and scrubFirst the pause before the first one.
	scrubEvery = 6 * time.Hour
	scrubFirst = 5 * time.Minute
	// maxScrubs bounds the files of one scrub. The next one continues after them.
	maxScrubs = 50_000
	// scrubPiece is the least number of bytes that a read counts as, because opening a file costs
	// too.
	scrubPiece = 16 << 10
)

// mediaScrub reads the bytes of media in the background and finds damaged ones before a reader
// does. It logs them and counts them for the metrics, and readers of a damaged medium get an error.
type mediaScrub struct {
	store *store.Store
	log   *slog.Logger
	rate  int64 // bytes a second; 0: it does not read
	round mediaRound

	bytes  prometheus.Counter
	faulty prometheus.Gauge
	reads  prometheus.CounterFunc
}

func newMediaScrub(c *config.Settings, st *store.Store, files media.Store, a *app.App, log *slog.Logger) *mediaScrub {
	s := &mediaScrub{store: st, log: log, rate: c.MediaScrubRate,
		bytes:  prometheus.NewCounter(prometheus.CounterOpts{Name: "sheaf_media_scrubbed_bytes_total", Help: "Bytes of media that this node has read in the background to verify them."}),
		faulty: prometheus.NewGauge(prometheus.GaugeOpts{Name: "sheaf_media_faulty", Help: "Media whose bytes are missing or damaged, as this node last found in the background."}),
		reads: prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "sheaf_media_refused_reads_total", Help: "Reads that were refused because the bytes of the medium are missing or damaged."},
			func() float64 { return float64(a.Operator().RefusedReads()) })}
	s.round = mediaRound{store: st, most: maxScrubs, toEnd: true, faulty: map[doctor.MediaPlace]bool{}, files: doctor.MediaFiles{Store: files,
		Verify: func(ctx context.Context, key media.Key) error { return a.Operator().RecheckBytes(ctx, key, s.pace) }}}
	return s
}

func (s *mediaScrub) register(r prometheus.Registerer) { r.MustRegister(s.bytes, s.faulty, s.reads) }

// run verifies media every scrubEvery until ctx ends. Only one of several nodes does so at a time.
func (s *mediaScrub) run(ctx context.Context) error {
	next := time.NewTimer(scrubFirst)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		if err := s.store.Alone(ctx, "media scrub", s.check); err != nil && ctx.Err() == nil {
			s.log.Warn("could not verify all files of media", "error", err)
		}
		next.Reset(scrubEvery)
	}
}

// check verifies the next files, and those that were faulty before.
func (s *mediaScrub) check(ctx context.Context) error {
	found := 0
	err := s.round.check(ctx, func(f doctor.Finding) {
		if found++; found <= maxLoggedViolations {
			s.log.Error("found a medium without its bytes", "workspace_id", f.Workspace, "text", f.Text)
		}
	})
	if err == nil {
		s.faulty.Set(float64(found))
	}
	return err
}

// pace counts n bytes, and blocks for the time that reading them takes at the rate.
func (s *mediaScrub) pace(ctx context.Context, n int) error {
	s.bytes.Add(float64(n))
	wait := time.NewTimer(time.Duration(max(n, scrubPiece)) * time.Second / time.Duration(s.rate))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
