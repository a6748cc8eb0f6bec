package app

import (
	"context"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Keys returns a page of the workspace's live keys.
func (a *App) Keys(ctx context.Context, c Caller, p sheaf.Paging) (sheaf.Page[sheaf.Key], error) {
	return read(ctx, a, c, scope(sheaf.KeysRead), func(r *store.Reader) (sheaf.Page[sheaf.Key], error) {
		return r.Keys(c.Workspace, a.now(), p)
	})
}

// KeyNames returns the names of the keys that made these events, by the keys' numbers. Keys that
// were revoked or have expired are missing.
func (a *App) KeyNames(ctx context.Context, c Caller, events []sheaf.Event) (map[int64]string, error) {
	return read(ctx, a, c, scope(sheaf.KeysRead), func(r *store.Reader) (map[int64]string, error) {
		asked, names := map[int64]bool{0: true}, map[int64]string{}
		for _, e := range events {
			if asked[e.Key] {
				continue
			}
			asked[e.Key] = true
			name, found, err := r.KeyName(c.Workspace, e.Key)
			if err != nil {
				return nil, err
			}
			if found {
				names[e.Key] = name
			}
		}
		return names, nil
	})
}

// NewKey is a client's request to create a key.
type NewKey struct {
	Name      string
	Scopes    sheaf.Scopes
	ExpiresAt *time.Time // nil: never
	// OfWorkspace makes a key that stays when the user leaves.
	OfWorkspace bool
	// RestrictTo limits the key to these records; nil: the whole workspace.
	RestrictTo *RestrictTo
	// From is where it was asked for. The user gets a mail with it.
	From Browser
}

// check returns the first error of the fields.
func (k NewKey) check(now time.Time) error {
	if err := firstError(k.checkName(), k.checkRestriction()); err != nil {
		return err
	}
	return k.checkExpiry(now)
}

func (k NewKey) checkName() error { return sheaf.CheckName("name", k.Name, sheaf.MaxKeyName) }

// checkRestriction returns Invalid for a restriction that names nothing or too much, or that does not
// go with the scopes.
func (k NewKey) checkRestriction() error {
	if k.RestrictTo == nil {
		return nil
	}
	to := sheaf.Restriction{Projects: k.RestrictTo.Projects, Folders: k.RestrictTo.Folders}
	return firstError(to.Check(), to.CheckScopes(k.Scopes))
}

// checkExpiry refuses an expiry in the past.
func (k NewKey) checkExpiry(now time.Time) error {
	if k.ExpiresAt != nil && !k.ExpiresAt.After(now) {
		return sheaf.InvalidField("expires_at", "expires_at is in the past: choose a later time, or leave it out")
	}
	return nil
}

// CreateKey creates a key for the caller's user. It grants only scopes that the caller has, and no
// later expiry than the caller's own (Forbidden). The plan limits how many live keys there are
// (KEY_LIMIT_REACHED) and how many are created in an hour (RateLimited). A person can create a key
// that belongs to the workspace; what such a key creates belongs to the workspace too.
func (a *App) CreateKey(ctx context.Context, c Caller, in NewKey) (sheaf.NewKey, error) {
	fault := firstError(in.checkName(), in.checkRestriction(), in.checkGrant(c))
	return write(ctx, a, c, scope(sheaf.KeysWrite), fault, func(w *work) (sheaf.NewKey, error) {
		// Checked here and not before: if the request is repeated after the key expired, it still
		// gets its first answer.
		if err := in.checkExpiry(w.now); err != nil {
			return sheaf.NewKey{}, err
		}
		in.OfWorkspace = in.OfWorkspace || c.Key.OfWorkspace
		k, err := w.makeKey(c.User, in)
		if err != nil {
			return k, err
		}
		return k, a.notify(w.Tx, c.User, sheaf.Letter{About: sheaf.AboutKey, Workspace: w.ws.ID, Key: in.Name, WithKey: c.Key.Name,
			Address: in.From.Address, Agent: cleanAgent(in.From.Agent)})
	})
}

// checkGrant returns Forbidden unless the caller has every scope of the new key. If the caller's
// own key expires, the new one must not expire later.
func (k NewKey) checkGrant(c Caller) error {
	if k.OfWorkspace && c.Key.ID != "" && !c.Key.OfWorkspace {
		return sheaf.Forbiddenf("owner: a user's key cannot make a key of the workspace: use the console or the command line")
	}
	for _, s := range k.Scopes {
		if !c.May(s) {
			return sheaf.Forbiddenf("scopes: this key lacks %s itself, so it cannot grant it: leave it out, or use a key that has it", s)
		}
	}
	if own := c.Key.ExpiresAt; own != nil && (k.ExpiresAt == nil || k.ExpiresAt.After(*own)) {
		return sheaf.Forbiddenf("expires_at must not be later than %s, when this key itself expires", own.Format(sheaf.TimeFormat))
	}
	return nil
}

// makeKey adds a key within the plan's limits.
func (w *work) makeKey(user sheaf.UserID, in NewKey) (sheaf.NewKey, error) {
	to, err := w.restriction(in.RestrictTo)
	if err != nil {
		return sheaf.NewKey{}, err
	}
	live, err := w.LiveKeys(w.ws.ID, w.now)
	if err != nil {
		return sheaf.NewKey{}, err
	}
	if most := w.ws.Plan.MaxKeys(); live >= int64(most) {
		return sheaf.NewKey{}, &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeKeyLimit, Text: keyLimitText(w.ws.Plan, most)}
	}
	if err := w.checkKeysMade(); err != nil {
		return sheaf.NewKey{}, err
	}
	secret := sheaf.NewSecretKey(w.app.random)
	hash, _ := sheaf.HashKey(secret)
	k := sheaf.Key{ID: sheaf.KeyID(w.app.newID()), Name: in.Name, Prefix: sheaf.KeyHint(secret), Scopes: in.Scopes,
		UserID: user, ExpiresAt: in.ExpiresAt, CreatedAt: w.now, Number: w.nextNumber(), OfWorkspace: in.OfWorkspace, RestrictedTo: to, MadeByKey: w.madeBy()}
	w.audit(sheaf.ActionKeyCreated, string(k.ID), nil, keyFacts(k))
	return sheaf.NewKey{Key: k, Secret: &secret}, w.InsertKey(w.ws.ID, k, hash)
}

// checkKeysMade returns RateLimited, with the time to wait, if the workspace created as many keys
// within an hour as its plan allows. Otherwise the holder of a key could create and discard any
// number of keys, each with its own rate limit. It does not limit operators: their commands are the
// way out.
func (w *work) checkKeysMade() error {
	if w.caller.Key.ID == "" && w.caller.Role == "" {
		return nil
	}
	most := w.ws.Plan.MaxKeysAnHour()
	made, found, err := w.NthNewestKey(w.ws.ID, most)
	if err != nil || !found {
		return err
	}
	wait := made.Add(store.KeysKept).Sub(w.now)
	if wait <= 0 {
		return nil
	}
	wait = (wait + time.Second - 1).Truncate(time.Second)
	return &sheaf.Error{Kind: sheaf.RateLimited, Code: sheaf.CodeRateLimited, RetryAfter: wait,
		Text: fmt.Sprintf("this workspace created %d API keys in the last hour, the limit of the %s plan: use existing keys, or retry after %d seconds",
			most, w.ws.Plan, int(wait/time.Second))}
}

// keyLimitText returns the text of KEY_LIMIT_REACHED.
func keyLimitText(p sheaf.Plan, most int) string {
	if most == 0 {
		return "the free plan has no API keys: upgrade the workspace to Pro or Business"
	}
	return fmt.Sprintf("the %s plan allows %d API keys: revoke one, or upgrade the plan", p, most)
}

// RotateKey gives a live key a new secret and returns it, once. For the time `grace`, the present
// secret works too; any older one ends. The caller needs what creating such a key would need
// (Forbidden). The old secret of a key cannot rotate it again (Forbidden). RotateKey returns NotFound for
// a key that is revoked or expired.
func (a *App) RotateKey(ctx context.Context, c Caller, id sheaf.KeyID, grace time.Duration) (sheaf.NewKey, error) {
	return write(ctx, a, c, scope(sheaf.KeysWrite), nil, func(w *work) (sheaf.NewKey, error) {
		k, err := w.Key(w.ws.ID, id)
		if err != nil {
			return sheaf.NewKey{}, err
		}
		if !k.Live(w.now) || k.IsGrant() {
			return sheaf.NewKey{}, sheaf.Missing("key")
		}
		if c.Key.ID == k.ID && c.Key.Rotation != k.Rotation {
			return sheaf.NewKey{}, sheaf.Forbiddenf("this is an old secret of the key, which can no longer rotate it: use the new secret")
		}
		if err := checkRotation(c, k); err != nil {
			return sheaf.NewKey{}, err
		}
		out, err := w.app.rotateKey(w.Tx, w.ws.ID, k, w.madeBy(), grace, w.now)
		w.audit(sheaf.ActionKeyRotated, string(k.ID), nil, rotationFacts(k.Name, out.OldUntil))
		return out, err
	})
}

// checkRotation returns Forbidden unless the caller could create a key like k. No caller can create a
// key that acts in the name of another user.
func checkRotation(c Caller, k sheaf.Key) error {
	if !c.MayRotate(k) {
		return sheaf.Forbiddenf("this key acts in the name of another user, and only that user can rotate it: revoke it, and ask the user to create a new one")
	}
	for _, s := range k.Scopes {
		if !c.May(s) {
			return sheaf.Forbiddenf("this key lacks the scope %s, which the key to rotate has: use a key that has it", s)
		}
	}
	own := c.Key.ExpiresAt
	switch {
	case own != nil && (k.ExpiresAt == nil || k.ExpiresAt.After(*own)):
		return sheaf.Forbiddenf("the key to rotate must not expire later than %s, when this key itself expires: use a key that lasts as long", own.Format(sheaf.TimeFormat))
	case k.OfWorkspace && c.Key.ID != "" && !c.Key.OfWorkspace:
		return sheaf.Forbiddenf("a user's key cannot rotate a key of the workspace: use that key itself, the console or the command line")
	}
	return nil
}

// MayRotate reports whether the key is the caller's own, or the workspace's.
func (c Caller) MayRotate(k sheaf.Key) bool { return k.OfWorkspace || k.UserID == c.User }

// rotateKey stores a new secret for the key, which the key `by` or a person asked for.
func (a *App) rotateKey(tx *store.Tx, ws sheaf.WorkspaceID, k sheaf.Key, by sheaf.KeyID, grace time.Duration, now time.Time) (sheaf.NewKey, error) {
	secret := sheaf.NewSecretKey(a.random)
	hash, _ := sheaf.HashKey(secret)
	k.Prefix, k.OldUntil = sheaf.KeyHint(secret), nil
	k.Rotation++
	if grace > 0 {
		until := now.Add(grace)
		k.OldUntil = &until
	}
	return sheaf.NewKey{Key: k, Secret: &secret}, tx.RotateKey(ws, k.ID, by, k.Prefix, hash, k.OldUntil)
}

// RevokeKey revokes a key at once, or returns NotFound.
func (a *App) RevokeKey(ctx context.Context, c Caller, id sheaf.KeyID) error {
	c.deletes = true
	return do(ctx, a, c, scope(sheaf.KeysWrite), nil, func(w *work) error {
		k, err := w.Key(w.ws.ID, id)
		if err == nil && k.IsGrant() {
			err = sheaf.Missing("key")
		}
		if err != nil {
			return err
		}
		if err := w.RevokeKey(w.ws.ID, id, w.now); err != nil {
			return err
		}
		w.audit(sheaf.ActionKeyRevoked, string(id), keyFacts(k), nil)
		return w.endRestrictions()
	})
}

// Identity is who a caller is.
type Identity struct {
	Key     sheaf.Key
	User    sheaf.User
	Storage *sheaf.Storage // storage that the workspace uses and may use; nil for a restricted key
}

// Me returns the caller's key and its user. The key is read again, because the caller's copy may be
// cached from before its last use.
func (a *App) Me(ctx context.Context, c Caller) (Identity, error) {
	return read(ctx, a, c, aKey, func(r *store.Reader) (me Identity, err error) {
		if me.Key, err = r.Key(c.Workspace, c.Key.ID); err != nil {
			return me, err
		}
		if me.User, err = r.User(c.User); err != nil {
			return me, err
		}
		if c.Restriction() != nil {
			return me, nil
		}
		ws, err := r.Workspace(c.Workspace)
		me.Storage = &sheaf.Storage{Used: ws.Used(), Quota: a.quota(ws.Plan)}
		return me, err
	})
}
