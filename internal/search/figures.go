package search

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// figures are the metrics of the index.
type figures struct {
	rebuilds prometheus.Counter
	took     prometheus.Histogram
	asked    *atomic.Int64 // number of reindex requests (sheaf reindex) seen at the last poll

	mu     *sync.Mutex // guards behind
	behind map[sheaf.WorkspaceID]time.Time
}

// fellBehind records the time of the oldest change that the workspace's index lacks.
func (f *figures) fellBehind(ws sheaf.WorkspaceID, since time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind[ws] = since
}

// builds records that the workspace's index is being built, or is paused. The first call sets the time.
func (f *figures) builds(ws sheaf.WorkspaceID, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.behind[ws]; !known {
		f.behind[ws] = now
	}
}

func (f *figures) caughtUp(ws sheaf.WorkspaceID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.behind, ws)
}

func (f *figures) stopFollowing() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.behind)
}

// lag returns the longest time for which any workspace's index has lacked a change.
func (f *figures) lag(now time.Time) (longest time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, since := range f.behind {
		longest = max(longest, now.Sub(since))
	}
	return longest
}

// Register adds the metrics of the index to r.
func (x *Index) Register(r prometheus.Registerer) {
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	r.MustRegister(x.figures.rebuilds, x.figures.took)
	gauge("sheaf_search_lag_seconds", "For how long the index has lacked the oldest change that it lacks; 0 on nodes that do not follow.",
		func() float64 { return x.figures.lag(x.Now()).Seconds() })
	gauge("sheaf_search_index_bytes", "Size of the index, of all nodes together with PostgreSQL.", func() float64 { return float64(x.Size()) })
}

const sizeOnPostgres = `
SELECT CAST(COALESCE(SUM(pg_total_relation_size(c.oid)), 0) AS BIGINT)
FROM pg_class c
WHERE c.relname LIKE 'search\_%' AND c.relkind = 'r' AND c.relnamespace = CAST(current_schema() AS regnamespace)`

// sizeWithin bounds how long a scrape waits for the size.
const sizeWithin = 2 * time.Second

// Size returns the size of the index in bytes, or 0 if it cannot be read.
func (x *Index) Size() (bytes int64) {
	if x.DatabaseURL == "" {
		for _, suffix := range []string{"", "-wal"} {
			if info, err := os.Stat(filepath.Join(x.Folder, FileName+suffix)); err == nil {
				bytes += info.Size()
			}
		}
		return bytes
	}
	if !x.opened.Load() {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), sizeWithin)
	defer cancel()
	x.engine.ReadOne(ctx, func(r *engine.Reader) (err error) {
		bytes, err = r.Count(sizeOnPostgres)
		return err
	})
	return bytes
}
