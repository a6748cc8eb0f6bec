package app

import (
	"context"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// PurgeTrash removes deleted documents of a workspace for good, up to an end, those that were deleted
// longest ago first. Their shares go with them, each with its event, in the name of the workspace's
// owner. It removes at most so many documents, and as many shares, and returns how many of so many
// documents it has dealt with: with fewer than that, there are no more.
func (o Operator) PurgeTrash(ctx context.Context, ws sheaf.WorkspaceID, end store.TrashEnd, most int) (int64, error) {
	return operate(ctx, o, ws, func(w *work) (done int64, err error) {
		if w.caller.User, err = w.OwnerOf(ws); err != nil {
			return 0, err
		}
		room := int64(most) // for shares
		done, err = w.DeleteTrash(&w.ws, end, most, func(id sheaf.DocumentID) (later bool, err error) {
			ended, err := w.unshare(sheaf.ShareOfDocument, string(id), room)
			room -= ended
			return room == 0, err // the document may have more of them
		})
		if done > 0 {
			w.changes() // what lists the deleted ones is another
		}
		return done, err
	})
}
