package engine

import (
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
)

// sqliteConn is a connection of SQLite's native API.
type sqliteConn struct {
	c          *sqlite.Conn
	statements map[*sqlite.Stmt]statement
	changed    bool  // rows were written since the writer last looked
	rows       int   // how many, about, since the last commit
	leash      leash // of a reader
}

// statement is what is known of a prepared one.
type statement struct {
	ordinals []int // by position
	writes   bool  // it is no SELECT
}

func (c *sqliteConn) close() error { return c.c.Close() }

// query implements conn.
func (c *sqliteConn) query(sql string, args []any, each func(*Row) error) error {
	stmt, writes, err := c.prepare(sql, args)
	if err != nil {
		return sqliteError(err)
	}
	defer stmt.Reset()
	var r *Row // one for all rows, and none for a statement without
	for {
		more, err := stmt.Step()
		if err != nil {
			return sqliteError(err)
		}
		if !more {
			c.note(writes)
			return nil
		}
		if r == nil {
			r = &Row{stmt: stmt}
		}
		r.at = 0
		if err := each(r); err != nil {
			c.note(writes) // before its first row was returned
			return err
		}
	}
}

// note remembers that rows were written. It is not called for a statement that failed: SQLite has
// undone what that one wrote.
func (c *sqliteConn) note(writes bool) {
	if n := c.c.Changes(); writes && n > 0 {
		c.changed = true
		c.rows += n
	}
}

// exec implements conn.
func (c *sqliteConn) exec(sql string, args []any) (int64, error) {
	err := c.query(sql, args, func(*Row) error { return nil })
	return int64(c.c.Changes()), err
}

// prepare returns the statement with its arguments bound, and whether it writes. The driver keeps
// prepared statements by their text; what is known of each is kept beside it.
func (c *sqliteConn) prepare(sql string, args []any) (stmt *sqlite.Stmt, writes bool, err error) {
	stmt, err = c.c.Prepare(sql)
	if err != nil {
		return nil, false, err
	}
	s, ok := c.statements[stmt]
	if !ok {
		s = statement{readOrdinals(stmt), !strings.HasPrefix(strings.TrimSpace(sql), "SELECT")}
		c.statements[stmt] = s
	}
	for i, n := range s.ordinals {
		bind(stmt, i+1, plain(args[n-1]))
	}
	return stmt, s.writes, nil
}

// readOrdinals maps positions to ordinals: to SQLite "$2" is a name, numbered by where it first
// stands, not by its digit.
func readOrdinals(stmt *sqlite.Stmt) []int {
	out := make([]int, stmt.BindParamCount())
	for i := range out {
		n, err := strconv.Atoi(stmt.BindParamName(i + 1)[1:])
		if err != nil {
			panic("store: a parameter that is not $n")
		}
		out[i] = n
	}
	return out
}

// bind binds one argument, which is as plain returns it.
func bind(stmt *sqlite.Stmt, at int, v any) {
	switch v := v.(type) {
	case nil:
		stmt.BindNull(at)
	case string:
		stmt.BindText(at, v)
	case int64:
		stmt.BindInt64(at, v)
	case []byte:
		stmt.BindBytes(at, v)
	}
}
