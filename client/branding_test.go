package client_test

import (
	"errors"
	"testing"
	"time"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

func TestBrandings_FromCreationToDeletion(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	f := must2(c.Folders.Create(ctx, client.NewFolder{Name: "Customers", EntityType: client.BrandingFolder}))(t)
	b := must2(c.Brandings.Create(ctx, client.NewBranding{Name: "Acme", ColorPrimary: "#FFcc00", Font: client.SerifFont, Footer: "©"}))(t)
	if b.ID == "" || b.ColorPrimary != "#FFcc00" || b.Font != client.SerifFont || *b.Footer != "©" || b.FolderID != nil || b.ETag == "" {
		t.Errorf("created %+v", b)
	}
	moved := must2(c.Brandings.Move(ctx, b.ID, f.ID))(t)
	if moved.FolderID == nil || *moved.FolderID != f.ID {
		t.Errorf("moved %+v", moved)
	}
	if f = must2(c.Folders.Get(ctx, f.ID))(t); f.BrandingCount != 1 || f.ProjectCount != 0 {
		t.Errorf("the folder has %+v", f)
	}
	if in := collect(t, c.Brandings.All(ctx, client.BrandingFilter{FolderID: f.ID, Query: "acm", UpdatedSince: time.UnixMilli(1)})); len(in) != 1 || in[0].ID != b.ID {
		t.Errorf("in the folder: %v", in)
	}
	b = must2(c.Brandings.Update(ctx, b.ID, client.BrandingChange{Footer: client.Null[string](), Font: client.Null[string](), Name: client.Set("Beta")}))(t)
	if b.Name != "Beta" || b.Footer != nil || b.Font != client.SystemFont || b.ColorPrimary != "#FFcc00" {
		t.Errorf("updated %+v", b)
	}
	if _, err := c.Brandings.Create(ctx, client.NewBranding{Name: "x", LogoMediaID: b.ID}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("with a logo that is none: %v", err)
	}
	if err := c.Brandings.Delete(ctx, b.ID, client.IfMatch(moved.ETag)); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("deleted as it was before: %v", err)
	}
	if err := c.Brandings.Delete(ctx, b.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Brandings.Get(ctx, b.ID); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}
