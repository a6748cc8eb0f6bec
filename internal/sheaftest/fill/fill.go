// Package fill writes many records into a store directly. The API would take minutes.
package fill

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// batch is the number of records of one transaction.
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

// Folder is Projects for the data folder or database of a program that is not running, and the
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

// Documents adds n documents without text to a project, at its top level, in one transaction and without events.
func Documents(s *store.Store, ws sheaf.WorkspaceID, project sheaf.ProjectID, n int) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return s.Write(context.Background(), func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(ws)
		if err != nil {
			return err
		}
		owner, err := tx.OwnerOf(ws)
		if err != nil {
			return err
		}
		list := make([]store.NewDocument, n)
		for i := range list {
			w.LastNumber++
			list[i] = store.NewDocument{
				Document: &sheaf.Document{ID: sheaf.DocumentID(sheaf.NewUUID(now, rand.Reader)), Title: fmt.Sprint("Page ", i+1), ProjectID: &project,
					SortOrder: w.LastNumber * sheaf.OrderStep, Number: w.LastNumber, Revision: 1, Version: 1, CreatedAt: now, UpdatedAt: now},
				Present: sheaf.Version{UserID: &owner, CreatedAt: now},
			}
		}
		w.Documents += int64(n)
		if err := tx.InsertDocuments(ws, list); err != nil {
			return err
		}
		return tx.SaveWorkspace(w)
	})
}

// Admin makes the user of `other`, a key of another workspace, an admin of the workspace of `key`, and returns a
// key of all scopes for that user there. It is for the data folder or database of a program that is not running.
func Admin(data, database, key, other string) (secret string, err error) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: data, DatabaseURL: database})
	if err != nil {
		return "", err
	}
	defer s.Close()
	own, _ := sheaf.HashKey(key)
	in, err := s.Credential(ctx, own)
	if err != nil {
		return "", err
	}
	theirs, _ := sheaf.HashKey(other)
	of, err := s.Credential(ctx, theirs)
	if err != nil {
		return "", err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	secret = sheaf.NewSecretKey(rand.Reader)
	hash, _ := sheaf.HashKey(secret)
	err = s.Write(ctx, func(tx *store.Tx) error {
		ws, err := tx.LockWorkspace(in.Workspace)
		if err != nil {
			return err
		}
		ws.LastNumber++
		err = tx.InsertMember(sheaf.Membership{Workspace: ws, User: sheaf.User{ID: of.Key.UserID}, Role: sheaf.Admin, Since: now})
		if err != nil {
			return err
		}
		k := sheaf.Key{ID: sheaf.KeyID(sheaf.NewUUID(now, rand.Reader)), Name: "admin", Prefix: sheaf.KeyHint(secret), Scopes: sheaf.AllScopes,
			UserID: of.Key.UserID, CreatedAt: now, Number: ws.LastNumber}
		if err := tx.InsertKey(ws.ID, k, hash); err != nil {
			return err
		}
		return tx.SaveWorkspace(ws)
	})
	if err != nil {
		return "", fmt.Errorf("add an admin: %w", err)
	}
	return secret, nil
}
