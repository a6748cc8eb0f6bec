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

// An upload is a row that reserves its length, and pieces of bytes that are kept before the row says
// so. When the last one is there, it becomes a medium in the steps of every other one:
//
//	CreateUpload      the row, with its quota
//	AppendUpload      the bytes, flushed; then the row says how far it has come
//	  … until all is there, and then finishUpload:
//	                  the row of a pending medium, which takes over the quota
//	                  the bytes are joined under their hash
//	                  the medium is live with its event, and the upload's row is gone
//
// Whenever the process dies, what the row says is there. A row that says that all is there belongs to
// an upload that is being finished, or was when its process died: whoever asks for it next finishes it,
// and nobody is told that all arrived before there is a medium.

// NewUpload is an upload that somebody begins.
type NewUpload struct {
	Filename   string            // empty: it has none
	DocumentID *sheaf.DocumentID // that it will belong to; nil: to none
	Length     int64
}

// MaxMedium is how many bytes an upload may have.
func (a *App) MaxMedium() int64 { return a.maxMedium }

// CreateUpload begins an upload, which reserves its length. The document must exist (NotFound), the
// plan have room for it, and unfinished uploads for what it reserves (QUOTA_REACHED), and the caller have less than ten unfinished ones
// (UPLOAD_LIMIT_REACHED).
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
				Text: fmt.Sprintf("%d uploads are begun and not finished, which is the most for one key: finish or delete one; they go by themselves when nothing arrives for 24 hours, or no first byte for an hour", n)}
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

// uploader is whose upload it is: the key's, or in the console the person's.
func uploader(c Caller) sheaf.KeyID {
	if c.Key.ID != "" {
		return c.Key.ID
	}
	return sheaf.KeyID(c.User)
}

// Upload returns how far an upload has come, or NotFound. Whoever is sending a piece of it meanwhile
// is interrupted: the client that asks has given up on it. One that became a medium has all of its
// bytes.
func (a *App) Upload(ctx context.Context, c Caller, id sheaf.MediumID) (sheaf.Upload, error) {
	release, err := a.turns.take(ctx, uploadName(c.Workspace, id), func() {})
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

// findUpload reads an upload; finished says that it is a medium already.
func (a *App) findUpload(ctx context.Context, c Caller, id sheaf.MediumID) (u sheaf.Upload, finished bool, err error) {
	u, err = read(ctx, a, c, scope(sheaf.MediaWrite), func(r *store.Reader) (sheaf.Upload, error) {
		u, found, err := r.Upload(c.Workspace, id)
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

// AppendUpload adds a piece that begins at an offset, and makes a medium of the upload when nothing is
// missing any more. It keeps what arrives also when reading the piece fails, whose error it returns.
// CONFLICT: the upload has come to another offset. PAYLOAD_TOO_LARGE: the piece has more than is
// missing, and nothing of it is kept. It is Unavailable, and nothing of the piece is kept, while bytes cannot be stored.
func (a *App) AppendUpload(ctx context.Context, c Caller, id sheaf.MediumID, offset int64, p Piece) (sheaf.Upload, error) {
	if a.media == nil {
		return sheaf.Upload{}, firstError(c.Authorize(sheaf.MediaWrite), errNoMedia)
	}
	release, err := a.turns.take(ctx, uploadName(c.Workspace, id), p.Interrupt)
	if err != nil {
		return sheaf.Upload{}, err
	}
	defer release()
	u, finished, err := a.findUpload(ctx, c, id)
	if err != nil {
		return u, err
	}
	if finished || offset != u.Offset {
		return u, sheaf.Conflictf("Upload-Offset is %d, and %d bytes of this upload are there: ask for it by HEAD and go on from there", offset, u.Offset)
	}
	done, err := a.admitFile(min(u.Length-u.Offset, sheaf.MaxUpload))
	if err != nil {
		return u, err
	}
	defer done()
	// A client that has sent something may leave: what arrived is kept.
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), appendWithin)
	defer cancel()
	next, failure := a.appendPiece(kept, c, u, p)
	if failure == nil && next.Whole() {
		failure = a.finishUpload(ctx, c, next)
	}
	return next, failure
}

// appendWithin bounds how long a piece may take to arrive and to be stored.
const appendWithin = 10 * time.Minute

// appendPiece stores what arrives, and then says so in the row. The error of reading comes back when
// what was read is kept.
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
		next.Expires = w.now.Add(sheaf.UploadsKept)
		ok, err := w.AdvanceUpload(w.ws.ID, u.Offset, next)
		if err == nil && !ok {
			err = sheaf.Conflictf("somebody else has gone on with this upload: ask for it by HEAD and go on from there")
		}
		return err
	})
	if err != nil {
		return u, err
	}
	return next, mediaError(failure)
}

// remainder passes on what is missing of an upload, and refuses more.
type remainder struct {
	r    io.Reader
	left int64
	over bool // there was more: this is no piece of that file, and nothing of it may count
}

// Read implements io.Reader.
func (r *remainder) Read(p []byte) (int, error) {
	if r.left == 0 {
		var more [1]byte
		n, err := io.ReadFull(r.r, more[:])
		if r.over = n > 0; r.over {
			return 0, &sheaf.Error{Kind: sheaf.TooLarge, Code: sheaf.CodeTooLarge, Text: "the body has more bytes than are missing of this upload: send the rest of the file and no more"}
		}
		_ = err // all is there, whatever became of the connection
		return 0, io.EOF
	}
	n, err := r.r.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}

// finishUpload makes a medium of an upload that is whole. It may be repeated: what an earlier one has
// done, it finds done.
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

// announceUpload adds the row of the pending medium, which counts for the upload from then on, unless
// it is there, or the same bytes are being removed: it returns by whom.
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
		m := m                                                                          // the transaction may run again, and the document be there then
		if err := w.documentExists(m.DocumentID); sheaf.KindOf(err) == sheaf.NotFound { // it went meanwhile
			m.DocumentID = nil
		} else if err != nil {
			return nil, err
		}
		if err := w.ReserveUpload(&w.ws, u, 0); err != nil {
			return nil, err
		}
		// A medium that was taken for abandoned has given its room back: it may be somebody else's.
		if err := w.checkRoom(m.Bytes); err != nil {
			return nil, err
		}
		w.ws.Storage += m.Bytes
		m.CreatedAt = w.now
		return nil, w.InsertMedium(w.ws.ID, m, w.now.Add(2*uploadWithin))
	})
}

// finishedElsewhere returns nil for an upload without a row that another node has made a medium of, and
// NotFound for one that somebody ended, or whose time was over, while it was being finished.
func (w *work) finishedElsewhere(id sheaf.MediumID) error {
	_, err := w.Medium(w.ws.ID, id)
	if sheaf.KindOf(err) == sheaf.NotFound {
		return sheaf.Missing("upload")
	}
	return err
}

// describeStored fills in what the bytes of a medium are that is stored.
func (a *App) describeStored(ctx context.Context, ws sheaf.WorkspaceID, m *sheaf.Medium) error {
	content, err := a.media.Open(ctx, mediumKey(ws, *m))
	if err != nil {
		return err
	}
	defer content.Close()
	return describe(m, func() io.Reader {
		_, _ = content.Seek(0, io.SeekStart) // to the beginning, which always is possible
		return content
	})
}

// publishUpload makes the medium live with its event, and removes the row of the upload. When another
// node was faster, it is done; when the upload was ended meanwhile, it is NotFound.
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
			err = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Text: "storing the file took too long: ask for the upload by HEAD, which tries it again"}
		}
		if err != nil {
			return err
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

// DeleteUpload ends an upload that is not finished, and removes what arrived of it. NotFound: it is
// none, or a medium already.
func (a *App) DeleteUpload(ctx context.Context, c Caller, id sheaf.MediumID) error {
	c.deletes = true
	release, err := a.turns.take(ctx, uploadName(c.Workspace, id), func() {})
	if err != nil {
		return err
	}
	defer release()
	err = do(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) error {
		u, found, err := w.Upload(w.ws.ID, id)
		if err == nil && (!found || !w.now.Before(u.Expires)) {
			err = sheaf.Missing("upload")
		}
		if err != nil {
			return err
		}
		if _, pending, err := w.PendingMedium(w.ws.ID, id); err != nil || pending {
			return firstError(err, sheaf.Conflictf("all of this upload is there, and it is about to be a medium: delete that"))
		}
		return w.DeleteUpload(&w.ws, u)
	})
	if err == nil && a.media != nil {
		// Where that fails, the sweep does it.
		_ = a.media.Abandon(context.WithoutCancel(ctx), uploadName(c.Workspace, id))
	}
	return err
}

// uploadName is what the bytes of an upload are called where they are kept.
func uploadName(ws sheaf.WorkspaceID, id sheaf.MediumID) string { return string(ws) + "_" + string(id) }
