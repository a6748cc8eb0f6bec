package store

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"zombiezen.com/go/sqlite"
)

// conn is a connection inside a transaction: the seam under which each engine
// has its native driver. Parameters are $1, $2, … and bound by ordinal.
type conn interface {
	// query calls each for every row; the row is valid during the call.
	query(sql string, args []any, each func(*row) error) error
	// exec returns how many rows it changed.
	exec(sql string, args []any) (int64, error)
}

// row reads the columns of a result from left to right. Only TEXT, BIGINT and
// BLOB columns exist, so that both engines are read the same way.
type row struct {
	stmt *sqlite.Stmt // SQLite
	raw  [][]byte     // PostgreSQL, in its binary format
	oids []pgconn.FieldDescription
	at   int
}

func (r *row) next() int {
	r.at++
	return r.at - 1
}

func (r *row) null() bool {
	if r.stmt != nil {
		return r.stmt.ColumnType(r.at) == sqlite.TypeNull
	}
	return r.raw[r.at] == nil
}

// isInt reports whether the next column is a number, where text and numbers are
// read alike.
func (r *row) isInt() bool {
	if r.stmt != nil {
		return r.stmt.ColumnType(r.at) == sqlite.TypeInteger
	}
	return r.oids[r.at].DataTypeOID == pgtype.Int8OID || r.oids[r.at].DataTypeOID == pgtype.Int4OID
}

func (r *row) text() string {
	i := r.next()
	if r.stmt != nil {
		return r.stmt.ColumnText(i)
	}
	return string(r.raw[i])
}

func (r *row) int() int64 {
	i := r.next()
	if r.stmt != nil {
		return r.stmt.ColumnInt64(i)
	}
	if b := r.raw[i]; len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	} else if len(b) == 4 {
		return int64(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (r *row) blob() []byte {
	i := r.next()
	if r.stmt != nil {
		b := make([]byte, r.stmt.ColumnLen(i))
		r.stmt.ColumnBytes(i, b)
		return b
	}
	return append([]byte(nil), r.raw[i]...)
}

func (r *row) bool() bool { return r.int() != 0 }

func (r *row) time() time.Time { return time.UnixMilli(r.int()).UTC() }

func (r *row) optTime() *time.Time {
	if r.null() {
		r.next()
		return nil
	}
	t := r.time()
	return &t
}

func (r *row) micros() time.Duration { return time.Duration(r.int()) * time.Microsecond }

func (r *row) optInt() *int64 {
	if r.null() {
		r.next()
		return nil
	}
	n := r.int()
	return &n
}

func (r *row) optBlob() []byte {
	if r.null() {
		r.next()
		return nil
	}
	return r.blob()
}

func (r *row) optText() *string { return optText[string](r) }

// optText reads a nullable text, also of a type of its own such as an id.
func optText[T ~string](r *row) *T {
	if r.null() {
		r.next()
		return nil
	}
	t := T(r.text())
	return &t
}

// plain returns v as one of nil, string, int64 and []byte, which is all that is
// ever bound.
func plain(v any) any {
	switch v := v.(type) {
	case nil, string, int64, []byte:
		return v
	case int:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case time.Time:
		return v.UnixMilli()
	case *time.Time:
		if v == nil {
			return nil
		}
		return v.UnixMilli()
	case *string:
		if v == nil {
			return nil
		}
		return *v
	}
	return plainByKind(reflect.ValueOf(v))
}

func plainByKind(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Int32, reflect.Int, reflect.Int64:
		return v.Int()
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem().Interface())
	}
	panic(fmt.Sprintf("store: a %s cannot be bound", v.Type()))
}

func (r *Reader) query(sql string, each func(*row), args ...any) error {
	return r.conn.query(sql, args, func(w *row) error {
		each(w)
		return nil
	})
}

// one reads a single row; found is false when there is none.
func one[T any](r *Reader, sql string, scan func(*row) T, args ...any) (v T, found bool, err error) {
	err = r.conn.query(sql, args, func(w *row) error {
		v, found = scan(w), true
		return nil
	})
	return v, found, err
}

// all reads every row.
func all[T any](r *Reader, sql string, scan func(*row) T, args ...any) ([]T, error) {
	var vs []T
	err := r.conn.query(sql, args, func(w *row) error {
		vs = append(vs, scan(w))
		return nil
	})
	return vs, err
}

func (r *Reader) count(sql string, args ...any) (int64, error) {
	n, _, err := one(r, sql, (*row).int, args...)
	return n, err
}

func (tx *Tx) exec(sql string, args ...any) error {
	_, err := tx.conn.exec(sql, args)
	return err
}

func (tx *Tx) changed(sql string, args ...any) (int64, error) { return tx.conn.exec(sql, args) }

// conditions are the parts of a WHERE, joined by AND.
type conditions struct {
	parts []string
	args  []any
}

// and adds a condition; each "?" in it becomes the ordinal of its argument.
func (c *conditions) and(cond string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		cond = strings.Replace(cond, "?", "$"+strconv.Itoa(len(c.args)), 1)
	}
	c.parts = append(c.parts, cond)
}

func (c *conditions) sql() string { return "WHERE " + strings.Join(c.parts, " AND ") }
