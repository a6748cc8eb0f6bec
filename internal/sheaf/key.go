package sheaf

import (
	"crypto/sha256"
	"hash/crc32"
	"io"
	"strings"
	"time"
)

const (
	keyPrefix   = "shf_"
	keyRandom   = 40 // base62 characters
	keyChecksum = 6  // base62 characters, enough for a CRC-32
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// KeyHash is all that is stored of a key: the SHA-256 of its text. A key is random enough that a
// slow hash would only cost every request 1.65 ms.
type KeyHash [sha256.Size]byte

// NewSecretKey returns a fresh API key: "shf_", 40 random characters, and a checksum by which a
// mistyped key is refused without a look-up.
func NewSecretKey(random io.Reader) string {
	body := keyPrefix + RandomBase62(random, keyRandom)
	return body + checksum(body)
}

// HashKey returns the hash by which a key is looked up; ok is false when s cannot be a key.
func HashKey(s string) (hash KeyHash, ok bool) {
	split := len(keyPrefix) + keyRandom
	if len(s) != split+keyChecksum || !strings.HasPrefix(s, keyPrefix) || checksum(s[:split]) != s[split:] {
		return hash, false
	}
	return sha256.Sum256([]byte(s)), true
}

// RandomBase62 returns n characters, each equally likely. It panics when random fails.
func RandomBase62(random io.Reader, n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4+4)
	for len(out) < n {
		if _, err := io.ReadFull(random, buf); err != nil {
			panic("sheaf: the source of randomness failed: " + err.Error())
		}
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte: above it the first characters would be
			// likelier.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// checksum is the end of a key, by which a slip in copying it is found.
func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var out [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// KeyHint is the beginning of a key, by which a person recognises it and nobody can guess the rest.
// It is stored and shown as the key's prefix.
func KeyHint(secret string) string { return secret[:len(keyPrefix)+6] }

// Key is an API key of one user in one workspace. The key itself is not kept.
type Key struct {
	ID         KeyID
	Name       string
	Prefix     string // its KeyHint
	Scopes     Scopes
	UserID     UserID     // in whose name it acts
	ExpiresAt  *time.Time // nil: never
	LastUsedAt *time.Time // nil: never; written now and then, not with each request
	CreatedAt  time.Time
	RevokedAt  *time.Time // nil: it was not
	Number     int64      // counts what was created in the workspace
}

// Live reports whether the key opens anything at that time.
func (k *Key) Live(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// Fields appends the key as lists and answers show it.
func (k *Key) Fields(o *Object) {
	o.Text("id", string(k.ID))
	o.Text("name", k.Name)
	o.Text("prefix", k.Prefix)
	o.Texts("scopes", k.Scopes.Strings())
	o.Text("user_id", string(k.UserID))
	o.OptTime("expires_at", k.ExpiresAt)
	o.OptTime("last_used_at", k.LastUsedAt)
	o.Time("created_at", k.CreatedAt)
}

// NewKey is a key just made, with the secret that is shown once: nil in a repetition of the
// request.
type NewKey struct {
	Key
	Secret *string
}

// Fields appends the key, and its secret under "key".
func (k *NewKey) Fields(o *Object) {
	k.Key.Fields(o)
	o.OptText("key", k.Secret)
}

// Credential is what a request's key stands for, read together at one moment.
type Credential struct {
	Key       Key
	Workspace WorkspaceID
	Name      string // of the workspace
	Plan      Plan
	Personal  bool
	// Version is that of the workspace, under which answers are cached. It is 0 while the workspace
	// is being changed: nothing may be answered from a cache then.
	Version int64
}

// WithoutSecret returns the key as a repetition of the request shows it.
func (k NewKey) WithoutSecret() NewKey {
	k.Secret = nil
	return k
}

// LooksLikeKey reports whether s was meant to be a key, whole or not.
func LooksLikeKey(s string) bool { return strings.HasPrefix(s, keyPrefix) }
