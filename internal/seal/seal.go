// Package seal encrypts what the store keeps but nobody may read there: webhook secrets and header
// values. AES-256-GCM, bound to the row it belongs to, so that a sealed value copied to another row
// does not open.
//
// It keeps no key on disk and chooses none.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// A sealed value is one byte of version, a random nonce of 12 bytes, and what AES-GCM makes of the
// plain text: as many bytes, and 16 that prove that neither it nor its place was changed.

// version begins every sealed value, so that the form can change.
const version = 1

// ErrOpen says that a value was not sealed with this key for this place, or was changed since.
var ErrOpen = errors.New("a sealed value does not open with this master key")

// Box seals and opens with one key. It is safe for concurrent use.
type Box struct {
	key    []byte
	aead   cipher.AEAD
	random io.Reader
}

// New returns a Box with a key of 32 bytes, or an error when it has another length. random must be
// cryptographically strong.
func New(key []byte, random io.Reader) (*Box, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the master key has %d bytes, 32 are needed", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &Box{key: bytes.Clone(key), aead: aead, random: random}, nil
}

// Seal encrypts plain for a place, such as "subscriptions/ID/secret". It panics when random fails.
func (b *Box) Seal(plain []byte, place string) []byte {
	out := make([]byte, 1+b.aead.NonceSize(), 1+b.aead.NonceSize()+len(plain)+b.aead.Overhead())
	out[0] = version
	if _, err := io.ReadFull(b.random, out[1:]); err != nil {
		panic("seal: the source of randomness failed: " + err.Error())
	}
	return b.aead.Seal(out, out[1:], plain, []byte(place))
}

// Open decrypts what Seal made for the same place, or returns ErrOpen.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	n := 1 + b.aead.NonceSize()
	if len(sealed) < n || sealed[0] != version {
		return nil, ErrOpen
	}
	plain, err := b.aead.Open(nil, sealed[1:n], sealed[n:], []byte(place))
	if err != nil {
		return nil, ErrOpen
	}
	return plain, nil
}
