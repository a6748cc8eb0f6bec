package mail_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/app"
	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/sheaftest/apitest"
)

// asking is a scene in which the owner proposes, and asks others to approve.
type asking struct {
	*scene
	owner app.Caller
	in    sheaf.Project
	n     int // proposals made
}

// eachAsking runs the test on SQLite, and on two nodes with PostgreSQL.
func eachAsking(t *testing.T, play func(s *asking)) {
	apitest.Each(t, func(t *testing.T, a *apitest.API) {
		s := &asking{scene: on(t, a)}
		s.owner = app.Caller{Workspace: s.workspace.ID, User: s.workspace.Owner, Role: sheaf.Owner, Plan: sheaf.Business}
		must(s, a.App.Rename(t.Context(), app.Session{User: sheaf.User{ID: s.owner.User}}, "Ada Löwe", sheaf.Opt[string]{}))
		var err error
		s.in, err = a.App.CreateProject(t.Context(), s.owner, sheaf.ProjectChange{Name: sheaf.Some("Manual")})
		must(s, err)
		play(s)
	})
}

// propose makes a proposal about a document of the project.
func (s *asking) propose() sheaf.ProposalID {
	s.Helper()
	s.n++
	p, err := s.api.App.CreateProposal(s.Context(), s.owner, sheaf.ProposalChange{Title: sheaf.Some(fmt.Sprintf("Süd %d\r\nBcc: x", s.n)),
		Changes: sheaf.Some([]sheaf.ProposedChange{{Op: sheaf.ProposeCreate, Document: sheaf.DocumentChange{Title: sheaf.Some("D"), ProjectID: sheaf.Some(s.in.ID)}}})})
	must(s, err)
	return p.ID
}

func (s *asking) ask(id sheaf.ProposalID, u sheaf.UserID) {
	s.Helper()
	_, err := s.api.App.AskReviewer(s.Context(), s.owner, id, u)
	must(s, err)
}

// D182b: a person who is asked to approve gets one mail, even if the program was restarted in between. A
// second ask brings another mail after an hour.
func TestMailer_AsksToReview(t *testing.T) {
	eachAsking(t, func(s *asking) {
		p, editor := s.propose(), s.people["editor@example.com"]
		s.ask(p, editor)
		must(s, s.round())
		must(s, s.round())
		l := s.wantLetters("when asked", "editor@example.com")
		if got := l.subject(s); got != `Ada Löwe asks you to review "Süd 1\r\nBcc: x"` {
			s.Errorf("the subject is %q", got)
		}
		for _, part := range []string{"Ada Löwe asks you", `"Süd 1\r\nBcc: x"`, "https://sheaf.example.com/w/" + string(s.owner.Workspace) + "/proposals/" + string(p), "Häuser"} {
			if !strings.Contains(l.text, part) {
				s.Errorf("%q is not in\n%s", part, l.text)
			}
		}
		if id := l.Get("Message-ID"); l.Get("Bcc") != "" || !strings.Contains(id, string(p)) || !strings.Contains(id, string(editor)) || strings.Contains(l.text, "owner@") {
			s.Errorf("got %v\n%s", l.Header, l.text)
		}
		s.api.Clock.Advance(59 * time.Minute)
		s.ask(p, editor)
		must(s, s.round())
		s.wantLetters("asked again within the hour", "editor@example.com")
		s.api.Clock.Advance(time.Minute)
		s.ask(p, editor)
		must(s, s.round())
		again := s.wantLetters("asked again an hour later", "editor@example.com", "editor@example.com")
		if again.Get("Message-ID") == l.Get("Message-ID") {
			s.Error("another mail has the same Message-ID")
		}
	})
}

// D182b: a workspace gets four mails about proposals at once, and one more each quarter of an hour. Mails
// about webhooks do not wait for them.
func TestMailer_AsksAreBounded(t *testing.T) {
	eachAsking(t, func(s *asking) {
		var want []string
		for range 6 {
			s.ask(s.propose(), s.people["editor@example.com"])
			want = append(want, "editor@example.com")
		}
		must(s, s.round())
		s.wantLetters("asked six times", want[:4]...)
		s.fail(5)
		must(s, s.round())
		s.wantLetters("when a webhook fails", append(want[:4:4], both)...)
		s.api.Clock.Advance(15 * time.Minute)
		must(s, s.round())
		must(s, s.round())
		s.wantLetters("a quarter of an hour later", append(want[:4:4], both, want[4])...)
	})
}

// D182b: there is no mail if the proposal was decided or approved meanwhile, or the person left, may no longer
// approve it, no longer sees it, or was erased.
func TestMailer_NoReasonToAskAnyMore(t *testing.T) {
	eachAsking(t, func(s *asking) {
		ctx, a := s.Context(), s.api.App
		for name, change := range map[string]func(p sheaf.ProposalID, u sheaf.UserID) error{
			"rejected": func(p sheaf.ProposalID, _ sheaf.UserID) error {
				_, err := a.RejectProposal(ctx, s.owner, p, nil, sheaf.Match{})
				return err
			},
			"approved": func(p sheaf.ProposalID, u sheaf.UserID) error {
				_, err := a.ApproveProposal(ctx, app.Caller{Workspace: s.owner.Workspace, User: u, Role: sheaf.Editor, Plan: sheaf.Business}, p, sheaf.Match{Asked: true, Revisions: []int64{1}})
				return err
			},
			"left": func(_ sheaf.ProposalID, u sheaf.UserID) error { return a.RemoveMember(ctx, s.owner, u) },
			"demoted": func(_ sheaf.ProposalID, u sheaf.UserID) error {
				return a.SetRole(ctx, s.owner, u, sheaf.Member, sheaf.Opt[sheaf.Role]{})
			},
			"elsewhere": func(_ sheaf.ProposalID, u sheaf.UserID) error {
				p, err := a.CreateProject(ctx, s.owner, sheaf.ProjectChange{Name: sheaf.Some("Other")})
				must(s, err)
				return a.Restrict(ctx, s.owner, u, &app.RestrictTo{Projects: []sheaf.ProjectID{p.ID}}, sheaf.Opt[string]{})
			},
			"erased": func(sheaf.ProposalID, sheaf.UserID) error {
				_, err := a.Operator().EraseUser(ctx, "erased@example.com")
				return err
			},
		} {
			s.join(s.owner.Workspace, name+"@example.com", sheaf.Editor)
			p, u := s.propose(), s.people[name+"@example.com"]
			s.ask(p, u)
			must(s, change(p, u))
			must(s, s.round())
			s.wantLetters(name)
		}
		// Somebody who sees only the project of the proposal gets the mail.
		s.join(s.owner.Workspace, "inside@example.com", sheaf.Editor)
		u := s.people["inside@example.com"]
		must(s, a.Restrict(ctx, s.owner, u, &app.RestrictTo{Projects: []sheaf.ProjectID{s.in.ID}}, sheaf.Opt[string]{}))
		s.ask(s.propose(), u)
		must(s, s.round())
		s.wantLetters("restricted to the project", "inside@example.com")
	})
}
