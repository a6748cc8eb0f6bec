package app

import (
	"strconv"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// A share that was imported without its password opens for no token, even one that is signed with
// what is stored in place of the hash.
func TestUnlocked_AnImportedShareStaysClosed(t *testing.T) {
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	a := &App{now: func() time.Time { return now }}
	until := strconv.FormatInt(now.Add(time.Hour).Unix(), 10)
	for hash, open := range map[string]bool{"": true, "$argon2id$of-a-password": true, lockedShare: false} {
		s := sheaf.Shared{Share: sheaf.Share{ID: "0190b0a0-0000-7000-8000-000000000000", PasswordHash: hash}}
		if got := a.Unlocked(s, until+"."+signShare(s.Share, until)); got != open {
			t.Errorf("with %q in place of the hash it is open: %v", hash, got)
		}
	}
}
