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

// An upload and a deletion are each two transactions with the bytes between them, which no
// transaction waits for. store/medium.go has the states that a row goes through.

const (
	// uploadWithin is how long the bytes of an upload may take to be stored, once they have arrived.
	// The row is the upload's own for twice as long, however far the clocks of two nodes are apart.
	uploadWithin = 5 * time.Minute
	// removeWithin is how long the removal of bytes may take. The row is the remover's own for three
	// times as long.
	removeWithin = 20 * time.Second
	// waitForRemoval bounds how long an upload waits for bytes to be removed that are the same, and
	// lookAgain is how often it looks.
	waitForRemoval = 10 * time.Second
	lookAgain      = 20 * time.Millisecond
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

// MediumContent returns one medium with its bytes, which the caller closes, or NotFound.
func (a *App) MediumContent(ctx context.Context, c Caller, id sheaf.MediumID) (sheaf.Medium, media.Content, error) {
	m, err := a.Medium(ctx, c, id)
	if err != nil {
		return m, nil, err
	}
	content, err := a.ContentOf(ctx, c, m)
	return m, content, err
}

// ContentOf returns the bytes of a medium that the caller has read before, which the caller closes. It is
// NotFound when the medium was deleted since.
func (a *App) ContentOf(ctx context.Context, c Caller, m sheaf.Medium) (media.Content, error) {
	if err := scope(sheaf.MediaRead)(c); err != nil {
		return nil, err
	}
	return a.openMedium(ctx, c.Workspace, m, func() error {
		_, err := a.Medium(ctx, c, m.ID)
		return err
	})
}

// verifyWithin is how long a reader waits until the bytes of a medium are verified. Reading a gigabyte takes
// a few seconds, once in a process.
const verifyWithin = 5 * time.Second

// openMedium opens the bytes of a medium and verifies them. It is Unavailable, and names the medium, if they
// are missing or damaged. If they are missing, it returns the error of deleted first: the medium may have
// been deleted since the caller has read it.
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
		what = "missing from where this service keeps its files"
	case errors.Is(err, media.ErrDamaged):
		what = "damaged where this service keeps its files"
	default:
		return content, mediaError(err)
	}
	return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err, RetryAfter: time.Hour,
		Text:   fmt.Sprintf("the bytes of the medium %s (%s) are %s: upload the file again, or have the operator restore it from a backup", m.ID, sheaf.Clip(m.Filename), what),
		Person: fmt.Sprintf("The bytes of the file “%s” are %s. Upload it again, or ask the operator to restore it from a backup.", sheaf.Clip(m.Filename), what)}
}

// RefusedReads returns how many reads of media found their bytes damaged or missing.
func (o Operator) RefusedReads() uint64 {
	if o.app.media == nil {
		return 0
	}
	return o.app.verified.Refused()
}

// RecheckBytes hashes the bytes of a key, whatever is known of them: nil, media.ErrDamaged, media.ErrNotFound,
// or why they could not be read. Later reads go by the verdict. pace slows it down, as Verifier.Recheck says.
func (o Operator) RecheckBytes(ctx context.Context, key media.Key, pace func(context.Context, int) error) error {
	return o.app.verified.Recheck(ctx, key, pace)
}

// mediumKey is where the bytes of a medium are.
func mediumKey(ws sheaf.WorkspaceID, m sheaf.Medium) media.Key {
	key := media.Key{Workspace: string(ws)}
	_, _ = hex.Decode(key.SHA256[:], []byte(m.SHA256)) // what is no hash leads to nothing
	return key
}

// errNoMedia is told where nothing keeps files: several nodes share a database, and no folder.
var errNoMedia = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Hour,
	Text: "this service stores no media: on PostgreSQL they need a bucket that every node reaches; whoever operates it names one with --media-url"}

// mediaError returns the error that a caller gets for an error of the media storage.
func mediaError(err error) error {
	if err == nil || !media.Unavailable(err) {
		return err
	}
	if media.Full(err) {
		return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err, RetryAfter: time.Minute,
			Text: "there is no room left where this service keeps its files: nothing was kept; repeat the request when whoever operates it has made room"}
	}
	return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Cause: err,
		Text: "the place where this service keeps its files cannot be reached, or refuses: nothing was kept; repeat the request in a few seconds"}
}

// NewMedium is a file that somebody uploads.
type NewMedium struct {
	Filename   string            // empty: it has none
	DocumentID *sheaf.DocumentID // that it belongs to; nil: to none
	Bytes      int64
	SHA256     [32]byte // of what Open returns: nobody takes it again
	// Open returns the bytes from their beginning, each time anew and each time the same: they are in
	// memory.
	Open func() io.Reader
}

// medium returns what is stored of it: what the bytes are, they tell themselves.
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

// describe fills in what the bytes are, and how large the picture is.
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

// UploadMedium stores a file and tells of it (media.uploaded). The document that it belongs to must
// exist (NotFound), and the plan have room for its bytes (QUOTA_REACHED). It is Unavailable, and
// nothing is kept, while the bytes cannot be stored.
func (a *App) UploadMedium(ctx context.Context, c Caller, in NewMedium) (sheaf.Medium, error) {
	if err := scope(sheaf.MediaWrite)(c); err != nil {
		return sheaf.Medium{}, err // nobody looks at the file of whoever may not upload one
	}
	m, fault := in.medium()
	m.ID = sheaf.MediumID(a.newID())
	return a.keepMedium(ctx, c, m, fault, func(ctx context.Context) error {
		return a.media.Put(ctx, mediumKey(c.Workspace, m), m.Bytes, media.Hashed{Reader: in.Open()})
	})
}

// keepMedium makes a medium of bytes that put stores: it is pending before that, and live after. It
// is asked again whether the caller may, and what was done for a request that was answered meanwhile is
// undone.
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
	// A client that has sent all of it may leave: what was begun is ended.
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

// announceMedium adds the pending row, with its quota. While the same bytes are being removed, it
// waits.
func (a *App) announceMedium(ctx context.Context, c Caller, m sheaf.Medium, fault error) error {
	if a.media == nil && fault == nil {
		fault = errNoMedia
	}
	return a.whileRemoving(ctx, func() (*store.Removal, error) { return a.tryAnnounce(ctx, c, m, fault) })
}

// whileRemoving tries to announce a medium until no bytes that are the same are being removed. try
// returns by whom they are.
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
		case <-time.After(lookAgain):
		case <-end.C:
			return &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: removeWithin,
				Text: "a file of the same bytes is being deleted: repeat the request in a few seconds"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tryAnnounce adds the pending row, unless the same bytes are being removed: it returns by whom.
func (a *App) tryAnnounce(ctx context.Context, c Caller, m sheaf.Medium, fault error) (removing *store.Removal, err error) {
	once := c.Once
	c.Once = nil // the answer is kept when the medium is live
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

// answeredBefore returns a Replay if the request of that key was answered before, and QUOTA_REACHED if the
// workspace has no room for one more answer.
func (w *work) answeredBefore(once *Once) error {
	w.caller.Once = once
	defer func() { w.caller.Once = nil }()
	return w.replay()
}

// documentExists returns NotFound for a document that is not there.
func (w *work) documentExists(id *sheaf.DocumentID) error {
	if id == nil {
		return nil
	}
	_, err := w.Document(w.ws.ID, *id)
	return err
}

// publishMedium makes the pending medium live, with its event. One that took too long was taken for
// abandoned: it is Unavailable.
func (a *App) publishMedium(ctx context.Context, c Caller, m sheaf.Medium) (sheaf.Medium, error) {
	return write(ctx, a, c, scope(sheaf.MediaWrite), nil, func(w *work) (sheaf.Medium, error) {
		now, found, err := w.PendingMedium(w.ws.ID, m.ID)
		if err == nil && !found {
			err = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, Text: "storing the file took too long, and nothing was kept: repeat the request"}
		}
		if err != nil {
			return m, err
		}
		// Its document may have gone for good meanwhile: it belongs to none then.
		now.Number, now.CreatedAt = w.nextNumber(), w.now
		w.emit(sheaf.MediaUploaded, string(now.ID), &now)
		return now, w.PublishMedium(w.ws.ID, now)
	})
}

// ChangeMedium changes the fields that were sent. The document must exist (NotFound). The contract has
// no event for it.
func (a *App) ChangeMedium(ctx context.Context, c Caller, id sheaf.MediumID, in sheaf.MediumChange, match sheaf.Match) (sheaf.Medium, error) {
	fault := checkChange(in.Empty(), "filename, document_id", in.Check())
	return write(ctx, a, c, scope(sheaf.MediaWrite), fault, func(w *work) (sheaf.Medium, error) {
		before, err := w.Medium(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		if err := firstMissing(w.documentExists(in.DocumentID.Pointer()), match.Check(before.Revision)); err != nil {
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

// DeleteMedium removes a medium for good. When it returns nobody sees it any more; its bytes go with
// it, or where that fails with the next sweep. More than 2,000 brandings lose it as their logo first, in
// chunks. The contract has no event for it.
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

// removeMedium takes a medium away. It returns what is to be done with its bytes, nil for nothing.
func (w *work) removeMedium(m sheaf.Medium) (*store.Removal, error) {
	until := w.now.Add(3 * removeWithin)
	bytes, err := w.RemoveMedium(&w.ws, m, until)
	if err != nil || !bytes {
		return nil, err
	}
	return &store.Removal{Workspace: w.ws.ID, Medium: m, Until: until}, nil
}
