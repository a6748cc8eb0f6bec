package store_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// tree is a workspace whose folders are moved by the rules of the product.
type tree struct {
	*testing.T
	store  *store.Store
	app    *app.App
	caller app.Caller
}

func newTree(t *testing.T, s *store.Store) *tree {
	w := sheaf.Workspace{ID: "0198c0de-0000-7000-8000-000000000001", Name: "Acme", Plan: sheaf.Business, CreatedAt: time.UnixMilli(1)}
	u := sheaf.User{ID: "0198c0de-0000-7000-8000-000000000002", Name: "Ada", CreatedAt: time.UnixMilli(1)}
	err := s.Write(context.Background(), func(tx *store.Tx) error {
		return errors.Join(tx.InsertWorkspace(w), tx.InsertUser(u), tx.InsertMember(sheaf.Membership{Workspace: w, User: u, Role: sheaf.Owner, Since: w.CreatedAt}))
	})
	if err != nil {
		t.Fatal(err)
	}
	return &tree{t, s, app.New(app.Config{Store: s, Now: time.Now, Random: rand.Reader}),
		app.Caller{Workspace: w.ID, User: u.ID, Role: sheaf.Owner, Plan: sheaf.Business}}
}

func (t *tree) folder(parent *sheaf.FolderID) sheaf.FolderID {
	t.Helper()
	in := sheaf.FolderChange{Name: sheaf.Some("x"), EntityType: sheaf.Some("project")}
	if parent != nil {
		in.ParentID = sheaf.Some(*parent)
	}
	f, err := t.app.CreateFolder(context.Background(), t.caller, in)
	if err != nil {
		t.Fatal(err)
	}
	return f.ID
}

func (t *tree) move(id sheaf.FolderID, parent *sheaf.FolderID) error {
	_, err := t.app.MoveFolder(context.Background(), t.caller, id, parent, sheaf.Match{})
	return err
}

// check returns an error unless each folder has as many ancestors as its depth says, at most three.
func (t *tree) check() error {
	page, err := t.app.Folders(context.Background(), t.caller, sheaf.FolderFilter{Paging: sheaf.Paging{Limit: 1000}})
	if err != nil {
		return err
	}
	all := map[sheaf.FolderID]sheaf.Folder{}
	for _, f := range page.Items {
		all[f.ID] = f
	}
	for _, f := range page.Items {
		depth := 1
		for up := f; up.ParentID != nil; depth++ {
			if depth > sheaf.MaxDepth {
				return fmt.Errorf("folder %s is in a cycle or below the third level", f.ID)
			}
			up = all[*up.ParentID]
		}
		if depth != f.Depth {
			return fmt.Errorf("folder %s is at level %d and says %d", f.ID, depth, f.Depth)
		}
	}
	return nil
}

func onBoth(t *testing.T, try func(*tree)) {
	t.Run("SQLite", func(t *testing.T) { try(newTree(t, openSQLite(t))) })
	t.Run("PostgreSQL", func(t *testing.T) { try(newTree(t, openPostgres(t))) })
}

func TestMoveFolder_TwoUnderEachOtherMakeNoCycle(t *testing.T) {
	onBoth(t, func(t *tree) {
		for range 40 {
			a, b := t.folder(nil), t.folder(nil)
			var both sync.WaitGroup
			var errs [2]error
			both.Go(func() { errs[0] = t.move(a, &b) })
			both.Go(func() { errs[1] = t.move(b, &a) })
			both.Wait()
			if (errs[0] == nil) == (errs[1] == nil) || sheaf.KindOf(errors.Join(errs[:]...)) != sheaf.Invalid {
				t.Fatalf("got %v, want one moved and the other refused", errs)
			}
			if err := t.check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMoveFolder_ManyAtOnceMakeNoCycleAndNoFourthLevel(t *testing.T) {
	onBoth(t, func(t *tree) {
		var ids []sheaf.FolderID
		for range 6 {
			ids = append(ids, t.folder(nil))
		}
		var all sync.WaitGroup
		for n := range 16 {
			all.Go(func() {
				for i := range 25 {
					id, parent := ids[(n+i)%6], &ids[(n*5+i*3+1)%6]
					if i%5 == 4 {
						parent = nil
					}
					if err := t.move(id, parent); err != nil && sheaf.KindOf(err) != sheaf.Invalid {
						t.Error(err)
					}
					if err := t.check(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
}
