package app

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
)

// deviceLives is for how long a browser counts as one that its person signed in with, since they
// last did.
const deviceLives = 180 * 24 * time.Hour

// newDevice returns a token by which the person's browser is recognised when it signs in again:
// others who guess the password then do not slow it down (brakesOf). The token opens nothing.
//
// It is NAME.EXPIRES.SIGNATURE: a random name, when the token ends in Unix seconds, and a signature
// of both. The key of the signature is the stored hash of the password, which nobody outside the
// store knows: so nodes need not share another secret, and a new password ends every token.
func (a *App) newDevice(u sheaf.User) (token string, expires time.Time, err error) {
	name, err := a.newToken()
	if err != nil {
		return "", expires, err
	}
	expires = a.now().Add(deviceLives)
	signed := fmt.Sprintf("%s.%d", name, expires.Unix())
	return signed + "." + signDevice(u.ID, u.PasswordHash, signed), expires, nil
}

// knownDevice returns the name of the browser with that token, if it is one of the user's. For an
// unknown user it does the same work, so that its time does not tell whether there is one.
func (a *App) knownDevice(u sheaf.User, token string) (name string, ok bool) {
	hash := u.PasswordHash
	if hash == "" {
		hash = nobodysHash(a.cost)
	}
	end := strings.LastIndexByte(token, '.')
	if end < 0 || len(token) > 200 {
		return "", false
	}
	signed, signature := token[:end], token[end+1:]
	if !hmac.Equal([]byte(signature), []byte(signDevice(u.ID, hash, signed))) || u.PasswordHash == "" {
		return "", false
	}
	name, until, _ := strings.Cut(signed, ".")
	expires, err := strconv.ParseInt(until, 10, 64)
	return name, err == nil && a.now().Before(time.Unix(expires, 0))
}

// signDevice signs that a browser belongs to the user, for as long as the password stays.
func signDevice(u sheaf.UserID, passwordHash, signed string) string {
	mac := hmac.New(sha256.New, []byte(passwordHash))
	fmt.Fprintf(mac, "sheaf device\n%s\n%s", u, signed)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
