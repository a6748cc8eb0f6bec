package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sheaf.dev/internal/sheaftest/pgtest"
	"sheaf.dev/internal/sheaftest/proctest"
)

// engine is how a store of old is made on SQLite or PostgreSQL.
type engine interface {
	fmt.Stringer
	// make fills an empty store with the fixture; without one only with what goose keeps.
	make(t *testing.T, p *proctest.Program, f fixture) database
	// note is goose's note that a migration is done.
	note(migration int) string
}

// database is a store as the bare engine sees it.
type database interface {
	commit(t *testing.T, statements []string)
	// die does the statements in one transaction, and leaves the store as a kill at that moment does.
	die(t *testing.T, statements []string)
}

// fixture is what a released program left, and what it answered.
type fixture struct {
	Key       string         `json:"key"`
	MasterKey string         `json:"master_key"`
	Answers   map[string]any `json:"answers"`
	dump      string
}

func readFixture(t *testing.T, e engine, schema int) (f fixture) {
	t.Helper()
	base := filepath.Join("testdata", fmt.Sprintf("schema%d", schema), e.String())
	text, err := os.ReadFile(base + ".json")
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	if err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile(base + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	f.dump = string(dump)
	return f
}

// migrations returns the statements of every migration; the last of each is goose's note.
func migrations(t *testing.T, e engine) (all [][]string) {
	t.Helper()
	files, err := filepath.Glob("../../internal/store/migrations/" + e.String() + "/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("the migrations are not there: %v", err)
	}
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, append(split(string(text)), e.note(i+1)))
	}
	return all
}

// split returns the statements of a file; comments end no statement, as none has a semicolon at the end of its line.
func split(text string) (statements []string) {
	for part := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(part) != "" {
			statements = append(statements, part)
		}
	}
	return statements
}

// takeKey gives the program the master key of the fixture.
func takeKey(t *testing.T, p *proctest.Program, f fixture) {
	t.Helper()
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if f.MasterKey == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(p.Data, "master.key"), []byte(f.MasterKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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

func (sqliteEngine) make(t *testing.T, p *proctest.Program, f fixture) database {
	t.Helper()
	takeKey(t, p, f)
	s := &sqliteStore{p}
	if f.dump == "" {
		f.dump = sqliteEmpty
	}
	s.open(t, func(c *sqlite.Conn) error { return sqlitex.ExecuteScript(c, f.dump, nil) })
	return s
}

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

func (postgresEngine) make(t *testing.T, p *proctest.Program, f fixture) database {
	t.Helper()
	takeKey(t, p, f)
	p.Database = pgtest.URL(t)
	s := &postgresStore{p.Database}
	if f.dump == "" {
		f.dump = postgresEmpty
	}
	s.open(t, func(c *pgx.Conn) {
		if _, err := c.PgConn().Exec(context.Background(), f.dump).ReadAll(); err != nil {
			t.Fatal(err)
		}
	})
	return s
}

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
