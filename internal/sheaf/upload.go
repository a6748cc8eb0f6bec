package sheaf

import (
	"fmt"
	"time"
)

const (
	// MaxUploads is the largest number of unfinished uploads of a key, or of a person in the
	// console.
	MaxUploads = 10
	// UploadsKept is how long an upload waits for its next piece, and UploadsAnnounced how long it
	// waits for its first byte.
	UploadsKept      = 24 * time.Hour
	UploadsAnnounced = time.Hour
	// UploadsShare is the divisor of the share of a workspace's quota that its unfinished uploads
	// may reserve: a quarter.
	UploadsShare = 4
	// MaxMedium is the default size of the largest medium, and MaxMaxMedium the largest that an
	// operator may set.
	MaxMedium    = 2 << 30
	MaxMaxMedium = 5 << 30
)

// Upload is a medium that arrives in pieces. When its last byte is stored, it becomes a medium with
// the same ID, and is no longer an upload.
type Upload struct {
	ID         MediumID
	Filename   string
	DocumentID *DocumentID // document of the future medium; nil: none
	Length     int64       // announced length
	Offset     int64       // number of bytes stored so far
	// State is what the media storage needs to continue.
	State []byte
	// Reserved is what it counts against the workspace's storage: its length, or 0 once a pending
	// medium counts instead.
	Reserved int64
	// Owner is the key that began it, or the user who did so in the console.
	Owner   KeyID
	Expires time.Time // when it counts as abandoned
}

// Whole reports whether all of its bytes are stored.
func (u *Upload) Whole() bool { return u.Offset == u.Length }

// CheckUploadLength returns Invalid or PAYLOAD_TOO_LARGE unless a medium may have `length` bytes.
func CheckUploadLength(length, most int64) error {
	if length < 1 {
		return Invalidf("Upload-Length must be 1 or more: a file cannot be empty")
	}
	if length > most {
		return &Error{Kind: TooLarge, Code: CodeTooLarge,
			Text: fmt.Sprintf("Upload-Length is %d, and a medium has %d bytes at most: make the file smaller", length, most)}
	}
	return nil
}
