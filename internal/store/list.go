package store

import (
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// listing is a list that a client pages through.
type listing struct {
	columns, table string
	where          engine.Conditions
	order          []string // columns, the last one unique
	total          int64    // kept in a counter; -1: count the rows
}

// list reads one page. A page nearer to the end is read from the end, so that the last page costs
// what the first one does.
func list[T any](r *Reader, l listing, p sheaf.Paging, scan func(*row) T) (sheaf.Page[T], error) {
	page := sheaf.Page[T]{Paging: p, Total: l.total}
	if l.total < 0 {
		n, err := r.count(fmt.Sprintf("SELECT COUNT(*) FROM %s %s", l.table, l.where.SQL()), l.where.Args...)
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
		append(slices.Clone(l.where.Args), take, skip)...)
	if err != nil {
		return page, err
	}
	if fromEnd {
		slices.Reverse(items)
	}
	page.Items = items
	return page, nil
}

// text is the statement of a page. Its last two parameters are how many rows, and behind how many.
func (l *listing) text(desc bool) string {
	direction := ""
	if desc {
		direction = " DESC"
	}
	n := len(l.where.Args)
	return fmt.Sprintf("SELECT %s FROM %s %s ORDER BY %s%s LIMIT $%d OFFSET $%d", l.columns, l.table, l.where.SQL(),
		strings.Join(l.order, direction+", "), direction, n+1, n+2)
}
