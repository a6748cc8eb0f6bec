package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unsafe"

	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Another program that writes to the file while no server runs leaves pages
// without our checksum, or with that of what the page was before. The second
// look the same as damage, so a person has to say who it was: `sheaf repair`.
// Where not even the first page has one, the whole file was written anew
// (VACUUM, VACUUM INTO), which damage never looks like: that is taken over by
// itself.

// trusted are the files whose pages are believed by connections that are opened
// now, by path as SQLite has it; unsound is the page of a file that was last
// refused.
var trusted = struct {
	mu      sync.Mutex // guards both
	files   map[string]bool
	unsound map[string]uint32
}{files: map[string]bool{}, unsound: map[string]uint32{}}

// trust has every page of the file believed until done is called.
func trust(path string) (done func(), err error) {
	if path, err = fullPath(path); err != nil {
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

func isTrusted(path string) bool {
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	return trusted.files[path]
}

// noteUnsound remembers which page was refused, for the text of the error.
func noteUnsound(path string, number uint32) {
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	trusted.unsound[path] = number
}

// takeUnsound returns that page, 0 when there is none, and forgets it.
func takeUnsound(path string) uint32 {
	path, err := fullPath(path)
	if err != nil {
		return 0
	}
	trusted.mu.Lock()
	defer trusted.mu.Unlock()
	defer delete(trusted.unsound, path)
	return trusted.unsound[path]
}

// fullPath returns a path as SQLite has it.
func fullPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// OpenTrusting opens an SQLite file without looking at its checksums, to find
// out with Doctor whether it is sound, and then to Restamp it. Nothing may be
// served from it, and no other store of this process may have it open.
func OpenTrusting(ctx context.Context, o Options) (*Store, error) {
	path := filepath.Join(o.Folder, FileName)
	reserved, err := reservedBytes(path)
	if err != nil {
		return nil, fmt.Errorf("there is no database to repair (%w): name its folder with --data", err)
	}
	if reserved != checksumBytes {
		return nil, fmt.Errorf("the pages of %s have no checksums: there is nothing to repair", path)
	}
	done, err := trust(path)
	if err != nil {
		return nil, err
	}
	s, err := Open(ctx, o)
	if err != nil {
		done()
		return nil, err
	}
	s.engine.(*sqliteEngine).trusts = done
	return s, nil
}

// Unsound returns how many pages of the SQLite file have no checksum, or
// another than they should, and how many there are.
func (s *Store) Unsound() (unsound, pages int64, err error) {
	return s.engine.(*sqliteEngine).checkpoints.hold.pages(func([]byte, uint32) (bool, error) { return false, nil })
}

// Restamp gives every page of the SQLite file its checksum, whatever it holds,
// and returns how many had none, or another.
func (s *Store) Restamp() (int64, error) {
	n, _, err := s.engine.(*sqliteEngine).checkpoints.hold.pages(func([]byte, uint32) (bool, error) { return true, nil })
	return n, err
}

// adoptFile takes over a file that another program wrote as a whole. It is
// refused unless SQLite finds it sound, and unless each page is without a
// checksum or has the right one, as after an adoption that was interrupted.
func adoptFile(path string, log *slog.Logger) error {
	done, err := trust(path)
	if err != nil {
		return err
	}
	defer done()
	c, err := openConn(path, false)
	if err != nil {
		return err
	}
	defer c.close()
	if err := checkIntegrity(c.c, path, "PRAGMA integrity_check(1)"); err != nil {
		return err
	}
	h, err := holdLog(path)
	if err != nil {
		return err
	}
	defer h.release()
	if err := h.await(busyTimeout); err != nil {
		return err
	}
	_, _, err = h.pages(func(page []byte, number uint32) (bool, error) {
		if stampOf(page) != 0 {
			noteUnsound(h.path, number)
			return false, damaged(path, errors.New("it is not as it was written"))
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	n, all, err := h.pages(func([]byte, uint32) (bool, error) { return true, nil })
	if err == nil {
		log.Info("took over a database file that another program wrote as a whole", "path", path, "pages", all, "without_checksum", n)
	}
	return err
}

// await waits until this process has the lock.
func (h *hold) await(limit time.Duration) error {
	const pause = 10 * time.Millisecond
	for ; !h.has(); time.Sleep(pause) {
		if err := h.retry(); err != nil {
			return err
		}
		if limit -= pause; limit < 0 {
			return errors.New("another process uses the database file: stop it first")
		}
	}
	return nil
}

// pages calls each for the unsound pages of the file, the first one last, and
// gives those their checksum for which it returns true. The log is left alone:
// what is in it gets its checksums on the way into the file, which stands still
// meanwhile.
func (h *hold) pages(each func(page []byte, number uint32) (restamp bool, err error)) (unsound, all int64, err error) {
	if err := h.await(busyTimeout); err != nil {
		return 0, 0, err
	}
	f := stateOf(h.file)
	size := f.pageSize
	if size < smallestPage {
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
		if number == 1 { // whatever else was stamped is on the disk before it
			err = h.sync()
		}
		stamp(page, uint32(number))
		rc := f.write(h.tls, h.file, buffer+uintptr(size)-checksumBytes, checksumBytes, offset+size-checksumBytes)
		if err = errors.Join(err, sqlite.ResultCode(rc).ToError()); err != nil {
			return 0, 0, err
		}
	}
	return unsound, all, h.sync()
}

func (h *hold) size() (int64, error) {
	size := *(*sizeFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](stateOf(h.file).methods).FxFileSize)) // #nosec G103 -- SQLite's own memory
	out := h.tls.Alloc(8)
	defer h.tls.Free(8)
	rc := size(h.tls, h.file, out)
	return *at[int64](out), sqlite.ResultCode(rc).ToError()
}

func (h *hold) sync() error {
	sync := *(*syncFunc)(unsafe.Pointer(&at[lib.Tsqlite3_io_methods](stateOf(h.file).methods).FxSync)) // #nosec G103 -- SQLite's own memory
	return sqlite.ResultCode(sync(h.tls, h.file, lib.SQLITE_SYNC_FULL)).ToError()
}

// isUnstamped reports whether the first page of a file of ours lacks its
// checksum. Whatever else may be wrong with it is others' to find.
func isUnstamped(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var header [100]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return false
	}
	page := make([]byte, binary.BigEndian.Uint16(header[16:]))
	if header[20] != checksumBytes || binary.BigEndian.Uint32(header[68:]) != applicationID || len(page) < smallestPage {
		return false
	}
	_, err = f.ReadAt(page, 0)
	return err == nil && stampOf(page) == 0
}

// checkIntegrity refuses a file in which SQLite finds something wrong.
func checkIntegrity(c *sqlite.Conn, path, pragma string) error {
	verdict := "ok"
	err := sqlitex.ExecuteTransient(c, pragma, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		verdict = s.ColumnText(0)
		return nil
	}})
	if err != nil {
		return damaged(path, err)
	}
	if verdict != "ok" {
		return damaged(path, errors.New(verdict))
	}
	return nil
}
