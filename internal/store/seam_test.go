package store

import (
	"context"
	"fmt"
	"testing"

	"sheaf.dev/internal/sheaftest/pgtest"
)

// each runs a test on a store of each engine.
func each(t *testing.T, try func(t *testing.T, s *Store)) {
	t.Run("SQLite", func(t *testing.T) { try(t, openTest(t, Options{Folder: t.TempDir()})) })
	t.Run("PostgreSQL", func(t *testing.T) { try(t, openTest(t, Options{DatabaseURL: pgtest.URL(t)})) })
}

// openTest returns a migrated store that is closed when the test ends.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if err := Migrate(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// To SQLite "$2" is a name, numbered by where it first stands.
func TestSeam_ParametersAreBoundByOrdinal(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		for _, c := range []struct{ sql, want string }{
			{"SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT)", "a b c"},
			{"SELECT CAST($3 AS TEXT), CAST($2 AS TEXT), CAST($1 AS TEXT)", "c b a"},
			{"SELECT CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($2 AS TEXT) WHERE CAST($1 AS TEXT) = 'a'", "b c b"},
			{"SELECT CAST($3 AS TEXT), CAST($3 AS TEXT), CAST($1 AS TEXT) WHERE CAST($2 AS TEXT) = 'b'", "c c a"},
		} {
			// Twice, as the second run is of the statement that is kept.
			for range 2 {
				err := s.Read(context.Background(), func(r *Reader) error {
					got, _, err := one(r, c.sql, func(w *row) string { return w.text() + " " + w.text() + " " + w.text() }, "a", "b", "c")
					if err == nil && got != c.want {
						err = fmt.Errorf("got %q, want %q", got, c.want)
					}
					return err
				})
				if err != nil {
					t.Errorf("%s: %v", c.sql, err)
				}
			}
		}
	})
}

func TestSeam_NullAndEmptyAreDifferent(t *testing.T) {
	each(t, func(t *testing.T, s *Store) {
		err := s.Read(context.Background(), func(r *Reader) error {
			return r.query("SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT)", func(w *row) {
				if v := w.optText(); v != nil {
					t.Errorf("a null text is %q", *v)
				}
				if v := w.optText(); v == nil || *v != "" {
					t.Error("an empty text is not empty")
				}
				if v := w.optTime(); v != nil {
					t.Errorf("a null time is %s", v)
				}
				if v := w.optTime(); v == nil || v.UnixMilli() != 0 {
					t.Errorf("the time 0 is %v", v)
				}
			}, nil, "", (*int64)(nil), 0)
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestPlain_UnknownTypePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a float was bound")
		}
	}()
	plain(1.5)
}
