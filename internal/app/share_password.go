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

// shareOpen is how long a reader who gave the right password of a share is not asked for it again.
const shareOpen = 12 * time.Hour

// hashSharePassword returns the hash of a share's password, or none where there is none.
func (a *App) hashSharePassword(c Caller, password sheaf.Opt[string]) (string, error) {
	if !password.Given() {
		return "", nil
	}
	return a.hashInLine(password.Value, a.lines.shares, "of "+string(c.Workspace))
}

// newSharePassword is hashSharePassword for a share that exists. Where the password is the one that
// it has, its hash stays as it is: setting it again changes nothing.
func (a *App) newSharePassword(ctx context.Context, c Caller, id sheaf.ShareID, password sheaf.Opt[string]) (string, error) {
	if !password.Given() {
		return "", nil
	}
	s, err := read(ctx, a, c, scope(sheaf.SharesWrite), func(r *store.Reader) (sheaf.Share, error) { return r.Share(c.Workspace, id) })
	if err != nil {
		return "", err
	}
	same, err := a.compareInLine(s.PasswordHash, password.Value, "of "+string(c.Workspace))
	if same || err != nil {
		return s.PasswordHash, err
	}
	return a.hashSharePassword(c, password)
}

// compareInLine reports whether the hash is that of the password, for somebody who waits in the line
// of shares under that name.
func (a *App) compareInLine(hash, password, name string) (bool, error) {
	if hash == "" {
		return false, nil
	}
	leave, err := a.lines.shares.enter(name)
	if err != nil {
		return false, err
	}
	defer leave()
	a.lines.shares.turn()
	defer a.lines.shares.done()
	return passwordMatches(hash, password), nil
}

// UnlockShare compares what a reader at that address gives as the password of a share. For the right
// one it returns a token that opens the share for twelve hours, unless its password is changed. It is
// Unauthorized for a wrong one, and RateLimited with the time to wait after too many of them: of this
// address for this share, or of this address for all shares together. Nobody elsewhere is kept out.
func (a *App) UnlockShare(ctx context.Context, s sheaf.Shared, password, address string) (token string, expires time.Time, err error) {
	brakes := shareBrakes(s.ID, address)
	if err := a.countAttempt(ctx, brakes); err != nil {
		return "", expires, inWordsOfShares(err)
	}
	matches, err := a.compareInLine(s.PasswordHash, password[:min(len(password), 4*sheaf.MaxSharePassword+1)], "at "+address)
	switch {
	case err != nil:
		return "", expires, inWordsOfShares(err)
	case !matches:
		return "", expires, unauthorized("This password is wrong.")
	}
	expires = a.now().Add(shareOpen)
	until := strconv.FormatInt(expires.Unix(), 10)
	return until + "." + signShare(s.Share, until), expires, a.forgiveAttempt(ctx, brakes)
}

// shareBrakes are what an attempt to guess the password of a share has to pass.
func shareBrakes(id sheaf.ShareID, address string) brakes {
	return brakes{own: []brake{
		{name: "share " + string(id) + " from " + address, free: 5, most: 15 * time.Minute},
		{name: "shares from " + address, free: 20, most: 15 * time.Minute}}}
}

// inWordsOfShares says to the reader of a share what a refusal says to people who sign in.
func inWordsOfShares(err error) error {
	var refused *sheaf.Error
	if !errors.As(err, &refused) {
		return err
	}
	said := *refused
	switch {
	case said.Kind == sheaf.RateLimited:
		said.Text = fmt.Sprintf("There were too many wrong passwords. Try again in %v.", said.RetryAfter)
	case said.Kind == sheaf.Unavailable && said.Cause == nil:
		said.Text = "Too many people give their password at this moment. Try again in a few seconds."
	default:
		return err
	}
	return &said
}

// Unlocked reports whether a token that UnlockShare returned opens the share now. One without a
// password is open.
func (a *App) Unlocked(s sheaf.Shared, token string) bool {
	if s.PasswordHash == "" {
		return true
	}
	until, signature, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(signature), []byte(signShare(s.Share, until))) {
		return false
	}
	expires, err := strconv.ParseInt(until, 10, 64)
	return err == nil && a.now().Before(time.Unix(expires, 0))
}

// signShare signs until when a reader may see a share. The key is the stored hash of the password, as
// for the browsers of people who sign in (newDevice): a new password ends what was signed before, and
// nodes need not share another secret.
func signShare(s sheaf.Share, until string) string {
	mac := hmac.New(sha256.New, []byte(s.PasswordHash))
	fmt.Fprintf(mac, "sheaf share\n%s\n%s", s.ID, until)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
