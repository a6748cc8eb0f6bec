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
	// parts are conditions of which each row fulfils one, with an index each in that order, of numbers; none where
	// one index has all rows.
	parts []string
	total int64 // kept in a counter; -1: count the rows
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
	desc := p.Desc != fromEnd
	if len(l.parts) > 0 && skip > farSkip {
		if err := l.seek(r, desc, &skip); err != nil {
			return page, err
		}
	}
	items := make([]T, 0, min(take, sheaf.MaxLimit))
	err := r.query(l.text(desc), func(w *row) { items = append(items, scan(w)) },
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

// farSkip is how many rows of merged parts are skipped by reading them: SQLite reads whole rows to merge them. Behind
// more, indexes alone are read for where the page begins, which takes a third of the time.
const farSkip = 100

// seek has the page begin with the row that lies behind so many, and none skipped.
func (l *listing) seek(r *Reader, desc bool, skip *int64) error {
	places := *l
	places.columns = strings.Join(l.order, ", ")
	place, found, err := one(r, places.text(desc), func(w *row) []any {
		values := make([]any, len(l.order))
		for i := range values {
			values[i] = w.Int()
		}
		return values
	}, append(slices.Clone(l.where.Args), 1, *skip)...)
	if err != nil || !found {
		return err
	}
	compare := ">="
	if desc {
		compare = "<="
	}
	*skip = 0
	l.where.And(fmt.Sprintf("(%s) %s (%s)", places.columns, compare, strings.Repeat(", ?", len(place))[2:]), place...)
	return nil
}

// text is the statement of a page. Its last two parameters are how many rows, and behind how many.
func (l *listing) text(desc bool) string {
	direction := ""
	if desc {
		direction = " DESC"
	}
	n := len(l.where.Args)
	rows := fmt.Sprintf("SELECT %s FROM %s %s", l.columns, l.table, l.where.SQL())
	order := fmt.Sprintf(" ORDER BY %s%s", strings.Join(l.order, direction+", "), direction)
	return fmt.Sprintf("%s LIMIT $%d OFFSET $%d", union(rows, l.parts, order), n+1, n+2)
}

// union is the statement that reads the rows in that order, part for part, which the engines merge.
func union(rows string, parts []string, order string) string {
	if len(parts) == 0 {
		return rows + order
	}
	texts := make([]string, len(parts))
	for i, part := range parts { // with the order in each: PostgreSQL would sort the whole
		texts[i] = fmt.Sprintf("SELECT * FROM (%s AND %s%s) part%d", rows, part, order, i+1)
	}
	return strings.Join(texts, " UNION ALL ") + order
}
