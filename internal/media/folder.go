package media

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// folder keeps bytes as files:
//
//	content/<workspace>/<aa>/<hash>   stored bytes; aa are the first two digits of the hash
//	uploads/<upload>                  bytes of an upload that have arrived so far
//	staging/<random name>             bytes that Put is writing
//
// A file is renamed into content when it is complete and flushed, and then the folder is flushed.
// So if the process or the machine dies, every file in content is complete. An unfinished Put
// leaves its file in staging, where Tidy finds it.
type folder struct {
	path string

	mu sync.Mutex // guards durable
	// durable has folders that are known to survive a power cut. Folders are never removed.
	durable map[string]bool
}

// maxDurable limits the memory. If there are more folders, some are flushed once more than
// necessary.
const maxDurable = 4096

const (
	contentFolder = "content"
	uploadsFolder = "uploads"
	stagingFolder = "staging"
)

const filePerm, folderPerm = 0o600, 0o700

// Folder returns a store of files below `path`, which must be on one file system and need not exist
// yet. Several processes of one machine may use it, such as a server and an import.
func Folder(path string) Store {
	return &folder{path: path, durable: map[string]bool{}}
}

// Shared returns false: other machines do not see the folder.
func (f *folder) Shared() bool { return false }

// Put implements Store.
func (f *folder) Put(ctx context.Context, key Key, size int64, r io.Reader) error {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return err
	}
	body := check(r, size, key)
	staged, err := f.stage(ctx, body)
	if err == nil {
		err = f.publish(staged, f.file(key))
	}
	if body.err != nil {
		return body.err
	}
	return failed("store a file", err)
}

// stage writes the bytes of body into a new file and flushes it. If it fails, it leaves no file.
func (f *folder) stage(ctx context.Context, body io.Reader) (path string, err error) {
	dir := filepath.Join(f.path, stagingFolder)
	if err := f.makeDurable(dir); err != nil {
		return "", err
	}
	path = filepath.Join(dir, rand.Text())
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return "", f.forget(err)
	}
	_, readErr, err := transfer(ctx, file, body)
	err = errors.Join(readErr, err)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// publish renames a complete and flushed file to its final name, durably. If the last flush fails,
// the file stays there: another medium with the same bytes may have had it before.
func (f *folder) publish(from, to string) error {
	dir := filepath.Dir(to)
	err := f.makeDurable(dir)
	if err == nil {
		err = f.forget(os.Rename(from, to))
	}
	if err != nil {
		return errors.Join(err, os.Remove(from))
	}
	return flush(dir)
}

// Open implements Store.
func (f *folder) Open(_ context.Context, key Key) (Content, error) {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return nil, err
	}
	file, err := os.Open(f.file(key))
	if err != nil {
		return nil, missing("open a file", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, failed("open a file", errors.Join(err, file.Close()))
	}
	state, at := changed(info)
	return &fileContent{file, info.Size(), stampOf(state, info.Size(), at, fileSettles)}, nil
}

// fileContent is a file that is being read. Its Read is that of os.File, so that the kernel can
// send the file without copying.
type fileContent struct {
	*os.File
	size  int64
	stamp Stamp
}

func (c *fileContent) Size() int64  { return c.size }
func (c *fileContent) Stamp() Stamp { return c.stamp }

// Remove implements Store.
func (f *folder) Remove(_ context.Context, key Key) error {
	if err := checkName("a workspace", key.Workspace); err != nil {
		return err
	}
	return failed("remove a file", remove(f.file(key)))
}

// remove removes a file durably. Even if the file does not exist, the folder is flushed: an earlier
// removal may not have been.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := flush(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List implements Store.
func (f *folder) List(ctx context.Context, workspace string, each func(Key, int64) error) error {
	if err := checkName("a workspace", workspace); err != nil {
		return err
	}
	dir := filepath.Join(f.path, contentFolder, workspace)
	return entries(ctx, dir, func(e fs.DirEntry) error {
		return entries(ctx, filepath.Join(dir, e.Name()), func(e fs.DirEntry) error {
			key, ours := parseHash(workspace, e.Name())
			if !ours {
				return nil
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				return nil
			}
			if err != nil {
				return failed("list files", err)
			}
			return each(key, info.Size())
		})
	})
}

// Workspaces implements Store.
func (f *folder) Workspaces(ctx context.Context, each func(string) error) error {
	return entries(ctx, filepath.Join(f.path, contentFolder), func(e fs.DirEntry) error {
		if checkName("a workspace", e.Name()) != nil {
			return nil
		}
		return each(e.Name())
	})
}

// Tidy implements Store.
func (f *folder) Tidy(ctx context.Context, before time.Time) (n int, err error) {
	dir := filepath.Join(f.path, stagingFolder)
	err = entries(ctx, dir, func(e fs.DirEntry) error {
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			if err = os.Remove(filepath.Join(dir, e.Name())); err == nil {
				n++
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // renamed or removed meanwhile
			return nil
		}
		return failed("remove a file", err)
	})
	return n, err
}

// entries calls each with the entries of a folder, one page at a time. A folder that does not exist
// has none.
func entries(ctx context.Context, path string, each func(fs.DirEntry) error) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failed("list files", err)
	}
	defer dir.Close()
	for {
		page, err := dir.ReadDir(256)
		for _, e := range page {
			if err := errors.Join(ctx.Err(), each(e)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return failed("list files", err)
		}
	}
}

func (f *folder) file(key Key) string {
	hash := key.Hash()
	return filepath.Join(f.path, contentFolder, key.Workspace, hash[:2], hash)
}

// makeDurable creates a folder below the store's, with its parents, and flushes their names. It
// also flushes existing folders, because another call may not have flushed them yet.
func (f *folder) makeDurable(dir string) error {
	f.mu.Lock()
	known := f.durable[dir]
	f.mu.Unlock()
	if known {
		return nil
	}
	parent := filepath.Dir(dir)
	if dir == f.path {
		if err := os.MkdirAll(parent, folderPerm); err != nil {
			return err
		}
	} else if err := f.makeDurable(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, folderPerm); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.forget(err)
	}
	if err := flush(parent); err != nil {
		return err
	}
	f.remember(dir)
	return nil
}

func (f *folder) remember(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.durable) >= maxDurable {
		clear(f.durable)
	}
	f.durable[dir] = true
}

// forget returns err. If err is not nil, folders may have been removed from outside, so the next
// call checks all of them again and creates missing ones.
func (f *folder) forget(err error) error {
	if err != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		clear(f.durable)
	}
	return err
}

// flush makes the names in a folder durable.
func flush(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// missing is failed, but returns ErrNotFound if the file does not exist.
func missing(act string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNotFound
	}
	return failed(act, err)
}
