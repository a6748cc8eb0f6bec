package archive

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/gob"
	"errors"
	"io"
	"os"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
)

// Write writes the workspace as of one moment, and returns the number of records. A server may run
// meanwhile. The bytes of media are read after that moment, because this may take long: a medium that
// is deleted meanwhile is left out. Without `withMedia`, all media are left out.
func Write(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, out io.Writer, withMedia bool) (count Count, err error) {
	behind, err := unnamed()
	if err != nil {
		return count, err
	}
	defer behind.Close()
	listed, err := unnamed()
	if err != nil {
		return count, err
	}
	defer listed.Close()
	releases, err := newSpool()
	if err != nil {
		return count, err
	}
	defer releases.close()
	w := &writer{out: bufio.NewWriterSize(out, 1<<16), written: map[string]bool{}}
	if err := w.write(w.out, kindHead, func(o *sheaf.Object) { o.Int("form", form) }); err != nil {
		return count, err
	}
	rest, media := bufio.NewWriter(behind), gob.NewEncoder(listed)
	err = op.Export(ctx, id, func(e app.Exported) error {
		switch {
		case e.Medium != nil && withMedia:
			return media.Encode(e.Medium)
		case e.Medium != nil:
			return nil
		case e.Release != nil || e.ReleaseOf != "": // these come after the media
			return w.release(releases, e, withMedia)
		case e.Subscription != nil && e.Subscription.Restriction != nil:
			return nil // its restriction belongs to a key, and keys are not exported
		case e.Branding != nil || e.Share != nil || e.Subscription != nil: // these come after the media and the releases
			return w.record(rest, e)
		}
		return w.record(w.out, e)
	})
	if err == nil {
		err = w.media(ctx, op, id, listed)
	}
	if err == nil {
		err = w.releases(ctx, op, id, releases)
	}
	if err == nil {
		err = errors.Join(rest.Flush(), rewound(behind, func(r io.Reader) error { _, err := io.Copy(w.out, r); return err }))
	}
	if err == nil {
		err = w.write(w.out, kindEnd, func(o *sheaf.Object) { o.Int("records", w.count.Sum()+w.pieces) })
	}
	if err == nil {
		err = w.out.Flush()
	}
	return w.count, err
}

// writer writes lines and counts them.
type writer struct {
	out     *bufio.Writer
	count   Count
	pieces  int64 // lines of bytes, and parts of proposals and releases
	line    []byte
	written map[string]bool // hashes of the media whose bytes were written
}

// write writes a line.
func (w *writer) write(to io.Writer, kind string, r sheaf.RecordFunc) error {
	w.line = append(sheaf.AppendJSON(w.line[:0], sheaf.RecordFunc(func(o *sheaf.Object) {
		o.Text("kind", kind)
		r(o)
	})), '\n')
	_, err := to.Write(w.line)
	return err
}

// record writes the line of a record and counts it.
func (w *writer) record(to io.Writer, e app.Exported) error {
	kind, fields := lineOf(e, &w.count)
	switch kind {
	case kindText, kindComment, kindReleased, kindReleaseEnd:
		w.pieces++
	}
	return w.write(to, kind, fields)
}

// media writes the media that were listed, each with its bytes.
func (w *writer) media(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, listed *os.File) error {
	return rewound(listed, func(r io.Reader) error {
		d := gob.NewDecoder(r)
		for {
			var m sheaf.Medium
			if err := d.Decode(&m); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := w.medium(ctx, op, id, m); err != nil {
				return err
			}
		}
	})
}

// medium writes one medium, unless it no longer exists.
func (w *writer) medium(ctx context.Context, op app.Operator, id sheaf.WorkspaceID, m sheaf.Medium) error {
	content, err := op.ExportedBytes(ctx, id, m)
	if err != nil || content == nil {
		return err
	}
	defer content.Close()
	if err := w.record(w.out, app.Exported{Medium: &m}); err != nil {
		return err
	}
	return w.bytes(ctx, m, content)
}

// bytes writes the bytes of a medium.
func (w *writer) bytes(ctx context.Context, m sheaf.Medium, content io.Reader) error {
	w.written[m.SHA256] = true
	checked, piece := app.CheckedBytes(m, content), make([]byte, min(m.Bytes, lineBytes))
	for {
		n, err := io.ReadFull(checked, piece)
		if n > 0 {
			w.pieces++
			text := base64.StdEncoding.EncodeToString(piece[:n])
			if err := w.write(w.out, kindBytes, func(o *sheaf.Object) { o.Text("base64", text) }); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
}

// unnamed returns a temporary file that disappears when it is closed.
func unnamed() (*os.File, error) {
	f, err := os.CreateTemp("", "sheaf-export-*") // mode 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// rewound reads a file from its beginning.
func rewound(f *os.File, read func(io.Reader) error) error {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return read(bufio.NewReader(f))
}

// lineOf returns the kind of a record and its fields, and counts it.
func lineOf(e app.Exported, count *Count) (kind string, r sheaf.RecordFunc) {
	switch {
	case e.Folder != nil:
		count.Folders++
		return kindFolder, folderFields(e.Folder)
	case e.Branding != nil:
		count.Brandings++
		return kindBranding, brandingFields(e.Branding, e.Default)
	case e.Project != nil:
		count.Projects++
		return kindProject, projectFields(e.Project)
	case e.Document != nil:
		count.Documents++
		return kindDocument, documentFields(e.Document, e.Version)
	case e.Version != nil:
		count.Versions++
		return kindVersion, versionFields(e.VersionOf, e.Version)
	case e.Proposal != nil:
		count.Proposals++
		return kindProposal, proposalFields(e.Proposal)
	case e.Text != nil:
		return kindText, textFields(e.TextOf, *e.Text)
	case e.Comment != nil:
		return kindComment, commentFields(e.Comment)
	case e.Medium != nil:
		count.Media++
		return kindMedium, mediumFields(e.Medium)
	case e.Release != nil:
		count.Releases++
		return kindRelease, releaseFields(e.Release)
	case e.Released != nil:
		return kindReleased, releasedFields(e.ReleaseOf, e.Released, e.ReleasedText)
	case e.ReleaseEnd:
		return kindReleaseEnd, releaseEndFields(e.ReleaseOf)
	case e.Share != nil:
		count.Shares++
		return kindShare, shareFields(e.Share)
	}
	count.Subscriptions++
	return kindSubscription, subscriptionFields(e.Subscription)
}

func folderFields(f *sheaf.Folder) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(f.ID))
		o.Text("name", f.Name)
		o.Text("entity_type", string(f.EntityType))
		o.OptText("parent_id", (*string)(f.ParentID))
		o.Text("color", f.Color)
		o.Int("sort_order", int64(f.SortOrder))
		o.OptText("external_id", f.ExternalID)
		o.Time("created_at", f.CreatedAt)
		o.Time("updated_at", f.UpdatedAt)
	}
}

// brandingFields are the fields of a branding, and whether it is the workspace's default one.
func brandingFields(b *sheaf.Branding, standard bool) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		b.Fields(o)
		o.Bool("default", standard)
	}
}

func projectFields(p *sheaf.Project) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(p.ID))
		o.Text("name", p.Name)
		o.OptText("description", p.Description)
		o.OptText("icon", p.Icon)
		o.OptText("color", p.Color)
		o.OptText("folder_id", (*string)(p.FolderID))
		o.Int("sort_order", int64(p.SortOrder))
		o.Text("visibility", p.Visibility)
		o.OptText("external_id", p.ExternalID)
		o.OptText("url", p.URL)
		o.Metadata("metadata", p.Metadata)
		o.Review(p.Approvals)
		o.Time("created_at", p.CreatedAt)
		o.Time("updated_at", p.UpdatedAt)
	}
}

// shareFields leaves out the views of a share, its address and its password. It has whether there is a
// password.
func shareFields(s *sheaf.Share) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		o.Text("id", string(s.ID))
		o.Text("resource_type", string(s.ResourceType))
		o.Text("resource_id", s.ResourceID)
		o.Bool("has_password", s.PasswordHash != "")
		o.OptTime("expires_at", s.ExpiresAt)
		o.OptText("branding_id", (*string)(s.BrandingID))
		o.Bool("listed", s.Listed)
		o.OptText("release", s.Release)
		o.Bool("show_releases", s.ShowReleases)
		o.Time("created_at", s.CreatedAt)
		o.Time("updated_at", s.UpdatedAt)
	}
}

// subscriptionFields leaves out the state of a subscription, and its encrypted secrets and headers.
func subscriptionFields(s *sheaf.Subscription) sheaf.RecordFunc {
	return func(o *sheaf.Object) {
		events := make([]string, len(s.Events))
		for i, t := range s.Events {
			events[i] = string(t)
		}
		o.Text("id", string(s.ID))
		o.Text("name", s.Name)
		o.Text("url", s.URL)
		o.Texts("events", events)
		o.Texts("header_names", s.HeaderNames)
		if s.Filter != nil {
			o.Record("filter", s.Filter)
		}
		o.Time("created_at", s.CreatedAt)
		o.Time("updated_at", s.UpdatedAt)
	}
}
