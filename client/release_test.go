package client_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D183, D184: a release is made, read and compared, and stays as it is.
func TestReleases_FromMakingToDeleting(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	p := must2(c.Projects.Create(ctx, client.NewProject{Name: "Handbook"}))(t)
	content := []byte("GIF89a\x02\x00\x01\x00\x00\x00\x00 and more")
	m := must2(c.Media.Upload(ctx, client.NewMedium{Filename: "a b.gif"}, content))(t)
	one := must2(c.Documents.Create(ctx, client.NewDocument{Title: "One", ProjectID: p.ID, Content: "![it](media:" + m.ID + ")\n"}))(t)
	two := must2(c.Documents.Create(ctx, client.NewDocument{Title: "Two", ProjectID: p.ID, ParentID: one.ID, Content: "two\n", Metadata: map[string]string{"a": "b"}}))(t)
	r := must2(c.Releases.Create(ctx, p.ID, client.NewRelease{Name: "1.0", Notes: "*first*"}))(t)
	if r.ProjectID != p.ID || r.Name != "1.0" || *r.Notes != "*first*" || r.Documents != 2 || r.KeyID == nil || r.CreatedAt.IsZero() || r.ETag == "" {
		t.Errorf("made %s", r.Raw())
	}
	if _, err := c.Releases.Create(ctx, p.ID, client.NewRelease{Name: "1.0"}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("another one of that name: %v", err)
	}

	must2(c.Documents.Update(ctx, one.ID, client.DocumentChange{Title: client.Set("Other"), Content: client.Set("other\n")}))(t)
	if err := c.Media.Delete(ctx, m.ID); err != nil {
		t.Error(err)
	}
	three := must2(c.Documents.Create(ctx, client.NewDocument{Title: "Three", ProjectID: p.ID}))(t)
	tree := must2(c.Releases.Tree(ctx, r.ID))(t)
	if tree.Total != 2 || tree.Data[0].Title != "One" || tree.Data[1].ID != two.ID || tree.Data[1].Depth != 2 {
		t.Errorf("the tree is %s", tree.Raw())
	}
	if d := must2(c.Releases.Document(ctx, r.ID, two.ID))(t); *d.Content != "two\n" || d.Metadata["a"] != "b" || *d.ParentID != one.ID {
		t.Errorf("the document is %s", d.Raw())
	}
	if text := must2(c.Releases.Content(ctx, r.ID, two.ID))(t); text != "two\n" {
		t.Errorf("the text is %q", text)
	}
	if html := must2(c.Releases.HTML(ctx, r.ID, two.ID))(t); !strings.Contains(html, "<p>two</p>") {
		t.Errorf("the HTML is %q", html)
	}
	sum := sha256.Sum256(content)
	if got := must2(c.Releases.Medium(ctx, r.ID, m.ID))(t); got.Filename != "a b.gif" || got.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("the medium is %+v", got)
	}
	var file bytes.Buffer
	if err := c.Releases.DownloadMedium(ctx, r.ID, m.ID, &file); err != nil || !bytes.Equal(file.Bytes(), content) {
		t.Errorf("downloaded %q: %v", file.Bytes(), err)
	}
	if _, err := c.Releases.Medium(ctx, r.ID, two.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a medium that the release does not have: %v", err)
	}

	next := must2(c.Releases.Create(ctx, p.ID, client.NewRelease{Name: "2.0"}))(t)
	for _, to := range []string{"", client.Present, next.ID} {
		d := must2(c.Releases.Diff(ctx, r.ID, to))(t)
		if len(d.Added) != 1 || d.Added[0].ID != three.ID || len(d.Changed) != 1 || d.Changed[0].Title != "Other" || len(d.Removed)+len(d.Moved) != 0 {
			t.Errorf("the difference to %q is %s", to, d.Raw())
		}
	}
	if _, err := c.Releases.Update(ctx, r.ID, client.ReleaseChange{Notes: client.Set("no")}, client.IfMatch(`"7-x"`)); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("a stale change: %v", err)
	}
	if r = must2(c.Releases.Update(ctx, r.ID, client.ReleaseChange{Notes: client.Null[string]()}, client.IfMatch(r.ETag)))(t); r.Notes != nil || r.Name != "1.0" {
		t.Errorf("changed to %s", r.Raw())
	}
	if got := must2(c.Releases.Get(ctx, r.ID))(t); got.Name != "1.0" || got.ETag != r.ETag {
		t.Errorf("got %s", got.Raw())
	}
	if all := collect(t, c.Releases.All(ctx, p.ID, client.ReleaseFilter{Paging: client.Paging{Limit: 1, Desc: true}})); len(all) != 2 || all[0].ID != next.ID {
		t.Errorf("all are %v", all)
	}
	if page := must2(c.Releases.List(ctx, p.ID, client.ReleaseFilter{Name: "1.0"}))(t); page.Total != 1 || page.Data[0].ID != r.ID {
		t.Errorf("by name: %+v", page)
	}
	if err := c.Releases.Delete(ctx, r.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Releases.Get(ctx, r.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("what is gone: %v", err)
	}
}

// D185: a share shows a release, which is then not deleted.
func TestReleases_InAShare(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	p := must2(c.Projects.Create(ctx, client.NewProject{Name: "Handbook"}))(t)
	r := must2(c.Releases.Create(ctx, p.ID, client.NewRelease{Name: "1.0"}))(t)
	s := must2(c.Shares.Create(ctx, client.NewShare{ResourceType: "project", ResourceID: p.ID, Release: client.NewestRelease, ShowReleases: true}))(t)
	if s.Release == nil || *s.Release != "newest" || !s.ShowReleases {
		t.Errorf("created %s", s.Raw())
	}
	s = must2(c.Shares.Update(ctx, s.ID, client.ShareChange{Release: client.Set(r.ID), ShowReleases: client.Set(false)}))(t)
	if s.Release == nil || *s.Release != r.ID || s.ShowReleases {
		t.Errorf("changed to %s", s.Raw())
	}
	if err := c.Releases.Delete(ctx, r.ID); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a release that a share shows: %v", err)
	}
	if s = must2(c.Shares.Update(ctx, s.ID, client.ShareChange{Release: client.Null[string]()}))(t); s.Release != nil {
		t.Errorf("changed to %s", s.Raw())
	}
	if err := c.Releases.Delete(ctx, r.ID); err != nil {
		t.Error(err)
	}
}

// D184: a document in releases is deleted for good only together with them.
func TestPurge_OfADocumentInReleases(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	p := must2(c.Projects.Create(ctx, client.NewProject{Name: "Handbook"}))(t)
	d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "One", ProjectID: p.ID, Content: "text"}))(t)
	r := must2(c.Releases.Create(ctx, p.ID, client.NewRelease{Name: "1.0"}))(t)
	if err := c.Documents.Delete(ctx, d.ID); err != nil {
		t.Fatal(err)
	}
	if err := c.Documents.Purge(ctx, d.ID); !errors.Is(err, client.ErrConflict) || !strings.Contains(err.Error(), "1.0") {
		t.Errorf("purged a document in a release: %v", err)
	}
	if err := c.Documents.PurgeWithReleases(ctx, d.ID); err != nil {
		t.Error(err)
	}
	if r = must2(c.Releases.Get(ctx, r.ID))(t); r.Documents != 0 {
		t.Errorf("the release is %s", r.Raw())
	}
	if _, err := c.Releases.Document(ctx, r.ID, d.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the document is still in the release: %v", err)
	}
}
