package store

import (
	"fmt"
	"strings"
)

// bulk is a statement that is run for many rows of arguments. In its text
// {name} stands for a row's value.
//
// SQLite, which is in this process, runs it once for each row. To PostgreSQL,
// which is a round trip away, a few rows go as that many statements sent
// together, and more of them as one array a column: a SELECT becomes a LATERAL
// of the rows, what says {rows} is joined with them there. Such a statement is
// planned each time, for as large as its tables are by then.
type bulk struct {
	into   string // of an INSERT, what comes before its rows
	sqlite string // for one row
	one    string // for one row, on PostgreSQL
	set    string // for an array of each column
	ints   []bool // which columns are numbers
}

// bulkFrom is how many rows are more than a few: from there on planning costs
// less than a statement a row.
const bulkFrom = 8

// newBulk makes a bulk; "name int" is a column of numbers, "name" one of texts.
// {lock} is where PostgreSQL locks the rows of a SELECT, {row} where the
// columns of an UPDATE's RETURNING begin.
func newBulk(text, lock string, columns ...string) *bulk {
	b := &bulk{ints: make([]bool, len(columns))}
	names, arrays := make([]string, len(columns)), make([]string, len(columns))
	var sqlite, one, set []string
	for i, c := range columns {
		names[i], b.ints[i] = strings.CutSuffix(c, " int")
		kind := "TEXT"
		if b.ints[i] {
			kind = "BIGINT"
		}
		arrays[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, kind)
		sqlite = append(sqlite, "{"+names[i]+"}", fmt.Sprintf("$%d", i+1))
		one = append(one, "{"+names[i]+"}", fmt.Sprintf("CAST($%d AS %s)", i+1, kind))
		set = append(set, "{"+names[i]+"}", "v."+names[i])
	}
	rows := "unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS v (" + strings.Join(names, ", ") + ", n)"
	b.one = strings.NewReplacer(append(one, "{rows}", "", "{row}", "", "{lock}", lock)...).Replace(text)
	b.sqlite = strings.NewReplacer(append(sqlite, "{rows}", "", "{row}", "", "{lock}", "")...).Replace(text)
	b.set = strings.NewReplacer(append(set, "{rows}", "FROM "+rows, "{row}", "v.n, ", "{lock}", lock)...).Replace(text)
	if !strings.Contains(text, "{rows}") {
		b.set = "SELECT v.n, q.*\nFROM " + rows + "\nCROSS JOIN LATERAL (" + b.set + ") AS q"
	}
	return b
}

// newBulkInsert makes the bulk of an INSERT into these columns of a table.
func newBulkInsert(table string, columns ...string) *bulk {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], _ = strings.CutSuffix(c, " int")
		values[i] = "{" + names[i] + "}"
	}
	into, list := "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")\n", strings.Join(values, ", ")
	b := newBulk(into+"SELECT "+list+"\n{rows}", "", columns...)
	// To SQLite a SELECT may be many rows, and those it must be able to undo.
	b.sqlite = newBulk(into+"VALUES ("+list+")", "", columns...).sqlite
	b.into = into
	return b
}

// insertMany runs the INSERT b for rows that may be thousands, as those of a
// cascade are: to SQLite many of them in a statement.
func (tx *Tx) insertMany(b *bulk, rows [][]any) error {
	if tx.d.postgres {
		return tx.run(b, rows, nothing)
	}
	return tx.insertRows(b.into, len(b.ints), rows)
}

// run runs b for the rows and calls scan for every row that it returns, with
// the index of the row of arguments that it belongs to.
func (r *Reader) run(b *bulk, rows [][]any, scan func(i int, w *row)) error {
	if c, ok := r.conn.(*postgresConn); ok {
		return c.run(b, rows, scan)
	}
	for i, args := range rows {
		err := r.conn.query(b.sqlite, args, func(w *row) error {
			scan(i, w)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// nothing is the scan of a bulk that returns no rows.
func nothing(int, *row) {}

// arrays turns the rows into one array a column.
func (b *bulk) arrays(rows [][]any) []any {
	out := make([]any, len(b.ints))
	for i, isInt := range b.ints {
		if isInt {
			out[i] = valuesOf[int64](rows, i)
		} else {
			out[i] = valuesOf[string](rows, i)
		}
	}
	return out
}

// valuesOf is column i of the rows; NULL is nil.
func valuesOf[T any](rows [][]any, i int) []*T {
	values := make([]T, len(rows))
	out := make([]*T, len(rows))
	for at, r := range rows {
		if v := plain(r[i]); v != nil {
			values[at] = v.(T)
			out[at] = &values[at]
		}
	}
	return out
}
