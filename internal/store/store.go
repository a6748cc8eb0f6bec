// Package store keeps everything that Sheaf remembers, one file a noun. It is the only room that
// knows SQL, with two below it: engine, which is SQLite and PostgreSQL under one seam, and doctor,
// which says what must be true of all that is stored.
//
// It enforces no rule of the product: callers decide inside one transaction and act in the same. It
// announces nothing before its commit.
package store

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// Store is one database, SQLite or PostgreSQL. It is safe for concurrent use.
type Store struct {
	engine engine.Engine
	log    *slog.Logger
	reads  *engine.Slots
	writes *engine.Slots // nil: they do not hold connections
	turns  *engine.Slots // one heavy series of writes a workspace
	heavy  chan struct{} // who writes much, one at a time; nil: nobody waits for it

	// credentials has what keys stand for and the versions of workspaces, on SQLite; neighbours
	// tells the other nodes, on PostgreSQL. The one that is not needed is nil.
	credentials *engine.Freshness[sheaf.KeyHash, sheaf.WorkspaceID, sheaf.Credential]
	neighbours  *neighbours
	// shares has what the tokens of shares lead to, as credentials has what keys stand for; nil where
	// that is nil.
	shares  *engine.Freshness[string, sheaf.WorkspaceID, sheaf.Shared]
	numbers *numbers

	mu        sync.RWMutex // guards listeners
	listeners []func(Note)
}

// Note says what a commit changed. Others are told after it, never before.
type Note struct {
	Events        bool // the log of some workspace grew
	Deliveries    bool // some delivery may be due
	Subscriptions bool // some subscription changed
	Credentials   bool // a key, a plan or a member changed
	Shares        bool // a share changed; nobody is told
	Recorded      bool // attempts were recorded; nothing becomes due by it
	// Workspaces are those whose log, deliveries or subscriptions changed: only who shows one of
	// them has to look.
	Workspaces sheaf.WorkspaceSet
	// Lanes are the subscriptions whose deliveries may be due; AnyLane says that others may be too.
	Lanes   []sheaf.SubscriptionID
	AnyLane bool
	// Changed are the subscriptions whose address, secret or state changed: what was read of them
	// before is not to be sent any more.
	Changed []sheaf.SubscriptionID
}

// everything is the note about the commit of another process.
var everything = Note{Events: true, Deliveries: true, Subscriptions: true, Credentials: true, Recorded: true,
	Workspaces: sheaf.WorkspaceSet{All: true}, AnyLane: true}

// due notes that a delivery of the subscription may be due.
func (n *Note) due(ws sheaf.WorkspaceID, lane sheaf.SubscriptionID) {
	n.Deliveries = true
	n.Workspaces.Add(ws)
	if !slices.Contains(n.Lanes, lane) {
		n.Lanes = append(n.Lanes, lane)
	}
}

// add makes n tell what m tells, too.
func (n *Note) add(m Note) {
	n.Events = n.Events || m.Events
	n.Deliveries = n.Deliveries || m.Deliveries
	n.Subscriptions = n.Subscriptions || m.Subscriptions
	n.Credentials = n.Credentials || m.Credentials
	n.Shares = n.Shares || m.Shares
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
	DirectURL   string // the same PostgreSQL without the pooler of DatabaseURL; empty: there is none
	Log         *slog.Logger
	// Turn is how long a call waits for its workspace's earlier ones before it is refused; 0 is
	// engine.ReadTurn and engine.WriteTurn.
	Turn time.Duration
}

// Open connects to the database and, unless it is foreign, damaged or newer than this program,
// returns it. It does not migrate: see Migrate.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) { return engine.Open(ctx, o) })
}

// open opens the store on the engine that the function returns.
func open(o Options, open func(engine.Options) (engine.Engine, error)) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{log: o.Log, numbers: newNumbers()}
	if o.DatabaseURL == "" {
		s.credentials = engine.NewFreshness[sheaf.KeyHash](func(c sheaf.Credential) sheaf.WorkspaceID { return c.Workspace })
		s.shares = engine.NewFreshness[string](func(v sheaf.Shared) sheaf.WorkspaceID { return v.Workspace })
	} else {
		s.neighbours = newNeighbours()
	}
	options := o.engine()
	options.Committing, options.Elsewhere = s.committing, s.elsewhere
	var err error
	if s.engine, err = open(options); err != nil {
		return nil, err
	}
	reads, writes := s.engine.Connections()
	readTurn, writeTurn := cmp.Or(o.Turn, engine.ReadTurn), cmp.Or(o.Turn, engine.WriteTurn)
	s.reads, s.turns = engine.NewSlots(reads/2, readTurn), engine.NewSlots(1, writeTurn)
	if writes > 1 {
		s.writes = engine.NewSlots(writes/4, writeTurn)
	} else {
		s.heavy = make(chan struct{}, 1)
	}
	return s, nil
}

// committing gathers what a commit changes; what it returns tells of it, after the commit.
func (s *Store) committing(notes []any) (settle func(committed bool)) {
	var note Note
	touched, learned := map[sheaf.WorkspaceID]int64{}, map[sheaf.WorkspaceID]int64{}
	for _, n := range notes {
		tx := n.(*Tx)
		note.add(tx.note)
		maps.Copy(touched, tx.touched)
		maps.Copy(learned, tx.learned)
	}
	settled := func(bool) {}
	if s.credentials != nil {
		settled = both(s.credentials.Unsettle(touched, note.Credentials), s.shares.Unsettle(touched, note.Shares))
	}
	return func(committed bool) {
		settled(committed)
		if !committed {
			return
		}
		s.numbers.learn(learned)
		s.announce(note)
		if s.neighbours != nil {
			s.neighbours.tell(note)
		}
	}
}

// both calls one function after the other.
func both(first, second func(bool)) func(bool) {
	return func(committed bool) {
		first(committed)
		second(committed)
	}
}

// elsewhere is called when another process has committed something.
func (s *Store) elsewhere() {
	s.credentials.Forget()
	s.shares.Forget()
	s.announce(everything)
}

// Close waits for the transactions under way and closes the database.
func (s *Store) Close() error { return s.engine.Close() }

// Read runs fn in one snapshot: what it reads belongs together. fn must not keep the Reader.
func (s *Store) Read(ctx context.Context, fn func(*Reader) error) error {
	return s.engine.Read(ctx, s.reading(fn))
}

// ReadLong is Read for what takes as long as it takes, such as a backup: on a connection of its
// own, which the end of ctx interrupts. On SQLite a Read that lasts for half a minute is ended,
// since the log grows meanwhile.
func (s *Store) ReadLong(ctx context.Context, fn func(*Reader) error) error {
	snapshot, done, err := s.Snapshots(ctx)
	if err != nil {
		return err
	}
	defer done()
	return snapshot(fn)
}

// Snapshots is ReadLong for several snapshots, each with one call, on one connection, which done
// closes.
func (s *Store) Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	one, done, err := s.engine.Snapshots(ctx)
	return func(fn func(*Reader) error) error { return one(s.reading(fn)) }, done, err
}

// Write runs fn in one transaction and returns nil only when its commit is durable; an error from
// fn rolls back and is returned as it is. fn may run more than once, so it touches the Tx and its
// own locals alone: no network, no channel, no log. It does not nest.
//
// Once fn has begun, the end of ctx does not stop it: Write returns when the outcome is known.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.Write(ctx, s.writing(fn))
}

// ReadIn is Read for a workspace, which holds some of the connections at most.
func (s *Store) ReadIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Reader) error) error {
	leave, err := s.reads.Acquire(ctx, string(ws))
	if err != nil {
		return err
	}
	defer leave()
	return s.engine.Read(ctx, s.reading(fn))
}

// WriteIn is Write for a workspace, which holds some of the connections at most.
func (s *Store) WriteIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Tx) error) error {
	return s.writeIn(ctx, ws, s.engine.Write, fn)
}

// writeIn is WriteIn by the engine's Write or WriteLong.
func (s *Store) writeIn(ctx context.Context, ws sheaf.WorkspaceID, write func(context.Context, func(*engine.Tx) error) error, fn func(*Tx) error) error {
	if s.writes == nil {
		return s.engine.WriteIn(ctx, string(ws), s.writing(fn))
	}
	leave, err := s.writes.Acquire(ctx, string(ws))
	if err != nil {
		return err
	}
	defer leave()
	return write(ctx, s.writing(fn))
}

// TurnOfHeavy waits until no other series of heavy writes of the workspace is under way; the
// function that it returns ends this one.
func (s *Store) TurnOfHeavy(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	return s.turns.Acquire(ctx, string(ws))
}

// WriteHeavyIn is WriteIn for what writes thousands of rows. SQLite has one writer: of all
// workspaces one heavy write at a time waits for it, so that the writes of others come between any
// two of them.
func (s *Store) WriteHeavyIn(ctx context.Context, ws sheaf.WorkspaceID, fn func(*Tx) error) error {
	if s.heavy == nil {
		return s.writeIn(ctx, ws, s.engine.WriteLong, fn)
	}
	wait, cancel := context.WithTimeoutCause(ctx, engine.WriteTimeout, engine.ErrQueue)
	defer cancel()
	select {
	case s.heavy <- struct{}{}:
		defer func() { <-s.heavy }()
	case <-wait.Done():
		return sheaf.UnavailableError(context.Cause(wait))
	}
	return s.WriteIn(ctx, ws, fn)
}

// Credential returns what the key with that hash stands for, as of the newest commit, or
// Unauthorized. It does not look at the key's expiry.
func (s *Store) Credential(ctx context.Context, hash sheaf.KeyHash) (sheaf.Credential, error) {
	load := func() (c sheaf.Credential, version int64, err error) {
		err = s.engine.ReadOne(ctx, s.reading(func(r *Reader) error {
			c, err = r.credential(hash)
			return err
		}))
		return c, c.Version, err
	}
	if s.credentials == nil {
		c, _, err := load()
		return c, err
	}
	c, version, err := s.credentials.Value(hash, load)
	c.Version = version
	return c, err
}

// Alone runs fn, a chore that one node is enough for, unless another node is at it now; then it
// returns nil at once.
func (s *Store) Alone(ctx context.Context, chore string, fn func(context.Context) error) error {
	return s.engine.Alone(ctx, chore, fn)
}

// OnCommit adds a listener, which is called after each commit that changed what a Note tells. It
// must return at once.
func (s *Store) OnCommit(listen func(Note)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listen)
}

// announce calls the listeners.
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

// Reader reads in one snapshot. Every method that reads a workspace's rows takes the workspace: no
// row is read without it.
type Reader struct {
	sql     *engine.Reader
	numbers *numbers                    // of workspaces, shared by all
	learned map[sheaf.WorkspaceID]int64 // numbers that a transaction read
	writes  bool                        // it belongs to a transaction
}

// Tx is a Reader that also writes.
type Tx struct {
	Reader
	sql     *engine.Tx
	note    Note
	touched map[sheaf.WorkspaceID]int64 // the version each will have
}

// reading and writing give the closures of callers what the engine gives ours.
func (s *Store) reading(fn func(*Reader) error) func(*engine.Reader) error {
	return func(r *engine.Reader) error { return fn(&Reader{sql: r, numbers: s.numbers}) }
}

func (s *Store) writing(fn func(*Tx) error) func(*engine.Tx) error {
	return func(e *engine.Tx) error {
		tx := &Tx{Reader: Reader{sql: &e.Reader, numbers: s.numbers, writes: true}, sql: e}
		e.Note = tx
		return fn(tx)
	}
}

// The errors of a constraint, for the callers that can say what they mean.
var (
	ErrDuplicate = engine.ErrDuplicate
	ErrReference = engine.ErrReference
)
