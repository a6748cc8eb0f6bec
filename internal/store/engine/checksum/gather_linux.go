package checksum

import (
	lib "modernc.org/sqlite/lib"

	"golang.org/x/sys/unix"
)

// bringOut has the kernel begin to write so many bytes of a file to the disk. It waits only where the
// disk's queue is full. It is a hint: what is not begun then, the sync does.
func bringOut(file uintptr, offset, n int64) {
	_ = unix.SyncFileRange(int(at[lib.TunixFile](file).Fh), offset, n, unix.SYNC_FILE_RANGE_WRITE)
}
