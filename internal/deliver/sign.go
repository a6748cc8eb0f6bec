package deliver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultSignatureHeader carries the first scheme's signature.
	defaultSignatureHeader = "X-Service-Signature"

	secretPrefix   = "whsec_"
	secretLength   = 42 // a multiple of three, so that base64 needs no padding
	secretAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Signer signs deliveries by two schemes at once: the service's own, whose form
// and key are those of Stripe's libraries, and Standard Webhooks.
type Signer struct {
	// Header names the first scheme's header; empty means X-Service-Signature.
	Header string
}

// Sign sets the four signature headers on h for one attempt at now: the
// signer's own, webhook-id, webhook-timestamp and webhook-signature. Each
// carries one signature per secret, in the order of secrets: give the newest
// first. A secret that NewSecret did not make, and is not base64 after
// whsec_, signs by the first scheme only. Without secrets the headers hold no
// signature, and no receiver accepts the delivery. Sign keeps neither body nor
// secrets.
func (s Signer) Sign(h http.Header, eventID string, now time.Time, body []byte, secrets []string) {
	t := strconv.FormatInt(now.Unix(), 10)
	own := []string{"t=" + t}
	var standard []string
	for _, secret := range secrets {
		own = append(own, "v1="+hex.EncodeToString(mac([]byte(secret), t, body)))
		if key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix)); err == nil {
			standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(mac(key, eventID+"."+t, body)))
		}
	}
	h.Set(s.header(), strings.Join(own, ","))
	h.Set("webhook-id", eventID)
	h.Set("webhook-timestamp", t)
	h.Set("webhook-signature", strings.Join(standard, " "))
}

func (s Signer) header() string {
	if s.Header == "" {
		return defaultSignatureHeader
	}
	return s.Header
}

// mac returns the HMAC-SHA256 of "<prefix>.<body>".
func mac(key []byte, prefix string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(prefix))
	h.Write([]byte{'.'})
	h.Write(body)
	return h.Sum(nil)
}

// NewSecret makes a subscription's secret from rand, which must be a
// cryptographic source: whsec_ and the standard base64 of 42 random base62
// characters (250 bits), so the string has no padding and the key it encodes
// is printable. It fails only when rand does.
func NewSecret(rand io.Reader) (string, error) {
	key := make([]byte, 0, secretLength)
	buf := make([]byte, 64)
	for len(key) < secretLength {
		if _, err := io.ReadFull(rand, buf); err != nil {
			return "", fmt.Errorf("read random bytes for a secret: %w", err)
		}
		key = appendBase62(key, buf)
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// appendBase62 fills key up with characters made of random bytes. Bytes beyond
// the largest multiple of 62 are dropped: the remainder would favour some.
func appendBase62(key, random []byte) []byte {
	const n = len(secretAlphabet)
	for _, b := range random {
		if int(b) < 256/n*n && len(key) < secretLength {
			key = append(key, secretAlphabet[int(b)%n])
		}
	}
	return key
}
