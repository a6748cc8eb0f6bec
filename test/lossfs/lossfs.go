// Package lossfs is a folder that knows what a power cut leaves of it. It is mounted by FUSE, keeps
// its files in memory and writes down every operation, so that the state of the disk after a cut at
// any of them can be made afterwards: what was not synced is gone, or there in part. An operation
// can also be made to fail.
package lossfs

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Kind is what an operation does.
type Kind string

// The operations that change something, and Mark, which a test adds between them.
const (
	Create   Kind = "create"
	Mkdir    Kind = "mkdir"
	Link     Kind = "link"
	Rename   Kind = "rename"
	Unlink   Kind = "unlink"
	Write    Kind = "write"
	Truncate Kind = "truncate"
	Sync     Kind = "sync"
	SyncDir  Kind = "syncdir"
	Mark     Kind = "mark"
)

// Op is one operation.
type Op struct {
	Kind   Kind
	File   int    // its number; names come and go
	Name   string // of an entry: its path below the mounted folder; of a SyncDir, that of the folder
	From   string // the old path of a Rename
	Offset int64  // of a Write; the size of a Truncate
	Data   []byte
	Mark   int
	Err    syscall.Errno // it failed with this
}

// Folder is a mounted folder, with folders in it.
type Folder struct {
	server *fuse.Server
	root   *dir

	mu    sync.Mutex // guards what follows
	log   []Op
	files int
	fault func(Op) syscall.Errno
}

// MountAt mounts an empty folder over an empty one. It needs root, or fusermount3.
func MountAt(path string) (*Folder, error) {
	f := &Folder{}
	f.root = &dir{folder: f}
	server, err := fs.Mount(path, f.root, &fs.Options{MountOptions: fuse.MountOptions{DirectMount: true, FsName: "lossfs", Name: "lossfs"}})
	if err != nil {
		return nil, fmt.Errorf("mount a folder by FUSE (is there /dev/fuse, and Debian's fuse3?): %w", err)
	}
	f.server = server
	return f, nil
}

// Unmount ends it. Nothing may be open in it. A process that another test is starting has copies of
// all open files for a moment, so a busy folder is tried again.
func (f *Folder) Unmount() (err error) {
	for range 600 {
		if err = f.server.Unmount(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond) // the kernel gives no signal when the last file is closed
	}
	return err
}

// Mark adds a mark between what was done before and what is done after.
func (f *Folder) Mark(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, Op{Kind: Mark, Mark: n})
}

// Log returns what was done so far.
func (f *Folder) Log() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// Inject has every operation ask fault whether to fail, and with what; nil: none does. A Sync that
// fails forgets: what it should have written is not durable, and a later Sync that succeeds does
// not make it so.
func (f *Folder) Inject(fault func(Op) syscall.Errno) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

// do writes an operation down and, unless it is to fail, runs it. SQLite's index in shared memory
// is rebuilt after every cut, so its operations are none of ours.
func (f *Folder) do(op Op, run func()) syscall.Errno {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.HasSuffix(op.Name, "-shm") {
		run()
		return 0
	}
	if f.fault != nil {
		op.Err = f.fault(op)
	}
	op.Data = slices.Clone(op.Data)
	f.log = append(f.log, op)
	if op.Err == 0 {
		run()
	}
	return op.Err
}

func (f *Folder) newFile(name string) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files++
	return &file{folder: f, number: f.files, name: name}
}
