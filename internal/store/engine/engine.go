// Package engine is what the store stands on: SQLite and PostgreSQL under one seam. It knows how
// transactions, groups, checksums, migrations and connections work, and no noun of the product:
// which tables there are, and what a row means, is the store's.
//
// A caller gets a Reader or a Tx inside a closure, asks it with the same SQL text on both engines
// (seam.go), and whatever the two disagree on stands in dialect.go.
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
	// Write runs fn in one transaction, which is durable when it returns nil. fn may run more than
	// once. Once it has begun, the end of ctx does not stop it.
	Write(ctx context.Context, fn func(*Tx) error) error
	// WriteIn is Write for a tenant: where writes wait for each other, tenants take turns. Write is for
	// the service's own work, which belongs to no tenant or to many.
	WriteIn(ctx context.Context, tenant string, fn func(*Tx) error) error
	// WriteLong is Write for what takes as long as it takes, as a restore does or a cascade.
	WriteLong(ctx context.Context, fn func(*Tx) error) error
	// Snapshots returns a way to read snapshots, each with one call, on a connection of its own,
	// which the end of ctx interrupts, and what ends it.
	Snapshots(ctx context.Context) (snapshot func(func(*Reader) error) error, done func(), err error)
	// Alone runs fn unless another node runs the chore of that name.
	Alone(ctx context.Context, chore string, fn func(context.Context) error) error
	// Notify tells the other nodes something; where there are none it does nothing.
	Notify(ctx context.Context, notice string) error
	// Listen reports what other nodes tell until ctx ends; missed is called whenever something may
	// not have been heard.
	Listen(ctx context.Context, heard func(notice string), missed func())
	// Schema returns the state of the tables.
	Schema(ctx context.Context) (Schema, error)
	// Connections is how many transactions it runs beside each other.
	Connections() (reads, writes int)
	// Close waits for the transactions under way.
	Close() error
}

// Options say which database to open, and who is told of its commits.
type Options struct {
	Folder      string // of the SQLite file; used when DatabaseURL is empty
	DatabaseURL string // postgres://…
	// DirectURL is the address of the same PostgreSQL without the pooler that DatabaseURL leads
	// through; empty: there is none, or it keeps sessions.
	DirectURL string
	Log       *slog.Logger

	// File is the SQLite file in the folder; empty is FileName.
	File string
	// Connections is how many transactions run beside each other; 0 leaves that
	// to the engine.
	Connections int
	// Derived says that all of it can be made again from elsewhere: on SQLite a
	// power cut may take the last commits back, which then need no fsync, though
	// never leave half of one.
	Derived bool

	// Migrations has a folder of them for each engine, sqlite and postgres.
	Migrations fs.FS
	// Run has the migrations that are more than the statements of their files, by the files' names.
	// Each is one transaction.
	Run map[string]func(context.Context, Migration) error

	// Committing is called before each COMMIT, with the notes of all transactions that it makes
	// durable; the function that it returns is called after it, before anybody is answered. Both
	// must return at once.
	Committing func(notes []any) (settle func(committed bool))
	// Elsewhere is called when another process has committed something to the SQLite file.
	Elsewhere func()
}

// withDefaults fills in who need not be told.
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

// Open connects to the database and, unless it is foreign or damaged, returns it. It does not
// migrate: see Migrate.
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

// safely turns a panic in fn into an error, so that it fails alone. The error has the stack:
// whoever logs it is on another goroutine by then.
func safely(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v\n%s", p, debug.Stack())
		}
	}()
	return fn(tx)
}
