//go:build !linux

package media

import (
	"io/fs"
	"time"
)

// changed returns what names this state of a file, and when it came about.
func changed(info fs.FileInfo) (state string, at time.Time) {
	return info.ModTime().String(), info.ModTime()
}
