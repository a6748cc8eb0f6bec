package app

import (
	"context"

	"sheaf.dev/internal/store"
)

// addressSetting holds the address under which the server that started last is reached.
const addressSetting = "server_address"

// AnnounceAddress keeps the address under which people reach this server, so that commands beside it
// can make links that lead there. Of several nodes the one that started last is remembered: each of
// them answers. It writes nothing where the address is known, so that a server whose disk is full
// starts as before.
func (o Operator) AnnounceAddress(ctx context.Context, address string) error {
	known, err := o.ServerAddress(ctx)
	if err != nil || known == address {
		return err
	}
	return o.app.writeUnasked(ctx, func(tx *store.Tx) error { return tx.ReplaceSetting(addressSetting, address) })
}

// ServerAddress returns the address that a server of this store announced last; empty when none did.
func (o Operator) ServerAddress(ctx context.Context) (string, error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) (string, error) {
		address, _, err := r.Setting(addressSetting)
		return address, err
	})
}
