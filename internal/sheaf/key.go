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

// KeyHash is the SHA-256 of a key's text, the only part of a key that is stored. Keys are random
// enough: a slow hash would only cost every request 1.65 ms.
type KeyHash [sha256.Size]byte

// NewSecretKey returns a new API key: "shf_", 40 random characters, and a checksum, so that a
// mistyped key is refused without a look-up.
func NewSecretKey(random io.Reader) string { return newSecret(keyPrefix, random) }

func newSecret(prefix string, random io.Reader) string {
	body := prefix + RandomBase62(random, keyRandom)
	return body + checksum(body)
}

// HashKey returns the hash by which a key, or an access token of a grant, is looked up. ok is false if s cannot be
// either.
func HashKey(s string) (hash KeyHash, ok bool) {
	split := len(keyPrefix) + keyRandom
	if len(s) != split+keyChecksum || !strings.HasPrefix(s, keyPrefix) && !strings.HasPrefix(s, accessPrefix) || checksum(s[:split]) != s[split:] {
		return hash, false
	}
	return sha256.Sum256([]byte(s)), true
}

// RandomBase62 returns n characters, each equally likely. It panics if random fails.
func RandomBase62(random io.Reader, n int) string {
	out := make([]byte, 0, n)
	buf := make([]byte, n+n/4+4)
	for len(out) < n {
		if _, err := io.ReadFull(random, buf); err != nil {
			panic("sheaf: the source of randomness failed: " + err.Error())
		}
		for _, b := range buf {
			// 248 is the largest multiple of 62 in a byte. With larger bytes, the first characters
			// would be more likely.
			if b < 248 && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// checksum returns the end of a key, which reveals mistakes in copying it.
func checksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var out [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// KeyHint returns the start of a key, by which a person recognises it. The rest cannot be guessed
// from it. It is stored and shown as the key's prefix.
func KeyHint(secret string) string { return secret[:len(keyPrefix)+6] }

// The values of Key.Owner, as JSON and the store have them.
const (
	OwnerUser      = "user"
	OwnerWorkspace = "workspace"
)

// MaxKeyGrace is how long the previous secret of a rotated key can go on working.
const MaxKeyGrace = 24 * time.Hour

// NoKey stands for "no key": a person or an operator created the record.
const NoKey KeyID = "00000000-0000-0000-0000-000000000000"

// Key is an API key of one user in one workspace. The key's text is not stored.
type Key struct {
	ID         KeyID
	Name       string
	Prefix     string // its KeyHint
	Scopes     Scopes
	UserID     UserID     // the user in whose name it acts
	ExpiresAt  *time.Time // nil: never
	LastUsedAt *time.Time // nil: never; not written with each request
	CreatedAt  time.Time
	RevokedAt  *time.Time // nil: it is not revoked
	Number     int64      // number of the key among the records of its workspace, in the order of creation
	// OfWorkspace means that the key belongs to the workspace: it stays when its user leaves.
	OfWorkspace bool
	// Rotation is the number of secrets that the key had before its present one. In a Credential it
	// is that of the secret which was sent.
	Rotation int64
	OldUntil *time.Time // end of the previous secret; nil: it has ended, or there was none
	// RestrictedTo limits what it sees and changes; nil: the whole workspace. It never changes, except that of a grant (see
	// App.fitGrants).
	RestrictedTo *Restriction
	// Resource is the address at which the access tokens of a grant work. It is empty for an API key.
	Resource string
	// SecretUntil is the end of a grant's present access token; nil: the key itself is the secret, or there is no token yet.
	SecretUntil *time.Time
	// Within is the number of the restriction of a grant's person, if the grant has another one. Then it sees what both
	// cover.
	Within int64
	// MadeByKey is the key that creates the record, or NoKey. It is only written: no read returns it.
	MadeByKey KeyID
}

// Live reports whether the key can be used at the time `now`.
func (k *Key) Live(now time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt))
}

// Takes reports whether the secret with that rotation works at the time `now`: the present one, and
// the one before it until OldUntil.
func (k *Key) Takes(rotation int64, now time.Time) bool {
	return rotation == k.Rotation || rotation == k.Rotation-1 && k.OldUntil != nil && now.Before(*k.OldUntil)
}

// Owner returns to whom the key belongs: OwnerUser or OwnerWorkspace.
func (k *Key) Owner() string {
	if k.OfWorkspace {
		return OwnerWorkspace
	}
	return OwnerUser
}

// Fields appends the key as lists and answers show it.
func (k *Key) Fields(o *Object) {
	o.Text("id", string(k.ID))
	o.Text("name", k.Name)
	o.Text("prefix", k.Prefix)
	o.Texts("scopes", k.Scopes.Strings())
	if k.RestrictedTo == nil {
		o.Null("restricted_to")
	} else {
		o.Record("restricted_to", k.RestrictedTo)
	}
	o.Text("user_id", string(k.UserID))
	o.Text("owner", k.Owner())
	o.OptTime("expires_at", k.ExpiresAt)
	o.OptTime("last_used_at", k.LastUsedAt)
	o.Time("created_at", k.CreatedAt)
}

// NewKey is a new or rotated key with its secret, which is shown once. In a repetition of the request it is
// nil.
type NewKey struct {
	Key
	Secret *string
}

// Fields appends the key, and its secret under "key".
func (k *NewKey) Fields(o *Object) {
	k.Key.Fields(o)
	o.OptText("key", k.Secret)
}

// Credential is what a request's key stands for, read at one moment.
type Credential struct {
	Key       Key
	Workspace WorkspaceID
	Name      string // name of the workspace
	Plan      Plan
	Personal  bool
	// Version is the workspace's version, under which answers are cached. It is 0 while the
	// workspace is being changed: then nothing may be answered from a cache.
	Version int64
	// Until is the end of the secret which was sent: an access token, or the secret of a key that has a newer one.
	// nil: it has none.
	Until *time.Time
}

// Live reports whether the secret which was sent can be used at the time `now`.
func (c *Credential) Live(now time.Time) bool {
	return c.Key.Live(now) && (c.Until == nil || now.Before(*c.Until))
}

// WithoutSecret returns the key as a repetition of the request shows it.
func (k NewKey) WithoutSecret() NewKey {
	k.Secret = nil
	return k
}

// LooksLikeKey reports whether s was meant to be a key, complete or not.
func LooksLikeKey(s string) bool { return strings.HasPrefix(s, keyPrefix) }
