package app

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/sheaf"
)

// The bounds of a password, in bytes.
const (
	MinPassword = 8
	MaxPassword = 1024
)

// PasswordCost is the cost of hashing a new password. A stored hash contains its own cost, so this
// one may change.
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

// hashAtOnce is how many passwords the process hashes concurrently. Each takes 64 MiB.
const hashAtOnce = 2

// lines are the queues for hashing passwords. Each line shares its turns fairly among names, so a
// name with many requests does not delay the others:
//
//	known browser      by person    ──▶ known     ── 2 turns ──┐
//	any other browser  by address   ──▶ strangers ── 1 turn ───┤
//	reader of a share  by workspace ──▶ readers   ── 1 turn ───┼──▶ hashing: 2 at once
//	setter of a share's password,                              │
//	                   by workspace ──▶ setters   ── 1 turn ───┘
//
// So guesses by strangers leave room for known browsers, and readers of shares leave room for
// callers who set a password. A caller waits at most turnWithin, and no longer than its client
// does.
type lines struct {
	hashing                            chan struct{} // holds one token for each hash in progress
	known, strangers, readers, setters *fair.Turns
}

// turnWithin bounds how long a caller waits for its turn. A hash takes a few tenths of a second.
const turnWithin = 5 * time.Second

// How many callers may wait in a line: lineEach under one name, lineMost in all.
const (
	lineEach = 8
	lineMost = 64
)

func newLines() lines {
	line := func(atOnce int) *fair.Turns {
		return fair.New(fair.Limits{Places: atOnce, Each: atOnce, Waiting: lineEach, AllWaiting: lineMost, Wait: turnWithin})
	}
	return lines{hashing: make(chan struct{}, hashAtOnce), known: line(hashAtOnce), strangers: line(1), readers: line(1), setters: line(1)}
}

// turn blocks until the caller, who waits in `line` under `name`, may hash a password. done ends
// the turn. It returns Unavailable if the turn does not come in time, or if ctx ends.
func (l *lines) turn(ctx context.Context, line *fair.Turns, name string) (done func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, turnWithin, fair.ErrBusy)
	defer cancel()
	leave, err := line.Take(ctx, name, 1)
	if err == nil {
		select {
		case l.hashing <- struct{}{}:
			return func() { <-l.hashing; leave() }, nil
		case <-ctx.Done():
			leave()
			err = context.Cause(ctx)
		}
	}
	if errors.Is(err, fair.ErrBusy) {
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: turnWithin,
			Text: "too many people sign in at this moment: try again in a few seconds"}
	}
	return nil, sheaf.UnavailableError(err) // the client has gone
}

// hashInLine hashes a new password. The caller waits in `line` under `name`.
func (a *App) hashInLine(ctx context.Context, password string, line *fair.Turns, name string) (string, error) {
	done, err := a.lines.turn(ctx, line, name)
	if err != nil {
		return "", err
	}
	defer done()
	return hashPassword(password, a.random, a.cost)
}

// compareInLine reports whether `hash` is the hash of the password. The caller waits in `line`
// under `name`.
func (a *App) compareInLine(ctx context.Context, hash, password string, line *fair.Turns, name string) (bool, error) {
	done, err := a.lines.turn(ctx, line, name)
	if err != nil {
		return false, err
	}
	defer done()
	return passwordMatches(hash, password), nil
}

// nobodysHash returns a hash that no password matches. Comparing it takes as long as any hash of
// that cost, so the time does not reveal whether a user exists.
func nobodysHash(cost PasswordCost) string {
	return phc(cost, make([]byte, argonSalt), make([]byte, argonKey))
}

// phc returns PHC's string format, which includes the parameters and the salt.
func phc(cost PasswordCost, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Passes, cost.Threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// checkPassword refuses a password that is too short or too long.
func checkPassword(password string) error {
	switch n := len(password); {
	case n < MinPassword:
		return sheaf.InvalidField("password", "the password has %d bytes, at least %d are needed: choose a longer one", n, MinPassword)
	case n > MaxPassword:
		return sheaf.InvalidField("password", "the password has %d bytes, at most %d are allowed: choose a shorter one", n, MaxPassword)
	}
	return nil
}

// hashPassword returns the argon2id hash in PHC's string format. The caller must have a turn.
func hashPassword(password string, random io.Reader, cost PasswordCost) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("make a salt: %w", err)
	}
	return phc(cost, salt, argon2.IDKey([]byte(password), salt, cost.Passes, cost.Memory, cost.Threads, argonKey)), nil
}

// passwordMatches reports whether `hash` is the hash of the password. An empty hash (a user without
// a password) and a hash that is not argon2id match no password.
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
	got := argon2.IDKey([]byte(password), salt, cost.Passes, cost.Memory, cost.Threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1
}
