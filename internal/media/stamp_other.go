//go:build !linux

package media

import (
	"io/fs"
	"time"
)

// changed returns a text that identifies this state of a file, and the time of the change.
func changed(info fs.FileInfo) (state string, at time.Time) {
	return info.ModTime().String(), info.ModTime()
}
