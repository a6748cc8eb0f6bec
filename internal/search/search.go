// Package search finds projects, folders and documents by the words in them. It keeps an index
// that follows the event log of each workspace, so that no write waits for it, and answers as of
// the moment of the request: whatever the log tells of that the index has not taken in yet is read
// from the store itself.
//
// The index can be made again from the store at any time. On SQLite it is a file of its own, with a
// writer of its own; on PostgreSQL its tables stand beside all others, and of several nodes one
// follows. docs/decisions/0025 says how it is laid out, and why.
//
// It decides nothing: whose records are looked at, and which kinds of them, its caller says.
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

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
	"sheaf.dev/internal/store/engine"
)

// FileName is the file of the index in the data folder.
const FileName = "search.db"

// Config is what an index needs.
type Config struct {
	Store       *store.Store
	Folder      string // of the file; used when DatabaseURL is empty
	DatabaseURL string // of the store, with PostgreSQL
	DirectURL   string // of the same without a pooler; empty: there is none
	Log         *slog.Logger
	Now         func() time.Time // for figures alone
	// Beside says that a server has the file, which therefore must not be replaced.
	Beside bool
	// Patience is how long a search may take, and how long it waits for its turn; 0 is searchWithin and
	// searchTurn. Tests have more: the machine that they run on may be busy.
	Patience time.Duration
}

// Index finds things. It is safe for concurrent use. Nothing is opened before it is needed, and
// nothing follows the log before Run.
type Index struct {
	Config
	opening sync.Mutex    // guards engine until opened says that it is there
	opened  atomic.Bool   //
	engine  engine.Engine // read by others only once opened
	file    os.FileInfo   // of the SQLite file that is open

	// using is held for reading by whoever searches, and for writing while the file is replaced;
	// suspect says that somebody met damage (damage.go).
	using   sync.RWMutex
	suspect atomic.Bool

	places chan struct{} // for the searches that run beside each other
	turns  *engine.Slots // and for those of one workspace

	room  int64 // places of a chunk: chunkPlaces, of which tests take less
	pairs int   // from how many candidates on a search reads on two connections: pairFrom
	// termsFrom is from how many candidates of a chunk on its terms are asked: termsFrom.
	termsFrom int
	within    time.Duration // bounds a search: searchWithin
	noted     notes         // what commits told
	figures   figures

	// What the follower has while it follows, and nobody else sees: room for what sealing writes of a chunk,
	// up to which event each workspace is known to be taken in, and how many records were taken into
	// new spaces since memory was last given back.
	sealing *sealing
	known   map[sheaf.WorkspaceID]int64
	built   int
	// looked is when the last look began that found every log that had grown, and round is how far the
	// round over all logs is.
	looked time.Time
	round  store.Round
	trust  int // for how many looks the file is taken for sound, whoever met damage
}

// New returns the index of a store.
func New(c Config) *Index {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = func() time.Time { return time.Time{} }
	}
	n := min(max(2, runtime.GOMAXPROCS(0)), 4)
	return &Index{Config: c, room: chunkPlaces, pairs: pairFrom, termsFrom: termsFrom, within: cmp.Or(c.Patience, searchWithin), places: make(chan struct{}, n), turns: engine.NewSlots(n/2, cmp.Or(c.Patience, searchTurn)), noted: newNotes(), figures: newFigures()}
}

// Open opens the index, unless it is open. On SQLite a file that is missing is made, and one that
// is damaged or of another layout is replaced by an empty one: the follower fills it. One that another
// program is making at the moment is waited for.
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

// path is that of the SQLite file.
func (x *Index) path() string { return filepath.Join(x.Folder, FileName) }

// IsOpen reports whether Open has opened it.
func (x *Index) IsOpen() bool { return x.opened.Load() }

func (x *Index) open(ctx context.Context) (engine.Engine, error) {
	// A search may read on two connections, and the follower has its own.
	o := engine.Options{DatabaseURL: x.DatabaseURL, DirectURL: x.DirectURL, Folder: x.Folder, File: FileName, Log: x.Log, Connections: 2*cap(x.places) + 2, Derived: true}
	if x.DatabaseURL != "" {
		return engine.Open(ctx, o)
	}
	e, err := openFile(ctx, o)
	if err == nil || ctx.Err() != nil || x.Beside || errors.Is(err, engine.ErrInUse) {
		return e, err
	}
	x.Log.Warn("the index of search could not be used, and is made anew", "path", x.path(), "error", err)
	if err := Remove(x.Folder); err != nil {
		return nil, err
	}
	return openFile(ctx, o)
}

// Remove deletes the index file from a data folder that no server uses. The next server rebuilds it.
func Remove(folder string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(filepath.Join(folder, FileName+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the index of search cannot be removed: %w", err)
		}
	}
	return nil
}

// layout is the number of the tables in tables.sql.
const layout = 2

//go:embed tables.sql
var tables string

// openFile opens the SQLite file, and makes the tables in an empty one.
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

// Close ends the index. Nobody may be searching or following.
func (x *Index) Close() error {
	x.opening.Lock()
	defer x.opening.Unlock()
	if !x.opened.Load() {
		return nil
	}
	x.opened.Store(false)
	return x.engine.Close()
}

// notes gather what commits told, until the follower takes it.
type notes struct {
	some chan struct{} // has room for one
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

// putBack notes a workspace whose changes could not be indexed. The next look retries it.
func (n notes) putBack(ws sheaf.WorkspaceID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all.Add(ws)
}

// takeNamed returns the workspaces noted by name and forgets them. A note of all workspaces stays.
func (n notes) takeNamed() map[sheaf.WorkspaceID]struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	named := n.all.IDs
	n.all.IDs = nil
	return named
}

// take returns what was noted and forgets it.
func (n notes) take() sheaf.WorkspaceSet {
	n.mu.Lock()
	defer n.mu.Unlock()
	taken := *n.all
	*n.all = sheaf.WorkspaceSet{}
	return taken
}
