package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"sheaf.dev/internal/failpoint"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// An upload and a deletion take two transactions each. The bytes are written or removed between
// them, so that no transaction waits for that. store/medium.go describes the states of a row.

const (
	// uploadWithin is how long storing the bytes of an upload may take, once they have arrived. The
	// row belongs to the upload for twice as long, so that clock differences between nodes do no
	// harm.
	uploadWithin = 5 * time.Minute
	// removeWithin is how long removing bytes may take. The row belongs to the remover for three
	// times as long.
	removeWithin = 20 * time.Second
	// waitForRemoval bounds how long an upload waits while the same bytes are being removed. It
	// checks every pollRemoval.
	waitForRemoval = 10 * time.Second
	pollRemoval    = 20 * time.Millisecond
)

// Media returns a page of the caller's media in the order of their creation.
func (a *App) Media(ctx context.Context, c Caller, f sheaf.MediumFilter) (sheaf.Page[sheaf.Medium], error) {
	return read(ctx, a, c, scope(sheaf.MediaRead), func(r *store.Reader) (sheaf.Page[sheaf.Medium], error) {
		return r.Media(c.Workspace, f)
	})
}

// Medium returns one medium, or NotFound.
func (a *App) Medium(ctx context.Context, c Caller, id sheaf.MediumID) (sheaf.Medium, error) {
	return read(ctx, a, c, scope(sheaf.MediaRead), func(r *store.Reader) (sheaf.Medium, error) {
		return r.Medium(c.Workspace, id)
	})
}

// MediumNamedBy returns one medium if the text of the document names it, or NotFound. So the caller
// need not see the document to which the medium belongs.
func (a *App) MediumNamedBy(ctx context.Context, c Caller, id sheaf.MediumID, document sheaf.DocumentID) (sheaf.Medium, error) {
	return read(ctx, a, c, scope(sheaf.MediaRead, sheaf.DocumentsRead), func(r *store.Reader) (sheaf.Medium, error) {
		d, err := r.DocumentText(c.Workspace, document)
		if err != nil {
			return sheaf.Medium{}, err
		}
		if !mediaIn(d.Content)[mediaScheme+string(id)] {
			return sheaf.Medium{}, sheaf.Missing("medium")
		}
		return r.Unrestricted().Medium(c.Workspace, id)
	})
}

// MediumContent returns one medium with its bytes, which the caller closes, or NotFound. If the text of
// the document `in` names the medium, the caller needs to see only that document; `in` may be empty.
func (a *App) MediumContent(ctx context.Context, c Caller, id sheaf.MediumID, in sheaf.DocumentID) (sheaf.Medium, media.Content, error) {
	m, err := a.Medium(ctx, c, id)
	if sheaf.KindOf(err) == sheaf.NotFound && in != "" {
		m, err = a.MediumNamedBy(ctx, c, id, in)
	}
	if err != nil {
		return m, nil, err
	}
	content, err := a.ContentOf(ctx, c, m)
	return m, content, err
}

// ContentOf returns the bytes of a medium that the caller has read before. The caller closes them.
// If the medium was deleted since, it returns NotFound.
func (a *App) ContentOf(ctx context.Context, c Caller, m sheaf.Medium) (media.Content, error) {
	if err := scope(sheaf.MediaRead)(c); err != nil {
		return nil, err
	}
	return a.openMedium(ctx, c.Workspace, m, func() error {
		_, err := a.Medium(ctx, c, m.ID)
		return err
	})
}

// verifyWithin is how long a reader waits until the bytes of a medium are verified. Verifying a
// gigabyte takes a few seconds, once per process.
const verifyWithin = 5 * time.Second

// openMedium opens the bytes of a medium and verifies them. If they are missing or damaged, it
// returns Unavailable, naming the medium. If they are missing, it first calls `deleted` and returns
// its error: the medium may have been deleted since the caller read it.
func (a *App) openMedium(ctx context.Context, ws sheaf.WorkspaceID, m sheaf.Medium, deleted func() error) (media.Content, error) {
	if a.media == nil {
		return nil, errNoMedia
	}
	content, err := a.verified.Open(ctx, mediumKey(ws, m))
	what := ""
	switch {
	case errors.Is(err, media.ErrNotFound):
		if gone := deleted(); gone != nil {
			return nil, gone
		}
		what = "missing in the storage of media"
	case errors.Is(err, media.ErrDamaged):
		what = "damaged in the storage of media"
	default:
		return content, mediaError(err)
	}
	return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err, RetryAfter: time.Hour,
		Text:   fmt.Sprintf("the bytes of the medium %s (%s) are %s: upload the file again, or have the operator restore it from a backup", m.ID, sheaf.Clip(m.Filename), what),
		Person: fmt.Sprintf("The bytes of the file “%s” are %s. Upload it again, or ask the operator to restore it from a backup.", sheaf.Clip(m.Filename), what)}
}

// RefusedReads returns the number of reads of media that found the bytes damaged or missing.
func (o Operator) RefusedReads() uint64 {
	if o.app.media == nil {
		return 0
	}
	return o.app.verified.Refused()
}

// RecheckBytes hashes the bytes of a key, even if they were verified before. It returns nil,
// media.ErrDamaged, media.ErrNotFound, or why they could not be read. Later reads use the result.
// pace slows it down, as described at Verifier.Recheck.
func (o Operator) RecheckBytes(ctx context.Context, key media.Key, pace func(context.Context, int) error) error {
	return o.app.verified.Recheck(ctx, key, pace)
}

// mediumKey returns the key under which the bytes of a medium are stored.
func mediumKey(ws sheaf.WorkspaceID, m sheaf.Medium) media.Key {
	key := media.Key{Workspace: string(ws)}
	_, _ = hex.Decode(key.SHA256[:], []byte(m.SHA256)) // a malformed hash names no stored bytes
	return key
}

// errNoMedia is returned if no media storage is set up: several nodes share a database, but no
// folder.
var errNoMedia = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Hour,
	Text: "this service cannot store media: with PostgreSQL it needs a bucket that every node reaches; ask the operator to set --media-url"}

// mediaError returns the error that a caller gets for an error of the media storage.
func mediaError(err error) error {
	if err == nil || !media.Unavailable(err) {
		return err
	}
	if media.Full(err) {
		return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err, RetryAfter: time.Minute,
			Text: "the service has no room left for files, and nothing was stored: repeat the request when the operator has made room"}
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err,
		Text: "the storage of media cannot be reached or refuses, and nothing was stored: repeat the request in a few seconds"}
}

// NewMedium is a file to upload.
type NewMedium struct {
	Filename   string            // empty: the file has no name
	DocumentID *sheaf.DocumentID // the document it belongs to; nil: none
	Bytes      int64
	SHA256     [32]byte // hash of the bytes; it is not computed again
	// Open returns the bytes from their beginning, the same each time it is called. They are in
	// memory.
	Open func() io.Reader
}

// medium builds the Medium to store. Its type is found from the bytes.
func (in NewMedium) medium() (sheaf.Medium, error) {
	if in.Bytes == 0 {
		return sheaf.Medium{}, sheaf.InvalidField("file", "file is empty: send its bytes")
	}
	m := sheaf.Medium{Filename: in.Filename, DocumentID: in.DocumentID, Bytes: in.Bytes, SHA256: hex.EncodeToString(in.SHA256[:]), Revision: 1}
	if m.Filename == "" {
		m.Filename = sheaf.Untitled
	}
	if err := sheaf.CheckFilename(m.Filename); err != nil {
		return m, err
	}
	return m, describe(&m, in.Open)
}

// describe sets the type of the medium and, for a picture, its size in pixels.
func describe(m *sheaf.Medium, open func() io.Reader) error {
	head := make([]byte, media.HeadSize)
	n, err := io.ReadFull(open(), head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	m.ContentType, _ = media.Sniff(head[:n])
	if w, h, ok := media.Measure(open()); ok {
		width, height := int64(w), int64(h)
		m.Width, m.Height = &width, &height
	}
	return nil
}

// UploadMedium stores a file and emits media.uploaded. Its document must exist (NotFound), and the
// plan must have room for the bytes (QUOTA_REACHED). If the bytes cannot be stored, it returns
// Unavailable and keeps nothing.
func (a *App) UploadMedium(ctx context.Context, c Caller, in NewMedium) (sheaf.Medium, error) {
	if err := scope(sheaf.MediaWrite)(c); err != nil {
		return sheaf.Medium{}, err // the file of a caller who may not upload is not read
	}
	m, fault := in.medium()
	m.ID = sheaf.MediumID(a.newID())
	return a.keepMedium(ctx, c, m, fault, func(ctx context.Context) error {
		return a.media.Put(ctx, mediumKey(c.Workspace, m), m.Bytes, media.Hashed{Reader: in.Open()})
	})
}

// keepMedium creates a medium of the bytes that put stores: first as a pending row, and live once
// they are stored. Then the caller's rights are checked again. If that check fails, or the request
// was answered meanwhile, the upload is undone.
func (a *App) keepMedium(ctx context.Context, c Caller, m sheaf.Medium, fault error, put func(context.Context) error) (sheaf.Medium, error) {
	done, full := a.admitFile(m.Bytes)
	if full != nil {
		return m, firstError(c.Authorize(sheaf.MediaWrite), c.Refusal, fault, full)
	}
	defer done()
	if err := a.announceMedium(ctx, c, m, fault); err != nil {
		return m, err
	}
	if c.Once != nil {
		once := *c.Once
		once.admitted = true
		c.Once = &once
	}
	// Once a client has sent everything, it may leave: the upload is completed.
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), uploadWithin)
	defer cancel()
	failpoint.Pass(failpoint.Announced)
	live, err := m, mediaError(put(work))
	failpoint.Pass(failpoint.Stored)
	if err == nil {
		live, err = a.publishMedium(work, c, m)
	}
	if err != nil {
		a.undoUpload(context.WithoutCancel(ctx), c.Workspace, m.ID)
	}
	return live, err
}

// announceMedium adds the pending row and counts its bytes against the quota. While the same bytes
// are being removed, it waits.
func (a *App) announceMedium(ctx context.Context, c Caller, m sheaf.Medium, fault error) error {
	if a.media == nil && fault == nil {
		fault = errNoMedia
	}
	return a.whileRemoving(ctx, func() (*store.Removal, error) { return a.tryAnnounce(ctx, c, m, fault) })
}

// whileRemoving calls try until the same bytes are no longer being removed. try returns the removal
// that is in progress, or nil.
func (a *App) whileRemoving(ctx context.Context, try func() (*store.Removal, error)) error {
	end := time.NewTimer(a.removal)
	defer end.Stop()
	for {
		removing, err := try()
		if err != nil || removing == nil {
			return err
		}
		a.helpRemoving(ctx, *removing)
		select {
		case <-time.After(pollRemoval):
		case <-end.C:
			return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: removeWithin,
				Text: "a file of the same bytes is being deleted: repeat the request in a few seconds"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAnnounce adds the pending row. If the same bytes are being removed, it returns that removal
// instead.
func (a *App) tryAnnounce(ctx context.Context, c Caller, m sheaf.Medium, fault error) (removing *store.Removal, err error) {
	once := c.Once
	c.Once = nil // the answer is stored when the medium is live
	return write(ctx, a, c, scope(sheaf.MediaWrite), fault, func(w *work) (*store.Removal, error) {
		if err := w.answeredBefore(once); err != nil {
			return nil, err
		}
		if err := w.documentExists(m.DocumentID); err != nil {
			return nil, err
		}
		if err := w.checkRoom(m.Bytes); err != nil {
			return nil, err
		}
		if rm, found, err := w.RemovingBytes(w.ws.ID, m.SHA256); err != nil || found {
			return &rm, err
		}
		w.ws.Storage += m.Bytes
		m.CreatedAt = w.now
		return nil, w.InsertMedium(w.ws.ID, m, w.now.Add(2*uploadWithin))
	})
}

// answeredBefore returns a Replay if the request with this idempotency key was answered before. It
// returns QUOTA_REACHED if the workspace has no room for one more kept answer.
func (w *work) answeredBefore(once *Once) error {
	w.caller.Once = once
	defer func() { w.caller.Once = nil }()
	return w.replay()
}

// documentExists returns NotFound unless the document exists, or id is nil. A restricted caller must
// name one (Forbidden).
func (w *work) documentExists(id *sheaf.DocumentID) error {
	if id == nil {
		return w.outside("file", "document_id")
	}
	_, err := w.Document(w.ws.ID, *id)
	return err
}

// publishMedium makes the pending medium live and emits its event. If the upload took too long, its
// row was removed as abandoned, and publishMedium returns Unavailable.
func (a *App) publishMedium(ctx context.Context, c Caller, m sheaf.Medium) (sheaf.Medium, error) {
	return write(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) (sheaf.Medium, error) {
		now, found, err := w.PendingMedium(w.ws.ID, m.ID)
		if err == nil && !found {
			err = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Text: "storing the file took too long, and nothing was stored: repeat the request"}
		}
		if err != nil {
			return m, err
		}
		if w.restricted() { // it must still see the document
			if err := w.documentExists(now.DocumentID); err != nil {
				return m, err
			}
		}
		// If its document was purged meanwhile, it belongs to none.
		now.Number, now.CreatedAt = w.nextNumber(), w.now
		w.emit(sheaf.MediaUploaded, string(now.ID), &now)
		return now, w.PublishMedium(w.ws.ID, now)
	})
}

// ChangeMedium changes the fields that were sent. The document must exist (NotFound). The contract
// has no event for this.
func (a *App) ChangeMedium(ctx context.Context, c Caller, id sheaf.MediumID, in sheaf.MediumChange, match sheaf.Match) (sheaf.Medium, error) {
	fault := checkChange(in.Empty(), "filename, document_id", in.Check())
	return write(ctx, a, c, scope(sheaf.MediaWrite), fault, func(w *work) (sheaf.Medium, error) {
		before, err := w.Medium(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		var nowhere error
		if in.DocumentID.Set {
			nowhere = w.documentExists(in.DocumentID.Pointer())
		}
		if err := firstMissing(nowhere, match.Check(before.Revision)); err != nil {
			return before, err
		}
		m := in.Apply(before)
		if sheaf.SameFields(&before, &m) {
			return before, nil
		}
		m.Revision++
		w.changes()
		return m, w.UpdateMedium(w.ws.ID, m)
	})
}

// DeleteMedium permanently deletes a medium. When it returns, the medium can no longer be read. Its
// bytes are removed too; if that fails, the sweep removes them. If it is the logo of more than
// 2,000 brandings, they lose it first, in chunks. The contract has no event for this.
func (a *App) DeleteMedium(ctx context.Context, c Caller, id sheaf.MediumID, match sheaf.Match) error {
	var removed *store.Removal
	err := a.cascade(ctx, c, scope(sheaf.MediaWrite), func(w *work, at stage) (progress, error) {
		m, err := w.Medium(w.ws.ID, id)
		if err != nil {
			return nothing, err
		}
		if err := at.match(match, m.Revision); err != nil {
			return nothing, err
		}
		brandings, err := w.CountWithLogo(w.ws.ID, id, a.cascades.Whole+1)
		if err != nil {
			return nothing, err
		}
		most := w.portion(at, brandings)
		if most == 0 {
			return nothing, nil
		}
		w.changes()
		if _, err := w.dropLogo(id, most); err != nil || brandings > most {
			return part, err
		}
		removed, err = w.removeMedium(m)
		return all, err
	})
	if err == nil {
		a.finishRemoval(context.WithoutCancel(ctx), removed)
	}
	return err
}

// removeMedium deletes a medium. It returns the removal of its bytes that is left to do, or nil.
func (w *work) removeMedium(m sheaf.Medium) (*store.Removal, error) {
	until := w.now.Add(3 * removeWithin)
	bytes, err := w.RemoveMedium(&w.ws, m, until)
	if err != nil || !bytes {
		return nil, err
	}
	return &store.Removal{Workspace: w.ws.ID, Medium: m, Until: until}, nil
}
