package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// maxOffset is the largest integer that every JSON parser represents exactly. Answers repeat the offset.
const maxOffset = 1<<53 - 1

// paging reads limit, offset and order.
func (x *exchange) paging() (sheaf.Paging, error) {
	limit, err := x.query.Int("limit", sheaf.DefaultLimit, 1, sheaf.MaxLimit)
	if err != nil {
		return sheaf.Paging{}, err
	}
	offset, err := x.query.Int("offset", 0, 0, maxOffset)
	if err != nil {
		return sheaf.Paging{}, err
	}
	desc, err := choice(x, "order", map[string]bool{"asc": false, "desc": true}, "asc or desc")
	return sheaf.Paging{Limit: limit, Offset: offset, Desc: desc}, err
}

// choice reads a parameter whose value must be one of values. It returns the zero value if the parameter is
// missing. The error text names `wanted`.
func choice[T any](x *exchange, name string, values map[string]T, wanted string) (T, error) {
	var none T
	if !x.query.Has(name) {
		return none, nil
	}
	v, ok := values[x.query.Text(name)]
	if !ok {
		return none, sheaf.InvalidField(name, "%s must be %s", name, wanted)
	}
	return v, nil
}

// record is a pointer to a T that implements sheaf.Record.
type record[T any] interface {
	*T
	sheaf.Record
}

// pageOf encodes a page of a list with its total, limit and offset.
func pageOf[T any, P record[T]](p sheaf.Page[T]) answer {
	b := []byte(`{"data":[`)
	for i := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = sheaf.AppendJSON(b, P(&p.Items[i]))
		if i == 0 {
			b = slices.Grow(b, len(b)*len(p.Items)) // the others are about as long as the first
		}
	}
	b = append(b, `],"total":`...)
	b = strconv.AppendInt(b, p.Total, 10)
	b = append(b, `,"limit":`...)
	b = strconv.AppendInt(b, int64(p.Limit), 10)
	b = append(b, `,"offset":`...)
	b = strconv.AppendInt(b, int64(p.Offset), 10)
	b = append(b, '}')
	return answer{status: http.StatusOK, body: b, etag: pageTag(b), page: pageLinks{limit: p.Limit, offset: p.Offset, more: p.More()}}
}

// pageLinks has the values from which the header Link is made. If limit is 0, the answer is no page of a list.
type pageLinks struct {
	limit, offset int
	more          bool
	after         string // the last event of the page; empty: the next page is found by its offset
}

// next returns the path of the next page, or "" on the last page.
func (p pageLinks) next(u *url.URL) string {
	switch {
	case !p.more:
		return ""
	case p.after != "":
		return p.startingAt(u, "after", p.after)
	}
	return p.startingAt(u, "offset", strconv.Itoa(p.offset+p.limit))
}

// prev returns the path of the previous page, or "" on the first page.
func (p pageLinks) prev(u *url.URL) string {
	if p.offset == 0 {
		return ""
	}
	return p.startingAt(u, "offset", strconv.Itoa(max(0, p.offset-p.limit)))
}

// startingAt returns the path and query of the request, with its parameter `name` set to `at`.
func (p pageLinks) startingAt(u *url.URL, name, at string) string {
	q, _ := url.ParseQuery(u.RawQuery)
	for name, values := range q {
		q[name] = values[len(values)-1:]
	}
	q.Set("limit", strconv.Itoa(p.limit))
	q.Set(name, at)
	return u.EscapedPath() + "?" + q.Encode()
}

// setLinks sets the header Link with the next and the previous page, if there are any.
func (x *exchange) setLinks(a *answer) {
	if a.next == "" && a.prev == "" {
		return
	}
	base := x.base()
	link := ""
	if a.next != "" {
		link = "<" + base + a.next + `>; rel="next"`
	}
	if a.prev != "" {
		if link != "" {
			link += ", "
		}
		link += "<" + base + a.prev + `>; rel="prev"`
	}
	x.Header()["Link"] = []string{link}
}
