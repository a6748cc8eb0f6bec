// Package disk watches the room on the disk of the data folder, so that writing ends before the disk is
// full and deleting never does. It knows no record: the rules ask it before they write.
package disk

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A disk has a reserve, in three parts. What is left decides what is refused:
//
//	|<- 1/16 ->|<-  up to 1/4  ->|<-      the rest      ->|
//	|  ballast |   deletions     | small writes           |  everything
//	0                            Full                    Tight
//
// Free pages inside the database count as room for the store, because it writes into them first. Its log
// does not: below 1/16 of the reserve the disk is Full whatever the database has.
//
// The ballast is a file in the data folder that holds nothing. If another program takes the last of the disk,
// the ballast is deleted, and deletions and the command line have its room.

// Level is how little room there is.
type Level int32

// The levels.
const (
	Roomy Level = iota
	Tight       // uploads, reported events, large texts and batches are refused
	Full        // everything but deletions is refused
)

const (
	// every is the pause between two looks at the disk.
	every = time.Second
	// ballastName is the name of the ballast in the data folder.
	ballastName = "ballast"
	// smallDisk bounds the reserve to a part of the disk: on a disk of 1 GB the default would be a quarter.
	smallDisk = 10
)

// Space is what a file system has, in bytes. Total is 0 if it does not say.
type Space struct{ Free, Total int64 }

// Config is what a Watch needs.
type Config struct {
	Folder string // folder of the database
	// Media is the folder of media, which may be on another disk; empty: they are in a bucket.
	Media   string
	Reserve int64 // bytes; 0 turns the watch off
	// Spare returns the bytes of free pages in the database.
	Spare func(context.Context) (int64, error)
	Log   *slog.Logger
	// Stat returns the room at a path; nil asks the operating system.
	Stat func(path string) (Space, error)
}

// Watch knows how much room there is. A nil Watch has any amount: with PostgreSQL the disk is not ours.
type Watch struct {
	Config
	level   atomic.Int32
	free    atomic.Int64
	pending atomic.Int64 // bytes that admitted uploads have yet to write
}

// New returns a Watch that has looked once. Later looks are made by Run.
func New(ctx context.Context, c Config) *Watch {
	if c.Reserve == 0 {
		return nil
	}
	if c.Stat == nil {
		c.Stat = stat
	}
	w := &Watch{Config: c}
	w.Check(ctx)
	return w
}

// Level returns how little room the last look found.
func (w *Watch) Level() Level {
	if w == nil {
		return Roomy
	}
	return Level(w.level.Load())
}

// Run looks at the disk every second until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		w.Check(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Check asks how much room there is. It deletes the ballast if there is hardly any, and makes it again when
// there is enough. If the disk cannot be asked, the level stays as it was.
func (w *Watch) Check(ctx context.Context) {
	free, spare, reserve, known := w.look(ctx)
	if !known {
		return
	}
	now := level(free, spare, reserve)
	if before := Level(w.level.Swap(int32(now))); before != now {
		w.logLevel(now, free, reserve)
	}
	w.free.Store(free)
	switch {
	case free < reserve/16:
		w.dropBallast()
	case free > reserve+reserve/8:
		keepBallast(filepath.Join(w.Folder, ballastName), reserve/16)
	}
}

// look returns the free bytes of the disk, the spare ones in the database, and the reserve. known is false if the
// disk cannot be asked.
func (w *Watch) look(ctx context.Context) (free, spare, reserve int64, known bool) {
	space, err := w.Stat(w.Folder)
	if err != nil || space.Total == 0 {
		return 0, 0, 0, false
	}
	if spare, err = w.Spare(ctx); err != nil {
		spare = 0
	}
	return space.Free, spare, w.reserve(space), true
}

// Fits reports whether the database may grow by `bytes` bytes, and its log by as many, without touching the reserve. It
// asks the disk itself. A disk that cannot be asked has room.
func (w *Watch) Fits(ctx context.Context, bytes int64) bool {
	if w == nil {
		return true
	}
	free, spare, reserve, known := w.look(ctx)
	return !known || level(free-bytes, spare-bytes, reserve) == Roomy
}

// reserve returns the reserve of a disk: what is set, but no more than a tenth of the disk.
func (w *Watch) reserve(s Space) int64 { return min(w.Reserve, s.Total/smallDisk) }

// level judges the free bytes of the disk, and the spare ones in the database, by the reserve.
func level(free, spare, reserve int64) Level {
	switch {
	case free < reserve/16 || free+spare < reserve/4:
		return Full
	case free+spare < reserve:
		return Tight
	}
	return Roomy
}

// logLevel logs a change of the level.
func (w *Watch) logLevel(now Level, free, reserve int64) {
	switch now {
	case Roomy:
		w.Log.Info("the disk has room again", "free_bytes", free)
	case Tight:
		w.Log.Warn("the disk is nearly full: uploads, reported events, large texts and batches are refused", "free_bytes", free, "reserve_bytes", reserve)
	case Full:
		w.Log.Error("the disk is full: everything but deletions is refused", "free_bytes", free, "reserve_bytes", reserve)
	}
}

// Admit reports whether a file of at most `bytes` bytes may be written without touching the reserve. It asks the
// disk itself, because uploads fill it faster than Run looks. The caller calls done after the file was
// written.
func (w *Watch) Admit(bytes int64) (done func(), ok bool) {
	if w == nil {
		return func() {}, true
	}
	if w.Level() != Roomy {
		return nil, false
	}
	done = func() { w.pending.Add(-bytes) }
	if pending := w.pending.Add(bytes); w.Media != "" {
		space, err := w.Stat(w.Media)
		if err != nil { // the first file makes the folder
			space, err = w.Stat(w.Folder)
		}
		if err == nil && space.Total > 0 && space.Free-pending < w.reserve(space) {
			done()
			return nil, false
		}
	}
	return done, true
}

// Register adds the metrics of the disk to r.
func (w *Watch) Register(r prometheus.Registerer) {
	if w == nil {
		return
	}
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_disk_free_bytes",
			Help: "Free bytes of the disk that holds the data folder."}, func() float64 { return float64(w.free.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sheaf_disk_level",
			Help: "What is refused because the disk is nearly full: 0 nothing, 1 uploads, reported events, large texts and batches, 2 everything but deletions."},
			func() float64 { return float64(w.Level()) }))
}

// dropBallast deletes the ballast.
func (w *Watch) dropBallast() {
	if err := os.Remove(filepath.Join(w.Folder, ballastName)); err == nil {
		w.Log.Warn("the ballast was deleted, so that something can be deleted: free some room on the disk", "bytes_free", w.free.Load())
	}
}

// Relieve deletes the ballast of a data folder whose disk has less than a sixteenth of the reserve. A store can then be
// opened: SQLite needs room for its log even to read.
func Relieve(folder string) error {
	ballast := filepath.Join(folder, ballastName)
	file, err := os.Stat(ballast)
	if err != nil {
		return nil // there is no reserve file
	}
	space, err := stat(folder)
	if err != nil || space.Total == 0 || space.Free >= file.Size() {
		return nil
	}
	if err := os.Remove(ballast); err != nil {
		return fmt.Errorf("the disk is full, and the ballast cannot be deleted: %w", err)
	}
	return nil
}
