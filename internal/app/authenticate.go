package app

import (
	"context"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Authenticate returns the key and its owner for an API key or an access token, as of the newest commit, or
// Unauthorized. A text that cannot be a key is refused without a look-up.
func (a *App) Authenticate(ctx context.Context, secret string) (sheaf.Credential, error) {
	hash, ok := sheaf.HashKey(secret)
	if !ok && sheaf.IsAccessToken(secret) {
		return sheaf.Credential{}, errNoToken
	}
	if !ok {
		return sheaf.Credential{}, unauthorized("the API key is malformed or mistyped: copy it whole, it begins with shf_")
	}
	c, err := a.store.Credential(ctx, hash)
	if sheaf.IsAccessToken(secret) && (sheaf.KindOf(err) == sheaf.Unauthorized || err == nil && !c.Live(a.now())) {
		return c, errNoToken
	}
	if err != nil {
		return c, err
	}
	if !c.Live(a.now()) {
		return c, errNoKey
	}
	return c, nil
}

// CheckWithin returns Forbidden for a grant that is limited to records which its person no longer sees. For every other
// credential it reads nothing.
func (a *App) CheckWithin(ctx context.Context, c sheaf.Credential) error {
	if c.Key.Within == 0 {
		return nil
	}
	_, err := readPart(ctx, a, string(c.Workspace), func(r *store.Reader) (struct{}, error) {
		return struct{}{}, checkWithin(r, c.Workspace, c.Key)
	})
	return err
}

// errNoToken is the answer for every access token that cannot be used, whatever the reason.
var errNoToken = unauthorized("the access token is unknown or has expired, or the app was disconnected: renew it, or connect the app again")

// StreamKeys returns those of these keys that may keep an event stream open: they can be used, and their
// workspace has a paid plan. The scopes of a key never change.
func (a *App) StreamKeys(ctx context.Context, hashes []sheaf.KeyHash) (map[sheaf.KeyHash]bool, error) {
	return a.store.PaidKeys(ctx, hashes, a.now())
}

// errNoKey is the answer for every key that cannot be used, whatever the reason.
var errNoKey = unauthorized("the API key is unknown, expired or revoked: create a new one")

func unauthorized(text string) error {
	return &sheaf.Error{Kind: sheaf.Unauthorized, Code: sheaf.CodeUnauthorized, Text: text}
}

// Ready returns nil if the store answers and this program can serve its schema.
func (a *App) Ready(ctx context.Context) error {
	return firstError(a.diskBelow(disk.Full), a.store.Ready(ctx))
}

// KeyUse is when a key was last used.
type KeyUse = store.KeyUse

// TouchKeys stores when keys were last used. The edge collects the uses, so that no request waits
// for it.
func (a *App) TouchKeys(ctx context.Context, uses []KeyUse) error {
	return a.writeUnasked(ctx, func(tx *store.Tx) error { return tx.TouchKeys(uses) })
}
