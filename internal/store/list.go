package store

import (
	"fmt"
	"slices"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store/engine"
)

// listing describes a paged list.
type listing struct {
	columns, table string
	where          engine.Conditions
	order          []string // columns, the last one unique
	// parts are conditions that split the rows: each row meets exactly one, and each part has an
	// index in the given order, on integer columns only. Empty if one index contains all rows.
	parts []string
	total int64 // number of rows, from a counter; -1: count them
}

// list reads one page. A page in the second half is read backwards from the end, so that the last
// page costs as much as the first.
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

// farSkip is the longest OFFSET that is used on merged parts, where SQLite reads whole rows to skip
// them. Beyond it, seek finds the start of the page by reading indexes only, in a third of the
// time.
const farSkip = 100

// seek replaces OFFSET by a keyset condition on the row at that offset, and sets skip to 0.
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

// text returns the statement that reads a page. Its last two parameters are LIMIT and OFFSET.
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

// union returns a statement that reads the rows in the given order as UNION ALL of the parts, which
// the engines merge.
func union(rows string, parts []string, order string) string {
	if len(parts) == 0 {
		return rows + order
	}
	texts := make([]string, len(parts))
	for i, part := range parts { // each part has the order too, or PostgreSQL would sort all rows
		texts[i] = fmt.Sprintf("SELECT * FROM (%s AND %s%s) part%d", rows, part, order, i+1)
	}
	return strings.Join(texts, " UNION ALL ") + order
}
