package engine

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"zombiezen.com/go/sqlite"
)

// conn is a connection inside a transaction, implemented with the native driver of each engine.
// Parameters are $1, $2, … and bound by ordinal.
type conn interface {
	// query calls each for every row; the row is valid during the call.
	query(sql string, args []any, each func(*Row) error) error
	// exec returns the number of rows changed.
	exec(sql string, args []any) (int64, error)
}

// Row reads the columns of a result from left to right. Values are texts, integers, bytes, or
// identifiers of 16 bytes (BLOB on SQLite, UUID on PostgreSQL), so that both engines are read the
// same way.
type Row struct {
	stmt *sqlite.Stmt // SQLite
	raw  [][]byte     // PostgreSQL, in its binary format
	oids []pgconn.FieldDescription
	at   int
}

// Skip skips a column and returns its index.
func (r *Row) Skip() int {
	r.at++
	return r.at - 1
}

// Null reports whether the next column is NULL.
func (r *Row) Null() bool {
	if r.stmt != nil {
		return r.stmt.ColumnType(r.at) == sqlite.TypeNull
	}
	return r.raw[r.at] == nil
}

// IsInt reports whether the next column is an integer, for callers that do not know the type.
func (r *Row) IsInt() bool {
	if r.stmt != nil {
		return r.stmt.ColumnType(r.at) == sqlite.TypeInteger
	}
	switch r.oids[r.at].DataTypeOID {
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
		return true
	}
	return false
}

// IsID reports whether the next column is an identifier of 16 bytes.
func (r *Row) IsID() bool {
	if r.stmt != nil {
		return r.stmt.ColumnType(r.at) == sqlite.TypeBlob && r.stmt.ColumnLen(r.at) == 16
	}
	return r.oids[r.at].DataTypeOID == pgtype.UUIDOID
}

// Text reads a text; NULL is empty.
func (r *Row) Text() string {
	i := r.Skip()
	if r.stmt != nil {
		return r.stmt.ColumnText(i)
	}
	return string(r.raw[i])
}

// Int reads a number; NULL is 0.
func (r *Row) Int() int64 {
	i := r.Skip()
	if r.stmt != nil {
		return r.stmt.ColumnInt64(i)
	}
	if b := r.raw[i]; len(b) == 8 {
		return int64(binary.BigEndian.Uint64(b))
	} else if len(b) == 4 {
		return int64(int32(binary.BigEndian.Uint32(b)))
	} else if len(b) == 2 {
		return int64(int16(binary.BigEndian.Uint16(b)))
	}
	return 0
}

// Blob reads bytes.
func (r *Row) Blob() []byte {
	i := r.Skip()
	if r.stmt != nil {
		b := make([]byte, r.stmt.ColumnLen(i))
		r.stmt.ColumnBytes(i, b)
		return b
	}
	return append([]byte(nil), r.raw[i]...)
}

// Into reads a text or bytes into buf, which grows if necessary, and returns the result. It is for
// callers that read very many rows and keep none.
func (r *Row) Into(buf []byte) []byte {
	i := r.Skip()
	if r.stmt == nil {
		return append(buf[:0], r.raw[i]...)
	}
	n := r.stmt.ColumnLen(i)
	buf = slices.Grow(buf[:0], n)[:n]
	r.stmt.ColumnBytes(i, buf)
	return buf
}

// ID reads an identifier; NULL is all zeros.
func (r *Row) ID() (id [16]byte) {
	i := r.Skip()
	if r.stmt != nil {
		r.stmt.ColumnBytes(i, id[:])
	} else {
		copy(id[:], r.raw[i])
	}
	return id
}

// Bool reads a number: 0 is false.
func (r *Row) Bool() bool { return r.Int() != 0 }

// Time reads milliseconds since 1970.
func (r *Row) Time() time.Time { return time.UnixMilli(r.Int()).UTC() }

// OptTime is Time; NULL is nil.
func (r *Row) OptTime() *time.Time { return Opt(r, (*Row).Time) }

// Micros reads microseconds.
func (r *Row) Micros() time.Duration { return time.Duration(r.Int()) * time.Microsecond }

// OptInt is Int; NULL is nil.
func (r *Row) OptInt() *int64 { return Opt(r, (*Row).Int) }

// OptBlob is Blob; NULL is nil.
func (r *Row) OptBlob() []byte {
	if r.Null() {
		r.Skip()
		return nil
	}
	return r.Blob()
}

// OptText is Text; NULL is nil.
func (r *Row) OptText() *string { return Opt(r, (*Row).Text) }

// Opt reads a column that may be NULL, which is nil.
func Opt[T any](r *Row, read func(*Row) T) *T {
	if r.Null() {
		r.Skip()
		return nil
	}
	v := read(r)
	return &v
}

// plain converts v to nil, string, int64 or []byte, the only types that are bound.
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
	// Named types, such as an enumeration of strings, and pointers to them.
	value := reflect.ValueOf(v)
	switch value.Kind() {
	case reflect.String:
		return value.String()
	case reflect.Int32, reflect.Int, reflect.Int64:
		return value.Int()
	case reflect.Pointer:
		if value.IsNil() {
			return nil
		}
		return plain(value.Elem().Interface())
	}
	panic(fmt.Sprintf("store: a %s cannot be bound", value.Type()))
}

// Reader reads in one snapshot. It is valid only inside the closure that got it.
type Reader struct {
	conn    conn
	dialect Dialect
}

// Dialect returns the SQL dialect of the engine.
func (r *Reader) Dialect() Dialect { return r.dialect }

// Query calls each for every row; the row is valid during the call.
func (r *Reader) Query(sql string, each func(*Row), args ...any) error {
	return r.conn.query(sql, args, func(w *Row) error {
		each(w)
		return nil
	})
}

// Each is Query for a callback that may fail: its first error stops the query and is returned.
func (r *Reader) Each(sql string, args []any, each func(*Row) error) error {
	return r.conn.query(sql, args, each)
}

// Count reads a single number, or 0 if there is no row.
func (r *Reader) Count(sql string, args ...any) (int64, error) {
	n, _, err := One(r, sql, (*Row).Int, args...)
	return n, err
}

// One reads a single row; found is false when there is none.
func One[T any](r *Reader, sql string, scan func(*Row) T, args ...any) (v T, found bool, err error) {
	err = r.conn.query(sql, args, func(w *Row) error {
		v, found = scan(w), true
		return nil
	})
	return v, found, err
}

// All reads every row.
func All[T any](r *Reader, sql string, scan func(*Row) T, args ...any) ([]T, error) {
	var vs []T
	err := r.conn.query(sql, args, func(w *Row) error {
		vs = append(vs, scan(w))
		return nil
	})
	return vs, err
}

// Tx is a Reader that also writes.
type Tx struct {
	Reader
	// Note is passed to Options.Committing. The engine does not use it.
	Note any
}

// Exec runs a statement.
func (tx *Tx) Exec(sql string, args ...any) error {
	_, err := tx.conn.exec(sql, args)
	return err
}

// Changed is Exec, and returns the number of rows changed.
func (tx *Tx) Changed(sql string, args ...any) (int64, error) { return tx.conn.exec(sql, args) }

// Conditions builds a WHERE clause of conditions joined by AND.
type Conditions struct {
	parts []string
	Args  []any
}

// And adds a condition; each "?" in it becomes the ordinal of its argument.
func (c *Conditions) And(cond string, args ...any) {
	for _, a := range args {
		c.Args = append(c.Args, a)
		cond = strings.Replace(cond, "?", "$"+strconv.Itoa(len(c.Args)), 1)
	}
	c.parts = append(c.parts, cond)
}

// SQL returns the WHERE clause.
func (c *Conditions) SQL() string { return "WHERE " + strings.Join(c.parts, " AND ") }
