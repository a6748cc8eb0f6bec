package search

import "encoding/binary"

// heads are the heads of a sealed chunk: the fields by which a search filters and sorts its
// records, and their titles. They are stored side by side, so that a word that very many records
// have needs no access to each row. Heads never change. A record that changes gets a place in
// another chunk, and its old chunk notes that the record is gone.
//
// Stored form: the set of records with unlisted terms, the set of records that exist, and for each
// of these kind, time, id, parent and title.
type heads struct {
	unlisted, there set
	rest            []byte
}

// headBytes is the size of a head without its title.
const headBytes = 1 + 8 + 16 + 16

// head is the head of one record. inTitle of its hit is not set yet.
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

// bytes returns the stored form.
func (h *heads) bytes() []byte {
	return append(h.there.appendBits(h.unlisted.appendBits(nil)), h.rest...)
}

// parseHeads reads the stored form. sound is false if it is damaged.
func parseHeads(b []byte) (h heads, sound bool) {
	if len(b) < 2*setBytes {
		return h, false
	}
	h.unlisted, h.there, h.rest = bitsOf(b), bitsOf(b[setBytes:]), b[2*setBytes:]
	return h, h.each(func(int, *head) {})
}

// each calls fn for every head, in ascending order of places. sound is false if the heads are
// damaged.
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
