package model

import "strings"

// The bytes that a workspace stores (D105).

// stored is the bytes of texts, proposals, media and unfinished uploads. What an engine keeps beside them is added when it is compared.
type stored int

// stored counts equal texts of a document once, and equal media each.
func (m *model) stored() (n stored) {
	for _, d := range m.documents {
		texts := map[string]bool{}
		for _, v := range d.versions {
			if !texts[v.content] {
				texts[v.content] = true
				n += stored(len(v.content))
			}
		}
	}
	n += m.storedProposals()
	for _, t := range m.media {
		n += stored(len(t.bytes))
	}
	for _, u := range m.uploads {
		n += stored(u.up.length)
	}
	return n
}

// keep counts what the engine now keeps of an answer: a reported event, and the answer for a repetition, without secrets. Their
// lengths are those of the engine's own names.
func (e *engine) keep(q request, want answer, got exchange) {
	if want.reported {
		e.kept[got.text] = len(got.text)
	}
	if want.keeps == "" {
		return
	}
	n := len(got.text)
	body, _ := got.body.(record)
	wrapped, _ := body["subscription"].(record)
	for _, secret := range []any{body["key"], wrapped["secret"]} {
		if s, ok := secret.(string); ok {
			n += len("null") - len(`"`+s+`"`)
		}
	}
	location := strings.TrimPrefix(got.header.Get("Location"), "http://sheaf.test")
	e.kept[want.keeps] = n + len(e.translate(q.path)) + len(q.once) + len(location) + len(got.header.Get("ETag"))
}

// keptBytes returns the bytes of everything that keep counted.
func (e *engine) keptBytes() (n float64) {
	for _, size := range e.kept {
		n += float64(size)
	}
	return n
}
