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
	Version int64 // the newest migration that was applied; 0: an empty database
	Oldest  int64 // the oldest program schema that may serve it
}

// Serves returns an error, for a person, unless a program of that schema can serve it.
func (s Schema) Serves(program int64) error {
	if s.Version < program {
		return fmt.Errorf("the database has schema %d and this program needs %d: run sheaf migrate", s.Version, program)
	}
	return s.TooNew(program)
}

// TooNew returns an error, for a person, when a program of that schema may not go on beside it.
func (s Schema) TooNew(program int64) error {
	if s.Oldest <= program {
		return nil
	}
	return fmt.Errorf("the database has schema %d, which needs a newer program than this one (schema %d): upgrade sheaf", s.Version, program)
}

// newestSchema reads the table in which each migration says what it is.
const newestSchema = `
SELECT version, oldest
FROM schema_compat
ORDER BY version DESC
LIMIT 1`

// Schema returns the state of the tables, which must be there.
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

// readSchema returns the state of the tables; isThere counts the table that says it.
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

// Migrate brings the tables to a schema. It runs under a lock: of several that start together one
// migrates and the others wait. A database that is newer is left alone, and refused unless it names
// a program of that schema as one that may go on beside it.
func Migrate(ctx context.Context, o Options, schema int64) error {
	o = o.withDefaults()
	if o.DatabaseURL != "" {
		return migratePostgres(ctx, o, schema)
	}
	return migrateSQLite(ctx, o, schema)
}

// migrateSQLite migrates the file, which it makes when there is none.
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

// migratePostgres migrates the database under a lock of its own.
func migratePostgres(ctx context.Context, o Options, schema int64) error {
	address, flag := o.sessionURL()
	config, err := parsePostgres(address, flag) // takes out what only the pool understands
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return unreachable(address, flag, err)
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

// Migration is one that is more than the statements of its file, inside its transaction.
type Migration struct {
	Text     string // the file's
	Postgres bool
	Log      *slog.Logger
	tx       *sql.Tx
}

// Exec runs a statement.
func (m Migration) Exec(ctx context.Context, statement string) error {
	_, err := m.tx.ExecContext(ctx, statement)
	return err
}

// Count reads a single number.
func (m Migration) Count(ctx context.Context, query string) (n int64, err error) {
	err = m.tx.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// Texts reads a column of texts.
func (m Migration) Texts(ctx context.Context, query string, args ...any) (texts []string, err error) {
	rows, err := m.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}

// waitForWriter changes nothing. A transaction of SQLite that reads first and then writes fails at
// once when anybody, a checkpoint too, was at the log in between; one that begins with a write
// waits for its turn.
const waitForWriter = `UPDATE schema_compat SET oldest = oldest WHERE version = 0`

// runnable has goose call the functions of Options.Run in place of the statements of their files.
func (o Options) runnable(files fs.FS, postgres bool) (options []goose.ProviderOption, err error) {
	for name, run := range o.Run {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		m := Migration{Text: string(text), Postgres: postgres, Log: o.Log}
		options = append(options, goose.WithExcludeNames([]string{name}), goose.WithGoMigrations(goose.NewGoMigration(version,
			&goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
				m.tx = tx
				if err := m.Exec(ctx, waitForWriter); err != nil {
					return err
				}
				return run(ctx, m)
			}}, nil)))
	}
	return options, nil
}

// apply runs the migrations of a folder that the database lacks, each in one transaction.
func apply(ctx context.Context, db *sql.DB, o Options, schema int64, dialect goose.Dialect, folder string, options ...goose.ProviderOption) error {
	files, err := fs.Sub(o.Migrations, folder)
	if err != nil {
		return err
	}
	runnable, err := o.runnable(files, dialect == goose.DialectPostgres)
	if err != nil {
		return err
	}
	options = append(append(options, goose.WithDisableGlobalRegistry(true)), runnable...)
	p, err := goose.NewProvider(dialect, db, files, options...)
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
			return compatible(ctx, db, schema) // another that started together has done the rest
		}
		if err != nil {
			return fmt.Errorf("migrate from schema %d to %d: %w", current, schema, err)
		}
		at = done.Source.Version
	}
	return nil
}

// migrationTries is how often a migration begins that others force to give way.
const migrationTries = 5

// upByOne runs the next migration. PostgreSQL ends one of two transactions that wait for each
// other, and autovacuum, which shortens the catalogue's tables, can be the other one: then nothing
// of the migration has happened, and it begins anew.
func upByOne(ctx context.Context, p *goose.Provider, log *slog.Logger) (done *goose.MigrationResult, err error) {
	for try := 1; ; try++ {
		done, err = p.UpByOne(ctx)
		if !rerun(err) || try == migrationTries {
			return done, err
		}
		log.Warn("the migration had to give way to another transaction and begins anew", "error", err)
	}
}

// compatible returns an error unless a program of that schema may serve the schema.
func compatible(ctx context.Context, db *sql.DB, program int64) error {
	var s Schema
	if err := db.QueryRowContext(ctx, newestSchema).Scan(&s.Version, &s.Oldest); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	return s.Serves(program)
}

// lockLook is how often it is looked whether another process has let go of the lock: the kernel
// would wait whatever becomes of ctx.
const lockLook = 50 * time.Millisecond

// lockFile waits for an exclusive lock on path, until ctx ends.
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
