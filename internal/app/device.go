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

// deviceLives is how long a browser is recognised after its person last signed in with it.
const deviceLives = 180 * 24 * time.Hour

// newDevice returns a token by which the person's browser is recognised when it signs in again.
// Then other people who guess the password do not slow it down (brakesOf). The token does not sign
// anyone in.
//
// It has the form NAME.EXPIRES.SIGNATURE: a random name, the end of the token in Unix seconds, and
// a signature of both. The signing key is the stored hash of the password, which only the store
// knows. So nodes need no other shared secret, and a new password ends every token.
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
// unknown user it does the same work, so that its timing does not reveal whether the user exists.
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

// signDevice signs that a browser belongs to the user, as long as the password is not changed.
func signDevice(u sheaf.UserID, passwordHash, signed string) string {
	mac := hmac.New(sha256.New, []byte(passwordHash))
	fmt.Fprintf(mac, "sheaf device\n%s\n%s", u, signed)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
