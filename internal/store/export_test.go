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
