package app

import (
	"context"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// MaxImport is the largest number of records that one transaction imports. A transaction takes no
// further record once it has MaxImportText bytes of texts.
const (
	MaxImport     = 500
	MaxImportText = 8 << 20
)

// ImportRecord is one record to import: its identifier, its times (nil: now), and the one noun that
// is set. A document may have a Version too. A Version alone is a past version of the document with
// the identifier.
type ImportRecord struct {
	ID                   string
	CreatedAt, UpdatedAt *time.Time
	Folder               *sheaf.FolderChange
	Branding             *sheaf.BrandingChange
	DefaultBranding      bool // the branding becomes the default, unless the workspace has one
	Project              *sheaf.ProjectChange
	Document             *sheaf.DocumentChange
	Version              *ImportVersion
	Proposal             *ImportProposal
	ProposalText         *string // of the proposal with the identifier
	Comment              *ImportComment
	Medium               *ImportMedium // saved only by ImportMedium
	Release              *ImportRelease
	Released             *ImportReleased       // of the release with the identifier
	ReleasedMedium       *ImportReleasedMedium // of the release with the identifier; with its bytes, saved only by ImportMedium
	ReleaseEnd           bool                  // all parts of the release with the identifier precede
	Share                *ImportShare
	Subscription         *sheaf.SubscriptionChange

	// checkBatch prepares these before the transaction.
	text  store.Text       // of a document or version, or of a document of a release
	named []sheaf.MediumID // media that the text of a document of a release names
}

// ImportCount counts records by kind.
type ImportCount struct {
	Folders, Brandings, Projects, Documents, Versions, Proposals, Media, Releases, Shares, Subscriptions int64
}

// Sum returns the number of records of all kinds.
func (c ImportCount) Sum() int64 {
	return c.Folders + c.Brandings + c.Projects + c.Documents + c.Versions + c.Proposals + c.Media + c.Releases + c.Shares + c.Subscriptions
}

func (c *ImportCount) add(d ImportCount) {
	c.Folders += d.Folders
	c.Brandings += d.Brandings
	c.Projects += d.Projects
	c.Documents += d.Documents
	c.Versions += d.Versions
	c.Proposals += d.Proposals
	c.Media += d.Media
	c.Releases += d.Releases
	c.Shares += d.Shares
	c.Subscriptions += d.Subscriptions
}

// Imported is what an import did or, in a rehearsal, would do.
type Imported struct {
	Added   ImportCount
	Skipped ImportCount // records whose identifier exists in the workspace
	// Subscriptions have their new secrets, which are shown once. It is nil in a rehearsal.
	Subscriptions []ImportedSubscription
}

// ImportedSubscription is a subscription with the identifier From of its record. Its own ID differs
// if a subscription of another workspace has that identifier.
type ImportedSubscription struct {
	sheaf.NewSubscription
	From sheaf.SubscriptionID
}

// Add adds the result of another part of the import.
func (i *Imported) Add(more Imported) {
	i.Added.add(more.Added)
	i.Skipped.add(more.Skipped)
	i.Subscriptions = append(i.Subscriptions, more.Subscriptions...)
}

// RecordError says which record of a batch was refused.
type RecordError struct {
	Index int   // in the batch
	Err   error // the reason, as the API would give it
}

// Error returns the reason.
func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RecordError) Unwrap() error { return e.Err }

// CheckImport returns the error of a record that does not depend on what is stored.
func (o Operator) CheckImport(r ImportRecord) error {
	if err := o.checkTimes(r); err != nil {
		return err
	}
	switch {
	case r.Folder != nil:
		_, err := checkNewFolder(*r.Folder)
		return err
	case r.Branding != nil:
		return checkNewBranding(*r.Branding)
	case r.Project != nil:
		return checkNewProject(*r.Project)
	case r.Document != nil:
		return firstError(checkNewDocument(*r.Document), o.checkVersion(r.Version))
	case r.Version != nil:
		return firstError(checkNewDocument(sheaf.DocumentChange{Title: r.Version.Title, Content: r.Version.Content}), o.checkVersion(r.Version))
	case r.Proposal != nil:
		return r.Proposal.check()
	case r.ProposalText != nil:
		return sheaf.DocumentChange{Content: sheaf.Some(*r.ProposalText)}.Check()
	case r.Comment != nil:
		return sheaf.CommentChange{Body: sheaf.Some(r.Comment.Body)}.Check()
	case r.Medium != nil:
		return r.Medium.check()
	case r.Release != nil:
		return r.Release.check()
	case r.Released != nil:
		return r.Released.check()
	case r.ReleasedMedium != nil:
		return r.ReleasedMedium.check()
	case r.ReleaseEnd:
		return nil
	case r.Share != nil:
		return r.Share.CheckNew()
	}
	return o.app.checkNewSubscription(*r.Subscription)
}

// futureSlack is how far another machine's clock may be ahead.
const futureSlack = time.Minute

// checkTimes refuses a record that was changed before its creation, or in the future: no later
// change could get a newer time.
func (o Operator) checkTimes(r ImportRecord) error {
	created, updated := r.times(o.app.now())
	switch {
	case updated.Before(created):
		return sheaf.Invalidf("updated_at is before created_at: correct one of them")
	case updated.After(o.app.now().Add(futureSlack)):
		return sheaf.Invalidf("updated_at or created_at is in the future: correct it, or this machine's clock")
	}
	return nil
}

// times returns when the record was created and last changed.
func (r ImportRecord) times(now time.Time) (created, updated time.Time) {
	created = now
	if r.UpdatedAt != nil {
		created = *r.UpdatedAt
	}
	if r.CreatedAt != nil {
		created = *r.CreatedAt
	}
	updated = created
	if r.UpdatedAt != nil {
		updated = *r.UpdatedAt
	}
	return created.Truncate(time.Millisecond), updated.Truncate(time.Millisecond)
}

// Import adds at most MaxImport records to a workspace, all in one transaction or, with an error,
// none. If the API would refuse a record, the error is a *RecordError. A record whose identifier
// exists in the workspace is skipped. Each record emits its event, in the name of the workspace's
// owner. If it would use the reserve of the disk, it returns Unavailable.
func (o Operator) Import(ctx context.Context, id sheaf.WorkspaceID, batch []ImportRecord) (Imported, error) {
	if err := firstError(o.checkBatch(batch), o.RoomToImport(ctx, batch)); err != nil {
		return Imported{}, err
	}
	out, err := operate(ctx, o, id, func(w *work) (Imported, error) {
		owner, err := w.OwnerOf(id)
		if err != nil {
			return Imported{}, err
		}
		w.caller.User = owner
		im := newImporting(w.ws, w.now)
		im.owner = owner
		if err := im.judge(&w.Reader, batch); err != nil {
			return Imported{}, err
		}
		return w.saveImport(im)
	})
	return out, forOperator(err, "workspace", string(id), "sheaf workspace list shows all workspaces")
}

// checkBatch returns the first error of a record that does not depend on what is stored, and
// prepares the texts.
func (o Operator) checkBatch(batch []ImportRecord) error {
	n := 0
	for i := range batch {
		if !batch[i].OfProposal() {
			n++
		}
	}
	if n > MaxImport {
		return fmt.Errorf("a transaction imports %d records at most, not %d", MaxImport, n)
	}
	for i, r := range batch {
		if err := o.CheckImport(r); err != nil {
			return &RecordError{i, err}
		}
		batch[i].text = store.NewText(r.Content())
		if r.Released != nil {
			batch[i].named = mediaNamed(r.Content())
		}
	}
	return nil
}

// saveImport writes what was accepted, so that every reference leads to a record written before.
// The events are in the order of the records.
func (w *work) saveImport(im *importing) (Imported, error) {
	w.ws = im.ws
	for _, s := range im.newShares {
		s.Token = sheaf.NewShareToken(w.app.random)
		*s = w.app.shown(*s)
	}
	for _, f := range im.newFolders {
		if err := w.InsertFolder(w.ws.ID, *f); err != nil {
			return im.out, err
		}
	}
	if err := w.saveBrandings(im); err != nil {
		return im.out, err
	}
	if err := w.InsertProjects(w.ws.ID, im.newProjects); err != nil {
		return im.out, err
	}
	if err := w.InsertDocuments(w.ws.ID, im.newDocuments); err != nil {
		return im.out, err
	}
	if err := w.saveVersions(im); err != nil {
		return im.out, err
	}
	if err := w.saveProposals(im); err != nil {
		return im.out, err
	}
	if err := w.saveReleases(im); err != nil {
		return im.out, err
	}
	if err := w.InsertShares(w.ws.ID, im.newShares); err != nil {
		return im.out, err
	}
	for _, c := range im.created {
		w.emit(c.event, c.id, c.record)
	}
	for i := range im.out.Subscriptions {
		if err := w.saveImported(&im.out.Subscriptions[i].NewSubscription); err != nil {
			return im.out, err
		}
	}
	return im.out, nil
}

// saveBrandings writes the accepted brandings, and the default one.
func (w *work) saveBrandings(im *importing) error {
	if len(im.newBrandings) == 0 {
		return nil
	}
	w.changes() // brandings have no events
	if err := w.InsertBrandings(w.ws.ID, im.newBrandings); err != nil {
		return err
	}
	if w.ws.DefaultBranding == w.before.DefaultBranding {
		return nil
	}
	w.auditDefaultBranding(w.before.DefaultBranding)
	return w.SetDefaultBranding(w.ws.ID, &w.ws.DefaultBranding)
}

func (w *work) saveImported(s *sheaf.NewSubscription) error {
	secret := sheaf.NewSigningSecret(w.app.random)
	s.Secret = &secret
	w.countFilter(nil, s.Filter)
	w.audit(sheaf.ActionWebhookCreated, string(s.ID), nil, webhookFacts(s.Subscription))
	return w.InsertSubscription(w.ws.ID, s.Subscription, store.Sealed{Secret: w.app.webhooks.Box.Secret(string(s.ID), secret)})
}

// Rehearsal finds out what an import would do, and changes nothing.
type Rehearsal struct {
	operator Operator
	id       sheaf.WorkspaceID
	im       *importing
}

// Rehearse begins a rehearsal.
func (o Operator) Rehearse(id sheaf.WorkspaceID) *Rehearsal { return &Rehearsal{operator: o, id: id} }

// Import returns what Operator.Import would do, after everything that was rehearsed before.
func (r *Rehearsal) Import(ctx context.Context, batch []ImportRecord) (Imported, error) {
	if err := r.operator.checkBatch(batch); err != nil {
		return Imported{}, err
	}
	out, err := readUnasked(ctx, r.operator.app, func(reader *store.Reader) (Imported, error) {
		if r.im == nil {
			ws, err := reader.Workspace(r.id)
			if err != nil {
				return Imported{}, err
			}
			r.im = newImporting(ws, r.operator.app.now())
		}
		r.im.nextBatch()
		return r.im.out, r.im.judge(reader, batch)
	})
	if err == nil {
		out = r.im.out
		out.Subscriptions = nil
	}
	return out, forOperator(err, "workspace", string(r.id), "sheaf workspace list shows all workspaces")
}
