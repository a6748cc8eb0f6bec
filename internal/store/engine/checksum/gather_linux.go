package checksum

import (
	lib "modernc.org/sqlite/lib"

	"golang.org/x/sys/unix"
)

// bringOut asks the kernel to start writing n bytes of a file to the disk. It blocks only if the
// disk's queue is full. It is a hint: the sync writes the rest.
func bringOut(file uintptr, offset, n int64) {
	_ = unix.SyncFileRange(int(at[lib.TunixFile](file).Fh), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
