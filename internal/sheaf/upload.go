package sheaf

import (
	"fmt"
	"time"
)

const (
	// MaxUploads is how many uploads a key, or a person in the console, may have begun and not
	// finished.
	MaxUploads = 10
	// UploadsKept is for how long an upload waits for its next piece, and UploadsAnnounced for how long
	// it waits for its first byte.
	UploadsKept      = 24 * time.Hour
	UploadsAnnounced = time.Hour
	// UploadsShare is the part of a workspace's quota that its unfinished uploads reserve together:
	// one in so many.
	UploadsShare = 4
	// MaxMedium is the largest medium, unless the operator says otherwise, and MaxMaxMedium what the
	// operator may say.
	MaxMedium    = 2 << 30
	MaxMaxMedium = 5 << 30
)

// Upload is a medium that arrives piece by piece. When its last byte is stored, it becomes a medium
// with its ID, and is an upload no more.
type Upload struct {
	ID         MediumID
	Filename   string
	DocumentID *DocumentID // that the medium will belong to; nil: to none
	Length     int64       // that was announced
	Offset     int64       // so many bytes are there
	// State is what whoever keeps the bytes needs to go on.
	State []byte
	// Reserved is what it counts in the storage of its workspace: its length, or nothing while a
	// medium counts for it.
	Reserved int64
	// Owner is the key that began it, or the user who did so in the console.
	Owner   KeyID
	Expires time.Time // when it is taken for abandoned
}

// Whole reports whether all of its bytes are there.
func (u *Upload) Whole() bool { return u.Offset == u.Length }

// CheckUploadLength returns Invalid, or PAYLOAD_TOO_LARGE, unless a medium may have that many bytes.
func CheckUploadLength(length, most int64) error {
	if length < 1 {
		return Invalidf("Upload-Length must be 1 or more: an empty file is none")
	}
	if length > most {
		return &Error{Kind: TooLarge, Code: CodeTooLarge,
			Text: fmt.Sprintf("Upload-Length is %d, and a medium has %d bytes at most: make the file smaller", length, most)}
	}
	return nil
}
