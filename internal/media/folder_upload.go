package media

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Append implements Store. Bytes in the file after `at` are from a call whose result was not
// stored; they are overwritten.
func (f *folder) Append(ctx context.Context, upload string, at Progress, r io.Reader) (Progress, error) {
	run, err := at.resume()
	if err == nil {
		err = checkName("an upload", upload)
	}
	if err != nil {
		return at, err
	}
	file, err := f.openUpload(upload, at.Offset)
	if err != nil {
		return at, missing("open an upload", err)
	}
	n, readErr, err := transfer(ctx, io.MultiWriter(file, run.hash), r)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		// Bytes after `at` do not count, and on a full disk they would take the last room.
		err = errors.Join(err, file.Truncate(at.Offset))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return at, failed("write an upload", err)
	}
	next, err := run.at(at.Offset + n)
	if err != nil {
		return at, err
	}
	return next, readErr
}

// openUpload opens the file of an upload for writing at its end, which is `offset`. A new file's
// name is flushed before anything is written.
func (f *folder) openUpload(upload string, offset int64) (*os.File, error) {
	path := filepath.Join(f.path, uploadsFolder, upload)
	flags := os.O_WRONLY
	if offset == 0 {
		if err := f.makeDurable(filepath.Dir(path)); err != nil {
			return nil, err
		}
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flags, filePerm)
	if err != nil {
		return nil, f.forget(err)
	}
	info, err := file.Stat()
	if err == nil && info.Size() < offset {
		err = fmt.Errorf("%d bytes are there of %d: %w", info.Size(), offset, ErrNotFound)
	}
	if err == nil {
		err = file.Truncate(offset)
	}
	if err == nil {
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if offset == 0 {
		if err := flush(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return file, nil
}

// Join implements Store. The file of the upload becomes that of the key.
func (f *folder) Join(_ context.Context, upload string, at Progress, key Key) error {
	err := checkJoin(upload, at, key)
	if err != nil {
		return err
	}
	from, to := filepath.Join(f.path, uploadsFolder, upload), f.file(key)
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return f.joined(to, at.Offset)
	}
	if err != nil {
		return failed("join an upload", err)
	}
	if info.Size() != at.Offset {
		return ErrDiffers
	}
	if err = f.makeDurable(filepath.Dir(to)); err == nil {
		err = f.forget(os.Rename(from, to))
	}
	if err == nil {
		err = flush(filepath.Dir(to))
	}
	return failed("join an upload", err)
}

// joined returns nil if an earlier call has joined the upload, and flushes what that call may not
// have flushed.
func (f *folder) joined(path string, size int64) error {
	info, err := os.Stat(path)
	if err != nil {
		return missing("join an upload", err)
	}
	if info.Size() != size {
		return ErrDiffers
	}
	return failed("join an upload", flush(filepath.Dir(path)))
}

// checkJoin returns an error unless the upload has the hash of the key.
func checkJoin(upload string, at Progress, key Key) error {
	if err := errors.Join(checkName("an upload", upload), checkName("a workspace", key.Workspace)); err != nil {
		return err
	}
	sum, err := at.SHA256()
	if err == nil && sum != key.SHA256 {
		err = ErrDiffers
	}
	return err
}

// Abandon implements Store.
func (f *folder) Abandon(_ context.Context, upload string) error {
	if err := checkName("an upload", upload); err != nil {
		return err
	}
	return failed("remove an upload", remove(filepath.Join(f.path, uploadsFolder, upload)))
}

// Uploads implements Store.
func (f *folder) Uploads(ctx context.Context, each func(string) error) error {
	return entries(ctx, filepath.Join(f.path, uploadsFolder), func(e fs.DirEntry) error {
		if checkName("an upload", e.Name()) != nil {
			return nil
		}
		return each(e.Name())
	})
}
