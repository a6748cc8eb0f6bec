// Package store keeps everything that Sheaf remembers. It is the only room that
// knows SQL; SQLite and PostgreSQL answer the same texts, and what they disagree
// on stands in dialect.go.
//
// It enforces no rule of the product: callers decide inside one transaction and
// act in the same. It announces nothing before its commit.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"sheaf.dev/internal/sheaf"
)

// Store is one database, SQLite or PostgreSQL. It is safe for concurrent use.
type Store struct {
	engine engine
	log    *slog.Logger
	reads  *slots
	writes *slots        // nil: they do not hold connections
	turns  *slots        // one heavy series of writes a workspace
	heavy  chan struct{} // who writes much, one at a time; nil: nobody waits for it

	mu        sync.RWMutex // guards listeners
	listeners []func(Note)
}

// engine is what the two databases do differently.
type engine interface {
	// read runs fn in one snapshot.
	read(ctx context.Context, fn func(*Reader) error) error
	// write runs fn in one transaction, which is durable when it returns nil.
	write(ctx context.Context, fn func(*Tx) error) error
	// writeLong is write for what takes as long as it takes, as a restore does or
	// a cascade.
	writeLong(ctx context.Context, fn func(*Tx) error) error
	// credential returns what a key stands for, as of the newest commit.
	credential(ctx context.Context, hash sheaf.KeyHash) (sheaf.Credential, error)
	// watch reports commits of other processes until ctx ends.
	watch(ctx context.Context, tell func(Note)) error
	// alone runs fn unless another node runs the chore of that name.
	alone(ctx context.Context, chore string, fn func(context.Context) error) error
	schema(ctx context.Context) (Schema, error)
	// examiner returns a way to read snapshots, each with one call, which the
	// end of ctx interrupts, and what ends it.
	examiner(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error)
	// checks are promises about the database that one engine alone can look at.
	checks() []check
	dialect() dialect
	// connections is how many transactions it runs beside each other.
	connections() (reads, writes int)
	close() error
}

// Note says what a commit changed. Others are told after it, never before.
type Note struct {
	Events        bool // the log of some workspace grew
	Deliveries    bool // some delivery may be due
	Subscriptions bool // some subscription changed
	Credentials   bool // a key, a plan or a member changed
	Recorded      bool // attempts were recorded; nothing becomes due by it
	// Workspaces are those whose log, deliveries or subscriptions changed: only
	// who shows one of them has to look.
	Workspaces sheaf.WorkspaceSet
	// Lanes are the subscriptions whose deliveries may be due; AnyLane says
	// that others may be too.
	Lanes   []sheaf.SubscriptionID
	AnyLane bool
	// Changed are the subscriptions whose address, secret or state changed:
	// what was read of them before is not to be sent any more.
	Changed []sheaf.SubscriptionID
}

// everything is the note about the commit of another process.
var everything = Note{Events: true, Deliveries: true, Subscriptions: true, Credentials: true, Recorded: true,
	Workspaces: sheaf.WorkspaceSet{All: true}, AnyLane: true}

func (n *Note) due(ws sheaf.WorkspaceID, lane sheaf.SubscriptionID) {
	n.Deliveries = true
	n.Workspaces.Add(ws)
	if !slices.Contains(n.Lanes, lane) {
		n.Lanes = append(n.Lanes, lane)
	}
}

func (n *Note) add(m Note) {
	n.Events = n.Events || m.Events
	n.Deliveries = n.Deliveries || m.Deliveries
	n.Subscriptions = n.Subscriptions || m.Subscriptions
	n.Credentials = n.Credentials || m.Credentials
	n.Recorded = n.Recorded || m.Recorded
	n.AnyLane = n.AnyLane || m.AnyLane
	n.Workspaces.AddAll(m.Workspaces)
	for _, lane := range m.Lanes {
		if !slices.Contains(n.Lanes, lane) {
			n.Lanes = append(n.Lanes, lane)
		}
	}
	n.Changed = append(n.Changed, m.Changed...)
}

func (n *Note) empty() bool { return !n.urgent() && !n.Recorded }

// urgent reports whether other nodes act on it; the rest only shows on pages.
func (n *Note) urgent() bool { return n.Events || n.Deliveries || n.Subscriptions || n.Credentials }

// Options say which database to open.
type Options struct {
	Folder      string // of the SQLite file; used when DatabaseURL is empty
	DatabaseURL string // postgres://…
	Log         *slog.Logger
}

// Open connects to the database and, unless it is foreign, damaged or newer
// than this program, returns it. It does not migrate: see Migrate.
func Open(ctx context.Context, o Options) (*Store, error) {
	o.Log = logOr(o.Log)
	s := &Store{log: o.Log}
	var err error
	if o.DatabaseURL != "" {
		s.engine, err = openPostgres(ctx, o.DatabaseURL, o.Log, s.announce)
	} else {
		s.engine, err = openSQLite(o.Folder, o.Log, s.announce)
	}
	if err != nil {
		return nil, err
	}
	reads, writes := s.engine.connections()
	s.reads, s.turns = newSlots(reads/2, readTurn), newSlots(1, writeTurn)
	if writes > 1 {
		s.writes = newSlots(writes/4, writeTurn)
	} else {
		s.heavy = make(chan struct{}, 1)
	}
	return s, nil
}

// logOr returns the log that was given, or one that nobody reads.
func logOr(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}

// Close waits for the transactions under way and closes the database.
func (s *Store) Close() error { return s.engine.close() }

// Read runs fn in one snapshot: what it reads belongs together. fn must not
// keep the Reader.
func (s *Store) Read(ctx context.Context, fn func(*Reader) error) error {
	return s.engine.read(ctx, fn)
}

// ReadLong is Read for what takes as long as it takes, such as a backup: on a
// connection of its own, which the end of ctx interrupts. On SQLite a Read that
// lasts for half a minute is ended, since the log grows meanwhile.
func (s *Store) ReadLong(ctx context.Context, fn func(*Reader) error) error {
	snapshot, done, err := s.engine.examiner(ctx)
	if err != nil {
		return err
	}
	defer done()
	return snapshot(fn)
}

// Write runs fn in one transaction and returns nil only when its commit is
// durable; an error from fn rolls back and is returned as it is. fn may run
// more than once, so it touches the Tx and its own locals alone: no network, no
// channel, no log. It does not nest.
//
// Once fn has begun, the end of ctx does not stop it: Write returns when the
// outcome is known.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.write(ctx, fn)
}

// ReadIn is Read for a workspace, which holds some of the connections at most.
func (s *Store) ReadIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Reader) error) error {
	leave, err := s.reads.take(ctx, ws)
	if err != nil {
		return err
	}
	defer leave()
	return s.engine.read(ctx, fn)
}

// WriteIn is Write for a workspace, which holds some of the connections at most.
func (s *Store) WriteIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Tx) error) error {
	return s.writeIn(ctx, ws, s.engine.write, fn)
}

func (s *Store) writeIn(ctx context.Context, ws sheaf.WorkspaceID, write func(context.Context, func(*Tx) error) error, fn func(*Tx) error) error {
	if s.writes == nil {
		return write(ctx, fn)
	}
	leave, err := s.writes.take(ctx, ws)
	if err != nil {
		return err
	}
	defer leave()
	return write(ctx, fn)
}

// TurnOfHeavy waits until no other series of heavy writes of the workspace is
// under way; the function that it returns ends this one.
func (s *Store) TurnOfHeavy(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	return s.turns.take(ctx, ws)
}

// WriteHeavyIn is WriteIn for what writes thousands of rows. SQLite has one
// writer: of all workspaces one heavy write at a time waits for it, so that the
// writes of others come between any two of them.
func (s *Store) WriteHeavyIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Tx) error) error {
	if s.heavy == nil {
		return s.writeIn(ctx, ws, s.engine.writeLong, fn)
	}
	wait, cancel := context.WithTimeoutCause(ctx, writeTimeout, errQueue)
	defer cancel()
	select {
	case s.heavy <- struct{}{}:
		defer func() { <-s.heavy }()
	case <-wait.Done():
		return sheaf.UnavailableError(context.Cause(wait))
	}
	return s.WriteIn(ctx, ws, fn)
}

// Credential returns what the key with that hash stands for, as of the newest
// commit, or Unauthorized. It does not look at the key's expiry.
func (s *Store) Credential(ctx context.Context, hash sheaf.KeyHash) (sheaf.Credential, error) {
	return s.engine.credential(ctx, hash)
}

// Watch reports to the listeners what other processes commit, until ctx ends.
func (s *Store) Watch(ctx context.Context) error { return s.engine.watch(ctx, s.announce) }

// Alone runs fn, a chore that one node is enough for, unless another node is at
// it now; then it returns nil at once.
func (s *Store) Alone(ctx context.Context, chore string, fn func(context.Context) error) error {
	return s.engine.alone(ctx, chore, fn)
}

// OnCommit adds a listener, which is called after each commit that changed what
// a Note tells. It must return at once.
func (s *Store) OnCommit(listen func(Note)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listen)
}

func (s *Store) announce(n Note) {
	if n.empty() {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, listen := range s.listeners {
		listen(n)
	}
}

// Reader reads in one snapshot. Every method that reads a workspace's rows
// takes the workspace: no row is read without it.
type Reader struct {
	conn conn
	d    dialect
}

// Tx is a Reader that also writes.
type Tx struct {
	Reader
	note    Note
	touched map[sheaf.WorkspaceID]int64 // the version each will have
}

// The errors of a constraint, for the callers that can say what they mean.
var (
	ErrDuplicate = errors.New("a row with this key exists")
	ErrReference = errors.New("a referenced row does not exist, or is still referenced")
)

// safely turns a panic in fn into an error, so that it fails alone.
func safely(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return fn(tx)
}
