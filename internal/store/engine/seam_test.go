package engine

import (
	"context"
	"fmt"
	"testing"
)

// For SQLite "$2" is a name, numbered by its first occurrence.
func TestSeam_ParametersAreBoundByOrdinal(t *testing.T) {
	each(t, func(t *testing.T, s Engine) {
		for _, c := range []struct{ sql, want string }{
			{"SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT)", "a b c"},
			{"SELECT CAST($3 AS TEXT), CAST($2 AS TEXT), CAST($1 AS TEXT)", "c b a"},
			{"SELECT CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($2 AS TEXT) WHERE CAST($1 AS TEXT) = 'a'", "b c b"},
			{"SELECT CAST($3 AS TEXT), CAST($3 AS TEXT), CAST($1 AS TEXT) WHERE CAST($2 AS TEXT) = 'b'", "c c a"},
		} {
			// Twice: the second run uses the cached statement.
			for range 2 {
				err := s.Read(context.Background(), func(r *Reader) error {
					got, _, err := One(r, c.sql, func(w *Row) string { return w.Text() + " " + w.Text() + " " + w.Text() }, "a", "b", "c")
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
	each(t, func(t *testing.T, s Engine) {
		err := s.Read(context.Background(), func(r *Reader) error {
			return r.Query("SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT)", func(w *Row) {
				if v := w.OptText(); v != nil {
					t.Errorf("a null text is %q", *v)
				}
				if v := w.OptText(); v == nil || *v != "" {
					t.Error("an empty text is not empty")
				}
				if v := w.OptTime(); v != nil {
					t.Errorf("a null time is %s", v)
				}
				if v := w.OptTime(); v == nil || v.UnixMilli() != 0 {
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
