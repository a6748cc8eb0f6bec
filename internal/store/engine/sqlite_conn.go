package engine

import (
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"sheaf.dev/internal/failpoint"
)

// sqliteConn implements conn with SQLite's native API.
type sqliteConn struct {
	c          *sqlite.Conn
	statements map[*sqlite.Stmt]statement
	changed    bool  // something was written since the writer last cleared it
	rows       int   // approximate number of rows that the transaction has written; cleared by the writer
	bytes      int   // bytes bound to statements that write; cleared by the writer
	writes     bool  // it is the writer's
	leash      leash // interrupts a reader's query
}

// statement is what we know about a prepared statement.
type statement struct {
	ordinals []int // ordinals of the parameters, by position
	effect   effect
}

// effect is how a statement may change the file.
type effect int

const (
	reads  effect = iota // changes nothing, or begins or ends a transaction
	counts               // changes rows, which SQLite counts
	alters               // changes the schema, which SQLite does not count
)

// effectOf derives a statement's effect from its keywords.
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
	if c.writes {
		failpoint.Pass(failpoint.Statement)
	}
	stmt, does, err := c.prepare(sql, args)
	if err != nil {
		return sqliteError(err)
	}
	defer stmt.Reset()
	var r *Row // shared by all rows; not allocated if there are none
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
				// RETURNING: everything is written before the first row arrives, but counted only
				// after the last. each may fail or panic in between.
				c.wrote(1)
			}
		}
		r.at = 0
		if err := each(r); err != nil {
			return err
		}
	}
}

// wrote counts n rows as written. It is not called for a failed statement, because SQLite has
// undone it.
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

// prepare returns the statement with its arguments bound, and its effect. The driver caches
// prepared statements by text; c.statements caches what we know about each.
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

// readOrdinals maps positions to ordinals. For SQLite "$2" is a name, numbered by its first
// occurrence and not by its digit.
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

// bind binds one argument, which plain has converted, and returns the length of its text or bytes.
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
