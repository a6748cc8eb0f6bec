package search

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/store/engine"
)

// hit is a record that contains the words, with the fields that hits are sorted by.
type hit struct {
	inTitle bool
	updated int64 // Unix time in milliseconds
	kind    int64
	id      id
}

// before compares hits in the order of a page: first those with every word in the title, then the
// newest, then by type and id.
func (h hit) before(other hit) int {
	if h.inTitle != other.inTitle {
		if h.inTitle {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(other.updated, h.updated), cmp.Compare(h.kind, other.kind), slices.Compare(h.id[:], other.id[:]))
}

// hits counts the hits and keeps the first `most` of them. It is a heap with the last of these on
// top.
type hits struct {
	most  int
	total int64
	first []hit
}

func (h *hits) Len() int           { return len(h.first) }
func (h *hits) Less(i, j int) bool { return h.first[i].before(h.first[j]) > 0 }
func (h *hits) Swap(i, j int)      { h.first[i], h.first[j] = h.first[j], h.first[i] }
func (h *hits) Push(v any)         { h.first = append(h.first, v.(hit)) }
func (h *hits) Pop() any           { panic("search: a hit is replaced, never taken") }

// add counts a hit and keeps it if it is among the first.
func (h *hits) add(one hit) {
	h.total++
	h.offer(one)
}

func (h *hits) offer(one hit) {
	switch {
	case len(h.first) < h.most:
		heap.Push(h, one)
	case h.most > 0 && one.before(h.first[0]) < 0:
		h.first[0] = one
		heap.Fix(h, 0)
	}
}

// scan searches all parts of the view and returns the hits that `wanted` accepts. If there are two
// readers, they share the parts.
func (v *View) scan(most int, wanted func(kind int64, at, parent id) bool) (*hits, error) {
	found := make([]*hits, len(v.readers))
	var group errgroup.Group
	for i, parts := range v.shares() {
		found[i] = &hits{most: most}
		group.Go(func() error { return v.scanParts(v.readers[i], parts, wanted, found[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := found[0]
	for _, other := range found[1:] {
		all.total += other.total
		for _, one := range other.first {
			all.offer(one)
		}
	}
	return all, nil
}

// shares divides the parts among the readers. The older places go to the older snapshot. A record
// that changed between the snapshots is then in both, never in none, and the log names it.
func (v *View) shares() [][]part {
	if len(v.readers) == 1 {
		return [][]part{v.parts}
	}
	half, n := v.candidates()/2, 0
	for i := range v.parts {
		if n += v.parts[i].n; n >= half {
			return [][]part{v.parts[:i+1], v.parts[i+1:]}
		}
	}
	return [][]part{v.parts, nil}
}

// scanParts searches some parts. It first settles parts with many candidates by their terms, then
// reads the texts of the remaining candidates.
func (v *View) scanParts(r *engine.Reader, parts []part, wanted func(int64, id, id) bool, found *hits) error {
	s := newScanner(v.words, r.Dialect().Postgres, wanted, found)
	s.termsFrom = v.index.termsFrom
	if err := s.settle(r, parts); err != nil {
		return err
	}
	var sparse [][]any
	for i := 0; i < len(parts); i++ {
		p := &parts[i]
		if p.n < denseFrom {
			p.set.each(func(place int) { sparse = append(sparse, []any{p.first + int64(place)}) })
			continue
		}
		// Read the part in the order of its places.
		if err := r.Query(s.some, func(w *engine.Row) {
			if place := int(w.Int() - p.first); p.set.has(place) {
				s.matchRow(w)
			}
		}, append([]any{p.first, p.end}, s.args...)...); err != nil {
			return err
		}
	}
	// Then read the single places of all other parts.
	if s.remote {
		for i := range sparse {
			sparse[i] = append(sparse[i], s.args...)
		}
	}
	return r.Run(s.one, sparse, func(_ int, w *engine.Row) {
		w.Skip()
		s.matchRow(w)
	})
}

// scanner reads texts of the index and adds those that contain the words to `found`. On SQLite it
// compares them here. PostgreSQL compares them itself, so that the texts are not sent.
type scanner struct {
	words  words
	remote bool
	wanted func(kind int64, at, parent id) bool
	found  *hits

	args        []any        // the words, as arguments for PostgreSQL
	some        string       // query of the places from $1 up to but not including $2
	one         *engine.Bulk // query of one place
	title, body []byte       // folded title and body of the current record

	termsFrom  int      // number of candidates in a chunk from which its terms are read
	plain      [][]byte // long words of letters and digits only: each lies inside one term
	allPlain   bool     // all long words are plain
	names, row []byte   // buffers for the names of terms, and for sets or heads
}

func newScanner(w words, remote bool, wanted func(int64, id, id) bool, found *hits) *scanner {
	s := &scanner{words: w, remote: remote, wanted: wanted, found: found, allPlain: true}
	for _, word := range w.long {
		if isTerm(word) {
			s.plain = append(s.plain, []byte(word))
		} else {
			s.allPlain = false
		}
	}
	read := `SELECT at, kind, id, parent, updated_at, title, body FROM search_texts WHERE `
	if !remote {
		s.some, s.one = read+`at >= $1 AND at < $2`, onePlace
		return s
	}
	read = `SELECT at, kind, id, parent, updated_at, title FROM search_texts WHERE `
	some, one, columns := read+`at >= $1 AND at < $2`, read+`at = {place}`, []string{"place int"}
	for i, word := range slices.Concat(w.long, w.short) {
		name := fmt.Sprintf("w%d", i)
		condition := ` AND strpos(title, ?) > 0`
		if i < len(w.long) {
			condition = ` AND (strpos(title, ?) > 0 OR strpos(body, ?) > 0)`
		}
		some += strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", i+3))
		one += strings.ReplaceAll(condition, "?", "{"+name+"}")
		columns, s.args = append(columns, name), append(s.args, word)
	}
	s.some, s.one = some, engine.NewBulk(one, "", columns...)
	return s
}

var onePlace = engine.NewBulk(`SELECT at, kind, id, parent, updated_at, title, body FROM search_texts WHERE at = {place}`, "", "place int")

// matchRow adds the record of a row to `found` if it is wanted and contains the words. The row's place
// has been read.
func (s *scanner) matchRow(w *engine.Row) {
	h := hit{kind: w.Int(), id: w.ID()}
	parent := w.ID()
	h.updated = w.Int()
	if !s.wanted(h.kind, h.id, parent) {
		return
	}
	s.title = w.Into(s.title)
	if s.remote {
		h.inTitle = s.words.allIn(s.title)
		s.found.add(h)
		return
	}
	found, inTitle := s.words.match(s.title, func() []byte {
		s.body = w.Into(s.body)
		return s.body
	})
	if found {
		h.inTitle = inTitle
		s.found.add(h)
	}
}
