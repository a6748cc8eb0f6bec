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

// brake counts failed sign-ins under a name, and makes the next attempt under that name wait:
//
//	failures so far         fewer than free   free   free+1   free+2   …
//	the next attempt waits  not at all        1 s    2 s      4 s      … up to most
//
// All failures are forgotten an hour after the last one. If leak is set, one failure is also
// forgotten every leak.
type brake struct {
	name string
	free int64         // failures without a wait
	most time.Duration // the longest wait
	leak time.Duration // 0: failures do not leak
	// successes means that successful attempts count too, because they cost as much work.
	successes bool
}

// forgetFailures is how long after the last failure all are forgotten.
const forgetFailures = time.Hour

// brakes are the brakes that an attempt to sign in must pass.
type brakes struct {
	// own are brakes whose failures only the person who makes the attempt can have caused. The
	// first counts the failures for this account alone; signing in resets it.
	own []brake
	// account counts everybody's failures for this account. It is nil if those of others must not
	// count.
	account *brake
}

// brakesFor returns the brakes for an unknown browser. Its address is slowed down after 5 failures
// for this account, or after 20 for all accounts together. The account is slowed down only if many
// addresses try it, and by at most a minute, because that keeps its owner out too. At one guess a
// minute, a password of eight characters is safe.
func brakesFor(user sheaf.UserID, in SignIn) brakes {
	account := "user " + string(user)
	if user == "" {
		// Folded as the store looks it up: two spellings of an address share a brake, whether or
		// not a user has it.
		account = emailBrake(in.Email)
	}
	return brakes{
		own:     []brake{{name: account + " from " + in.Address, free: 5, most: 15 * time.Minute}, {name: "address " + in.Address, free: 20, most: 15 * time.Minute}},
		account: &brake{name: account, free: 50, most: time.Minute, leak: time.Minute},
	}
}

// emailBrake returns the name of the brake for an e-mail that no user has.
func emailBrake(email string) string { return "email " + shortHash([]byte(store.Fold(email))) }

// brakesOf returns the brakes for a browser in which the person is signed in or signed in before.
// No one else can slow it down.
func brakesOf(known string) brakes {
	return brakes{own: []brake{{name: "known " + shortHash([]byte(known)), free: 5, most: 15 * time.Minute}}}
}

func shortHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// count returns the number of failures that still count.
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

// wait returns how long the next attempt has to wait. If the result is not positive, it need not
// wait.
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

// countAttempt returns RateLimited if a brake makes the attempt wait. Otherwise it counts the
// attempt as failed before it is made, so that concurrent attempts cannot get around the brakes.
// forgiveAttempt takes that back when the attempt succeeds. An attempt that the account's brake
// refuses counts for its address and not for the account: repeating it does not keep the owner out
// longer.
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

// next locks the brake's row until the transaction ends. It returns the failures including this
// attempt, and how long the attempt has to wait.
func (b brake) next(tx *store.Tx, now time.Time) (store.Failures, time.Duration, error) {
	f, err := tx.LockFailures(b.name)
	return store.Failures{Count: b.count(f, now) + 1, At: now}, b.wait(f, now), err
}

// tooManyFailures returns the refusal after too many failures. `remedy` is appended to its text.
func tooManyFailures(wait time.Duration, remedy string) error {
	wait = max(wait.Round(time.Second), time.Second)
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait,
		Text: "Signing in failed too often. Try again in " + wait.String() + "." + remedy}
}

// uncountAttempt takes back what countAttempt counted for an attempt that was not made because of
// err, and returns err. If the client has left, the attempt stays counted: it has cost others time.
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

// forgiveAttempt takes back what countAttempt counted, after the right password was given. The
// failures for this account from this address are forgotten. The other brakes count one less,
// except those that count successes too.
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
