package app

import (
	"context"
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
		return noRoom("the disk of this service is full, so there is no room to write, and nothing was changed: delete what is not needed, which still works, and repeat the request")
	}
	return noRoom("the disk of this service is nearly full, so there is no room for files, reported events, large texts and batches, and nothing was stored: delete what is not needed, or repeat the request later")
}

// admitFile returns Unavailable if the disk has no room for `bytes` more bytes of a file. The
// caller calls done after they are written.
func (a *App) admitFile(bytes int64) (done func(), err error) {
	done, ok := a.disk.Admit(bytes)
	if !ok {
		return nil, noRoom("the service has no room left for files, and nothing was stored: delete files that are not needed, or repeat the request later")
	}
	return done, nil
}

// importedRow bounds the bytes of an imported record without its text, with its event.
const importedRow = 4 << 10

// RoomToImport returns Unavailable if importing the records would use the reserve of the disk.
func (o Operator) RoomToImport(ctx context.Context, batch []ImportRecord) error {
	var bytes int64
	for _, r := range batch {
		bytes += importedRow + int64(len(r.Content()))
	}
	if !o.app.disk.Fits(ctx, bytes) {
		return errImportNoRoom
	}
	return nil
}

// errImportNoRoom is the error of an import that would use the reserve.
var errImportNoRoom = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable,
	Text: "the disk is nearly full, and an import may not use the room that is kept free: make room on the disk, or set a smaller --disk-reserve"}

func noRoom(text string) error {
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Minute, Text: text}
}
