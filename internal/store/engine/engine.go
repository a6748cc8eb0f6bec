// Package engine hides SQLite and PostgreSQL behind one interface. It implements transactions,
// group commits, checksums, migrations and connections. It has no noun of the product: the store
// defines the tables and what a row means.
//
// A caller gets a Reader or a Tx inside a closure and uses the same SQL text on both engines
// (seam.go). Whatever differs between the two is in dialect.go.
package engine

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"
)

// Engine is one database, SQLite or PostgreSQL. It is safe for concurrent use.
type Engine interface {
	// Read runs fn in one snapshot.
	Read(ctx context.Context, fn func(*Reader) error) error
	// ReadOne is Read for a single statement, which needs no snapshot.
	ReadOne(ctx context.Context, fn func(*Reader) error) error
	// Write runs fn in one transaction and returns nil once it is durable. fn may run more than
	// once. Once it has begun, the end of ctx does not stop it.
	Write(ctx context.Context, fn func(*Tx) error) error
	// WriteIn is Write on behalf of a tenant: where writes wait for each other, tenants take turns.
	// Write is for the service's own work, which belongs to no tenant or to many.
	WriteIn(ctx context.Context, tenant string, fn func(*Tx) error) error
	// WriteHeavyIn is WriteIn for thousands of rows. On SQLite ordinary writes run between any two
	// heavy ones.
	WriteHeavyIn(ctx context.Context, tenant string, fn func(*Tx) error) error
	// WriteLong is Write without the usual time limit, for a restore or a cascade.
	WriteLong(ctx context.Context, fn func(*Tx) error) error
	// Snapshots opens a connection of its own, which is interrupted if ctx ends. Each call of
	// snapshot reads one snapshot; done closes the connection.
	Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error)
	// EmptyLog asks to truncate SQLite's write-ahead log, which still has earlier contents of pages. It
	// does not block. On PostgreSQL it does nothing.
	EmptyLog()
	// Alone runs fn unless another node is running the chore of that name; then it returns nil.
	Alone(ctx context.Context, chore string, fn func(context.Context) error) error
	// Notify sends a notice to the other nodes; without other nodes it does nothing.
	Notify(ctx context.Context, notice string) error
	// Listen calls heard for each notice of other nodes until ctx ends. It calls missed whenever
	// notices may have been lost.
	Listen(ctx context.Context, heard func(notice string), missed func())
	// Schema returns the state of the tables.
	Schema(ctx context.Context) (Schema, error)
	// Connections returns the most transactions that run at the same time.
	Connections() (reads, writes int)
	// Close waits for the transactions under way and closes the database.
	Close() error
}

// Options are the database to open, and the functions to call about its commits.
type Options struct {
	Folder      string // folder of the SQLite file; used if DatabaseURL is empty
	DatabaseURL string // postgres://…
	// DirectURL is the address of the same PostgreSQL without the pooler of DatabaseURL. Empty:
	// there is no pooler, or it keeps sessions.
	DirectURL string
	Log       *slog.Logger

	// File is the name of the SQLite file in the folder; empty means FileName.
	File string
	// Connections is the most transactions that run at the same time; 0 lets the engine decide.
	Connections int
	// Derived says that all data can be rebuilt from elsewhere. On SQLite commits then need no
	// fsync: a power cut may lose the last ones, but never leaves half of one.
	Derived bool

	// Migrations has one folder of migrations per engine, sqlite and postgres.
	Migrations fs.FS

	// Committing is called before each COMMIT, with the notes of all its transactions. settle is
	// called after it, before any caller gets its answer. Both must return at once.
	Committing func(notes []any) (settle func(committed bool))
	// Elsewhere is called when another process has committed something to the SQLite file.
	Elsewhere func()
}

// withDefaults fills in the fields that are not set.
func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Committing == nil {
		o.Committing = func([]any) func(bool) { return func(bool) {} }
	}
	if o.Elsewhere == nil {
		o.Elsewhere = func() {}
	}
	if o.File == "" {
		o.File = FileName
	}
	return o
}

// Open connects to the database. It returns an error if the database belongs to another program or
// is damaged. It does not migrate: see Migrate.
func Open(ctx context.Context, o Options) (Engine, error) {
	o = o.withDefaults()
	if o.DatabaseURL == "" {
		e, err := openSQLite(o)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	e, err := openPostgres(ctx, o)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// safely turns a panic in fn into an error, so that only this transaction fails. The error contains
// the stack, because it is logged on another goroutine.
func safely(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}
