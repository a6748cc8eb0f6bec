package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// allEvents are the types whose events the tests of filters look at.
var allEvents = append([]string{"share.created", "share.deleted", "media.uploaded"}, serviceEvents...)

// passed says of each event that act emits, as "type: names", which of the subscriptions got it.
func passed(t testing.TB, c *apitest.Client, subs map[string]string, act func()) (out []string) {
	t.Helper()
	for _, e := range emitted(t, c, act) {
		var names []string
		for _, fate := range c.GET(at(events, e["id"].(string))+"/deliveries").Want(t, 200).Items(t) {
			name := fate["subscription_name"].(string)
			if fate["delivery"] != nil {
				names = append(names, name)
			} else if reason := fate["reason"].(string); !strings.HasPrefix(reason, "filtered") {
				t.Errorf("%s got no %v because %q", name, e["type"], reason)
			}
		}
		slices.Sort(names)
		out = append(out, fmt.Sprint(e["type"], ": ", strings.Join(names, " ")))
	}
	return out
}

// D131: an event passes by where its resource was before the change, or is after it.
func TestFilter_ByTheStateBeforeOrAfter(t *testing.T) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		c := a.Workspace(sheaf.Business).Client("")
		folder := func(name string, parent any) string {
			return create(t, c, folders, fields{"name": name, "entity_type": "project", "parent_id": parent})
		}
		top := folder("top", nil)
		middle := folder("middle", top)
		leaf := folder("leaf", middle)
		aside := folder("aside", nil)
		p := create(t, c, projects, fields{"name": "p", "folder_id": leaf})
		q := create(t, c, projects, fields{"name": "q", "folder_id": aside})
		d := create(t, c, documents, fields{"title": "d", "project_id": p})
		e := create(t, c, documents, fields{"title": "e", "project_id": q})
		subs := map[string]string{}
		for name, filter := range map[string]any{"all": nil, "folder": fields{"folder_ids": []string{top}}, "project": fields{"project_ids": []string{p}},
			"document": fields{"resource_ids": []string{d}}} {
			subs[name] = idOf(subscribe(t, c, fields{"name": name, "events": allEvents, "filter": filter}))
		}
		n := 0
		rename := func(path, id, field string) func() {
			return func() { n++; c.PATCH(at(path, id), fields{field: fmt.Sprint("name ", n)}).Want(t, 200) }
		}
		move := func(path, id, field string, to any) func() {
			return func() { c.PATCH(at(path, id), fields{field: to}).Want(t, 200) }
		}
		moveFolder := func(id string, to any) func() {
			return func() { c.POST(at(folders, id)+"/move", fields{"parent_id": to}).Want(t, 200) }
		}
		var share string
		for _, step := range []struct {
			what string
			act  func()
			want []string
		}{
			{"a document within", rename(documents, d, "title"), []string{"document.updated: all document folder project"}},
			{"another document", rename(documents, e, "title"), []string{"document.updated: all"}},
			{"it is moved away", move(documents, d, "project_id", q), []string{"document.updated: all document folder project"}},
			{"it is elsewhere", rename(documents, d, "title"), []string{"document.updated: all document"}},
			{"it comes back", move(documents, d, "project_id", p), []string{"document.updated: all document folder project"}},
			{"its project is moved away", move(projects, p, "folder_id", aside), []string{"project.updated: all folder project"}},
			{"in a project elsewhere", rename(documents, d, "title"), []string{"document.updated: all document project"}},
			{"the project comes back", move(projects, p, "folder_id", leaf), []string{"project.updated: all folder project"}},
			{"a folder within", rename(folders, middle, "name"), []string{"folder.updated: all folder"}},
			{"the other folder", rename(folders, aside, "name"), []string{"folder.updated: all"}},
			{"a share of it", func() {
				share = create(t, c, "/api/v1/shares", fields{"resource_type": "document", "resource_id": d})
			}, []string{"share.created: all document folder project"}},
			{"the share ends", func() { c.DELETE("/api/v1/shares/"+share).Want(t, 204) }, []string{"share.deleted: all document folder project"}},
			{"a share of the project", func() { create(t, c, "/api/v1/shares", fields{"resource_type": "project", "resource_id": p}) },
				[]string{"share.created: all folder project"}},
			{"a file of it", func() { c.POST("/api/v1/media?document_id="+d, "bytes").Want(t, 201) }, []string{"media.uploaded: all document folder project"}},
			{"a folder between is moved away", moveFolder(middle, aside), []string{"folder.updated: all folder"}},
			{"all below it is elsewhere", rename(documents, d, "title"), []string{"document.updated: all document project"}},
			{"the folder comes back", moveFolder(middle, top), []string{"folder.updated: all folder"}},
			{"a batch that moves it twice", func() {
				results(t, run(c, []fields{
					{"action": "move", "resource_type": "folder", "resource_id": middle, "body": fields{"parent_id": nil}},
					{"action": "update", "resource_type": "document", "resource_id": d, "body": fields{"title": "elsewhere"}},
					{"action": "move", "resource_type": "folder", "resource_id": middle, "body": fields{"parent_id": top}},
					{"action": "update", "resource_type": "document", "resource_id": d, "body": fields{"title": "back"}}}))
			}, []string{"folder.updated: all folder", "document.updated: all document project", "folder.updated: all folder", "document.updated: all document folder project"}},
			{"the folder is deleted", func() { c.DELETE(at(folders, top)).Want(t, 204) },
				[]string{"project.updated: all folder project", "folder.deleted: all folder", "folder.deleted: all folder", "folder.deleted: all folder"}},
			{"what was in it", rename(documents, d, "title"), []string{"document.updated: all document project"}},
			{"the project is deleted", func() { c.DELETE(at(projects, p)).Want(t, 204) },
				[]string{"share.deleted: all project", "project.deleted: all project", "document.updated: all document project"}},
			{"the document is deleted", func() { c.DELETE(at(documents, d)).Want(t, 204) }, []string{"document.deleted: all document"}},
			{"and restored", func() { c.POST(at(documents, d)+"/restore", nil).Want(t, 200) }, []string{"document.created: all document"}},
			{"something new", func() { create(t, c, documents, fields{"title": "new", "project_id": q}) }, []string{"document.created: all"}},
		} {
			wantSame(t, step.what, passed(t, c, subs, step.act), step.want)
		}
		wantSound(t, a)
	})
}

// D131: an id that the workspace does not have is 404, but for one that the filter had; what is no filter
// is 400.
func TestFilter_WhatItTakes(t *testing.T) {
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		foreign := create(t, a.Workspace(sheaf.Pro).Client(""), projects, fields{"name": "theirs"})
		c := a.Workspace(sheaf.Pro).Client("")
		p := create(t, c, projects, fields{"name": "p"})
		f := create(t, c, folders, fields{"name": "f", "entity_type": "project"})
		with := func(filter any) *apitest.Response {
			return c.POST(subscriptions, fields{"name": "n", "url": hook, "events": allEvents, "filter": filter})
		}
		for _, ids := range []fields{{"project_ids": []string{nowhereID}}, {"project_ids": []string{foreign}}, {"project_ids": []string{f}}, {"folder_ids": []string{p}},
			{"folder_ids": []string{f, nowhereID}}, {"resource_ids": []string{foreign}}, {"resource_ids": []string{p, nowhereID}}} {
			with(ids).WantError(t, 404, "NOT_FOUND")
		}
		for _, bad := range []any{fields{}, fields{"project_ids": []string{}}, fields{"project_ids": p}, fields{"project_ids": []any{nil}}, fields{"folder_ids": []string{"f"}}, []string{p}, "f",
			fields{"resource_ids": slices.Repeat([]string{p}, sheaf.MaxFilterIDs+1)}} {
			with(bad).WantError(t, 400, "VALIDATION_ERROR")
		}
		if n := len(c.GET(subscriptions).IDs(t)); n != 0 {
			t.Fatalf("refusals made %d subscriptions", n)
		}
		sub := inside(t, with(fields{"project_ids": []string{strings.ToUpper(p), p}, "folder_ids": []string{f}, "resource_ids": []string{p, f}}).Want(t, 201), "subscription")
		want := fields{"project_ids": []string{p}, "folder_ids": []string{f}, "resource_ids": []string{p, f}}
		wantJSON(t, "the filter", sub["filter"], want)
		// What it names may go: it stays, and can be sent back as it was read.
		c.DELETE(at(projects, p)).Want(t, 204)
		got := inside(t, c.PATCH(at(subscriptions, idOf(sub)), fields{"name": "other", "filter": sub["filter"]}).Want(t, 200), "subscription")
		wantJSON(t, "after the project went", got["filter"], want)
		c.PATCH(at(subscriptions, idOf(sub)), fields{"filter": fields{"folder_ids": []string{p}}}).WantError(t, 404, "NOT_FOUND", "folder")
		wantSame(t, "what is elsewhere", passed(t, c, nil, func() { create(t, c, projects, fields{"name": "other"}) }), []string{"project.created: "})
		got = inside(t, c.PATCH(at(subscriptions, idOf(sub)), fields{"filter": nil}).Want(t, 200), "subscription")
		if got["filter"] != nil {
			t.Errorf("null left %v", got["filter"])
		}
		wantSame(t, "without a filter", passed(t, c, nil, func() { create(t, c, projects, fields{"name": "again"}) }), []string{"project.created: other"})
		c.PATCH(at(subscriptions, idOf(sub)), fields{"filter": fields{"folder_ids": []string{f}}}).Want(t, 200)
		wantSound(t, a)
		c.DELETE(at(subscriptions, idOf(sub))).Want(t, 204)
		wantSound(t, a)
	})
}
