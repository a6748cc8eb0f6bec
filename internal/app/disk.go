package app

import (
	"time"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
)

// largeText is the size in bytes from which a text is refused while the disk is tight.
const largeText = 64 << 10

// diskBelow returns Unavailable if the disk has reached the level `most`. Requests that need much
// room are refused at disk.Tight, all but deletions at disk.Full.
func (a *App) diskBelow(most disk.Level) error {
	switch at := a.disk.Level(); {
	case at < most:
		return nil
	case at == disk.Full:
		return noRoom("the disk of this service is full, there is no room to write: nothing was changed; delete what nobody needs, which works, and repeat the request then")
	}
	return noRoom("the disk of this service is nearly full, there is no room for files, reported events, large texts and batches: nothing was kept; delete what nobody needs, or repeat the request later")
}

// admitFile returns Unavailable if the disk has no room for `bytes` more bytes of a file. The
// caller calls done after they are written.
func (a *App) admitFile(bytes int64) (done func(), err error) {
	done, ok := a.disk.Admit(bytes)
	if !ok {
		return nil, noRoom("there is no room left where this service keeps its files: nothing was kept; delete files that nobody needs, or repeat the request later")
	}
	return done, nil
}

func noRoom(text string) error {
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Minute, Text: text}
}
