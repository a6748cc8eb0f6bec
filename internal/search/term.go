package search

import "bytes"

// A term is a run of letters and digits of a folded text that nothing lengthens: before and behind it
// stands a sign of ASCII or white space, or nothing. A word without such signs is in a text exactly
// where it is in one of the text's terms. So the terms of a chunk, each with the set of the records
// that have it, tell which records have a word, and no text has to be read for it.
//
// Some terms are not listed: very long ones, as whole sentences are in scripts without spaces, and
// those beyond as many as a chunk may have. Of a record that has one (gathered in unlisted) the terms
// say that it has a word, never that it lacks it.
const (
	// termBytes is how long a term is at most that is listed.
	termBytes = 64
	// termsOfChunk bounds how many are listed, and so the memory that sealing takes.
	termsOfChunk = 1 << 16
	// namesOfPage is how many bytes of terms a page has, about. Who searches reads all of these, and
	// the sets of those pages alone in which a term has the word.
	namesOfPage = 8 << 10
	// termEnd stands behind each term of a page.
	termEnd = '\n'
)

// inTerm tells of which bytes terms are made. Letters beyond ASCII have none below 0x80.
var inTerm = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z'
	}
	return table
}()

// isTerm reports whether a word can only be inside of one term.
func isTerm(word string) bool {
	for i := range len(word) {
		if !inTerm[word[i]] {
			return false
		}
	}
	return true
}

// termSets are the terms of a whole chunk, while it is being sealed.
type termSets struct {
	numbers  map[string]int // by name
	names    []string       // in the order in which they were met
	places   [][]uint16     // of each, upwards
	unlisted set
}

func newTermSets() *termSets { return &termSets{numbers: map[string]int{}} }

// reset forgets all, and keeps the room.
func (t *termSets) reset() {
	clear(t.numbers)
	clear(t.names)
	t.names, t.places, t.unlisted = t.names[:0], t.places[:0], set{}
}

// add notes the terms of a folded text of the record i. Records come upwards.
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

// list gives a new term its number.
func (t *termSets) list(name string) int {
	n := len(t.names)
	t.numbers[name] = n
	t.names = append(t.names, name)
	if n < cap(t.places) {
		t.places = t.places[:n+1]
		t.places[n] = t.places[n][:0] // the room of a chunk before
	} else {
		t.places = append(t.places, nil)
	}
	return n
}

// pages calls fn for each page of terms, with their names and sets as they are stored.
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

// addTerms adds to into the records of those terms of a page that have the word. It reports false when the page
// is not as it was written: then into means nothing.
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
