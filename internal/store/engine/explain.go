package engine

import "strings"

// Plan is a statement and the engine's query plan for it.
type Plan struct {
	SQL  string
	Rows [][]any // its arguments: one row, or all rows of a bulk
	Plan string  // in the engine's words, one step per line
}

// Explain runs fn and returns the plan of every statement that it ran, for the exact text that was
// sent. For a bulk on PostgreSQL it is the plan for one row. It is for finding the cause of a slow
// request, and for tests of query plans.
func (r *Reader) Explain(fn func(*Reader) error) ([]Plan, error) {
	c := newExplaining(r)
	err := fn(&Reader{conn: c, dialect: r.dialect})
	return c.plans, err
}

// Explain is Reader.Explain for a transaction that also writes.
func (tx *Tx) Explain(fn func(*Tx) error) ([]Plan, error) {
	c := newExplaining(&tx.Reader)
	explained := &Tx{Reader: Reader{conn: c, dialect: tx.dialect}}
	err := fn(explained)
	tx.Note = explained.Note
	return c.plans, err
}

// explaining is a connection that asks for the plan of each statement before it runs it.
type explaining struct {
	conn
	prefix string
	plans  []Plan
}

// newExplaining wraps the connection of r.
func newExplaining(r *Reader) *explaining {
	c := &explaining{conn: r.conn, prefix: "EXPLAIN QUERY PLAN "}
	if r.dialect.Postgres {
		c.prefix = "EXPLAIN "
	}
	return c
}

// query stores the plan of the statement, then runs it.
func (c *explaining) query(sql string, args []any, each func(*Row) error) error {
	if err := c.explain(sql, args); err != nil {
		return err
	}
	return c.conn.query(sql, args, each)
}

// exec is query for statements that write.
func (c *explaining) exec(sql string, args []any) (int64, error) {
	if err := c.explain(sql, args); err != nil {
		return 0, err
	}
	return c.conn.exec(sql, args)
}

// run stores the plan for a bulk's first row, then runs the bulk as PostgreSQL does.
func (c *explaining) run(p *postgresConn, b *Bulk, rows [][]any, scan func(i int, w *Row)) error {
	if len(rows) == 0 {
		return nil
	}
	if err := c.explain(b.one, rows[0]); err != nil {
		return err
	}
	c.plans[len(c.plans)-1].Rows = rows
	return p.run(b, rows, scan)
}

// explain stores the plan of a statement.
func (c *explaining) explain(sql string, args []any) error {
	var steps []string
	err := c.conn.query(c.prefix+sql, args, func(r *Row) error {
		if r.stmt != nil { // on SQLite the text is the fourth column
			r.at = 3
		}
		steps = append(steps, r.Text())
		return nil
	})
	c.plans = append(c.plans, Plan{sql, [][]any{args}, strings.Join(steps, "\n")})
	return err
}
