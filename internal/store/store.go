// Package store keeps all of Sheaf's data, one file per noun. Its subpackages engine and doctor
// also contain SQL: engine hides SQLite and PostgreSQL behind one interface, and doctor checks what
// must be true of all stored data. Package search has SQL for its own tables.
//
// It enforces no rule of the product: callers decide and act in one transaction. It announces
// nothing before the commit.
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
	writes *engine.Slots // nil: writes hold no connections (SQLite)
	turns  *engine.Slots // at most one multi-transaction cascade per workspace

	// credentials caches what each API key stands for, and the versions of workspaces. It is nil on
	// PostgreSQL. neighbours tells other nodes of this one's commits. It is nil on SQLite.
	credentials *engine.Freshness[sheaf.KeyHash, sheaf.WorkspaceID, sheaf.Credential]
	neighbours  *neighbours
	// shares caches the share that each token leads to. It is nil on PostgreSQL.
	shares  *engine.Freshness[string, sheaf.WorkspaceID, sheaf.Shared]
	numbers *numbers

	mu        sync.RWMutex // guards listeners
	listeners []func(Note)
}

// Note describes what a commit changed. Listeners and other nodes get it after the commit, never
// before.
type Note struct {
	Events        bool // events were appended to some workspace's log
	Deliveries    bool // some delivery may be due
	Subscriptions bool // some subscription changed
	Credentials   bool // a key, a plan or a member changed
	Sessions      bool // a session ended
	Shares        bool // a share changed; only the cache in this process uses it
	Recorded      bool // attempts were recorded, which makes nothing due
	// Workspaces are those whose log, deliveries or subscriptions changed. A page that shows none
	// of them need not reload.
	Workspaces sheaf.WorkspaceSet
	// Lanes are the subscriptions whose deliveries may be due. If AnyLane is set, others may be
	// too.
	Lanes   []sheaf.SubscriptionID
	AnyLane bool
	// Changed are the subscriptions whose address, secret or state changed. Claims that were read
	// with the earlier values must not be sent.
	Changed []sheaf.SubscriptionID
	// erased means that the transaction deleted content that must not stay in SQLite's write-ahead log.
	erased bool
}

// everything is the Note for commits of other processes whose content is unknown.
var everything = Note{Events: true, Deliveries: true, Subscriptions: true, Credentials: true, Sessions: true, Recorded: true,
	Workspaces: sheaf.WorkspaceSet{All: true}, AnyLane: true}

// due adds that a delivery of the subscription `lane` may be due.
func (n *Note) due(ws sheaf.WorkspaceID, lane sheaf.SubscriptionID) {
	n.Deliveries = true
	n.Workspaces.Add(ws)
	if !slices.Contains(n.Lanes, lane) {
		n.Lanes = append(n.Lanes, lane)
	}
}

// add merges m into n.
func (n *Note) add(m Note) {
	n.Events = n.Events || m.Events
	n.Deliveries = n.Deliveries || m.Deliveries
	n.Subscriptions = n.Subscriptions || m.Subscriptions
	n.Credentials = n.Credentials || m.Credentials
	n.Sessions = n.Sessions || m.Sessions
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
	n.erased = n.erased || m.erased
}

// urgent reports whether other nodes act on the note. Otherwise it only updates pages.
func (n *Note) urgent() bool {
	return n.Events || n.Deliveries || n.Subscriptions || n.Credentials || n.Sessions
}

// Options say which database to open.
type Options struct {
	Folder      string // folder of the SQLite file; used if DatabaseURL is empty
	DatabaseURL string // postgres://…
	DirectURL   string // the same PostgreSQL without the pooler of DatabaseURL; empty: there is none
	Log         *slog.Logger
	// Turn is how long a call waits for earlier calls of its workspace before it is refused; 0
	// means engine.ReadTurn and engine.WriteTurn.
	Turn time.Duration
}

// Open connects to the database. It returns an error if the database belongs to another program, is
// damaged, or is newer than this program. It does not migrate: see Migrate.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) { return engine.Open(ctx, o) })
}

// open opens the store on the engine that the parameter open returns.
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
	}
	return s, nil
}

// committing collects what a commit will change. The function that it returns must be called after
// the commit, and announces the changes.
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
		if note.erased {
			s.engine.EmptyLog()
		}
		if s.neighbours != nil {
			s.neighbours.queue(note)
		}
	}
}

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

// Read runs fn in one snapshot: everything that it reads is from the same moment. fn must not keep
// the Reader.
func (s *Store) Read(ctx context.Context, fn func(*Reader) error) error {
	return s.engine.Read(ctx, s.reading(fn))
}

// ReadLong is Read without a time limit, for work such as a backup. It uses a connection of its
// own, and stops if ctx ends. (On SQLite, Read is stopped after half a minute, because the
// write-ahead log cannot be truncated meanwhile.)
func (s *Store) ReadLong(ctx context.Context, fn func(*Reader) error) error {
	snapshot, done, err := s.Snapshots(ctx)
	if err != nil {
		return err
	}
	defer done()
	return snapshot(fn)
}

// Snapshots is ReadLong for several snapshots on one connection. Each call of snapshot reads a new
// one; done closes the connection.
func (s *Store) Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error) {
	one, done, err := s.engine.Snapshots(ctx)
	return func(fn func(*Reader) error) error { return one(s.reading(fn)) }, done, err
}

// Write runs fn in one transaction and returns nil only once the commit is durable. If fn returns
// an error, the transaction is rolled back and the error is returned unchanged. fn may run more
// than once, so it must touch only the Tx and its own locals: no network, no channel, no log. Write
// does not nest.
//
// Once fn has begun, the end of ctx does not stop it: Write returns when the outcome is known.
func (s *Store) Write(ctx context.Context, fn func(*Tx) error) error {
	return s.engine.Write(ctx, s.writing(fn))
}

// ReadIn is Read on behalf of a workspace, with a Reader that shows what `sight` allows. A workspace
// can hold only part of the connections: if all of these are in use, ReadIn waits for one, and in
// the end returns Unavailable.
func (s *Store) ReadIn(ctx context.Context, ws sheaf.WorkspaceID, sight Sight, fn func(*Reader) error) error {
	leave, err := s.reads.Acquire(ctx, string(ws))
	if err != nil {
		return err
	}
	defer leave()
	return s.engine.Read(ctx, s.reading(func(r *Reader) error {
		r.restrict(sight)
		return fn(r)
	}))
}

// WriteIn is Write on behalf of a workspace, under the same limit and with the same sight as ReadIn.
func (s *Store) WriteIn(ctx context.Context, ws sheaf.WorkspaceID, sight Sight, fn func(*Tx) error) error {
	fn = seeing(sight, fn)
	if s.writes == nil { // SQLite, whose writer lets workspaces take turns
		return s.engine.WriteIn(ctx, string(ws), s.writing(fn))
	}
	return s.writeIn(ctx, ws, s.engine.Write, fn)
}

// writeIn runs `write`, which is the engine's Write or WriteLong, on one of the connections that the
// workspace can hold.
func (s *Store) writeIn(ctx context.Context, ws sheaf.WorkspaceID, write func(context.Context, func(*engine.Tx) error) error, fn func(*Tx) error) error {
	leave, err := s.writes.Acquire(ctx, string(ws))
	if err != nil {
		return err
	}
	defer leave()
	return write(ctx, s.writing(fn))
}

// seeing gives fn a Tx that shows what `sight` allows.
func seeing(sight Sight, fn func(*Tx) error) func(*Tx) error {
	return func(tx *Tx) error {
		tx.restrict(sight)
		return fn(tx)
	}
}

// LockCascade waits until no other multi-transaction cascade of the workspace is running. The
// caller must call leave when its own has ended.
func (s *Store) LockCascade(ctx context.Context, ws sheaf.WorkspaceID) (leave func(), err error) {
	return s.turns.Acquire(ctx, string(ws))
}

// WriteHeavyIn is WriteIn for thousands of rows. SQLite has one writer, which runs ordinary writes
// between any two heavy ones.
func (s *Store) WriteHeavyIn(ctx context.Context, ws sheaf.WorkspaceID, sight Sight, fn func(*Tx) error) error {
	fn = seeing(sight, fn)
	if s.writes == nil {
		return s.engine.WriteHeavyIn(ctx, string(ws), s.writing(fn))
	}
	return s.writeIn(ctx, ws, s.engine.WriteLong, fn)
}

// Credential returns what the key with that hash stands for, as of the newest commit, or
// Unauthorized. It does not check the key's expiry.
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

// PaidKeys returns those of these keys that are live at time now and whose workspace has a paid plan:
// by one query, or from memory where Credential has one.
func (s *Store) PaidKeys(ctx context.Context, hashes []sheaf.KeyHash, now time.Time) (found map[sheaf.KeyHash]bool, err error) {
	if s.credentials == nil {
		err = s.engine.Read(ctx, s.reading(func(r *Reader) error {
			found, err = r.paidKeys(hashes, now)
			return err
		}))
		return found, err
	}
	found = make(map[sheaf.KeyHash]bool, len(hashes))
	for _, hash := range hashes {
		c, err := s.Credential(ctx, hash)
		if err == nil && c.Plan.Paid() && c.Live(now) {
			found[hash] = true
		} else if err != nil && sheaf.KindOf(err) != sheaf.Unauthorized {
			return nil, err
		}
	}
	return found, nil
}

// Alone runs fn on one node at a time. If another node is running the chore of that name, Alone
// returns nil at once.
func (s *Store) Alone(ctx context.Context, chore string, fn func(context.Context) error) error {
	return s.engine.Alone(ctx, chore, fn)
}

// OnCommit adds a listener, which is called after each commit with a non-empty Note. It must return
// at once.
func (s *Store) OnCommit(listen func(Note)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners = append(s.listeners, listen)
}

func (s *Store) announce(n Note) {
	if !n.urgent() && !n.Recorded {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, listen := range s.listeners {
		listen(n)
	}
}

// Reader reads in one snapshot. Every method that reads a workspace's rows takes the workspace as a
// parameter, so that no row is read without naming it, and shows only what the Reader's Sight allows.
type Reader struct {
	sql     *engine.Reader
	numbers *numbers                    // numbers of workspaces, shared by all Readers
	learned map[sheaf.WorkspaceID]int64 // numbers that this transaction read
	writes  bool                        // the Reader belongs to a transaction
	sight   Sight                       // what it shows: see sight.go
}

// Tx is a Reader that also writes.
type Tx struct {
	Reader
	sql     *engine.Tx
	note    Note
	touched map[sheaf.WorkspaceID]int64 // new version of each changed workspace
	stored  sheaf.Workspace             // the workspace locked or saved last, as it is stored
}

// reading and writing adapt a caller's closure to the engine's Reader and Tx.
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

// The errors of a violated constraint. Callers translate them for the client.
var (
	ErrDuplicate = engine.ErrDuplicate
	ErrReference = engine.ErrReference
)
