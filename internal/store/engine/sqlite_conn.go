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
	changed    bool  // something was written since the writer last cleared it
	rows       int   // about how many rows the transaction has written; cleared by the writer
	bytes      int   // that were bound to statements that write, as rows
	leash      leash // of a reader
}

// statement is what is known of a prepared one.
type statement struct {
	ordinals []int // by position
	effect   effect
}

// effect is what a statement may do to the file.
type effect int

const (
	reads  effect = iota // nothing, or it begins or ends a transaction
	counts               // it changes rows, which SQLite counts
	alters               // it changes the schema, which SQLite does not count
)

// effectOf returns a statement's effect by its words.
func effectOf(sql string) effect {
	switch word, _, _ := strings.Cut(strings.Join(strings.Fields(sql), " "), " "); word {
	case "SELECT", "PRAGMA", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE":
		return reads
	case "WITH":
		if !strings.Contains(sql, "INSERT INTO") && !strings.Contains(sql, "UPDATE ") && !strings.Contains(sql, "DELETE FROM") {
			return reads
		}
		return counts
	case "INSERT", "UPDATE", "DELETE", "REPLACE":
		return counts
	}
	return alters
}

func (c *sqliteConn) close() error { return c.c.Close() }

// query implements conn.
func (c *sqliteConn) query(sql string, args []any, each func(*Row) error) error {
	stmt, does, err := c.prepare(sql, args)
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
			if does == counts {
				c.wrote(c.c.Changes())
			} else if does == alters {
				c.wrote(1)
			}
			return nil
		}
		if r == nil {
			r = &Row{stmt: stmt}
			if does != reads {
				// RETURNING: everything is written before the first row comes, and counted after the
				// last. each may fail or panic in between.
				c.wrote(1)
			}
		}
		r.at = 0
		if err := each(r); err != nil {
			return err
		}
	}
}

// wrote counts n rows as written. It is not called for a statement that failed: SQLite has undone
// what that one wrote.
func (c *sqliteConn) wrote(n int) {
	if n > 0 {
		c.changed = true
		c.rows += n
	}
}

// exec implements conn.
func (c *sqliteConn) exec(sql string, args []any) (int64, error) {
	err := c.query(sql, args, func(*Row) error { return nil })
	return int64(c.c.Changes()), err
}

// prepare returns the statement with its arguments bound, and its effect. The driver keeps prepared
// statements by their text; what is known of each is kept beside it.
func (c *sqliteConn) prepare(sql string, args []any) (stmt *sqlite.Stmt, does effect, err error) {
	stmt, err = c.c.Prepare(sql)
	if err != nil {
		return nil, reads, err
	}
	s, ok := c.statements[stmt]
	if !ok {
		s = statement{readOrdinals(stmt), effectOf(sql)}
		c.statements[stmt] = s
	}
	for i, n := range s.ordinals {
		size := bind(stmt, i+1, plain(args[n-1]))
		if s.effect != reads {
			c.bytes += size
		}
	}
	return stmt, s.effect, nil
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

// bind binds one argument, which is as plain returns it, and returns how long its text or bytes are.
func bind(stmt *sqlite.Stmt, at int, v any) int {
	switch v := v.(type) {
	case nil:
		stmt.BindNull(at)
	case string:
		stmt.BindText(at, v)
		return len(v)
	case int64:
		stmt.BindInt64(at, v)
	case []byte:
		stmt.BindBytes(at, v)
		return len(v)
	}
	return 0
}
