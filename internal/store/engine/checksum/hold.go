package checksum

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// checkpointLock is the number of SQLite's checkpoint lock.
const checkpointLock = 1

// A Hold keeps SQLite's checkpoint lock in this process as long as a store has the file open. Other
// programs can then read, and write into the log, but only we write the file: their pages get a
// checksum when we copy them. Between our own connections the lock is passed on in memory.
type Hold struct {
	path  string
	users int // stores of this process that use the Hold
	tls   *libc.TLS
	db    uintptr
	file  uintptr // file of the connection that has SQLite's lock; 0: another process has it
	// inUse is the file of our connection that uses the lock at the moment; 0: none.
	inUse uintptr
}

// holds are the Holds of this process, by path as SQLite knows it.
var holds struct {
	mu sync.Mutex // guards all of it, and every hold
	by map[string]*Hold
}

// Hold takes the lock, now or as soon as Retry finds it free; wait limits the wait for other
// connections until the log is open. The database must be in WAL mode.
func (f File) Hold(wait time.Duration) (*Hold, error) {
	tls := libc.NewTLS()
	db, err := openRaw(tls, f.path)
	if err == nil {
		lib.Xsqlite3_busy_timeout(tls, db, int32(wait.Milliseconds()))
		err = execRaw(tls, db, "SELECT 1 FROM sqlite_schema") // opens the log
	}
	var file uintptr
	if err == nil {
		file, err = fileOf(tls, db)
	}
	if err != nil {
		lib.Xsqlite3_close(tls, db)
		tls.Close()
		return nil, err
	}
	name := libc.GoString(stateOf(file).name)
	holds.mu.Lock()
	defer holds.mu.Unlock()
	if h := holds.by[name]; h != nil { // another store of this process has it
		h.users++
		lib.Xsqlite3_close(tls, db)
		tls.Close()
		return h, nil
	}
	h := &Hold{path: name, users: 1, tls: tls, db: db}
	if holds.by == nil {
		holds.by = map[string]*Hold{}
	}
	holds.by[name] = h
	h.lock(file)
	return h, nil
}

// Has reports whether this process has the lock.
func (h *Hold) Has() bool {
	holds.mu.Lock()
	defer holds.mu.Unlock()
	return h.file != 0
}

// Retry takes the lock if another process had it and has released it.
func (h *Hold) Retry() error {
	holds.mu.Lock()
	defer holds.mu.Unlock()
	if h.file != 0 || h.users == 0 {
		return nil
	}
	file, err := fileOf(h.tls, h.db)
	if err == nil {
		h.lock(file)
	}
	return err
}

// lock takes SQLite's lock on the connection of `file`, if no other process has it.
func (h *Hold) lock(file uintptr) {
	if lockOf(file)(h.tls, file, checkpointLock, 1, lib.SQLITE_SHM_LOCK|lib.SQLITE_SHM_EXCLUSIVE) == lib.SQLITE_OK {
		h.file = file
	}
}

// Release releases the lock once the last store of this process has called it.
func (h *Hold) Release() {
	holds.mu.Lock()
	defer holds.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if h.file != 0 {
		lockOf(h.file)(h.tls, h.file, checkpointLock, 1, lib.SQLITE_SHM_UNLOCK|lib.SQLITE_SHM_EXCLUSIVE)
		h.file = 0
	}
	delete(holds.by, h.path)
	lib.Xsqlite3_close(h.tls, h.db)
	h.tls.Close()
}

// lockLog replaces SQLite's locking of the log's index. It differs only for the lock that this
// process holds.
func lockLog(tls *libc.TLS, file uintptr, first, n, flags int32) int32 {
	lock := lockOf(file)
	if first > checkpointLock || first+n <= checkpointLock {
		return lock(tls, file, first, n, flags)
	}
	holds.mu.Lock()
	defer holds.mu.Unlock()
	h := holds.by[libc.GoString(stateOf(file).name)]
	if h == nil || h.file == 0 {
		return lock(tls, file, first, n, flags)
	}
	locks := flags&lib.SQLITE_SHM_LOCK != 0
	if locks && h.inUse != 0 {
		return lib.SQLITE_BUSY
	}
	if n > 1 { // to recover the log, SQLite also takes the locks after this one
		if rc := lock(tls, file, first+1, n-1, flags); rc != lib.SQLITE_OK {
			return rc
		}
	}
	switch {
	case locks:
		h.inUse = file
	case h.inUse == file:
		h.inUse = 0
	}
	return lib.SQLITE_OK
}

// lockOf returns the lock function of the ordinary file system.
func lockOf(file uintptr) lockFunc {
	return *(*lockFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](stateOf(file).methods).FxShmLock)) // #nosec G103 -- SQLite's own memory
}

// fileOf returns SQLite's record of a connection's database file.
func fileOf(tls *libc.TLS, db uintptr) (uintptr, error) {
	out := tls.Alloc(int(unsafe.Sizeof(db)))
	defer tls.Free(int(unsafe.Sizeof(db)))
	if rc := lib.Xsqlite3_file_control(tls, db, 0, lib.SQLITE_FCNTL_FILE_POINTER, out); rc != lib.SQLITE_OK {
		return 0, fmt.Errorf("find the file of a connection: %w", sqlite.ResultCode(rc).ToError())
	}
	return *at[uintptr](out), nil
}
