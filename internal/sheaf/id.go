package sheaf

import (
	"encoding/hex"
	"io"
	"time"
)

// The identifiers of the nouns. Each is a UUID in lower case, except EventID, which is "evt_" and a
// UUID.
type (
	WorkspaceID    string
	UserID         string
	KeyID          string
	ProjectID      string
	FolderID       string
	DocumentID     string
	SubscriptionID string
	DeliveryID     string
	EventID        string
	InvitationID   string
	BrandingID     string
	MediumID       string
	ShareID        string
	ProposalID     string
	ReleaseID      string
)

// EventPrefix begins every event's identifier.
const EventPrefix = "evt_"

// NewUUID returns a UUIDv7 in lower case: 48 bits of now in milliseconds, and the rest from random.
// It panics if random fails, because no caller can continue without identifiers.
func NewUUID(now time.Time, random io.Reader) string {
	var u [16]byte
	if _, err := io.ReadFull(random, u[6:]); err != nil {
		panic("sheaf: the source of randomness failed: " + err.Error())
	}
	ms := uint64(now.UnixMilli())
	for i := 5; i >= 0; i-- {
		u[i] = byte(ms)
		ms >>= 8
	}
	u[6] = u[6]&0x0f | 0x70
	u[8] = u[8]&0x3f | 0x80
	return FormatUUID(u)
}

// UUIDv8 returns the UUID with the bits of b, except for its version, 8, and its variant.
func UUIDv8(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x80
	b[8] = b[8]&0x3f | 0x80
	return FormatUUID(b)
}

// FormatUUID returns the 16 bytes as 8-4-4-4-12 digits in lower case.
func FormatUUID(u [16]byte) string {
	var s [36]byte
	hex.Encode(s[0:8], u[0:4])
	hex.Encode(s[9:13], u[4:6])
	hex.Encode(s[14:18], u[6:8])
	hex.Encode(s[19:23], u[8:10])
	hex.Encode(s[24:36], u[10:16])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// ParseUUID reports whether s is 8-4-4-4-12 hexadecimal digits, of either case and any version, and
// returns it in lower case.
func ParseUUID(s string) (string, bool) {
	if len(s) != 36 {
		return "", false
	}
	var low [36]byte
	upper := false
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return "", false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f':
		case 'A' <= c && c <= 'F':
			c += 'a' - 'A'
			upper = true
		default:
			return "", false
		}
		low[i] = c
	}
	if !upper {
		return s, true
	}
	return string(low[:]), true
}

// UUIDBytes returns the 16 bytes of what ParseUUID accepts.
func UUIDBytes(s string) (u [16]byte, ok bool) {
	if _, ok := ParseUUID(s); !ok {
		return u, false
	}
	digits := make([]byte, 0, 32)
	for _, part := range [...]string{s[0:8], s[9:13], s[14:18], s[19:23], s[24:36]} {
		digits = append(digits, part...)
	}
	_, err := hex.Decode(u[:], digits)
	return u, err == nil
}

// ParseEventID reports whether s is an event's identifier, and returns it in lower case.
func ParseEventID(s string) (EventID, bool) {
	if len(s) < len(EventPrefix) || s[:len(EventPrefix)] != EventPrefix {
		return "", false
	}
	id, ok := ParseUUID(s[len(EventPrefix):])
	return EventID(EventPrefix + id), ok
}
