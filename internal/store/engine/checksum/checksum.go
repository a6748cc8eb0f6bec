// Package checksum adds checksums to SQLite's pages. It is the only package of Sheaf that uses the
// driver's memory and unsafe. It is an SQLite file system (VFS) that differs from the ordinary one
// only in reading and writing pages, and in one lock. It has two entry points: Register installs it
// for every connection, and Of names a file.
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

// SQLite does not verify what it reads: a rotten byte in a text would be served. So every page of
// our file ends with a checksum of its content and number, in bytes that SQLite reserves for us. A
// page that does not match is an I/O error: 503, never a wrong 200.
//
// A page gets its checksum when it is written to the write-ahead log (frames.go), so it is right
// whichever program copies the log into the file. Pages that another program wrote get it when we
// copy them, and while we have the file open only we do that (hold.go).
const (
	// Bytes is the number of bytes reserved at the end of each page.
	Bytes = 4
	// Unsound is the result code of reading a page with a wrong checksum.
	Unsound = sqlite.ResultCode(lib.SQLITE_IOERR_DATA)
	// SmallestPage is the smallest size of an SQLite file, in bytes.
	SmallestPage = 512
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// unsteady are the ranges of the first page's header that SQLite changes in a copy of a sound file
// (".backup"): versions and change counters. The checksum does not cover them: damage in them
// changes no answer.
var unsteady = [][2]int{{18, 20}, {24, 28}, {40, 44}, {92, 100}}

// checksum returns the checksum of a page. It covers the number, so that a page in the wrong place
// is damage.
func checksum(page []byte, number uint32) uint32 {
	if number == 1 && len(page) >= 100 {
		page = slices.Clone(page)
		for _, b := range unsteady {
			clear(page[b[0]:b[1]])
		}
	}
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], number)
	return crc32.Update(crc32.Checksum(n[:], castagnoli), castagnoli, page[:len(page)-Bytes])
}

// stampOf returns the checksum stored in a page.
func stampOf(page []byte) uint32 {
	return binary.LittleEndian.Uint32(page[len(page)-Bytes:])
}

func stamp(page []byte, number uint32) {
	binary.LittleEndian.PutUint32(page[len(page)-Bytes:], checksum(page, number))
}

func isSound(page []byte, number uint32) bool {
	return stampOf(page) == checksum(page, number)
}

// pageFile is our state of an open file. It is stored after SQLite's own, in SQLite's memory, so it
// must not contain Go pointers.
type pageFile struct {
	methods  uintptr // methods of the ordinary file system
	name     uintptr // path, as SQLite got it
	pageSize int64   // of a database: its page size; 0: no checksums, or not known yet
	trusting bool    // of a database: checksums are not verified
	plain    bool    // the database has no pages that map pointers (auto_vacuum)
	frame    int64   // of a log: offset of the frame header written last
	number   uint32  // of a log: page number in that header
	last     bool    // of a log: that header ends a transaction
	gathered gathered
}

var pageVFS struct {
	once sync.Once
	err  error
	base lib.Tsqlite3_vfs // the ordinary file system

	mu      sync.Mutex // guards methods
	methods map[methodsOf]uintptr
}

// Register makes every connection that is opened from now on use the file system with checksums.
// Files without reserved bytes are read and written as usual. These connections also keep their
// query plans (plans.go). Calling it again does nothing.
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

// registerVFS copies SQLite's ordinary file system, replaces the function that opens files, and
// makes the copy the default.
func registerVFS(tls *libc.TLS) error {
	if rc := lib.Xsqlite3_initialize(tls); rc != lib.SQLITE_OK {
		return fmt.Errorf("initialize SQLite: result %d", rc)
	}
	pageVFS.base = *at[lib.Tsqlite3_vfs](lib.Xsqlite3_vfs_find(tls, 0))
	// SQLite keeps both until the process ends.
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

// openPages opens a file as usual, and replaces the methods of a database or its log.
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

// ourMethods returns a copy of a file's methods with our own for pages, or for the frames of a log.
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
	methods.FiVersion = min(methods.FiVersion, 2) // no memory maps, which would bypass us
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

// readPage reads like the ordinary file system, and returns Unsound for a page whose checksum is
// wrong.
func readPage(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f := stateOf(file)
	rc := f.read(tls, file, buffer, n, offset)
	if rc != lib.SQLITE_OK {
		return rc
	}
	page := unsafe.Slice(at[byte](buffer), n) // #nosec G103 -- SQLite's own memory
	f.readHeader(page, offset)
	if f.covers(page, offset) && !f.trusting && !isSound(page, f.numberAt(offset)) {
		noteUnsound(libc.GoString(f.name), f.numberAt(offset))
		return int32(Unsound)
	}
	return rc
}

// writePage clears the gap of a page, adds the checksum, and writes the page to the file.
func writePage(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	f := stateOf(file)
	page := unsafe.Slice(at[byte](buffer), n) // #nosec G103 -- SQLite's own memory
	f.readHeader(page, offset)
	if f.covers(page, offset) {
		if f.plain && f.isSmall(tls, file) {
			clearGap(page, f.numberAt(offset))
		}
		stamp(page, f.numberAt(offset))
	}
	return f.write(tls, file, buffer, n, offset)
}

// read and write call the ordinary file system.
func (f *pageFile) read(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	read := *(*pageFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxRead)) // #nosec G103 -- SQLite's own memory
	return read(tls, file, buffer, n, offset)
}

func (f *pageFile) write(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32 {
	write := *(*pageFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxWrite)) // #nosec G103 -- SQLite's own memory
	return write(tls, file, buffer, n, offset)
}

// openRaw opens a connection by SQLite's own API, for features that the driver lacks.
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

// reserveBytes makes SQLite reserve room for a checksum at the end of each page.
func reserveBytes(tls *libc.TLS, db uintptr) error {
	n := tls.Alloc(4)
	defer tls.Free(4)
	*at[int32](n) = Bytes
	return sqlite.ResultCode(lib.Xsqlite3_file_control(tls, db, 0, lib.SQLITE_FCNTL_RESERVE_BYTES, n)).ToError()
}

// execRaw runs statements whose results are not needed.
func execRaw(tls *libc.TLS, db uintptr, statements string) error {
	text, err := libc.CString(statements)
	if err != nil {
		return err
	}
	defer libc.Xfree(tls, text)
	return sqlite.ResultCode(lib.Xsqlite3_exec(tls, db, text, 0, 0, 0)).ToError()
}

// readHeader reads from the file's header, which SQLite reads first, whether the file has checksums.
func (f *pageFile) readHeader(b []byte, offset int64) {
	if offset != 0 || len(b) < 100 || string(b[:16]) != "SQLite format 3\x00" {
		return
	}
	f.pageSize = 0
	if b[20] == Bytes {
		f.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
		f.plain = binary.BigEndian.Uint32(b[52:]) == 0
	}
}

func (f *pageFile) covers(b []byte, offset int64) bool {
	return f.pageSize >= SmallestPage && int64(len(b)) == f.pageSize && offset%f.pageSize == 0
}

func (f *pageFile) numberAt(offset int64) uint32 { return uint32(offset/f.pageSize) + 1 }

func stateOf(file uintptr) *pageFile {
	return at[pageFile](file + uintptr(pageVFS.base.FszOsFile))
}

// at returns a pointer to an address in SQLite's memory, which Go does not manage.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) } // #nosec G103 -- SQLite's own memory

// address returns the pointer by which SQLite, translated from C, calls a Go function.
func address(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] } // #nosec G103 -- SQLite's own memory

// The functions of SQLite's file systems that we replace or call.
type (
	openFunc     = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	pageFunc     = func(tls *libc.TLS, file, buffer uintptr, n int32, offset int64) int32
	sizeFunc     = func(tls *libc.TLS, file, size uintptr) int32
	closeFunc    = func(tls *libc.TLS, file uintptr) int32
	truncateFunc = func(tls *libc.TLS, file uintptr, size int64) int32
	syncFunc     = func(tls *libc.TLS, file uintptr, flags int32) int32
	lockFunc     = func(tls *libc.TLS, file uintptr, first, n, flags int32) int32
)
