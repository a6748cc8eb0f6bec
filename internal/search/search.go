// Package search finds projects, folders and documents by the words in them. Its index follows the
// event log of each workspace, so that no write waits for it. Searches still answer as of the
// moment of the request: records whose changes are in the log but not yet in the index are read
// from the store.
//
// The index can be rebuilt from the store at any time. On SQLite it is a file of its own, with its
// own writer. On PostgreSQL its tables are in the store's database, and one of several nodes
// follows. docs/decisions/0025 describes the layout and the reasons for it.
//
// The package decides nothing about access: the caller says which workspace is searched, and for
// which kinds of records.
package search

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// FileName is the name of the index file in the data folder.
const FileName = "search.db"

// Config has the settings of an index.
type Config struct {
	Store       *store.Store
	Folder      string // where the index file is; used if DatabaseURL is empty
	DatabaseURL string // the PostgreSQL database of the store
	DirectURL   string // the same database without a pooler; empty: there is no pooler
	Log         *slog.Logger
	Now         func() time.Time // used only for metrics
	// Beside means that a running server has the file open, so it must not be replaced.
	Beside bool
	// Paused reports whether nothing may be indexed now, because the disk has no room. nil: never.
	Paused func() bool
	// Patience bounds how long a search may take, and how long it waits for its turn. 0 means
	// searchWithin and searchTurn. Tests set more, because their machine may be busy.
	Patience time.Duration
}

// Index searches the records of all workspaces. It is safe for concurrent use. It opens its file or
// database at the first use, and follows the log only while Run or CatchUp runs.
type Index struct {
	Config
	opening sync.Mutex // guards engine until opened is set
	opened  atomic.Bool
	engine  engine.Engine // must not be read before opened is set
	file    os.FileInfo   // the SQLite file that is open

	// Searches hold using for reading. It is held for writing while the file is replaced. suspect
	// is set when an error reports damage (damage.go).
	using   sync.RWMutex
	suspect atomic.Bool

	places chan struct{} // slots for all concurrent searches
	turns  *engine.Slots // slots for the searches of one workspace

	room  int64 // places per chunk: chunkPlaces, fewer in tests
	pairs int   // number of candidates from which a search reads on two connections: pairFrom
	// termsFrom is the number of candidates in a chunk from which its terms are read.
	termsFrom int
	within    time.Duration // bounds a search: searchWithin
	noted     notes         // workspaces that commits announced
	figures   figures

	// State of the follower, which no other goroutine uses: buffers for sealing, the last event
	// that each workspace's index is known to contain, and the number of records built since memory
	// was last returned to the system.
	sealing *sealing
	known   map[sheaf.WorkspaceID]int64
	built   int
	// looked is when the last poll began that found every log that had grown. round is the position
	// of the round over all logs.
	looked time.Time
	round  store.Round
	trust  int // number of looks that skip the full check for damage (trustFor)
}

// New returns the index of a store. It opens nothing.
func New(c Config) *Index {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Time{} }
	}
	n := min(max(2, runtime.GOMAXPROCS(0)), 4)
	return &Index{
		Config: c, room: chunkPlaces, pairs: pairFrom, termsFrom: termsFrom, within: cmp.Or(c.Patience, searchWithin),
		places: make(chan struct{}, n), turns: engine.NewSlots(n/2, cmp.Or(c.Patience, searchTurn)), noted: newNotes(),
		figures: figures{
			rebuilds: prometheus.NewCounter(prometheus.CounterOpts{Name: "sheaf_search_rebuilds_total", Help: "Indexes of workspaces that this node began to rebuild."}),
			took: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "sheaf_search_duration_seconds", Help: "How long searches took, the wait for a place included.",
				Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}}),
			asked: new(atomic.Int64), mu: new(sync.Mutex), behind: map[sheaf.WorkspaceID]time.Time{},
		},
	}
}

// Open opens the index if it is not open. On SQLite it creates a missing file, and replaces a file
// that is damaged or has another layout by an empty one, which the follower fills. If another
// program is creating the file, Open waits for it.
func (x *Index) Open(ctx context.Context) error {
	if x.opened.Load() {
		return nil
	}
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.opened.Load() {
		return nil
	}
	e, err := x.open(ctx)
	if err != nil {
		return err
	}
	x.engine = e
	if x.DatabaseURL == "" {
		x.file, _ = os.Stat(x.path())
	}
	x.opened.Store(true)
	return nil
}

// path returns the path of the SQLite file.
func (x *Index) path() string { return filepath.Join(x.Folder, FileName) }

// IsOpen reports whether the index is open.
func (x *Index) IsOpen() bool { return x.opened.Load() }

func (x *Index) open(ctx context.Context) (engine.Engine, error) {
	// A search may read on two connections; the follower has its own.
	o := engine.Options{DatabaseURL: x.DatabaseURL, DirectURL: x.DirectURL, Folder: x.Folder, File: FileName, Log: x.Log, Connections: 2*cap(x.places) + 2, Derived: true}
	if x.DatabaseURL != "" {
		return engine.Open(ctx, o)
	}
	e, err := openFile(ctx, o)
	if err == nil || ctx.Err() != nil || x.Beside || errors.Is(err, engine.ErrInUse) {
		return e, err
	}
	x.Log.Warn("the search index could not be used and is rebuilt", "path", x.path(), "error", err)
	if err := Remove(x.Folder); err != nil {
		return nil, err
	}
	return openFile(ctx, o)
}

// Remove deletes the index file from a data folder that no server uses. The next server rebuilds
// it.
func Remove(folder string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(folder, FileName+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the index of search cannot be removed: %w", err)
		}
	}
	return nil
}

// layout is the version of tables.sql.
const layout = 3

//go:embed tables.sql
var tables string

// openFile opens the SQLite file and creates the tables if it is empty.
func openFile(ctx context.Context, o engine.Options) (engine.Engine, error) {
	e, err := engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := e.Write(ctx, makeTables); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func makeTables(tx *engine.Tx) error {
	n, err := tx.Count(`SELECT COUNT(*) FROM sqlite_schema`)
	if err != nil {
		return err
	}
	if n > 0 {
		found, err := tx.Count(`SELECT layout FROM search_layout`)
		if err == nil && found != layout {
			err = fmt.Errorf("it has the layout %d, and not %d", found, layout)
		}
		return err
	}
	for statement := range strings.SplitSeq(tables, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := tx.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the index. No search may be running, and Run must have returned.
func (x *Index) Close() error {
	x.opening.Lock()
	defer x.opening.Unlock()
	if !x.opened.Load() {
		return nil
	}
	x.opened.Store(false)
	return x.engine.Close()
}

// notes collects the workspaces that commits announced, until the follower takes them.
type notes struct {
	some chan struct{} // capacity 1; wakes the follower
	mu   *sync.Mutex   // guards all
	all  *sheaf.WorkspaceSet
}

func newNotes() notes {
	return notes{some: make(chan struct{}, 1), mu: new(sync.Mutex), all: new(sheaf.WorkspaceSet)}
}

func (n notes) add(note store.Note) {
	if !note.Events {
		return
	}
	n.mu.Lock()
	n.all.AddAll(note.Workspaces)
	n.mu.Unlock()
	select {
	case n.some <- struct{}{}:
	default:
	}
}

// putBack notes a workspace whose changes could not be indexed. The next poll retries it.
func (n notes) putBack(ws sheaf.WorkspaceID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all.Add(ws)
}

// drainNamed returns the workspaces noted by name and forgets them. A note of all workspaces stays.
func (n notes) drainNamed() map[sheaf.WorkspaceID]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	named := n.all.IDs
	n.all.IDs = nil
	return named
}

// drain returns what was noted and forgets it.
func (n notes) drain() sheaf.WorkspaceSet {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := *n.all
	*n.all = sheaf.WorkspaceSet{}
	return taken
}
