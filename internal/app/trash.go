package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// PurgeTrash permanently deletes up to `most` trashed documents of a workspace, up to `end`, oldest
// first, and up to `most` of their shares. Each deleted share has its event, in the name of the
// workspace's owner. It returns the number of documents processed; fewer than `most` means that
// none are left.
func (o Operator) PurgeTrash(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd, most int) (int64, error) {
	return operate(ctx, o, ws, func(w *work) (done int64, err error) {
		if w.caller.User, err = w.OwnerOf(ws); err != nil {
			return 0, err
		}
		w.unattended = true
		room := int64(most) // how many shares may still be deleted
		done, err = w.DeleteTrash(&w.ws, end, most, func(id sheaf.DocumentID) (later bool, err error) {
			ended, err := w.unshare(sheaf.ShareOfDocument, string(id), room)
			room -= ended
			return room == 0, err // the document may have more shares
		})
		if done > 0 {
			w.changes() // the list of deleted documents changes
		}
		return done, err
	})
}
