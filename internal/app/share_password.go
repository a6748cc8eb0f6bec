package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// shareOpen is how long a share stays open for a reader who gave its password.
const shareOpen = 12 * time.Hour

// hashSharePassword returns the hash of a share's password, or "" if there is none.
func (a *App) hashSharePassword(ctx context.Context, c Caller, password sheaf.Opt[string]) (string, error) {
	if !password.Given() {
		return "", nil
	}
	hash, err := a.hashInLine(ctx, password.Value, a.lines.setters, string(c.Workspace))
	return hash, inWordsOfShares(err, "too many passwords are set at this moment: repeat the request in a few seconds")
}

// newSharePassword is hashSharePassword for an existing share. If the password is the present one,
// it returns the present hash, so that setting it again changes nothing.
func (a *App) newSharePassword(ctx context.Context, c Caller, id sheaf.ShareID, password sheaf.Opt[string]) (string, error) {
	if !password.Given() {
		return "", nil
	}
	s, err := read(ctx, a, c, scope(sheaf.SharesWrite), func(r *store.Reader) (sheaf.Share, error) { return r.Share(c.Workspace, id) })
	if err != nil {
		return "", err
	}
	if s.PasswordHash != "" {
		same, err := a.compareInLine(ctx, s.PasswordHash, password.Value, a.lines.setters, string(c.Workspace))
		if same || err != nil {
			return s.PasswordHash, inWordsOfShares(err, "too many passwords are set at this moment: repeat the request in a few seconds")
		}
	}
	return a.hashSharePassword(ctx, c, password)
}

// Unlocking is what a reader's browser gets for the right password of a share.
type Unlocking struct {
	Token   string // opens the share until Expires, unless its password is changed
	Expires time.Time
	// Known is a token that recognises the browser when it asks again, until KnownUntil. It opens
	// nothing.
	Known      string
	KnownUntil time.Time
}

// UnlockShare checks the password that a reader at `address` gives for a share. `known` is the
// token of a browser that opened the share before, or "". It returns Unauthorized for a wrong
// password. After too many attempts it returns RateLimited with the time to wait: attempts from
// this address, from this browser or, for an unknown browser, from all addresses for this share. It
// returns Unavailable if its turn does not come within turnWithin.
func (a *App) UnlockShare(ctx context.Context, s sheaf.Shared, password, address, known string) (Unlocking, error) {
	browser := sheaf.User{ID: sheaf.UserID("share " + string(s.ID)), PasswordHash: s.PasswordHash}
	brakes := shareBrakes(s.ID, address)
	if name, ok := a.knownDevice(browser, known); ok {
		brakes = shareBrakesOf(name, address)
	}
	if err := a.countAttempt(ctx, brakes); err != nil {
		return Unlocking{}, inWordsOfShares(err, "")
	}
	matches, err := a.compareInLine(ctx, s.PasswordHash, password[:min(len(password), 4*sheaf.MaxSharePassword+1)], a.lines.readers, string(s.Workspace))
	switch {
	case err != nil:
		return Unlocking{}, inWordsOfShares(a.uncountAttempt(ctx, brakes, err), "Too many people give their password at this moment. Try again in a few seconds.")
	case !matches:
		return Unlocking{}, unauthorized("This password is wrong.")
	}
	out := Unlocking{Expires: a.now().Add(shareOpen)}
	until := strconv.FormatInt(out.Expires.Unix(), 10)
	out.Token = until + "." + signShare(s.Share, until)
	if out.Known, out.KnownUntil, err = a.newDevice(browser); err != nil {
		return out, err
	}
	return out, a.forgiveAttempt(ctx, brakes)
}

// shareBrakes returns the brakes on guessing the password of a share. The share is slowed down only
// if many addresses try it, and by at most a minute: at one guess a minute, a password of eight
// characters is safe.
func shareBrakes(id sheaf.ShareID, address string) brakes {
	return brakes{own: []brake{
		{name: "share " + string(id) + " from " + address, free: 5, most: 15 * time.Minute},
		{name: "shares from " + address, free: 20, most: 15 * time.Minute}, opensFrom(address)},
		account: &brake{name: "share " + string(id), free: 50, most: time.Minute, leak: time.Minute}}
}

// shareBrakesOf returns the brakes for a browser that opened the share before. Guesses of others do
// not slow it down.
func shareBrakesOf(name, address string) brakes {
	return brakes{own: append(brakesOf(name).own, opensFrom(address))}
}

// opensFrom limits the hashing that one address may cause, even with right passwords, because their
// sender may have set them. A company behind one address can open sixty shares at once, and then
// one every few seconds.
func opensFrom(address string) brake {
	return brake{name: "opened from " + address, free: 60, most: time.Minute, leak: 10 * time.Second, successes: true}
}

// inWordsOfShares rewords a refusal of signing in for a share. `busy` is the text if the turn did
// not come.
func inWordsOfShares(err error, busy string) error {
	var refused *sheaf.Error
	if !errors.As(err, &refused) {
		return err
	}
	said := *refused
	switch {
	case said.Kind == sheaf.RateLimited:
		said.Text = fmt.Sprintf("There were too many attempts to give the password. Try again in %v.", said.RetryAfter)
	case said.Kind == sheaf.Unavailable && said.Cause == nil && busy != "":
		said.Text = busy
	default:
		return err
	}
	return &said
}

// Unlocked reports whether a token of UnlockShare opens the share now. A share without a password
// is always open. An imported share whose password is not set yet is never open: its hash is a known
// placeholder, with which any visitor could sign a token.
func (a *App) Unlocked(s sheaf.Shared, token string) bool {
	switch s.PasswordHash {
	case "":
		return true
	case lockedShare:
		return false
	}
	until, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(signShare(s.Share, until))) {
		return false
	}
	expires, err := strconv.ParseInt(until, 10, 64)
	return err == nil && a.now().Before(time.Unix(expires, 0))
}

// signShare signs the time until which a reader may see a share. The key is the stored hash of the
// password, as for devices (newDevice). So a new password ends earlier tokens, and nodes need no
// other shared secret.
func signShare(s sheaf.Share, until string) string {
	mac := hmac.New(sha256.New, []byte(s.PasswordHash))
	fmt.Fprintf(mac, "sheaf share\n%s\n%s", s.ID, until)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
