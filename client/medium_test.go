package client_test

import (
	"bytes"
	"errors"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestMedia_FromUploadToDeletion(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "Start"}))(t)
	content := []byte("GIF89a\x02\x00\x01\x00\x00\x00\x00 and more")
	m := must2(c.Media.Upload(ctx, client.NewMedium{Filename: "a b.gif", DocumentID: d.ID}, content))(t)
	if m.Filename != "a b.gif" || m.ContentType != "image/gif" || m.Bytes != int64(len(content)) || m.DocumentID == nil || *m.DocumentID != d.ID ||
		m.Width == nil || *m.Width != 2 || m.ETag == "" {
		t.Errorf("uploaded %s", m.Raw())
	}
	other := must2(c.Media.Upload(ctx, client.NewMedium{}, []byte("text")))(t)
	if all := collect(t, c.Media.All(ctx, client.MediumFilter{Paging: client.Paging{Limit: 1}})); len(all) != 2 {
		t.Errorf("all are %d", len(all))
	}
	for _, f := range []client.MediumFilter{{DocumentID: d.ID}, {ContentType: "image/"}} {
		if page := must2(c.Media.List(ctx, f))(t); page.Total != 1 || page.Data[0].ID != m.ID {
			t.Errorf("%+v finds %+v", f, page)
		}
	}
	var got bytes.Buffer
	if err := c.Media.Download(ctx, m.ID, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("downloaded %q: %v", got.Bytes(), err)
	}
	m = must2(c.Media.Update(ctx, m.ID, client.MediumChange{Filename: client.Set("c.gif"), DocumentID: client.Null[string]()}, client.IfMatch(m.ETag)))(t)
	if again := must2(c.Media.Get(ctx, m.ID))(t); again.Filename != "c.gif" || again.DocumentID != nil {
		t.Errorf("changed %s", again.Raw())
	}
	if err := c.Media.Delete(ctx, other.ID); err != nil {
		t.Error(err)
	}
	if err := c.Media.Download(ctx, other.ID, &got); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("what is gone: %v", err)
	}
}
