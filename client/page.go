package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// None is the value of a filter for those that have none: projects and folders at the root level,
// documents in no project or at the top level.
const None = "null"

// Paging selects the part of a list, and its order.
type Paging struct {
	// Limit is the size of a page, 1 to 100; 0 leaves it to the server (50). All reads pages of
	// this size, and 0 is 100 there.
	Limit int
	// Offset is how many records to skip.
	Offset int
	// Desc reverses the order.
	Desc bool
}

// Page is a part of a list.
type Page[T any] struct {
	Data   []T
	Total  int // number of all matching records
	Limit  int
	Offset int
}

// More reports whether there is a next page.
func (p Page[T]) More() bool { return p.Offset+p.Limit < p.Total }

// values are the parameters of a query.
func (p Paging) values() url.Values {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Offset != 0 {
		q.Set("offset", strconv.Itoa(p.Offset))
	}
	if p.Desc {
		q.Set("order", "desc")
	}
	return q
}

// list reads one page.
func list[T any](ctx context.Context, c *Client, path string, query url.Values, opts []Option) (Page[T], error) {
	type envelope struct {
		Data                 []json.RawMessage
		Total, Limit, Offset int
	}
	e, err := send[envelope](ctx, c, request{method: http.MethodGet, path: path, query: query}, opts)
	if err != nil {
		return Page[T]{}, err
	}
	page := Page[T]{Data: make([]T, len(e.Data)), Total: e.Total, Limit: e.Limit, Offset: e.Offset}
	for i, raw := range e.Data {
		if err := decode(raw, "", &page.Data[i]); err != nil {
			return Page[T]{}, c.unreadable(err)
		}
	}
	return page, nil
}

// all reads page after page, by offset. read returns the page that begins there.
func all[T any](p Paging, read func(Paging) (Page[T], error)) iter.Seq2[T, error] {
	if p.Limit == 0 {
		p.Limit = 100
	}
	return func(yield func(T, error) bool) {
		for at := p; ; {
			page, err := read(at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, v := range page.Data {
				if !yield(v, nil) {
					return
				}
			}
			// The limit that was used, as the contract says; and a server that answers with none
			// must not be asked for ever.
			at.Offset += page.Limit
			if page.Limit <= 0 || at.Offset >= page.Total {
				return
			}
		}
	}
}
