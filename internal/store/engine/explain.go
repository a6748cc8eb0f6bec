package engine

import "strings"

// Plan is how the engine would answer a statement.
type Plan struct {
	SQL  string
	Plan string // as the engine words it, a step a line
}

// Explain runs fn and returns the plan of every statement that it asked: of the text that was sent
// and not of a copy. It is for whoever looks for the cause of a slow request, and for the tests
// that there is none.
func (r *Reader) Explain(fn func(*Reader) error) ([]Plan, error) {
	c := &explaining{conn: r.conn, prefix: "EXPLAIN QUERY PLAN "}
	if r.dialect.Postgres {
		c.prefix = "EXPLAIN "
	}
	err := fn(&Reader{conn: c, dialect: r.dialect})
	return c.plans, err
}

// explaining is a connection that asks for the plan of a statement before it.
type explaining struct {
	conn
	prefix string
	plans  []Plan
}

func (c *explaining) query(sql string, args []any, each func(*Row) error) error {
	var steps []string
	err := c.conn.query(c.prefix+sql, args, func(r *Row) error {
		if r.stmt != nil { // of SQLite's columns the last is the text
			r.at = 3
		}
		steps = append(steps, r.Text())
		return nil
	})
	if err != nil {
		return err
	}
	c.plans = append(c.plans, Plan{sql, strings.Join(steps, "\n")})
	return c.conn.query(sql, args, each)
}
