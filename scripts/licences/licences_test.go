package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sheaf.dev/internal/sheaftest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

func TestThirdParty_ListsWhatIsLinked(t *testing.T) {
	want, err := os.ReadFile("../../THIRD-PARTY.md")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	if err := list(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Error("THIRD-PARTY.md is not what the program is linked from; run: go run ./scripts/licences > THIRD-PARTY.md")
	}
}

func TestNameOf_RefusesWhatItDoesNotKnow(t *testing.T) {
	if got := nameOf("All rights reserved. You may not use this."); got != "" {
		t.Errorf("got %s", got)
	}
}
