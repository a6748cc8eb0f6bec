package app

import (
	"context"
	"maps"

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
	if !c.Key.Live(a.now()) {
		return c, errNoKey
	}
	return c, nil
}

// AuthenticateAll is Authenticate for many keys at once. Keys that cannot be used are missing from
// the result.
func (a *App) AuthenticateAll(ctx context.Context, hashes []sheaf.KeyHash) (map[sheaf.KeyHash]sheaf.Credential, error) {
	found, err := a.store.Credentials(ctx, hashes)
	maps.DeleteFunc(found, func(_ sheaf.KeyHash, c sheaf.Credential) bool { return !c.Key.Live(a.now()) })
	return found, err
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
