package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/media"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D169: a batch does not tell how much is in or below a record outside.
func TestRestriction_BatchHidesSizes(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		below := create(t, d.owner, folders, fields{"name": canary + " below", "entity_type": "project", "parent_id": d.out["folders"]})
		for i := range 7 {
			under(t, d.owner, d.out["projects"], d.out["documents"], fmt.Sprint(canary, i))
			create(t, d.owner, projects, fields{"name": fmt.Sprint(canary, i), "folder_id": below})
		}
		for _, c := range []*apitest.Client{d.inFolder, d.inProject} {
			for noun, id := range map[string]string{"project": d.out["projects"], "folder": d.out["folders"], "document": d.out["documents"]} {
				sameAsUnknown(t, c, "POST", "/api/v1/batch", `{"operations":[{"action":"delete","resource_type":"`+noun+`","resource_id":"%"}]}`, id)
			}
			sameAsUnknown(t, c, "POST", "/api/v1/batch", `{"operations":[{"action":"move","resource_type":"document","resource_id":"%","body":{"project_id":"`+d.project+`"}}]}`, d.out["documents"])
			sameAsUnknown(t, c, "POST", "/api/v1/batch", `{"operations":[{"action":"update","resource_type":"document","resource_id":"%","body":{"project_id":"`+d.project+`"}}]}`, d.out["documents"])
		}
	}, func(c *apitest.Config) { c.App = c.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Moved: 3}) })
}

// D169: an upload for a document outside does not exist, even before it is a medium, and no request
// interrupts, continues or ends it. The upload that the key began itself stays its own.
func TestRestriction_Uploads(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		for _, of := range []string{"", d.out["documents"]} {
			var about []string
			if of != "" {
				about = append(about, metadata("document_id", of))
			}
			theirs := begin(t, d.owner, 10, about...)
			for _, c := range []*apitest.Client{d.inFolder, d.inProject} {
				unknown := uploadsPath + "/" + nowhereID
				for what, ask := range map[string]func(path string) *apitest.Response{
					"HEAD":   func(path string) *apitest.Response { return c.Do("HEAD", path, nil, tusHeader) },
					"PATCH":  func(path string) *apitest.Response { return piece(c, path, 0, []byte("12345")) },
					"DELETE": func(path string) *apitest.Response { return c.DELETE(path, tusHeader) },
				} {
					got, want := ask(theirs), ask(unknown)
					if got.Status != 404 || got.Status != want.Status || string(got.Body) != string(want.Body) || got.Header.Get("Upload-Length") != "" {
						t.Errorf("%s of an upload outside: %d %v %s, of an unknown one: %d %s", what, got.Status, got.Header, got.Body, want.Status, want.Body)
					}
				}
			}
			if at := offset(t, d.owner, theirs); at != "0" {
				t.Errorf("the upload outside is at %s", at)
			}
			piece(d.owner, theirs, 0, []byte("1234567890")).Want(t, 204)
		}
		inside := metadata("document_id", d.document)
		mine := begin(t, d.inFolder, 10, inside)
		piece(d.inFolder, mine, 0, []byte("12345")).Want(t, 204)
		if at := offset(t, d.inProject, mine); at != "5" { // of a document that it sees
			t.Errorf("the upload inside is at %s", at)
		}
		left := begin(t, d.inFolder, 10, inside)
		d.owner.POST(at(projects, d.project)+"/move", fields{"folder_id": d.out["folders"]}).Want(t, 200)
		if at := offset(t, d.inFolder, mine); at != "5" {
			t.Errorf("its own upload is at %s", at)
		}
		piece(d.inFolder, mine, 5, []byte("67890")).WantError(t, 404, "NOT_FOUND")
		d.inFolder.DELETE(left, tusHeader).Want(t, 204)
		if n := d.owner.GET(mediaPath+"?document_id="+d.document).Want(t, 200).JSON["total"]; n != 1.0 {
			t.Errorf("the document that left has %v files", n)
		}
	})
}

// joining is a store of media that calls `first` before it joins the pieces of an upload.
type joining struct {
	media.Store
	first func()
}

func (j joining) Join(ctx context.Context, upload string, at media.Progress, key media.Key) error {
	j.first()
	return j.Store.Join(ctx, upload, at, key)
}

// D170: an upload needs a visible document until it ends, also while its bytes are joined.
func TestRestriction_AnUploadEndsInside(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		path := begin(t, d.inFolder, 5, metadata("document_id", d.document))
		a.Media.Store = joining{a.Media.Store, func() {
			d.owner.POST(at(projects, d.project)+"/move", fields{"folder_id": d.out["folders"]}).Want(t, 200)
		}}
		piece(d.inFolder, path, 0, []byte("12345")).WantError(t, 404, "NOT_FOUND", "document")
		d.inFolder.Do("HEAD", path, nil, tusHeader).Want(t, 404)
		if n := d.owner.GET(mediaPath+"?document_id="+d.document).Want(t, 200).JSON["total"]; n != 1.0 {
			t.Errorf("the document that left has %v files", n)
		}
	})
}

// D169: a folder above a visible record narrows a search as an unknown folder does.
func TestRestriction_SearchInAFolderAbove(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		top := d.owner.GET(at(folders, d.folder)).Want(t, 200).Text(t, "parent_id")
		for _, c := range []*apitest.Client{d.inFolder, d.inProject} {
			sameAsUnknown(t, c, "GET", "/api/v1/search?q=inside&folder_id=%", "", top)
		}
		if n := d.inFolder.GET("/api/v1/search?q=inside&folder_id="+d.folder).Want(t, 200).JSON["total"]; n != 2.0 {
			t.Errorf("in the visible folder %v are found", n)
		}
		if n := d.owner.GET("/api/v1/search?q=inside&folder_id="+top).Want(t, 200).JSON["total"]; n != 3.0 {
			t.Errorf("without a restriction %v are found", n)
		}
	})
}

// D170: a key that does not see brandings changes a share that has one, and sets none.
func TestRestriction_ShareWithABranding(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		var few []string
		for _, s := range restrictable() {
			if !strings.HasPrefix(s, "brandings:") {
				few = append(few, s)
			}
		}
		blind := a.Client(d.owner.POST(keys, fields{"name": "k", "scopes": few, "restricted_to": fields{"folder_ids": []string{d.folder}}}).Want(t, 201).Text(t, "key"))
		path, branded := at(shares, d.share), fields{"branding_id": d.out["brandings"]}
		sameAsUnknown(t, blind, "PATCH", path, `{"branding_id":"%"}`, d.out["brandings"])
		d.owner.PATCH(path, branded).Want(t, 200)
		blind.PATCH(path, fields{"listed": true}).Want(t, 200)
		blind.PATCH(path, fields{"branding_id": nil}).Want(t, 200)
		blind.PATCH(path, branded).WantError(t, 404, "NOT_FOUND", "branding")
	})
}

// D169: if the key does not see a folder above, no answer reveals whether that folder is shared. A key that may
// write and not read gets the same answers in both cases. A share of a visible folder counts.
func TestRestriction_AShareAboveIsNotTold(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		owner := a.Workspace(sheaf.Business).Client("")
		folder := func(c *apitest.Client, name string, parent any) string {
			return create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": parent})
		}
		above := folder(owner, "above", nil)
		below, aside := folder(owner, "below", above), folder(owner, "aside", nil)
		project := create(t, owner, projects, fields{"name": "filed", "folder_id": below})
		document := create(t, owner, documents, fields{"title": "read by nobody", "project_id": project})
		file := owner.POST(mediaPath+"?document_id="+document, "bytes", "Content-Type: text/plain").Want(t, 201).Text(t, "id")
		writes := a.Client(owner.POST(keys, fields{"name": "writes", "restricted_to": fields{"folder_ids": []string{below, aside}},
			"scopes": []string{"projects:read", "projects:write", "documents:write"}}).Want(t, 201).Text(t, "key"))
		// answers are the statuses of changes by which a share of the folder would begin to show something.
		answers := func() (out []int) {
			moved := create(t, owner, projects, fields{"name": "moved", "folder_id": aside})
			create(t, owner, documents, fields{"title": "in it", "project_id": moved})
			inner := folder(owner, "inner", aside)
			gone := create(t, owner, documents, fields{"title": "gone", "project_id": project})
			owner.DELETE(at(documents, gone)).Want(t, 204)
			for _, r := range []*apitest.Response{
				writes.POST(at(projects, moved)+"/move", fields{"folder_id": below}),
				writes.PATCH(at(projects, moved), fields{"folder_id": below}),
				writes.POST(at(folders, inner)+"/move", fields{"parent_id": below}),
				writes.POST(at(documents, gone)+"/restore", ""),
				writes.POST(documents, fields{"title": "new", "project_id": project, "content": "![](media:" + file + ")"}),
			} {
				out = append(out, r.Status)
			}
			return out
		}
		before := answers()
		share := create(t, owner, shares, fields{"resource_type": "folder", "resource_id": above})
		if after := answers(); !slices.Equal(before, after) {
			t.Errorf("without a share above %v, with one %v", before, after)
		}
		owner.DELETE(at(shares, share)).Want(t, 204)
		create(t, owner, shares, fields{"resource_type": "folder", "resource_id": below})
		if after := answers(); slices.Equal(before, after) || after[0] != 403 {
			t.Errorf("with a visible share %v, without one %v", after, before)
		}
	})
}

// D170: a restore never reaches documents outside. A document whose deletion was interrupted may have
// been moved away from those that were deleted before.
func TestRestriction_RestoreStaysInside(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		ws := a.Workspace(sheaf.Business)
		c := ws.Client("")
		outside, inside := create(t, c, projects, fields{"name": "outside"}), create(t, c, projects, fields{"name": "inside"})
		top := under(t, c, outside, "", "top")
		for i := range 9 {
			under(t, c, outside, top, fmt.Sprint(i))
		}
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		rules := a.App.WithCascades(app.Cascades{Whole: 6, Rows: 6, Between: leave})
		caller := app.Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}
		if err := rules.DeleteDocument(ctx, caller, sheaf.DocumentID(top), sheaf.Match{}); sheaf.KindOf(err) != sheaf.Unavailable {
			t.Fatalf("the caller who left got %v", err)
		}
		c.POST(at(documents, top)+"/move", fields{"project_id": inside}).Want(t, 200)
		trash := func() int {
			return int(c.GET(documents+"?deleted=true&project_id="+outside).Want(t, 200).JSON["total"].(float64))
		}
		before := trash()
		if before == 0 {
			t.Fatal("nothing was deleted before the caller left")
		}
		restrictedKey(t, a, c, fields{"project_ids": []string{inside}}).POST(at(documents, top)+"/restore", nil).Want(t, 200)
		if after := trash(); after != before {
			t.Errorf("a restore inside brought back %d documents outside", before-after)
		}
		wantSound(t, a)
	})
}

// D171: that a subscription fails is told in the log of its restriction, also if a delivery shows it.
func TestRestriction_HealthInItsLog(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		broken := receiver(t, a)
		broken.Always(500, "")
		a.Deliver(quick)
		mine := idOf(subscribe(t, d.inProject, fields{"url": broken.URL, "events": []string{"document.created"}}))
		watching := idOf(subscribe(t, d.inProject, fields{"url": broken.URL, "events": []string{"subscription.failing"}}))
		for i := range sheaf.WarnFailures + 1 {
			create(t, d.owner, documents, fields{"title": fmt.Sprint(i), "project_id": d.project})
		}
		settled(t, d.owner, mine)
		wantSame(t, "its log", tales(t, d.inProject), []string{"subscription.failing " + mine})
		wantSame(t, "the log of another restriction", tales(t, d.inFolder), nil)
		if n := len(settled(t, d.owner, watching)); n != 1 {
			t.Errorf("another subscription with the same restriction got %d", n)
		}
		// A caller who sees everything learns why it got no other event.
		create(t, d.owner, documents, fields{"title": canary, "project_id": d.out["projects"]})
		outside := d.owner.GET(events+"?limit=1&order=desc&type=document.created").Want(t, 200).IDs(t)[0]
		for _, fate := range d.owner.GET(at(events, outside)+"/deliveries").Want(t, 200).Items(t) {
			if fate["subscription_id"] == mine && !strings.HasPrefix(fmt.Sprint(fate["reason"]), "restricted") {
				t.Errorf("the reason is %q", fate["reason"])
			}
		}
	})
}

// D170: a restricted key that reaches the quota learns that, the operation of a batch that did, and no
// figures of the workspace.
func TestRestriction_QuotaWithoutFigures(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		d := divide(t, a)
		made := fields{"title": "t", "project_id": d.project}
		told := d.owner.POST(documents, made).Want(t, 201).Text(t, "id")
		a.MaxRecords.Store(3)
		d.owner.POST(documents, made).WantError(t, 403, "QUOTA_REACHED", "3")
		r := d.inFolder.POST("/api/v1/batch", fields{"operations": []fields{
			{"action": "update", "resource_type": "document", "resource_id": told, "body": fields{"title": "n"}},
			{"action": "create", "resource_type": "document", "body": made}}}).WantError(t, 403, "QUOTA_REACHED", "operations[1]")
		if r.JSON["index"] != 1.0 {
			t.Errorf("the refusal has no index: %s", r.Body)
		}
		for _, r := range []*apitest.Response{r, d.inFolder.POST(documents, made).WantError(t, 403, "QUOTA_REACHED")} {
			text := strings.ReplaceAll(r.Text(t, "error"), "operations[1]", "")
			if strings.ContainsAny(text, "0123456789") {
				t.Errorf("the refusal has figures: %s", text)
			}
		}
	})
}
