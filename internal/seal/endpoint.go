package seal

import (
	"encoding/json"
	"fmt"
)

// The places of a subscription's sealed values.
func secretPlace(subscription string) string  { return "subscriptions/" + subscription + "/secret" }
func headersPlace(subscription string) string { return "subscriptions/" + subscription + "/headers" }

// Secret seals the signing secret of a subscription, old or new.
func (b *Box) Secret(subscription, secret string) []byte {
	return b.Seal([]byte(secret), secretPlace(subscription))
}

// OpenSecret returns what Secret sealed.
func (b *Box) OpenSecret(subscription string, sealed []byte) (string, error) {
	plain, err := b.Open(sealed, secretPlace(subscription))
	return string(plain), err
}

// Headers seals the custom headers of a subscription, as name and value pairs; none is nil.
func (b *Box) Headers(subscription string, pairs [][2]string) []byte {
	if len(pairs) == 0 {
		return nil
	}
	plain, err := json.Marshal(pairs)
	if err != nil {
		panic("seal: pairs of strings did not encode: " + err.Error())
	}
	return b.Seal(plain, headersPlace(subscription))
}

// OpenHeaders returns what Headers sealed.
func (b *Box) OpenHeaders(subscription string, sealed []byte) ([][2]string, error) {
	if sealed == nil {
		return nil, nil
	}
	plain, err := b.Open(sealed, headersPlace(subscription))
	if err != nil {
		return nil, err
	}
	var pairs [][2]string
	if err := json.Unmarshal(plain, &pairs); err != nil {
		return nil, fmt.Errorf("read sealed headers: %w", err)
	}
	return pairs, nil
}
