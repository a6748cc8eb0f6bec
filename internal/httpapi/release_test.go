package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
	"sheaf.dev/internal/sheaftest/fill"
	"sheaf.dev/internal/store"
)

// book makes a project with documents of these titles and texts, and returns its path and their ids.
func book(t testing.TB, c *apitest.Client, texts ...string) (path string, ids []string) {
	t.Helper()
	id := c.POST(projects, fields{"name": "Book"}).Want(t, 201).Text(t, "id")
	for i, text := range texts {
		ids = append(ids, c.POST(documents, fields{"title": fmt.Sprintf("Chapter %d", i+1), "project_id": id, "content": text}).Want(t, 201).Text(t, "id"))
	}
	return at(projects, id), ids
}

// freeze makes a release, and returns its path.
func freeze(t testing.TB, c *apitest.Client, book, name string) string {
	t.Helper()
	return at("/api/v1/releases", c.POST(book+"/releases", fields{"name": name}).Want(t, 201).Text(t, "id"))
}

func titles(t testing.TB, r *apitest.Response, list string) (out []string) {
	t.Helper()
	for _, d := range r.Want(t, 200).JSON[list].([]any) {
		out = append(out, d.(map[string]any)["title"].(string))
	}
	return out
}

// D183, D184: a release shows the documents as they were, whatever happens to them.
func TestRelease_StaysAsItIs(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		picture := upload(c, picture(t, 4, 3), "?filename=a.png").Want(t, 201)
		path, ids := book(t, c, "first\n", "![it](media:"+picture.Text(t, "id")+")\n", "third\n")
		c.POST(at(documents, ids[2])+"/move", fields{"parent_id": ids[0]}).Want(t, 200)
		made := c.POST(path+"/releases", fields{"name": "1.0", "notes": "*Hello*"}).Want(t, 201)
		if made.JSON["documents"] != 3.0 || made.JSON["notes"] != "*Hello*" || made.JSON["name"] != "1.0" || !strings.HasSuffix(made.Header.Get("Location"), made.Text(t, "id")) {
			t.Errorf("a new release is %s", made.Body)
		}
		release := at("/api/v1/releases", made.Text(t, "id"))
		tree := c.GET(release+"/tree").Want(t, 200)
		if got := tree.IDs(t); !slices.Equal(got, []string{ids[0], ids[2], ids[1]}) {
			t.Errorf("the tree is %v", got)
		}
		kept := map[string]string{release + "/tree": string(tree.Body)}
		for i, id := range ids {
			one := release + "/documents/" + id
			for _, p := range []string{one, one + "/content", one + "/content?format=html"} {
				kept[p] = string(c.GET(p).Want(t, 200).Body)
			}
			if i == 0 && kept[one+"/content"] != "first\n" {
				t.Errorf("the text is %q", kept[one+"/content"])
			}
		}
		file := release + "/media/" + picture.Text(t, "id") + "/content"
		kept[file] = string(c.GET(file).Want(t, 200).Body)

		c.PATCH(at(documents, ids[0]), fields{"title": "Other", "content": "other\n"}).Want(t, 200)
		c.DELETE(at("/api/v1/media", picture.Text(t, "id"))).Want(t, 204)
		c.POST(at(documents, ids[2])+"/move", fields{"project_id": nil, "parent_id": nil}).Want(t, 200)
		c.DELETE(at(documents, ids[1])).Want(t, 204)
		wantSound(t, a)
		if err := a.App.Operator().RemoveStrayBytes(t.Context()); err != nil {
			t.Fatal(err)
		}
		for p, want := range kept {
			if got := c.GET(p).Want(t, 200); string(got.Body) != want {
				t.Errorf("%s is now\n%s\nand was\n%s", p, got.Body, want)
			}
		}
		c.GET(file, "Range: bytes=0-3").Want(t, 206)

		c.DELETE(release).Want(t, 204)
		for p := range kept {
			c.GET(p).WantError(t, 404, "NOT_FOUND")
		}
		c.GET(release).WantError(t, 404, "NOT_FOUND")
		wantSound(t, a)
	})
}

// D183: names are unique in a project, a release has at most 10,000 documents, a project 100 releases.
func TestRelease_IsRefused(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		path, _ := book(t, c, "text\n")
		other, _ := book(t, c, "text\n")
		for body, field := range map[string]string{`{}`: "name", `{"name":null}`: "name", `{"name":" "}`: "name", `{"name":7}`: "name",
			`{"name":"` + strings.Repeat("x", 101) + `"}`: "name", `{"name":"1","notes":"` + strings.Repeat("x", 10_001) + `"}`: "notes"} {
			c.POST(path+"/releases", body).WantError(t, 400, "VALIDATION_ERROR", field)
		}
		one := freeze(t, c, path, "1.0")
		freeze(t, c, other, "1.0")
		c.POST(path+"/releases", fields{"name": "1.0"}).WantError(t, 409, "CONFLICT", "1.0")
		c.POST(at(projects, nowhereID)+"/releases", fields{"name": "1.0"}).WantError(t, 404, "NOT_FOUND")
		c.PATCH(one, fields{"notes": "new"}, `If-Match: "7-x"`).WantError(t, 412, "PRECONDITION_FAILED")
		changed := c.PATCH(one, fields{"notes": "new"}, "If-Match: "+c.GET(one).Header.Get("ETag")).Want(t, 200)
		if changed.JSON["notes"] != "new" || changed.JSON["name"] != "1.0" {
			t.Errorf("changed to %s", changed.Body)
		}
		c.PATCH(one, fields{"name": "2.0"}).WantError(t, 400, "VALIDATION_ERROR")
		c.PATCH(one, fields{"notes": nil}).Want(t, 200)
		wantSound(t, a)

		reads := w.Client(w.Key(sheaf.ReleasesRead))
		reads.GET(one).Want(t, 200)
		reads.GET(one+"/tree").WantError(t, 403, "FORBIDDEN", "documents:read")
		reads.POST(path+"/releases", fields{"name": "3"}).WantError(t, 403, "FORBIDDEN", "releases:write")
		a.Workspace(sheaf.Business).Client("").GET(one).WantError(t, 404, "NOT_FOUND")
		c.GET(one+"/documents/"+nowhereID).WantError(t, 404, "NOT_FOUND")
		c.GET(one+"/documents/7").WantError(t, 400, "VALIDATION_ERROR", "document")
		c.GET(one+"/media/"+nowhereID+"/content").WantError(t, 404, "NOT_FOUND")
	})
}

// D183: the limit of releases is exact, and so are names, when many clients make one at once. Deleting the
// project deletes its releases, each with its event.
func TestRelease_LimitIsExact(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		path, _ := book(t, c, "text\n")
		for i := range sheaf.MaxReleases - 2 {
			freeze(t, c, path, fmt.Sprint("r", i))
		}
		got := apitest.Statuses(apitest.Together(12, func(i int) *apitest.Response {
			return c.POST(path+"/releases", fields{"name": fmt.Sprint("last ", i%6)})
		}))
		if got[201] != 2 || got[201]+got[403]+got[409] != 12 {
			t.Errorf("statuses are %v", got)
		}
		c.POST(path+"/releases", fields{"name": "more"}).WantError(t, 403, "RELEASE_LIMIT_REACHED")
		if list := c.GET(path+"/releases?limit=1&order=desc").Want(t, 200); list.JSON["total"] != float64(sheaf.MaxReleases) {
			t.Errorf("the list is %s", list.Body)
		}
		if list := c.GET(path+"/releases?name=r7").Want(t, 200); list.JSON["total"] != 1.0 {
			t.Errorf("by name: %s", list.Body)
		}
		c.DELETE(path).Want(t, 204)
		if n := c.GET("/api/v1/events?type=release.deleted&limit=1").Want(t, 200).JSON["total"]; n != float64(sheaf.MaxReleases) {
			t.Errorf("%v releases have an event of their deletion", n)
		}
		wantSound(t, a)
	})
}

// D184: the texts of all releases count once, and go with the last of them.
func TestRelease_CountsOnce(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		used := func() float64 {
			t.Helper()
			return c.GET("/api/v1/me").Want(t, 200).JSON["storage"].(map[string]any)["used"].(float64)
		}
		text := strings.Repeat("word ", 2000)
		path, ids := book(t, c, text, text, "short")
		before := used()
		one := freeze(t, c, path, "1")
		if grown := used() - before; grown != float64(len(text)+len("short")) {
			t.Errorf("the first release counts %v bytes", grown)
		}
		two := freeze(t, c, path, "2")
		if grown := used() - before; grown != float64(len(text)+len("short")) {
			t.Errorf("two releases count %v bytes", grown)
		}
		c.PATCH(at(documents, ids[2]), fields{"content": "other"}).Want(t, 200)
		now := used()
		freeze(t, c, path, "3")
		if grown := used() - now; grown != float64(len("other")) {
			t.Errorf("the third release counts %v bytes", grown)
		}
		c.DELETE(one).Want(t, 204)
		c.DELETE(two).Want(t, 204)
		if got, want := used(), now+float64(len("other")-len("short")); got != want {
			t.Errorf("after deleting two releases %v bytes count, want %v", got, want)
		}
		wantSound(t, a)
	})
}

// D183, D184: a release keeps the description, address and metadata of its documents. They count in the quota, once for
// all releases, and a comparison finds that they changed.
func TestRelease_KeepsTheFieldsOfDocuments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		used := func() float64 {
			t.Helper()
			return c.GET("/api/v1/me").Want(t, 200).JSON["storage"].(map[string]any)["used"].(float64)
		}
		path, ids := book(t, c, "text", "text")
		long := strings.Repeat("long ", 100)
		mine := fields{"description": long, "external_id": "x-1", "url": "https://example.com/1", "metadata": fields{"note": long}}
		c.PATCH(at(documents, ids[0]), mine).Want(t, 200)
		before := used()
		one := freeze(t, c, path, "1")
		frozen := used()
		if grown := frozen - before; grown < float64(2*len(long)) {
			t.Errorf("the release counts %v bytes, and has fields of %d", grown, 2*len(long))
		}
		two := freeze(t, c, path, "2")
		if got := used(); got != frozen {
			t.Errorf("the same fields count twice: %v, then %v", frozen, got)
		}
		differs := func(want ...string) {
			t.Helper()
			var got []string
			for _, d := range c.GET(one+"/diff?to=present").Want(t, 200).JSON["changed"].([]any) {
				got = append(got, d.(map[string]any)["id"].(string))
			}
			if !slices.Equal(got, want) {
				t.Errorf("changed are %v, want %v", got, want)
			}
		}
		differs()
		c.PATCH(at(documents, ids[0]), fields{"description": nil, "external_id": "x-2", "url": nil, "metadata": nil}).Want(t, 200)
		differs(ids[0])
		c.PATCH(at(documents, ids[1]), fields{"description": "now"}).Want(t, 200)
		differs(ids[0], ids[1])

		d := c.GET(one+"/documents/"+ids[0]).Want(t, 200).JSON
		for name, want := range mine {
			if fmt.Sprint(d[name]) != fmt.Sprint(map[string]any(fields{"v": want})["v"]) {
				t.Errorf("%s is %v, want %v", name, d[name], want)
			}
		}
		if plain := c.GET(one+"/documents/"+ids[1]).Want(t, 200).JSON; plain["description"] != nil || plain["url"] != nil {
			t.Errorf("a document without them has %v", plain)
		}
		wantSound(t, a)
		c.DELETE(one).Want(t, 204)
		if got := used(); got != frozen {
			t.Errorf("after deleting one of two releases %v bytes count, want %v", got, frozen)
		}
		c.DELETE(two).Want(t, 204)
		if got := used(); got != before {
			t.Errorf("after deleting both releases %v bytes count, want %v", got, before)
		}
		wantSound(t, a)
	})
}

// D184: a document leaves many releases in several transactions. Media that another text of a release names stay there.
func TestRelease_DocumentLeavesManyReleases(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		own := upload(c, picture(t, 4, 3), "?filename=a.png").Want(t, 201).Text(t, "id")
		both := upload(c, picture(t, 3, 4), "?filename=b.png").Want(t, 201).Text(t, "id")
		path, ids := book(t, c, "![](media:"+own+") ![](media:"+both+") ![](media:"+both+")", "![](media:"+both+")", "below")
		c.POST(at(documents, ids[2])+"/move", fields{"parent_id": ids[0]}).Want(t, 200)
		var releases []string
		for i := range 12 {
			releases = append(releases, freeze(t, c, path, fmt.Sprint(i)))
		}
		for _, id := range []string{own, both} {
			c.DELETE(at("/api/v1/media", id)).Want(t, 204)
		}
		c.DELETE(at(documents, ids[0])).Want(t, 204)
		c.DELETE(at(documents, ids[0])+"/permanent?releases=true").Want(t, 204)
		for _, release := range releases {
			tree := c.GET(release+"/tree").Want(t, 200)
			if got := tree.IDs(t); !slices.Equal(got, []string{ids[1], ids[2]}) {
				t.Errorf("the tree of %s is %v", release, got)
			}
			if strings.Contains(string(tree.Body), ids[0]) {
				t.Errorf("a document is still below the deleted one: %s", tree.Body)
			}
			c.GET(release+"/media/"+own).WantError(t, 404, "NOT_FOUND")
			c.GET(release+"/media/"+both+"/content").Want(t, 200)
		}
		wantSound(t, a)
	})
}

// D184: deleting a project answers before its large releases are empty. The sweep removes what is left.
func TestRelease_LargeOnesAreEmptiedLater(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		path, _ := book(t, c, "text")
		if err := fill.Documents(a.Store, w.ID, sheaf.ProjectID(strings.TrimPrefix(path, projects+"/")), 1200); err != nil {
			t.Fatal(err)
		}
		release := freeze(t, c, path, "1")
		freeze(t, c, path, "2")
		c.DELETE(path).Want(t, 204)
		c.GET(release).WantError(t, 404, "NOT_FOUND")
		unfinished := func() int {
			t.Helper()
			var found []sheaf.WorkspaceID
			err := a.Store.Read(t.Context(), func(r *store.Reader) (err error) {
				found, err = r.UnfinishedReleases(time.Now(), 10)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		if unfinished() != 1 {
			t.Error("the request emptied both releases")
		}
		wantSound(t, a)
		if err := a.App.Operator().FinishReleases(t.Context()); err != nil {
			t.Fatal(err)
		}
		if unfinished() != 0 {
			t.Error("the sweep left something")
		}
		wantSound(t, a)
	})
}

// D184: a document in releases is deleted for good only if that is asked for, and then it is gone from them.
func TestRelease_KeepsItsDocuments(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		path, ids := book(t, c, "a", "b", "c")
		c.POST(at(documents, ids[1])+"/move", fields{"parent_id": ids[0]}).Want(t, 200)
		c.POST(at(documents, ids[2])+"/move", fields{"parent_id": ids[1]}).Want(t, 200)
		one := freeze(t, c, path, "1.0")
		c.DELETE(at(documents, ids[0])).Want(t, 204)
		gone := at(documents, ids[1]) + "/permanent"
		c.DELETE(gone).WantError(t, 409, "CONFLICT", `"1.0"`)
		w.Client(w.Key(sheaf.DocumentsWrite)).DELETE(gone+"?releases=true").WantError(t, 403, "FORBIDDEN", "releases:write")
		c.DELETE(gone+"?releases=maybe").WantError(t, 400, "VALIDATION_ERROR", "releases")
		c.DELETE(gone+"?releases=true").Want(t, 204)
		if got := c.GET(one + "/tree").IDs(t); !slices.Equal(got, []string{ids[0], ids[2]}) {
			t.Errorf("the tree is %v", got)
		}
		if list := c.GET(one).Want(t, 200); list.JSON["documents"] != 2.0 {
			t.Errorf("the release is %s", list.Body)
		}
		c.GET(one+"/documents/"+ids[1]).WantError(t, 404, "NOT_FOUND")
		wantSound(t, a)
	})
}

// D170: a restricted key takes no document out of releases that it does not see.
func TestRelease_OfAProjectThatIsNotSeen(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		from, ids := book(t, c, "a")
		to, _ := book(t, c)
		one := freeze(t, c, from, "Secret name")
		c.POST(at(documents, ids[0])+"/move", fields{"project_id": strings.TrimPrefix(to, projects+"/"), "parent_id": nil}).Want(t, 200)
		freeze(t, c, to, "2.0")
		c.DELETE(at(documents, ids[0])).Want(t, 204)
		inside := restrictedKey(t, a, c, fields{"project_ids": []string{strings.TrimPrefix(to, projects+"/")}})
		for _, query := range []string{"", "?releases=true"} {
			got := inside.DELETE(at(documents, ids[0])+"/permanent"+query).WantError(t, 403, "FORBIDDEN", "releases of projects that this key does not see")
			if strings.Contains(string(got.Body), "Secret name") {
				t.Errorf("the answer names a release outside: %s", got.Body)
			}
		}
		if got := c.GET(one + "/tree").IDs(t); len(got) != 1 {
			t.Errorf("the release outside has %v", got)
		}
		c.DELETE(at(documents, ids[0])+"/permanent?releases=true").Want(t, 204)
		wantSound(t, a)
	})
}

// D184: what differs between releases, and to the documents as they are now.
func TestRelease_Diff(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		path, ids := book(t, c, "a", "b", "c", "d", "e")
		one := freeze(t, c, path, "1")
		for _, list := range []string{"added", "removed", "changed", "moved"} {
			if got := titles(t, c.GET(one+"/diff"), list); len(got) != 0 {
				t.Errorf("%s at once: %v", list, got)
			}
		}
		c.PATCH(at(documents, ids[0]), fields{"content": "A"}).Want(t, 200)
		c.PATCH(at(documents, ids[1]), fields{"description": "more"}).Want(t, 200)
		c.POST(at(documents, ids[4])+"/move", fields{"before_id": ids[0]}).Want(t, 200)
		c.DELETE(at(documents, ids[2])).Want(t, 204)
		c.POST(documents, fields{"title": "New", "project_id": strings.TrimPrefix(path, projects+"/"), "parent_id": ids[3]}).Want(t, 201)
		two := freeze(t, c, path, "2")
		want := map[string]string{"added": "New", "removed": "Chapter 3", "changed": "Chapter 1,Chapter 2", "moved": "Chapter 5"}
		for _, to := range []string{"", "?to=present", "?to=" + strings.TrimPrefix(two, "/api/v1/releases/")} {
			for list, want := range want {
				if got := strings.Join(titles(t, c.GET(one+"/diff"+to), list), ","); got != want {
					t.Errorf("%s%s: %s, want %s", list, to, got, want)
				}
			}
		}
		other, _ := book(t, c, "x")
		c.GET(one+"/diff?to="+strings.TrimPrefix(freeze(t, c, other, "1"), "/api/v1/releases/")).WantError(t, 400, "VALIDATION_ERROR", "to")
		c.GET(one+"/diff?to=now").WantError(t, 400, "VALIDATION_ERROR", "to")
		c.GET(one+"/diff?to="+nowhereID).WantError(t, 404, "NOT_FOUND")
	})
}

// D183: a release shows one moment, while others write. The texts that are copied in advance are those of
// that moment.
func TestRelease_IsOneMoment(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		texts := make([]string, 60)
		for i := range texts {
			texts[i] = "round 0"
		}
		path, ids := book(t, c, texts...)
		var round atomic.Int64
		stop, done := make(chan bool), make(chan bool)
		go func() { // each round writes all documents in their order, so at one moment at most two rounds are there
			defer close(done)
			for {
				n := round.Add(1)
				for _, id := range ids {
					select {
					case <-stop:
						return
					default:
						c.PATCH(at(documents, id), fields{"content": fmt.Sprint("round ", n)}).Want(t, 200)
					}
				}
			}
		}()
		for i := range 4 {
			release := freeze(t, c, path, fmt.Sprint(i))
			seen, previous := map[string]bool{}, ""
			for _, id := range ids {
				text := string(c.GET(release+"/documents/"+id+"/content").Want(t, 200).Body)
				if previous != "" && text != previous && seen[text] {
					t.Errorf("release %d has %s again", i, text)
				}
				seen[text], previous = true, text
			}
			if len(seen) > 2 {
				t.Errorf("release %d has texts of %d rounds: %v", i, len(seen), seen)
			}
		}
		close(stop)
		<-done
		wantSound(t, a)
	})
}

// D183: a release that many copies of texts precede is made once by an Idempotency-Key, and a quota that is
// full refuses it and keeps nothing.
func TestRelease_QuotaAndRepetition(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Free)
		w.SetPlan(sheaf.Pro)
		c := w.Client("")
		path, ids := book(t, c)
		id := strings.TrimPrefix(path, projects+"/")
		for i := range 30 {
			ids = append(ids, c.POST(documents, fields{"title": "x", "project_id": id, "content": strings.Repeat(fmt.Sprint(i, " "), 500)}).Want(t, 201).Text(t, "id"))
		}
		first := c.POST(path+"/releases", fields{"name": "1"}, "Idempotency-Key: once").Want(t, 201)
		c.PATCH(at(documents, ids[0]), fields{"content": "changed"}).Want(t, 200)
		again := c.POST(path+"/releases", fields{"name": "1"}, "Idempotency-Key: once").Want(t, 201)
		if string(again.Body) != string(first.Body) {
			t.Errorf("repeated: %s, first %s", again.Body, first.Body)
		}
		if err := a.App.Operator().FinishReleases(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantSound(t, a)
	})
}

// D185: a key that may not read releases cannot read them through a share.
func TestShare_OfReleasesNeedsTheScopeToReadThem(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c := w.Client("")
		path, _ := book(t, c, "a")
		release := strings.TrimPrefix(freeze(t, c, path, "1"), "/api/v1/releases/")
		key := w.Client(w.Key(sheaf.ProjectsRead, sheaf.DocumentsRead, sheaf.MediaRead, sheaf.SharesRead, sheaf.SharesWrite))
		of := fields{"resource_type": "project", "resource_id": strings.TrimPrefix(path, projects+"/")}
		plain := at("/api/v1/shares", key.POST("/api/v1/shares", of).Want(t, 201).Text(t, "id"))
		key.PATCH(plain, fields{"listed": true}).Want(t, 200)
		for _, more := range []fields{{"release": "newest"}, {"release": release}, {"show_releases": true}} {
			body := fields{}
			for _, part := range []fields{of, more} {
				for name, value := range part {
					body[name] = value
				}
			}
			key.POST("/api/v1/shares", body).WantError(t, 403, "FORBIDDEN", "releases:read")
			key.PATCH(plain, more).WantError(t, 403, "FORBIDDEN", "releases:read")
			key.POST(batchPath, fields{"operations": []fields{{"action": "create", "resource_type": "share", "body": body}}}).WantError(t, 403, "FORBIDDEN", "releases:read")
			c.PATCH(plain, more).Want(t, 200)
			key.PATCH(plain, fields{"listed": false}).WantError(t, 403, "FORBIDDEN", "releases:read") // it shows releases by now
			c.PATCH(plain, fields{"release": nil, "show_releases": false}).Want(t, 200)
		}
	})
}

// D185: a share of a project can name a release, and other shares cannot. A release that a share shows
// cannot be deleted.
func TestShare_NamesARelease(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		path, ids := book(t, c, "a")
		id := strings.TrimPrefix(path, projects+"/")
		release := freeze(t, c, path, "1")
		releaseID := strings.TrimPrefix(release, "/api/v1/releases/")
		other, _ := book(t, c, "b")
		otherID := strings.TrimPrefix(freeze(t, c, other, "1"), "/api/v1/releases/")
		share := func(more fields) *apitest.Response {
			in := fields{"resource_type": "project", "resource_id": id}
			for k, v := range more {
				in[k] = v
			}
			return c.POST("/api/v1/shares", in)
		}
		plain := share(nil).Want(t, 201)
		if plain.JSON["release"] != nil || plain.JSON["show_releases"] != false {
			t.Errorf("a share is %s", plain.Body)
		}
		share(fields{"release": "oldest"}).WantError(t, 400, "VALIDATION_ERROR", "release")
		share(fields{"release": nowhereID}).WantError(t, 404, "NOT_FOUND")
		share(fields{"release": otherID}).WantError(t, 400, "VALIDATION_ERROR", "release")
		share(fields{"resource_type": "document", "resource_id": ids[0], "release": "newest"}).WantError(t, 400, "VALIDATION_ERROR", "release")
		share(fields{"resource_type": "document", "resource_id": ids[0], "show_releases": true}).WantError(t, 400, "VALIDATION_ERROR", "show_releases")
		one := at("/api/v1/shares", share(fields{"release": releaseID, "show_releases": true}).Want(t, 201).Text(t, "id"))
		c.DELETE(release).WantError(t, 409, "CONFLICT", "share")
		c.PATCH(one, fields{"release": otherID}).WantError(t, 400, "VALIDATION_ERROR", "release")
		c.PATCH(one, fields{"show_releases": nil}).WantError(t, 400, "VALIDATION_ERROR", "show_releases")
		changed := c.PATCH(one, fields{"release": "newest", "show_releases": false}).Want(t, 200)
		if changed.JSON["release"] != "newest" || changed.JSON["show_releases"] != false {
			t.Errorf("changed to %s", changed.Body)
		}
		c.DELETE(release).Want(t, 204)
		c.PATCH(one, fields{"release": nil}).Want(t, 200)
		wantSound(t, a)
	})
}

// D186: a release whose import is given up is never visible. It goes some hours later, with its texts and media,
// and until then its import can go on.
func TestRelease_ImportIsGivenUp(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		w := a.Workspace(sheaf.Business)
		c, op := w.Client(""), a.App.Operator()
		path, _ := book(t, c, "text\n")
		project := sheaf.ProjectID(strings.TrimPrefix(path, projects+"/"))
		used := func() any {
			t.Helper()
			return c.GET("/api/v1/me").Want(t, 200).JSON["storage"].(map[string]any)["used"]
		}
		id := func(n int) string { return fmt.Sprintf("0198c0de-0000-7000-8000-%012x", n) }
		release := app.ImportRecord{ID: id(1), Release: &app.ImportRelease{ProjectID: project, Name: "1.0", Documents: 2, User: sheaf.UserID(id(9))}}
		document := func(n int) app.ImportRecord {
			return app.ImportRecord{ID: id(1), Released: &app.ImportReleased{ID: sheaf.DocumentID(id(10 + n)), Number: int64(n), Version: 1,
				DocumentChange: sheaf.DocumentChange{Title: sheaf.Some("Old"), Content: sheaf.Some(fmt.Sprint("an old text ", n, " [b](media:", id(30), ")"))}}}
		}
		end := app.ImportRecord{ID: id(1), ReleaseEnd: true}
		imports := func(batch ...app.ImportRecord) error {
			_, err := op.Import(t.Context(), w.ID, batch)
			return err
		}
		begins := func() {
			t.Helper()
			if err := imports(release, document(1)); err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte("bytes"))
			m := app.ImportRecord{ID: id(1), ReleasedMedium: &app.ImportReleasedMedium{ID: sheaf.MediumID(id(30)), WithBytes: true,
				ImportMedium: app.ImportMedium{Bytes: 5, SHA256: hex.EncodeToString(sum[:])}}}
			if _, err := op.ImportMedium(t.Context(), w.ID, m, func() io.Reader { return strings.NewReader("bytes") }); err != nil {
				t.Fatal(err)
			}
			wantSound(t, a)
		}
		before := used()
		begins()
		if used() == before {
			t.Error("the parts of a release do not count")
		}
		one := at("/api/v1/releases", id(1))
		hidden := func() {
			t.Helper()
			c.GET(one).WantError(t, 404, "NOT_FOUND")
			if list := c.GET(path+"/releases").Want(t, 200); list.JSON["total"] != 0.0 {
				t.Errorf("the list is %s", list.Body)
			}
		}
		finish := func() {
			t.Helper()
			if err := op.FinishReleases(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantSound(t, a)
		}
		hidden()
		if err := imports(end); err == nil || !strings.Contains(err.Error(), "1 were imported") {
			t.Errorf("half of a release was published: %v", err)
		}
		hidden()
		a.Clock.Advance(3 * time.Hour)
		finish()
		if used() == before {
			t.Error("an import was given up after three hours")
		}
		a.Clock.Advance(2 * time.Hour)
		finish()
		if got := used(); got != before {
			t.Errorf("after the import was given up %v bytes count, want %v", got, before)
		}
		if err := imports(document(2)); err == nil || !strings.Contains(err.Error(), "begin with the line of the release") {
			t.Errorf("went on with what is gone: %v", err)
		}

		begins()
		a.Clock.Advance(3 * time.Hour)
		if err := imports(release, document(1), document(2)); err != nil {
			t.Fatal(err)
		}
		a.Clock.Advance(3 * time.Hour)
		finish()
		if err := imports(end); err != nil {
			t.Fatal(err)
		}
		wantSound(t, a)
		if got := c.GET(one+"/media/"+id(30)+"/content").Want(t, 200); string(got.Body) != "bytes" {
			t.Errorf("the medium is %q", got.Body)
		}
		if tree := c.GET(one+"/tree").Want(t, 200); tree.JSON["total"] != 2.0 {
			t.Errorf("the tree is %s", tree.Body)
		}
		c.DELETE(one).Want(t, 204)
		if got := used(); got != before {
			t.Errorf("after deleting it %v bytes count, want %v", got, before)
		}
		wantSound(t, a)
	})
}
