package search

import "encoding/binary"

// Form is a way to write the sets of chunks, with the result of writing some texts that way.
type Form struct {
	Name  string
	Bytes int                   // of all pages
	Look  func(word string) int // how many records may have the word, according to the sets
}

// setForm writes a set, and reads the set of a bucket from a page.
type setForm struct {
	name   string
	append func(out []byte, s *set) []byte
	read   func(page []byte, bucket int) set
}

// forms are the stored form, which is the first, and the alternatives that were compared with it.
var forms = []setForm{
	{"distances or bits", func(out []byte, s *set) []byte { return s.append(out) }, readSet},
	{"bits", appendBits, readBits},
	{"distances", appendDistances, readDistances},
}

// FormsOf writes texts in each form, in full chunks.
func FormsOf(texts []string) (out []Form) {
	written := make([][][][]byte, len(forms)) // by form, chunk and page
	for first := 0; first < len(texts); first += chunkPlaces {
		grams := new(gramSets)
		for i, text := range texts[first:min(first+chunkPlaces, len(texts))] {
			grams.add(i, []byte(Fold(text)))
		}
		for i, f := range forms {
			written[i] = append(written[i], grams.pagesIn(f))
		}
	}
	for i, f := range forms {
		out = append(out, Form{Name: f.name, Bytes: size(written[i]), Look: func(word string) int { return look(f, written[i], word) }})
	}
	return out
}

func (g *gramSets) pagesIn(f setForm) [][]byte {
	pages := make([][]byte, pagesOfChunk)
	for b := range g {
		pages[b/perPage] = f.append(pages[b/perPage], &g[b])
	}
	return pages
}

func size(chunks [][][]byte) (n int) {
	for _, pages := range chunks {
		for _, page := range pages {
			n += len(page)
		}
	}
	return n
}

// look intersects the sets of a word's grams in each chunk, as a search does.
func look(f setForm, chunks [][][]byte, word string) (n int) {
	for _, pages := range chunks {
		left := all()
		for _, bucket := range gramsOf(word) {
			found := f.read(pages[bucket/perPage], bucket)
			if !left.keep(&found) {
				break
			}
		}
		n += left.count()
	}
	return n
}

// Every set is one byte, 0 for an empty set, and then its bitmap.
func appendBits(out []byte, s *set) []byte {
	if *s == (set{}) {
		return append(out, 0)
	}
	out = append(out, 1)
	for _, w := range s {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

func readBits(page []byte, bucket int) (s set) {
	for range bucket % perPage {
		page = page[1+int(page[0])*chunkPlaces/8:]
	}
	if page[0] == 1 {
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(page[1+8*i:])
		}
	}
	return s
}

// Every set is its length and then the distances between its members.
func appendDistances(out []byte, s *set) []byte {
	var list []byte
	last := -1
	s.each(func(i int) {
		list = binary.AppendUvarint(list, uint64(i-last))
		last = i
	})
	return append(binary.AppendUvarint(out, uint64(len(list))), list...)
}

func readDistances(page []byte, bucket int) (s set) {
	length, n := binary.Uvarint(page)
	for range bucket % perPage {
		page = page[n+int(length):]
		length, n = binary.Uvarint(page)
	}
	last := -1
	for list := page[n : n+int(length)]; len(list) > 0; {
		d, n := binary.Uvarint(list)
		last += int(d)
		s.add(last)
		list = list[n:]
	}
	return s
}
