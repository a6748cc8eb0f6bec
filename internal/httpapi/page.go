package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"sheaf.dev/internal/sheaf"
)

// maxOffset is the largest integer that every JSON reader has exactly: offsets are echoed.
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

// choice reads a parameter that has few values; absent is the zero value.
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

// record is a pointer to a T that can append itself.
type record[T any] interface {
	*T
	sheaf.Record
}

// pageOf encodes a page in its envelope.
func pageOf[T any, P record[T]](p sheaf.Page[T]) answer {
	b := []byte(`{"data":[`)
	for i := range p.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = sheaf.AppendJSON(b, P(&p.Items[i]))
		if i == 0 {
			b = slices.Grow(b, len(b)*len(p.Items)) // the others are about as long
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

// pageLinks is what Link needs to know; a limit of 0 is no page.
type pageLinks struct {
	limit, offset int
	more          bool
	after         string // the event behind which the next page begins; empty to go by offset
}

// next is where the following page begins, or empty behind the last.
func (p pageLinks) next(u *url.URL) string {
	switch {
	case !p.more:
		return ""
	case p.after != "":
		return p.beginning(u, "after", p.after)
	}
	return p.beginning(u, "offset", strconv.Itoa(p.offset+p.limit))
}

// prev is where the page before begins, or empty before the first.
func (p pageLinks) prev(u *url.URL) string {
	if p.offset == 0 {
		return ""
	}
	return p.beginning(u, "offset", strconv.Itoa(max(0, p.offset-p.limit)))
}

// beginning is the request's own address with another place to begin at.
func (p pageLinks) beginning(u *url.URL, name, at string) string {
	q, _ := url.ParseQuery(u.RawQuery)
	for name, values := range q {
		q[name] = values[len(values)-1:]
	}
	q.Set("limit", strconv.Itoa(p.limit))
	q.Set(name, at)
	return u.EscapedPath() + "?" + q.Encode()
}

// setLinks adds Link: next unless this is the last page, prev unless the first.
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
