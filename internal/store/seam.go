package store

import (
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// The methods below pass statements of a Reader or a Tx to the engine. They are unexported: if the
// engine's methods were embedded, every caller with a Tx could run SQL.
//
// Each converts its arguments to the stored form (bound, in id.go): a caller passes a
// sheaf.WorkspaceID, and the statement gets the workspace's number.

// row is one row of a result, whose columns are read from left to right.
type row = engine.Row

func (r *Reader) dialect() engine.Dialect { return r.sql.Dialect() }

// query calls each for every row; the row is valid during the call.
func (r *Reader) query(sql string, each func(*row), args ...any) error {
	if err := r.bound(args); err != nil {
		return err
	}
	return r.sql.Query(sql, each, args...)
}

// each is query for a callback that may fail: its first error stops the query and is returned.
func (r *Reader) each(sql string, each func(*row) error, args ...any) error {
	if err := r.bound(args); err != nil {
		return err
	}
	return r.sql.Each(sql, args, each)
}

func (r *Reader) count(sql string, args ...any) (int64, error) {
	n, _, err := one(r, sql, (*row).Int, args...)
	return n, err
}

// run runs b for the rows of arguments. It calls scan for every result row, with the index of the
// row of arguments that it belongs to.
func (r *Reader) run(b *engine.Bulk, rows [][]any, scan func(i int, w *row)) error {
	if err := r.boundAll(rows); err != nil {
		return err
	}
	return r.sql.Run(b, rows, scan)
}

// boundAll is bound for rows of arguments.
func (r *Reader) boundAll(rows [][]any) error {
	for _, args := range rows {
		if err := r.bound(args); err != nil {
			return err
		}
	}
	return nil
}

// nothing is the scan function for a bulk without result rows.
var nothing = engine.Nothing

// one reads a single row; found is false if there is none.
func one[T any](r *Reader, sql string, scan func(*row) T, args ...any) (v T, found bool, err error) {
	if err := r.bound(args); err != nil {
		return v, false, err
	}
	return engine.One(r.sql, sql, scan, args...)
}

// mustFind is one for a row that must exist: otherwise it returns NotFound, naming the noun.
func mustFind[T any](r *Reader, noun, sql string, scan func(*row) T, args ...any) (T, error) {
	v, found, err := one(r, sql, scan, args...)
	if err == nil && !found {
		err = sheaf.Missing(noun)
	}
	return v, err
}

// all reads every row.
func all[T any](r *Reader, sql string, scan func(*row) T, args ...any) ([]T, error) {
	if err := r.bound(args); err != nil {
		return nil, err
	}
	return engine.All(r.sql, sql, scan, args...)
}

func (tx *Tx) exec(sql string, args ...any) error {
	_, err := tx.changed(sql, args...)
	return err
}

// changed is exec, and returns the number of rows changed.
func (tx *Tx) changed(sql string, args ...any) (int64, error) {
	if err := tx.bound(args); err != nil {
		return 0, err
	}
	return tx.sql.Changed(sql, args...)
}

// mustChange is exec for a row that must exist: otherwise it returns NotFound, naming the noun.
func (tx *Tx) mustChange(noun, sql string, args ...any) error {
	n, err := tx.changed(sql, args...)
	if err == nil && n == 0 {
		err = sheaf.Missing(noun)
	}
	return err
}

// insertMany runs the INSERT b for many rows, possibly thousands.
func (tx *Tx) insertMany(b *engine.Bulk, rows [][]any) error {
	if err := tx.boundAll(rows); err != nil {
		return err
	}
	return tx.sql.InsertMany(b, rows)
}

// SQL runs fn with the engine's Reader. It is for the doctor, whose queries span all tables. No
// other package imports the engine's types, so no other can write fn.
func (r *Reader) SQL(fn func(*engine.Reader) error) error { return fn(r.sql) }
