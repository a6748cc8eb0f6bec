package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "redacted"

// Secret is a text that must not reach a log, an error or a page: however it is printed, logged or
// encoded, it reads `redacted`. Only Reveal gives it away.
type Secret string

// Reveal returns the secret itself, for the one call that needs it.
func (s Secret) Reveal() string { return string(s) }

// String returns `redacted`, whatever the secret is.
func (Secret) String() string { return redacted }

// GoString returns `redacted`, whatever the secret is.
func (Secret) GoString() string { return redacted }

// Format writes `redacted` for every verb: without it, fmt shows the raw value beside a verb that
// does not fit.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue makes slog write `redacted`.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText makes encoders write `redacted`.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON makes encoders write `"redacted"`.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// SecretBytes is Secret for key material. It may be passed wherever a []byte is asked for.
type SecretBytes []byte

// Reveal returns the secret itself, for the one call that needs it.
func (s SecretBytes) Reveal() []byte { return s }

// String returns `redacted`, whatever the secret is.
func (SecretBytes) String() string { return redacted }

// GoString returns `redacted`, whatever the secret is.
func (SecretBytes) GoString() string { return redacted }

// Format writes `redacted` for every verb.
func (SecretBytes) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue makes slog write `redacted`.
func (SecretBytes) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText makes encoders write `redacted`.
func (SecretBytes) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON makes encoders write `"redacted"`.
func (SecretBytes) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
