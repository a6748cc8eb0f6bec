package app

import (
	"context"
	"time"

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
	return k, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}

// mostNamedAlike is the largest number of records with similar names that a lookup by name reads.
const mostNamedAlike = 1000

// ProjectsNamed returns the projects of a workspace whose names contain the text, or NotFound for an unknown
// workspace. It returns Invalid for more than mostNamedAlike.
func (o Operator) ProjectsNamed(ctx context.Context, id sheaf.WorkspaceID, text string) ([]sheaf.Project, error) {
	return named(ctx, o, id, "projects", text, func(r *store.Reader, p sheaf.Paging) (sheaf.Page[sheaf.Project], error) {
		return r.Projects(id, sheaf.ProjectFilter{Query: text, Sort: sheaf.ByName, Paging: p})
	})
}

// FoldersNamed is ProjectsNamed for folders of projects.
func (o Operator) FoldersNamed(ctx context.Context, id sheaf.WorkspaceID, text string) ([]sheaf.Folder, error) {
	return named(ctx, o, id, "folders", text, func(r *store.Reader, p sheaf.Paging) (sheaf.Page[sheaf.Folder], error) {
		return r.Folders(id, sheaf.FolderFilter{EntityType: sheaf.ProjectFolder, Query: text, Sort: sheaf.ByName, Paging: p})
	})
}

// named returns all pages of a list of records whose names contain the text.
func named[T any](ctx context.Context, o Operator, id sheaf.WorkspaceID, noun, text string, list func(*store.Reader, sheaf.Paging) (sheaf.Page[T], error)) ([]T, error) {
	if text == "" || sheaf.CheckLength("the name", text, sheaf.MaxQuery) != nil {
		return nil, nil // no record has such a name
	}
	found, err := readUnasked(ctx, o.app, func(r *store.Reader) (all []T, err error) {
		if _, err := r.Workspace(id); err != nil {
			return nil, err
		}
		for p := (sheaf.Paging{Limit: sheaf.MaxLimit}); ; p.Offset += p.Limit {
			page, err := list(r, p)
			if err != nil {
				return nil, err
			}
			if all = append(all, page.Items...); len(all) > mostNamedAlike {
				return nil, sheaf.Invalidf("more than %d %s have a name like %q: give the id", mostNamedAlike, noun, sheaf.Clip(text))
			}
			if !page.More() {
				return all, nil
			}
		}
	})
	return found, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
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
	return keys, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}

// RevokeKey revokes a live key of any workspace, or returns NotFound.
func (o Operator) RevokeKey(ctx context.Context, id sheaf.KeyID) (key sheaf.Key, err error) {
	err = o.onKey(ctx, id, func(tx *store.Tx, ws sheaf.WorkspaceID, k sheaf.Key, now time.Time) error {
		k.RevokedAt = &now
		key = k
		if err := tx.RevokeKey(ws, id, now); err != nil {
			return err
		}
		action := sheaf.ActionKeyRevoked
		if k.IsGrant() {
			action = sheaf.ActionAppDisconnected
		}
		return o.app.auditIn(tx, ws, anOperator, action, string(id), keyFacts(k), nil)
	})
	return key, err
}

// RotateKey gives a live key of any workspace a new secret, as App.RotateKey does, or returns
// NotFound.
func (o Operator) RotateKey(ctx context.Context, id sheaf.KeyID, grace time.Duration) (key sheaf.NewKey, err error) {
	if grace < 0 || grace > sheaf.MaxKeyGrace || grace%time.Second != 0 {
		return key, sheaf.Invalidf("the grace must be 0 to %d hours, in whole seconds", sheaf.MaxKeyGrace/time.Hour)
	}
	err = o.onKey(ctx, id, func(tx *store.Tx, ws sheaf.WorkspaceID, k sheaf.Key, now time.Time) (err error) {
		if k.IsGrant() {
			return sheaf.Missing("key")
		}
		if key, err = o.app.rotateKey(tx, ws, k, sheaf.NoKey, grace, now); err != nil {
			return err
		}
		return o.app.auditIn(tx, ws, anOperator, sheaf.ActionKeyRotated, string(id), nil, rotationFacts(k.Name, key.OldUntil))
	})
	return key, err
}

// onKey runs act on a live key of any workspace, under the lock of its workspace.
func (o Operator) onKey(ctx context.Context, id sheaf.KeyID, act func(tx *store.Tx, ws sheaf.WorkspaceID, k sheaf.Key, now time.Time) error) error {
	err := o.app.writeUnasked(ctx, func(tx *store.Tx) error {
		ws, _, err := tx.KeyByID(id)
		if err != nil {
			return err
		}
		if _, err := tx.LockWorkspace(ws); err != nil {
			return err
		}
		k, err := tx.Key(ws, id) // again: it may have changed before the lock
		if err != nil {
			return err
		}
		now := o.app.now()
		if !k.Live(now) {
			return sheaf.Missing("key")
		}
		return act(tx, ws, k, now)
	})
	return forOperator(err, "key", string(id), "it never was, has expired, or is revoked already; sheaf key list shows the live ones")
}
