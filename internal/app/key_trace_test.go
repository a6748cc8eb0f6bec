package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// leak is a workspace in which a key has leaked.
type leak struct {
	*testing.T
	a       *App
	owner   Caller
	project sheaf.ProjectID
}

func newLeak(t *testing.T, a *App) *leak {
	t.Helper()
	in, _ := ada(t, a)
	x := &leak{T: t, a: a, owner: caller(t, a, mustSignIn(t, a, in).Token)}
	p, err := a.CreateProject(t.Context(), x.owner, sheaf.ProjectChange{Name: sheaf.Some("Manual")})
	x.must(err)
	x.project = p.ID
	return x
}

func (x *leak) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// by returns the caller of a key.
func (x *leak) by(k sheaf.NewKey) Caller {
	return Caller{Workspace: x.owner.Workspace, User: x.owner.User, Key: k.Key}
}

// key creates a key with everything that makes keys, webhooks and shares.
func (x *leak) key(c Caller, name string) Caller {
	x.Helper()
	k, err := x.a.CreateKey(x.Context(), c, NewKey{Name: name, Scopes: sheaf.Admin.Scopes()})
	x.must(err)
	return x.by(k)
}

func (x *leak) share(c Caller) sheaf.ShareID {
	x.Helper()
	s, err := x.a.CreateShare(x.Context(), c, sheaf.ShareChange{ResourceType: sheaf.Some("project"), ResourceID: sheaf.Some(string(x.project))})
	x.must(err)
	return s.ID
}

func (x *leak) hook(c Caller, name string) sheaf.SubscriptionID {
	x.Helper()
	s, err := x.a.CreateSubscription(x.Context(), c, sheaf.SubscriptionChange{Name: sheaf.Some(name), URL: sheaf.Some("https://example.com/"),
		Events: sheaf.Some([]string{"project.updated"})})
	x.must(err)
	return s.ID
}

func (x *leak) trace(c Caller) KeyTrace {
	x.Helper()
	t, err := x.a.TraceKey(x.Context(), x.owner, c.Key.ID)
	x.must(err)
	return t
}

// made returns the names of what was made.
func made(m sheaf.Made) string {
	var out []string
	for _, k := range m.Keys {
		out = append(out, "key "+k.Name)
	}
	for _, s := range m.Subscriptions {
		out = append(out, "webhook "+s.Name)
	}
	if m.ShareCount > 0 {
		out = append(out, fmt.Sprintf("%d shares", m.ShareCount))
	}
	return strings.Join(out, ", ")
}

// D202: what was made with a key ends with it, also what was made with keys that it made or rotated. What others made stays.
func TestKeyTrace_RevokesWhatWasMade(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		ctx, x := t.Context(), newLeak(t, a)
		leaked, other, taken := x.key(x.owner, "leaked"), x.key(x.owner, "other"), x.key(x.owner, "taken")
		child := x.key(leaked, "child")
		grandchild := x.key(child, "grandchild")
		x.must(a.RevokeKey(ctx, x.owner, child.Key.ID)) // what it made still works
		_, err := a.RotateKey(ctx, leaked, taken.Key.ID, 0)
		x.must(err)
		rotated, err := a.RotateKey(ctx, leaked, leaked.Key.ID, 0) // another secret of the same key
		x.must(err)
		leaked = x.by(rotated)
		bad := []sheaf.ShareID{x.share(leaked), x.share(grandchild)}
		good := []sheaf.ShareID{x.share(x.owner), x.share(other)}
		x.hook(leaked, "exfiltrate")
		kept := x.hook(other, "kept")
		_, err = a.UpdateProject(ctx, leaked, x.project, sheaf.ProjectChange{Name: sheaf.Some("Defaced")}, sheaf.Match{})
		x.must(err)
		unknown := sheaf.NewUUID(time.Now(), a.random)
		_, err = a.Operator().Import(ctx, x.owner.Workspace, []ImportRecord{{ID: unknown, Subscription: &sheaf.SubscriptionChange{Name: sheaf.Some("imported"),
			URL: sheaf.Some("https://example.com/"), Events: sheaf.Some([]string{"project.updated"})}}})
		x.must(err)

		trace := x.trace(leaked)
		if got := made(trace.Made); got != "key taken, key grandchild, webhook exfiltrate, 2 shares" {
			t.Errorf("made: %s", got)
		}
		if got := made(trace.Unknown); got != "webhook imported" {
			t.Errorf("unknown: %s", got)
		}
		if len(trace.Deliveries) != 1 || trace.Deliveries[0].EventType != sheaf.ProjectUpdated {
			t.Errorf("deliveries: %v", trace.Deliveries)
		}
		if len(trace.Events) != 2 || trace.Events[0].Type != sheaf.ProjectUpdated || trace.Events[1].Type != sheaf.ShareCreated {
			t.Errorf("the key caused %v", trace.Events)
		}
		var actions []string
		for _, l := range trace.Lines {
			actions = append(actions, string(l.Action))
		}
		if got := strings.Join(actions, " "); got != "webhook.created share.created key.rotated key.rotated key.created" {
			t.Errorf("the audit log of the key: %s", got)
		}

		for name, c := range map[string]Caller{"a member": invited(t, a, x.owner, "bob@example.com", sheaf.Member), "an editor": invited(t, a, x.owner, "eve@example.com", sheaf.Editor),
			"a key": leaked, "another key": other} {
			_, err = a.RevokeWithMade(ctx, c, leaked.Key.ID)
			wantKind(t, name, err, sheaf.Forbidden)
		}
		_, err = a.RevokeWithMade(ctx, x.owner, sheaf.KeyID(x.project))
		wantKind(t, "an unknown key", err, sheaf.NotFound)

		var wg sync.WaitGroup
		var mu sync.Mutex
		var total Revoked
		for range 64 {
			wg.Go(func() {
				done, err := a.RevokeWithMade(ctx, x.owner, leaked.Key.ID)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				total = Revoked{total.Keys + done.Keys, total.Subscriptions + done.Subscriptions, total.Shares + done.Shares}
			})
		}
		if wg.Wait(); total != (Revoked{3, 1, 2}) {
			t.Errorf("64 at once ended %+v", total)
		}
		lines, err := a.Audit(ctx, x.owner, sheaf.AuditFilter{Paging: sheaf.Paging{Limit: 6, Desc: true}})
		x.must(err)
		count := map[sheaf.AuditAction]int{}
		for _, l := range lines.Items {
			count[l.Action]++
			if l.Actor.User != x.owner.User || l.Actor.Key != "" {
				t.Errorf("%s was done by %+v", l.Action, l.Actor)
			}
		}
		if count[sheaf.ActionKeyRevoked] != 3 || count[sheaf.ActionWebhookDeleted] != 1 || count[sheaf.ActionShareDeleted] != 2 {
			t.Errorf("audit lines: %v", count)
		}
		for _, c := range []Caller{leaked, grandchild, taken} {
			_, err := a.CreateProject(ctx, c, sheaf.ProjectChange{Name: sheaf.Some("more")})
			wantKind(t, c.Key.Name, err, sheaf.Unauthorized)
		}
		if _, err := a.CreateProject(ctx, other, sheaf.ProjectChange{Name: sheaf.Some("more")}); err != nil {
			t.Errorf("the other key: %v", err)
		}
		shares, err := a.Shares(ctx, x.owner, sheaf.ShareFilter{Paging: sheaf.Paging{Limit: 10}})
		x.must(err)
		for _, s := range shares.Items {
			if slices.Contains(bad, s.ID) || !slices.Contains(good, s.ID) {
				t.Errorf("share %s is left", s.ID)
			}
		}
		if len(shares.Items) != len(good) {
			t.Errorf("%d shares are left, want %d", len(shares.Items), len(good))
		}
		if _, err := a.Subscription(ctx, x.owner, kept); err != nil {
			t.Errorf("the other webhook: %v", err)
		}
		if trace := x.trace(leaked); trace.Made.Any() || trace.Key.RevokedAt == nil {
			t.Errorf("afterwards: %+v", trace)
		}
	})
}

// D202: more shares than one transaction deletes are deleted in several. The key ends with the first, and after a failure the
// next call continues.
func TestKeyTrace_ManyShares(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		x := newLeak(t, a)
		leaked := x.key(x.owner, "leaked")
		for range 7 {
			x.share(leaked)
		}
		ctx, leave := context.WithCancel(t.Context())
		chunks := 0
		small := a.WithCascades(Cascades{Whole: 3, Rows: 4, Between: func() {
			if chunks++; chunks == 2 {
				leave()
			}
		}})
		if _, err := small.RevokeWithMade(ctx, x.owner, leaked.Key.ID); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped between two transactions: %v", err)
		}
		trace := x.trace(leaked)
		if trace.Key.RevokedAt == nil || trace.Made.ShareCount == 7 || trace.Made.ShareCount == 0 {
			t.Errorf("in between: revoked %v, %d shares", trace.Key.RevokedAt, trace.Made.ShareCount)
		}
		done, err := a.RevokeWithMade(t.Context(), x.owner, leaked.Key.ID)
		if err != nil || done != (Revoked{Shares: int(trace.Made.ShareCount)}) {
			t.Errorf("the next call ended %+v, %v", done, err)
		}
	})
}

// D202: a key that has ended is kept as long as something works that was made with it, so that its page leads to that. Two
// keys that rotated each other do not stay for ever.
func TestKeyTrace_EndedKeysAreKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		ctx, x := t.Context(), newLeak(t, a)
		leaked := x.key(x.owner, "leaked")
		child := x.key(leaked, "child")
		x.share(child)
		one, two := x.key(x.owner, "one"), x.key(x.owner, "two")
		_, err := a.RotateKey(ctx, one, two.Key.ID, time.Hour)
		x.must(err)
		_, err = a.RotateKey(ctx, two, one.Key.ID, 0)
		x.must(err)
		if got := made(x.trace(one).Made) + "; " + made(x.trace(two).Made); got != "key two; key one" {
			t.Errorf("keys that rotated each other: %s", got)
		}
		_, err = a.RotateKey(ctx, x.owner, two.Key.ID, time.Hour) // the secret that one's holder has still works
		x.must(err)
		if got := made(x.trace(one).Made); got != "key two" {
			t.Errorf("rotated by the owner, with a grace: %q", got)
		}
		_, err = a.RotateKey(ctx, x.owner, two.Key.ID, 0)
		x.must(err)
		if got := made(x.trace(one).Made); got != "" {
			t.Errorf("rotated by the owner: %q", got)
		}
		_, err = a.RotateKey(ctx, one, two.Key.ID, 0)
		wantKind(t, "an old secret", err, sheaf.Unauthorized)

		for _, c := range []Caller{leaked, child, one, two} {
			x.must(a.RevokeKey(ctx, x.owner, c.Key.ID))
		}
		*now = now.Add(48 * time.Hour)
		sweep := func() (n int64) {
			t.Helper()
			x.must(a.store.Write(ctx, func(tx *store.Tx) (err error) {
				n, err = tx.DeleteKeysEnded(now.Add(-time.Hour), 100)
				return err
			}))
			return n
		}
		if n := sweep(); n != 2 {
			t.Errorf("%d keys were deleted, want the two that rotated each other", n)
		}
		if got := made(x.trace(leaked).Made); got != "1 shares" {
			t.Errorf("the ended key made %q", got)
		}
		_, err = a.RevokeWithMade(ctx, x.owner, leaked.Key.ID)
		x.must(err)
		if n := sweep() + sweep(); n != 2 {
			t.Errorf("%d keys were deleted, want the leaked key and its child", n)
		}
		_, err = a.TraceKey(ctx, x.owner, leaked.Key.ID)
		wantKind(t, "a key that is no longer kept", err, sheaf.NotFound)
	})
}
