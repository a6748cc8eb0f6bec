package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// latest is the schema of the tests, which have tables of their own: the engine has no noun of the
// product.
const latest = 1

const schemaText = `-- +goose Up
CREATE TABLE schema_compat (version BIGINT PRIMARY KEY, oldest BIGINT NOT NULL);
INSERT INTO schema_compat (version, oldest) VALUES (1, 1);
CREATE TABLE things (id TEXT PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, version BIGINT NOT NULL);
CREATE TABLE parts (id TEXT PRIMARY KEY, thing TEXT NOT NULL REFERENCES things (id));
CREATE TABLE texts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
`

func testOptions(o Options) Options {
	o.Migrations = fstest.MapFS{
		"sqlite/00001_test.sql":   {Data: []byte(schemaText)},
		"postgres/00001_test.sql": {Data: []byte(schemaText)},
	}
	return o
}

// each runs a test on each engine.
func each(t *testing.T, try func(t *testing.T, s Engine)) {
	t.Run("SQLite", func(t *testing.T) { try(t, openTest(t, Options{Folder: t.TempDir()})) })
	t.Run("PostgreSQL", func(t *testing.T) { try(t, openTest(t, Options{DatabaseURL: pgtest.URL(t)})) })
}

// openTest returns a migrated database that is closed when the test ends.
func openTest(t testing.TB, o Options) Engine {
	t.Helper()
	e, err := openMigrated(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func openMigrated(o Options) (Engine, error) {
	o = testOptions(o)
	if err := Migrate(context.Background(), o, latest); err != nil {
		return nil, err
	}
	return Open(context.Background(), o)
}

// sqliteTest returns a SQLite database with one thing in it, "w".
func sqliteTest(t testing.TB) *SQLite {
	e := openTest(t, Options{Folder: t.TempDir()}).(*SQLite)
	put(t, e, "w")
	return e
}

func put(t testing.TB, s Engine, id string) {
	t.Helper()
	if err := s.Write(context.Background(), insert(id)); err != nil {
		t.Fatal(err)
	}
}

func insert(id string) func(*Tx) error { return insertNamed(id, "Acme") }

func insertNamed(id, name string) func(*Tx) error {
	return func(tx *Tx) error {
		return tx.Exec("INSERT INTO things (id, name, kind, version) VALUES ($1, $2, 'pro', 1)", id, name)
	}
}

// setKind returns an error if there is no such thing.
func setKind(id, kind string) func(*Tx) error {
	return func(tx *Tx) error {
		n, err := tx.Changed("UPDATE things SET kind = $2 WHERE id = $1", id, kind)
		if err == nil && n == 0 {
			err = errNoThing
		}
		return err
	}
}

// raise adds one to the version of "w", which it locks.
func raise(tx *Tx) error { return raiseOf(tx, "w") }

func raiseOf(tx *Tx, id string) error {
	n, err := tx.Count("SELECT version FROM things WHERE id = $1"+tx.Dialect().ForUpdate(), id)
	if err != nil {
		return err
	}
	return tx.Exec("UPDATE things SET version = $2 WHERE id = $1", id, n+1)
}

// things returns the ids of all things, in order.
func things(t testing.TB, s Engine) string {
	t.Helper()
	var ids []string
	err := s.Read(context.Background(), func(r *Reader) (err error) {
		ids, err = readThings(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(ids, " ")
}

func readThings(r *Reader) ([]string, error) {
	return All(r, "SELECT id, name, kind FROM things ORDER BY id", (*Row).Text)
}

func valueOf(t testing.TB, s Engine, column, id string) (v string) {
	t.Helper()
	err := s.Read(context.Background(), func(r *Reader) (err error) {
		v, _, err = One(r, "SELECT CAST("+column+" AS TEXT) FROM things WHERE id = $1", (*Row).Text, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var errNoThing = errors.New("there is no such thing")
