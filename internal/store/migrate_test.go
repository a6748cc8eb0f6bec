package store

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

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
					if err := Migrate(context.Background(), o); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if err := openTest(t, o).Ready(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMigrate_EveryEngineHasTheSameMigrations(t *testing.T) {
	var names [2]string
	for i, engine := range []string{"sqlite", "postgres"} {
		files, err := migrations.ReadDir("migrations/" + engine)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names[i] += f.Name() + " "
		}
		if len(files) != Latest {
			t.Errorf("%s has %d migrations and Latest is %d", engine, len(files), Latest)
		}
	}
	if names[0] != names[1] {
		t.Errorf("sqlite has %s, postgres %s", names[0], names[1])
	}
}

func TestSchema_NewerIsServedWhenItSaysSo(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		newer := func(version, oldest int) error {
			err := s.Write(context.Background(), func(tx *Tx) error {
				return tx.exec("INSERT INTO schema_compat (version, oldest) VALUES ($1, $2)", version, oldest)
			})
			if err != nil {
				t.Fatal(err)
			}
			return s.Ready(context.Background())
		}
		if err := newer(Latest+1, Latest); err != nil {
			t.Errorf("a newer schema that allows this program: %v", err)
		}
		err := newer(Latest+2, Latest+1)
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
			if err := Migrate(context.Background(), o); err != nil {
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
					fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, %s)", Latest+1, map[string]string{"sqlite": "1", "pgx": "true"}[driver]),
					"DELETE FROM schema_compat",
					fmt.Sprintf("INSERT INTO schema_compat (version, oldest) VALUES (%d, %d)", Latest+1, oldest),
				} {
					if _, err := db.Exec(text); err != nil {
						t.Fatal(err)
					}
				}
			}
			apply(Latest)
			if err := Migrate(context.Background(), o); err != nil {
				t.Errorf("beside a newer program: %v", err)
			}
			apply(Latest + 1)
			if err := Migrate(context.Background(), o); err == nil || !strings.Contains(err.Error(), "upgrade sheaf") {
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
			s, err := Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if err := s.Ready(context.Background()); err == nil || !strings.Contains(err.Error(), "run sheaf migrate") {
				t.Errorf("got %v, want the line that says to migrate", err)
			}
			if err := Migrate(context.Background(), o); err != nil {
				t.Error(err)
			}
			if err := s.Ready(context.Background()); err != nil {
				t.Errorf("after the migration: %v", err)
			}
		})
	}
}

// A first start that dies between goose's own table and ours must not leave a
// file that looks like another program's.
func TestMigrate_InterruptedFirstStartGoesOn(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, FileName)
	if err := claimFile(path); err != nil {
		t.Fatal(err)
	}
	execFile(t, path, "CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)")
	if err := openTest(t, Options{Folder: folder}).Ready(context.Background()); err != nil {
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
				if err := Migrate(context.Background(), o); err != nil {
					t.Fatal(err)
				}
			}
			s, err := Open(context.Background(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if migrate {
				put(t, s, testWorkspace("w"))
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
			if err := openTest(t, Options{Folder: folder}).Ready(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
