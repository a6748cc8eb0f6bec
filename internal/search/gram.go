package search

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// A gram is two or three adjacent characters of a folded text. A text that contains a word contains
// all grams of that word, so a search reads only records that have them all.
//
// Grams are hashed into buckets. A chunk has one set per bucket: the records that have a gram in
// it. A page stores the sets of perPage consecutive buckets.
const (
	pairs        = 1 << 14 // buckets for grams of two characters
	triples      = 1 << 13 // buckets for grams of three characters
	buckets      = pairs + triples
	perPage      = 32 // buckets of a page
	pagesOfChunk = buckets / perPage
	// chunkPlaces is the largest number of records in a chunk.
	chunkPlaces = 1 << chunkBits
	chunkBits   = 10
	// gramsOfWord bounds the grams that are looked up for one word. Each further gram removes only
	// a fraction of the records that the others left.
	gramsOfWord = 6
)

func pairBucket(a, b rune) int {
	h := uint32(a)*0x9E3779B1 ^ uint32(b)*0x85EBCA77
	h ^= h >> 15
	return int(h * 0x2C1B3C6D >> (32 - 14))
}

func tripleBucket(a, b, c rune) int {
	h := uint32(a)*0x9E3779B1 ^ uint32(b)*0x85EBCA77 ^ uint32(c)*0xC2B2AE3D
	h ^= h >> 15
	return pairs + int(h*0x2C1B3C6D>>(32-13))
}

// gramsOf returns buckets for a word of at least two characters: the bucket of its pair, or of up
// to gramsOfWord triples spread over the word.
func gramsOf(word string) []int {
	r := []rune(word)
	if len(r) == 2 {
		return []int{pairBucket(r[0], r[1])}
	}
	n := len(r) - 2
	take := min(n, gramsOfWord)
	out := make([]int, take)
	for i := range take {
		at := i * (n - 1) / max(1, take-1)
		out[i] = tripleBucket(r[at], r[at+1], r[at+2])
	}
	return out
}

// set has a bit for each record of a chunk.
type set [chunkPlaces / 64]uint64

func (s *set) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s *set) has(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }

func (s *set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// keep intersects s with other and reports whether any record is left.
func (s *set) keep(other *set) bool {
	var any uint64
	for i := range s {
		s[i] &= other[i]
		any |= s[i]
	}
	return any != 0
}

// join adds the records of other to s.
func (s *set) join(other *set) {
	for i := range s {
		s[i] |= other[i]
	}
}

// drop removes the records of other from s.
func (s *set) drop(other *set) {
	for i := range s {
		s[i] &^= other[i]
	}
}

// covers reports whether s contains every record of other.
func (s *set) covers(other *set) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}

// setBytes is the size of a set that is written as a bitmap.
const setBytes = chunkPlaces / 8

// appendBits appends the set to out as a bitmap.
func (s *set) appendBits(out []byte) []byte {
	for _, w := range s {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// bitsOf returns the set whose bitmap is b. If b is too short, the set is empty.
func bitsOf(b []byte) (s set) {
	if len(b) < setBytes {
		return s
	}
	for i := range s {
		s[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return s
}

// each calls fn with every record of the set, in ascending order.
func (s *set) each(fn func(i int)) {
	for w, word := range s {
		for word != 0 {
			fn(w<<6 + bits.TrailingZeros64(word))
			word &= word - 1
		}
	}
}

// all returns the set of all records.
func all() (s set) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	return s
}

// gramSets are the sets of a chunk that is being sealed.
type gramSets [buckets]set

// add adds record i to the sets of all grams of its folded text.
func (g *gramSets) add(i int, text []byte) {
	word, bit := i>>6, uint64(1)<<(i&63)
	a, b := rune(-1), rune(-1)
	for at := 0; at < len(text); {
		c, size := rune(text[at]), 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRune(text[at:])
		}
		at += size
		if b >= 0 {
			g[pairBucket(b, c)][word] |= bit
		}
		if a >= 0 {
			g[tripleBucket(a, b, c)][word] |= bit
		}
		a, b = b, c
	}
}

// bitmap is the first byte of a set that is written as a bitmap. Any other first byte is the length
// in bytes of the list that follows: the distances between the set's members.
const bitmap = 255

// page returns the stored form of the sets of page n, or nil if all are empty.
func (g *gramSets) page(n int) []byte {
	var out []byte
	some := false
	for b := n * perPage; b < (n+1)*perPage; b++ {
		before := len(out)
		out = g[b].append(out)
		some = some || len(out) > before+1
	}
	if !some {
		return nil
	}
	return out
}

// append appends the set to out, as distances between its members or as a bitmap, whichever is
// shorter.
func (s *set) append(out []byte) []byte {
	start, last := len(out), -1
	out = append(out, 0)
	s.each(func(i int) {
		if len(out)-start <= setBytes {
			out = binary.AppendUvarint(out, uint64(i-last))
			last = i
		}
	})
	if n := len(out) - start - 1; n < setBytes {
		out[start] = byte(n)
		return out
	}
	return s.appendBits(append(out[:start], bitmap))
}

// readSet returns the set of a bucket from its page. If the page is damaged, it returns the set of
// all records: the search then reads more texts, but its answer is right.
func readSet(page []byte, bucket int) set {
	page, sound := skipSets(page, bucket%perPage)
	if s, ok := decodeSet(page); sound && ok {
		return s
	}
	return all()
}

// skipSets returns the page after its first n sets. sound is false if the page has fewer.
func skipSets(page []byte, n int) (rest []byte, sound bool) {
	for range n {
		if len(page) == 0 {
			return nil, false
		}
		length := int(page[0])
		if length == bitmap {
			length = setBytes
		}
		if page = page[1:]; len(page) < length {
			return nil, false
		}
		page = page[length:]
	}
	return page, true
}

// decodeSet returns the first set of a page. sound is false if the page is damaged.
func decodeSet(page []byte) (s set, sound bool) {
	switch {
	case len(page) == 0:
		return s, false
	case page[0] == bitmap && len(page) > setBytes:
		return bitsOf(page[1:]), true
	case page[0] == bitmap || len(page) <= int(page[0]):
		return s, false
	}
	last := -1
	for list := page[1 : 1+page[0]]; len(list) > 0; {
		d, n := binary.Uvarint(list)
		if n <= 0 || d == 0 || d > chunkPlaces || last+int(d) >= chunkPlaces {
			return s, false
		}
		last += int(d)
		s.add(last)
		list = list[n:]
	}
	return s, true
}
