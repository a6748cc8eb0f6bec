package client_test

import (
	"errors"
	"strings"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D81, D82: a text is read and written as it is, and every version of it is there.
func TestVersions_OfADocument(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "t", Content: "one\n"}))(t)
	text, etag, err := c.Documents.Content(ctx, d.ID)
	if err != nil || text != "one\n" || etag == "" {
		t.Fatalf("got %q, %q, %v", text, etag, err)
	}
	const second = "{\"two\": <b>\u2028 日本\r\n"
	before := must2(c.Me(ctx))(t).Storage.Used // with the answer to Create, which is kept for repetitions
	d = must2(c.Documents.PutContent(ctx, d.ID, second, client.IfMatch(etag)))(t)
	if d.Version != 2 || d.ContentBytes != int64(len(second)) || d.Content != nil {
		t.Errorf("got %s", d.Raw())
	}
	if _, err := c.Documents.PutContent(ctx, d.ID, "three", client.IfMatch(etag)); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("somebody was faster: %v", err)
	}
	if text, _, _ := c.Documents.Content(ctx, d.ID); text != second {
		t.Errorf("got %q", text)
	}
	if page := must2(c.Documents.HTML(ctx, d.ID))(t); !strings.Contains(page, "&lt;b&gt;") {
		t.Errorf("as HTML %q", page)
	}
	if used := must2(c.Me(ctx))(t).Storage.Used - before; used != int64(len(second)) {
		t.Errorf("the second version takes %d bytes", used)
	}
	page := must2(c.Documents.Versions(ctx, d.ID, client.Paging{Limit: 1}))(t)
	if page.Total != 2 || page.Data[0].Number != 2 || page.Data[0].ContentSHA256 != d.ContentSHA256 || page.Data[0].KeyID == nil || page.Data[0].Content != nil {
		t.Errorf("got %+v", page)
	}
	if all := collect(t, c.Documents.AllVersions(ctx, d.ID, client.Paging{Limit: 1})); len(all) != 2 || all[1].Number != 1 {
		t.Errorf("got %+v", all)
	}
	if all := collect(t, c.Documents.AllVersions(ctx, d.ID, client.Paging{Limit: 1, Desc: true})); len(all) != 2 || all[0].Number != 1 {
		t.Errorf("reversed: %+v", all)
	}
	if v := must2(c.Documents.Version(ctx, d.ID, 1))(t); *v.Content != "one\n" || v.Title != "t" {
		t.Errorf("got %s", v.Raw())
	}
	if diff := must2(c.Documents.Diff(ctx, d.ID, 1, 0))(t); !strings.Contains(diff, "-one\n+{\"two\"") {
		t.Errorf("got %q", diff)
	}
	if diff := must2(c.Documents.Diff(ctx, d.ID, 2, 1))(t); !strings.Contains(diff, "+one\n") {
		t.Errorf("the other way: %q", diff)
	}
	if d = must2(c.Documents.RestoreVersion(ctx, d.ID, 1))(t); d.Version != 3 || d.ContentBytes != 4 {
		t.Errorf("restored %s", d.Raw())
	}
	if _, err := c.Documents.Version(ctx, d.ID, 9); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a version that is none: %v", err)
	}
	if d = must2(c.Documents.PutContent(ctx, d.ID, ""))(t); d.Version != 4 || d.ContentBytes != 0 {
		t.Errorf("emptied %s", d.Raw())
	}
}
