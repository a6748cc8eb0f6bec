package config

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "redacted"

// Secret is a text that must not appear in a log, an error or a page. However it is printed, logged
// or encoded, the result is `redacted`. Only Reveal returns the text.
type Secret string

// Reveal returns the secret.
func (s Secret) Reveal() string { return string(s) }

// String returns `redacted`.
func (Secret) String() string { return redacted }

// GoString returns `redacted`.
func (Secret) GoString() string { return redacted }

// Format writes `redacted` for every verb. Without it, fmt would print the value for a verb that
// does not fit.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue makes slog write `redacted`.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText makes encoders write `redacted`.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON makes encoders write `"redacted"`.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// SecretBytes is Secret for key material. It can be used as a []byte.
type SecretBytes []byte

// Reveal returns the secret.
func (s SecretBytes) Reveal() []byte { return s }

// String returns `redacted`.
func (SecretBytes) String() string { return redacted }

// GoString returns `redacted`.
func (SecretBytes) GoString() string { return redacted }

// Format writes `redacted` for every verb.
func (SecretBytes) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue makes slog write `redacted`.
func (SecretBytes) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText makes encoders write `redacted`.
func (SecretBytes) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON makes encoders write `"redacted"`.
func (SecretBytes) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
