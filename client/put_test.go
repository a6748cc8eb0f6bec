package client_test

import (
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
