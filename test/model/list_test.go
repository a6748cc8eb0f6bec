package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold is how search and the order of names see a text: without case, and however accents are composed (D21).
func fold(v any) string {
	s, _ := v.(string)
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(s)))
}

// sorted returns the things that are there in the order that the query asks for; creation decides ties (D20).
func sorted(things []*thing, by string, desc bool) []*thing {
	return slices.DeleteFunc(inOrderOf(things, by, desc), func(t *thing) bool { return t.deleted })
}

// inOrderOf is sorted with the deleted ones.
func inOrderOf(things []*thing, by string, desc bool) []*thing {
	out := slices.Clone(things)
	slices.SortFunc(out, func(a, b *thing) int {
		return cmp.Or(compare(a, b, by), cmp.Compare(a.number, b.number))
	})
	if desc {
		slices.Reverse(out)
	}
	return out
}

func compare(a, b *thing, by string) int {
	switch by {
	case "sort_order":
		return cmp.Compare(a.own[by].(float64), b.own[by].(float64))
	case "name", "title":
		return strings.Compare(fold(a.own[by]), fold(b.own[by]))
	case "deleted_at":
		return a.gone.Compare(b.gone)
	case "created_at", "updated_at":
		return strings.Compare(a.own[by].(string), b.own[by].(string))
	}
	return 0
}

// filtered keeps what a parameter names: an id, or null for those that have none (D8, D21).
func (c *call) filtered(things []*thing, field string) []*thing {
	want, sent := c.query[field]
	if !sent {
		return things
	}
	return slices.DeleteFunc(things, func(t *thing) bool {
		have, _ := t.own[field].(string)
		return want == "null" && have != "" || want != "null" && have != strings.ToLower(want)
	})
}

// searched keeps what has q in one of the fields.
func (c *call) searched(things []*thing, fields ...string) []*thing {
	q, sent := c.query["q"]
	if !sent {
		return things
	}
	return slices.DeleteFunc(things, func(t *thing) bool {
		return !slices.ContainsFunc(fields, func(f string) bool { return strings.Contains(fold(t.own[f]), fold(q)) })
	})
}

func (c *call) number(name string, otherwise int) int {
	n, err := strconv.Atoi(c.query[name])
	if err != nil {
		return otherwise
	}
	return n
}

// page cuts what was asked for out of all the items (D9, D17).
func (c *call) page(items []any) answer {
	limit, offset := c.number("limit", 50), c.number("offset", 0)
	from := min(offset, len(items))
	to := min(from+limit, len(items))
	body := record{"data": slices.Clone(items[from:to]), "total": float64(len(items)), "limit": float64(limit), "offset": float64(offset)}
	a := answer{status: 200, body: body, page: true, tag: canonical(body)}
	if to < len(items) {
		a.next = "offset=" + strconv.Itoa(offset+limit)
	}
	if offset > 0 {
		a.prev = "offset=" + strconv.Itoa(max(0, offset-limit))
	}
	return a
}

// shown is the page of things.
func (c *call) shown(m *model, noun string, things []*thing) answer {
	items := make([]any, len(things))
	for i, t := range things {
		items[i] = m.show(noun, t)
	}
	return c.page(items)
}

func isQuery(s string) bool { return upTo(1, 200)(s) }
