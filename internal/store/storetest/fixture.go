package storetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// fixture is one workspace with its owner, on a clock that the test moves.
type fixture struct {
	*testing.T
	store *store.Store
	ws    sheaf.Workspace
	user  sheaf.User
	clock *atomic.Int64
}

func newFixture(t *testing.T, s *store.Store) *fixture {
	f := &fixture{T: t, store: s, clock: new(atomic.Int64)}
	f.clock.Store(1_790_000_000_000)
	f.ws, f.user = f.newWorkspace("Acme")
	return f
}

// now returns a time later than any it returned before.
func (f *fixture) now() time.Time { return time.UnixMilli(f.clock.Add(1)).UTC() }

func (f *fixture) id() string { return sheaf.NewUUID(f.now(), rand.Reader) }

func (f *fixture) newWorkspace(name string) (sheaf.Workspace, sheaf.User) {
	f.Helper()
	w := sheaf.Workspace{ID: sheaf.WorkspaceID(f.id()), Name: name, Plan: sheaf.Pro, CreatedAt: f.now(), Version: 1}
	u := sheaf.User{ID: sheaf.UserID(f.id()), Name: "Ada", CreatedAt: f.now()}
	f.write(func(tx *store.Tx) error {
		return errors.Join(tx.InsertWorkspace(w), tx.InsertUser(u), tx.InsertMember(sheaf.Membership{Workspace: w, User: u, Role: sheaf.Owner, Since: w.CreatedAt}))
	})
	return w, u
}

// write runs fn in a transaction that must succeed. fn must not call Fatal: it
// runs in the goroutine of the writer.
func (f *fixture) write(fn func(*store.Tx) error) {
	f.Helper()
	if err := f.store.Write(context.Background(), fn); err != nil {
		f.Fatalf("write: %v", err)
	}
}

// locked runs fn in a transaction that holds the workspace and keeps its
// counters, as every change of the product does.
func (f *fixture) locked(fn func(*store.Tx, *sheaf.Workspace) error) error {
	return f.store.Write(context.Background(), func(tx *store.Tx) error {
		w, err := tx.LockWorkspace(f.ws.ID)
		if err != nil {
			return err
		}
		if err := fn(tx, &w); err != nil {
			return err
		}
		w.Version++
		return tx.SaveWorkspace(w)
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// read runs fn in a snapshot; it must succeed.
func (f *fixture) read(fn func(*store.Reader) error) {
	f.Helper()
	f.must(f.store.Read(context.Background(), fn))
}

func (f *fixture) wantKind(err error, want sheaf.Kind) {
	f.Helper()
	if err == nil || sheaf.KindOf(err) != want {
		f.Errorf("got error %v of kind %d, want kind %d", err, sheaf.KindOf(err), want)
	}
}

func (f *fixture) wantIs(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("got error %v, want %v", err, want)
	}
}

func same[T any](f *fixture, what string, got, want T) {
	f.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// get reads one value in a snapshot; it must succeed.
func get[T any](f *fixture, read func(*store.Reader) (T, error)) T {
	f.Helper()
	v, err := try(f, read)
	f.must(err)
	return v
}

// try reads one value in a snapshot.
func try[T any](f *fixture, read func(*store.Reader) (T, error)) (v T, err error) {
	err = f.store.Read(context.Background(), func(r *store.Reader) (err error) {
		v, err = read(r)
		return err
	})
	return v, err
}

func (f *fixture) workspace() sheaf.Workspace {
	f.Helper()
	return get(f, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(f.ws.ID) })
}

// project adds a project; change may alter it first.
func (f *fixture) project(change func(*sheaf.Project)) sheaf.Project {
	f.Helper()
	now := f.now()
	p := sheaf.Project{ID: sheaf.ProjectID(f.id()), Name: "Plan", Visibility: sheaf.Private, CreatedAt: now, UpdatedAt: now, Revision: 1}
	if change != nil {
		change(&p)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		w.Projects++
		p.Number = w.LastNumber
		return tx.InsertProject(w.ID, p)
	}))
	return p
}

// folder adds a folder; change may alter it first.
func (f *fixture) folder(change func(*sheaf.Folder)) sheaf.Folder {
	f.Helper()
	now := f.now()
	d := sheaf.Folder{ID: sheaf.FolderID(f.id()), Name: "Drawer", EntityType: sheaf.ProjectFolder, Color: sheaf.DefaultFolderColor,
		Depth: 1, CreatedAt: now, UpdatedAt: now, Revision: 1}
	if change != nil {
		change(&d)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		d.Number = w.LastNumber
		return tx.InsertFolder(w.ID, d)
	}))
	return d
}

// author is who makes versions.
func (f *fixture) author() sheaf.Author { return sheaf.Author{User: f.user.ID} }

// document adds a document; change may alter it first.
func (f *fixture) document(change func(*sheaf.Document)) sheaf.Document {
	f.Helper()
	now := f.now()
	d := sheaf.Document{ID: sheaf.DocumentID(f.id()), Title: "Letter", CreatedAt: now, UpdatedAt: now, Revision: 1,
		Version: 1, ContentSHA256: sheaf.EmptySHA256}
	if change != nil {
		change(&d)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		w.Documents++
		d.Number = w.LastNumber
		return tx.InsertDocument(w.ID, d, f.author())
	}))
	return d
}

// newKey returns a key that is not stored, and the hash of its secret.
func (f *fixture) newKey() (sheaf.Key, sheaf.KeyHash) {
	secret := sheaf.NewSecretKey(rand.Reader)
	hash, ok := sheaf.HashKey(secret)
	if !ok {
		panic("a fresh key is no key")
	}
	return sheaf.Key{ID: sheaf.KeyID(f.id()), Name: "ci", Prefix: sheaf.KeyHint(secret), Scopes: sheaf.AllScopes, UserID: f.user.ID,
		CreatedAt: f.now()}, hash
}

// key adds a key; change may alter it first.
func (f *fixture) key(change func(*sheaf.Key)) (sheaf.Key, sheaf.KeyHash) {
	f.Helper()
	k, hash := f.newKey()
	if change != nil {
		change(&k)
	}
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error {
		w.LastNumber++
		k.Number = w.LastNumber
		return tx.InsertKey(w.ID, k, hash)
	}))
	return k, hash
}

// resource returns an identifier for a name.
func resource(name string) string {
	sum := sha256.Sum256([]byte(name))
	return sheaf.UUIDv8([16]byte(sum[:16]))
}

// event returns an event, of the resource of that name, that is not stored.
func (f *fixture) event(t sheaf.EventType, name string) sheaf.Event {
	return sheaf.Event{ID: sheaf.EventID(sheaf.EventPrefix + f.id()), Type: t, ResourceID: resource(name), At: f.now(),
		Body: fmt.Appendf(nil, `{"type":%q}`, t)}
}

// append adds events to the log and returns them numbered.
func (f *fixture) append(events ...sheaf.Event) []sheaf.Event {
	f.Helper()
	f.must(f.locked(func(tx *store.Tx, w *sheaf.Workspace) error { return tx.AppendEvents(w, events) }))
	return events
}

func ptr[T any](v T) *T { return &v }

func ids[T, ID any](items []T, id func(T) ID) []ID {
	out := make([]ID, len(items))
	for i, v := range items {
		out[i] = id(v)
	}
	return out
}
