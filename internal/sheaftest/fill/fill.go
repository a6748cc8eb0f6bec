// Package fill puts many records into a store, past the API, which would take minutes.
package fill

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// batch is how many records one transaction adds.
const batch = 500

// Projects adds n projects to a folder of the workspace, with their events.
func Projects(s *store.Store, ws sheaf.WorkspaceID, folder sheaf.FolderID, n int) error {
	description := "What the project is about, in a sentence or two."
	for at := 0; at < n; at += batch {
		err := s.Write(context.Background(), func(tx *store.Tx) error {
			w, err := tx.LockWorkspace(ws)
			if err != nil {
				return err
			}
			owner, err := tx.OwnerOf(ws)
			if err != nil {
				return err
			}
			now := time.Now().UTC().Truncate(time.Millisecond)
			newID := func() string { return sheaf.NewUUID(now, rand.Reader) }
			var events []sheaf.Event
			for range min(batch, n-at) {
				w.LastNumber++
				w.Projects++
				p := sheaf.Project{ID: sheaf.ProjectID(newID()), Name: "Quarterly report", Description: &description,
					FolderID: &folder, Visibility: sheaf.Private, CreatedAt: now, UpdatedAt: now, Number: w.LastNumber, Revision: 1}
				e := sheaf.Envelope{ID: sheaf.EventID(sheaf.EventPrefix + newID()), Type: sheaf.ProjectCreated, At: now, UserID: owner,
					Workspace: &ws, ResourceID: string(p.ID), Payload: sheaf.AppendJSON(nil, &p)}
				events = append(events, e.Event())
				if err := tx.InsertProject(ws, p); err != nil {
					return err
				}
			}
			if err := tx.AppendEvents(&w, events); err != nil {
				return err
			}
			return tx.SaveWorkspace(w)
		})
		if err != nil {
			return fmt.Errorf("fill a folder: %w", err)
		}
	}
	return nil
}

// Folder is Projects for a program that does not run, in its data folder or its database, and the
// workspace of a key.
func Folder(data, database, key, folder string, n int) error {
	s, err := store.Open(context.Background(), store.Options{Folder: data, DatabaseURL: database})
	if err != nil {
		return err
	}
	defer s.Close()
	hash, _ := sheaf.HashKey(key)
	c, err := s.Credential(context.Background(), hash)
	if err != nil {
		return err
	}
	return Projects(s, c.Workspace, sheaf.FolderID(folder), n)
}
