package client_test

import (
	"errors"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D84: a record is put by what another system calls it: made, changed, and left alone when it is the
// same.
func TestPut_MakesChangesAndLeavesAlone(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	f := must2(c.Folders.Put(ctx, "s:a", client.FolderPut{FolderChange: client.FolderChange{Name: client.Set("a")}, EntityType: client.ProjectFolder}))(t)
	p := must2(c.Projects.Put(ctx, "s:a/b", client.ProjectChange{Name: client.Set("b"), FolderID: client.Set(f.ID)}))(t)
	tags := "x, y"
	in := client.DocumentChange{Title: client.Set("c"), ProjectID: client.Set(p.ID), Content: client.Set("# c & d\n"),
		URL: client.Set("https://example.com/c"), Metadata: client.Set(map[string]*string{"tags": &tags})}
	d := must2(c.Documents.Put(ctx, "s:a/b/c d.md?&#", in))(t)
	again := must2(c.Documents.Put(ctx, "s:a/b/c d.md?&#", in))(t)
	if again.ID != d.ID || again.Version != 1 || !again.UpdatedAt.Equal(d.UpdatedAt) || *again.ExternalID != "s:a/b/c d.md?&#" {
		t.Errorf("the same again: %s", again.Raw())
	}
	got := must2(c.Documents.Get(ctx, d.ID))(t)
	if *got.Content != "# c & d\n" || got.ContentBytes != 8 || got.ContentSHA256 != d.ContentSHA256 || *got.URL != "https://example.com/c" || got.Metadata["tags"] != "x, y" {
		t.Errorf("got %s", got.Raw())
	}
	changed := must2(c.Documents.Put(ctx, "s:a/b/c d.md?&#", client.DocumentChange{Content: client.Set("e"), Metadata: client.Null[map[string]*string]()}))(t)
	if changed.Version != 2 || changed.Title != "c" || changed.Metadata != nil || *changed.ProjectID != p.ID {
		t.Errorf("changed %s", changed.Raw())
	}
	if len(collect(t, c.Documents.All(ctx, client.DocumentFilter{}))) != 1 || *p.ExternalID != "s:a/b" || *f.ExternalID != "s:a" {
		t.Errorf("there are others, or %s and %s lack what they are called", p.Raw(), f.Raw())
	}
}

// D84, D85: what is deleted is listed with its time, comes back with a put, and is purged only while it
// is deleted.
func TestPurge_OfWhatIsDeleted(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	d := must2(c.Documents.Put(ctx, "s:1", client.DocumentChange{Title: client.Set("a")}))(t)
	if err := c.Documents.Purge(ctx, d.ID); !errors.Is(err, client.ErrConflict) {
		t.Errorf("one that is there: %v", err)
	}
	if err := c.Documents.Delete(ctx, d.ID); err != nil {
		t.Fatal(err)
	}
	trash := collect(t, c.Documents.All(ctx, client.DocumentFilter{Deleted: true, Sort: "deleted_at"}))
	if len(trash) != 1 || trash[0].ID != d.ID || trash[0].DeletedAt == nil {
		t.Errorf("the trash has %+v", trash)
	}
	if back := must2(c.Documents.Put(ctx, "s:1", client.DocumentChange{Title: client.Set("b")}))(t); back.ID != d.ID || back.Title != "b" || back.DeletedAt != nil {
		t.Errorf("put again: %s", back.Raw())
	}
	for _, act := range []func() error{func() error { return c.Documents.Delete(ctx, d.ID) }, func() error { return c.Documents.Purge(ctx, d.ID) }} {
		if err := act(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Documents.Restore(ctx, d.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("restored what is purged: %v", err)
	}
}
