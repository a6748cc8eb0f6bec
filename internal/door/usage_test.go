package door

import (
	"fmt"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/tally"
)

// A use that could not be written is due again; one that was, is not.
func TestUsage_IsMarkedAsWrittenAfterItWas(t *testing.T) {
	u := usage{tally: tally.New(time.Now)}
	u.note(&app.Caller{Workspace: "w", Key: sheaf.Key{ID: "k"}}, time.Unix(1_790_000_000, 0))
	for range 2 { // as after a write that failed
		if due := u.due(false); len(due) != 1 {
			t.Fatalf("%d are due, want the one that nobody wrote", len(due))
		}
	}
	for _, p := range u.due(false) {
		p.use.written = p.last
	}
	if due := u.due(true); len(due) != 0 {
		t.Errorf("%d are due, want none", len(due))
	}
}

// What is remembered is what is used, not every key that ever was.
func TestUsage_ForgetsKeysThatNobodyUses(t *testing.T) {
	u := usage{tally: tally.New(time.Now)}
	remembered := func() (n int) {
		u.keys.Range(func(any, any) bool { n++; return true })
		return n
	}
	for i := range 1000 {
		u.note(&app.Caller{Workspace: "w", Key: sheaf.Key{ID: sheaf.KeyID(fmt.Sprint(i))}}, time.Unix(1_790_000_000, 0))
	}
	for _, p := range u.due(true) {
		p.use.written = p.last
	}
	for i := range usageKept + 1 {
		if n := remembered(); n != 1000 {
			t.Fatalf("after %d rounds %d keys are remembered", i, n)
		}
		u.due(false)
	}
	if n := remembered(); n != 0 {
		t.Errorf("%d keys are remembered though nobody uses them", n)
	}
}
