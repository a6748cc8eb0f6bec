package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/stdlib" // goose speaks database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	_ "modernc.org/sqlite"

	"sheaf.dev/internal/failpoint"
)

// Schema is the state of a database's tables.
type Schema struct {
	Version int64 // the newest applied migration; 0: an empty database
	Oldest  int64 // the oldest schema whose program may serve this one
}

// Serves returns an error, worded for a person, if a program of schema `program` cannot serve it.
func (s Schema) Serves(program int64) error {
	if s.Version < program {
		return fmt.Errorf("the database has schema %d and this program needs %d: run sheaf migrate", s.Version, program)
	}
	return s.TooNew(program)
}

// TooNew returns an error, worded for a person, if a program of schema `program` is too old for it.
func (s Schema) TooNew(program int64) error {
	if s.Oldest <= program {
		return nil
	}
	return fmt.Errorf("the database has schema %d, which needs a newer program than this one (schema %d): upgrade sheaf", s.Version, program)
}

// newestSchema reads the table in which each migration records its version.
const newestSchema = `
SELECT version, oldest
FROM schema_compat
ORDER BY version DESC
LIMIT 1`

// Schema returns the state of the tables, which must exist.
func (r *Reader) Schema() (Schema, error) {
	s, _, err := One(r, newestSchema, func(w *Row) Schema { return Schema{w.Int(), w.Int()} })
	return s, err
}

// Schema implements Engine.
func (e *SQLite) Schema(ctx context.Context) (Schema, error) {
	return readSchema(ctx, e, "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'schema_compat'")
}

// Schema implements Engine.
func (e *Postgres) Schema(ctx context.Context) (Schema, error) {
	return readSchema(ctx, e, "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_compat' AND schemaname = current_schema()")
}

// readSchema returns the state of the tables, or the zero value if there are none; isThere counts
// the table that stores it.
func readSchema(ctx context.Context, e Engine, isThere string) (s Schema, err error) {
	err = e.Read(ctx, func(r *Reader) error {
		n, err := r.Count(isThere)
		if err != nil || n == 0 {
			return err
		}
		s, err = r.Schema()
		return err
	})
	return s, err
}

// Migrate brings the tables to `schema`, under a lock: if several processes start together, one
// migrates and the others wait. A newer database is not changed. It is refused unless it allows a
// program of that schema to keep running on it.
func Migrate(ctx context.Context, o Options, schema int64) error {
	o = o.withDefaults()
	if o.DatabaseURL != "" {
		return migratePostgres(ctx, o, schema)
	}
	return migrateSQLite(ctx, o, schema)
}

// migrateSQLite migrates the file, and creates it if there is none.
func migrateSQLite(ctx context.Context, o Options, schema int64) error {
	unlock, err := lockFile(ctx, filepath.Join(o.Folder, "migrate.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(o.Folder, FileName)
	if err := checkFile(path, o.Log); err != nil {
		return err
	}
	if err := claimFile(path, o.pageSize()); err != nil {
		return err
	}
	address := "file:" + (&url.URL{Path: path}).EscapedPath()
	db, err := sql.Open("sqlite", address+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	return apply(ctx, db, o, schema, goose.DialectSQLite3, "sqlite")
}

// migratePostgres migrates the database under an advisory lock. If ctx ends, the error says so: what
// the driver reports then is often only "bad connection".
func migratePostgres(ctx context.Context, o Options, schema int64) (err error) {
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("the migration was stopped: %w (%v)", cause, err)
		}
	}()
	address, flag := o.sessionURL()
	config, err := parsePostgres(address, flag) // removes the parameters that only the pool understands
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return unreachable(ctx, address, flag, err)
	}
	if err := needSession(ctx, db, flag); err != nil {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return err
	}
	return apply(ctx, db, o, schema, goose.DialectPostgres, "postgres", goose.WithSessionLocker(locker))
}

// apply runs the migrations that the database lacks, each in one transaction.
func apply(ctx context.Context, db *sql.DB, o Options, schema int64, dialect goose.Dialect, folder string, options ...goose.ProviderOption) error {
	files, err := fs.Sub(o.Migrations, folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(dialect, db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	current, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current >= schema {
		return compatible(ctx, db, schema)
	}
	for at := current; at < schema; {
		done, err := upByOne(ctx, p, o.Log)
		failpoint.Pass(failpoint.InMigration)
		if errors.Is(err, goose.ErrNoNextVersion) {
			return compatible(ctx, db, schema) // another process has done the rest
		}
		if err != nil {
			return fmt.Errorf("migrate from schema %d to %d: %w", current, schema, err)
		}
		at = done.Source.Version
	}
	return nil
}

// migrationTries is the most attempts at a migration that PostgreSQL aborts.
const migrationTries = 5

// upByOne runs the next migration. PostgreSQL aborts one of two transactions in a deadlock, and
// autovacuum can be the other one when it truncates catalogue tables. Then nothing of the migration
// has happened, and it runs again.
func upByOne(ctx context.Context, p *goose.Provider, log *slog.Logger) (done *goose.MigrationResult, err error) {
	for try := 1; ; try++ {
		done, err = p.UpByOne(ctx)
		if !rerun(err) || try == migrationTries {
			return done, err
		}
		log.Warn("the migration had to give way to another transaction and starts over", "error", err)
	}
}

// compatible returns an error unless a program of that schema can serve the database.
func compatible(ctx context.Context, db *sql.DB, program int64) error {
	var s Schema
	if err := db.QueryRowContext(ctx, newestSchema).Scan(&s.Version, &s.Oldest); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return s.Serves(program)
}

// lockLook is the interval between two tries to get the lock. Blocking in the kernel would ignore
// ctx.
const lockLook = 50 * time.Millisecond

// lockFile waits for an exclusive lock on path. It fails if ctx ends first.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pause(ctx, lockLook)
			err = ctx.Err()
		} else if errors.Is(err, syscall.EINTR) {
			err = nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
