package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// chunky makes cascades of more than six records go in chunks. With one subscription, a chunk has
// two records. between is called between two chunks.
func chunky(between func()) apitest.Option {
	return func(c *apitest.Config) { c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: between}) }
}

// hollow makes a workspace with an inactive subscription to everything that a cascade emits, so
// that its deliveries stay.
func hollow(t *testing.T, a *apitest.API) (c *apitest.Client, subscription string) {
	t.Helper()
	c = a.Workspace(sheaf.Business).Client("")
	made := c.POST("/api/webhooks/subscriptions", fields{"name": "all", "url": "https://example.com/hook",
		"events": []string{"folder.deleted", "project.updated", "project.deleted", "document.updated"}}).Want(t, 201)
	subscription = made.JSON["subscription"].(fields)["id"].(string)
	c.PATCH("/api/webhooks/subscriptions/"+subscription, fields{"active": false}).Want(t, 200)
	return c, subscription
}

// fileAway makes a tree of three folders with n projects in each, and returns its top, its folders
// and the projects.
func fileAway(t *testing.T, c *apitest.Client, n int) (top string, tree, filed []string) {
	t.Helper()
	var parent any
	for _, name := range []string{"top", "sub", "leaf"} {
		id := create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": parent})
		for i := range n {
			filed = append(filed, create(t, c, projects, fields{"name": fmt.Sprint(name, i), "folder_id": id}))
		}
		tree, parent = append(tree, id), id
	}
	slices.Sort(filed)
	return tree[0], tree, filed
}

// fates of the events: how often each happened to what.
func wantEvents(t *testing.T, what string, es []fields, want map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for _, e := range es {
		got[e["type"].(string)] = append(got[e["type"].(string)], e["resource_id"].(string))
	}
	for kind, ids := range want {
		slices.Sort(got[kind])
		slices.Sort(ids)
		wantSame(t, what+": "+kind, got[kind], ids)
		delete(got, kind)
	}
	if len(got) > 0 {
		t.Errorf("%s: also %v", what, got)
	}
}

func wantSound(t *testing.T, a *apitest.API) {
	t.Helper()
	for _, v := range a.Doctor() {
		t.Error(v)
	}
}

// D36: with more projects than are moved at once, these move first, in chunks; the folders go with
// the last.
func TestCascade_FolderInChunks(t *testing.T) {
	t.Parallel()
	var chunks atomic.Int32
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, subscription := hollow(t, a)
		top, tree, filed := fileAway(t, c, 3)
		es := emitted(t, c, func() { c.DELETE(at(folders, top)).Want(t, 204) })
		wantEvents(t, "emitted", es, map[string][]string{"project.updated": filed, "folder.deleted": tree})
		if last := typesOf(es)[len(es)-1]; last != "folder.deleted "+top {
			t.Errorf("the last event is %s", last)
		}
		root := c.GET(projects + "?folder_id=null").IDs(t)
		slices.Sort(root)
		wantSame(t, "the root level", root, filed)
		if n := len(wholeList(t, c, folders, 100)); n != 0 {
			t.Errorf("%d folders are left", n)
		}
		held := c.GET("/api/webhooks/subscriptions/" + subscription + "/deliveries?state=held&limit=100")
		if n := len(held.Items(t)); n != len(es) {
			t.Errorf("%d deliveries of %d events", n, len(es))
		}
		c.DELETE(at(folders, top)).WantError(t, 404, "NOT_FOUND")
		wantSound(t, a)
	}, chunky(func() { chunks.Add(1) }))
	t.Cleanup(func() {
		if n := chunks.Load(); !t.Failed() && (n < 4 || n > 3*5) {
			t.Errorf("there were %d pauses between chunks on all engines", n)
		}
	})
}

// D28: the same for a project with many documents, deleted ones too, which leave no event.
func TestCascade_ProjectInChunks(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, _ := hollow(t, a)
		p := create(t, c, projects, fields{"name": "many"})
		var shown, gone []string
		for i := range 9 {
			id := create(t, c, documents, fields{"title": fmt.Sprint(i), "project_id": p})
			if i%3 == 0 {
				c.DELETE(at(documents, id)).Want(t, 204)
				gone = append(gone, id)
			} else {
				shown = append(shown, id)
			}
		}
		es := emitted(t, c, func() { c.DELETE(at(projects, p)).Want(t, 204) })
		wantEvents(t, "emitted", es, map[string][]string{"document.updated": shown, "project.deleted": {p}})
		for _, d := range wholeList(t, c, documents, 100) {
			if d["project_id"] != nil {
				t.Errorf("document %v is in project %v", d["id"], d["project_id"])
			}
		}
		for _, id := range gone {
			if got := c.POST(at(documents, id)+"/restore", nil).Want(t, 200); got.JSON["project_id"] != nil {
				t.Errorf("restored into project %v", got.JSON["project_id"])
			}
		}
		wantSound(t, a)
	}, chunky(nil))
}

// D28, D36: up to the bound it is one transaction, so nothing comes between.
func TestCascade_UpToTheBoundIsOneTransaction(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, _ := hollow(t, a)
		top, tree, filed := fileAway(t, c, 2)
		es := emitted(t, c, func() { c.DELETE(at(folders, top)).Want(t, 204) })
		wantEvents(t, "a folder", es, map[string][]string{"project.updated": filed, "folder.deleted": tree})
		p := create(t, c, projects, fields{"name": "six"})
		var linked []string
		for i := range 6 {
			linked = append(linked, create(t, c, documents, fields{"title": fmt.Sprint(i), "project_id": p}))
		}
		es = emitted(t, c, func() { c.DELETE(at(projects, p)).Want(t, 204) })
		wantEvents(t, "a project", es, map[string][]string{"document.updated": linked, "project.deleted": {p}})
		wantSound(t, a)
	}, chunky(func() { t.Error("there was a second transaction") }))
}

// A precondition is checked before the first chunk, and not again for changes meanwhile. A
// project that is moved into the folder during its deletion is moved to the root level too.
func TestCascade_WhatHappensMeanwhile(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...apitest.Option) *apitest.API{"sqlite": apitest.SQLite, "postgres": apitest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meanwhile func()
			a := start(t, chunky(func() { meanwhile() }))
			c, _ := hollow(t, a)
			top, tree, filed := fileAway(t, c, 3)
			tag := c.GET(at(folders, top)).Want(t, 200).Header.Get("ETag")
			c.PATCH(at(folders, top), fields{"name": "renamed"}).Want(t, 200)
			es := emitted(t, c, func() { c.DELETE(at(folders, top), "If-Match: "+tag).WantError(t, 412, "PRECONDITION_FAILED") })
			wantEvents(t, "refused", es, nil)
			var once sync.Once
			meanwhile = func() {
				once.Do(func() {
					c.PATCH(at(folders, top), fields{"name": "renamed again"}).Want(t, 200)
					filed = append(filed, create(t, c, projects, fields{"name": "late", "folder_id": tree[1]}))
					if left := c.GET(projects + "?folder_id=null").IDs(t); len(left) != 2 {
						t.Errorf("%d projects were moved by the first chunk", len(left))
					}
				})
			}
			tag = c.GET(at(folders, top)).Want(t, 200).Header.Get("ETag")
			es = emitted(t, c, func() { c.DELETE(at(folders, top), "If-Match: "+tag).Want(t, 204) })
			wantEvents(t, "emitted", es, map[string][]string{"project.updated": filed, "folder.deleted": tree, "folder.updated": {top},
				"project.created": filed[len(filed)-1:]})
			wantSound(t, a)
		})
	}
}

// A caller who leaves, and a key that is revoked, end the cascade between two chunks: the chunks that
// were done are complete, and a repeated request continues.
func TestCascade_EndsBetweenTwoChunks(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...apitest.Option) *apitest.API{"sqlite": apitest.SQLite, "postgres": apitest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meanwhile func()
			a := start(t, chunky(func() { meanwhile() }))
			w := a.Workspace(sheaf.Business)
			c := w.Client("")
			top, tree, filed := fileAway(t, c, 4)
			secret, key := w.NewKey(nil)
			var once sync.Once
			meanwhile = func() { once.Do(func() { w.Revoke(key.ID) }) }
			es := emitted(t, c, func() {
				w.Client(secret).DELETE(at(folders, top)).WantError(t, 401, "UNAUTHORIZED")
				wantSound(t, a)
				ctx, leave := context.WithCancel(context.Background())
				meanwhile = leave
				rules := a.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: leave})
				err := rules.DeleteFolder(ctx, app.Caller{Workspace: w.ID, User: w.Owner, Role: sheaf.Owner}, sheaf.FolderID(top), sheaf.Match{})
				if sheaf.KindOf(err) != sheaf.Unavailable {
					t.Errorf("the caller who left got %v", err)
				}
				wantSound(t, a)
				if n := len(c.GET(projects + "?folder_id=null").IDs(t)); n == 0 || n == len(filed) {
					t.Errorf("%d of %d projects were moved", n, len(filed))
				}
				c.GET(at(folders, top)).Want(t, 200)
				meanwhile = func() {}
				c.DELETE(at(folders, top)).Want(t, 204)
			})
			wantEvents(t, "all in all", es, map[string][]string{"project.updated": filed, "folder.deleted": tree})
			wantSound(t, a)
		})
	}
}

// If several clients delete the same record at once, one of them succeeds, and none gets an error of the
// server.
func TestCascade_DeletedByMany(t *testing.T) {
	t.Parallel()
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c, _ := hollow(t, a)
		top, tree, filed := fileAway(t, c, 4)
		es := emitted(t, c, func() {
			var done, missing atomic.Int32
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					switch got := c.DELETE(at(folders, top)); got.Status {
					case 204:
						done.Add(1)
					case 404:
						missing.Add(1)
					default:
						t.Errorf("got %d %s", got.Status, strings.TrimSpace(string(got.Body)))
					}
				})
			}
			wg.Wait()
			if done.Load() != 1 || missing.Load() != 3 {
				t.Errorf("%d succeeded and %d found nothing", done.Load(), missing.Load())
			}
		})
		wantEvents(t, "emitted", es, map[string][]string{"project.updated": filed, "folder.deleted": tree})
		wantSound(t, a)
	}, chunky(nil))
}

// D28, D36, D115: whatever is deleted, a caller who leaves between two chunks leaves whole chunks. The same
// request continues. It is not refused because the record changed meanwhile, and each change has one event.
func TestCascade_EveryKindGoesOn(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...apitest.Option) *apitest.API{"sqlite": apitest.SQLite, "postgres": apitest.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var meanwhile func()
			a := start(t, chunky(func() { meanwhile() }))
			ws := a.Workspace(sheaf.Business)
			c := ws.Client("")
			for _, k := range largeKinds(t, c) {
				id := k.make()
				path := at(k.noun, id)
				es := emitted(t, c, func() {
					ctx, leave := context.WithCancel(t.Context())
					rules := a.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: leave})
					if err := k.remove(ctx, rules, ownerOf(ws), id); sheaf.KindOf(err) != sheaf.Unavailable {
						t.Errorf("%s: the caller who left got %v", k.name, err)
					}
					tag := c.GET(path).Want(t, 200).Header.Get("ETag")
					wantSound(t, a)
					chunks := 0
					meanwhile = func() {
						if chunks++; chunks == 1 {
							c.PATCH(path, k.change).Want(t, 200)
						}
					}
					c.DELETE(path, "If-Match: "+tag).Want(t, 204)
					if chunks == 0 {
						t.Errorf("%s: the repetition was one transaction", k.name)
					}
				})
				c.GET(path).WantError(t, 404, "NOT_FOUND")
				told, twice := map[string]int{}, map[string]int{}
				for _, e := range es {
					kind, of := e["type"].(string), e["resource_id"].(string)
					if of == id && strings.HasSuffix(kind, ".updated") {
						continue // the change meanwhile
					}
					told[kind]++
					if twice[kind+of]++; twice[kind+of] > 1 {
						t.Errorf("%s: %s of %s more than once", k.name, kind, of)
					}
				}
				wantJSON(t, k.name, told, k.told)
				wantSound(t, a)
			}
		})
	}
}

// largeKind is something with which many records change when it is deleted.
type largeKind struct {
	name, noun string
	make       func() (id string)
	remove     func(ctx context.Context, a *app.App, c app.Caller, id string) error
	change     fields         // of itself
	told       map[string]int // events of its deletion by type
}

func largeKinds(t *testing.T, c *apitest.Client) []largeKind {
	const many = 12
	repeat := func(act func(name string)) {
		for i := range many {
			act(fmt.Sprint(i))
		}
	}
	document := create(t, c, documents, fields{"title": "shared"})
	deleteFolder := func(ctx context.Context, a *app.App, c app.Caller, id string) error {
		return a.DeleteFolder(ctx, c, sheaf.FolderID(id), sheaf.Match{})
	}
	return []largeKind{
		{"a folder of projects", folders, func() string {
			id := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
			repeat(func(name string) { create(t, c, projects, fields{"name": name, "folder_id": id}) })
			return id
		}, deleteFolder, fields{"name": "renamed"}, map[string]int{"project.updated": many, "folder.deleted": 1}},
		{"a folder of folders with a project each", folders, func() string {
			id := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
			repeat(func(name string) {
				sub := create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": id})
				create(t, c, projects, fields{"name": name, "folder_id": sub})
			})
			return id
		}, deleteFolder, fields{"name": "renamed"}, map[string]int{"project.updated": many, "folder.deleted": many + 1}},
		{"a folder of brandings", folders, func() string {
			id := brandingFolder(t, c, "f", nil)
			repeat(func(name string) { create(t, c, brandings, fields{"name": name, "folder_id": id}) })
			return id
		}, deleteFolder, fields{"name": "renamed"}, map[string]int{"folder.deleted": 1}},
		{"a project of documents and shares", projects, func() string {
			id := create(t, c, projects, fields{"name": "p"})
			repeat(func(name string) {
				create(t, c, documents, fields{"title": name, "project_id": id})
				create(t, c, shares, shareOf("project", id))
			})
			return id
		}, func(ctx context.Context, a *app.App, c app.Caller, id string) error {
			return a.DeleteProject(ctx, c, sheaf.ProjectID(id), sheaf.Match{})
		}, fields{"name": "renamed"}, map[string]int{"document.updated": many, "share.deleted": many, "project.deleted": 1}},
		{"a branding of shares", brandings, func() string {
			id := create(t, c, brandings, fields{"name": "b"})
			repeat(func(string) {
				create(t, c, shares, fields{"resource_type": "document", "resource_id": document, "branding_id": id})
			})
			return id
		}, func(ctx context.Context, a *app.App, c app.Caller, id string) error {
			return a.DeleteBranding(ctx, c, sheaf.BrandingID(id), sheaf.Match{})
		}, fields{"name": "renamed"}, map[string]int{"share.updated": many}},
		{"the logo of brandings", mediaPath, func() string {
			id := upload(c, picture(t, 4, 3), "?filename=logo.png").Want(t, 201).Text(t, "id")
			repeat(func(name string) { create(t, c, brandings, fields{"name": name, "logo_media_id": id}) })
			return id
		}, func(ctx context.Context, a *app.App, c app.Caller, id string) error {
			return a.DeleteMedium(ctx, c, sheaf.MediumID(id), sheaf.Match{})
		}, fields{"filename": "renamed.png"}, map[string]int{}},
	}
}
