package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"sheaf.dev/internal/disk"
	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// An upload is a row that reserves its length, and the bytes that have arrived. Bytes are stored
// before the row counts them. When the last ones have arrived, the upload becomes a medium, in the
// same steps as any other:
//
//	CreateUpload      the row, with its quota
//	AppendUpload      the bytes, flushed; then the row counts them
//	  … until everything has arrived, and then finishUpload:
//	                  the row of a pending medium, which takes over the quota
//	                  the bytes are joined under their hash
//	                  the medium is live, with its event, and the upload's row is deleted
//
// If the process dies at any time, the bytes that the row counts are stored. A row that counts all
// bytes belongs to an upload that is being finished, or was when its process died. The next request
// for it finishes it. No client gets the answer that everything has arrived before there is a
// medium.

// NewUpload is a request to begin an upload.
type NewUpload struct {
	Filename   string            // empty: the file has no name
	DocumentID *sheaf.DocumentID // document that it will belong to; nil: none
	Length     int64
}

// MaxMedium returns the largest size of an upload in bytes.
func (a *App) MaxMedium() int64 { return a.maxMedium }

// CreateUpload begins an upload, which reserves its length. The document must exist (NotFound). The
// plan must have room for the upload, and for what unfinished uploads reserve (QUOTA_REACHED). The
// caller must have fewer than ten unfinished uploads (UPLOAD_LIMIT_REACHED).
func (a *App) CreateUpload(ctx context.Context, c Caller, in NewUpload) (sheaf.Upload, error) {
	if in.Filename == "" {
		in.Filename = sheaf.Untitled
	}
	fault := firstError(sheaf.CheckUploadLength(in.Length, a.maxMedium), sheaf.CheckFilename(in.Filename))
	if fault == nil && a.media == nil {
		fault = errNoMedia
	}
	if fault == nil {
		fault = a.diskBelow(disk.Tight)
	}
	return write(ctx, a, c, scope(sheaf.MediaWrite), fault, func(w *work) (sheaf.Upload, error) {
		u := sheaf.Upload{ID: sheaf.MediumID(a.newID()), Filename: in.Filename, DocumentID: in.DocumentID, Length: in.Length,
			Reserved: in.Length, Owner: uploader(c), Expires: w.now.Add(sheaf.UploadsAnnounced)}
		if err := w.documentExists(in.DocumentID); err != nil {
			return u, err
		}
		n, err := w.CountUploads(w.ws.ID, u.Owner)
		if err != nil {
			return u, err
		}
		if n >= sheaf.MaxUploads {
			return u, &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeUploadLimit,
				Text: fmt.Sprintf("this key has %d unfinished uploads, which is the maximum: finish or delete one; an upload is removed if nothing arrives for 24 hours, or no first byte for an hour", n)}
		}
		if err := w.checkReserved(u.Length); err != nil {
			return u, err
		}
		if err := w.checkRoom(u.Length); err != nil {
			return u, err
		}
		return u, w.InsertUpload(&w.ws, u)
	})
}

// uploader returns the owner of an upload: the key or, in the console, the person.
func uploader(c Caller) sheaf.KeyID {
	if c.Key.ID != "" {
		return c.Key.ID
	}
	return sheaf.KeyID(c.User)
}

// Upload returns how far an upload has got, or NotFound. If a request is sending a piece of it,
// that request is interrupted: the client that asks has given up on it. An upload that became a
// medium has all of its bytes.
func (a *App) Upload(ctx context.Context, c Caller, id sheaf.MediumID) (sheaf.Upload, error) {
	if err := a.seesUpload(ctx, c, id); err != nil {
		return sheaf.Upload{}, err
	}
	release, err := a.turns.acquire(ctx, uploadName(c.Workspace, id), func() {})
	if err != nil {
		return sheaf.Upload{}, err
	}
	defer release()
	u, finished, err := a.findUpload(ctx, c, id)
	if err == nil && !finished && u.Whole() {
		err = a.finishUpload(ctx, c, u)
	}
	return u, err
}

// seesUpload returns NotFound if a restricted caller does not see the upload. Call it before the request
// takes its turn, because taking a turn interrupts another request.
func (a *App) seesUpload(ctx context.Context, c Caller, id sheaf.MediumID) error {
	if c.Restriction() == nil {
		return nil
	}
	_, _, err := a.findUpload(ctx, c, id)
	return err
}

// uploadOf returns an upload that the caller sees; found is false if there is none. A restricted
// caller sees its own uploads, and those of visible documents.
func uploadOf(r *store.Reader, c Caller, id sheaf.MediumID) (u sheaf.Upload, found bool, err error) {
	u, found, err = r.Upload(c.Workspace, id)
	if err != nil || !found || c.Restriction() == nil || u.Owner == uploader(c) {
		return u, found, err
	}
	if u.DocumentID == nil {
		return sheaf.Upload{}, false, nil
	}
	if _, err = r.AnyDocument(c.Workspace, *u.DocumentID); err != nil {
		return sheaf.Upload{}, false, ignoreMissing(err)
	}
	return u, true, nil
}

// findUpload reads an upload. finished reports that it is a medium already.
func (a *App) findUpload(ctx context.Context, c Caller, id sheaf.MediumID) (u sheaf.Upload, finished bool, err error) {
	u, err = read(ctx, a, c, scope(sheaf.MediaWrite), func(r *store.Reader) (sheaf.Upload, error) {
		u, found, err := uploadOf(r, c, id)
		if err != nil || found && a.now().Before(u.Expires) {
			return u, err
		}
		m, err := r.Medium(c.Workspace, id)
		if sheaf.KindOf(err) == sheaf.NotFound {
			return u, sheaf.Missing("upload")
		}
		finished = true
		return sheaf.Upload{ID: m.ID, Filename: m.Filename, Length: m.Bytes, Offset: m.Bytes}, err
	})
	return u, finished, err
}

// A Piece is a part of an upload as it arrives.
type Piece struct {
	io.Reader
	// Interrupt ends a Read that waits for the client. It may be called at any time.
	Interrupt func()
}

// AppendUpload appends a piece that begins at `offset`. If nothing is missing afterwards, the
// upload becomes a medium. If reading the piece fails, AppendUpload keeps what has arrived and
// returns the error. It returns CONFLICT if the upload is at another offset. It returns
// PAYLOAD_TOO_LARGE, and keeps nothing of the piece, if the piece has more bytes than are missing.
// It returns Unavailable, and keeps nothing of the piece, if bytes cannot be stored.
func (a *App) AppendUpload(ctx context.Context, c Caller, id sheaf.MediumID, offset int64, p Piece) (sheaf.Upload, error) {
	if a.media == nil {
		return sheaf.Upload{}, firstError(c.Authorize(sheaf.MediaWrite), errNoMedia)
	}
	if err := a.seesUpload(ctx, c, id); err != nil {
		return sheaf.Upload{}, err
	}
	release, err := a.turns.acquire(ctx, uploadName(c.Workspace, id), p.Interrupt)
	if err != nil {
		return sheaf.Upload{}, err
	}
	defer release()
	u, finished, err := a.findUpload(ctx, c, id)
	if err != nil {
		return u, err
	}
	if finished || offset != u.Offset {
		return u, sheaf.Conflictf("Upload-Offset is %d, but this upload has %d bytes: get the offset with HEAD and continue from there", offset, u.Offset)
	}
	done, err := a.admitFile(min(u.Length-u.Offset, sheaf.MaxUpload))
	if err != nil {
		return u, err
	}
	defer done()
	// A client that has sent something may leave: what has arrived is kept.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendWithin)
	defer cancel()
	next, failure := a.appendPiece(kept, c, u, p)
	if failure == nil && next.Whole() {
		failure = a.finishUpload(ctx, c, next)
	}
	return next, failure
}

// appendWithin bounds the time for a piece to arrive and be stored.
const appendWithin = 10 * time.Minute

// appendPiece stores what arrives, and then counts it in the row. If reading failed, it returns
// that error after storing what was read.
func (a *App) appendPiece(ctx context.Context, c Caller, u sheaf.Upload, p Piece) (sheaf.Upload, error) {
	rest := &remainder{r: p, left: u.Length - u.Offset}
	at, failure := a.media.Append(ctx, uploadName(c.Workspace, u.ID), media.Progress{Offset: u.Offset, State: u.State}, rest)
	if errors.Is(failure, media.ErrNotFound) {
		return u, a.dropUpload(ctx, c.Workspace, u.ID)
	}
	if at.Offset == u.Offset || rest.over {
		return u, mediaError(failure)
	}
	failpoint.Pass(failpoint.Appended)
	next := u
	next.Offset, next.State = at.Offset, at.State
	err := do(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) error {
		if _, found, err := uploadOf(&w.Reader, w.caller, u.ID); err != nil || !found {
			return firstError(err, sheaf.Missing("upload"))
		}
		next.Expires = w.now.Add(sheaf.UploadsKept)
		ok, err := w.AdvanceUpload(w.ws.ID, u.Offset, next)
		if err == nil && !ok {
			err = sheaf.Conflictf("another request has continued this upload: get the offset with HEAD and continue from there")
		}
		return err
	})
	if err != nil {
		return u, err
	}
	return next, mediaError(failure)
}

// remainder passes on the bytes that an upload still needs, and refuses more.
type remainder struct {
	r    io.Reader
	left int64
	over bool // the client sent more bytes than announced, so the piece is of another file and is dropped
}

// Read implements io.Reader.
func (r *remainder) Read(p []byte) (int, error) {
	if r.left == 0 {
		var more [1]byte
		n, err := io.ReadFull(r.r, more[:])
		if r.over = n > 0; r.over {
			return 0, &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge, Text: "the body has more bytes than this upload still needs: send only the rest of the file"}
		}
		_ = err // everything has arrived, so the state of the connection does not matter
		return 0, io.EOF
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// finishUpload makes a medium of a complete upload. It may be repeated: steps that were done before
// are skipped.
func (a *App) finishUpload(ctx context.Context, c Caller, u sheaf.Upload) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadWithin)
	defer cancel()
	at := media.Progress{Offset: u.Offset, State: u.State}
	sum, err := at.SHA256()
	if err != nil {
		return err
	}
	m := sheaf.Medium{ID: u.ID, Filename: u.Filename, ContentType: sheaf.Binary, Bytes: u.Length, SHA256: hex.EncodeToString(sum[:]), DocumentID: u.DocumentID, Revision: 1}
	if err := a.whileRemoving(ctx, func() (*store.Removal, error) { return a.announceUpload(ctx, c, m) }); err != nil {
		return err
	}
	failpoint.Pass(failpoint.Joining)
	err = a.media.Join(ctx, uploadName(c.Workspace, u.ID), at, mediumKey(c.Workspace, m))
	if errors.Is(err, media.ErrNotFound) || errors.Is(err, media.ErrDiffers) {
		return a.dropUpload(ctx, c.Workspace, u.ID)
	}
	failpoint.Pass(failpoint.Stored)
	if err == nil {
		err = a.describeStored(ctx, c.Workspace, &m)
	}
	if err != nil {
		return mediaError(err)
	}
	return a.publishUpload(ctx, c, m)
}

// announceUpload adds the row of the pending medium, which takes over the upload's quota, unless
// there is one. If the same bytes are being removed, it returns that removal instead.
func (a *App) announceUpload(ctx context.Context, c Caller, m sheaf.Medium) (*store.Removal, error) {
	return write(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) (*store.Removal, error) {
		u, found, err := w.Upload(w.ws.ID, m.ID)
		if err == nil && !found {
			err = w.finishedElsewhere(m.ID)
		}
		if err != nil || !found {
			return nil, err
		}
		if _, pending, err := w.PendingMedium(w.ws.ID, m.ID); err != nil || pending {
			return nil, err
		}
		if rm, found, err := w.RemovingBytes(w.ws.ID, m.SHA256); err != nil || found {
			return &rm, err
		}
		// A copy: the transaction may run again, and the document may exist then.
		m := m
		// The document may have been deleted meanwhile.
		if err := w.documentExists(m.DocumentID); sheaf.KindOf(err) == sheaf.NotFound && !w.restricted() {
			m.DocumentID = nil
		} else if err != nil {
			return nil, err
		}
		if err := w.ReserveUpload(&w.ws, u, 0); err != nil {
			return nil, err
		}
		// If the pending medium was removed as abandoned, its room was given back and may be taken.
		if err := w.checkRoom(m.Bytes); err != nil {
			return nil, err
		}
		w.ws.Storage += m.Bytes
		m.CreatedAt = w.now
		return nil, w.InsertMedium(w.ws.ID, m, w.now.Add(2*uploadWithin))
	})
}

// finishedElsewhere checks an upload that no longer has a row. It returns nil if another node has
// made a medium of it, and NotFound if it was deleted or expired while it was being finished.
func (w *work) finishedElsewhere(id sheaf.MediumID) error {
	_, err := w.Medium(w.ws.ID, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return sheaf.Missing("upload")
	}
	return err
}

// describeStored sets the type and picture size of a medium from its stored bytes.
func (a *App) describeStored(ctx context.Context, ws sheaf.WorkspaceID, m *sheaf.Medium) error {
	content, err := a.media.Open(ctx, mediumKey(ws, *m))
	if err != nil {
		return err
	}
	defer content.Close()
	return describe(m, func() io.Reader {
		_, _ = content.Seek(0, io.SeekStart) // seeking to the start always succeeds
		return content
	})
}

// publishUpload makes the medium live, emits its event and deletes the upload's row. If another
// node has finished the upload, it returns nil. If the upload was deleted meanwhile, it returns
// NotFound.
func (a *App) publishUpload(ctx context.Context, c Caller, m sheaf.Medium) error {
	return do(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) error {
		u, found, err := w.Upload(w.ws.ID, m.ID)
		if err == nil && !found {
			return w.finishedElsewhere(m.ID)
		}
		if err != nil {
			return err
		}
		now, found, err := w.PendingMedium(w.ws.ID, m.ID)
		if err == nil && !found {
			err = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Text: "storing the file took too long: send HEAD for the upload, which tries again"}
		}
		if err != nil {
			return err
		}
		if w.restricted() { // the caller must still see the document
			if err := w.documentExists(now.DocumentID); err != nil {
				return err
			}
		}
		now.ContentType, now.Width, now.Height = m.ContentType, m.Width, m.Height
		now.Number, now.CreatedAt = w.nextNumber(), w.now
		w.emit(sheaf.MediaUploaded, string(now.ID), &now)
		if err := w.PublishMedium(w.ws.ID, now); err != nil {
			return err
		}
		return w.DeleteUpload(&w.ws, u)
	})
}

// DeleteUpload deletes an unfinished upload with the bytes that have arrived. It returns NotFound
// if there is no such upload, or if it is a medium already.
func (a *App) DeleteUpload(ctx context.Context, c Caller, id sheaf.MediumID) error {
	c.deletes = true
	if err := a.seesUpload(ctx, c, id); err != nil {
		return err
	}
	release, err := a.turns.acquire(ctx, uploadName(c.Workspace, id), func() {})
	if err != nil {
		return err
	}
	defer release()
	err = do(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) error {
		u, found, err := uploadOf(&w.Reader, w.caller, id)
		if err == nil && (!found || !w.now.Before(u.Expires)) {
			err = sheaf.Missing("upload")
		}
		if err != nil {
			return err
		}
		if _, pending, err := w.PendingMedium(w.ws.ID, id); err != nil || pending {
			return firstError(err, sheaf.Conflictf("this upload is complete and becomes a medium: delete the medium instead"))
		}
		return w.DeleteUpload(&w.ws, u)
	})
	if err == nil && a.media != nil {
		// If this fails, the sweep does it.
		_ = a.media.Abandon(context.WithoutCancel(ctx), uploadName(c.Workspace, id))
	}
	return err
}

// uploadName returns the name of the upload's bytes in the media storage.
func uploadName(ws sheaf.WorkspaceID, id sheaf.MediumID) string { return string(ws) + "_" + string(id) }
