package strict

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// names finds duplicates among the names of the objects that are being read, one inside the other.
// The decoder could do it, but keeps each name three times and allocates for each: 15 bytes for a
// byte of many short names. Here a name is an offset, and its hash slot another four bytes.
type names struct {
	body    []byte
	escaped []byte  // names that were sent with escapes, decoded, one after the other
	spans   []span  // the names of all open objects, the outermost first
	scopes  []scope // the open objects, the outermost first
}

// span is where a name lies, without its quotes: in the body, or with inEscaped set in start, in
// names.escaped.
type span struct{ start, end uint32 }

// inEscaped is free for that, since no body is as long: see checkStart.
const inEscaped = 1 << 31

// scope is one open object.
type scope struct {
	first   int      // index of its first name in spans
	escaped int      // index of its first name in escaped
	table   []uint32 // open addressing by hash: 1 + index into spans, or 0; unused while the names are few
}

// few is up to how many names of one object comparing each is cheaper than a table.
const few = 16

// maxTableKept is the largest table, in slots, that is kept for the next object of the same depth.
const maxTableKept = 1 << 10

// seed makes the hashes differ between processes, so that no client can send names that all collide.
var seed = maphash.MakeSeed()

// in returns the bytes of a name, given those of the body and of the decoded names.
func (s span) in(body, escaped []byte) []byte {
	if s.start&inEscaped != 0 {
		return escaped[s.start&^inEscaped : s.end]
	}
	return body[s.start:s.end]
}

func (n *names) bytes(s span) []byte { return s.in(n.body, n.escaped) }

func (n *names) reset(body []byte) {
	n.body, n.escaped, n.spans, n.scopes = body, nil, n.spans[:0], n.scopes[:0]
}

// open begins an object.
func (n *names) open() {
	if len(n.scopes) < cap(n.scopes) {
		n.scopes = n.scopes[:len(n.scopes)+1] // reuses the table of the last object at this depth
	} else {
		n.scopes = append(n.scopes, scope{})
	}
	s := &n.scopes[len(n.scopes)-1]
	s.first, s.escaped, s.table = len(n.spans), len(n.escaped), s.table[:0]
}

// close forgets the names of the innermost object.
func (n *names) close() {
	s := &n.scopes[len(n.scopes)-1]
	n.spans, n.escaped = n.spans[:s.first], n.escaped[:s.escaped]
	if cap(s.table) > maxTableKept {
		s.table = nil
	}
	n.scopes = n.scopes[:len(n.scopes)-1]
}

// add takes the name whose literal ends at offset end of the body, and reports false if the
// innermost object has it.
func (n *names) add(literal []byte, end int64) (span, bool) {
	added := n.locate(literal, uint32(end))
	s := &n.scopes[len(n.scopes)-1]
	if len(n.spans)-s.first < few {
		for _, other := range n.spans[s.first:] {
			if bytes.Equal(n.bytes(other), n.bytes(added)) {
				return added, false
			}
		}
		n.spans = push(n.spans, added)
		return added, true
	}
	n.makeRoom(s)
	n.spans = push(n.spans, added)
	return added, n.enter(s, len(n.spans)-1)
}

// locate returns where the name lies: in the body, or decoded at the end of escaped.
func (n *names) locate(literal []byte, end uint32) span {
	if bytes.IndexByte(literal, '\\') < 0 {
		return span{end - uint32(len(literal)) + 1, end - 1}
	}
	start := uint32(len(n.escaped))
	n.escaped, _ = jsontext.AppendUnquote(n.escaped, literal)
	return span{start | inEscaped, uint32(len(n.escaped))}
}

// makeRoom keeps the table at most half full, counting one more name.
func (n *names) makeRoom(s *scope) {
	size := 2 * (len(n.spans) - s.first + 1)
	if size <= len(s.table) {
		return
	}
	slots := 4 * few
	for slots < size {
		slots *= 2
	}
	if slots <= cap(s.table) {
		s.table = s.table[:slots]
		clear(s.table)
	} else {
		s.table = make([]uint32, slots)
	}
	for i := s.first; i < len(n.spans); i++ {
		n.enter(s, i)
	}
}

// enter puts the name at spans[i] into the table, or reports false if it is there.
func (n *names) enter(s *scope, i int) bool {
	name := n.bytes(n.spans[i])
	mask := uint64(len(s.table) - 1)
	for at := maphash.Bytes(seed, name) & mask; ; at = (at + 1) & mask {
		switch other := s.table[at]; {
		case other == 0:
			s.table[at] = uint32(i) + 1
			return true
		case bytes.Equal(n.bytes(n.spans[other-1]), name):
			return false
		}
	}
}

// push appends and doubles what is full: append alone grows a long slice by a quarter, and leaves
// four times as much garbage on the way to a million members.
func push[T any](list []T, v T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 8))
	}
	return append(list, v)
}
