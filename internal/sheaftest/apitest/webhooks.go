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

// Webhooks is what an API sends with. Its guard lets loopback through, where the receivers of tests
// are, and nothing else that is special; it trusts the certificates of CA.
type Webhooks struct {
	CA      *sheaftest.CA
	Box     *seal.Box
	Guard   *guard.Guard
	Client  *deliver.Client
	Courier *deliver.Courier
	Timeout time.Duration // of an attempt
}

// newWebhooks makes an authority and a master key of the test's own.
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

// rules is the part of it that the app needs.
func (w *Webhooks) rules() app.Webhooks {
	return app.Webhooks{Box: w.Box, Guard: w.Guard, SignatureHeader: "X-Service-Signature", Send: w.Courier.Send}
}
