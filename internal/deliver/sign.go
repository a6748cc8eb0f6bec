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
	own := []string{"t=" + t}
	var standard []string
	for _, secret := range secrets {
		own = append(own, "v1="+hex.EncodeToString(mac([]byte(secret), t, body)))
		if key, ok := signingKey(secret); ok {
			standard = append(standard, "v1,"+base64.StdEncoding.EncodeToString(mac(key, eventID+"."+t, body)))
		}
	}
	h.Set(s.header(), strings.Join(own, ","))
	h.Set("webhook-id", eventID)
	h.Set("webhook-timestamp", t)
	h.Set("webhook-signature", strings.Join(standard, " "))
}

// signingKey is the key of the second scheme: what a secret says in base64 after whsec_. It reports
// whether there is one.
func signingKey(secret string) (key []byte, ok bool) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	return key, err == nil
}

// signatures returns those that Sign has set, each by itself. Whoever reads one in an answer that
// repeats it could send the delivery again.
func (s Signer) signatures(h http.Header) (all []string) {
	for part := range strings.SplitSeq(h.Get(s.header()), ",") {
		if v, found := strings.CutPrefix(part, "v1="); found {
			all = append(all, v)
		}
	}
	for part := range strings.SplitSeq(h.Get("webhook-signature"), " ") {
		if v, found := strings.CutPrefix(part, "v1,"); found {
			all = append(all, v)
		}
	}
	return all
}

// header is the name of the first scheme's header.
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
