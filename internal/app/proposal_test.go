package app

import (
	"strings"
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

// D175: accepting deletes, restores and moves what is below a document in one transaction, up to a bound
// for the whole proposal. Beyond it, proposing and accepting are refused, and nothing changes.
func TestAccept_TouchesABoundedNumber(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		ctx := t.Context()
		r := newReviewing(t, a)
		bounds := Cascades{Whole: 2, Rows: 3_000, Touched: 6, Between: func() { t.Error("it was split into several transactions") }}
		small := a.WithCascades(bounds)
		at := sheaf.Match{Asked: true, Revisions: []int64{1}}
		from, err := a.CreateProject(ctx, r.Caller, sheaf.ProjectChange{Name: sheaf.Some("From")})
		r.must(err)
		to, err := a.CreateProject(ctx, r.Caller, sheaf.ProjectChange{Name: sheaf.Some("To")})
		r.must(err)
		live := func() int64 {
			page, err := a.Documents(ctx, r.Caller, sheaf.DocumentFilter{Project: sheaf.Some(from.ID)})
			r.must(err)
			return page.Total
		}
		for _, below := range []int{5, 6} {
			tops := map[sheaf.ProposalOp]sheaf.DocumentID{}
			for _, op := range []sheaf.ProposalOp{sheaf.ProposeDelete, sheaf.ProposeRestore, sheaf.ProposeMove} {
				tops[op] = r.document("Top", "", &from, "")
				middle := r.document("Middle", "", &from, tops[op])
				for range below - 1 {
					r.document("Below", "", &from, middle)
				}
			}
			r.must(a.DeleteDocument(ctx, r.Caller, tops[sheaf.ProposeRestore], sheaf.Match{}))
			for _, c := range []struct {
				change sheaf.ProposedChange
				grows  int64 // by how many documents the project grows
			}{
				{sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: tops[sheaf.ProposeDelete], BaseVersion: 1}, -6},
				{sheaf.ProposedChange{Op: sheaf.ProposeRestore, DocumentID: tops[sheaf.ProposeRestore]}, 6},
				{sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: tops[sheaf.ProposeMove], Move: sheaf.DocumentMove{ProjectID: sheaf.Some(to.ID)}}, -6},
			} {
				in := sheaf.ProposalChange{Title: sheaf.Some("P"), Changes: sheaf.Some([]sheaf.ProposedChange{c.change})}
				before := live()
				p, err := small.CreateProposal(ctx, r.Caller, in)
				if below == 5 {
					r.must(err)
					_, err = small.AcceptProposal(ctx, r.Caller, p.ID, at)
					r.must(err)
					if got := live() - before; got != c.grows {
						t.Errorf("%s: the project grew by %d documents, want %d", c.change.Op, got, c.grows)
					}
					continue
				}
				const says = "more than 6 documents at once"
				if sheaf.KindOf(err) != sheaf.Conflict || !strings.Contains(err.Error(), says) {
					t.Errorf("proposing to %s: %v", c.change.Op, err)
				}
				p, err = a.CreateProposal(ctx, r.Caller, in)
				r.must(err)
				if _, err := small.AcceptProposal(ctx, r.Caller, p.ID, at); sheaf.KindOf(err) != sheaf.Conflict || !strings.Contains(err.Error(), says) {
					t.Errorf("accepting to %s: %v", c.change.Op, err)
				}
				if now, err := a.Proposal(ctx, r.Caller, p.ID); err != nil || now.State != sheaf.ProposalOpen || live() != before {
					t.Errorf("after the refusal to %s it is %s, with %d documents instead of %d: %v", c.change.Op, now.State, live(), before, err)
				}
				_, err = a.AcceptProposal(ctx, r.Caller, p.ID, at)
				r.must(err)
				if got := live() - before; got != c.grows+c.grows/6 {
					t.Errorf("%s: the project grew by %d documents", c.change.Op, got)
				}
			}
		}
		// The bound is for all changes together.
		var all []sheaf.ProposedChange
		for range 7 {
			all = append(all, sheaf.ProposedChange{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("New")}})
		}
		if _, err := small.CreateProposal(ctx, r.Caller, sheaf.ProposalChange{Title: sheaf.Some("P"), Changes: sheaf.Some(all)}); sheaf.KindOf(err) != sheaf.Conflict {
			t.Errorf("seven new documents: %v", err)
		}
		_, err = small.CreateProposal(ctx, r.Caller, sheaf.ProposalChange{Title: sheaf.Some("P"), Changes: sheaf.Some(all[:6])})
		r.must(err)
	})
}
