package seal_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"testing"

	"sheaf.dev/internal/seal"
)

func box(t *testing.T) *seal.Box {
	key := make([]byte, 32)
	rand.Read(key)
	b, err := seal.New(key, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBox_OpensWhatItSealed(t *testing.T) {
	b := box(t)
	sealed := b.Seal([]byte("whsec_x"), "a")
	if bytes.Contains(sealed, []byte("whsec")) {
		t.Fatal("the plain text shows")
	}
	plain, err := b.Open(sealed, "a")
	if err != nil || string(plain) != "whsec_x" {
		t.Fatalf("got %q, %v", plain, err)
	}
	if bytes.Equal(sealed, b.Seal([]byte("whsec_x"), "a")) {
		t.Fatal("the same text seals to the same bytes")
	}
}

func TestBox_RefusesAnotherPlaceKeyOrByte(t *testing.T) {
	b := box(t)
	sealed := b.Seal([]byte("whsec_x"), "a")
	for name, open := range map[string]func() ([]byte, error){
		"place": func() ([]byte, error) { return b.Open(sealed, "b") },
		"key":   func() ([]byte, error) { return box(t).Open(sealed, "a") },
		"empty": func() ([]byte, error) { return b.Open(nil, "a") },
	} {
		if _, err := open(); !errors.Is(err, seal.ErrOpen) {
			t.Errorf("another %s opened it", name)
		}
	}
	for i := range sealed {
		flipped := bytes.Clone(sealed)
		flipped[i] ^= 1
		if _, err := b.Open(flipped, "a"); !errors.Is(err, seal.ErrOpen) {
			t.Errorf("byte %d was changed and it opened", i)
		}
	}
}

func TestNew_RefusesAShortKey(t *testing.T) {
	if _, err := seal.New(make([]byte, 16), rand.Reader); err == nil {
		t.Fatal("a key of 16 bytes was taken")
	}
}
