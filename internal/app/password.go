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

// PasswordCost is what hashing a new password costs. A stored hash names its
// own, so it may change.
type PasswordCost struct {
	Passes  uint32
	Memory  uint32 // KiB
	Threads uint8
}

// standardCost is the second choice of RFC 9106.
var standardCost = PasswordCost{Passes: 3, Memory: 64 << 10, Threads: 4}

const (
	argonSalt = 16
	argonKey  = 32
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

// nobodysHash matches no password and takes as long to compare as one of that
// cost.
func nobodysHash(cost PasswordCost) string {
	return phc(cost, make([]byte, argonSalt), make([]byte, argonKey))
}

// phc is PHC's string format, which carries the parameters and the salt.
func phc(cost PasswordCost, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Passes, cost.Threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

func checkPassword(password string) error {
	switch n := len(password); {
	case n < MinPassword:
		return sheaf.Invalidf("the password has %d bytes, at least %d are needed: choose a longer one", n, MinPassword)
	case n > MaxPassword:
		return sheaf.Invalidf("the password has %d bytes, at most %d are allowed: choose a shorter one", n, MaxPassword)
	}
	return nil
}

// hashPassword returns the argon2id hash in PHC's string format.
func hashPassword(password string, random io.Reader, cost PasswordCost) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("make a salt: %w", err)
	}
	return phc(cost, salt, argonID(password, salt, cost, argonKey)), nil
}

// passwordMatches reports whether the hash is that of the password. An empty
// hash, of a user without a password, or one that is no argon2id matches none.
func passwordMatches(hash, password string) bool {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false
	}
	var cost PasswordCost
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &cost.Memory, &cost.Passes, &cost.Threads); err != nil || cost.Passes == 0 || cost.Threads == 0 {
		return false
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, keyErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || keyErr != nil || len(want) == 0 {
		return false
	}
	got := argonID(password, salt, cost, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}

func argonID(password string, salt []byte, cost PasswordCost, size uint32) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, cost.Passes, cost.Memory, cost.Threads, size)
}
