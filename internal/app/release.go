package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sheaf.dev/internal/fair"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// A release is made in one transaction, and other writes wait for it. So the slow work is done
// before it: the texts that no release of the workspace has yet are copied, a few at a time, and
// searched for media. The transaction then writes a row for each document. If texts have changed
// meanwhile, these are copied first, and the transaction is tried again.

const (
	// One transaction copies at most copiedTexts texts for a release, and about copiedBytes.
	copiedTexts = 200
	copiedBytes = 4 << 20
	// After copyRounds rounds of copying texts that changed meanwhile, CreateRelease gives up.
	copyRounds = 10
	// fewTexts is the number of texts that the transaction which makes the release may copy itself, of
	// up to copiedBytes together, so that a project in which people write all the time can have a release.
	fewTexts = 20
	// copyWithin is how long copied texts are kept without a release.
	copyWithin = 10 * time.Minute
	// mostReleaseMedia is the largest number of times that the texts of a release may name media.
	mostReleaseMedia = 50_000
)

// releasesRead requires the scopes to read what a release shows.
func releasesRead(more ...sheaf.Scope) need {
	return scope(append(sheaf.Scopes{sheaf.ReleasesRead, sheaf.DocumentsRead}, more...)...)
}

// Releases returns a page of a project's releases, oldest first, or NotFound.
func (a *App) Releases(ctx context.Context, c Caller, project sheaf.ProjectID, f sheaf.ReleaseFilter) (sheaf.Page[sheaf.Release], error) {
	return read(ctx, a, c, scope(sheaf.ReleasesRead), func(r *store.Reader) (sheaf.Page[sheaf.Release], error) {
		if _, err := r.Project(c.Workspace, project); err != nil {
			return sheaf.Page[sheaf.Release]{}, err
		}
		return r.Releases(c.Workspace, project, f)
	})
}

// Release returns one release, or NotFound.
func (a *App) Release(ctx context.Context, c Caller, id sheaf.ReleaseID) (sheaf.Release, error) {
	return read(ctx, a, c, scope(sheaf.ReleasesRead), func(r *store.Reader) (sheaf.Release, error) {
		return r.Release(c.Workspace, id)
	})
}

// ReleasesWith are the releases that have a document, oldest first: those of projects that the caller sees,
// and the number of the others.
type ReleasesWith struct {
	Seen   []sheaf.Release
	Hidden int
}

// ReleasesWith returns the releases that have a document, or NotFound. The document may be deleted.
func (a *App) ReleasesWith(ctx context.Context, c Caller, id sheaf.DocumentID) (ReleasesWith, error) {
	return read(ctx, a, c, releasesRead(), func(r *store.Reader) (out ReleasesWith, err error) {
		if _, err := r.AnyDocument(c.Workspace, id); err != nil {
			return out, err
		}
		out.Seen, out.Hidden, err = r.ReleasesOf(c.Workspace, id)
		return out, err
	})
}

// ReleaseTree returns the documents of a release in reading order, or NotFound.
func (a *App) ReleaseTree(ctx context.Context, c Caller, id sheaf.ReleaseID) ([]sheaf.TreeEntry, error) {
	return read(ctx, a, c, releasesRead(), func(r *store.Reader) ([]sheaf.TreeEntry, error) {
		release, err := r.Release(c.Workspace, id)
		if err != nil {
			return nil, err
		}
		return r.ReleaseTree(c.Workspace, release)
	})
}

// ReleasedDocument returns a document as a release has it, with its text, or NotFound.
func (a *App) ReleasedDocument(ctx context.Context, c Caller, id sheaf.ReleaseID, document sheaf.DocumentID) (sheaf.DocumentText, error) {
	return read(ctx, a, c, releasesRead(), func(r *store.Reader) (sheaf.DocumentText, error) {
		release, err := r.Release(c.Workspace, id)
		if err != nil {
			return sheaf.DocumentText{}, err
		}
		return r.ReleasedText(c.Workspace, release, document)
	})
}

// ReleasedMedium returns a medium that a text of the release names, or NotFound. ContentOf returns its
// bytes.
func (a *App) ReleasedMedium(ctx context.Context, c Caller, id sheaf.ReleaseID, medium sheaf.MediumID) (sheaf.Medium, error) {
	return read(ctx, a, c, releasesRead(sheaf.MediaRead), func(r *store.Reader) (sheaf.Medium, error) {
		release, err := r.Release(c.Workspace, id)
		if err != nil {
			return sheaf.Medium{}, err
		}
		return r.ReleaseMedium(c.Workspace, release, medium)
	})
}

// DiffRelease returns what differs between a release and another one of its project or, if `to` is
// empty, the documents as they are now. A release of another project is Invalid, and so is a project
// with more documents than a release may have.
func (a *App) DiffRelease(ctx context.Context, c Caller, id, to sheaf.ReleaseID) (sheaf.ReleaseDiff, error) {
	needs := releasesRead()
	if err := firstError(needs(c), c.Refusal); err != nil {
		return sheaf.ReleaseDiff{}, err
	}
	done, err := costlyTurn(ctx, a.merges, c.Workspace, "too many releases are being compared at this moment: try again in a few seconds")
	if err != nil {
		return sheaf.ReleaseDiff{}, err
	}
	defer done()
	return read(ctx, a, c, needs, func(r *store.Reader) (d sheaf.ReleaseDiff, err error) {
		from, err := r.Release(c.Workspace, id)
		if err != nil {
			return d, err
		}
		var after []sheaf.ReleasedDocument
		if to == "" {
			after, err = comparedProject(r, c.Workspace, from.ProjectID)
		} else {
			after, err = comparedRelease(r, c.Workspace, from.ProjectID, to)
		}
		if err != nil {
			return d, err
		}
		before, err := r.ComparedRelease(c.Workspace, from)
		return sheaf.CompareReleased(before, after), err
	})
}

func comparedProject(r *store.Reader, ws sheaf.WorkspaceID, id sheaf.ProjectID) ([]sheaf.ReleasedDocument, error) {
	p, err := r.Project(ws, id)
	if err != nil {
		return nil, err
	}
	if err := fitsRelease(p); err != nil {
		return nil, err
	}
	return r.ComparedProject(ws, id)
}

func comparedRelease(r *store.Reader, ws sheaf.WorkspaceID, project sheaf.ProjectID, id sheaf.ReleaseID) ([]sheaf.ReleasedDocument, error) {
	other, err := r.Release(ws, id)
	if err != nil {
		return nil, err
	}
	if other.ProjectID != project {
		return nil, sheaf.InvalidField("to", "to is a release of another project: choose one of project %s, or present", project)
	}
	return r.ComparedRelease(ws, other)
}

// fitsRelease returns Invalid if the project has more documents than a release may have.
func fitsRelease(p sheaf.Project) error {
	if p.DocumentCount <= sheaf.MaxTree {
		return nil
	}
	return sheaf.Invalidf("the project %s has %d documents, and a release may have %d: divide it into several projects", p.ID, p.DocumentCount, sheaf.MaxTree).
		ForPerson(fmt.Sprintf("This project has %d documents, and a release may have %d: divide it into several projects.", p.DocumentCount, sheaf.MaxTree))
}

// CreateRelease freezes the documents of a project as they are, under a name. A name that another
// release of the project has is a CONFLICT. A project may have sheaf.MaxReleases releases
// (RELEASE_LIMIT_REACHED). The quota must have room for the texts that no release has yet
// (QUOTA_REACHED).
func (a *App) CreateRelease(ctx context.Context, c Caller, project sheaf.ProjectID, in sheaf.ReleaseChange) (out sheaf.Release, err error) {
	needs, fault := scope(sheaf.ReleasesWrite), in.CheckNew()
	if err := firstError(needs(c), c.Refusal, fault); err != nil {
		return out, err
	}
	done, err := costlyTurn(ctx, a.merges, c.Workspace, "too many releases are being made at this moment: try again in a few seconds")
	if err != nil {
		return out, err
	}
	defer done()
	for range copyRounds {
		if err := a.copyTexts(ctx, c, project, in.Name.Value); err != nil {
			return out, err
		}
		out, err = writeWhole(ctx, a, c, needs, fault, func(w *work, at stage) (sheaf.Release, error) { return w.createRelease(project, in, at) })
		if !errors.Is(err, errTexts) {
			return out, err
		}
	}
	return out, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: time.Minute,
		Text: "the documents of this project change faster than a release can be made: try again when fewer of them change"}
}

// errTexts is returned by createRelease if more texts must be copied first than it may copy itself.
var errTexts = errors.New("there are texts to copy")

// costlyTurn waits for a turn of the workspace at work that takes much processor time, such as searching
// long texts. If none comes in time, it returns Unavailable with the text.
func costlyTurn(ctx context.Context, turns *fair.Turns, ws sheaf.WorkspaceID, busy string) (done func(), err error) {
	done, err = turns.Take(ctx, string(ws), 1)
	if errors.Is(err, fair.ErrBusy) {
		return nil, &sheaf.Error{Kind: sheaf.Unavailable, Code: sheaf.CodeUnavailable, RetryAfter: turnWithin, Text: busy}
	}
	if err != nil {
		return nil, sheaf.UnavailableError(err) // the client has gone
	}
	return done, nil
}

// copyTexts copies the texts of a project's documents that no release has yet. It first checks whether
// the release may be made at all.
func (a *App) copyTexts(ctx context.Context, c Caller, project sheaf.ProjectID, name string) error {
	for {
		missing, err := read(ctx, a, c, scope(sheaf.ReleasesWrite), func(r *store.Reader) ([]store.TextSource, error) {
			if err := mayRelease(r, c.Workspace, project, name); err != nil {
				return nil, ignoreConflict(err)
			}
			return r.MissingReleaseTexts(c.Workspace, project, copiedTexts)
		})
		if err != nil || areFew(missing) {
			return err
		}
		if err := a.copySome(ctx, c, missing); err != nil {
			return err
		}
	}
}

// areFew reports whether the transaction that makes a release may copy the texts itself.
func areFew(sources []store.TextSource) bool {
	var bytes int64
	for _, s := range sources {
		bytes += s.Bytes
	}
	return len(sources) <= fewTexts && bytes <= copiedBytes
}

// ignoreConflict returns nil for a CONFLICT: if the request is repeated with its Idempotency-Key, the
// name exists because of its first try.
func ignoreConflict(err error) error {
	if sheaf.KindOf(err) == sheaf.Conflict {
		return nil
	}
	return err
}

// copySome copies the first of the texts, in one transaction.
func (a *App) copySome(ctx context.Context, c Caller, sources []store.TextSource) error {
	named := map[string][]sheaf.MediumID{}
	var bytes int64
	for i, s := range sources {
		if i > 0 && bytes+s.Bytes > copiedBytes {
			sources = sources[:i]
			break
		}
		bytes += s.Bytes
		if s.Fields {
			continue
		}
		ids, err := read(ctx, a, c, scope(sheaf.ReleasesWrite), func(r *store.Reader) ([]sheaf.MediumID, error) {
			return mediaOfSource(r.Unrestricted(), c.Workspace, s)
		})
		if err != nil {
			return err
		}
		named[s.SHA256] = ids
	}
	c.Once = nil // only the transaction that makes the release keeps the answer
	return do(ctx, a, c, scope(sheaf.ReleasesWrite), nil, func(w *work) error {
		for _, s := range sources {
			if err := w.copyText(s, named[s.SHA256]); err != nil {
				return err
			}
		}
		return w.RenewReleaseTexts(w.ws.ID, w.now.Add(copyWithin), w.now.Add(copyWithin/2))
	})
}

// mediaOfSource returns the media that a text names and that exist.
func mediaOfSource(r *store.Reader, ws sheaf.WorkspaceID, s store.TextSource) (ids []sheaf.MediumID, err error) {
	text, _, err := r.SourceText(ws, s)
	if err != nil {
		return nil, err
	}
	if ids = mediaNamed(text); len(ids) == 0 {
		return nil, nil
	}
	found, err := r.MediaByID(ws, ids)
	ids = ids[:0]
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids, err
}

// mediaNamed returns the ids of the media that a text names.
func mediaNamed(text string) (ids []sheaf.MediumID) {
	for address := range mediaIn(text) {
		if id, ok := sheaf.ParseUUID(strings.TrimPrefix(address, mediaScheme)); ok {
			ids = append(ids, sheaf.MediumID(id))
		}
	}
	return ids
}

// copyText copies a text or fields for releases, and counts them. It returns QUOTA_REACHED if the workspace has no
// room.
func (w *work) copyText(s store.TextSource, named []sheaf.MediumID) error {
	var grown int64
	var err error
	if until := w.now.Add(copyWithin); s.Fields {
		grown, err = w.CopyReleaseFields(w.ws.ID, s, until)
	} else {
		grown, err = w.CopyReleaseText(w.ws.ID, s, named, until)
	}
	if err != nil {
		return err
	}
	if most := w.app.quota(w.ws.Plan); grown > 0 && most > 0 && w.ws.Storage+grown > most {
		return storageReached(w.ws, most, "release", grown)
	}
	w.ws.Storage += grown
	return nil
}

// mayRelease returns NotFound, Invalid, CONFLICT or RELEASE_LIMIT_REACHED unless the project can have
// a release of that name.
func mayRelease(r *store.Reader, ws sheaf.WorkspaceID, project sheaf.ProjectID, name string) error {
	p, err := r.Project(ws, project)
	if err != nil {
		return err
	}
	if err := fitsRelease(p); err != nil {
		return err
	}
	same, err := r.Releases(ws, project, sheaf.ReleaseFilter{Name: name, Paging: sheaf.Paging{Limit: 1}})
	if err != nil {
		return err
	}
	if same.Total > 0 {
		return releaseNameTaken(project, name)
	}
	all, err := r.Releases(ws, project, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: 1}})
	if err == nil && all.Total >= sheaf.MaxReleases {
		err = errManyReleases
	}
	return err
}

var errManyReleases = &sheaf.Error{Kind: sheaf.Forbidden, Code: sheaf.CodeReleaseLimit,
	Text: fmt.Sprintf("a project may have %d releases: delete one that is not needed any more", sheaf.MaxReleases)}

func releaseNameTaken(project sheaf.ProjectID, name string) error {
	return sheaf.Conflictf("project %s has a release named %q: choose another name", project, sheaf.Clip(name)).ForPerson("The project has a release of that name: choose another one.")
}

// createRelease makes the release in one transaction. If it would have to copy more than fewTexts
// texts, it returns errTexts.
func (w *work) createRelease(project sheaf.ProjectID, in sheaf.ReleaseChange, at stage) (r sheaf.Release, err error) {
	if err := mayRelease(&w.Reader, w.ws.ID, project, in.Name.Value); err != nil {
		return r, err
	}
	p, err := w.Project(w.ws.ID, project)
	if err != nil {
		return r, err
	}
	if at == light && p.DocumentCount > lightRows {
		return r, errHeavy
	}
	if err := w.mayShowRelease(project); err != nil {
		return r, err
	}
	missing, err := w.MissingReleaseTexts(w.ws.ID, project, fewTexts+1)
	if err != nil {
		return r, err
	}
	if !areFew(missing) {
		return r, errTexts
	}
	for _, s := range missing {
		var named []sheaf.MediumID
		if !s.Fields {
			named, err = mediaOfSource(w.Unrestricted(), w.ws.ID, s)
		}
		if err == nil {
			err = w.copyText(s, named)
		}
		if err != nil {
			return r, err
		}
	}
	r = in.Apply(sheaf.Release{ID: sheaf.ReleaseID(w.app.newID()), ProjectID: project, Name: in.Name.Value, User: w.caller.User,
		CreatedAt: w.createdAt(), Number: w.nextNumber(), Revision: 1})
	if key := w.caller.Key.ID; key != "" {
		r.Key = &key
	}
	if err := w.InsertRelease(w.ws.ID, r); err != nil {
		return r, err
	}
	if r.Documents, err = w.Freeze(w.ws.ID, r, mostReleaseMedia); err != nil {
		return r, err
	}
	if err := w.UpdateRelease(w.ws.ID, r); err != nil {
		return r, err
	}
	if err := w.countNotes(nil, r.Notes); err != nil {
		return r, err
	}
	w.emit(sheaf.ReleaseCreated, string(r.ID), &r)
	return r, nil
}

// mayShowRelease returns Forbidden if a share shows each new release of the project, and the caller may
// not read all that it shows.
func (w *work) mayShowRelease(project sheaf.ProjectID) error {
	needed := append(shownBy(sheaf.ShareOfProject), sheaf.ReleasesRead)
	if w.ws.Shares == 0 || w.mayPublish(needed...) == nil {
		return nil
	}
	if shown, err := w.SharesReleases(w.ws.ID, project, w.now); err != nil || !shown {
		return err
	}
	return w.mayPublish(needed...)
}

// countNotes counts the bytes of a release's new notes in the quota, in place of those of the previous
// notes.
func (w *work) countNotes(before, notes *string) error {
	var grown int64
	if notes != nil {
		grown += int64(len(*notes))
	}
	if before != nil {
		grown -= int64(len(*before))
	}
	if most := w.app.quota(w.ws.Plan); grown > 0 && most > 0 && w.ws.Storage+grown > most {
		return storageReached(w.ws, most, "text", grown)
	}
	w.ws.Storage += grown
	return nil
}

// UpdateRelease changes the notes of a release. The contract has no event for this.
func (a *App) UpdateRelease(ctx context.Context, c Caller, id sheaf.ReleaseID, in sheaf.ReleaseChange, match sheaf.Match) (sheaf.Release, error) {
	fault := checkChange(!in.Notes.Set, "notes", in.Check())
	return write(ctx, a, c, scope(sheaf.ReleasesWrite), fault, func(w *work) (sheaf.Release, error) {
		before, err := w.Release(w.ws.ID, id)
		if err != nil {
			return before, err
		}
		if err := match.Check(before.Revision); err != nil {
			return before, err
		}
		r := in.Apply(before)
		if sheaf.SameFields(&before, &r) {
			return before, nil
		}
		if err := w.countNotes(before.Notes, r.Notes); err != nil {
			return before, err
		}
		r.Revision++
		w.changes()
		w.audit(sheaf.ActionReleaseNotesChanged, string(id), nil, namedFacts("name", r.Name))
		return r, w.UpdateRelease(w.ws.ID, r)
	})
}
