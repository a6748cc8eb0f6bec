package client_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D160, D161, D162: a document is created, found and moved at its place in the tree.
func TestTree_OfAProject(t *testing.T) {
	t.Parallel()
	apitest.Run(t, func(t *testing.T, a *apitest.API) {
		c, ctx := connect(t, a), t.Context()
		p := must2(c.Projects.Create(ctx, client.NewProject{Name: "Handbook"}))(t)
		other := must2(c.Projects.Create(ctx, client.NewProject{Name: "Other"}))(t)
		create := func(title, parent string) client.Document {
			t.Helper()
			return must2(c.Documents.Create(ctx, client.NewDocument{Title: title, ProjectID: p.ID, ParentID: parent}))(t)
		}
		outline := func(project string) string {
			t.Helper()
			var out []string
			tree := must2(c.Projects.Tree(ctx, project))(t)
			if tree.Total != len(tree.Data) || tree.ETag == "" {
				t.Errorf("tree %s", tree.Raw())
			}
			for _, e := range tree.Data {
				out = append(out, strings.Repeat(".", e.Depth-1)+e.Title)
			}
			return strings.Join(out, " ")
		}
		want := func(project, want string) {
			t.Helper()
			if got := outline(project); got != want {
				t.Errorf("the tree is %q, want %q", got, want)
			}
		}
		one, two := create("one", ""), create("two", "")
		below := create("below", one.ID)
		if below.ParentID == nil || *below.ParentID != one.ID || one.ParentID != nil || one.SortOrder <= 0 || two.SortOrder <= one.SortOrder {
			t.Errorf("created %s, %s and %s", one.Raw(), two.Raw(), below.Raw())
		}
		zero := must2(c.Documents.Create(ctx, client.NewDocument{Title: "zero", ProjectID: p.ID, SortOrder: client.Set[int64](0)}))(t)
		if zero.SortOrder != 0 {
			t.Errorf("created %s", zero.Raw())
		}
		want(p.ID, "zero one .below two")
		tree := must2(c.Projects.Tree(ctx, p.ID))(t)
		if e := tree.Data[1]; e.ID != one.ID || e.Children != 1 || e.ParentID != nil || e.SortOrder != one.SortOrder || e.Version != 1 || !e.UpdatedAt.Equal(one.UpdatedAt) {
			t.Errorf("entry %+v", e)
		}
		if e := tree.Data[2]; e.ParentID == nil || *e.ParentID != one.ID || e.Depth != 2 {
			t.Errorf("entry %+v", e)
		}
		var level []string
		for _, d := range collect(t, c.Documents.All(ctx, client.DocumentFilter{ProjectID: p.ID, ParentID: client.None, Sort: "sort_order"})) {
			level = append(level, d.Title)
		}
		if !reflect.DeepEqual(level, []string{"zero", "one", "two"}) {
			t.Errorf("the top level is %v", level)
		}
		if in := collect(t, c.Documents.All(ctx, client.DocumentFilter{ParentID: one.ID})); len(in) != 1 || in[0].ID != below.ID {
			t.Errorf("below one: %v", in)
		}

		must2(c.Documents.Move(ctx, two.ID, client.DocumentMove{BeforeID: one.ID}))(t)
		want(p.ID, "zero two one .below")
		must2(c.Documents.Move(ctx, zero.ID, client.DocumentMove{AfterID: below.ID}))(t)
		want(p.ID, "two one .below .zero")
		must2(c.Documents.Move(ctx, zero.ID, client.DocumentMove{ParentID: client.Null[string]()}))(t)
		want(p.ID, "two one .below zero")
		moved := must2(c.Documents.Move(ctx, one.ID, client.DocumentMove{ProjectID: client.Set(other.ID)}))(t)
		if *moved.ProjectID != other.ID || moved.ParentID != nil {
			t.Errorf("moved %s", moved.Raw())
		}
		want(p.ID, "two zero")
		want(other.ID, "one .below")
		if _, err := c.Documents.Move(ctx, one.ID, client.DocumentMove{ParentID: client.Set(below.ID)}); !errors.Is(err, client.ErrValidation) {
			t.Errorf("moved below itself: %v", err)
		}
		if _, err := c.Documents.Move(ctx, one.ID, client.DocumentMove{}, client.IfMatch(one.ETag)); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("a stale move: %v", err)
		}

		must2(c.Documents.Update(ctx, zero.ID, client.DocumentChange{ParentID: client.Set(two.ID), SortOrder: client.Set[int64](-7)}))(t)
		put := must2(c.Documents.Put(ctx, "s:1", client.DocumentChange{Title: client.Set("put"), ProjectID: client.Set(p.ID), ParentID: client.Set(two.ID), SortOrder: client.Set[int64](-8)}))(t)
		if put.SortOrder != -8 || put.ParentID == nil {
			t.Errorf("put %s", put.Raw())
		}
		want(p.ID, "two .put .zero")
		must2(c.Batch(ctx, []client.Operation{
			{Action: "create", ResourceType: "document", Body: client.NewDocument{Title: "three", ProjectID: p.ID}},
			{Action: "move", ResourceType: "document", ResourceID: zero.ID, Body: client.DocumentMove{ParentID: client.Set(client.MadeBy(0))}},
			{Action: "move", ResourceType: "document", ResourceID: client.MadeBy(0), Body: client.DocumentMove{BeforeID: two.ID}},
		}))(t)
		want(p.ID, "three .zero two .put")
	})
}
