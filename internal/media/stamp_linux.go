package media

import (
	"io/fs"
	"strconv"
	"syscall"
	"time"
)

// changed returns a text that identifies this state of a file, and the time of the change. The
// kernel sets the change time: no program can set it back.
func changed(info fs.FileInfo) (state string, at time.Time) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime().String(), info.ModTime()
	}
	at = time.Unix(st.Ctim.Unix())
	return strconv.FormatUint(uint64(st.Dev), 36) + " " + strconv.FormatUint(st.Ino, 36) + " " + strconv.FormatInt(at.UnixNano(), 36), at
}
