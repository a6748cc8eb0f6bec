package store

import (
	"fmt"
	"time"

	"sheaf.dev/internal/seal"
	"sheaf.dev/internal/sheaf"
)

// Open decrypts and returns the secrets that sign at time now, newest first, and the custom
// headers.
func (s Sealed) Open(box *seal.Box, id sheaf.SubscriptionID, now time.Time) ([]string, []sheaf.Header, error) {
	secret, err := box.OpenSecret(string(id), s.Secret)
	if err != nil {
		return nil, nil, fmt.Errorf("open the secret of subscription %s: %w", id, err)
	}
	secrets := []string{secret}
	if s.OldSecretUntil != nil && now.Before(*s.OldSecretUntil) {
		old, err := box.OpenSecret(string(id), s.OldSecret)
		if err != nil {
			return nil, nil, fmt.Errorf("open the old secret of subscription %s: %w", id, err)
		}
		secrets = append(secrets, old)
	}
	pairs, err := box.OpenHeaders(string(id), s.Headers)
	if err != nil {
		return nil, nil, fmt.Errorf("open the headers of subscription %s: %w", id, err)
	}
	var headers []sheaf.Header
	for _, p := range pairs {
		headers = append(headers, sheaf.Header{Name: p[0], Value: p[1]})
	}
	return secrets, headers, nil
}
