// Package checksum makes SQLite's pages carry checksums. It is the one corner of Sheaf that knows
// the driver's memory and uses unsafe: a file system of SQLite's (a VFS) that is the ordinary one
// but for reading and writing pages and for one lock. Two functions lead into it: Register puts it
// under every connection, and Of names a file.
package checksum

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// SQLite believes what it reads: a byte that rotted in a text is served as it is. So every page of
// our file ends with a checksum of itself and its number, in bytes that SQLite leaves to us, and a
// page that does not match is an I/O error: 503, never a wrong 200. It is done below SQLite, in a
// file system of SQLite's (a VFS) that is its ordinary one but for reading and writing pages.
//
// A page gets its checksum on the way into the log already (frames.go): so it is right whichever
// program brings the log into the file. What another program wrote itself gets it when we bring
// that over, which while we have the file open nobody else does (hold.go).
const (
	// Bytes are reserved at the end of each page.
	Bytes = 4
	// Unsound is the result code of reading a page with a wrong one.
	Unsound = sqlite.ResultCode(lib.SQLITE_IOERR_DATA)
	// SmallestPage is the least that an SQLite file has, in bytes.
	SmallestPage = 512
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// unsteady are the bytes of the first page's header that SQLite sets anew in a copy of a sound file
// (".backup"): versions, counters of changes. They are not covered: what is damaged in them changes
// no answer.
var unsteady = [][2]int{{18, 20}, {24, 28}, {40, 44}, {92, 100}}

// checksum covers the number too: a page in the place of another is damage.
func checksum(page []byte, number uint32) uint32 {
	if number != 1 || len(page) < 100 {
		return checksumWhole(page, number)
	}
	steady := slices.Clone(page)
	for _, b := range unsteady {
		clear(steady[b[0]:b[1]])
	}
	return checksumWhole(steady, number)
}

// checksumWhole is what older programs wrote into the first page too.
func checksumWhole(page []byte, number uint32) uint32 {
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], number)
	return crc32.Update(crc32.Checksum(n[:], castagnoli), castagnoli, page[:len(page)-Bytes])
}

// stampOf returns the checksum that a page carries.
func stampOf(page []byte) uint32 {
	return binary.LittleEndian.Uint32(page[len(page)-Bytes:])
}

func stamp(page []byte, number uint32) {
	binary.LittleEndian.PutUint32(page[len(page)-Bytes:], checksum(page, number))
}

func isSound(page []byte, number uint32) bool {
	carried := stampOf(page)
	return carried == checksum(page, number) || number == 1 && carried == checksumWhole(page, number)
}

// pageFile is what we keep behind SQLite's own record of an open file, in its memory: no pointer of
// Go's may stand here.
type pageFile struct {
	methods  uintptr // those of the ordinary file system
	name     uintptr // as SQLite was given it
	pageSize int64   // of a database: 0 is without checksums, or not known yet
	trusting bool    // of a database: whatever is read is believed
	frame    int64   // of a log: where the header of a frame was just written
	number   uint32  // of a log: the page that this header names
	last     bool    // of a log: this header ends a transaction
	gathered gathered
}

var pageVFS struct {
	once sync.Once
	err  error
	base lib.Tsqlite3_vfs // the ordinary one

	mu      sync.Mutex // guards methods
	methods map[methodsOf]uintptr
}

// Register makes the file system with checksums the one that every connection opened from now on
// has. Files without reserved bytes are read and written as ever. It also has those connections
// keep their plans (plans.go). Calling it again does nothing.
func Register() error {
	v := &pageVFS
	v.once.Do(func() {
		tls := libc.NewTLS()
		defer tls.Close()
		v.methods = map[methodsOf]uintptr{}
		v.err = registerVFS(tls)
		if v.err == nil {
			v.err = keepPlans(tls)
		}
	})
	return v.err
}

// registerVFS copies SQLite's ordinary file system, puts our way to open a file into the copy, and
// makes it the default.
func registerVFS(tls *libc.TLS) error {
	if rc := lib.Xsqlite3_initialize(tls); rc != lib.SQLITE_OK {
		return fmt.Errorf("initialize SQLite: result %d", rc)
	}
	pageVFS.base = *at[lib.Tsqlite3_vfs](lib.Xsqlite3_vfs_find(tls, 0))
	// SQLite keeps both for as long as the process lives.
	name, err := libc.CString("sheaf")
	if err != nil {
		return err
	}
	ours := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(pageVFS.base)))
	if ours == 0 {
		return errors.New("no memory for SQLite's file system")
	}
	vfs := at[lib.Tsqlite3_vfs](ours)
	*vfs = pageVFS.base
	vfs.FpNext, vfs.FzName = 0, name
	vfs.FszOsFile += int32(unsafe.Sizeof(pageFile{}))
	vfs.FxOpen = address(openPages)
	if rc := lib.Xsqlite3_vfs_register(tls, ours, 1); rc != lib.SQLITE_OK {
		return fmt.Errorf("register SQLite's file system: result %d", rc)
	}
	return nil
}

// openPages opens a file as ever, and takes over its reading and writing if it is a database.
func openPages(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	open := *(*openFunc)(unsafe.Pointer(&pageVFS.base.FxOpen)) // #nosec G103 -- SQLite's own memory
	rc := open(tls, vfs, name, file, flags, out)
	own := at[lib.Tsqlite3_file](file)
	switch {
	case rc != lib.SQLITE_OK:
	case flags&lib.SQLITE_OPEN_MAIN_DB != 0:
		*stateOf(file) = pageFile{methods: own.FpMethods, name: name, trusting: isTrusted(libc.GoString(name))}
		own.FpMethods = ourMethods(tls, own.FpMethods, false)
	case flags&lib.SQLITE_OPEN_WAL != 0 && logOf(file).FpWalFd == file:
		*stateOf(file) = pageFile{methods: own.FpMethods, name: name, frame: -1}
		own.FpMethods = ourMethods(tls, own.FpMethods, true)
	}
	return rc
}

// ourMethods returns a copy of a file's methods with ours for pages, or for the frames of a log.
func ourMethods(tls *libc.TLS, base uintptr, ofLog bool) uintptr {
	pageVFS.mu.Lock()
	defer pageVFS.mu.Unlock()
	kind := methodsOf{base, ofLog}
	if m := pageVFS.methods[kind]; m != 0 {
		return m
	}
	m := lib.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	if m == 0 {
		panic("no memory for the methods of a file")
	}
	methods := at[lib.Tsqlite3_io_methods](m)
	*methods = *at[lib.Tsqlite3_io_methods](base)
	methods.FiVersion = min(methods.FiVersion, 2) // no memory maps, which would pass us by
	if ofLog {
		methods.FxRead, methods.FxWrite = address(readFrame), address(writeFrame)
		methods.FxSync, methods.FxTruncate = address(syncLog), address(truncateLog)
		methods.FxFileSize, methods.FxClose = address(sizeOfLog), address(closeLog)
	} else {
		methods.FxRead, methods.FxWrite, methods.FxShmLock = address(readPage), address(writePage), address(lockLog)
	}
	pageVFS.methods[kind] = m
	return m
}

type methodsOf struct {
	base  uintptr
	ofLog bool
}

// readPage reads as the ordinary file system does, and refuses a page whose checksum is wrong.
func readPage(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f := stateOf(file)
	rc := f.read(tls, file, buffer, n, offset)
	if rc != lib.SQLITE_OK {
		return rc
	}
	page := unsafe.Slice(at[byte](buffer), n) // #nosec G103 -- SQLite's own memory
	f.look(page, offset)
	if f.covers(page, offset) && !f.trusting && !isSound(page, f.numberAt(offset)) {
		noteUnsound(libc.GoString(f.name), f.numberAt(offset))
		return int32(Unsound)
	}
	return rc
}

// writePage gives a page its checksum on the way into the file.
func writePage(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f := stateOf(file)
	page := unsafe.Slice(at[byte](buffer), n) // #nosec G103 -- SQLite's own memory
	f.look(page, offset)
	if f.covers(page, offset) {
		stamp(page, f.numberAt(offset))
	}
	return f.write(tls, file, buffer, n, offset)
}

// read and write are the ordinary file system's.
func (f *pageFile) read(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	read := *(*pageFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxRead)) // #nosec G103 -- SQLite's own memory
	return read(tls, file, buffer, n, offset)
}

func (f *pageFile) write(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	write := *(*pageFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxWrite)) // #nosec G103 -- SQLite's own memory
	return write(tls, file, buffer, n, offset)
}

// openRaw opens a connection by SQLite's own API, for what no driver offers.
func openRaw(tls *libc.TLS, path string) (db uintptr, err error) {
	name, err := libc.CString(path)
	if err != nil {
		return 0, err
	}
	defer libc.Xfree(tls, name)
	out := tls.Alloc(int(unsafe.Sizeof(db)))
	defer tls.Free(int(unsafe.Sizeof(db)))
	rc := lib.Xsqlite3_open_v2(tls, name, out, lib.SQLITE_OPEN_READWRITE|lib.SQLITE_OPEN_NOMUTEX, 0)
	return *at[uintptr](out), sqlite.ResultCode(rc).ToError()
}

// reserveBytes has SQLite leave room for a checksum at the end of each page.
func reserveBytes(tls *libc.TLS, db uintptr) error {
	n := tls.Alloc(4)
	defer tls.Free(4)
	*at[int32](n) = Bytes
	return sqlite.ResultCode(lib.Xsqlite3_file_control(tls, db, 0, lib.SQLITE_FCNTL_RESERVE_BYTES, n)).ToError()
}

// execRaw runs statements that return nothing we need.
func execRaw(tls *libc.TLS, db uintptr, statements string) error {
	text, err := libc.CString(statements)
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, text)
	return sqlite.ResultCode(lib.Xsqlite3_exec(tls, db, text, 0, 0, 0)).ToError()
}

// look learns from the file's header, which SQLite reads first, whether there are checksums.
func (f *pageFile) look(b []byte, offset int64) {
	if offset != 0 || len(b) < 100 || string(b[:16]) != "SQLite format 3\x00" {
		return
	}
	f.pageSize = 0
	if b[20] == Bytes {
		f.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
	}
}

func (f *pageFile) covers(b []byte, offset int64) bool {
	return f.pageSize >= SmallestPage && int64(len(b)) == f.pageSize && offset%f.pageSize == 0
}

func (f *pageFile) numberAt(offset int64) uint32 { return uint32(offset/f.pageSize) + 1 }

func stateOf(file uintptr) *pageFile {
	return at[pageFile](file + uintptr(pageVFS.base.FszOsFile))
}

// at returns what is at an address of SQLite's memory, which is not Go's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) } // #nosec G103 -- SQLite's own memory

// address returns a function as SQLite, translated from C, calls it.
func address(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] } // #nosec G103 -- SQLite's own memory

// The functions of SQLite's file systems that we stand before.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	pageFunc     = func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
	sizeFunc     = func(tls *libc.TLS, file, size uintptr) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
	lockFunc     = func(tls *libc.TLS, file uintptr, first, n, flags int32) int32
)
