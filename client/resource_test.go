package client_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestProjects_FromCreationToDeletion(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c, ctx := connect(t, a), t.Context()
		f := must2(c.Folders.Create(ctx, client.NewFolder{Name: "Products", EntityType: client.ProjectFolder}))(t)
		p := must2(c.Projects.Create(ctx, client.NewProject{Name: "<Handbook>", Description: "d", Icon: "book", Color: "#123456"}))(t)
		if p.ID == "" || *p.Description != "d" || p.FolderID != nil || p.CreatedAt.IsZero() || p.ETag == "" {
			t.Errorf("created %+v", p)
		}
		moved := must2(c.Projects.Move(ctx, p.ID, f.ID))(t)
		if moved.FolderID == nil || *moved.FolderID != f.ID {
			t.Errorf("moved %+v", moved)
		}
		if in := collect(t, c.Projects.All(ctx, client.ProjectFilter{FolderID: f.ID})); len(in) != 1 || in[0].ID != p.ID {
			t.Errorf("in the folder: %v", in)
		}
		must2(c.Projects.Move(ctx, p.ID, ""))(t)
		if in := collect(t, c.Projects.All(ctx, client.ProjectFilter{FolderID: client.None, Query: "handb"})); len(in) != 1 {
			t.Errorf("at the root: %v", in)
		}
		must2(c.Documents.Create(ctx, client.NewDocument{Title: "Start", ProjectID: p.ID}))(t)
		got := must2(c.Projects.Get(ctx, p.ID))(t)
		if got.DocumentCount != 1 || len(got.Documents) != 1 || got.Documents[0].Title != "Start" || got.Name != "<Handbook>" {
			t.Errorf("got %+v", got)
		}
		if !reflect.DeepEqual(fieldsOf(t, got.Raw())["name"], "<Handbook>") {
			t.Errorf("raw: %s", got.Raw())
		}
		if err := c.Projects.Delete(ctx, p.ID); err != nil {
			t.Error(err)
		}
		if _, err := c.Projects.Get(ctx, p.ID); !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrForbidden) {
			t.Errorf("after the deletion: %v", err)
		}
	})
}

// must2 lets a call with two results stand in an expression.
func must2[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		return must(t, v, err)
	}
}

func TestUpdate_TellsAbsentFromNull(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	p := must2(c.Projects.Create(ctx, client.NewProject{Name: "a", Description: "d", Icon: "book"}))(t)
	p = must2(c.Projects.Update(ctx, p.ID, client.ProjectChange{Icon: client.Null[string](), SortOrder: client.Set[int32](0), Name: client.Set("b")}))(t)
	if p.Name != "b" || p.Icon != nil || p.Description == nil || *p.Description != "d" {
		t.Errorf("got %+v", p)
	}
	_, err := c.Projects.Update(ctx, p.ID, client.ProjectChange{})
	var e *client.Error
	if !errors.As(err, &e) || e.Status != 400 || e.Code != client.ErrValidation || e.RequestID == "" || !strings.Contains(e.Error(), "VALIDATION_ERROR") {
		t.Errorf("an empty change: %v", err)
	}
}

func TestIfMatch_RefusesAStaleChange(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	p := must2(c.Projects.Create(ctx, client.NewProject{Name: "a"}))(t)
	fresh := must2(c.Projects.Update(ctx, p.ID, client.ProjectChange{Name: client.Set("b")}, client.IfMatch(p.ETag)))(t)
	if _, err := c.Projects.Update(ctx, p.ID, client.ProjectChange{Name: client.Set("c")}, client.IfMatch(p.ETag)); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("a stale update: %v", err)
	}
	if err := c.Projects.Delete(ctx, p.ID, client.IfMatch(p.ETag)); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("a stale deletion: %v", err)
	}
	got := must2(c.Projects.Get(ctx, p.ID))(t)
	if _, err := c.Projects.Get(ctx, p.ID, client.IfNoneMatch(got.ETag)); !errors.Is(err, client.ErrNotModified) {
		t.Errorf("nothing new: %v", err)
	}
	if _, err := c.Projects.Move(ctx, p.ID, "", client.IfMatch(fresh.ETag)); err != nil {
		t.Error(err)
	}
}

func TestIdempotencyKey_ACreationOfThatNameHasOneEffect(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	first := must2(c.Projects.Create(ctx, client.NewProject{Name: "a"}, client.IdempotencyKey("import-7")))(t)
	again := must2(c.Projects.Create(ctx, client.NewProject{Name: "a"}, client.IdempotencyKey("import-7")))(t)
	if again.ID != first.ID {
		t.Errorf("the repetition made %s beside %s", again.ID, first.ID)
	}
}

func TestRequestID_IsThatOfTheAnswer(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	_, err := c.Projects.Get(ctx, "0190b0a0-0000-7000-8000-000000000000", client.RequestID("mine-7"))
	var e *client.Error
	if !errors.As(err, &e) || e.RequestID != "mine-7" {
		t.Errorf("got %v", err)
	}
}

func TestFolders_AndDocuments(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	a := must2(c.Folders.Create(ctx, client.NewFolder{Name: "a", EntityType: client.ProjectFolder}))(t)
	b := must2(c.Folders.Create(ctx, client.NewFolder{Name: "b", EntityType: client.ProjectFolder, ParentID: a.ID, Color: "#000000"}))(t)
	b = must2(c.Folders.Update(ctx, b.ID, client.FolderChange{Color: client.Null[string](), Name: client.Set("c")}))(t)
	if b.Color != "#6b7280" || b.Name != "c" || b.Depth != 2 {
		t.Errorf("got %+v", b)
	}
	b = must2(c.Folders.Move(ctx, b.ID, ""))(t)
	if got := must2(c.Folders.Get(ctx, b.ID))(t); got.ParentID != nil || got.Depth != 1 {
		t.Errorf("got %+v", got)
	}
	if got := collect(t, c.Folders.All(ctx, client.FolderFilter{ParentID: client.None, EntityType: "project", Sort: "name", Paging: client.Paging{Desc: true}})); len(got) != 2 || got[0].ID != b.ID {
		t.Errorf("got %v", got)
	}
	if err := c.Folders.Delete(ctx, b.ID); err != nil {
		t.Error(err)
	}
	d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "t", Description: "x"}))(t)
	d = must2(c.Documents.Update(ctx, d.ID, client.DocumentChange{Description: client.Null[string]()}))(t)
	if d.Description != nil || d.ProjectID != nil {
		t.Errorf("got %+v", d)
	}
	if err := c.Documents.Delete(ctx, d.ID); err != nil {
		t.Error(err)
	}
	if page := must2(c.Documents.List(ctx, client.DocumentFilter{ProjectID: client.None}))(t); page.Total != 0 || page.Limit != 50 || page.More() {
		t.Errorf("got %+v", page)
	}
	must2(c.Documents.Restore(ctx, d.ID))(t)
	must2(c.Documents.Get(ctx, d.ID))(t)
}

func TestAll_ReadsEveryPageAndEnds(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	for i := range 7 {
		must2(c.Projects.Create(ctx, client.NewProject{Name: fmt.Sprint(i)}))(t)
	}
	for limit := range 9 {
		var names string
		for _, p := range collect(t, c.Projects.All(ctx, client.ProjectFilter{Paging: client.Paging{Limit: limit, Offset: 1}})) {
			names += p.Name
		}
		if names != "123456" {
			t.Errorf("limit %d: %s", limit, names)
		}
		names = ""
		for _, e := range collect(t, c.Events.All(ctx, client.EventFilter{Paging: client.Paging{Limit: limit}})) {
			names += string(fieldsOf(t, e.Payload)["name"].(string))
		}
		if names != "0123456" {
			t.Errorf("events by %d: %s", limit, names)
		}
	}
	reversed := collect(t, c.Events.All(ctx, client.EventFilter{Paging: client.Paging{Limit: 3, Desc: true}}))
	if len(reversed) != 7 {
		t.Errorf("reversed: %d", len(reversed))
	}
	if after := collect(t, c.Events.All(ctx, client.EventFilter{After: reversed[3].ID, Paging: client.Paging{Limit: 2}})); len(after) != 3 {
		t.Errorf("after the fourth: %d", len(after))
	}
	for range c.Projects.All(ctx, client.ProjectFilter{Paging: client.Paging{Limit: 2}}) {
		break // the reader may stop
	}
	n := 0
	for _, err := range c.Projects.All(ctx, client.ProjectFilter{FolderID: "nonsense"}) {
		if n++; !errors.Is(err, client.ErrValidation) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("an error came %d times", n)
	}
}

func TestKeys_MeAndIcons(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	c, ctx := connect(t, a), t.Context()
	until := time.Now().Add(time.Hour)
	k := must2(c.Keys.Create(ctx, client.NewKey{Name: "ci", Scopes: []string{"projects:read"}, ExpiresAt: &until}))(t)
	if k.Secret == nil || k.ExpiresAt == nil {
		t.Fatalf("created %+v", k)
	}
	me := must2(with(t, a, *k.Secret).Me(ctx))(t)
	if me.Key.ID != k.ID || me.Plan != "business" || me.Workspace.Name != "Acme" {
		t.Errorf("got %+v", me)
	}
	if _, err := with(t, a, *k.Secret).Documents.List(ctx, client.DocumentFilter{}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("without the scope: %v", err)
	}
	rotated := must2(c.Keys.Rotate(ctx, k.ID, time.Minute))(t)
	if rotated.ID != k.ID || rotated.Secret == nil || *rotated.Secret == *k.Secret || rotated.Owner != "user" {
		t.Errorf("rotated %+v", rotated)
	}
	for _, secret := range []string{*k.Secret, *rotated.Secret} {
		must2(with(t, a, secret).Me(ctx))(t)
	}
	k = must2(c.Keys.Rotate(ctx, k.ID, 0))(t)
	if _, err := with(t, a, *rotated.Secret).Me(ctx); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("the old secret: %v", err)
	}
	if err := c.Keys.Revoke(ctx, k.ID); err != nil {
		t.Error(err)
	}
	if _, err := with(t, a, *k.Secret).Me(ctx); !errors.Is(err, client.ErrUnauthorized) {
		t.Errorf("revoked: %v", err)
	}
	if keys := collect(t, c.Keys.All(ctx, client.Paging{})); len(keys) != 1 || keys[0].Secret != nil {
		t.Errorf("got %+v", keys)
	}
	if icons := collect(t, c.Icons.All(ctx, client.Paging{Limit: 30})); len(icons) != 67 || !strings.HasPrefix(icons[0].SVG, "<svg") {
		t.Errorf("%d icons", len(icons))
	}
}

func TestSubscriptions_AndDeliveries(t *testing.T) {
	t.Parallel()
	a := apitest.SQLite(t)
	a.Deliver(sheaf.Schedule{})
	hook := must2(sheaftest.Receive(a.Webhooks.CA))(t)
	defer hook.Close()
	hook.Always(500, "no")
	c, ctx := connect(t, a), t.Context()
	s := must2(c.Subscriptions.Create(ctx, client.NewSubscription{Name: "site", URL: hook.URL, Events: []string{"media.uploaded"},
		Headers: map[string]string{"X-Token": "t"}}))(t)
	if s.Secret == nil || !s.Active || len(s.HeaderNames) != 1 {
		t.Fatalf("created %+v", s)
	}
	if r := must2(c.Subscriptions.Test(ctx, s.ID))(t); r.Delivered || *r.StatusCode != 500 || r.ResponseBody == nil || *r.ResponseBody != "no" {
		t.Errorf("tested %+v", r)
	}
	began := time.Now().Add(-time.Minute)
	e := must2(c.Events.Publish(ctx, client.NewEvent{Type: "media.uploaded", ResourceID: s.ID, Payload: []byte(`{"n":1.00}`)}))(t)
	if got := must2(c.Events.Get(ctx, e.ID))(t); string(got.Payload) != `{"n":1.00}` || string(got.Raw()) != string(e.Raw()) {
		t.Errorf("got %s", got.Raw())
	}
	fate := func() client.Fate {
		for {
			f := collect(t, c.Events.AllFates(ctx, e.ID, client.Paging{}))[0]
			if f.Delivery != nil && f.Delivery.FinishedAt != nil {
				return f
			}
		}
	}
	failed := *fate().Delivery
	if failed.State != client.Failed {
		t.Fatalf("got %+v", failed)
	}
	hook.Always(204, "")
	if n := must2(c.Subscriptions.Recover(ctx, s.ID, began))(t); n != 1 {
		t.Errorf("recovered %d", n)
	}
	if d := fate().Delivery; d.State != client.Delivered {
		t.Errorf("recovered as %+v", d)
	}
	must2(c.Deliveries.Redeliver(ctx, failed.ID))(t)
	d := must2(c.Deliveries.Get(ctx, failed.ID))(t)
	if len(d.Attempts) < 2 || d.Attempts[0].ResponseBody != "no" || d.Attempts[0].ErrorClass == nil {
		t.Errorf("got %+v", d)
	}
	if all := collect(t, c.Deliveries.All(ctx, client.DeliveryFilter{SubscriptionID: s.ID, State: client.Held})); len(all) != 0 {
		t.Errorf("held: %v", all)
	}
	rotated := must2(c.Subscriptions.RotateSecret(ctx, s.ID, time.Hour))(t)
	if rotated.Secret == nil || *rotated.Secret == *s.Secret {
		t.Errorf("rotated %+v", rotated)
	}
	off := must2(c.Subscriptions.Update(ctx, s.ID, client.SubscriptionChange{Active: client.Set(false), Headers: client.Null[map[string]string]()}))(t)
	if off.Active || len(off.HeaderNames) != 0 || *off.DeactivationReason != "manual" {
		t.Errorf("turned off %+v", off)
	}
	if err := c.Subscriptions.Delete(ctx, s.ID); err != nil {
		t.Error(err)
	}
	if left := collect(t, c.Subscriptions.All(ctx, client.Paging{})); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c, ctx := connect(t, a), t.Context()
		f := must2(c.Folders.Create(ctx, client.NewFolder{Name: "Herons", EntityType: client.ProjectFolder}))(t)
		p := must2(c.Projects.Create(ctx, client.NewProject{Name: "Birds", Description: "The grey heron", FolderID: f.ID}))(t)
		d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "Heron", ProjectID: p.ID}))(t)
		page := must2(c.Search(ctx, client.SearchQuery{Text: "heron", Types: []string{"project", "document"}}))(t)
		if page.Total != 2 || page.Data[0].ID != d.ID || *page.Data[0].ProjectID != p.ID || *page.Data[0].FolderID != f.ID || page.Data[0].UpdatedAt.IsZero() {
			t.Errorf("found %+v", page)
		}
		if hit := page.Data[1]; hit.Type != "project" || hit.Title != "Birds" || hit.Snippet != "The grey heron" || !reflect.DeepEqual(hit.Ranges, [][2]int{{9, 5}}) {
			t.Errorf("found %+v", hit)
		}
		if all := collect(t, c.SearchAll(ctx, client.SearchQuery{Text: "heron", FolderID: f.ID, Paging: client.Paging{Limit: 1}})); len(all) != 2 {
			t.Errorf("in the folder: %v", all)
		}
		below := must2(c.Documents.Create(ctx, client.NewDocument{Title: "Young heron", ProjectID: p.ID, ParentID: d.ID}))(t)
		if all := collect(t, c.SearchAll(ctx, client.SearchQuery{Text: "heron", ProjectID: p.ID})); len(all) != 2 || all[0].ID != below.ID ||
			!reflect.DeepEqual(all[0].Path, []string{"Heron"}) || len(all[1].Path) != 0 {
			t.Errorf("in the project: %+v", all)
		}
	})
}
