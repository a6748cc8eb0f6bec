package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"sheaf.dev/internal/sheaf"
)

// listing is a list that a client pages through.
type listing struct {
	columns, table string
	where          conditions
	order          []string // columns, the last one unique
	total          int64    // kept in a counter; -1: count the rows
}

// list reads one page. A page nearer to the end is read from the end, so that
// the last page costs what the first one does.
func list[T any](r *Reader, l listing, p sheaf.Paging, scan func(*row) T) (sheaf.Page[T], error) {
	page := sheaf.Page[T]{Paging: p, Total: l.total}
	if l.total < 0 {
		n, err := r.count(fmt.Sprintf("SELECT COUNT(*) FROM %s %s", l.table, l.where.sql()), l.where.args...)
		if err != nil {
			return page, err
		}
		page.Total = n
	}
	skip, take := int64(p.Offset), min(int64(p.Limit), page.Total-int64(p.Offset))
	if take <= 0 {
		return page, nil
	}
	fromEnd := skip > page.Total/2
	if fromEnd {
		skip = page.Total - skip - take
	}
	items := make([]T, 0, min(take, sheaf.MaxLimit))
	err := r.query(l.text(p.Desc != fromEnd), func(w *row) { items = append(items, scan(w)) },
		append(slices.Clone(l.where.args), take, skip)...)
	if err != nil {
		return page, err
	}
	if fromEnd {
		slices.Reverse(items)
	}
	page.Items = items
	return page, nil
}

func (l *listing) text(desc bool) string {
	direction := ""
	if desc {
		direction = " DESC"
	}
	n := len(l.where.args)
	return fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s%s LIMIT $%d OFFSET $%d", l.columns, l.table, l.where.sql(),
		strings.Join(l.order, direction+", "), direction, n+1, n+2)
}

// insertRows inserts rows of equal width with few statements. Their numbers are
// fixed, so that the texts, which stay prepared, are few.
func (tx *Tx) insertRows(into string, width int, rows [][]any) error {
	for len(rows) > 0 {
		n := 1
		if len(rows) >= 64 {
			n = 64
		} else if len(rows) >= 8 {
			n = 8
		}
		if err := tx.exec(into+" VALUES "+tuples(n, width), slices.Concat(rows[:n]...)...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// tupleTexts keeps what tuples returned: there are three lengths of few widths.
var tupleTexts sync.Map

// tuples returns "($1,$2),($3,$4)".
func tuples(n, width int) string {
	key := [2]int{n, width}
	if text, ok := tupleTexts.Load(key); ok {
		return text.(string)
	}
	text := newTuples(n, width)
	tupleTexts.Store(key, text)
	return text
}

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
