package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// CreateKey creates a key for the workspace's owner. It returns NotFound for an unknown workspace,
// and KEY_LIMIT_REACHED as the API does.
func (o Operator) CreateKey(ctx context.Context, id sheaf.WorkspaceID, in NewKey) (sheaf.NewKey, error) {
	if err := checkOperatorText("name", in.Name); err != nil {
		return sheaf.NewKey{}, err
	}
	if err := in.check(o.app.now()); err != nil {
		return sheaf.NewKey{}, err
	}
	k, err := operate(ctx, o, id, func(w *work) (sheaf.NewKey, error) {
		owner, err := w.OwnerOf(id)
		if err != nil {
			return sheaf.NewKey{}, err
		}
		return w.makeKey(owner, in)
	})
	return k, forOperator(err, "workspace", string(id), "sheaf workspace list shows them all")
}

// Keys returns the live keys of a workspace, oldest first, or NotFound.
func (o Operator) Keys(ctx context.Context, id sheaf.WorkspaceID) ([]sheaf.Key, error) {
	keys, err := readUnasked(ctx, o.app, func(r *store.Reader) ([]sheaf.Key, error) {
		if _, err := r.Workspace(id); err != nil {
			return nil, err
		}
		var all []sheaf.Key
		for p := (sheaf.Paging{Limit: sheaf.MaxLimit}); ; p.Offset += p.Limit {
			page, err := r.Keys(id, o.app.now(), p)
			if err != nil {
				return nil, err
			}
			all = append(all, page.Items...)
			if !page.More() {
				return all, nil
			}
		}
	})
	return keys, forOperator(err, "workspace", string(id), "sheaf workspace list shows them all")
}

// RevokeKey revokes a live key of any workspace, or returns NotFound.
func (o Operator) RevokeKey(ctx context.Context, id sheaf.KeyID) (sheaf.Key, error) {
	var key sheaf.Key
	err := o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		ws, k, err := tx.KeyByID(id)
		if err != nil {
			return err
		}
		if _, err := tx.LockWorkspace(ws); err != nil {
			return err
		}
		now := o.app.now()
		k.RevokedAt = &now
		key = k
		return tx.RevokeKey(ws, id, now)
	})
	return key, forOperator(err, "key", string(id), "it never was, has expired, or is revoked already; sheaf key list shows the live ones")
}
