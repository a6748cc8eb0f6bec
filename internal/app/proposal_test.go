package app

import (
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest"
)

// D175: merging waits for the turn of the workspace. A proposal whose documents have not changed needs
// none, and neither does one of another workspace.
func TestMerging_TakesTurns(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		ctx := t.Context()
		type proposed struct {
			Caller
			document sheaf.DocumentID
			sheaf.Proposal
		}
		var all []proposed
		for range 2 {
			ws, err := a.Operator().CreateWorkspace(ctx, NewWorkspace{Name: "w", Plan: sheaf.Business})
			if err != nil {
				t.Fatal(err)
			}
			c := Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
			d, err := a.CreateDocument(ctx, c, sheaf.DocumentChange{Title: sheaf.Some("T"), Content: sheaf.Some("a\nb\nc\n")})
			if err != nil {
				t.Fatal(err)
			}
			p, err := a.CreateProposal(ctx, c, sheaf.ProposalChange{Title: sheaf.Some("P"), Changes: sheaf.Some([]sheaf.ProposedChange{
				{Op: sheaf.ProposeEdit, DocumentID: d.ID, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some("A\nb\nc\n")}}})})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, proposed{c, d.ID, p})
		}
		one, other := all[0], all[1]
		done, err := a.merges.Take(ctx, string(one.Workspace), 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Proposal(ctx, one.Caller, one.ID); err != nil {
			t.Errorf("nothing to merge: %v", err)
		}
		for _, p := range all {
			if _, err := a.UpdateDocument(ctx, p.Caller, p.document, sheaf.DocumentChange{Content: sheaf.Some("a\nb\nC\n")}, sheaf.Match{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.Proposal(ctx, other.Caller, other.ID); err != nil {
			t.Errorf("another workspace: %v", err)
		}
		read := make(chan error)
		go func() {
			_, err := a.Proposal(ctx, one.Caller, one.ID)
			read <- err
		}()
		go func() {
			_, err := a.PreviewChange(ctx, one.Caller, one.ID, 0)
			read <- err
		}()
		sheaftest.Eventually(t, "both readers wait for their turns", func() bool { _, waiters := a.merges.Load(); return waiters == 2 })
		done()
		for range 2 {
			if err := <-read; err != nil {
				t.Errorf("after its turn: %v", err)
			}
		}
		if _, err := a.AcceptProposal(ctx, one.Caller, one.ID, sheaf.Match{Asked: true, Revisions: []int64{1}}); err != nil {
			t.Errorf("accepting: %v", err)
		}
		if turns, waiters := a.merges.Load(); turns+waiters > 0 {
			t.Errorf("%d turns and %d waiters are left", turns, waiters)
		}
	})
}
