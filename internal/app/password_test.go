package app

import (
	"crypto/rand"
	"strings"
	"testing"
)

func TestPassword_MatchesItsOwnHashOnly(t *testing.T) {
	hash, err := hashPassword("correct horse", rand.Reader, standardCost)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("the hash is %s", hash)
	}
	if !passwordMatches(hash, "correct horse") {
		t.Error("the password does not match its hash")
	}
	if passwordMatches(hash, "correct horse ") {
		t.Error("another password matches")
	}
}

// Made by the reference implementation: echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1
func TestPassword_TakesTheParametersFromTheHash(t *testing.T) {
	const reference = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !passwordMatches(reference, "password") {
		t.Error("the reference hash does not match")
	}
}

func TestPassword_NothingMatchesWhatIsNoHash(t *testing.T) {
	for _, hash := range []string{"", "x", "$argon2id$", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=64,t=0,p=1$c29tZXNhbHQ$AAAA",
		"$argon2id$v=19$m=64,t=1,p=0$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$", "$argon2id$v=19$m=64,t=1,p=1$!$AAAA",
		"$argon2id$v=19$m=64,t=1,p=300$c29tZXNhbHQ$AAAA", "$argon2id$v=16$m=64,t=1,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=64,t=1"} {
		if passwordMatches(hash, "") {
			t.Errorf("%q matches", hash)
		}
	}
}
