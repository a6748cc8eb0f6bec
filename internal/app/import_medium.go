package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// ImportMedium is a medium to import. Its type is found from its bytes.
type ImportMedium struct {
	Filename   sheaf.Opt[string]
	DocumentID sheaf.Opt[sheaf.DocumentID]
	Bytes      int64
	SHA256     string // in hexadecimal digits
}

// check returns the error of its fields.
func (in ImportMedium) check() error {
	if sum, err := hex.DecodeString(in.SHA256); err != nil || len(sum) != 32 {
		return sheaf.InvalidField("sha256", "sha256 must be 64 hexadecimal digits: correct it")
	}
	switch {
	case in.Bytes < 1 || in.Bytes > media.MaxBucketBytes:
		return sheaf.InvalidField("bytes", "bytes must be 1 to %d: correct it", int64(media.MaxBucketBytes))
	case in.Filename.Given():
		return sheaf.CheckFilename(in.Filename.Value)
	}
	return nil
}

// importWithin is how long storing the bytes of one medium may take: gigabytes over any line.
const importWithin = 2 * time.Hour

// ImportMedium adds a medium to a workspace, with its event, as Import adds other records. A medium
// whose identifier exists in the workspace is skipped. open returns its bytes from the beginning,
// each time it is called. If the bytes cannot be stored, or would use the reserve of the disk,
// ImportMedium returns Unavailable and keeps nothing. It also adds a medium to a release that is
// being imported, without an event.
//
// Until its bytes are stored, it is a pending row with another identifier. So a medium whose import
// was interrupted can be imported again at once.
func (o Operator) ImportMedium(ctx context.Context, id sheaf.WorkspaceID, r ImportRecord, open func() io.Reader) (Imported, error) {
	if err := o.CheckImport(r); err != nil {
		return Imported{}, &RecordError{0, err}
	}
	if o.app.media == nil {
		return Imported{}, errNoMedia
	}
	m, err := r.medium(open)
	if err != nil {
		return Imported{}, err
	}
	if err := o.RoomToImport(ctx, nil); err != nil {
		return Imported{}, err
	}
	written, ok := o.app.disk.Admit(m.Bytes)
	if !ok {
		return Imported{}, errImportNoRoom
	}
	defer written()
	pending := m
	pending.ID, pending.DocumentID = sheaf.MediumID(o.app.newID()), nil
	var begun announced
	err = o.app.whileRemoving(ctx, func() (removing *store.Removal, err error) {
		begun, err = o.announceImport(ctx, id, r, pending)
		return begun.removing, err
	})
	if err != nil || begun.skipped {
		return begun.out, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
	}
	within, cancel := context.WithTimeout(ctx, importWithin)
	defer cancel()
	out := begun.out
	err = mediaError(o.app.media.Put(within, mediumKey(id, m), m.Bytes, open()))
	switch {
	case err != nil:
	case r.ReleasedMedium != nil:
		out, err = o.publishReleasedMedium(context.WithoutCancel(ctx), id, sheaf.ReleaseID(r.ID), pending.ID, m)
	default:
		out, err = o.publishImport(context.WithoutCancel(ctx), id, pending.ID, m)
	}
	if err != nil || out.Skipped.Media > 0 {
		o.app.undoUpload(context.WithoutCancel(ctx), id, pending.ID)
	}
	return out, err
}

// medium builds the Medium to store.
func (r ImportRecord) medium(open func() io.Reader) (sheaf.Medium, error) {
	in, id := r.Medium, sheaf.MediumID(r.ID)
	if r.ReleasedMedium != nil {
		in, id = &r.ReleasedMedium.ImportMedium, r.ReleasedMedium.ID
	}
	m := in.medium(id, r.CreatedAt)
	return m, describe(&m, open)
}

// medium returns the medium without the fields that are read from its bytes.
func (in *ImportMedium) medium(id sheaf.MediumID, created *time.Time) sheaf.Medium {
	m := sheaf.Medium{ID: id, Filename: sheaf.Untitled, Bytes: in.Bytes, SHA256: in.SHA256, DocumentID: in.DocumentID.Pointer(), Revision: 1}
	if in.Filename.Given() {
		m.Filename = in.Filename.Value
	}
	if created != nil {
		m.CreatedAt = created.Truncate(time.Millisecond)
	}
	return m
}

// announced is the result of announceImport.
type announced struct {
	out      Imported
	skipped  bool           // the medium exists
	removing *store.Removal // a removal of the same bytes that is under way; nil: none
}

// announceImport checks the record as Import would, and adds the pending row, unless the medium
// exists. If the same bytes are being removed, it returns that removal instead. No plan limits what
// an operator imports.
func (o Operator) announceImport(ctx context.Context, id sheaf.WorkspaceID, r ImportRecord, pending sheaf.Medium) (announced, error) {
	return operate(ctx, o, id, func(w *work) (announced, error) {
		im := newImporting(w.ws, w.now)
		if err := im.judge(&w.Reader, []ImportRecord{r}); err != nil {
			return announced{}, err
		}
		if im.out.Skipped.Media > 0 || im.release != nil && im.release.skipped {
			return announced{out: im.out, skipped: true}, nil
		}
		rm, found, err := w.RemovingBytes(id, pending.SHA256)
		if err != nil {
			return announced{}, err
		}
		if found {
			return announced{removing: &rm}, nil
		}
		w.ws.Storage += pending.Bytes
		pending.CreatedAt = w.now
		if im.release != nil {
			if err := w.RenewImporting(id, im.release.ID, w.now.Add(releaseWithin)); err != nil {
				return announced{}, err
			}
		}
		return announced{out: im.out}, w.InsertMedium(id, pending, w.now.Add(2*importWithin))
	})
}

// publishImport replaces the pending medium by m. If m was imported meanwhile by another import, it
// is skipped.
func (o Operator) publishImport(ctx context.Context, id sheaf.WorkspaceID, pending sheaf.MediumID, m sheaf.Medium) (Imported, error) {
	return operate(ctx, o, id, func(w *work) (out Imported, err error) {
		known, err := w.KnownMedia(id, []sheaf.MediumID{m.ID})
		if err != nil {
			return out, err
		}
		if known[m.ID] {
			out.Skipped.Media++
			return out, nil
		}
		if _, found, err := w.PendingMedium(id, pending); err != nil || !found {
			return out, errors.Join(err, errImportTooLong)
		}
		if w.caller.User, err = w.OwnerOf(id); err != nil {
			return out, err
		}
		if w.documentExists(m.DocumentID) != nil { // the document is in the trash
			m.DocumentID = nil
		}
		m.Number = w.nextNumber()
		if m.CreatedAt.IsZero() {
			m.CreatedAt = w.now
		}
		kept, err := w.KeptByRelease(id, m.ID)
		if err != nil {
			return out, err
		}
		if kept { // it counts already
			w.ws.Storage -= m.Bytes
		}
		w.emit(sheaf.MediaUploaded, string(m.ID), &m)
		out.Added.Media++
		return out, w.ReplacePending(id, pending, m)
	})
}

// errImportTooLong is returned if a starting server or the sweep removed the pending medium as
// abandoned.
var errImportTooLong = &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable,
	Text: "a server removed a medium during the import, because it seemed abandoned: import again"}

// acceptMedium accepts a medium. ImportMedium saves it once its bytes are stored.
func (im *importing) acceptMedium(reader *store.Reader, r ImportRecord) error {
	id := sheaf.MediumID(r.ID)
	if im.media[id] {
		im.out.Skipped.Media++
		return nil
	}
	if other, err := reader.HasOtherBytes(im.ws.ID, id, r.Medium.SHA256); err != nil || other {
		return firstError(err, sheaf.InvalidField("sha256", "sha256: a release of this workspace has medium %s with other bytes", id))
	}
	if d := r.Medium.DocumentID; d.Given() && !im.documents[d.Value] {
		return notEarlier("document_id", "document", string(d.Value))
	}
	im.media[id] = true
	im.out.Added.Media++
	return nil
}

// ExportedBytes opens the bytes of an exported medium, which the caller closes. If the medium was
// deleted after the export, and no release has it, it returns nil.
func (o Operator) ExportedBytes(ctx context.Context, id sheaf.WorkspaceID, m sheaf.Medium) (media.Content, error) {
	if o.app.media == nil {
		return nil, errors.New("there are media, but no place for their bytes is set: name the bucket with --media-url, as for the server, or leave them out with --without-media")
	}
	key := mediumKey(id, m)
	content, err := o.app.media.Open(ctx, key)
	if !errors.Is(err, media.ErrNotFound) {
		return content, err
	}
	needed, err := readUnasked(ctx, o.app, func(r *store.Reader) (bool, error) {
		_, live, err := r.LiveWith(id, key.SHA256)
		return live, err
	})
	if err != nil || !needed {
		return nil, err
	}
	// A row needed the bytes before and after the look at them.
	return nil, lostBytes(m)
}

// lostBytes returns the error for a medium whose bytes are missing or are not its own.
func lostBytes(m sheaf.Medium) error {
	return fmt.Errorf("the bytes of medium %s (%s) are not where they are kept, or are others: put the file back, delete the medium, or leave all out with --without-media", m.ID, sheaf.Clip(m.Filename))
}

// CheckedBytes passes on the bytes of a medium. If they are not the uploaded ones, it returns an
// error before their end.
func CheckedBytes(m sheaf.Medium, content io.Reader) io.Reader {
	return &ownWords{media.Checked(content, m.Bytes, mediumKey("", m)), m}
}

// ownWords replaces media.ErrDiffers by an error text for the operator.
type ownWords struct {
	io.Reader
	m sheaf.Medium
}

// Read implements io.Reader.
func (r *ownWords) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, media.ErrDiffers) {
		err = lostBytes(r.m)
	}
	return n, err
}
