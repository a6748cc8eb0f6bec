package store

import (
	"context"
	"strings"
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

// Plan returns how SQLite would run a query.
func Plan(ctx context.Context, s *Store, sql string) (plan string, err error) {
	err = s.Read(ctx, func(r *Reader) error {
		steps, err := all(r, "EXPLAIN QUERY PLAN "+sql, func(w *row) string {
			w.Int()
			w.Int()
			w.Int()
			return w.Text()
		})
		plan = strings.Join(steps, "; ")
		return err
	})
	return plan, err
}
