package app

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"sheaf.dev/internal/sheaf"
)

// The bounds of a password, in bytes.
const (
	MinPassword = 8
	MaxPassword = 1024
)

// PasswordCost is what hashing a new password costs. A stored hash names its own, so it may change.
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

// hashing bounds how many passwords the process hashes at once, since each takes 64 MiB.
var hashing = make(chan struct{}, 2)

// lines are where people wait for that: known browsers, with which their person signed in before,
// strangers, of whom one at a time is hashed, and the readers of shares. So an attack by strangers
// leaves room for whoever is known.
//
//	known browser     ──▶ known     ── 2 turns ──┐
//	anybody else      ──▶ strangers ── 1 turn ───┼──▶ hashing: 2 at once
//	reader of a share ──▶ shares    ── 1 turn ───┘
type lines struct{ known, strangers, shares *line }

func newLines() lines {
	return lines{known: newLine(cap(hashing)), strangers: newLine(1), shares: newLine(1)}
}

// line is where people wait to have their password hashed. Each of them may stand in it a few times
// at once, so that one attacker does not fill it alone.
type line struct {
	turns chan struct{} // holds one for each that is being hashed

	mu sync.Mutex     // guards what follows
	by map[string]int // how many places each has, by their name
	n  int            // how many places are taken in all
}

const (
	lineMost = 64 // places of a line: whoever comes last must not wait for minutes
	lineEach = 8  // of these, how many one may have
)

func newLine(atOnce int) *line {
	return &line{turns: make(chan struct{}, atOnce), by: map[string]int{}}
}

// enter takes a place in the line for somebody, by a name of theirs, or returns Unavailable when
// there is none. It does not wait; leave gives the place back.
func (l *line) enter(name string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n >= lineMost || l.by[name] >= lineEach {
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: 5 * time.Second,
			Text: "too many people sign in at this moment: try again in a few seconds"}
	}
	l.n++
	l.by[name]++
	return func() { l.leave(name) }, nil
}

// leave counts somebody out of the line of that name.
func (l *line) leave(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.by[name]--; l.by[name] == 0 {
		delete(l.by, name)
	}
}

// turn waits until the line may hash one more, and done lets the next one have its turn. Whoever
// calls them has entered.
func (l *line) turn() { l.turns <- struct{}{} }
func (l *line) done() { <-l.turns }

// hashInLine is hashPassword for somebody who waits in the line under that name.
func (a *App) hashInLine(password string, l *line, name string) (string, error) {
	leave, err := l.enter(name)
	if err != nil {
		return "", err
	}
	defer leave()
	l.turn()
	defer l.done()
	return hashPassword(password, a.random, a.cost)
}

// nobodysHash returns a hash that no password matches, and that takes as long to compare as any of
// that cost: time does not tell whether a user exists.
func nobodysHash(cost PasswordCost) string {
	return phc(cost, make([]byte, argonSalt), make([]byte, argonKey))
}

// phc is PHC's string format, which carries the parameters and the salt.
func phc(cost PasswordCost, salt, key []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Passes, cost.Threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// checkPassword refuses a password that is too short or too long.
func checkPassword(password string) error {
	switch n := len(password); {
	case n < MinPassword:
		return sheaf.Invalidf("the password has %d bytes, at least %d are needed: choose a longer one", n, MinPassword).At("password")
	case n > MaxPassword:
		return sheaf.Invalidf("the password has %d bytes, at most %d are allowed: choose a shorter one", n, MaxPassword).At("password")
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

// passwordMatches reports whether the hash is that of the password. An empty hash, of a user
// without a password, or one that is no argon2id matches none.
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

// argonID hashes a password.
func argonID(password string, salt []byte, cost PasswordCost, size uint32) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, cost.Passes, cost.Memory, cost.Threads, size)
}
