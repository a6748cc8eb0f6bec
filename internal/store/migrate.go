package store

import (
	"context"
	"embed"
	"io/fs"

	"sheaf.dev/internal/store/engine"
)

//go:embed migrations
var migrations embed.FS

// Latest is the number of this program's newest migration.
const Latest = 1

// Schema is the state of a database's tables.
type Schema struct{ engine.Schema }

// Serves returns an error, worded for a person, if this program cannot serve the schema.
func (s Schema) Serves() error { return s.Schema.Serves(Latest) }

// TooNew returns an error, worded for a person, if a newer program has changed the tables so that
// this one must stop.
func (s Schema) TooNew() error { return s.Schema.TooNew(Latest) }

// Schema returns the state of the tables.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	schema, err := s.engine.Schema(ctx)
	return Schema{schema}, err
}

// Ready returns nil if the database answers and this program can serve it.
func (s *Store) Ready(ctx context.Context) error {
	schema, err := s.Schema(ctx)
	if err != nil {
		return err
	}
	return schema.Serves()
}

// Migrate brings the tables to this program's schema, under a lock: if several processes start
// together, one migrates and the others wait. A newer database is not changed. It is refused unless
// it allows this program to keep running on it.
func Migrate(ctx context.Context, o Options) error { return migrateTo(ctx, o, Latest) }

// migrateTo is Migrate to an older schema, for restoring an older backup.
func migrateTo(ctx context.Context, o Options, schema int64) error {
	return engine.Migrate(ctx, o.engine(), schema)
}

// engine returns the options for the engine, with the migration files.
func (o Options) engine() engine.Options {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // impossible: the name is valid
	}
	return engine.Options{Folder: o.Folder, DatabaseURL: o.DatabaseURL, DirectURL: o.DirectURL, Log: o.Log, Migrations: files}
}
