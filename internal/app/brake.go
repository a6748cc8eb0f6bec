package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// brake is a name under which failures to sign in are counted, and how they slow the next attempt
// down: free ones cost nothing, then the wait doubles from a second up to most. They are forgotten
// an hour after the last one, or one by one, each after leak.
type brake struct {
	name string
	free int64
	most time.Duration
	leak time.Duration // 0: none
}

// forgetFailures is how long after the last one failures no longer count.
const forgetFailures = time.Hour

// brakes are what an attempt to sign in has to pass. Its own are caused by whoever makes it, the
// first of them by their failures for this account alone; anybody can cause that of the account.
type brakes struct {
	own     []brake
	account *brake
}

// brakesFor returns those for a browser that is not known: where it comes from is slowed down, for
// this account sooner than for all together. The account is slowed down only when many places try
// it, and never by more than a minute, since that keeps its owner out too: at one guess a minute a
// password of eight characters holds.
func brakesFor(user sheaf.UserID, in SignIn) brakes {
	account := "user " + string(user)
	if user == "" {
		// Folded as the store looks for it: two spellings of an address slow each other down,
		// whoever has it.
		account = "email " + shortHash([]byte(store.Fold(in.Email)))
	}
	return brakes{
		own:     []brake{{name: account + " from " + in.Address, free: 5, most: 15 * time.Minute}, {name: "address " + in.Address, free: 20, most: 15 * time.Minute}},
		account: &brake{name: account, free: 50, most: time.Minute, leak: time.Minute},
	}
}

// brakesOf returns those for a browser that its person signed in with before, or is signed in with:
// nobody else can slow it down.
func brakesOf(known string) brakes {
	return brakes{own: []brake{{name: "known " + shortHash([]byte(known)), free: 5, most: 15 * time.Minute}}}
}

func shortHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// count returns how many failures still count.
func (b brake) count(f store.Failures, now time.Time) int64 {
	age := max(now.Sub(f.At), 0)
	if age >= forgetFailures {
		return 0
	}
	if b.leak > 0 {
		f.Count -= int64(age / b.leak)
	}
	return max(f.Count, 0)
}

func (b brake) wait(f store.Failures, now time.Time) time.Duration {
	n := b.count(f, now)
	if n < b.free {
		return 0
	}
	wait := b.most
	if doubled := n - b.free; doubled < 20 {
		wait = min(wait, time.Second<<doubled)
	}
	return f.At.Add(wait).Sub(now)
}

// countAttempt counts an attempt to sign in as failed before it is made, so that many at once are
// no way around, or returns RateLimited. What the account's brake refuses counts where it comes
// from: asking again and again keeps nobody else out for long. forgiveAttempt takes back what was
// counted.
func (a *App) countAttempt(ctx context.Context, all brakes) error {
	var refused error
	err := a.writeUnasked(ctx, func(tx *store.Tx) error {
		refused = nil
		now := a.now()
		var counted []store.Failures
		for _, b := range all.own {
			f, wait, err := b.next(tx, now)
			if err != nil {
				return err
			}
			if wait > 0 {
				return tooManyFailures(wait, "")
			}
			counted = append(counted, f)
		}
		if b := all.account; b != nil {
			f, wait, err := b.next(tx, now)
			if err == nil && wait <= 0 {
				err = tx.SetFailures(b.name, f)
			}
			if err != nil {
				return err
			}
			if wait > 0 {
				refused = tooManyFailures(wait, " A browser in which you signed in before need not wait.")
			}
		}
		for i, b := range all.own {
			if err := tx.SetFailures(b.name, counted[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = refused
	}
	return err
}

// next holds the brake's name, and returns its failures with one more, and how long an attempt has
// to wait.
func (b brake) next(tx *store.Tx, now time.Time) (store.Failures, time.Duration, error) {
	f, err := tx.LockFailures(b.name)
	return store.Failures{Count: b.count(f, now) + 1, At: now}, b.wait(f, now), err
}

func tooManyFailures(wait time.Duration, remedy string) error {
	wait = max(wait.Round(time.Second), time.Second)
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait,
		Text: "Signing in failed too often. Try again in " + wait.String() + "." + remedy}
}

// forgiveAttempt takes back what countAttempt counted: the attempts for this account from here
// begin anew, the others are forgiven this one.
func (a *App) forgiveAttempt(ctx context.Context, all brakes) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := tx.ForgetFailures(all.own[0].name); err != nil {
			return err
		}
		for _, b := range all.own[1:] {
			if err := tx.ForgiveFailure(b.name); err != nil {
				return err
			}
		}
		if all.account != nil {
			return tx.ForgiveFailure(all.account.name)
		}
		return nil
	})
}
