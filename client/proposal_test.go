package client_test

import (
	"errors"
	"testing"

	"sheaf.dev/client"
	"sheaf.dev/internal/sheaftest/apitest"
)

// D173 to D178: a proposal is made, read, discussed and decided.
func TestProposals_FromMakingToDeciding(t *testing.T) {
	t.Parallel()
	c, ctx := connect(t, apitest.SQLite(t)), t.Context()
	d := must2(c.Documents.Create(ctx, client.NewDocument{Title: "t", Content: "one\n"}))(t)
	in := client.NewProposal{Title: "Better", Message: "why", Changes: []client.NewChange{
		{Op: "edit", DocumentID: d.ID, BaseVersion: 1, Content: client.Set("two\n"), Description: client.Null[string]()},
		{Op: "create", Title: client.Set("new"), Metadata: client.Set(map[string]*string{"a": new(string)})},
		{Op: "create", Title: client.Set("below"), ParentID: client.Set(client.MadeBy(1))},
	}}
	p := must2(c.Proposals.Create(ctx, in))(t)
	if p.State != "open" || len(p.Changes) != 3 || *p.Changes[0].ContentBytes != 4 || *p.Message != "why" || *p.Changes[2].ParentID != "$1" {
		t.Errorf("made %s", p.Raw())
	}
	v := must2(c.Proposals.Preview(ctx, p.ID, 0))(t)
	if *v.Base != "one\n" || *v.Proposed != "two\n" || *v.Merged != "two\n" || v.Diff == nil {
		t.Errorf("the preview is %s", v.Raw())
	}
	comment := must2(c.Proposals.Comment(ctx, p.ID, client.NewComment{Body: "why?", Change: client.Set(int64(0))}))(t)
	if comment = must2(c.Proposals.UpdateComment(ctx, p.ID, comment.Number, "why not?"))(t); comment.Body != "why not?" || *comment.Change != 0 {
		t.Errorf("the comment is %s", comment.Raw())
	}
	if all := collect(t, c.Proposals.AllComments(ctx, p.ID, client.Paging{})); len(all) != 1 {
		t.Errorf("comments %v", all)
	}
	if err := c.Proposals.DeleteComment(ctx, p.ID, comment.Number); err != nil {
		t.Error(err)
	}
	if all := collect(t, c.Proposals.All(ctx, client.ProposalFilter{State: "open", DocumentID: d.ID})); len(all) != 1 || all[0].ID != p.ID {
		t.Errorf("listed %v", all)
	}
	if _, err := c.Proposals.Approve(ctx, p.ID, p.ETag); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("one's own was approved: %v", err)
	}
	if err := c.Proposals.TakeBackApproval(ctx, p.ID); err != nil {
		t.Error(err)
	}
	// Another client changes the same line, so the proposal conflicts until its base is the present version.
	must2(c.Documents.PutContent(ctx, d.ID, "three\n"))(t)
	p = must2(c.Proposals.Get(ctx, p.ID))(t)
	if len(p.Conflicts) != 1 || p.Conflicts[0].Hunks[0].Present != "three\n" {
		t.Errorf("the conflicts are %s", p.Raw())
	}
	if _, err := c.Proposals.Accept(ctx, p.ID, p.ETag); !errors.Is(err, client.ErrConflict) {
		t.Errorf("accepted with a conflict: %v", err)
	}
	in.Changes[0].BaseVersion = 2
	changed := must2(c.Proposals.Update(ctx, p.ID, client.ProposalChange{Changes: client.Set(in.Changes)}))(t)
	if _, err := c.Proposals.Accept(ctx, p.ID, p.ETag); !errors.Is(err, client.ErrPreconditionFailed) {
		t.Errorf("accepted what it was before: %v", err)
	}
	if done := must2(c.Proposals.Accept(ctx, p.ID, changed.ETag))(t); done.State != "accepted" || done.DecidedBy == nil {
		t.Errorf("accepted %s", done.Raw())
	}
	if text, _, _ := c.Documents.Content(ctx, d.ID); text != "two\n" {
		t.Errorf("the text is %q", text)
	}
	again := client.NewProposal{Title: "Again", Changes: []client.NewChange{{Op: "delete", DocumentID: d.ID, BaseVersion: 3}}}
	if p = must2(c.Proposals.Reject(ctx, must2(c.Proposals.Create(ctx, again))(t).ID, "no"))(t); p.State != "rejected" || *p.Note != "no" {
		t.Errorf("rejected %s", p.Raw())
	}
	if p = must2(c.Proposals.Withdraw(ctx, must2(c.Proposals.Create(ctx, again))(t).ID))(t); p.State != "withdrawn" {
		t.Errorf("withdrawn %s", p.Raw())
	}
}
