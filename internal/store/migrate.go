package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite"

	"sheaf.dev/internal/failpoint"
)

//go:embed migrations
var migrations embed.FS

// Latest is the number of the newest migration that this program has.
const Latest = 8

// Schema is the state of a database's tables.
type Schema struct {
	Version int64 // the newest migration that was applied; 0: an empty database
	Oldest  int64 // the oldest program schema that may serve it
}

// Serves returns an error, for a person, unless this program can serve it.
func (s Schema) Serves() error {
	switch {
	case s.Version < Latest:
		return fmt.Errorf("the database has schema %d and this program needs %d: run sheaf migrate", s.Version, Latest)
	case s.Oldest > Latest:
		return fmt.Errorf("the database has schema %d, which needs a newer program than this one (schema %d): upgrade sheaf", s.Version, Latest)
	}
	return nil
}

// Schema returns the state of the tables.
func (s *Store) Schema(ctx context.Context) (Schema, error) { return s.engine.schema(ctx) }

// Ready returns nil when the store answers and this program can serve it.
func (s *Store) Ready(ctx context.Context) error {
	schema, err := s.engine.schema(ctx)
	if err != nil {
		return err
	}
	return schema.Serves()
}

const newestSchema = `
SELECT version, oldest
FROM schema_compat
ORDER BY version DESC
LIMIT 1`

func (r *Reader) schema() (Schema, error) {
	s, _, err := one(r, newestSchema, func(w *row) Schema { return Schema{w.int(), w.int()} })
	return s, err
}

func (e *sqliteEngine) schema(ctx context.Context) (s Schema, err error) {
	err = e.read(ctx, func(r *Reader) error {
		n, err := r.count("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'schema_compat'")
		if err != nil || n == 0 {
			return err
		}
		s, err = r.schema()
		return err
	})
	return s, err
}

func (e *postgresEngine) schema(ctx context.Context) (s Schema, err error) {
	err = e.read(ctx, func(r *Reader) error {
		n, err := r.count("SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_compat' AND schemaname = current_schema()")
		if err != nil || n == 0 {
			return err
		}
		s, err = r.schema()
		return err
	})
	return s, err
}

// Migrate brings the tables to this program's schema. It runs under a lock: of
// several that start together one migrates and the others wait. A database that
// is newer than the program is left alone, and refused unless it names this
// program as one that may go on beside it.
func Migrate(ctx context.Context, o Options) error { return migrateTo(ctx, o, Latest) }

// migrateTo is Migrate to an older schema, for a backup that has it.
func migrateTo(ctx context.Context, o Options, schema int64) error {
	if o.DatabaseURL != "" {
		return migratePostgres(ctx, o.DatabaseURL, schema)
	}
	return migrateSQLite(ctx, o.Folder, schema, logOr(o.Log))
}

func migrateSQLite(ctx context.Context, folder string, schema int64, log *slog.Logger) error {
	unlock, err := lockFile(filepath.Join(folder, "migrate.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(folder, FileName)
	if err := checkFile(path, log); err != nil {
		return err
	}
	if err := claimFile(path); err != nil {
		return err
	}
	address := "file:" + (&url.URL{Path: path}).EscapedPath()
	db, err := sql.Open("sqlite", address+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return apply(ctx, db, schema, goose.DialectSQLite3, "sqlite")
}

func migratePostgres(ctx context.Context, url string, schema int64) error {
	config, err := pgxpool.ParseConfig(url) // takes out what only the pool understands
	if err != nil {
		return errors.New("--database-url is not a PostgreSQL address: write postgres://user:password@host:5432/database")
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return unreachable(url, err)
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	return apply(ctx, db, schema, goose.DialectPostgres, "postgres", goose.WithSessionLocker(locker))
}

func apply(ctx context.Context, db *sql.DB, schema int64, dialect goose.Dialect, folder string, options ...goose.ProviderOption) error {
	files, err := fs.Sub(migrations, "migrations/"+folder)
	if err != nil {
		return err
	}
	options = append(options, goose.WithDisableGlobalRegistry(true))
	p, err := goose.NewProvider(dialect, db, files, options...)
	if err != nil {
		return err
	}
	current, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current >= schema {
		return compatible(ctx, db)
	}
	for at := current; at < schema; {
		done, err := p.UpByOne(ctx)
		failpoint.Pass(failpoint.InMigration)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return compatible(ctx, db) // another that started together has done the rest
		}
		if err != nil {
			return fmt.Errorf("migrate from schema %d to %d: %w", current, schema, err)
		}
		at = done.Source.Version
	}
	return nil
}

// compatible returns an error unless this program may serve the schema.
func compatible(ctx context.Context, db *sql.DB) error {
	var s Schema
	if err := db.QueryRowContext(ctx, newestSchema).Scan(&s.Version, &s.Oldest); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return s.Serves()
}

// lockFile waits for an exclusive lock on path.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
