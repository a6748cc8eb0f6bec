package engine

import "strings"

// Plan is how the engine would answer a statement.
type Plan struct {
	SQL  string
	Rows [][]any // its arguments: one row, or those of a bulk
	Plan string  // as the engine words it, a step a line
}

// Explain runs fn and returns the plan of every statement that it asked: of the text that was sent
// and not of a copy, and of a bulk on PostgreSQL that of one row. It is for whoever looks for the
// cause of a slow request, and for the tests that there is none.
func (r *Reader) Explain(fn func(*Reader) error) ([]Plan, error) {
	c := newExplaining(r)
	err := fn(&Reader{conn: c, dialect: r.dialect})
	return c.plans, err
}

// Explain is a Reader's for what also writes.
func (tx *Tx) Explain(fn func(*Tx) error) ([]Plan, error) {
	c := newExplaining(&tx.Reader)
	explained := &Tx{Reader: Reader{conn: c, dialect: tx.dialect}}
	err := fn(explained)
	tx.Note = explained.Note
	return c.plans, err
}

// explaining is a connection that asks for the plan of a statement before it.
type explaining struct {
	conn
	prefix string
	plans  []Plan
}

// newExplaining makes a connection over that of r.
func newExplaining(r *Reader) *explaining {
	c := &explaining{conn: r.conn, prefix: "EXPLAIN QUERY PLAN "}
	if r.dialect.Postgres {
		c.prefix = "EXPLAIN "
	}
	return c
}

// query asks for the plan of the statement, keeps it, and then asks the statement itself.
func (c *explaining) query(sql string, args []any, each func(*Row) error) error {
	if err := c.explain(sql, args); err != nil {
		return err
	}
	return c.conn.query(sql, args, each)
}

// exec is query for what writes.
func (c *explaining) exec(sql string, args []any) (int64, error) {
	if err := c.explain(sql, args); err != nil {
		return 0, err
	}
	return c.conn.exec(sql, args)
}

// run asks for the plan of a bulk's first row, and then runs the bulk as PostgreSQL does.
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

// explain asks for the plan of a statement and keeps it.
func (c *explaining) explain(sql string, args []any) error {
	var steps []string
	err := c.conn.query(c.prefix+sql, args, func(r *Row) error {
		if r.stmt != nil { // of SQLite's columns the last is the text
			r.at = 3
		}
		steps = append(steps, r.Text())
		return nil
	})
	c.plans = append(c.plans, Plan{sql, [][]any{args}, strings.Join(steps, "\n")})
	return err
}
