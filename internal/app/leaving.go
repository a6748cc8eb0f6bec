package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// removedAtOnce bounds the workspaces that one call of RemoveWorkspaces reads.
const removedAtOnce = 100

// LeavingWorkspace is a deleted workspace, as the command line shows it.
type LeavingWorkspace struct{ sheaf.Workspace }

// Fields appends the fields of the JSON object.
func (w *LeavingWorkspace) Fields(o *sheaf.Object) {
	o.Text("id", string(w.ID))
	o.Text("name", w.Name)
	deletionFields(&w.Workspace, o)
}

// deletionFields appends when a workspace was deleted and when its removal begins; null if it is not
// deleted.
func deletionFields(w *sheaf.Workspace, o *sheaf.Object) {
	if !w.IsDeleted() {
		o.Null("deleted_at")
		o.Null("ends_at")
		return
	}
	o.Time("deleted_at", w.DeletedAt)
	o.Time("ends_at", w.EndsAt)
}

// DeleteWorkspace makes a workspace unreachable at once, and has it removed after `after`. It returns
// NotFound for an unknown workspace, and Conflict for a deleted one. If that one may be removed by now
// and `after` is 0, there is no error: the caller may continue the removal.
func (o Operator) DeleteWorkspace(ctx context.Context, id sheaf.WorkspaceID, after time.Duration) (LeavingWorkspace, error) {
	if after < 0 {
		return LeavingWorkspace{}, sheaf.InvalidField("delete-after", "--delete-after is how long the workspace can be brought back: it must not be negative")
	}
	out, err := operateDeleted(ctx, o, id, func(tx *store.Tx, ws sheaf.Workspace) (LeavingWorkspace, error) {
		now := o.app.now()
		if ws.IsDeleted() {
			return LeavingWorkspace{ws}, deletedAgain(ws, now, after)
		}
		ws.DeletedAt, ws.EndsAt = now, now.Add(after).Truncate(time.Millisecond)
		if err := tx.DeleteWorkspace(ws, ws.DeletedAt, ws.EndsAt); err != nil {
			return LeavingWorkspace{}, err
		}
		facts := sheaf.RecordFunc(func(o *sheaf.Object) {
			workspaceFacts(ws.Name, ws.Plan).Fields(o)
			o.Time("ends_at", ws.EndsAt)
		})
		return LeavingWorkspace{ws}, o.app.auditIn(tx, id, anOperator, sheaf.ActionWorkspaceDeleted, string(id), nil, facts)
	})
	return out, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}

// deletedAgain returns Conflict for the deletion of a workspace that is deleted already. It returns nil
// if the workspace may be removed by now and the deletion asks for the removal at once.
func deletedAgain(ws sheaf.Workspace, now time.Time, after time.Duration) error {
	switch {
	case !ws.Restorable(now) && after == 0:
		return nil
	case !ws.Restorable(now):
		return sheaf.Conflictf("workspace %s is deleted already and can no longer be kept: a running server removes its data. Without a server, use --delete-after 0", ws.ID)
	}
	return sheaf.Conflictf("workspace %s is deleted already, and its data stays until %s: to choose another time, bring it back with sheaf workspace undelete, and delete it again",
		ws.ID, ws.EndsAt.Format(time.RFC3339))
}

// UndeleteWorkspace brings back a deleted workspace with all its data. It returns Conflict if the
// workspace is not deleted, or if its time is over.
func (o Operator) UndeleteWorkspace(ctx context.Context, id sheaf.WorkspaceID) (LeavingWorkspace, error) {
	out, err := operateDeleted(ctx, o, id, func(tx *store.Tx, ws sheaf.Workspace) (out LeavingWorkspace, err error) {
		switch {
		case !ws.IsDeleted():
			return out, sheaf.Conflictf("workspace %s is not deleted", id)
		case !ws.Restorable(o.app.now()):
			return out, sheaf.Conflictf("workspace %s could be brought back until %s, and now its data is removed: restore an earlier backup into another store", id, ws.EndsAt.Format(time.RFC3339))
		}
		ws.DeletedAt, ws.EndsAt = time.Time{}, time.Time{}
		out.Workspace = ws
		if err := tx.UndeleteWorkspace(ws, o.app.now()); err != nil {
			return out, err
		}
		return out, o.app.auditIn(tx, id, anOperator, sheaf.ActionWorkspaceUndeleted, string(id), nil, workspaceFacts(ws.Name, ws.Plan))
	})
	return out, forOperator(err, "workspace", string(id), "it never existed, or its data was removed; sheaf workspace list shows all workspaces")
}

// RemoveWorkspaces removes the deleted workspaces whose time is over at `now`. If one removal fails, for
// example because a bucket cannot be reached, the others still run. The next call continues it.
func (o Operator) RemoveWorkspaces(ctx context.Context, now time.Time) error {
	ended, err := readUnasked(ctx, o.app, func(r *store.Reader) ([]sheaf.WorkspaceID, error) {
		return r.EndedWorkspaces(now, removedAtOnce)
	})
	for _, id := range ended {
		if failed := o.RemoveWorkspace(ctx, id, now); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// RemoveWorkspace removes a deleted workspace whose time is over at `now`, and continues a removal that
// was interrupted. Other writes run between its transactions. It does nothing if the workspace was
// brought back, or is gone.
func (o Operator) RemoveWorkspace(ctx context.Context, id sheaf.WorkspaceID, now time.Time) error {
	begun, err := o.leaving(ctx, id, func(tx *store.Tx, ws sheaf.Workspace) (bool, error) {
		if !ws.Removing && ws.EndsAt.After(now) {
			return false, nil
		}
		return true, tx.BeginRemoval(id)
	})
	if err != nil || !begun {
		return err
	}
	for more := true; more; {
		failpoint.Pass(failpoint.Leaving)
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err = o.leaving(ctx, id, func(tx *store.Tx, _ sheaf.Workspace) (bool, error) { return tx.RemoveSome(id) })
		if err != nil {
			return err
		}
		if o.app.cascades.Between != nil {
			o.app.cascades.Between()
		}
	}
	if o.app.index != nil {
		if err := o.app.index.Forget(ctx, id); err != nil {
			return err
		}
	}
	if err := o.app.removeMediaOf(ctx, id); err != nil {
		return err
	}
	failpoint.Pass(failpoint.Leaving)
	_, err = o.leaving(ctx, id, func(tx *store.Tx, _ sheaf.Workspace) (bool, error) {
		if err := tx.EndRemoval(id, o.app.now()); err != nil {
			return false, err
		}
		if err := tx.EraseInstanceAuditOf(id); err != nil {
			return false, err
		}
		l, _ := o.app.auditLine(sheaf.Actor{}, sheaf.ActionWorkspaceRemoved, string(id), nil, nil)
		l.Workspace = id
		return false, tx.InsertInstanceAudit(l)
	})
	return err
}

// leaving runs act in a transaction on a deleted workspace. If the workspace is not deleted, or is gone,
// it returns false.
func (o Operator) leaving(ctx context.Context, id sheaf.WorkspaceID, act func(tx *store.Tx, ws sheaf.Workspace) (bool, error)) (bool, error) {
	did, err := operateDeleted(ctx, o, id, func(tx *store.Tx, ws sheaf.Workspace) (bool, error) {
		if !ws.IsDeleted() {
			return false, nil
		}
		return act(tx, ws)
	})
	if sheaf.KindOf(err) == sheaf.NotFound {
		return false, nil
	}
	return did, err
}

// removeMediaOf removes the bytes of a workspace's media and unfinished uploads.
func (a *App) removeMediaOf(ctx context.Context, id sheaf.WorkspaceID) error {
	if a.media == nil {
		return nil
	}
	err := a.media.List(ctx, string(id), func(key media.Key, _ int64) error { return a.media.Remove(ctx, key) })
	if err == nil {
		err = a.media.Uploads(ctx, func(name string) error {
			if !strings.HasPrefix(name, string(id)+"_") {
				return nil
			}
			return a.media.Abandon(ctx, name)
		})
	}
	return mediaError(err)
}
