package search

import "bytes"

// A term is a maximal run of letters and digits in a folded text: on both sides is an ASCII sign,
// white space or the end of the text. A word of letters and digits is in a text exactly if it is in
// one of the text's terms. So the terms of a chunk, each with the set of its records, show which
// records contain a word, without reading a text.
//
// Some terms are not listed: those longer than termBytes, such as whole sentences in scripts
// without spaces, and those after the first termsOfChunk of a chunk. A record with such a term is
// in the set `unlisted`: the listed terms can show that it contains a word, never that it does not.
const (
	// termBytes is the length of the longest term that is listed.
	termBytes = 64
	// termsOfChunk bounds the listed terms of a chunk, and so the memory that sealing needs.
	termsOfChunk = 1 << 16
	// namesOfPage is about how many bytes of terms a page has. A search reads the names of all
	// pages, but the sets only of pages in which a term contains the word.
	namesOfPage = 8 << 10
	// termEnd ends each term of a page.
	termEnd = '\n'
)

// inTerm has the bytes that terms consist of. Letters beyond ASCII have only bytes from 0x80 on.
var inTerm = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
	}
	return table
}()

// isTerm reports whether every occurrence of word lies inside one term.
func isTerm(word string) bool {
	for i := range len(word) {
		if !inTerm[word[i]] {
			return false
		}
	}
	return true
}

// termSets are the terms of a chunk that is being sealed.
type termSets struct {
	numbers  map[string]int // by term
	names    []string       // in the order of their first occurrence
	places   [][]uint16     // records of each term, in ascending order
	unlisted set
}

func newTermSets() *termSets { return &termSets{numbers: map[string]int{}} }

// reset removes all terms and keeps the memory.
func (t *termSets) reset() {
	clear(t.numbers)
	clear(t.names)
	t.names, t.places, t.unlisted = t.names[:0], t.places[:0], set{}
}

// add adds the terms of a folded text of record i. Records must be added in ascending order.
func (t *termSets) add(i int, text []byte) {
	for at := 0; at < len(text); at++ {
		start := at
		for at < len(text) && inTerm[text[at]] {
			at++
		}
		if at > start {
			t.note(i, text[start:at])
		}
	}
}

func (t *termSets) note(i int, term []byte) {
	n, known := t.numbers[string(term)]
	if !known {
		if len(term) > termBytes || len(t.names) == termsOfChunk {
			t.unlisted.add(i)
			return
		}
		n = t.list(string(term))
	}
	if p := t.places[n]; len(p) == 0 || p[len(p)-1] != uint16(i) {
		t.places[n] = append(p, uint16(i))
	}
}

// list adds a new term and returns its number.
func (t *termSets) list(name string) int {
	n := len(t.names)
	t.numbers[name] = n
	t.names = append(t.names, name)
	if n < cap(t.places) {
		t.places = t.places[:n+1]
		t.places[n] = t.places[n][:0] // reuses the memory of an earlier chunk
	} else {
		t.places = append(t.places, nil)
	}
	return n
}

// pages calls fn for each page of terms, with the stored form of its names and sets.
func (t *termSets) pages(fn func(names string, sets []byte)) {
	var names, sets []byte
	for n, name := range t.names {
		var s set
		for _, place := range t.places[n] {
			s.add(int(place))
		}
		names, sets = append(append(names, name...), termEnd), s.append(sets)
		if len(names) >= namesOfPage || n == len(t.names)-1 {
			fn(string(names), sets)
			names, sets = nil, nil
		}
	}
}

// addTerms adds to `into` the records of those terms of a page that contain the word. It returns
// false if the page is damaged; `into` is then meaningless.
func addTerms(into *set, word, names, sets []byte) bool {
	for {
		at := bytes.Index(names, word)
		if at < 0 {
			return true
		}
		behind, sound := skipSets(sets, bytes.Count(names[:at], []byte{termEnd}))
		s, decoded := decodeSet(behind)
		end := bytes.IndexByte(names[at:], termEnd)
		if !sound || !decoded || end < 0 {
			return false
		}
		into.join(&s)
		sets, _ = skipSets(behind, 1)
		names = names[at+end+1:]
	}
}
