package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// DeleteRelease deletes a release. If a share names the release, it returns CONFLICT. When
// DeleteRelease returns, the release can no longer be read. Its texts and media are removed too; those
// of a large release are removed by the sweep.
func (a *App) DeleteRelease(ctx context.Context, c Caller, id sheaf.ReleaseID, match sheaf.Match) error {
	c.deletes = true
	err := do(ctx, a, c, scope(sheaf.ReleasesWrite), nil, func(w *work) error {
		r, err := w.Release(w.ws.ID, id)
		if err != nil {
			return err
		}
		if err := match.Check(r.Revision); err != nil {
			return err
		}
		share, shown, err := w.ShareOfRelease(w.ws.ID, id)
		if err != nil {
			return err
		}
		if shown {
			return sheaf.Conflictf("share %s shows this release: let it show another one first, or delete the share", share).
				ForPerson("A share shows this release: let it show another one first, or delete the share.")
		}
		return w.hideRelease(r)
	})
	if err == nil {
		a.beginEmptying(ctx, c.Workspace)
	}
	return err
}

// emptiedParts is how many parts of deleted releases a request removes. One part has up to 500 documents.
const emptiedParts = 4

// beginEmptying removes some parts of the workspace's deleted releases. The sweep removes the rest.
func (a *App) beginEmptying(ctx context.Context, ws sheaf.WorkspaceID) {
	_ = a.emptyReleases(context.WithoutCancel(ctx), ws, emptiedParts)
}

// hideRelease marks a release as deleted, with its event.
func (w *work) hideRelease(r sheaf.Release) error {
	if err := w.countNotes(r.Notes, nil); err != nil {
		return err
	}
	w.emit(sheaf.ReleaseDeleted, string(r.ID), &r)
	return w.HideRelease(w.ws.ID, r.ID)
}

// hideReleases marks all releases of a project that is being deleted as deleted.
func (w *work) hideReleases(project sheaf.ProjectID) error {
	page, err := w.Releases(w.ws.ID, project, sheaf.ReleaseFilter{Paging: sheaf.Paging{Limit: sheaf.MaxReleases}})
	for _, r := range page.Items {
		if err == nil {
			err = w.hideRelease(r)
		}
	}
	return err
}

// emptyReleases removes the documents, texts and media of the workspace's deleted releases, and of
// releases whose import was given up. Each transaction removes a part, and there are at most `parts`.
func (a *App) emptyReleases(ctx context.Context, ws sheaf.WorkspaceID, parts int) error {
	for range parts {
		type part struct {
			unused []*store.Removal
			more   bool
		}
		p, err := conclude(ctx, a, ws, func(w *work) (p part, err error) {
			unused, more, err := w.EmptyRelease(&w.ws, w.now)
			if err == nil {
				p.unused, err = w.removals(unused)
			}
			p.more = more
			return p, err
		})
		if err != nil {
			return err
		}
		for _, r := range p.unused {
			a.finishRemoval(ctx, r)
		}
		if !p.more {
			return nil
		}
	}
	return nil
}

// removals begins to remove the bytes of media that no row has any more.
func (w *work) removals(unused []sheaf.Medium) (out []*store.Removal, err error) {
	begun := map[string]bool{}
	for _, m := range unused {
		if begun[m.SHA256] {
			continue
		}
		begun[m.SHA256] = true
		m.ID, m.Revision = sheaf.MediumID(w.app.newID()), 1
		r := store.Removal{Workspace: w.ws.ID, Medium: m, Until: w.now.Add(3 * removeWithin)}
		if err := w.InsertRemoval(w.ws.ID, m, r.Until); err != nil {
			return nil, err
		}
		out = append(out, &r)
	}
	return out, nil
}

// FinishReleases removes what is left of deleted releases and of imports that were given up, and texts
// that were copied for releases that were not made.
func (o Operator) FinishReleases(ctx context.Context) error {
	found, err := readUnasked(ctx, o.app, func(r *store.Reader) ([]sheaf.WorkspaceID, error) {
		return r.UnfinishedReleases(o.app.now(), settleBatch)
	})
	for _, ws := range found {
		failed := o.app.emptyReleases(ctx, ws, math.MaxInt)
		for n := int64(copiedTexts); n == copiedTexts && failed == nil; {
			n, failed = conclude(ctx, o.app, ws, func(w *work) (int64, error) { return w.DropPendingTexts(&w.ws, w.now, copiedTexts) })
		}
		err = errors.Join(err, failed)
	}
	return err
}

// namedReleases is how many releases an error names.
const namedReleases = 5

// mayLeaveReleases returns CONFLICT, naming the releases that have the document, unless `released` says
// that they may lose it. It returns Forbidden if there are releases of projects that the caller does not
// see.
func (w *work) mayLeaveReleases(id sheaf.DocumentID, released bool) error {
	seen, hidden, err := w.ReleasesOf(w.ws.ID, id)
	if err != nil {
		return err
	}
	if hidden > 0 {
		return sheaf.Forbiddenf("document %s is in releases of projects that this key does not see: use a key that sees them", id).
			ForPerson("The document is in releases of projects that you do not see. Ask somebody who sees them to delete it.")
	}
	if len(seen) == 0 || released {
		return nil
	}
	var names []string
	for _, r := range seen[:min(len(seen), namedReleases)] {
		names = append(names, fmt.Sprintf("%q", sheaf.Clip(r.Name)))
	}
	list := "the releases " + strings.Join(names, ", ")
	if len(seen) > len(names) {
		list += " and others"
	}
	return sheaf.Conflictf("document %s is in %s: to take it out of them too, which cannot be undone, repeat the request with releases=true (on the command line: --releases)", id, list).
		ForPerson("The document is in " + list + ".")
}

// droppedAtOnce is the number of releases from which one transaction removes a document.
const droppedAtOnce = 5

// dropFromReleases removes a document from some releases; more says that there are others. The bytes of
// the returned media must then be removed.
func (w *work) dropFromReleases(id sheaf.DocumentID) (removals []*store.Removal, more bool, err error) {
	unused, more, err := w.DropFromReleases(&w.ws, id, droppedAtOnce)
	if err != nil {
		return nil, false, err
	}
	removals, err = w.removals(unused)
	return removals, more, err
}
