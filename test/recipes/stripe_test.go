package recipes

import (
	"crypto/rand"
	"net/http"
	"testing"
	"time"

	stripe "github.com/stripe/stripe-go/v82/webhook"

	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/sheaf"
)

// Stripe's Go library takes what is signed, with either secret during a rotation, and nothing else. It is tried here, and
// not beside the signer, because it takes long to compile, and twice as long for the race detector.
func TestSign_StripesGoLibraryVerifies(t *testing.T) {
	t.Parallel()
	newest, old, body := sheaf.NewSigningSecret(rand.Reader), sheaf.NewSigningSecret(rand.Reader), []byte(`{"name":"<ü>"}`)
	h, unsigned := http.Header{}, http.Header{}
	deliver.Signer{}.Sign(h, "evt_1", time.Now(), body, []string{newest, old})
	deliver.Signer{}.Sign(unsigned, "evt_1", time.Now(), body, nil)
	for _, test := range []struct {
		name, secret string
		header       http.Header
		body         string
		genuine      bool
	}{
		{"the newest secret", newest, h, string(body), true},
		{"the one before", old, h, string(body), true},
		{"another secret", sheaf.NewSigningSecret(rand.Reader), h, string(body), false},
		{"an altered body", newest, h, " " + string(body), false},
		{"no signature", newest, unsigned, string(body), false},
	} {
		err := stripe.ValidatePayload([]byte(test.body), test.header.Get("X-Service-Signature"), test.secret)
		if (err == nil) != test.genuine {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
