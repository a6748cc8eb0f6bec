package app

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// asking is a village with people of every kind and an open proposal of a member, about a document inside.
type asking struct {
	*village
	author, other, editor, within, outside Caller // author and other are members; within and outside are restricted editors
	p                                      sheaf.Proposal
	document                               sheaf.DocumentID
}

func newAsking(t *testing.T, a *App) *asking {
	t.Helper()
	s := &asking{village: newVillage(t, a)}
	who := func(email string, role sheaf.Role, to *RestrictTo) Caller {
		return caller(t, a, s.join(email, role, to))
	}
	s.author, s.other, s.editor = who("author@example.com", sheaf.Member, nil), who("other@example.com", sheaf.Member, nil), who("editor@example.com", sheaf.Editor, nil)
	s.within, s.outside = who("within@example.com", sheaf.Editor, s.here()), who("outside@example.com", sheaf.Editor, &RestrictTo{Projects: []sheaf.ProjectID{s.hidden}})
	d, err := a.CreateDocument(t.Context(), s.owner, sheaf.DocumentChange{Title: sheaf.Some("D"), Content: sheaf.Some("one\n"), ProjectID: sheaf.Some(s.filed)})
	s.must(err)
	s.document = d.ID
	s.p = s.propose("P")
	return s
}

func (s *asking) changes(text string) sheaf.Opt[[]sheaf.ProposedChange] {
	return sheaf.Some([]sheaf.ProposedChange{{Op: sheaf.ProposeEdit, DocumentID: s.document, BaseVersion: 1, Document: sheaf.DocumentChange{Content: sheaf.Some(text)}}})
}

func (s *asking) propose(title string) sheaf.Proposal {
	s.t.Helper()
	p, err := s.a.CreateProposal(s.t.Context(), s.author, sheaf.ProposalChange{Title: sheaf.Some(title), Changes: s.changes("two\n")})
	s.must(err)
	return p
}

// ask asks `of` to approve the proposal, and checks the kind of the error; 0: none.
func (s *asking) ask(by, of Caller, want sheaf.Kind) {
	s.t.Helper()
	_, err := s.a.AskReviewer(s.t.Context(), by, s.p.ID, of.User)
	if got := sheaf.KindOf(err); err == nil && want != 0 || err != nil && got != want {
		s.t.Errorf("%v", err)
	}
}

// waits returns the titles of the proposals that wait for the caller.
func (s *asking) waits(c Caller) string {
	s.t.Helper()
	page, err := s.a.Proposals(s.t.Context(), c, sheaf.ProposalFilter{State: sheaf.ProposalOpen, Asked: c.User, Paging: sheaf.Paging{Limit: 10}})
	s.must(err)
	var titles []string
	for _, p := range page.Items {
		if !p.WaitsFor(c.User) {
			s.t.Errorf("the list has %s, which does not wait", p.Title)
		}
		titles = append(titles, p.Title)
	}
	return fmt.Sprint(titles)
}

func (s *asking) due() int {
	s.t.Helper()
	due, err := readUnasked(s.t.Context(), s.a, func(r *store.Reader) ([]store.Notice, error) { return r.NoticesDue(s.a.now().Add(24*time.Hour), 100) })
	s.must(err)
	return len(due)
}

// D182b: the author and those who may approve ask others who may approve. Nobody else can ask or be asked.
func TestAsk_WhoAndWhom(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		s := newAsking(t, a)
		s.ask(s.other, s.editor, sheaf.Forbidden)
		s.ask(s.outside, s.editor, sheaf.NotFound) // it does not see the proposal
		s.ask(s.author, s.author, sheaf.Conflict)
		s.ask(s.editor, s.author, sheaf.Conflict)
		s.ask(s.author, s.other, sheaf.Conflict)   // may not approve
		s.ask(s.author, s.outside, sheaf.Conflict) // does not see the proposal
		s.ask(s.author, Caller{User: "0190b0a0-0000-7000-8000-00000000000f"}, sheaf.Conflict)
		if n := s.due(); n != 0 {
			t.Errorf("%d mails are due after refusals", n)
		}
		for _, c := range []struct {
			by   Caller
			want []sheaf.UserID
		}{{s.author, []sheaf.UserID{s.owner.User, s.editor.User, s.within.User}}, {s.within, []sheaf.UserID{s.owner.User, s.editor.User}}, {s.other, nil}} {
			got, err := a.ToAsk(t.Context(), c.by, s.p)
			s.must(err)
			slices.Sort(got)
			slices.Sort(c.want)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s can ask %v, want %v", c.by.User, got, c.want)
			}
		}
		s.ask(s.author, s.editor, 0)
		s.ask(s.within, s.owner, 0)
		s.ask(s.owner, s.within, 0)
		if n := s.due(); n != 3 {
			t.Errorf("%d mails are due, want 3", n)
		}
		for _, c := range []Caller{s.editor, s.owner, s.within} {
			if got := s.waits(c); got != "[P]" {
				t.Errorf("%s: %s waits", c.User, got)
			}
		}
		if got := s.waits(s.other) + s.waits(s.outside); got != "[][]" {
			t.Errorf("%s waits for others", got)
		}
		// A restricted person still sees the proposal: those whom it waits for are no part of what it names.
		if _, err := a.Proposal(t.Context(), s.within, s.p.ID); err != nil {
			t.Error(err)
		}
		_, err := a.RejectProposal(t.Context(), s.owner, s.p.ID, nil, sheaf.Match{})
		s.must(err)
		s.ask(s.author, s.editor, sheaf.Conflict)
		if got := s.waits(s.editor); got != "[]" {
			t.Errorf("%s waits after the decision", got)
		}
	})
}

// D182b: an ask is no approval, and changes neither the ETag nor updated_at. An approval ends the wait, and
// new changes, which remove the approval, begin it again.
func TestAsk_WaitsUntilTheApproval(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		s := newAsking(t, a)
		ctx := t.Context()
		review := sheaf.ProjectChange{Approvals: sheaf.Some(int64(1))}
		_, err := a.UpdateProject(ctx, s.owner, s.filed, review, sheaf.Match{})
		s.must(err)
		*now = now.Add(time.Minute)
		s.ask(s.author, s.editor, 0)
		p, err := a.Proposal(ctx, s.editor, s.p.ID)
		s.must(err)
		r := p.Reviewer(s.editor.User)
		if p.Revision != 1 || !p.UpdatedAt.Equal(s.p.UpdatedAt) || r.AskedAt == nil || !r.AskedAt.Equal(*now) || *r.AskedBy != s.author.User || len(p.People) != 2 {
			t.Errorf("after the ask it is %+v", p.Proposal)
		}
		match := sheaf.Match{Asked: true, Revisions: []int64{1}}
		var refusal *sheaf.Error
		if _, err := a.AcceptProposal(ctx, s.editor, s.p.ID, match); !errors.As(err, &refusal) || refusal.Code != sheaf.CodeApprovalsMissing {
			t.Errorf("an ask counts as an approval: %v", err)
		}
		_, err = a.ApproveProposal(ctx, s.editor, s.p.ID, match)
		s.must(err)
		s.ask(s.author, s.editor, sheaf.Conflict) // has approved it
		for _, step := range []struct {
			act  func() error
			want string
		}{
			{func() error { return nil }, "[]"},
			{func() error { return a.TakeBackApproval(ctx, s.editor, s.p.ID, sheaf.Match{}) }, "[P]"},
			{func() error { _, err := a.ApproveProposal(ctx, s.editor, s.p.ID, match); return err }, "[]"},
			{func() error {
				_, err := a.UpdateProposal(ctx, s.author, s.p.ID, sheaf.ProposalChange{Changes: s.changes("three\n")}, sheaf.Match{})
				return err
			}, "[P]"},
			// Who wrote a part of it cannot approve it, so it does not wait for them.
			{func() error {
				_, err := a.UpdateProposal(ctx, s.editor, s.p.ID, sheaf.ProposalChange{Changes: s.changes("four\n")}, sheaf.Match{})
				return err
			}, "[]"},
		} {
			s.must(step.act())
			if got := s.waits(s.editor); got != step.want {
				t.Errorf("%s waits, want %s", got, step.want)
			}
		}
	})
}

// D182b: within an hour, asking the same person again does nothing. A proposal asks at most MaxAsked people.
func TestAsk_IsBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		s := newAsking(t, a)
		asked := func() time.Time {
			p, err := a.Proposal(t.Context(), s.author, s.p.ID)
			s.must(err)
			return *p.Reviewer(s.editor.User).AskedAt
		}
		first := *now
		s.ask(s.author, s.editor, 0)
		*now = now.Add(sheaf.AskedApart - time.Second)
		s.ask(s.owner, s.editor, 0)
		if got := asked(); !got.Equal(first) {
			t.Errorf("asked again at %s", got)
		}
		*now = now.Add(time.Second)
		s.ask(s.owner, s.editor, 0)
		if got := asked(); !got.Equal(*now) {
			t.Errorf("an hour later, the ask is of %s", got)
		}
		var last Caller
		for i := range sheaf.MaxAsked {
			u := sheaf.User{ID: sheaf.UserID(a.newID()), Name: fmt.Sprint("n", i), CreatedAt: *now}
			s.must(a.store.Write(t.Context(), func(tx *store.Tx) error {
				if err := tx.InsertUser(u); err != nil {
					return err
				}
				if err := tx.InsertMember(sheaf.Membership{Workspace: sheaf.Workspace{ID: s.owner.Workspace}, User: u, Role: sheaf.Admin, Since: *now}); err != nil {
					return err
				}
				return a.auditIn(tx, s.owner.Workspace, anOperator, sheaf.ActionMemberJoined, string(u.ID), nil, nil)
			}))
			last = Caller{User: u.ID}
			want := sheaf.Kind(0)
			if i == sheaf.MaxAsked-1 { // the editor was asked too
				want = sheaf.Conflict
			}
			s.ask(s.author, last, want)
		}
	})
}
