package app

import (
	"context"
	"encoding/hex"
	"errors"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// The methods in this file end work that an authorized caller began, or whose process is gone. They
// decide nothing for a caller, and so check no rights (conclude, in authorize.go).

// settleBatch is the number of rows that a sweep reads at once.
const settleBatch = 100

// undoUpload removes what a failed upload has left. If that fails too, the sweep does it.
func (a *App) undoUpload(ctx context.Context, ws sheaf.WorkspaceID, id sheaf.MediumID) {
	removal, err := conclude(ctx, a, ws, func(w *work) (*store.Removal, error) {
		m, found, err := w.PendingMedium(ws, id)
		if err != nil || !found {
			return nil, err
		}
		return w.removeMedium(m)
	})
	if err == nil {
		a.finishRemoval(ctx, removal)
	}
}

// finishRemoval removes the bytes of a medium, and then its row. nil means that there is nothing to
// do. If it fails, the sweep does it.
func (a *App) finishRemoval(ctx context.Context, r *store.Removal) {
	if r != nil {
		_ = a.removeBytes(ctx, *r)
	}
}

// removeBytes removes the bytes of a row that the caller owns, and then the row. Its timeout is
// well before the row can be taken over.
func (a *App) removeBytes(ctx context.Context, r store.Removal) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	if a.media == nil {
		return errNoMedia
	}
	failpoint.Pass(failpoint.Removing)
	if err := a.media.Remove(ctx, mediumKey(r.Workspace, r.Medium)); err != nil {
		if media.Over(err) {
			a.releaseRemoval(context.WithoutCancel(ctx), r)
		}
		return mediaError(err)
	}
	failpoint.Pass(failpoint.Removed)
	_, err := conclude(ctx, a, r.Workspace, func(w *work) (struct{}, error) {
		return struct{}{}, w.SettleMedium(w.ws.ID, r.Medium.ID)
	})
	return err
}

// releaseRemoval gives up a removal that has failed, so that others need not wait until it expires.
// The next upload of the same bytes, or the sweep, takes it over at once. If releasing fails too,
// they wait.
func (a *App) releaseRemoval(ctx context.Context, r store.Removal) {
	_, _ = conclude(ctx, a, r.Workspace, func(w *work) (struct{}, error) {
		return struct{}{}, w.ReleaseRemoval(r, w.now)
	})
}

// helpRemoving takes over a removal that has expired.
func (a *App) helpRemoving(ctx context.Context, r store.Removal) {
	if a.now().Before(r.Until) {
		return
	}
	_ = a.concludeAbandoned(ctx, store.Unsettled{Workspace: r.Workspace, ID: r.Medium.ID})
}

// concludeAbandoned ends abandoned work: an upload is undone, a removal is done.
func (a *App) concludeAbandoned(ctx context.Context, u store.Unsettled) error {
	removal, err := conclude(ctx, a, u.Workspace, func(w *work) (*store.Removal, error) {
		if u.Pending {
			m, found, err := w.AbandonedMedium(w.ws.ID, u.ID, w.now)
			if err != nil || !found {
				return nil, err
			}
			return w.removeMedium(m)
		}
		until := w.now.Add(3 * removeWithin)
		m, found, err := w.TakeRemoval(w.ws.ID, u.ID, w.now, until)
		if err != nil || !found {
			return nil, err
		}
		return &store.Removal{Workspace: w.ws.ID, Medium: m, Until: until}, nil
	})
	if err != nil || removal == nil {
		return err
	}
	return a.removeBytes(ctx, *removal)
}

// SettleMedia ends uploads whose process is gone or that got no bytes for a day, and deletions
// whose bytes could not be removed. If one fails, the others are still done, and it is retried the
// next time.
func (o Operator) SettleMedia(ctx context.Context) error {
	if o.app.media == nil {
		return nil
	}
	expired := o.expireUploads(ctx) // first, because their media are settled below
	found, err := readUnasked(ctx, o.app, func(r *store.Reader) ([]store.Unsettled, error) {
		return r.UnsettledMedia(o.app.now(), settleBatch)
	})
	err = errors.Join(expired, err)
	for _, u := range found {
		if failed := o.app.concludeAbandoned(ctx, u); failed != nil {
			err = failed
		}
	}
	return err
}

// AbandonMedia marks all uploads and deletions as abandoned: the next SettleMedia ends them. It is
// called when the only server of a store starts.
func (o Operator) AbandonMedia(ctx context.Context) error {
	return o.app.writeUnasked(ctx, func(tx *store.Tx) error { return tx.AbandonMedia(o.app.now()) })
}

// tidyAfter is the age from which partly written data counts as abandoned.
const tidyAfter = 24 * time.Hour

// RemoveStrayBytes removes bytes that no medium has, left by an upload that continued after it was
// taken for abandoned. It reads the names of all stored bytes.
func (o Operator) RemoveStrayBytes(ctx context.Context) error {
	if o.app.media == nil {
		return nil
	}
	err := o.app.media.Workspaces(ctx, func(ws string) error {
		id, ok := sheaf.ParseUUID(ws)
		if !ok {
			return nil // not one of ours
		}
		removed, err := readUnasked(ctx, o.app, func(r *store.Reader) (bool, error) { return r.WasRemoved(sheaf.WorkspaceID(id)) })
		if err != nil {
			return err
		}
		if removed { // an upload has written bytes after the removal of the workspace
			return o.app.removeMediaOf(ctx, sheaf.WorkspaceID(id))
		}
		return o.app.media.List(ctx, ws, func(key media.Key, size int64) error {
			return o.app.removeStray(ctx, sheaf.WorkspaceID(id), key, size)
		})
	})
	if err == nil {
		err = o.removeStrayUploads(ctx)
	}
	if err == nil {
		_, err = o.app.media.Tidy(ctx, o.app.now().Add(-tidyAfter))
	}
	return mediaError(err)
}

// removeStray removes bytes if no row has them. It adds a row for the removal, so that no one
// stores the same bytes meanwhile.
func (a *App) removeStray(ctx context.Context, ws sheaf.WorkspaceID, key media.Key, size int64) error {
	hash := hex.EncodeToString(key.SHA256[:])
	// Nearly all bytes have a row, and a read blocks no one.
	has, err := readUnasked(ctx, a, func(r *store.Reader) (bool, error) { return r.HasBytes(ws, hash) })
	if has || err != nil {
		return err
	}
	removal, err := conclude(ctx, a, ws, func(w *work) (*store.Removal, error) {
		if has, err := w.HasBytes(ws, hash); has || err != nil {
			return nil, err
		}
		r := store.Removal{Workspace: ws, Until: w.now.Add(3 * removeWithin), Medium: sheaf.Medium{ID: sheaf.MediumID(a.newID()),
			Filename: sheaf.Untitled, ContentType: sheaf.Binary, Bytes: size, SHA256: hash, Revision: 1, CreatedAt: w.now}}
		return &r, w.InsertRemoval(ws, r.Medium, r.Until)
	})
	switch {
	case sheaf.KindOf(err) == sheaf.NotFound: // the workspace does not exist, so the owner of the bytes is unknown
		return nil
	case err != nil || removal == nil:
		return err
	}
	return a.removeBytes(ctx, *removal)
}
