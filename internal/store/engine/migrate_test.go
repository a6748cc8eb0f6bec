package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3/lock"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

func TestMigrate_SeveralAtOnce(t *testing.T) {
	for name, o := range map[string]func(t *testing.T) Options{
		"SQLite":     func(t *testing.T) Options { return Options{Folder: t.TempDir()} },
		"PostgreSQL": func(t *testing.T) Options { return Options{DatabaseURL: pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			o := o(t)
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if err := ready(openTest(t, o)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSchema_NewerIsServedWhenItSaysSo(t *testing.T) {
	each(t, func(t *testing.T, s Engine) {
		newer := func(version, oldest int) error {
			err := s.Write(context.Background(), func(tx *Tx) error {
				return tx.Exec("INSERT INTO schema_compat (version, oldest) VALUES ($1, $2)", version, oldest)
			})
			if err != nil {
				t.Fatal(err)
			}
			return ready(s)
		}
		if err := newer(latest+1, latest); err != nil {
			t.Errorf("a newer schema that allows this program: %v", err)
		}
		err := newer(latest+2, latest+1)
		if err == nil || !strings.Contains(err.Error(), "upgrade sheaf") {
			t.Errorf("a newer schema that does not: got %v", err)
		}
	})
}

func TestMigrate_NewerSchemaIsLeftAloneAndRefused(t *testing.T) {
	for name, o := range map[string]func(t *testing.T) (Options, string, string){
		"SQLite": func(t *testing.T) (Options, string, string) {
			folder := t.TempDir()
			return Options{Folder: folder}, "sqlite", filepath.Join(folder, FileName)
		},
		"PostgreSQL": func(t *testing.T) (Options, string, string) {
			url := pgtest.URL(t)
			return Options{DatabaseURL: url}, "pgx", url
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, driver, address := o(t)
			if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(driver, address)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			apply := func(oldest int) {
				t.Helper()
				for _, text := range []string{
					fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, %s)", latest+1, map[string]string{"sqlite": "1", "pgx": "true"}[driver]),
					"DELETE FROM schema_compat",
					fmt.Sprintf("INSERT INTO schema_compat (version, oldest) VALUES (%d, %d)", latest+1, oldest),
				} {
					if _, err := db.Exec(text); err != nil {
						t.Fatal(err)
					}
				}
			}
			apply(latest)
			if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
				t.Errorf("beside a newer program: %v", err)
			}
			apply(latest + 1)
			if err := Migrate(context.Background(), testOptions(o), latest); err == nil || !strings.Contains(err.Error(), "upgrade sheaf") {
				t.Errorf("got %v, want the line that says to upgrade", err)
			}
		})
	}
}

func TestSchema_EmptyDatabaseSaysToMigrate(t *testing.T) {
	for name, o := range map[string]func(t *testing.T) Options{
		"SQLite":     func(t *testing.T) Options { return Options{Folder: t.TempDir()} },
		"PostgreSQL": func(t *testing.T) Options { return Options{DatabaseURL: pgtest.URL(t)} },
	} {
		t.Run(name, func(t *testing.T) {
			o := o(t)
			s, err := Open(context.Background(), testOptions(o))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := ready(s); err == nil || !strings.Contains(err.Error(), "run sheaf migrate") {
				t.Errorf("got %v, want the line that says to migrate", err)
			}
			if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
				t.Error(err)
			}
			if err := ready(s); err != nil {
				t.Errorf("after the migration: %v", err)
			}
		})
	}
}

// A first start that dies after goose's table and before ours must not leave a file that looks like
// another program's.
func TestMigrate_InterruptedFirstStartGoesOn(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, FileName)
	if err := claimFile(path, Options{}.pageSize()); err != nil {
		t.Fatal(err)
	}
	execFile(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)")
	if err := ready(openTest(t, Options{Folder: folder})); err != nil {
		t.Error(err)
	}
}

func TestSQLite_FilesAreTheirOwnersAlone(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	for name, migrate := range map[string]bool{"migrated": true, "only opened": false} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			o := Options{Folder: folder}
			if migrate {
				if err := Migrate(context.Background(), testOptions(o), latest); err != nil {
					t.Fatal(err)
				}
			}
			s, err := Open(context.Background(), testOptions(o))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if migrate {
				put(t, s, "w")
			}
			files, err := os.ReadDir(folder)
			if err != nil || len(files) < 3 {
				t.Fatalf("got %v, %v, want the file, its log and its index", files, err)
			}
			for _, f := range files {
				info, err := f.Info()
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has mode %v, %v, want 0600", f.Name(), info.Mode(), err)
				}
			}
		})
	}
}

func TestSQLite_FolderNamesAreTakenAsTheyAre(t *testing.T) {
	for _, name := range []string{"a b", "50%", "%41", "what?", "x#y", "q&_pragma=synchronous(OFF)", "ü;'"} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := ready(openTest(t, Options{Folder: folder})); err != nil {
				t.Error(err)
			}
		})
	}
}

func ready(s Engine) error {
	schema, err := s.Schema(context.Background())
	if err != nil {
		return err
	}
	return schema.Serves(latest)
}

// An operator who stops a migration is told that it was stopped, and not to check the address.
func TestMigrate_StoppedBeforePostgreSQLAnswers(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	o := testOptions(Options{DatabaseURL: pgtest.URL(t)})
	if err := Migrate(ctx, o, latest); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("a stopped migration: %v", err)
	}
	if _, err := openPostgres(ctx, o); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("a stopped start: %v", err)
	}
	// The driver reports an ended context as a bad connection.
	err := unreachable(ctx, o.DatabaseURL, "--database-url", driver.ErrBadConn)
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("a bad connection of an ended context: %v", err)
	}
}

// A process that waits for another to migrate can be cancelled.
func TestMigrate_TheLockHeedsItsContext(t *testing.T) {
	folder, url := t.TempDir(), pgtest.URL(t)
	unlock, err := lockFile(context.Background(), filepath.Join(folder, "migrate.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SELECT pg_advisory_lock($1)", lock.DefaultLockID); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"SQLite": {Folder: folder}, "PostgreSQL": {DatabaseURL: url}} {
		t.Run(name, func(t *testing.T) {
			ctx, leave := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer leave()
			done := make(chan error, 1)
			go func() { done <- Migrate(ctx, testOptions(o), latest) }()
			select {
			case err := <-done:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that it gave up", err)
				}
			case <-time.After(2 * time.Minute):
				t.Error("it waits on")
			}
		})
	}
}

// If PostgreSQL aborts a migration because it and another transaction wait for each other, the
// migration runs again.
func TestMigrate_RunsAgainAfterADeadlock(t *testing.T) {
	ctx := context.Background()
	o := testOptions(Options{DatabaseURL: pgtest.URL(t)})
	if err := Migrate(ctx, o, latest); err != nil {
		t.Fatal(err)
	}
	o.Migrations.(fstest.MapFS)["postgres/00002_step.sql"] = &fstest.MapFile{Data: []byte(`-- +goose Up
INSERT INTO schema_compat (version, oldest) VALUES (2, 1);
ALTER TABLE things ADD COLUMN remark TEXT NOT NULL DEFAULT '';
SELECT pg_advisory_xact_lock(7);
ALTER TABLE parts ADD COLUMN remark TEXT NOT NULL DEFAULT '';
`)}
	db, err := sql.Open("pgx", o.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	begin := func(statements ...string) *sql.Tx {
		t.Helper()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if _, err := tx.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
		return tx
	}
	waits := func(what string) {
		t.Helper()
		sheaftest.Eventually(t, what, func() bool {
			var n int
			err := db.QueryRow("SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND " + what).Scan(&n)
			return err == nil && n == 1
		})
	}
	// The other transaction holds the second table, and never looks for a deadlock itself.
	other := begin("SET LOCAL deadlock_timeout = '1h'", "LOCK TABLE parts IN ACCESS SHARE MODE")
	pause := begin("SELECT pg_advisory_xact_lock(7)")
	migrated, locked := make(chan error, 1), make(chan error, 1)
	go func() { migrated <- Migrate(ctx, o, 2) }()
	waits("locktype = 'advisory' AND objid = 7") // the migration has the first table
	go func() {
		_, err := other.Exec("LOCK TABLE things IN ACCESS SHARE MODE")
		locked <- errors.Join(err, other.Rollback())
	}()
	waits("relation = 'things'::regclass")
	if err := pause.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-locked; err != nil {
		t.Errorf("the other transaction: %v", err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("the migration: %v", err)
	}
	var columns int
	if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'remark'").Scan(&columns); err != nil || columns != 2 {
		t.Errorf("%d columns were added, %v; want 2", columns, err)
	}
}
