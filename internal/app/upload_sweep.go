package app

import (
	"context"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// dropUpload deletes the row of an upload whose bytes are missing from the storage. It returns
// NotFound, so that the client starts again.
func (a *App) dropUpload(ctx context.Context, ws sheaf.WorkspaceID, id sheaf.MediumID) error {
	if err := a.endUpload(ctx, ws, id, func(sheaf.Upload, time.Time) bool { return true }); err != nil {
		return err
	}
	return sheaf.Missing("upload")
}

// endUpload deletes the row of an upload, if `whether` returns true, and the bytes that have
// arrived.
func (a *App) endUpload(ctx context.Context, ws sheaf.WorkspaceID, id sheaf.MediumID, whether func(u sheaf.Upload, now time.Time) bool) error {
	ended, err := conclude(ctx, a, ws, func(w *work) (bool, error) {
		u, found, err := w.Upload(ws, id)
		if err != nil || !found || !whether(u, w.now) {
			return false, err
		}
		return true, w.DeleteUpload(&w.ws, u)
	})
	if err != nil || !ended {
		return err
	}
	return mediaError(a.media.Abandon(ctx, uploadName(ws, id)))
}

// expireUploads deletes uploads that have expired, with the bytes that have arrived. If one fails,
// the others are still done, and it is retried the next time.
func (o Operator) expireUploads(ctx context.Context) error {
	old, err := readUnasked(ctx, o.app, func(r *store.Reader) ([]store.OldUpload, error) {
		return r.ExpiredUploads(o.app.now(), settleBatch)
	})
	for _, u := range old {
		expired := func(u sheaf.Upload, now time.Time) bool { return !now.Before(u.Expires) }
		if failed := o.app.endUpload(ctx, u.Workspace, u.ID, expired); failed != nil {
			err = failed
		}
	}
	return err
}

// removeStrayUploads removes the bytes of uploads that no longer have a row.
func (o Operator) removeStrayUploads(ctx context.Context) error {
	return o.app.media.Uploads(ctx, func(name string) error {
		ws, id, ok := parseUploadName(name)
		if !ok {
			return nil // not one of ours
		}
		has, err := readUnasked(ctx, o.app, func(r *store.Reader) (bool, error) {
			_, found, err := r.Upload(ws, id)
			return found, err
		})
		if sheaf.KindOf(err) == sheaf.NotFound { // the workspace does not exist, so the owner of the bytes is unknown
			return nil
		}
		if has || err != nil {
			return err
		}
		return o.app.media.Abandon(ctx, name)
	})
}

func parseUploadName(name string) (sheaf.WorkspaceID, sheaf.MediumID, bool) {
	first, second, _ := strings.Cut(name, "_")
	ws, ok := sheaf.ParseUUID(first)
	id, also := sheaf.ParseUUID(second)
	return sheaf.WorkspaceID(ws), sheaf.MediumID(id), ok && also
}
