// Package webhook is for programs that receive Sheaf's deliveries. It verifies that a request was
// sent by the service and not altered, and reads the event in it. It needs nothing but the standard
// library.
//
// The shortest receiver is [Handler]:
//
//	http.Handle("POST /hooks/sheaf", webhook.Handler(secret, func(ctx context.Context, e webhook.Event) error {
//		switch e.Type {
//		case webhook.ProjectCreated:
//			return addProject(ctx, e.ResourceID, e.Payload)
//		}
//		return nil
//	}))
//
// A server with its own way of reading requests calls [Parse] or [Verify] with the raw body: the
// bytes as they came, before any decoding.
//
// # Deliveries
//
// A delivery counts as received when the answer is 2xx within ten seconds; any other is repeated,
// so the same event may come more than once, and events may come in another order than they
// happened. [Event.ID] is the same on every repetition: remember the ones you have handled.
//
// # Schemes
//
// Every delivery is signed twice, with the same secret, and either signature is enough to trust it:
//
//   - X-Service-Signature: t=<unix seconds>,v1=<hex>, an HMAC-SHA256 of "<t>.<body>" keyed with the
//     whole secret, whsec_ included. The form, and the key, are those of Stripe's libraries.
//   - webhook-id, webhook-timestamp and webhook-signature, as https://www.standardwebhooks.com
//     says, keyed with the bytes that the secret's part after whsec_ encodes in base64.
//
// When a request has any of the three Standard Webhooks headers, that scheme decides alone, and the
// other signature is not looked at. It signs the id as well, so a webhook-id header in a verified
// request is always genuine: nobody can take one valid delivery and repeat it under another id by
// breaking the signature that covers the id. Without these headers the first scheme decides.
//
// During a rotation of the secret the service signs with the old and the new one; a receiver that
// knows either of them accepts the delivery.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// DefaultTolerance is how far a signature's time may be from the receiver's clock, in either
// direction, unless [WithTolerance] says otherwise.
const DefaultTolerance = 300 * time.Second

// DefaultHeader is the name of the first scheme's header, unless [WithHeader] says otherwise.
const DefaultHeader = "X-Service-Signature"

// The names of the Standard Webhooks headers.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// The reasons why a request is not accepted. Test for them with errors.Is.
var (
	// ErrNoSignature: the request carries no signature of either scheme.
	ErrNoSignature = errors.New("webhook: the request is not signed")
	// ErrMalformed: a signature header is there but cannot be read.
	ErrMalformed = errors.New("webhook: the signature header cannot be read")
	// ErrMismatch: no signature fits the body and the secret. The body was altered on its way (or
	// decoded and encoded again), the secret is another subscription's, or the sender is not the
	// service.
	ErrMismatch = errors.New("webhook: no signature matches")
	// ErrTimestamp: the signature is genuine but its time is further from the clock than the
	// tolerance: a replay, or a clock that is wrong.
	ErrTimestamp = errors.New("webhook: the signature's time is outside the tolerance")
	// ErrSecret: the receiver's own secret is empty or not a secret of the service. No request can
	// be verified until that is corrected.
	ErrSecret = errors.New("webhook: the receiver's secret is not usable")
	// ErrBody: the request is genuine but its body is no event.
	ErrBody = errors.New("webhook: the body is not an event")
)

// Verify returns nil when header holds a valid signature of body: made with secret (or one given by
// [WithSecrets]) at a time within the tolerance. Body is the raw request body. The secret is the
// whole string the service showed, whsec_ included; white space around it is ignored. Otherwise the
// error is, by errors.Is, ErrNoSignature, ErrMalformed, ErrMismatch, ErrTimestamp or ErrSecret.
// Signatures are compared in constant time.
func Verify(secret string, header http.Header, body []byte, opts ...Option) error {
	o, err := newOptions(secret, opts)
	if err != nil {
		return err
	}
	if hasStandard(header) {
		return o.verifyStandard(header, body)
	}
	return o.verifyService(header, body)
}

// hasStandard reports whether a request has anything of the Standard Webhooks scheme.
func hasStandard(h http.Header) bool {
	return len(h.Values(HeaderID))+len(h.Values(HeaderTimestamp))+len(h.Values(HeaderSignature)) > 0
}

// verifyService checks the service's own signature header.
func (o *options) verifyService(h http.Header, body []byte) error {
	value := h.Get(o.header)
	if value == "" {
		return ErrNoSignature
	}
	stamp, given, err := parseService(value)
	if err != nil {
		return err
	}
	for _, secret := range o.secrets {
		if anyEqual(given, sign([]byte(secret), stamp, body)) {
			return o.checkTime(stamp)
		}
	}
	return ErrMismatch
}

// verifyStandard checks the Standard Webhooks scheme.
func (o *options) verifyStandard(h http.Header, body []byte) error {
	id, stamp := h.Get(HeaderID), h.Get(HeaderTimestamp)
	if id == "" || !isDecimal(stamp) {
		return fmt.Errorf("%w: webhook-id and webhook-timestamp (in seconds) must both be there", ErrMalformed)
	}
	given, err := parseStandard(h.Get(HeaderSignature))
	if err != nil {
		return err
	}
	for _, secret := range o.secrets {
		key, err := standardKey(secret)
		if err != nil {
			return err
		}
		if anyEqual(given, sign(key, id+"."+stamp, body)) {
			return o.checkTime(stamp)
		}
	}
	return ErrMismatch
}

// checkTime runs after the comparison, so that ErrTimestamp always speaks of a time that the
// service itself has signed.
func (o *options) checkTime(stamp string) error {
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ErrTimestamp
	}
	// Sub saturates, so no time, however far, wraps around into the tolerance.
	if age := o.now().Sub(time.Unix(seconds, 0)); age > o.tolerance || age < -o.tolerance {
		return ErrTimestamp
	}
	return nil
}

// sign returns the HMAC-SHA256 of "<prefix>.<body>".
func sign(key []byte, prefix string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(prefix))
	mac.Write([]byte{'.'})
	mac.Write(body)
	return mac.Sum(nil)
}

// anyEqual compares in constant time, so that nobody learns a signature byte by byte.
func anyEqual(given [][]byte, want []byte) bool {
	for _, g := range given {
		if hmac.Equal(g, want) {
			return true
		}
	}
	return false
}

// standardKey is the key of the Standard Webhooks scheme: the bytes behind whsec_, decoded.
func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, secretPrefix))
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("%w: what follows whsec_ is not base64", ErrSecret)
	}
	return key, nil
}
