package store

import (
	"context"
	"strings"

	"sheaf.dev/internal/sheaftest/tenanttest"
	"sheaf.dev/internal/store/engine"
)

// Tables returns the names of all tables of a SQLite store.
func Tables(s *Store) (names []string, err error) {
	err = s.Read(context.Background(), func(r *Reader) error {
		names, err = all(r, "SELECT name FROM sqlite_schema WHERE type = 'table'", (*row).Text)
		return err
	})
	kept := names[:0]
	for _, n := range names {
		if !strings.HasPrefix(n, "sqlite_") {
			kept = append(kept, n)
		}
	}
	return kept, err
}

// LeavingTables returns the tables that RemoveSome empties.
func LeavingTables() []string {
	out := []string{"texts", "versions"} // with the documents
	for _, t := range leavingTables {
		out = append(out, t.name)
	}
	return out
}

// OpenRecording is Open for a store that reports each statement that it runs.
func OpenRecording(o Options, asked func(sql string, rows [][]any)) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) {
		e, err := engine.Open(context.Background(), o)
		return tenanttest.Record(e, asked), err
	})
}

// OpenNaming is Open for a store that reports on whose behalf it writes.
func OpenNaming(o Options, tenant func(string)) (*Store, error) {
	return open(o, func(o engine.Options) (engine.Engine, error) {
		e, err := engine.Open(context.Background(), o)
		return naming{e, tenant}, err
	})
}

type naming struct {
	engine.Engine
	tenant func(string)
}

func (n naming) WriteIn(ctx context.Context, tenant string, fn func(*engine.Tx) error) error {
	n.tenant(tenant)
	return n.Engine.WriteIn(ctx, tenant, fn)
}

func (n naming) WriteHeavyIn(ctx context.Context, tenant string, fn func(*engine.Tx) error) error {
	n.tenant(tenant)
	return n.Engine.WriteHeavyIn(ctx, tenant, fn)
}

// UniqueKey is a primary or unique key of a table.
type UniqueKey struct {
	Table, Name string
	Columns     []string
}

// Catalogue returns PostgreSQL's tables, whether each has a workspace column, and all unique keys.
func Catalogue(s *Store) (hasWorkspace map[string]bool, keys []UniqueKey, err error) {
	const columns = `
SELECT CAST(table_name AS TEXT), CAST(MAX(CASE WHEN column_name = 'ws' THEN 1 ELSE 0 END) AS BIGINT)
FROM information_schema.columns
WHERE table_schema = current_schema()
GROUP BY table_name`
	const unique = `
SELECT CAST(t.relname AS TEXT), CAST(i.relname AS TEXT),
  (SELECT string_agg(CAST(a.attname AS TEXT), ' ') FROM pg_attribute a WHERE a.attrelid = i.oid)
FROM pg_index x
JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE x.indisunique AND n.nspname = current_schema()`
	hasWorkspace = map[string]bool{}
	err = s.Read(context.Background(), func(r *Reader) (err error) {
		if err := r.query(columns, func(w *row) { name := w.Text(); hasWorkspace[name] = w.Bool() }); err != nil {
			return err
		}
		keys, err = all(r, unique, func(w *row) UniqueKey { return UniqueKey{w.Text(), w.Text(), strings.Fields(w.Text())} })
		return err
	})
	return hasWorkspace, keys, err
}
