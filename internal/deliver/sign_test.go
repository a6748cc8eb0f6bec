package deliver_test

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/webhook"
)

const (
	signedID   = "evt_6e0d3f9c-4c56-4a0e-9d55-0f2a3a4c1b7e"
	signedBody = `{"id":"evt_6e0d3f9c-4c56-4a0e-9d55-0f2a3a4c1b7e","type":"project.created","payload":{"name":"<ü>"}}`
)

func newSecret(*testing.T) string { return sheaf.NewSigningSecret(rand.Reader) }

// verifiers are receivers' libraries, each with one secret. Stripe's has its test in test/recipes.
var verifiers = map[string]func(h http.Header, body []byte, secret string) error{
	"standard-webhooks": func(h http.Header, body []byte, secret string) error {
		wh, err := standardwebhooks.NewWebhook(secret)
		if err != nil {
			return err
		}
		return wh.Verify(body, h)
	},
	"ours": func(h http.Header, body []byte, secret string) error {
		return webhook.Verify(secret, h, body)
	},
	"ours, first scheme": func(h http.Header, body []byte, secret string) error {
		return webhook.Verify(secret, http.Header{"X-Service-Signature": h["X-Service-Signature"]}, body)
	},
}

// D66: the libraries that receivers use accept both signatures.
func TestSign_EveryReceiverVerifies(t *testing.T) {
	t.Parallel()
	secret, body := newSecret(t), []byte(signedBody)
	h := http.Header{}
	deliver.Signer{}.Sign(h, signedID, time.Now(), body, []string{secret})
	for name, verify := range verifiers {
		if err := verify(h, body, secret); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if verify(h, append([]byte(" "), body...), secret) == nil {
			t.Errorf("%s accepts an altered body", name)
		}
		if verify(h, body, newSecret(t)) == nil {
			t.Errorf("%s accepts another secret", name)
		}
	}
}

func TestSign_DuringARotationBothSecretsVerify(t *testing.T) {
	t.Parallel()
	newest, old, body := newSecret(t), newSecret(t), []byte(signedBody)
	h := http.Header{}
	deliver.Signer{}.Sign(h, signedID, time.Now(), body, []string{newest, old})
	for name, verify := range verifiers {
		if err := errors.Join(verify(h, body, newest), verify(h, body, old)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// D66: the headers, to the letter.
func TestSign_Form(t *testing.T) {
	t.Parallel()
	newest, old := newSecret(t), newSecret(t)
	now := time.Unix(1700000000, 999_999_999)
	h, first := http.Header{"X-Acme-Signature": {"stale", "stale"}}, http.Header{}
	deliver.Signer{Header: "x-acme-signature"}.Sign(h, signedID, now, []byte(signedBody), []string{newest, old})
	deliver.Signer{}.Sign(first, signedID, now, []byte(signedBody), []string{newest})

	own, std := h.Values("X-Acme-Signature"), h.Values("webhook-signature")
	if len(own) != 1 || !regexp.MustCompile(`^t=1700000000,v1=[0-9a-f]{64},v1=[0-9a-f]{64}$`).MatchString(own[0]) {
		t.Errorf("own header %q", own)
	}
	if len(std) != 1 || !regexp.MustCompile(`^v1,[0-9A-Za-z+/]{43}= v1,[0-9A-Za-z+/]{43}=$`).MatchString(std[0]) {
		t.Errorf("webhook-signature %q", std)
	}
	if h.Get("webhook-id") != signedID || h.Get("webhook-timestamp") != "1700000000" || len(h) != 4 {
		t.Errorf("headers %v", h)
	}
	if !strings.HasPrefix(own[0], first.Get("X-Service-Signature")+",") || !strings.HasPrefix(std[0], first.Get("webhook-signature")+" ") {
		t.Errorf("the newest secret's signature is not the first: %v", h)
	}
}

func TestSign_WithoutSecretsNobodyAccepts(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	deliver.Signer{}.Sign(h, signedID, time.Now(), []byte(signedBody), nil)
	for name, verify := range verifiers {
		if verify(h, []byte(signedBody), newSecret(t)) == nil {
			t.Errorf("%s accepts an unsigned delivery", name)
		}
	}
}

// D66: the form of a secret.
func TestNewSecret_Form(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^whsec_[0-9A-Za-z+/]{56}$`)
	seen := map[string]bool{}
	for range 1000 {
		s := newSecret(t)
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, "whsec_"))
		if err != nil || !form.MatchString(s) || !regexp.MustCompile(`^[0-9A-Za-z]{42}$`).Match(key) || seen[s] {
			t.Fatalf("%q decodes to %q, %v, seen before %v", s, key, err, seen[s])
		}
		seen[s] = true
	}
}
