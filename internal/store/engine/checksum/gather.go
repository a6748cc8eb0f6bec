package checksum

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// mostAtOnce is the most bytes that SQLite's ordinary file system can write in one call. Given
// more, it would write only the remainder of a division by it.
const mostAtOnce = 0x1ffff

// SQLite writes a frame of the log in two pieces, and our checksum is a third: three system calls
// per page, which took a seventh of the cost of a create. So the end of the log is collected in
// memory and written in one call:
//
//	the file   | header | frame | frame | frame |
//	gathered                                    | frame | frame | fra
//	                                            start               start + used
//
// No other connection needs what is only in memory. Others read the log up to the last committed
// transaction, and the frame that ends a transaction is written out, with all before it, before
// SQLite syncs the log or publishes the commit. Anything else that this connection does with the
// log (read, sync, ask for its size, truncate) writes it out first.
//
// When the memory is full and written out, the kernel is asked to start writing it to disk, while
// the following frames are computed. Otherwise the sync at the end of a long transaction would
// start with all of it, and the writer would wait.
type gathered struct {
	memory uintptr // in SQLite's memory, room for whole frames; 0 until something is written
	room   int64
	start  int64 // offset in the file of what is collected
	used   int64
}

// gather writes to the log: into memory if the data continues or overwrites what is there,
// otherwise into the file.
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

// begin starts collecting at offset. It returns false if there is no memory.
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

// flush writes what is collected into the file. If that fails, it is dropped: SQLite then rolls its
// transaction back and writes the next one in the same place.
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

// closeLog drops what is collected: none of it was committed.
func closeLog(tls *libc.TLS, file uintptr) int32 {
	f := stateOf(file)
	lib.Xsqlite3_free(tls, f.gathered.memory)
	f.gathered = gathered{}
	closing := *(*closeFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxClose)) // #nosec G103 -- SQLite's own memory
	return closing(tls, file)
}
