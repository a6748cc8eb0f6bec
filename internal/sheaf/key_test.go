package sheaf

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestNewSecretKey_IsAKeyAndNeverTheSame(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key := NewSecretKey(rand.Reader)
		hash, ok := HashKey(key)
		if !ok || hash != sha256.Sum256([]byte(key)) || seen[key] {
			t.Fatalf("%s: a key %t, seen %t", key, ok, seen[key])
		}
		if len(key) != 50 || !strings.HasPrefix(key, "shf_") || strings.Trim(key[4:], base62) != "" {
			t.Fatalf("%s has another form", key)
		}
		if hint := KeyHint(key); hint != key[:10] {
			t.Fatalf("the hint of %s is %s", key, hint)
		}
		seen[key] = true
	}
}

// A key from known randomness, so that keys in use stay valid for ever.
func TestHashKey_KnownKeyStaysAKey(t *testing.T) {
	const known = "shf_0000000000000000000000000000000000000000"
	if got := NewSecretKey(bytes.NewReader(make([]byte, 200))); got[:44] != known {
		t.Fatalf("got %s", got)
	} else if _, ok := HashKey(known + "3KUTh3"); !ok {
		t.Errorf("the checksum of %s is %s now", known, got[44:])
	}
}

func TestHashKey_EveryTypoIsRefused(t *testing.T) {
	key := NewSecretKey(rand.Reader)
	for i := range key {
		for _, c := range []byte(base62 + "_- \x00\xff") {
			typo := key[:i] + string([]byte{c}) + key[i+1:]
			if _, ok := HashKey(typo); ok != (typo == key) {
				t.Errorf("character %d as %q: accepted %t", i, c, ok)
			}
		}
		if i > 0 && key[i] != key[i-1] {
			swapped := []byte(key)
			swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
			if _, ok := HashKey(string(swapped)); ok {
				t.Errorf("characters %d and %d swapped are accepted", i-1, i)
			}
		}
		if _, ok := HashKey(key[:i]); ok {
			t.Errorf("the first %d characters are accepted", i)
		}
	}
	for _, more := range []string{key + "0", " " + key, key + "\n", strings.ToLower(key), strings.ToUpper(key)} {
		if _, ok := HashKey(more); ok {
			t.Errorf("%q is accepted", more)
		}
	}
}

func FuzzHashKey(f *testing.F) {
	f.Add(NewSecretKey(rand.Reader))
	f.Add("shf_")
	f.Fuzz(func(t *testing.T, s string) {
		if _, ok := HashKey(s); ok && s != s[:44]+checksum(s[:44]) {
			t.Errorf("%q is accepted", s)
		}
	})
}

func TestRandomBase62_EveryCharacterIsEquallyLikely(t *testing.T) {
	every := make([]byte, 256) // each byte once: each character 4 times, the bytes above 247 not at all
	for i := range every {
		every[i] = byte(i)
	}
	got := RandomBase62(bytes.NewReader(bytes.Repeat(every, 2)), 200)
	for _, c := range base62 {
		if n := strings.Count(got, string(c)); n < 3 || n > 4 {
			t.Errorf("%c comes %d times", c, n)
		}
	}
	if got := RandomBase62(rand.Reader, 0); got != "" {
		t.Errorf("got %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("a secret without randomness")
		}
	}()
	RandomBase62(iotest.ErrReader(errors.New("no")), 1)
}

func TestKey_Live(t *testing.T) {
	now := time.UnixMilli(1000)
	before, after := now.Add(-1), now.Add(1)
	for _, c := range []struct {
		key  Key
		want bool
	}{
		{Key{}, true}, {Key{ExpiresAt: &after}, true}, {Key{ExpiresAt: &now}, false}, {Key{ExpiresAt: &before}, false},
		{Key{RevokedAt: &after}, false}, {Key{RevokedAt: &before, ExpiresAt: &after}, false},
	} {
		if got := c.key.Live(now); got != c.want {
			t.Errorf("%+v: got %t", c.key, got)
		}
	}
}

func TestParseScopes(t *testing.T) {
	got, err := ParseScopes([]string{"keys:write", "projects:read", "keys:write"})
	if err != nil || len(got) != 2 || !got.Has(ProjectsRead) || !got.Has(KeysWrite) {
		t.Errorf("got %v, %v, want each once", got, err)
	}
	for _, names := range [][]string{nil, {}, {"projects"}, {"projects:read", "Projects:read"}, {""}, {"projects:read,projects:write"}} {
		if got, err := ParseScopes(names); KindOf(err) != Invalid || got != nil {
			t.Errorf("%q: got %v, %v, want Invalid", names, got, err)
		}
	}
	if AllScopes[:1].Has(ProjectsWrite) || !AllScopes.Has(ProjectsWrite) || (Scopes)(nil).Has("") {
		t.Error("Has is wrong")
	}
}
