package app

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A release is imported as several records: the release, its documents, its media, and its end. The records
// may be imported in different transactions. Until the end is imported, nobody sees the release. Each of these
// transactions extends the time after which the sweep removes an unfinished release.

// exportRelease calls each for a release, its documents in reading order, its media and its end. A text comes
// only with the first document of the workspace's releases that has it.
func exportRelease(r *store.Reader, ws sheaf.WorkspaceID, release sheaf.Release, each func(Exported) error) error {
	if err := each(Exported{Release: &release}); err != nil {
		return err
	}
	texts, err := r.NewReleaseTexts(ws, release)
	if err != nil {
		return err
	}
	tree, err := r.ReleaseTree(ws, release)
	if err != nil {
		return err
	}
	for _, e := range tree {
		d := sheaf.DocumentText{}
		if d.Document, err = r.ReleasedDocument(ws, release, e.ID); err != nil {
			return err
		}
		first := texts[d.ContentSHA256]
		if first {
			delete(texts, d.ContentSHA256)
			if d, err = r.ReleasedText(ws, release, e.ID); err != nil {
				return err
			}
		}
		if err := each(Exported{Released: &d, ReleasedText: first || d.ContentBytes == 0, ReleaseOf: release.ID}); err != nil {
			return err
		}
	}
	err = r.EachReleaseMedium(ws, release, func(m sheaf.Medium) error { return each(Exported{ReleasedMedium: &m, ReleaseOf: release.ID}) })
	if err != nil {
		return err
	}
	return each(Exported{ReleaseEnd: true, ReleaseOf: release.ID})
}

// ImportRelease is a release to import. Its documents and media follow as records of their own, and then its end.
type ImportRelease struct {
	ProjectID sheaf.ProjectID
	Name      string
	Notes     *string
	Documents int64
	User      sheaf.UserID
	Key       *sheaf.KeyID
}

// ImportReleased is a document of the release with the record's identifier.
type ImportReleased struct {
	sheaf.DocumentChange
	ID              sheaf.DocumentID
	Number, Version int64
	SHA256          string // of a text that an earlier record has; empty: the text is Content
}

// ImportReleasedMedium is a medium of the release with the record's identifier.
type ImportReleasedMedium struct {
	ImportMedium
	ID sheaf.MediumID
	// WithBytes says that ImportMedium gets its bytes. Otherwise an earlier medium has the same ones.
	WithBytes bool
}

// releaseWithin is how long an import may pause in the middle of a release.
const releaseWithin = 2 * importWithin

func (in *ImportRelease) check() error {
	if err := sheaf.CheckName("name", in.Name, sheaf.MaxReleaseName); err != nil {
		return err
	}
	if in.Documents < 0 || in.Documents > sheaf.MaxTree {
		return sheaf.InvalidField("documents", "documents must be 0 to %d: correct it", sheaf.MaxTree)
	}
	if in.Notes == nil {
		return nil
	}
	return sheaf.CheckLength("notes", *in.Notes, sheaf.MaxReleaseNotes)
}

func (in *ImportReleased) check() error {
	if sum, err := hex.DecodeString(in.SHA256); err != nil || len(sum) != 0 && len(sum) != 32 {
		return sheaf.InvalidField("content_sha256", "content_sha256 must be 64 hexadecimal digits: correct it")
	}
	return checkNewDocument(in.DocumentChange)
}

// importedRelease is the release whose records are being imported.
type importedRelease struct {
	sheaf.Release
	skipped bool // the workspace has it
}

// currentRelease returns the release that the record is a part of. The record of the release itself came
// earlier, possibly in an earlier import that was interrupted.
func (im *importing) currentRelease(r *store.Reader, id sheaf.ReleaseID) (*importedRelease, error) {
	if im.release != nil && im.release.ID == id {
		return im.release, nil
	}
	release, state, found, err := r.AnyRelease(im.ws.ID, id)
	if err != nil {
		return nil, err
	}
	if !found || state == store.ReleaseRemoving {
		return nil, sheaf.InvalidField("release_id", "release_id: the import of release %s has not begun, or was given up some hours ago: begin with the line of the release", id)
	}
	im.release = &importedRelease{release, state == store.ReleaseVisible}
	return im.release, nil
}

// acceptRelease accepts the beginning of a release. If the import of the release was interrupted, it is
// continued.
func (im *importing) acceptRelease(r *store.Reader, record ImportRecord) error {
	id, in := sheaf.ReleaseID(record.ID), record.Release
	im.release = nil
	stored, state, found, err := r.AnyRelease(im.ws.ID, id)
	if err != nil {
		return err
	}
	created, _ := record.times(im.now)
	release := sheaf.Release{ID: id, ProjectID: in.ProjectID, Name: in.Name, Notes: in.Notes, Documents: in.Documents, User: in.User, Key: in.Key,
		CreatedAt: created, Revision: 1}
	_, accepted := im.releases[id]
	switch {
	case accepted || found && state == store.ReleaseVisible:
		im.release = &importedRelease{release, true}
		if found {
			im.releases[id] = stored.ProjectID
		}
		return nil
	case found && state == store.ReleaseRemoving:
		return sheaf.Invalidf("this release was deleted a moment ago, and its documents are being removed: import it again in a minute")
	case found:
		if record.CreatedAt == nil {
			release.CreatedAt = stored.CreatedAt
		}
		if release.Number = stored.Number; !sheaf.SameFields(&release, &stored) {
			return sheaf.Invalidf("the import of another form of this release was interrupted: continue that one, or import this one in %d hours", int(releaseWithin/time.Hour))
		}
		im.release = &importedRelease{release, false}
		return nil
	case !im.projects[in.ProjectID]:
		return notEarlier("project_id", "project", string(in.ProjectID))
	}
	if err := im.releaseFits(r, release); err != nil {
		return err
	}
	im.ws.LastNumber++
	release.Number = im.ws.LastNumber
	im.release = &importedRelease{release, false}
	im.newReleases = append(im.newReleases, release)
	return nil
}

// releaseFits returns an error if the project has a release of that name, or as many as it may have. It counts
// the releases that were accepted before.
func (im *importing) releaseFits(r *store.Reader, release sheaf.Release) error {
	names := im.releaseNames[release.ProjectID]
	if names == nil {
		page, err := r.Releases(im.ws.ID, release.ProjectID, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: sheaf.MaxReleases}})
		if err != nil {
			return err
		}
		names = map[string]bool{}
		for _, v := range page.Items {
			names[v.Name] = true
		}
		im.releaseNames[release.ProjectID] = names
	}
	switch {
	case names[release.Name]:
		return releaseNameTaken(release.ProjectID, release.Name)
	case len(names) >= sheaf.MaxReleases:
		return errManyReleases
	}
	names[release.Name] = true
	return nil
}

// acceptReleased accepts a document of a release. If the release is skipped, the text is kept for a while,
// because later releases of the file may have it.
func (im *importing) acceptReleased(r *store.Reader, record ImportRecord) error {
	release, err := im.currentRelease(r, sheaf.ReleaseID(record.ID))
	if err != nil {
		return err
	}
	in, hash, bytes := record.Released, record.text.SHA256(), record.text.Bytes()
	if in.SHA256 != "" && hash != strings.ToLower(in.SHA256) {
		known := false
		hash = strings.ToLower(in.SHA256)
		if bytes, known = im.releaseTexts[hash]; !known {
			return sheaf.InvalidField("content_sha256", "content_sha256: no earlier line of a release has this text: begin with an earlier line")
		}
	} else if _, known := im.releaseTexts[hash]; !known && bytes > 0 {
		im.releaseTexts[hash] = bytes
		im.newReleaseTexts = append(im.newReleaseTexts, acceptedReleaseText{record.text, record.named})
	}
	if release.skipped {
		return nil
	}
	created, updated := record.times(im.now)
	d := in.Apply(sheaf.Document{ID: in.ID, Number: in.Number, Version: in.Version, ContentBytes: bytes, ContentSHA256: hash, CreatedAt: created, UpdatedAt: updated})
	if !in.SortOrder.Set {
		d.SortOrder = d.DefaultOrder()
	}
	im.newReleased = append(im.newReleased, store.NewReleased{Release: release.Number, Document: d})
	im.touch(release)
	return nil
}

// touch extends the import of a release.
func (im *importing) touch(release *importedRelease) { im.touched[release.ID] = true }

// acceptedReleaseText is a text of a document of a release to save.
type acceptedReleaseText struct {
	text  store.Text
	named []sheaf.MediumID // media that it names
}

// keptMedium is a medium of a release to save, whose bytes are stored.
type keptMedium struct {
	record  int // index in the batch
	release int64
	medium  sheaf.Medium
}

// acceptReleasedMedium accepts a medium of a release. If its record has bytes, ImportMedium saves it.
func (im *importing) acceptReleasedMedium(r *store.Reader, index int, record ImportRecord) error {
	release, err := im.currentRelease(r, sheaf.ReleaseID(record.ID))
	if err != nil || release.skipped {
		return err
	}
	in := record.ReleasedMedium
	other, err := r.HasOtherBytes(im.ws.ID, in.ID, in.SHA256)
	if err != nil {
		return err
	}
	if other {
		return sheaf.InvalidField("sha256", "sha256: medium %s has other bytes in this workspace", in.ID)
	}
	if !in.WithBytes {
		im.newKept = append(im.newKept, keptMedium{index, release.Number, in.medium(in.ID, record.CreatedAt)})
	}
	im.touch(release)
	return nil
}

// endedRelease is a release whose last record was accepted.
type endedRelease struct {
	record int // index in the batch
	*sheaf.Release
}

// acceptReleaseEnd accepts the end of a release.
func (im *importing) acceptReleaseEnd(r *store.Reader, index int, record ImportRecord) error {
	release, err := im.currentRelease(r, sheaf.ReleaseID(record.ID))
	if err != nil {
		return err
	}
	im.release = nil
	if release.skipped {
		im.out.Skipped.Releases++
		return nil
	}
	known := im.projects[release.ProjectID]
	if !known {
		found, err := r.KnownProjects(im.ws.ID, []sheaf.ProjectID{release.ProjectID})
		if err != nil {
			return err
		}
		known = found[release.ProjectID]
	}
	if !known {
		return notEarlier("project_id", "project", string(release.ProjectID))
	}
	im.releases[release.ID] = release.ProjectID
	im.ended = append(im.ended, endedRelease{index, &release.Release})
	im.out.Added.Releases++
	im.created = append(im.created, creation{sheaf.ReleaseCreated, string(release.ID), &release.Release})
	return nil
}

// releaseKnown returns an error unless the release of a share is one of its project.
func (im *importing) releaseKnown(r *store.Reader, s sheaf.Share) error {
	if s.Release == nil || *s.Release == sheaf.NewestRelease {
		return nil
	}
	id := sheaf.ReleaseID(*s.Release)
	project, known := im.releases[id]
	if !known {
		release, err := r.Release(im.ws.ID, id)
		if err != nil && sheaf.KindOf(err) != sheaf.NotFound {
			return err
		}
		known, project = err == nil, release.ProjectID
	}
	if !known || string(project) != s.ResourceID {
		return notEarlier("release", "release of the project", *s.Release)
	}
	return nil
}

// saveReleases writes the accepted parts of releases, and makes the complete ones visible.
func (w *work) saveReleases(im *importing) error {
	until := w.now.Add(releaseWithin)
	for _, r := range im.newReleases {
		if err := w.InsertImporting(w.ws.ID, r, until); err != nil {
			return err
		}
	}
	for id := range im.touched {
		if err := w.RenewImporting(w.ws.ID, id, until); err != nil {
			return err
		}
	}
	for _, t := range im.newReleaseTexts {
		grown, err := w.InsertReleaseText(w.ws.ID, t.text, t.named, until)
		w.ws.Storage += grown
		if err != nil {
			return err
		}
	}
	grown, err := w.InsertReleased(w.ws.ID, im.newReleased, until)
	w.ws.Storage += grown
	if err != nil {
		return err
	}
	for _, k := range im.newKept {
		if err := w.saveKept(k); err != nil {
			return err
		}
	}
	for _, r := range im.ended {
		if err := w.publishRelease(r); err != nil {
			return err
		}
	}
	return nil
}

// saveKept adds a medium to its release. Another medium must have its bytes.
func (w *work) saveKept(k keptMedium) error {
	found, err := w.DescribeStored(w.ws.ID, &k.medium)
	if err != nil {
		return err
	}
	if !found {
		return &RecordError{k.record, sheaf.InvalidField("sha256", "sha256: the workspace has no medium with these bytes any more: import again from the first line")}
	}
	if k.medium.CreatedAt.IsZero() {
		k.medium.CreatedAt = w.now
	}
	return w.KeepMedium(&w.ws, k.release, k.medium)
}

// publishRelease makes a release visible, if it has all its documents.
func (w *work) publishRelease(r endedRelease) error {
	has, err := w.CountReleased(w.ws.ID, r.Number)
	if err != nil {
		return err
	}
	if has != r.Documents {
		return &RecordError{r.record, sheaf.InvalidField("documents", "documents: release %s should have %d, and %d were imported: begin with the line of the release", r.ID, r.Documents, has)}
	}
	page, err := w.Releases(w.ws.ID, r.ProjectID, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: sheaf.MaxReleases}})
	if err != nil {
		return err
	}
	for _, v := range page.Items {
		if v.Name == r.Name {
			return &RecordError{r.record, releaseNameTaken(r.ProjectID, r.Name)}
		}
	}
	if page.Total >= sheaf.MaxReleases {
		return &RecordError{r.record, errManyReleases}
	}
	if r.Notes != nil {
		w.ws.Storage += int64(len(*r.Notes)) // no plan limits what an operator imports
	}
	if err := w.CountMentions(w.ws.ID, r.Number, mostReleaseMedia); err != nil {
		return err
	}
	return w.PublishImporting(w.ws.ID, r.ID)
}

// errReleaseGone is returned if the import of a release was given up while the bytes of a medium were stored.
var errReleaseGone = errors.New("the release is not being imported any more: begin with the line of the release")

// publishReleasedMedium adds a medium, whose bytes are stored, to its release in place of the pending one.
func (o Operator) publishReleasedMedium(ctx context.Context, id sheaf.WorkspaceID, release sheaf.ReleaseID, pending sheaf.MediumID, m sheaf.Medium) (Imported, error) {
	return operate(ctx, o, id, func(w *work) (out Imported, err error) {
		r, state, found, err := w.AnyRelease(id, release)
		if err != nil {
			return out, err
		}
		if !found || state != store.ReleaseImporting {
			return out, errReleaseGone
		}
		if _, found, err := w.PendingMedium(id, pending); err != nil || !found {
			return out, errors.Join(err, errImportTooLong)
		}
		if err := w.RenewImporting(id, release, w.now.Add(releaseWithin)); err != nil {
			return out, err
		}
		if m.CreatedAt.IsZero() {
			m.CreatedAt = w.now
		}
		return out, w.KeepPending(&w.ws, r.Number, pending, m)
	})
}
