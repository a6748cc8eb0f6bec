package app

import (
	"context"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// Authenticate returns the key and its owner for an API key, as of the newest commit, or
// Unauthorized. A text that cannot be a key is refused without a look-up.
func (a *App) Authenticate(ctx context.Context, secret string) (sheaf.Credential, error) {
	hash, ok := sheaf.HashKey(secret)
	if !ok {
		return sheaf.Credential{}, unauthorized("the API key is malformed or mistyped: copy it whole, it begins with shf_")
	}
	c, err := a.store.Credential(ctx, hash)
	if err != nil {
		return c, err
	}
	if !c.Live(a.now()) {
		return c, errNoKey
	}
	return c, nil
}

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
