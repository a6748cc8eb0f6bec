package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Bulk is a statement that is run for many rows of arguments. In its text, {name} stands for a
// row's value.
//
// SQLite, which is in this process, runs it once per row. PostgreSQL is a round trip away: a few
// rows are sent as separate statements in one batch, more rows as one statement with an array per
// column. In that form a SELECT becomes a LATERAL join with the rows, and {rows} is replaced by the
// rows to join. Such a statement is planned each time, for the present size of its tables.
type Bulk struct {
	into   string   // text of the INSERT before its rows
	SQLite string   // the text for one row, on SQLite
	one    string   // the text for one row, on PostgreSQL
	set    string   // the text for one array per column, on PostgreSQL
	kinds  []string // PostgreSQL types of the columns
}

// bulkFrom is the number of rows from which PostgreSQL takes less time to plan one statement than
// to run one statement per row.
const bulkFrom = 8

// NewBulk returns the Bulk of a text. The columns name its arguments and their types: "name int" is
// a number, "name id" an identifier, "name bytes" bytes, "name" a text. Besides {name}, the text
// may have three marks. {lock} is where PostgreSQL locks the rows of a SELECT. {row} is where the
// columns of an UPDATE's RETURNING begin. {rows} is where the rows of arguments are joined; a
// statement that only reads may lack it.
func NewBulk(text, lock string, columns ...string) *Bulk {
	verb, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	if writes := verb != "SELECT" && verb != "WITH"; writes && !strings.Contains(text, "{rows}") {
		panic("engine: a statement that writes many rows needs {rows}: " + text)
	}
	return newBulk(text, lock, columns)
}

func newBulk(text, lock string, columns []string) *Bulk {
	b := &Bulk{kinds: make([]string, len(columns))}
	names, quoted, arrays := make([]string, len(columns)), make([]string, len(columns)), make([]string, len(columns))
	var sqlite, one, set []string
	for i, c := range columns {
		var kind string
		names[i], kind, _ = strings.Cut(c, " ")
		kind = map[string]string{"": "TEXT", "int": "BIGINT", "id": "UUID", "bytes": "BYTEA"}[kind]
		b.kinds[i] = kind
		arrays[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, kind)
		sqlite = append(sqlite, "{"+names[i]+"}", fmt.Sprintf("$%d", i+1))
		one = append(one, "{"+names[i]+"}", fmt.Sprintf("CAST($%d AS %s)", i+1, kind))
		quoted[i] = `"` + names[i] + `"` // it may be a word of SQL, such as "to"
		set = append(set, "{"+names[i]+"}", "v."+quoted[i])
	}
	rows := "unnest(" + strings.Join(arrays, ", ") + ") WITH ORDINALITY AS v (" + strings.Join(quoted, ", ") + ", n)"
	b.one = strings.NewReplacer(append(one, "{rows}", "", "{row}", "", "{lock}", lock)...).Replace(text)
	b.SQLite = strings.NewReplacer(append(sqlite, "{rows}", "", "{row}", "", "{lock}", "")...).Replace(text)
	b.set = strings.NewReplacer(append(set, "{rows}", "FROM "+rows, "{row}", "v.n, ", "{lock}", lock)...).Replace(text)
	if !strings.Contains(text, "{rows}") {
		b.set = "SELECT v.n, q.*\nFROM " + rows + "\nCROSS JOIN LATERAL (" + b.set + ") AS q"
	}
	return b
}

// NewBulkInsert returns the Bulk of an INSERT into these columns of a table.
func NewBulkInsert(table string, columns ...string) *Bulk {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], _, _ = strings.Cut(c, " ")
		values[i] = "{" + names[i] + "}"
	}
	into, list := "INSERT INTO "+table+" ("+strings.Join(names, ", ")+")\n", strings.Join(values, ", ")
	b := NewBulk(into+"SELECT "+list+"\n{rows}", "", columns...)
	// SQLite prepares to undo an INSERT … SELECT, since it may insert several rows. VALUES avoids
	// that.
	b.SQLite = newBulk(into+"VALUES ("+list+")", "", columns).SQLite
	b.into = into
	return b
}

// InsertMany runs the INSERT b for many rows, possibly thousands. On SQLite one statement inserts
// many.
func (tx *Tx) InsertMany(b *Bulk, rows [][]any) error {
	if tx.dialect.Postgres || len(rows) == 1 {
		return tx.Run(b, rows, Nothing)
	}
	return tx.InsertRows(b.into, len(b.kinds), rows)
}

// Run runs b for the rows. It calls scan for every result row, with the index of the row of
// arguments that it belongs to.
func (r *Reader) Run(b *Bulk, rows [][]any, scan func(i int, w *Row)) error {
	switch c := r.conn.(type) {
	case *postgresConn:
		return c.run(b, rows, scan)
	case *explaining:
		if p, ok := c.conn.(*postgresConn); ok {
			return c.run(p, b, rows, scan)
		}
	}
	for i, args := range rows {
		err := r.conn.query(b.SQLite, args, func(w *Row) error {
			scan(i, w)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Nothing is the scan function for a bulk without result rows.
func Nothing(int, *Row) {}

// valuesOf returns column i of the rows; NULL becomes nil.
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

// InsertRows inserts rows of equal width in batches of 64, 8 or 1, so that few statement texts are
// prepared.
func (tx *Tx) InsertRows(into string, width int, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		if len(rows) >= 64 {
			n = 64
		} else if len(rows) >= 8 {
			n = 8
		}
		if err := tx.Exec(into+" VALUES "+tuples(n, width), slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// tupleTexts caches the results of tuples: three lengths of few widths.
var tupleTexts sync.Map

// tuples returns n tuples of `width` parameters, such as "($1,$2),($3,$4)".
func tuples(n, width int) string {
	key := [2]int{n, width}
	if text, ok := tupleTexts.Load(key); ok {
		return text.(string)
	}
	text := newTuples(n, width)
	tupleTexts.Store(key, text)
	return text
}

// newTuples builds the text that tuples caches.
func newTuples(n, width int) string {
	var b strings.Builder
	for i := range n * width {
		switch {
		case i%width != 0:
			b.WriteByte(',')
		case i > 0:
			b.WriteString("),(")
		default:
			b.WriteByte('(')
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteByte(')')
	return b.String()
}
