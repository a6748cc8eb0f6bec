package search

import "encoding/binary"

// The heads of a sealed chunk are what a search needs of its records beside their texts: what they are
// filtered and ordered by, and the titles. They stand side by side, so that a word that very many records
// have costs no walk from row to row. Nothing in them changes: a record that changes gets a place in
// another chunk, and leaves this one, which the chunk notes (gone).
//
// As stored: the set of records of which terms are not listed, the set of those that there are, and of
// each of these kind, time, id, parent and title.
type heads struct {
	unlisted, there set
	rest            []byte
}

// headBytes is how many bytes a head has before its title.
const headBytes = 1 + 8 + 16 + 16

// head is one of them; inTitle of the hit is not known yet.
type head struct {
	hit
	parent id
	title  []byte
}

func (h *heads) add(place int, one *head) {
	h.there.add(place)
	h.rest = append(h.rest, byte(one.kind))
	h.rest = binary.LittleEndian.AppendUint64(h.rest, uint64(one.updated))
	h.rest = append(append(h.rest, one.id[:]...), one.parent[:]...)
	h.rest = append(binary.AppendUvarint(h.rest, uint64(len(one.title))), one.title...)
}

// bytes returns them as they are stored.
func (h *heads) bytes() []byte {
	return append(h.there.appendBits(h.unlisted.appendBits(nil)), h.rest...)
}

// parseHeads returns what bytes returned, and reports whether it is that.
func parseHeads(b []byte) (h heads, sound bool) {
	if len(b) < 2*setBytes {
		return h, false
	}
	h.unlisted, h.there, h.rest = bitsOf(b), bitsOf(b[setBytes:]), b[2*setBytes:]
	return h, h.each(func(int, *head) {})
}

// each calls fn for every head, upwards, and reports whether they are as add wrote them.
func (h *heads) each(fn func(place int, one *head)) (sound bool) {
	rest, one := h.rest, head{}
	sound = true
	h.there.each(func(place int) {
		if sound = sound && len(rest) >= headBytes; !sound {
			return
		}
		one.kind, one.updated = int64(rest[0]), int64(binary.LittleEndian.Uint64(rest[1:]))
		one.id, one.parent = id(rest[9:25]), id(rest[25:headBytes])
		rest = rest[headBytes:]
		length, n := binary.Uvarint(rest)
		if sound = n > 0 && length <= uint64(len(rest)-n) && int(one.kind) < len(kinds); !sound {
			return
		}
		one.title, rest = rest[n:n+int(length)], rest[n+int(length):]
		fn(place, &one)
	})
	return sound && len(rest) == 0
}
