package app

import (
	"context"

	"sheaf.dev/internal/store"
)

// addressSetting is the name of the setting that has the address of the server that started last.
const addressSetting = "server_address"

// AnnounceAddress stores the address at which people reach this server, so that commands on the
// same machine can print links to it. If there are several nodes, the last one to start is stored;
// each of them answers. If the address is stored already, nothing is written, so a server starts on
// a full disk too.
func (o Operator) AnnounceAddress(ctx context.Context, address string) error {
	known, err := o.ServerAddress(ctx)
	if err != nil || known == address {
		return err
	}
	return o.app.writeUnasked(ctx, func(tx *store.Tx) error { return tx.ReplaceSetting(addressSetting, address) })
}

// ServerAddress returns the address that a server of this store announced last, or "" if none did.
func (o Operator) ServerAddress(ctx context.Context) (string, error) {
	return readUnasked(ctx, o.app, func(r *store.Reader) (string, error) {
		address, _, err := r.Setting(addressSetting)
		return address, err
	})
}
