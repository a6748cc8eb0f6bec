package checksum

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mostAtOnce is how many bytes SQLite's ordinary file system writes in one call, at
// most: of more it would write the rest of a division by it.
const mostAtOnce = 0x1ffff

// SQLite writes a frame of the log in two pieces, and our checksum is a third:
// three calls of the system for one page, which took a seventh of what a create
// costs. So the end of the log is gathered in memory, and written in one call:
//
//	the file   | header | frame | frame | frame |
//	gathered                                    | frame | frame | fra
//	                                            start               start + used
//
// Nobody can miss what is only gathered. Other connections read the log as far as
// the last transaction that was committed, and the frame that ends a transaction
// is written out with all before it, before SQLite syncs the log or tells anybody.
// Whatever else this connection does with the log (read it, sync it, ask for its
// size, cut it off) writes out first.
//
// What has filled the memory goes on from the file to the disk at once, beside the
// summing up of the frames that follow: the sync at the end of a long transaction
// would otherwise begin with all of it, and the writer would wait.
type gathered struct {
	memory uintptr // SQLite's, room for whole frames; 0 until something is written
	room   int64
	start  int64 // of what is gathered, in the file
	used   int64
}

// gather writes to the log: into memory where it goes on with what is there or
// changes a part of it, else into the file.
func (f *pageFile) gather(tls *libc.TLS, file, buffer uintptr, n int32, offset, pageSize int64) int32 {
	g := &f.gathered
	end := offset + int64(n)
	if pageSize == 0 || offset < logHeader {
		if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
			return rc
		}
		return f.write(tls, file, buffer, n, offset)
	}
	if g.used > 0 && (offset < g.start || offset > g.start+g.used || end > g.start+g.room) {
		start, n := g.start, g.used
		if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
			return rc
		}
		bringOut(file, start, n)
	}
	if g.used == 0 && !g.begin(tls, offset, pageSize) {
		return lib.SQLITE_NOMEM
	}
	from := unsafe.Slice(at[byte](buffer), n)                             // #nosec G103 -- SQLite's own memory
	copy(unsafe.Slice(at[byte](g.memory), g.room)[offset-g.start:], from) // #nosec G103 -- SQLite's own memory
	g.used = max(g.used, end-g.start)
	if f.last && int64(n) == pageSize {
		f.last = false
		return f.flush(tls, file)
	}
	return lib.SQLITE_OK
}

// begin makes room for what is written from offset on, and reports whether there
// is memory for it.
func (g *gathered) begin(tls *libc.TLS, offset, pageSize int64) bool {
	frame := frameHeader + pageSize
	if room := mostAtOnce / frame * frame; g.room != room {
		lib.Xsqlite3_free(tls, g.memory)
		*g = gathered{memory: lib.Xsqlite3_malloc64(tls, uint64(room)), room: room}
	}
	if g.memory == 0 {
		g.room = 0
		return false
	}
	g.start = offset
	return true
}

// flush writes what is gathered into the file. What could not be written is
// dropped: SQLite then takes its transaction back, and writes its next one there.
func (f *pageFile) flush(tls *libc.TLS, file uintptr) int32 {
	g := &f.gathered
	if g.used == 0 {
		return lib.SQLITE_OK
	}
	n := g.used
	g.used = 0
	return f.write(tls, file, g.memory, int32(n), g.start)
}

func syncLog(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := stateOf(file)
	if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	sync := *(*syncFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxSync)) // #nosec G103 -- SQLite's own memory
	return sync(tls, file, flags)
}

func truncateLog(tls *libc.TLS, file uintptr, size int64) int32 {
	f := stateOf(file)
	if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	truncate := *(*truncateFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxTruncate)) // #nosec G103 -- SQLite's own memory
	return truncate(tls, file, size)
}

func sizeOfLog(tls *libc.TLS, file, size uintptr) int32 {
	f := stateOf(file)
	if rc := f.flush(tls, file); rc != lib.SQLITE_OK {
		return rc
	}
	sizeOf := *(*sizeFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxFileSize)) // #nosec G103 -- SQLite's own memory
	return sizeOf(tls, file, size)
}

// closeLog drops what is gathered: nothing of it was committed.
func closeLog(tls *libc.TLS, file uintptr) int32 {
	f := stateOf(file)
	lib.Xsqlite3_free(tls, f.gathered.memory)
	f.gathered = gathered{}
	closing := *(*closeFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxClose)) // #nosec G103 -- SQLite's own memory
	return closing(tls, file)
}
