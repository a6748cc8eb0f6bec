package app

import (
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// D167: a workspace has at most 100 different restrictions. Those that no live key and no subscription
// has do not count.
func TestRestriction_Limit(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "w", Plan: sheaf.Business})
		if err != nil {
			t.Fatal(err)
		}
		owner := Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
		project := func() sheaf.ProjectID {
			p, err := a.CreateProject(t.Context(), owner, sheaf.ProjectChange{Name: sheaf.Some("p")})
			if err != nil {
				t.Fatal(err)
			}
			return p.ID
		}
		var keys []sheaf.KeyID
		full := project()
		// The plans allow fewer keys than this, so they are stored directly.
		err = a.store.WriteIn(t.Context(), ws.ID, store.Everything, func(tx *store.Tx) error {
			keys = nil
			w, err := tx.LockWorkspace(ws.ID)
			if err != nil {
				return err
			}
			for range sheaf.MaxRestrictions {
				w.LastNumber++
				w.Restrictions++
				to := sheaf.Restriction{Number: w.LastNumber, Projects: []sheaf.ProjectID{sheaf.ProjectID(a.newID())}}
				if err := tx.InsertRestriction(ws.ID, to); err != nil {
					return err
				}
				secret := sheaf.NewSecretKey(a.random)
				hash, _ := sheaf.HashKey(secret)
				k := sheaf.Key{ID: sheaf.KeyID(a.newID()), Name: "k", Prefix: sheaf.KeyHint(secret), Scopes: sheaf.Scopes{sheaf.ProjectsRead},
					UserID: ws.Owner, CreatedAt: a.now().AddDate(0, 0, -1), Number: w.LastNumber, RestrictedTo: &to}
				if err := tx.InsertKey(ws.ID, k, hash); err != nil {
					return err
				}
				if err := a.auditIn(tx, ws.ID, anOperator, sheaf.ActionKeyCreated, string(k.ID), nil, nil); err != nil {
					return err
				}
				keys = append(keys, k.ID)
			}
			return tx.SaveWorkspace(w)
		})
		if err != nil {
			t.Fatal(err)
		}
		another := func() error {
			_, err := operate(t.Context(), a.Operator(), ws.ID, func(w *work) (*sheaf.Restriction, error) {
				return w.restriction(&RestrictTo{Projects: []sheaf.ProjectID{full}})
			})
			return err
		}
		if err := another(); err == nil || !strings.Contains(err.Error(), "100") {
			t.Fatalf("one restriction too many: %v", err)
		}
		for range 2 {
			if _, err := a.Operator().RevokeKey(t.Context(), keys[0]); err != nil {
				t.Fatal(err)
			}
			keys = keys[1:]
		}
		if err := another(); err != nil {
			t.Errorf("after two keys were revoked: %v", err)
		}
		if err := another(); err != nil { // the same restriction once more
			t.Errorf("the same records again: %v", err)
		}
		w, err := readUnasked(t.Context(), a, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(ws.ID) })
		if err != nil || w.Restrictions != sheaf.MaxRestrictions-1 {
			t.Errorf("the workspace counts %d restrictions, %v", w.Restrictions, err)
		}
	})
}
