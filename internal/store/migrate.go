package store

import (
	"context"
	"embed"
	"io/fs"

	"sheaf.dev/internal/store/engine"
)

//go:embed migrations
var migrations embed.FS

// Latest is the number of the newest migration that this program has.
const Latest = 25

// Schema is the state of a database's tables.
type Schema struct{ engine.Schema }

// Serves returns an error, for a person, unless this program can serve it.
func (s Schema) Serves() error { return s.Schema.Serves(Latest) }

// TooNew returns an error, for a person, when a newer program has changed the tables so that this
// one may not go on.
func (s Schema) TooNew() error { return s.Schema.TooNew(Latest) }

// Schema returns the state of the tables.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	schema, err := s.engine.Schema(ctx)
	return Schema{schema}, err
}

// Ready returns nil when the store answers and this program can serve it.
func (s *Store) Ready(ctx context.Context) error {
	schema, err := s.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Serves()
}

// Migrate brings the tables to this program's schema. It runs under a lock: of several that start
// together one migrates and the others wait. A database that is newer than the program is left
// alone, and refused unless it names this program as one that may go on beside it.
func Migrate(ctx context.Context, o Options) error { return migrateTo(ctx, o, Latest) }

// migrateTo is Migrate to an older schema, for a backup that has it.
func migrateTo(ctx context.Context, o Options, schema int64) error {
	return engine.Migrate(ctx, o.engine(), schema)
}

// engine returns the options of the engine, which knows no more than files.
func (o Options) engine() engine.Options {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is not one that a file can have
	}
	return engine.Options{Folder: o.Folder, DatabaseURL: o.DatabaseURL, DirectURL: o.DirectURL, Log: o.Log, Migrations: files,
		Run: map[string]func(context.Context, engine.Migration) error{smallKeys: carryOver}}
}
