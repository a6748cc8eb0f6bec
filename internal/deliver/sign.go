package deliver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultSignatureHeader carries the first scheme's signature.
	defaultSignatureHeader = "X-Service-Signature"

	secretPrefix = "whsec_"
)

// Signer signs deliveries by two schemes at once: the service's own, whose form and key are those
// of Stripe's libraries, and Standard Webhooks.
type Signer struct {
	// Header names the first scheme's header; empty means X-Service-Signature.
	Header string
}

// Sign sets the four signature headers on h for one attempt at now: the signer's own, webhook-id,
// webhook-timestamp and webhook-signature. Each carries one signature per secret, in the order of
// secrets: give the newest first. A secret that NewSigningSecret did not make, and is not base64
// after whsec_, signs by the first scheme only. Without secrets the headers hold no signature, and
// no receiver accepts the delivery. Sign keeps neither body nor secrets.
func (s Signer) Sign(h http.Header, eventID string, now time.Time, body []byte, secrets []string) {
	t := strconv.FormatInt(now.Unix(), 10)
	own := append(make([]byte, 0, 16+68*len(secrets)), "t="+t...)
	standard := make([]byte, 0, 48*len(secrets))
	for _, secret := range secrets {
		own = hex.AppendEncode(append(own, ",v1="...), mac([]byte(secret), t, body))
		if key, ok := signingKey(secret); ok {
			if len(standard) > 0 {
				standard = append(standard, ' ')
			}
			standard = base64.StdEncoding.AppendEncode(append(standard, "v1,"...), mac(key, eventID+"."+t, body))
		}
	}
	h.Set(s.header(), string(own))
	h["Webhook-Id"] = []string{eventID}
	h["Webhook-Timestamp"] = []string{t}
	h["Webhook-Signature"] = []string{string(standard)}
}

// signingKey returns the key of the second scheme: the base64 after whsec_, decoded. It reports false
// if the secret is not base64.
func signingKey(secret string) (key []byte, ok bool) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	return key, err == nil
}

// signatures returns each signature that Sign has set in h. A person who reads one in a stored answer
// could send the delivery again, so answers are searched for them.
func (s Signer) signatures(h http.Header) (all []string) {
	for part := range strings.SplitSeq(h.Get(s.header()), ",") {
		if v, found := strings.CutPrefix(part, "v1="); found {
			all = append(all, v)
		}
	}
	for part := range strings.SplitSeq(h.Get("Webhook-Signature"), " ") {
		if v, found := strings.CutPrefix(part, "v1,"); found {
			all = append(all, v)
		}
	}
	return all
}

// header returns the name of the first scheme's header.
func (s Signer) header() string {
	if s.Header == "" {
		return defaultSignatureHeader
	}
	return s.Header
}

// mac returns the HMAC-SHA256 of "<prefix>.<body>".
func mac(key []byte, prefix string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(prefix + "."))
	h.Write(body)
	return h.Sum(nil)
}
