package checksum

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// The log (-wal) is a header followed by frames, each a header and a page. SQLite computes a
// cumulative sum over the frames and puts it into each frame's header, before it writes the frame.
// Our checksum is added to the page after that, as the page is written, so the sum must be
// corrected. It is computed from the words of the page in pairs,
//
//	a += x + b
//	b += y + a
//
// and our checksum is the last word: a change of it changes b by the same amount.
const (
	logHeader   = 32
	frameHeader = 24
	frameSum    = 16 // offset of the sum's two words in a frame's header
)

// logOf returns SQLite's record of a log, which is located before its file.
func logOf(file uintptr) *lib.TWal { return at[lib.TWal](file - unsafe.Sizeof(lib.TWal{})) }

// framed returns the size of the pages in a log, or 0 if its database has no checksums.
func framed(log *lib.TWal) int64 {
	if size := stateOf(log.FpDbFd).pageSize; size >= SmallestPage && size == int64(log.FszPage) {
		return size
	}
	return 0
}

// writeFrame writes a part of the log. SQLite writes a frame's header and then its page. For a
// header, it records the offset and the page number; to a page, it adds the checksum.
func writeFrame(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f, log := stateOf(file), logOf(file)
	b := unsafe.Slice(at[byte](buffer), n) // #nosec G103 -- SQLite's own memory
	size := framed(log)
	switch in := (offset - logHeader) % (size + frameHeader); {
	case size == 0:
	case n == frameHeader && in == 0:
		f.frame, f.number, f.last = offset, binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]) != 0
	case int64(n) == size && in == frameHeader:
		if rc := f.stampFrame(tls, file, log, b, offset-frameHeader); rc != lib.SQLITE_OK {
			return rc
		}
	}
	return f.gather(tls, file, buffer, n, offset, size)
}

// stampFrame adds the checksum to a page. It corrects the frame's sum, on which SQLite builds the
// next one, both in SQLite's memory and in the frame header at offset `header`.
func (f *pageFile) stampFrame(tls *libc.TLS, file uintptr, log *lib.TWal, page []byte, header int64) int32 {
	appended := f.frame == header
	f.frame = -1
	if !appended { // SQLite rewrites the page of a frame of this transaction, without its header
		var rc int32
		if f.number, rc = f.word(tls, file, header); rc != lib.SQLITE_OK {
			return rc
		}
	}
	order := wordsOf(log)
	last := page[len(page)-Bytes:]
	before := order.Uint32(last)
	stamp(page, f.number)
	if !appended || log.FiReCksum != 0 { // SQLite recomputes the sums from the first rewritten frame on when it commits
		return lib.SQLITE_OK
	}
	sum := &log.Fhdr.FaFrameCksum[1]
	*sum += order.Uint32(last) - before
	out := tls.Alloc(4)
	defer tls.Free(4)
	binary.BigEndian.PutUint32(unsafe.Slice(at[byte](out), 4), *sum) // #nosec G103 -- SQLite's own memory
	return f.gather(tls, file, out, 4, header+frameSum+4, int64(len(page)))
}

// readFrame accepts a page of the log if it has our checksum or matches the sum of its frame. In
// the latter case another program, or an older version of ours, wrote it.
func readFrame(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f, log := stateOf(file), logOf(file)
	if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	size := framed(log)
	if size == 0 || int64(n) != size || (offset-logHeader)%(size+frameHeader) != frameHeader {
		return f.read(tls, file, buffer, n, offset)
	}
	// The page's number is in the header before it: one system call reads both.
	frame := tls.Alloc(frameHeader + int(n))
	defer tls.Free(frameHeader + int(n))
	rc := f.read(tls, file, frame, frameHeader+n, offset-frameHeader)
	b := unsafe.Slice(at[byte](frame), frameHeader+n) // #nosec G103 -- SQLite's own memory
	page := unsafe.Slice(at[byte](buffer), n)         // #nosec G103 -- SQLite's own memory
	copy(page, b[frameHeader:])
	if rc != lib.SQLITE_OK || isSound(page, binary.BigEndian.Uint32(b)) {
		return rc
	}
	return f.addsUp(tls, file, log, page, offset-frameHeader)
}

// addsUp verifies the sum of one frame, computed from the sum of the previous one.
func (f *pageFile) addsUp(tls *libc.TLS, file uintptr, log *lib.TWal, page []byte, header int64) int32 {
	before := header - int64(len(page)) - frameHeader + frameSum
	if header == logHeader {
		before = logHeader - 8 // the log's own sum
	}
	const room = 8 + frameHeader
	out := tls.Alloc(room)
	defer tls.Free(room)
	if rc := f.read(tls, file, out, 8, before); rc != lib.SQLITE_OK {
		return rc
	}
	if rc := f.read(tls, file, out+8, frameHeader, header); rc != lib.SQLITE_OK {
		return rc
	}
	b := unsafe.Slice(at[byte](out), room) // #nosec G103 -- SQLite's own memory
	sum := [2]uint32{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])}
	b = b[8:]
	sum = addWords(wordsOf(log), addWords(wordsOf(log), sum, b[:8]), page)
	if sum != [2]uint32{binary.BigEndian.Uint32(b[frameSum:]), binary.BigEndian.Uint32(b[frameSum+4:])} {
		return int32(Unsound)
	}
	return lib.SQLITE_OK
}

// addWords continues SQLite's sum over the log with the words of b.
func addWords(order binary.ByteOrder, sum [2]uint32, b []byte) [2]uint32 {
	for ; len(b) >= 8; b = b[8:] {
		sum[0] += order.Uint32(b) + sum[1]
		sum[1] += order.Uint32(b[4:]) + sum[0]
	}
	return sum
}

// wordsOf returns the byte order of the sum: that of the machine that began the log.
func wordsOf(log *lib.TWal) binary.ByteOrder {
	if log.Fhdr.FbigEndCksum != 0 {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// word reads one word of the log's headers.
func (f *pageFile) word(tls *libc.TLS, file uintptr, offset int64) (uint32, int32) {
	if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
		return 0, rc
	}
	out := tls.Alloc(4)
	defer tls.Free(4)
	rc := f.read(tls, file, out, 4, offset)
	return binary.BigEndian.Uint32(unsafe.Slice(at[byte](out), 4)), rc // #nosec G103 -- SQLite's own memory
}
