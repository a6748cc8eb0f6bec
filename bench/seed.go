package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// owner is one tenant: a workspace of Sheaf, a user of the peer.
type owner struct {
	Token     string
	Workspace sheaf.WorkspaceID
	Projects  []string
}

// size says how much a database is filled with.
type size struct{ owners, projects, documents int } // projects of each owner, documents of each project

// standard is the data for the requests: 10,000 projects of 100 owners.
var standard = size{100, 100, 2}

// perTransaction bounds how many projects one transaction adds.
const perTransaction = 20_000

// seed fills a database through Sheaf's own rules and store, with many rows in one transaction. Filling is not
// measured.
func seed(o store.Options, n size) ([]owner, error) {
	ctx := context.Background()
	if err := store.Migrate(ctx, o); err != nil {
		return nil, err
	}
	st, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	owners, err := seedOwners(ctx, st, n.owners)
	if err != nil {
		return nil, err
	}
	step := max(1, perTransaction/max(n.projects, 1))
	for group := range slices.Chunk(owners, step) {
		err := st.Write(ctx, func(tx *store.Tx) (err error) {
			for i := 0; i < len(group) && err == nil; i++ {
				group[i].Projects, err = seedProjects(tx, group[i].Workspace, nil, n.projects, n.documents)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return owners, nil
}

// seedOwners makes workspaces with a key each, many at once, so that they share their commits.
func seedOwners(ctx context.Context, st *store.Store, n int) ([]owner, error) {
	operator := app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader}).Operator()
	owners := make([]owner, n)
	var group errgroup.Group
	group.SetLimit(64)
	for i := range owners {
		group.Go(func() error {
			w, err := operator.CreateWorkspace(ctx, app.NewWorkspace{Name: fmt.Sprintf("Workspace %d", i), Plan: sheaf.Business})
			if err != nil {
				return err
			}
			key, err := operator.CreateKey(ctx, w.ID, app.NewKey{Name: "bench", Scopes: sheaf.AllScopes})
			if err != nil {
				return err
			}
			owners[i] = owner{Token: *key.Secret, Workspace: w.ID}
			return nil
		})
	}
	return owners, group.Wait()
}

func newID(now time.Time) string { return sheaf.NewUUID(now, rand.Reader) }

// seedProjects adds projects to a workspace, in a folder or at the root level, and returns their ids.
func seedProjects(tx *store.Tx, id sheaf.WorkspaceID, folder *sheaf.FolderID, n, documents int) ([]string, error) {
	w, err := tx.LockWorkspace(id)
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	ids := make([]string, n)
	for i := range ids {
		if ids[i], err = seedProject(tx, &w, folder, i, documents, now); err != nil {
			return nil, err
		}
	}
	w.Version = max(w.Version+1, now.UnixMicro())
	return ids, tx.SaveWorkspace(w)
}

func text(s string) *string { return &s }

func seedProject(tx *store.Tx, w *sheaf.Workspace, folder *sheaf.FolderID, n, documents int, now time.Time) (string, error) {
	w.LastNumber++
	w.Projects++
	p := sheaf.Project{ID: sheaf.ProjectID(newID(now)), Name: fmt.Sprintf("Project %010d", n), Description: text("What everybody should know about it"),
		Icon: text("book-open"), Color: text("#2563eb"), FolderID: folder, Visibility: sheaf.Private,
		CreatedAt: now, UpdatedAt: now, Number: w.LastNumber, Revision: 1}
	if err := tx.InsertProject(w.ID, p); err != nil {
		return "", err
	}
	for i := range documents {
		w.LastNumber++
		w.Documents++
		d := sheaf.Document{ID: sheaf.DocumentID(newID(now)), Title: fmt.Sprintf("Document %d", i), Description: text("How it is done"),
			ProjectID: &p.ID, CreatedAt: now, UpdatedAt: now, Number: w.LastNumber, Revision: 1}
		d.SortOrder = d.DefaultOrder()
		if err := tx.InsertDocument(w.ID, d, sheaf.Author{}); err != nil {
			return "", err
		}
	}
	return string(p.ID), nil
}
