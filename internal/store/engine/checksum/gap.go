package checksum

import (
	"encoding/binary"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// PRAGMA secure_delete overwrites a row when it is deleted. It does not overwrite the copies that stay
// when SQLite distributes the rows of full pages over more pages:
//
//	| header | pointers to rows | the gap: no row, but bytes of former rows | rows |
//	         first              first + 2 × rows                            start of the rows
//
// clearGap overwrites these copies when a page is copied from the log into the file. SQLite never reads
// a gap.

// mostPages is the largest number of pages of a file whose gaps are cleared. In larger files the type of a
// page is not certain: a page of a table or an index begins with its type, but other pages begin with the
// number of another page. In a file of at most 2²⁴ pages the first byte of that number is 0 or 1, which
// is no type. From page 2²⁵ on it can equal a type.
const mostPages = 1 << 24

// isSmall reports whether the file has at most mostPages pages.
func (f *pageFile) isSmall(tls *libc.TLS, file uintptr) bool {
	size, rc := f.sizeOf(tls, file)
	return rc == lib.SQLITE_OK && size <= mostPages*f.pageSize
}

// The types of pages that have a gap.
const (
	insideIndex = 2
	insideTable = 5
	leafOfIndex = 10
	leafOfTable = 13
)

// clearGap overwrites the gap of a page with zeroes. It does not change a page that has no gap, or whose
// header is invalid.
func clearGap(page []byte, number uint32) {
	header := 0
	if number == 1 {
		header = 100 // the first page begins with the header of the file
	}
	first := header
	switch page[header] {
	case insideIndex, insideTable:
		first += 12
	case leafOfIndex, leafOfTable:
		first += 8
	default:
		return
	}
	from := first + 2*int(binary.BigEndian.Uint16(page[header+3:]))
	to := int(binary.BigEndian.Uint16(page[header+5:]))
	if from < to && to <= len(page)-Bytes {
		clear(page[from:to])
	}
}
