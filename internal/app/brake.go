package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// brake counts failures to sign in under a name, and makes the next attempt under that name wait:
//
//	failures so far         fewer than free   free   free+1   free+2   …
//	the next attempt waits  not at all        1 s    2 s      4 s      … up to most
//
// All of them are forgotten an hour after the last one. With leak, one is forgotten each time that
// leak has passed.
type brake struct {
	name string
	free int64         // failures that cost nothing
	most time.Duration // the longest wait
	leak time.Duration // 0: none is forgotten by itself
	// successes count too: they cost as much work.
	successes bool
}

// forgetFailures is how long after the last failure none of them counts any more.
const forgetFailures = time.Hour

// brakes are what an attempt to sign in has to pass.
type brakes struct {
	// own are those that only whoever makes the attempt can have caused. The first counts their
	// failures for this account alone: signing in clears it.
	own []brake
	// account counts the failures of everybody for this account; nil where those of others must not
	// count.
	account *brake
}

// brakesFor returns the brakes for a browser that is not known. The address that it comes from is
// slowed down: after 5 failures for this account, after 20 for all accounts together. The account
// is slowed down only when many addresses try it, and never by more than a minute, since that keeps
// its owner out too: at one guess a minute a password of eight characters holds.
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

// brakesOf returns the brakes for a browser that its person signed in with before, or is signed in
// with now. Nobody else can slow it down.
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

// wait returns how long the next attempt has to wait after these failures; none when it is not
// positive.
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

// countAttempt returns RateLimited when a brake makes the attempt wait. Otherwise it counts the
// attempt as failed before it is made, so that many at once are no way around the brakes;
// forgiveAttempt takes that back when it succeeds. An attempt that the account's brake refuses is
// counted for the address that it comes from, and not for the account: asking again and again keeps
// the owner out no longer.
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

// next locks the brake's row until the transaction ends, and returns its failures with one more,
// and how long the attempt has to wait.
func (b brake) next(tx *store.Tx, now time.Time) (store.Failures, time.Duration, error) {
	f, err := tx.LockFailures(b.name)
	return store.Failures{Count: b.count(f, now) + 1, At: now}, b.wait(f, now), err
}

// tooManyFailures is the refusal of who has failed too often; remedy says what helps.
func tooManyFailures(wait time.Duration, remedy string) error {
	wait = max(wait.Round(time.Second), time.Second)
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait,
		Text: "Signing in failed too often. Try again in " + wait.String() + "." + remedy}
}

// uncountAttempt takes back what countAttempt counted for an attempt that was not made because of err, and
// returns err. An attempt whose client has left stays counted: it has cost the others their time.
func (a *App) uncountAttempt(ctx context.Context, all brakes, err error) error {
	if ctx.Err() != nil {
		return err
	}
	names := all.own
	if all.account != nil {
		names = append(slices.Clone(names), *all.account)
	}
	forgiven := a.writeUnasked(ctx, func(tx *store.Tx) error {
		for _, b := range names {
			if err := tx.ForgiveFailure(b.name); err != nil {
				return err
			}
		}
		return nil
	})
	return firstError(forgiven, err)
}

// forgiveAttempt takes back what countAttempt counted, after the right password: the failures for
// this account from this address are forgotten, the other brakes count one less, but for one that counts
// successes too.
func (a *App) forgiveAttempt(ctx context.Context, all brakes) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := tx.ForgetFailures(all.own[0].name); err != nil {
			return err
		}
		for _, b := range all.own[1:] {
			if b.successes {
				continue
			}
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
