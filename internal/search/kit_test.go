package search_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/search"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/migrated"
	"sheaf.dev/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sheaftest.Patient(m)) }

// world has the rules (app) over a store with an index.
type world struct {
	t     testing.TB
	app   *app.App
	store *store.Store
	index *search.Index
	opts  store.Options
}

// each runs the test on either engine.
func each(t *testing.T, test func(t *testing.T, w *world)) {
	for name, options := range map[string]func(testing.TB) store.Options{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, options(t)))
		})
	}
}

func onSQLite(t testing.TB) store.Options   { return store.Options{Folder: migrated.Folder(t)} }
func onPostgres(t testing.TB) store.Options { return store.Options{DatabaseURL: migrated.URL(t)} }

func newWorld(t testing.TB, o store.Options) *world {
	t.Helper()
	st, err := store.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: st, opts: o}
	w.index = w.newIndex()
	w.app = app.New(app.Config{Store: st, Now: time.Now, Random: rand.Reader, Index: w.index})
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return w
}

// newIndex opens the index as another node or a later start would.
func (w *world) newIndex() *search.Index {
	x := search.New(search.Config{Store: w.store, Folder: w.opts.Folder, DatabaseURL: w.opts.DatabaseURL, Now: time.Now,
		Patience: 5 * time.Minute}) // a busy machine may make a search slow
	w.t.Cleanup(func() {
		if err := x.Close(); err != nil {
			w.t.Errorf("close the index: %v", err)
		}
	})
	return x
}

// workspace creates a workspace and returns its owner.
func (w *world) workspace() app.Caller {
	ws, err := w.app.Operator().CreateWorkspace(context.Background(), app.NewWorkspace{Name: "Acme", Plan: sheaf.Business})
	if err != nil {
		w.t.Fatal(err)
	}
	return app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
}

func (w *world) document(c app.Caller, title, description string) sheaf.Document {
	w.t.Helper()
	d, err := w.app.CreateDocument(context.Background(), c, sheaf.DocumentChange{Title: sheaf.Some(title), Description: sheaf.Some(description)})
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

// find searches for words.
func (w *world) find(c app.Caller, text string) sheaf.Page[sheaf.Hit] {
	w.t.Helper()
	page, err := w.app.Search(context.Background(), c, sheaf.SearchQuery{Text: text, Paging: sheaf.Paging{Limit: sheaf.MaxLimit}})
	if err != nil {
		w.t.Fatalf("search for %q: %v", text, err)
	}
	return page
}

// catchUp indexes everything.
func (w *world) catchUp() {
	w.t.Helper()
	if err := w.index.CatchUp(context.Background()); err != nil {
		w.t.Fatalf("take everything into the index: %v", err)
	}
}

// titles returns the titles of a page, in order.
func titles(p sheaf.Page[sheaf.Hit]) []string {
	out := []string{}
	for _, h := range p.Items {
		out = append(out, h.Title)
	}
	return out
}
