package checksum

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// File is an SQLite file, which need not exist yet.
type File struct{ path string }

// Of returns the file at a path.
func Of(path string) File { return File{path} }

// Begin writes the first page of an empty file, with room for checksums, which the driver cannot
// ask for, and with the settings of pragmas. It is one transaction; if another process was first,
// it changes nothing. wait limits the wait for that process.
func (f File) Begin(wait time.Duration, pragmas string) error {
	tls := libc.NewTLS()
	defer tls.Close()
	db, err := openRaw(tls, f.path)
	defer lib.Xsqlite3_close(tls, db)
	if err != nil {
		return err
	}
	lib.Xsqlite3_busy_timeout(tls, db, int32(wait.Milliseconds()))
	if err := reserveBytes(tls, db); err != nil {
		return err
	}
	return execRaw(tls, db, "BEGIN IMMEDIATE; "+pragmas+"; COMMIT")
}

// Carries reports whether the file's header says that its pages have checksums.
func (f File) Carries() (bool, error) {
	header, err := f.header()
	return header[20] == Bytes, err
}

// header returns the file's SQLite header.
func (f File) header() (header [100]byte, err error) {
	file, err := os.Open(f.path)
	if err != nil {
		return header, err
	}
	defer file.Close()
	_, err = file.ReadAt(header[:], 0)
	return header, err
}

// trusted.files are the files, by path as SQLite knows it, whose checksums are not verified by
// connections that are opened now. trusted.unsound is the page of each file that was refused last.
var trusted = struct {
	mu      sync.Mutex // guards both
	files   map[string]bool
	unsound map[string]uint32
}{files: map[string]bool{}, unsound: map[string]uint32{}}

// Trust turns off verification for connections to the file that are opened until done is called.
func (f File) Trust() (done func(), err error) {
	path, err := f.fullPath()
	if err != nil {
		return nil, err
	}
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	trusted.files[path] = true
	return func() {
		trusted.mu.Lock()
		defer trusted.mu.Unlock()
		delete(trusted.files, path)
	}, nil
}

// IsTrusted reports whether Trust is in force.
func (f File) IsTrusted() bool {
	path, err := f.fullPath()
	return err == nil && isTrusted(path)
}

// isTrusted reports whether Trust is in force for the file at path.
func isTrusted(path string) bool {
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	return trusted.files[path]
}

// noteUnsound records which page was refused, for the error text.
func noteUnsound(path string, number uint32) {
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	trusted.unsound[path] = number
}

// Refused returns the number of the page that was refused last, or 0, and clears it.
func (f File) Refused() uint32 {
	path, err := f.fullPath()
	if err != nil {
		return 0
	}
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	defer delete(trusted.unsound, path)
	return trusted.unsound[path]
}

// fullPath returns the path as SQLite knows it.
func (f File) fullPath() (string, error) {
	path, err := filepath.Abs(f.path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// IsUnstamped reports whether the file belongs to the application and its first page has no
// checksum. It looks for no other damage.
func (f File) IsUnstamped(applicationID uint32) bool {
	header, err := f.header()
	if err != nil {
		return false
	}
	page := make([]byte, binary.BigEndian.Uint16(header[16:]))
	if header[20] != Bytes || binary.BigEndian.Uint32(header[68:]) != applicationID || len(page) < SmallestPage {
		return false
	}
	file, err := os.Open(f.path)
	if err != nil {
		return false
	}
	defer file.Close()
	_, err = file.ReadAt(page, 0)
	return err == nil && stampOf(page) == 0
}

// Unsound returns how many pages have a missing or wrong checksum, and the total number of pages.
func (h *Hold) Unsound(wait time.Duration) (unsound, all int64, err error) {
	return h.pages(wait, func([]byte, uint32) (bool, error) { return false, nil })
}

// Restamp writes the checksum of every page, whatever its content, and returns how many were
// missing or wrong.
func (h *Hold) Restamp(wait time.Duration) (stamped, all int64, err error) {
	return h.pages(wait, func([]byte, uint32) (bool, error) { return true, nil })
}

// ErrAltered is returned by Adopt for a file that has a page with a wrong checksum.
var ErrAltered = errors.New("it is not as it was written")

// Adopt is Restamp for a file that another program rewrote as a whole. If some page has a wrong
// checksum, the file is not such a file, and Adopt returns ErrAltered.
func (h *Hold) Adopt(wait time.Duration) (stamped, all int64, err error) {
	_, _, err = h.pages(wait, func(page []byte, number uint32) (bool, error) {
		if stampOf(page) != 0 {
			noteUnsound(h.path, number)
			return false, ErrAltered
		}
		return false, nil
	})
	if err != nil {
		return 0, 0, err
	}
	return h.Restamp(wait)
}

// await waits until this process has the lock and none of its connections uses it. It then keeps
// the lock from them until free, so that our own checkpointer does not write a page between reading
// and stamping it.
func (h *Hold) await(limit time.Duration) error {
	const pause = 10 * time.Millisecond
	for ; !h.acquireFree(); time.Sleep(pause) { // there is no signal when another process releases the lock
		if err := h.Retry(); err != nil {
			return err
		}
		if limit -= pause; limit < 0 {
			return errors.New("another process uses the database file: stop it first")
		}
	}
	return nil
}

// acquireFree takes the lock from our connections, unless one of them is using it.
func (h *Hold) acquireFree() bool {
	holds.mu.Lock()
	defer holds.mu.Unlock()
	if h.file == 0 || h.inUse != 0 {
		return false
	}
	h.inUse = h.file
	return true
}

// free returns the lock to them.
func (h *Hold) free() {
	holds.mu.Lock()
	defer holds.mu.Unlock()
	h.inUse = 0
}

// pages calls each for the unsound pages of the file, the first page last, and stamps those for
// which each returns true. It leaves the log alone: its pages get their checksums when they are
// copied into the file, which does not happen meanwhile.
func (h *Hold) pages(wait time.Duration, each func(page []byte, number uint32) (restamp bool, err error)) (unsound, all int64, err error) {
	if err := h.await(wait); err != nil {
		return 0, 0, err
	}
	defer h.free()
	f := stateOf(h.file)
	size := f.pageSize
	if size < SmallestPage {
		return 0, 0, errors.New("the pages of the file have no checksums")
	}
	buffer := h.tls.Alloc(int(size))
	defer h.tls.Free(int(size))
	page := unsafe.Slice(at[byte](buffer), size) // #nosec G103 -- SQLite's own memory
	if all, err = h.size(); err != nil {
		return 0, 0, err
	}
	all /= size
	for number := all; number >= 1; number-- {
		offset := (number - 1) * size
		if rc := f.read(h.tls, h.file, buffer, int32(size), offset); rc != lib.SQLITE_OK {
			return 0, 0, sqlite.ResultCode(rc).ToError()
		}
		if isSound(page, uint32(number)) {
			continue
		}
		unsound++
		restamp, err := each(page, uint32(number))
		if err != nil {
			return 0, 0, err
		}
		if !restamp {
			continue
		}
		if number == 1 { // all other stamps must be on disk before it
			if err := h.sync(); err != nil {
				return 0, 0, err
			}
		}
		stamp(page, uint32(number))
		if rc := f.write(h.tls, h.file, buffer+uintptr(size)-Bytes, Bytes, offset+size-Bytes); rc != lib.SQLITE_OK {
			return 0, 0, sqlite.ResultCode(rc).ToError()
		}
	}
	return unsound, all, h.sync()
}

// size returns the size of the file in bytes.
func (h *Hold) size() (int64, error) {
	size, rc := stateOf(h.file).sizeOf(h.tls, h.file)
	return size, sqlite.ResultCode(rc).ToError()
}

// sizeOf asks the ordinary file system for the size of the file in bytes.
func (f *pageFile) sizeOf(tls *libc.TLS, file uintptr) (size int64, rc int32) {
	ask := *(*sizeFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](f.methods).FxFileSize)) // #nosec G103 -- SQLite's own memory
	out := tls.Alloc(8)
	defer tls.Free(8)
	rc = ask(tls, file, out)
	return *at[int64](out), rc
}

func (h *Hold) sync() error {
	sync := *(*syncFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](stateOf(h.file).methods).FxSync)) // #nosec G103 -- SQLite's own memory
	return sqlite.ResultCode(sync(h.tls, h.file, lib.SQLITE_SYNC_FULL)).ToError()
}
