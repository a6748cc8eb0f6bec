package apitest

import (
	"crypto/rand"
	"errors"
	"net/netip"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/deliver"
	"sheaf.dev/internal/guard"
	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaftest"
)

// Webhooks is the sender of an API. Its guard allows loopback, where the receivers of tests are,
// and no other special address. It trusts the certificates of CA.
type Webhooks struct {
	CA      *sheaftest.CA
	Box     *seal.Box
	Guard   *guard.Guard
	Client  *deliver.Client
	Courier *deliver.Courier
	Timeout time.Duration // of an attempt
}

// newWebhooks creates a sender with a new authority and a new master key.
func newWebhooks(t testing.TB, clock *Clock) *Webhooks {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	box, err := seal.New(key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := sheaftest.NewCA()
	if err != nil {
		t.Fatal(err)
	}
	w := &Webhooks{CA: ca, Box: box, Timeout: 5 * time.Minute,
		Guard: guard.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")})}
	w.Client = deliver.NewClient(deliver.ClientConfig{Timeout: w.Timeout, Control: w.Guard.Control,
		Blocked: func(err error) bool { return errors.Is(err, guard.ErrBlocked) }, Special: w.Guard.Special, Allowed: w.Guard.Allowed,
		RootCAs: ca.Pool(), PerHost: deliver.IdlePerHost, UserAgent: "Sheaf-Webhooks/test"})
	w.Courier = &deliver.Courier{Client: w.Client, Now: clock.Now}
	t.Cleanup(w.Client.CloseIdle)
	return w
}

// rules returns the part that app needs.
func (w *Webhooks) rules() app.Webhooks {
	return app.Webhooks{Box: w.Box, Guard: w.Guard, SignatureHeader: "X-Service-Signature", Send: w.Courier.Send}
}
