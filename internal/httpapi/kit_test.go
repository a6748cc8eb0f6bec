package httpapi_test

import (
	"crypto/rand"

	"sheaf.dev/internal/sheaf"
)

// otherKey returns a well-formed key that nobody has.
func otherKey() string { return sheaf.NewSecretKey(rand.Reader) }
