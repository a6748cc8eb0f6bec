package disk

import (
	"errors"
	"os"
	"syscall"
)

// stat asks the operating system.
func stat(path string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	return Space{Free: int64(s.Bavail) * s.Bsize, Total: int64(s.Blocks) * s.Bsize}, nil
}

// keepBallast makes the ballast unless it is there. A file system that cannot allocate ahead gets none.
func keepBallast(path string, bytes int64) {
	if _, err := os.Stat(path); err == nil {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, bytes); err != nil && !errors.Is(err, syscall.EOPNOTSUPP) {
		_ = os.Remove(path) // there is no room for it
	}
}
