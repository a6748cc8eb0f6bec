package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// reviewing is a workspace in which one caller proposes and accepts.
type reviewing struct {
	*testing.T
	a *App
	Caller
}

func newReviewing(t *testing.T, a *App) *reviewing {
	t.Helper()
	ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "w", Plan: sheaf.Business})
	if err != nil {
		t.Fatal(err)
	}
	return &reviewing{t, a, Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner, Plan: sheaf.Business}}
}

func (r *reviewing) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *reviewing) document(title, text string, in *sheaf.Project, below sheaf.DocumentID) sheaf.DocumentID {
	r.Helper()
	c := sheaf.DocumentChange{Title: sheaf.Some(title), Content: sheaf.Some(text)}
	if in != nil {
		c.ProjectID = sheaf.Some(in.ID)
	}
	if below != "" {
		c.ParentID = sheaf.Some(below)
	}
	d, err := r.a.CreateDocument(r.Context(), r.Caller, c)
	r.must(err)
	return d.ID
}

func (r *reviewing) edit(id sheaf.DocumentID, c sheaf.DocumentChange) {
	r.Helper()
	_, err := r.a.UpdateDocument(r.Context(), r.Caller, id, c, sheaf.Match{})
	r.must(err)
}

// accepted makes a proposal and accepts it.
func (r *reviewing) accepted(changes ...sheaf.ProposedChange) sheaf.ProposalID {
	r.Helper()
	p, err := r.a.CreateProposal(r.Context(), r.Caller, sheaf.ProposalChange{Title: sheaf.Some("Better"), Changes: sheaf.Some(changes)})
	r.must(err)
	r.accept(p.ID)
	return p.ID
}

func (r *reviewing) accept(id sheaf.ProposalID) {
	r.Helper()
	_, err := r.a.AcceptProposal(r.Context(), r.Caller, id, sheaf.Match{Asked: true, Revisions: []int64{1}})
	r.must(err)
}

func (r *reviewing) refused(id sheaf.ProposalID, part string) {
	r.Helper()
	if p, err := r.a.RevertProposal(r.Context(), r.Caller, id); sheaf.KindOf(err) != sheaf.Conflict || !strings.Contains(err.Error(), part) {
		r.Errorf("%v, %v; want %q", p.ID, err, part)
	}
}

// revert undoes a proposal, and accepts that.
func (r *reviewing) revert(id sheaf.ProposalID) sheaf.Proposal {
	r.Helper()
	p, err := r.a.RevertProposal(r.Context(), r.Caller, id)
	r.must(err)
	r.accept(p.ID)
	return p
}

func (r *reviewing) text(id sheaf.DocumentID) string {
	r.Helper()
	d, err := r.a.DocumentText(r.Context(), r.Caller, id)
	r.must(err)
	return d.Content
}

// state has all live documents in the order of their levels, with what people wrote.
func (r *reviewing) state() string {
	r.Helper()
	page, err := r.a.Documents(r.Context(), r.Caller, sheaf.DocumentFilter{Paging: sheaf.Paging{Limit: 100}})
	r.must(err)
	slices.SortFunc(page.Items, func(a, b sheaf.Document) int {
		return cmp.Or(cmp.Compare(a.SortOrder, b.SortOrder), cmp.Compare(a.Number, b.Number))
	})
	show := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	var b strings.Builder
	for _, d := range page.Items {
		fmt.Fprintln(&b, d.Title, show((*string)(d.ProjectID)), show((*string)(d.ParentID)), show(d.Description), show(d.URL), d.Metadata, r.text(d.ID))
	}
	return b.String()
}

// D182: the revert of a proposal undoes each op, from the last change to the first. The revert of the
// revert makes the changes again.
func TestRevert_UndoesEveryOp(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		r := newReviewing(t, a)
		var in [2]sheaf.Project
		for i := range in {
			var err error
			in[i], err = a.CreateProject(t.Context(), r.Caller, sheaf.ProjectChange{Name: sheaf.Some(fmt.Sprint("P", i))})
			r.must(err)
		}
		edited, above := r.document("Edited", "a\nb\nc\n", nil, ""), r.document("Above", "x", &in[0], "")
		r.edit(edited, sheaf.DocumentChange{Description: sheaf.Some("d"),
			Metadata: sheaf.Some(sheaf.MetadataChange{Entries: []sheaf.MetadataEntry{{Name: "kept", Value: new("1")}, {Name: "gone", Value: new("2")}}})})
		_, moved, _ := r.document("First", "1", &in[0], above), r.document("Second", "2", &in[0], above), r.document("Third", "3", &in[0], above)
		restored := r.document("Restored", "r", &in[1], "")
		r.must(a.DeleteDocument(t.Context(), r.Caller, restored, sheaf.Match{}))
		before := r.state()
		id := r.accepted(
			sheaf.ProposedChange{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("New"), ProjectID: sheaf.Some(in[1].ID)}},
			sheaf.ProposedChange{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("Below"), ProjectID: sheaf.Some(in[1].ID), ParentID: sheaf.Some(sheaf.DocumentID("$0"))}},
			sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: edited, BaseVersion: 1, Document: sheaf.DocumentChange{Title: sheaf.Some("Renamed"),
				Content: sheaf.Some("a\nB\nc\n"), Description: sheaf.Nil[string](), URL: sheaf.Some("https://example.com/"),
				Metadata: sheaf.Some(sheaf.MetadataChange{Merge: true, Entries: []sheaf.MetadataEntry{{Name: "gone"}, {Name: "new", Value: new("3")}}})}},
			sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: above, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some("y")}},
			sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: moved, Move: sheaf.DocumentMove{ProjectID: sheaf.Some(in[1].ID), ParentID: sheaf.Some(sheaf.DocumentID("$0"))}},
			sheaf.ProposedChange{Op: sheaf.ProposeRestore, DocumentID: restored},
		)
		after := r.state()
		if after == before || !strings.Contains(after, "Renamed") || strings.Count(after, "\n") < strings.Count(before, "\n")+3 {
			t.Fatalf("accepted:\n%s", after)
		}
		p := r.revert(id)
		if got := r.state(); got != before {
			t.Errorf("undone:\n%s\nwant:\n%s", got, before)
		}
		if p.Title != "Revert “Better”" || p.User != r.User || *p.Message != "Undoes proposal "+fmt.Sprint(r.number(id))+"." {
			t.Errorf("the revert is %q, %q, by %s", p.Title, *p.Message, p.User)
		}
		r.revert(p.ID)
		if got := r.state(); got != after {
			t.Errorf("done again:\n%s\nwant:\n%s", got, after)
		}
		r.revert(id)
		if got := r.state(); got != before {
			t.Errorf("undone again:\n%s\nwant:\n%s", got, before)
		}
		r.refused(id, "nothing is left to undo")
	})
}

func (r *reviewing) number(id sheaf.ProposalID) int64 {
	r.Helper()
	p, err := r.a.Proposal(r.Context(), r.Caller, id)
	r.must(err)
	return p.Number
}

// D182: a document that the proposal deleted comes back first, and then goes back to its place, gets its text, and
// has its children below it.
func TestRevert_OfADeletion(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		r := newReviewing(t, a)
		top := r.document("Top", "a\n", nil, "")
		child := r.document("Child", "c", nil, top)
		before := r.state()
		id := r.accepted(
			sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: top, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some("b\n")}},
			sheaf.ProposedChange{Op: sheaf.ProposeMove, DocumentID: child, Move: sheaf.DocumentMove{ParentID: sheaf.Nil[sheaf.DocumentID]()}},
			sheaf.ProposedChange{Op: sheaf.ProposeDelete, DocumentID: top, BaseVersion: 1})
		p, err := a.RevertProposal(t.Context(), r.Caller, id)
		r.must(err)
		for i := range p.Changes { // the page of the proposal shows each change of a document that is in the trash
			if v, err := a.PreviewChange(t.Context(), r.Caller, p.ID, i); err != nil || len(v.Conflicts) > 0 {
				t.Errorf("change %d: %v, %v", i, err, v.Conflicts)
			}
		}
		r.accept(p.ID)
		if got := r.state(); got != before {
			t.Errorf("undone:\n%s\nwant:\n%s", got, before)
		}
		r.must(a.DeleteDocument(t.Context(), r.Caller, child, sheaf.Match{}))
		r.refused(id, "is in the trash")
		r.must(a.PurgeDocument(t.Context(), r.Caller, child, false, sheaf.Match{}))
		r.refused(id, "changes[1]: this change cannot be undone: the document was deleted for good")
	})
}

// D182: a revert is merged with what changed since, in the text and in the fields. What was accepted is undone
// and nothing else, also if its acceptance merged it.
func TestRevert_IsMerged(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		r := newReviewing(t, a)
		lines := func(words string) string { return strings.ReplaceAll(words, " ", "\n") + "\n" }
		content := func(words string) sheaf.DocumentChange {
			return sheaf.DocumentChange{Content: sheaf.Some(lines(words))}
		}
		id := r.document("T", lines("a b c d e f g"), nil, "")
		r.edit(id, content("A b c d e f g")) // the acceptance merges it
		change := content("a b C d e f g")
		change.Description = sheaf.Some("proposed")
		p := r.accepted(sheaf.ProposedChange{Op: sheaf.ProposeEdit, DocumentID: id, BaseVersion: 1, Document: change})
		r.edit(id, content("A b C d E f g"))

		// Previous versions are kept only for a while. Without them, the change is taken out of the present text.
		for _, versions := range []string{"kept", "dropped"} {
			if versions == "dropped" {
				d, err := a.Document(t.Context(), r.Caller, id)
				r.must(err)
				r.must(a.store.Write(t.Context(), func(tx *store.Tx) error { _, _, err := tx.DropVersions(r.Workspace, id, d.Version-1); return err }))
			}
			revert, err := a.RevertProposal(t.Context(), r.Caller, p)
			r.must(err)
			text := r.text(id)
			r.accept(revert.ID)
			if got, want := r.text(id), strings.Replace(text, "C", "c", 1); got != want {
				t.Errorf("with the versions %s, undone %q, want %q", versions, got, want)
			}
			r.edit(id, sheaf.DocumentChange{Content: sheaf.Some(text), Description: sheaf.Some("proposed")})
		}
		r.edit(id, sheaf.DocumentChange{Description: sheaf.Some("of others")})
		revert, err := a.RevertProposal(t.Context(), r.Caller, p)
		r.must(err)
		got, err := a.Proposal(t.Context(), r.Caller, revert.ID)
		r.must(err)
		if len(got.Conflicts) != 1 || got.Conflicts[0].Reason != "description was changed to another value" {
			t.Errorf("conflicts %v", got.Conflicts)
		}
		r.edit(id, content("another text"))
		r.refused(p, "the earlier versions are no longer kept")
	})
}

// D182: only an accepted proposal can be undone, and only by a caller who may propose.
func TestRevert_OfWhatWasNotAccepted(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		r := newReviewing(t, a)
		p, err := a.CreateProposal(t.Context(), r.Caller, sheaf.ProposalChange{Title: sheaf.Some("P"),
			Changes: sheaf.Some([]sheaf.ProposedChange{{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("New")}}})})
		r.must(err)
		r.refused(p.ID, "the proposal is open")
		_, err = a.WithdrawProposal(t.Context(), r.Caller, p.ID, sheaf.Match{})
		r.must(err)
		r.refused(p.ID, "the proposal is withdrawn")
		if got := revertTitle(strings.Repeat("ü", sheaf.MaxName)); sheaf.CheckName("title", got, sheaf.MaxName) != nil || !strings.HasSuffix(got, "ü…”") {
			t.Errorf("a long title becomes %q", got)
		}
		if got := revertTitle(strings.Repeat("ü", sheaf.MaxName-len([]rune("Revert “”…")))); !strings.HasSuffix(got, "ü”") {
			t.Errorf("a title that fits becomes %q", got)
		}
	})
}
