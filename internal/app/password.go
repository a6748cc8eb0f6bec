package app

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"sheaf.dev/internal/sheaf"
)

// The bounds of a password, in bytes.
const (
	MinPassword = 8
	MaxPassword = 1024
)

// The parameters of new hashes: the second choice of RFC 9106. A stored hash
// names its own, so they may change.
const (
	argonTime    = 3
	argonMemory  = 64 << 10 // KiB
	argonThreads = 4
	argonSalt    = 16
	argonKey     = 32
)

// hashing bounds how many passwords are hashed at once, since each takes 64 MiB,
// and queue how many wait for that.
var (
	hashing = make(chan struct{}, 2)
	queue   = make(chan struct{}, 32)
)

// enqueue takes a place among those who wait to hash, or returns Unavailable
// when there is none: an attack must not leave a queue of minutes. leave gives
// it back.
func enqueue() (leave func(), err error) {
	select {
	case queue <- struct{}{}:
		return func() { <-queue }, nil
	default:
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 5 * time.Second,
			Text: "too many people sign in at this moment: try again in a few seconds"}
	}
}

// nobodysHash matches no password and takes as long to compare as any other.
var nobodysHash = fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
	base64.RawStdEncoding.EncodeToString(make([]byte, argonSalt)), base64.RawStdEncoding.EncodeToString(make([]byte, argonKey)))

func checkPassword(password string) error {
	switch n := len(password); {
	case n < MinPassword:
		return sheaf.Invalidf("the password has %d bytes, at least %d are needed: choose a longer one", n, MinPassword)
	case n > MaxPassword:
		return sheaf.Invalidf("the password has %d bytes, at most %d are allowed: choose a shorter one", n, MaxPassword)
	}
	return nil
}

// hashPassword returns the argon2id hash in PHC's string format, which carries
// its parameters and its salt.
func hashPassword(password string, random io.Reader) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("make a salt: %w", err)
	}
	key := argonID(password, salt, argonTime, argonMemory, argonThreads, argonKey)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, argonMemory, argonTime, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key)), nil
}

// passwordMatches reports whether the hash is that of the password. An empty
// hash, of a user without a password, or one that is no argon2id matches none.
func passwordMatches(hash, password string) bool {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false
	}
	var memory, passes uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &threads); err != nil || passes == 0 || threads == 0 {
		return false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(want) == 0 {
		return false
	}
	got := argonID(password, salt, passes, memory, threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func argonID(password string, salt []byte, passes, memory uint32, threads uint8, size uint32) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, passes, memory, threads, size)
}
