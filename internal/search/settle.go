package search

import (
	"bytes"
	"fmt"
	"strings"

	"sheaf.dev/internal/store/engine"
)

const (
	// termsFrom is the number of candidates in a chunk from which its terms are read. Fewer texts
	// are read faster than all terms of the chunk.
	termsFrom = 64
	// runParts is the number of chunks that one query reads, which bounds the memory.
	runParts = 64
)

// settle uses terms to decide which records of the parts contain the words, and adds those to
// `found`. Only the records whose text still has to be read stay in the parts.
func (s *scanner) settle(r *engine.Reader, parts []part) error {
	if len(s.plain) == 0 && !s.allPlain {
		return nil // the terms decide nothing for these words
	}
	for len(parts) > 0 {
		n := s.run(parts)
		if n == 0 {
			parts = parts[1:]
			continue
		}
		if err := s.settleRun(r, parts[:n]); err != nil {
			return err
		}
		parts = parts[n:]
	}
	return nil
}

// run returns how many parts, from the first on, are adjacent and worth settling.
func (s *scanner) run(parts []part) (n int) {
	for n < min(len(parts), runParts) && parts[n].terms && parts[n].n >= s.termsFrom && parts[n].first == parts[0].first+int64(n)<<chunkBits {
		n++
	}
	return n
}

// settleRun settles adjacent parts.
func (s *scanner) settleRun(r *engine.Reader, parts []part) error {
	having := make([]set, len(parts)*len(s.plain)) // for each part and each plain word
	if len(s.plain) > 0 {
		if err := s.readTerms(r, parts, having); err != nil {
			return fmt.Errorf("read terms: %w", err)
		}
	}
	err := r.Query(`SELECT at, heads FROM search_heads WHERE at >= $1 AND at < $2`, func(w *engine.Row) {
		i := partAt(parts, w.Int())
		s.row = w.Into(s.row)
		listed := all()
		for j := range s.plain {
			listed.keep(&having[i*len(s.plain)+j])
		}
		s.settlePart(&parts[i], &listed, s.row)
	}, parts[0].first, parts[len(parts)-1].end)
	if err != nil {
		return fmt.Errorf("read heads: %w", err)
	}
	return nil
}

// partAt returns the index of the part that contains the key. The parts are adjacent.
func partAt(parts []part, at int64) int { return int((at - parts[0].first) >> chunkBits) }

// readTerms finds, for each part and plain word, the records that have the word in a listed term.
func (s *scanner) readTerms(r *engine.Reader, parts []part, having []set) error {
	sql, args := `SELECT at, names, sets FROM search_terms WHERE at >= $1 AND at < $2`, []any{parts[0].first, parts[len(parts)-1].end}
	if s.remote { // PostgreSQL compares the names itself, so that pages without the words are not sent
		var has []string
		for _, word := range s.plain {
			args = append(args, string(word))
			has = append(has, fmt.Sprintf("strpos(names, $%d) > 0", len(args)))
		}
		sql += " AND (" + strings.Join(has, " OR ") + ")"
	}
	return r.Query(sql, func(w *engine.Row) {
		i := partAt(parts, w.Int())
		s.names = w.Into(s.names)
		// The names have been read; the sets are read only if a word needs them.
		p := &parts[i]
		having := having[i*len(s.plain) : (i+1)*len(s.plain)]
		read := false
		for j, word := range s.plain {
			if having[j].covers(&p.set) || !bytes.Contains(s.names, word) {
				continue
			}
			if !read {
				s.row, read = w.Into(s.row), true
			}
			if !addTerms(&having[j], word, s.names, s.row) {
				p.terms = false
			}
		}
	}, args...)
}

// settlePart applies the result of the terms to a part, by its heads. `listed` are the records that
// have every plain word in their terms. A record with unlisted terms may still have the words. If
// the query has words that are not plain, no record is known to have them all.
//
// If the heads do not match the records that the part has now, settlePart leaves the part
// unchanged: the index is damaged, and reading the texts still gives the right answer.
func (s *scanner) settlePart(p *part, listed *set, stored []byte) {
	h, sound := parseHeads(stored)
	if !sound || !p.terms {
		return
	}
	there := h.there
	there.drop(&p.gone)
	if there.count() != p.live {
		return
	}
	possible := h.unlisted
	possible.join(listed)
	p.set.keep(&there)
	p.set.keep(&possible)
	if s.allPlain {
		h.each(func(place int, one *head) {
			if listed.has(place) && p.set.has(place) {
				s.addMatch(one)
			}
		})
		p.set.drop(listed)
	}
	p.n = p.set.count()
}

// addMatch adds a record that contains every long word, if it is wanted and has the short words too.
func (s *scanner) addMatch(one *head) {
	if !s.wanted(one.kind, one.id, one.parent) || !s.words.shortIn(one.title) {
		return
	}
	found := one.hit
	found.inTitle = s.words.allIn(one.title)
	s.found.add(found)
}
