package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

func (f *fixture) liveKeys(now time.Time) []sheaf.KeyID {
	f.Helper()
	page := get(f, func(r *store.Reader) (sheaf.Page[sheaf.Key], error) {
		return r.Keys(f.ws.ID, now, sheaf.Paging{Limit: 100})
	})
	count := get(f, func(r *store.Reader) (int64, error) { return r.LiveKeys(f.ws.ID, now) })
	if page.Total != count || int(count) != len(page.Items) {
		f.Errorf("%d keys in the list, total %d, counted %d", len(page.Items), page.Total, count)
	}
	return ids(page.Items, func(k sheaf.Key) sheaf.KeyID { return k.ID })
}

func (f *fixture) wantKey(what string, want sheaf.Key) {
	f.Helper()
	f.read(func(r *store.Reader) error {
		ws, k, err := r.KeyByID(want.ID)
		if err != nil {
			return err
		}
		same(f, what, k, want)
		same(f, what, ws, f.ws.ID)
		return nil
	})
}

func keyRoundTrip(f *fixture) {
	k, _ := f.key(func(k *sheaf.Key) { k.Scopes = sheaf.Scopes{sheaf.EventsRead} })
	f.wantKey("without expiry", k)
	expires, _ := f.key(func(k *sheaf.Key) { k.ExpiresAt = ptr(f.now().Add(time.Hour)) })
	f.wantKey("with expiry", expires)
	k.RevokedAt = ptr(f.now())
	f.write(func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, k.ID, *k.RevokedAt) })
	f.wantKey("revoked", k)
	f.read(func(r *store.Reader) error {
		_, _, err := r.KeyByID(sheaf.KeyID(f.id()))
		f.wantKind(err, sheaf.NotFound)
		return nil
	})
}

func keyLive(f *fixture) {
	end := f.now().Add(time.Hour)
	forever, _ := f.key(nil)
	ends, _ := f.key(func(k *sheaf.Key) { k.ExpiresAt = &end })
	revoked, _ := f.key(nil)
	f.write(func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, revoked.ID, f.now()) })
	same(f, "before the expiry", f.liveKeys(end.Add(-1e6)), []sheaf.KeyID{forever.ID, ends.ID})
	same(f, "at the expiry", f.liveKeys(end), []sheaf.KeyID{forever.ID})

	for what, act := range map[string]func(*store.Tx) error{
		"revoked": func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, revoked.ID, f.now()) },
		"expired": func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, ends.ID, end) },
		"unknown": func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, sheaf.KeyID(f.id()), f.now()) },
		"foreign": func(tx *store.Tx) error { return tx.RevokeKey(sheaf.WorkspaceID(f.id()), forever.ID, f.now()) },
	} {
		if err := f.store.Write(context.Background(), act); sheaf.KindOf(err) != sheaf.NotFound {
			f.Errorf("revoke a key that is %s: got %v, want NotFound", what, err)
		}
	}
}

func keyConstraints(f *fixture) {
	k, hash := f.key(nil)
	other, otherHash := f.newKey()
	for _, c := range []struct {
		key  sheaf.Key
		hash sheaf.KeyHash
		want error
	}{
		{k, otherHash, store.ErrDuplicate},
		{other, hash, store.ErrDuplicate},
		{func() sheaf.Key { k := other; k.UserID = sheaf.UserID(f.id()); return k }(), otherHash, store.ErrReference},
	} {
		insert := func(tx *store.Tx) error { return tx.InsertKey(f.ws.ID, c.key, c.hash) }
		f.wantIs(f.store.Write(context.Background(), insert), c.want)
	}
}

func keyTouch(f *fixture) {
	one, _ := f.key(nil)
	two, _ := f.key(nil)
	one.LastUsedAt, two.LastUsedAt = ptr(f.now()), ptr(f.now())
	f.write(func(tx *store.Tx) error {
		return tx.TouchKeys([]store.KeyUse{{Workspace: f.ws.ID, Key: one.ID, At: *one.LastUsedAt},
			{Workspace: f.ws.ID, Key: two.ID, At: *two.LastUsedAt}, {Workspace: f.ws.ID, Key: "gone", At: f.now()}})
	})
	f.wantKey("used", one)
	f.wantKey("used too", two)
}

// rotate rotates the key and returns it as it should be stored, with its new hash.
func (f *fixture) rotate(k sheaf.Key, until *time.Time) (sheaf.Key, sheaf.KeyHash) {
	f.Helper()
	next, hash := f.newKey()
	k.Prefix, k.OldUntil = next.Prefix, until
	k.Rotation++
	f.write(func(tx *store.Tx) error { return tx.RotateKey(f.ws.ID, k.ID, sheaf.NoKey, k.Prefix, hash, until) })
	return k, hash
}

func keyRotation(f *fixture) {
	k, first := f.key(func(k *sheaf.Key) { k.OfWorkspace = true })
	own, _ := f.key(nil)
	end := f.now().Add(time.Hour)
	k, second := f.rotate(k, &end)
	f.wantKey("rotated", k)
	f.wantKey("another", own)
	paid := func(what string, now time.Time, want map[sheaf.KeyHash]bool) {
		f.Helper()
		got, err := f.store.PaidKeys(context.Background(), []sheaf.KeyHash{first, second}, now)
		f.must(err)
		for _, hash := range []sheaf.KeyHash{first, second} {
			if got[hash] != want[hash] {
				f.Errorf("%s: %v, want %v", what, got, want)
			}
		}
	}
	paid("in the grace", end.Add(-1e6), map[sheaf.KeyHash]bool{first: true, second: true})
	paid("after it", end, map[sheaf.KeyHash]bool{second: true})
	c, err := f.settled(first)
	f.must(err)
	if c.Key.Rotation != 0 || c.Until == nil || !c.Until.Equal(end) || c.Live(end) || !c.Live(end.Add(-1e6)) {
		f.Errorf("by the previous secret: %+v", c)
	}
	for _, step := range []struct {
		at time.Time
		n  int64
	}{{end.Add(-1e6), 0}, {end, 1}, {end, 0}} {
		f.write(func(tx *store.Tx) error {
			n, err := tx.ForgetOldKeys(step.at, 10)
			same(f, "secrets forgotten", n, step.n)
			return err
		})
	}
	k.OldUntil = nil
	f.wantKey("forgotten", k)
	_, err = f.afresh(second)
	f.must(err)
	f.write(func(tx *store.Tx) error {
		_, err := tx.RevokeKeysOf(f.ws.ID, f.user.ID, f.now())
		return err
	})
	f.wantKey("the key of the workspace stays", k)
	same(f, "the live keys", f.liveKeys(f.now()), []sheaf.KeyID{k.ID})

	f.write(func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, k.ID, f.now()) })
	for _, id := range []sheaf.KeyID{k.ID, sheaf.KeyID(f.id())} {
		err := f.store.Write(context.Background(), func(tx *store.Tx) error { return tx.RotateKey(f.ws.ID, id, sheaf.NoKey, "shf_000000", first, nil) })
		f.wantKind(err, sheaf.NotFound)
	}
}

// credentialRotated: the previous secret is found as such, and an older one not at all.
func credentialRotated(f *fixture) {
	k, hash := f.key(nil)
	until := f.now().Add(time.Hour)
	for n := range int64(rounds) {
		f.asking(hash, func() {
			next, newest := f.rotate(k, &until)
			old, err := f.afresh(hash)
			if err != nil || old.Until == nil || old.Key.Rotation != n {
				f.Errorf("round %d, the previous secret: %+v, %v", n, old, err)
			}
			if now, err := f.afresh(newest); err != nil || now.Until != nil || now.Key.Rotation != n+1 {
				f.Errorf("round %d, the present secret: %+v, %v", n, now, err)
			}
			k, hash = next, newest
		})
	}
	_, last := f.rotate(k, nil)
	_, err := f.afresh(hash)
	f.wantKind(err, sheaf.Unauthorized)
	_, err = f.afresh(last)
	f.must(err)
}

func (f *fixture) credential(hash sheaf.KeyHash) (sheaf.Credential, error) {
	return f.store.Credential(context.Background(), hash)
}

func credentialFields(f *fixture) {
	k, hash := f.key(func(k *sheaf.Key) { k.ExpiresAt = ptr(f.now().Add(-time.Hour)) })
	want := sheaf.Credential{Key: k, Workspace: f.ws.ID, Name: "Acme", Plan: sheaf.Pro, Version: f.workspace().Version}
	for _, what := range []string{"from the database", "once more"} {
		got, err := f.settled(hash)
		f.must(err)
		same(f, what, got, want)
	}
	_, unknown := f.newKey()
	_, err := f.credential(unknown)
	f.wantKind(err, sheaf.Unauthorized)
}

// settled asks until the version is known: it is not while another test's
// commit changes a key.
func (f *fixture) settled(hash sheaf.KeyHash) (sheaf.Credential, error) {
	c, err := f.credential(hash)
	for c.Version == 0 && err == nil {
		c, err = f.credential(hash)
	}
	return c, err
}

// asking has readers ask for the credential all the time, so that whatever is
// kept of it is being used and made, while act runs.
func (f *fixture) asking(hash sheaf.KeyHash, act func()) {
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					f.credential(hash)
				}
			}
		})
	}
	act()
	close(stop)
	readers.Wait()
}

// afresh returns the credential as a goroutine sees it that starts now.
func (f *fixture) afresh(hash sheaf.KeyHash) (c sheaf.Credential, err error) {
	var done sync.WaitGroup
	done.Go(func() { c, err = f.credential(hash) })
	done.Wait()
	return c, err
}

const rounds = 30

func credentialRevoked(f *fixture) {
	for range rounds {
		k, hash := f.key(nil)
		f.asking(hash, func() {
			if _, err := f.afresh(hash); err != nil {
				f.Errorf("a live key: %v", err)
			}
			f.write(func(tx *store.Tx) error { return tx.RevokeKey(f.ws.ID, k.ID, f.now()) })
			_, err := f.afresh(hash)
			f.wantKind(err, sheaf.Unauthorized)
		})
	}
}

func credentialPlan(f *fixture) {
	_, hash := f.key(nil)
	version := f.workspace().Version
	f.asking(hash, func() {
		for n := range 2 * rounds {
			want := []sheaf.Plan{sheaf.Free, sheaf.Business}[n%2]
			f.write(func(tx *store.Tx) error { return tx.SetPlan(f.ws.ID, want) })
			got, err := f.afresh(hash)
			if err != nil || got.Plan != want || got.Version != version && got.Version != 0 {
				f.Fatalf("round %d: got %s, version %d, %v; want %s, %d", n, got.Plan, got.Version, err, want, version)
			}
		}
	})
}

func credentialVersion(f *fixture) {
	_, hash := f.key(nil)
	before := f.workspace().Version
	f.asking(hash, func() {
		for n := range int64(2 * rounds) {
			f.project(nil)
			// Zero is honest while another workspace's commit changes a key.
			got, err := f.afresh(hash)
			if err != nil || got.Version != before+n+1 && got.Version != 0 {
				f.Fatalf("after write %d: got version %d, %v, want %d", n, got.Version, err, before+n+1)
			}
		}
	})
	got, err := f.settled(hash)
	if want := f.workspace().Version; err != nil || got.Version != want {
		f.Errorf("in the end: got version %d, %v, want %d", got.Version, err, want)
	}
}

// credentialVersionOrder: an answer that is kept under a version must be made
// from data at least as new.
func credentialVersionOrder(f *fixture) {
	_, hash := f.key(nil)
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		writers.Go(func() {
			for range rounds {
				if err := f.locked(func(*store.Tx, *sheaf.Workspace) error { return nil }); err != nil {
					f.Error(err)
				}
			}
		})
		readers.Go(func() {
			for last := int64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				if err := f.checkVersion(hash, &last); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

func (f *fixture) checkVersion(hash sheaf.KeyHash, last *int64) error {
	c, err := f.credential(hash)
	if err != nil || c.Version == 0 {
		return err
	}
	if c.Version < *last {
		return fmt.Errorf("version %d after %d", c.Version, *last)
	}
	w, err := try(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(f.ws.ID) })
	if err == nil && w.Version < c.Version {
		return fmt.Errorf("the credential has version %d, and the data behind it %d", c.Version, w.Version)
	}
	*last = w.Version
	return err
}
