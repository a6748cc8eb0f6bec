package migrate

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaftest/plant"
	"sheaf.dev/internal/sheaftest/proctest"
)

// engine makes stores on SQLite or PostgreSQL.
type engine interface {
	fmt.Stringer
	// begin makes a store that has nothing but goose's own table.
	begin(t *testing.T, p *proctest.Program) database
	// open returns the store of a program that is not running.
	open(p *proctest.Program) database
	// note is goose's note that a migration is done.
	note(migration int) string
}

// database is a store as the bare engine sees it.
type database interface {
	commit(t *testing.T, statements []string)
	// die does the statements in one transaction, and leaves the store as a kill at that moment does.
	die(t *testing.T, statements []string)
}

// migrationFiles returns the files of this program's migrations, and that of the test.
func migrationFiles(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, e := range engines {
		names, err := filepath.Glob("../../internal/store/migrations/" + e.String() + "/*.sql")
		if err != nil || len(names) == 0 {
			t.Fatalf("the migrations are not there: %v", err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[e.String()+"/"+filepath.Base(name)] = &fstest.MapFile{Data: text}
		}
		now := len(names)
		files[fmt.Sprintf("%s/%05d_next.sql", e, now+1)] = &fstest.MapFile{Data: []byte(plant.NextMigration(now))}
	}
	return files
}

// migrations returns the statements of every migration. The last of each is goose's note.
func migrations(t *testing.T, e engine) (all [][]string) {
	t.Helper()
	files := migrationFiles(t)
	names, err := fs.Glob(files, e.String()+"/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, append(split(string(text)), e.note(i+1)))
	}
	return all
}

// split returns the statements of a file, without its comments. No text in a statement has a semicolon or two hyphens.
func split(text string) (statements []string) {
	var code strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "--")
		code.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	for statement := range strings.SplitSeq(code.String(), ";") {
		if statement = strings.TrimSpace(statement); statement != "" {
			statements = append(statements, statement)
		}
	}
	return statements
}

type sqliteEngine struct{}

func (sqliteEngine) String() string { return "sqlite" }

func (sqliteEngine) note(migration int) string {
	return fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", migration)
}

const sqliteEmpty = `
PRAGMA application_id = 0x53484541;
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);`

func (e sqliteEngine) begin(t *testing.T, p *proctest.Program) database {
	t.Helper()
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &sqliteStore{p}
	s.open(t, func(c *sqlite.Conn) error { return sqlitex.ExecuteScript(c, sqliteEmpty, nil) })
	return s
}

func (sqliteEngine) open(p *proctest.Program) database { return &sqliteStore{p} }

type sqliteStore struct{ program *proctest.Program }

func (s *sqliteStore) file() string { return filepath.Join(s.program.Data, "sheaf.db") }

func (s *sqliteStore) open(t *testing.T, act func(*sqlite.Conn) error) {
	t.Helper()
	c, err := sqlite.OpenConn(s.file(), sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := act(c); err != nil {
		t.Fatal(err)
	}
}

func each(c *sqlite.Conn, statements ...string) error {
	for _, text := range statements {
		if err := sqlitex.ExecuteTransient(c, text, nil); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

func (s *sqliteStore) commit(t *testing.T, statements []string) {
	t.Helper()
	s.open(t, func(c *sqlite.Conn) error {
		return each(c, append(append([]string{"BEGIN IMMEDIATE"}, statements...), "COMMIT")...)
	})
}

// die copies the files in the middle of the transaction, most of whose pages are written already: a process that is
// killed leaves just these.
func (s *sqliteStore) die(t *testing.T, statements []string) {
	t.Helper()
	copies := map[string][]byte{}
	s.open(t, func(c *sqlite.Conn) error {
		if err := each(c, append([]string{"PRAGMA cache_size = 1", "PRAGMA cache_spill = 1", "BEGIN IMMEDIATE"}, statements...)...); err != nil {
			return err
		}
		for _, suffix := range []string{"", "-wal"} {
			b, err := os.ReadFile(s.file() + suffix)
			if err != nil {
				return err
			}
			copies[suffix] = b
		}
		return each(c, "ROLLBACK")
	})
	for suffix, b := range copies {
		if err := os.WriteFile(s.file()+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

type postgresEngine struct{}

func (postgresEngine) String() string { return "postgres" }

func (postgresEngine) note(migration int) string {
	return fmt.Sprintf("INSERT INTO public.goose_db_version (version_id, is_applied) VALUES (%d, true)", migration)
}

const postgresEmpty = `
CREATE TABLE goose_db_version (id integer PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY, version_id bigint NOT NULL, is_applied boolean NOT NULL, tstamp timestamp NOT NULL DEFAULT now());
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, true);`

func (e postgresEngine) begin(t *testing.T, p *proctest.Program) database {
	t.Helper()
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &postgresStore{p.Database}
	s.open(t, func(c *pgx.Conn) {
		if _, err := c.PgConn().Exec(context.Background(), postgresEmpty).ReadAll(); err != nil {
			t.Fatal(err)
		}
	})
	return s
}

func (postgresEngine) open(p *proctest.Program) database { return &postgresStore{p.Database} }

type postgresStore struct{ url string }

func (s *postgresStore) open(t *testing.T, act func(*pgx.Conn)) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	act(c)
}

func (s *postgresStore) each(t *testing.T, c *pgx.Conn, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := c.Exec(context.Background(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func (s *postgresStore) commit(t *testing.T, statements []string) {
	t.Helper()
	s.open(t, func(c *pgx.Conn) { s.each(t, c, append(append([]string{"BEGIN"}, statements...), "COMMIT")...) })
}

// die closes the socket in the middle of the transaction, as the kernel does for a process that is killed.
func (s *postgresStore) die(t *testing.T, statements []string) {
	t.Helper()
	s.open(t, func(c *pgx.Conn) {
		s.each(t, c, append([]string{"BEGIN"}, statements...)...)
		if err := c.PgConn().Conn().Close(); err != nil {
			t.Fatal(err)
		}
	})
}
