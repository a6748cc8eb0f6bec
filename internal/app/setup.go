package app

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

const (
	// firstRunSetting is stored once FirstRun has created its workspace. Its value is the owner's
	// id.
	firstRunSetting = "first_run"
	// setupLinkLives is how long a set-up link is valid.
	setupLinkLives = time.Hour
)

// SetupLink is a one-time link for setting the first password. The token is shown once; only its
// hash is stored.
type SetupLink struct {
	Token     string
	ExpiresAt time.Time
}

// FirstRun is what the first start of a new installation creates. The key and the link are shown
// once.
type FirstRun struct {
	Workspace OwnedWorkspace
	Key       string
	Link      SetupLink
}

// FirstRun creates a workspace on the business plan, its owner, who has no e-mail yet, a key with
// every scope, and a set-up link. It does so once per database, however many nodes call it, and
// never if a user can sign in. `made` reports whether it did.
func (o Operator) FirstRun(ctx context.Context) (first FirstRun, made bool, err error) {
	err = o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		first, made = FirstRun{}, false
		finished, err := tx.AnySignIn()
		if err != nil || finished {
			return err
		}
		owner := sheaf.User{ID: sheaf.UserID(o.app.newID()), CreatedAt: o.app.now()}
		if made, err = tx.KeepSetting(firstRunSetting, string(owner.ID)); err != nil || !made {
			return err
		}
		first, err = o.app.firstRun(tx, owner)
		return err
	})
	return first, made && err == nil, err
}

// firstRun creates the first user, workspace, key and set-up link, in one transaction.
func (a *App) firstRun(tx *store.Tx, owner sheaf.User) (FirstRun, error) {
	if err := tx.InsertUser(owner); err != nil {
		return FirstRun{}, err
	}
	ws, err := a.insertWorkspace(tx, NewWorkspace{Name: "My workspace", Plan: sheaf.Business}, owner)
	if err != nil {
		return FirstRun{}, err
	}
	w := &work{Tx: tx, app: a, now: a.now(), ws: ws.Workspace, before: ws.Workspace}
	key, err := w.makeKey(owner.ID, NewKey{Name: "First key", Scopes: sheaf.AllScopes})
	if err != nil {
		return FirstRun{}, err
	}
	link, err := a.insertSetupLink(tx)
	if err != nil {
		return FirstRun{}, err
	}
	return FirstRun{Workspace: ws, Key: *key.Secret, Link: link}, w.finish(nil)
}

// SetupPending reports whether no user has a password yet, or has signed in at the provider.
func (a *App) SetupPending(ctx context.Context) (bool, error) {
	return readUnasked(ctx, a, func(r *store.Reader) (bool, error) {
		finished, err := r.AnySignIn()
		return !finished, err
	})
}

// SetupLink creates a set-up link, which replaces older ones. It returns Conflict if a user can
// sign in already, and NotFound if there is no user to set up.
func (o Operator) SetupLink(ctx context.Context) (SetupLink, error) {
	var link SetupLink
	err := o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		finished, err := tx.AnySignIn()
		if err != nil {
			return err
		}
		if finished {
			return sheaf.Conflictf("the set-up is finished: to change a password, use sheaf user set-password EMAIL")
		}
		if _, err := setupUser(&tx.Reader); err != nil {
			return err
		}
		if err := tx.UseSetupLinks(); err != nil {
			return err
		}
		if link, err = o.app.insertSetupLink(tx); err != nil {
			return err
		}
		return o.app.auditInstance(tx, anOperator, sheaf.ActionSetupLinkCreated, "", nil)
	})
	return link, err
}

// CheckSetupLink returns nil while the link is valid, and otherwise NotFound. It does not use up
// the link.
func (a *App) CheckSetupLink(ctx context.Context, token string) error {
	open, err := readUnasked(ctx, a, func(r *store.Reader) (bool, error) { return r.SetupLink(tokenHash(token), a.now()) })
	if err == nil && !open {
		err = errSetupLink
	}
	return err
}

// SetUp is what the first owner sends to complete the set-up. If passwords are off, there is none: the owner then signs in
// at the provider, with the same e-mail.
type SetUp struct {
	Name, Email, Password string
	Browser               Browser
}

// CompleteSetup uses up the link: it sets the first owner's name, e-mail and password, and ends
// every other link. It returns NotFound if the link was used or has expired, and Invalid for a bad
// name, e-mail or password.
func (a *App) CompleteSetup(ctx context.Context, token string, in SetUp) error {
	if err := firstError(checkPersonName(in.Name), checkEmail(in.Email)); err != nil {
		return err
	}
	if !a.passwordsOff {
		if err := checkPassword(in.Password); err != nil {
			return err
		}
	}
	// Hashing is expensive, so only the holder of a link may cause it.
	if err := a.CheckSetupLink(ctx, token); err != nil {
		return err
	}
	if a.passwordsOff {
		return a.useSetupLink(ctx, token, in, "")
	}
	hash, err := a.hashInLine(ctx, in.Password, a.lines.strangers, "set-up")
	if err != nil {
		return err
	}
	return a.useSetupLink(ctx, token, in, hash)
}

// useSetupLink sets the first user's name, e-mail and password, if the link is still valid.
func (a *App) useSetupLink(ctx context.Context, token string, in SetUp, hash string) error {
	err := a.writeUnasked(ctx, func(tx *store.Tx) error {
		if err := a.consumeSetupLink(tx, token); err != nil {
			return err
		}
		u, err := setupUser(&tx.Reader)
		if err != nil {
			return err
		}
		u.Name, u.Email, u.PasswordHash = in.Name, &in.Email, hash
		if err := tx.UpdateUser(u); err != nil {
			return err
		}
		return a.auditInstance(tx, in.Browser.actor(u.ID), sheaf.ActionSetupCompleted, u.ID, nil)
	})
	if errors.Is(err, store.ErrDuplicate) {
		err = sheaf.InvalidField("e-mail", "e-mail: another user has this address: choose another")
	}
	return err
}

// consumeSetupLink ends every link, if this one is valid. If two try at once on PostgreSQL, the
// second waits in UseSetupLinks and then sees the password of the first.
func (a *App) consumeSetupLink(tx *store.Tx, token string) error {
	open, err := tx.SetupLink(tokenHash(token), a.now())
	if err != nil {
		return err
	}
	if err := tx.UseSetupLinks(); err != nil {
		return err
	}
	finished, err := tx.AnySignIn()
	if err == nil && (finished || !open) {
		err = errSetupLink
	}
	return err
}

var errSetupLink = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
	Text: "this set-up link was used or has expired: make a new one with sheaf user setup-link"}

// setupUser returns the user whose password the set-up sets: the owner that FirstRun created or, if
// there is none, the first owner.
func setupUser(r *store.Reader) (sheaf.User, error) {
	id, found, err := r.Setting(firstRunSetting)
	if err != nil {
		return sheaf.User{}, err
	}
	if found {
		return r.User(sheaf.UserID(id))
	}
	u, err := r.FirstOwner()
	if sheaf.KindOf(err) == sheaf.NotFound {
		err = &sheaf.Error{Kind: sheaf.NotFound, Code: sheaf.CodeNotFound,
			Text: "there is no user to set up: start sheaf serve once, or create one with sheaf workspace create"}
	}
	return u, err
}

// insertSetupLink creates a link. Only the hash of its token is stored.
func (a *App) insertSetupLink(tx *store.Tx) (SetupLink, error) {
	token, err := a.newToken()
	if err != nil {
		return SetupLink{}, err
	}
	now := a.now()
	link := SetupLink{Token: token, ExpiresAt: now.Add(setupLinkLives)}
	return link, tx.InsertSetupLink(tokenHash(link.Token), now, link.ExpiresAt)
}

// newToken returns 256 random bits as text for an address or a cookie. Only its tokenHash is
// stored.
func (a *App) newToken() (string, error) {
	secret := make([]byte, 32)
	if _, err := io.ReadFull(a.random, secret); err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(secret), nil
}

func tokenHash(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
