package webhook

import (
	"strings"
	"time"
)

// secretPrefix begins every secret. It is part of the first scheme's key, and not of the second's.
const secretPrefix = "whsec_"

// Option changes how requests are verified.
type Option func(*options)

// options is what a request is verified by.
type options struct {
	secrets   []string // any of them may have signed
	header    string   // name of the service's own signature header
	tolerance time.Duration
	now       func() time.Time
}

// WithSecrets accepts signatures made with any of these secrets as well: for a receiver that serves
// several subscriptions, or changes its secret by itself. A rotation at the service does not need
// it.
func WithSecrets(secrets ...string) Option {
	return func(o *options) { o.secrets = append(o.secrets, secrets...) }
}

// WithHeader names the first scheme's header, where the operator of the service has changed it from
// [DefaultHeader].
func WithHeader(name string) Option {
	return func(o *options) { o.header = name }
}

// WithTolerance sets how far a signature's time may be from the clock, in either direction. A
// tolerance that is not positive changes nothing: the check cannot be turned off.
func WithTolerance(d time.Duration) Option {
	return func(o *options) {
		if d > 0 {
			o.tolerance = d
		}
	}
}

// WithClock sets the clock that signatures' times are compared with, for tests.
func WithClock(now func() time.Time) Option {
	return func(o *options) { o.now = now }
}

// newOptions returns the options of one call, or ErrSecret when a secret is empty.
func newOptions(secret string, opts []Option) (*options, error) {
	o := &options{secrets: []string{secret}, header: DefaultHeader, tolerance: DefaultTolerance, now: time.Now}
	for _, opt := range opts {
		opt(o)
	}
	for i, s := range o.secrets {
		o.secrets[i] = strings.TrimSpace(s)
		// Anybody could sign with an empty key.
		if strings.TrimPrefix(o.secrets[i], secretPrefix) == "" {
			return nil, ErrSecret
		}
	}
	return o, nil
}
