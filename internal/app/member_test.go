package app

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// caller returns the person of a session as a caller in their only workspace.
func caller(t *testing.T, a *App, token string) Caller {
	t.Helper()
	s, err := a.Session(t.Context(), token)
	if err != nil || len(s.Memberships) == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	c, _, err := s.Caller(s.Memberships[len(s.Memberships)-1].Workspace.ID)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// invited creates an invitation and accepts it as a new user.
func invited(t *testing.T, a *App, owner Caller, email string, role sheaf.Role) Caller {
	t.Helper()
	i, err := a.Invite(t.Context(), owner, email, role, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, ws, err := a.Join(t.Context(), Join{Token: i.Token, Name: email, Password: testPassword, Address: "192.0.2.2"}, "")
	if err != nil || ws != owner.Workspace {
		t.Fatalf("%v, %v", ws, err)
	}
	return caller(t, a, s.Token)
}

// wantKind fails the test unless err is of kind `want`. Only Invalid has the code VALIDATION_ERROR.
func wantKind(t *testing.T, what string, err error, want sheaf.Kind) {
	t.Helper()
	if err == nil || sheaf.KindOf(err) != want {
		t.Errorf("%s: got %v, want kind %d", what, err, want)
	}
	var refusal *sheaf.Error
	if errors.As(err, &refusal) && (refusal.Code == sheaf.CodeValidation) != (want == sheaf.Invalid) {
		t.Errorf("%s: kind %d has the code %s", what, want, refusal.Code)
	}
}

// wantText fails the test unless err has exactly that text.
func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// D166: a role decides what a member may change, and losing the role of an admin ends their keys.
func TestRoles_GovernTheConsole(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		member := invited(t, a, owner, "bob@example.com", sheaf.Member)
		name := sheaf.ProjectChange{Name: sheaf.Some("x")}

		if _, err := a.Projects(t.Context(), member, sheaf.ProjectFilter{Paging: sheaf.Paging{Limit: 1}}); err != nil {
			t.Errorf("a member sees: %v", err)
		}
		_, err := a.CreateProject(t.Context(), member, name)
		wantKind(t, "a member changes", err, sheaf.Forbidden)
		_, err = a.CreateKey(t.Context(), member, NewKey{Name: "k", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
		wantKind(t, "a member makes a key", err, sheaf.Forbidden)

		wantText(t, err, "a member of this workspace can read this but not change it: ask an owner to make you an admin")
		_, err = a.CreateProject(t.Context(), member, name)
		wantText(t, err, "a member of this workspace can read this but not change it: ask an owner to make you an editor")

		if err := a.SetRole(t.Context(), owner, member.User, sheaf.Editor, sheaf.Opt[sheaf.Role]{}); err != nil {
			t.Fatal(err)
		}
		editor := member
		editor.Role = sheaf.Editor
		if _, err := a.CreateProject(t.Context(), editor, name); err != nil {
			t.Errorf("an editor changes: %v", err)
		}
		if _, err := a.CreateDocument(t.Context(), editor, sheaf.DocumentChange{Title: sheaf.Some("x")}); err != nil {
			t.Errorf("an editor writes: %v", err)
		}
		_, err = a.CreateKey(t.Context(), editor, NewKey{Name: "k", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
		wantKind(t, "an editor makes a key", err, sheaf.Forbidden)
		wantText(t, err, "an editor of this workspace can read this but not change it: ask an owner to make you an admin")
		_, err = a.PublishEvent(t.Context(), editor, NewEvent{Type: sheaf.GenerationCompleted, ResourceID: "x", Payload: []byte("{}")})
		wantKind(t, "an editor reports an event", err, sheaf.Forbidden)

		if err := a.SetRole(t.Context(), owner, member.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}); err != nil {
			t.Fatal(err)
		}
		admin := member
		admin.Role = sheaf.Admin
		if _, err := a.CreateProject(t.Context(), admin, name); err != nil {
			t.Errorf("an admin changes: %v", err)
		}
		k, err := a.CreateKey(t.Context(), admin, NewKey{Name: "k", Scopes: sheaf.Admin.Scopes()})
		if err != nil {
			t.Fatalf("an admin makes a key: %v", err)
		}
		_, err = a.Invite(t.Context(), admin, "eve@example.com", sheaf.Owner, nil)
		wantKind(t, "an admin invites", err, sheaf.Forbidden)
		wantKind(t, "an admin makes themselves an owner", a.SetRole(t.Context(), admin, admin.User, sheaf.Owner, sheaf.Opt[sheaf.Role]{}), sheaf.Forbidden)
		wantKind(t, "an admin changes the plan", a.ChangePlan(t.Context(), admin, sheaf.Pro, sheaf.Opt[sheaf.Plan]{}), sheaf.Forbidden)
		wantKind(t, "an admin removes the owner", a.RemoveMember(t.Context(), admin, owner.User), sheaf.Forbidden)

		// What counts is the role that is stored when the change is made, not the role when the
		// request arrived.
		if err := a.SetRole(t.Context(), owner, admin.User, sheaf.Editor, sheaf.Opt[sheaf.Role]{}); err != nil {
			t.Fatal(err)
		}
		_, err = a.CreateProject(t.Context(), admin, name)
		wantKind(t, "who was an admin a moment ago", err, sheaf.Forbidden)
		_, err = a.Authenticate(t.Context(), *k.Secret)
		wantKind(t, "the key of who is no admin any more", err, sheaf.Unauthorized)

		if err := a.RemoveMember(t.Context(), owner, admin.User); err != nil {
			t.Fatal(err)
		}
		_, err = a.CreateProject(t.Context(), admin, name)
		wantKind(t, "who was removed", err, sheaf.NotFound)
	})
}

// A member who loses a role also loses what they created with it.
func TestRoles_EndWhatTheyAllowedToMake(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		second := invited(t, a, owner, "bob@example.com", sheaf.Owner)
		i, err := a.Invite(t.Context(), second, "bob-too@example.com", sheaf.Owner, nil)
		if err != nil {
			t.Fatal(err)
		}
		k, err := a.CreateKey(t.Context(), second, NewKey{Name: "k", Scopes: sheaf.AllScopes})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SetRole(t.Context(), owner, second.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}); err != nil {
			t.Fatal(err)
		}
		_, _, err = a.Join(t.Context(), Join{Token: i.Token, Name: "Bob", Password: testPassword, Address: "192.0.2.2"}, "")
		wantKind(t, "the invitation of who is no owner any more", err, sheaf.NotFound)
		if _, err := a.Authenticate(t.Context(), *k.Secret); err != nil {
			t.Errorf("the key of an admin: %v", err)
		}
		if err := a.RemoveMember(t.Context(), owner, second.User); err != nil {
			t.Fatal(err)
		}
		_, err = a.Authenticate(t.Context(), *k.Secret)
		wantKind(t, "the key of who was removed", err, sheaf.Unauthorized)
	})
}

func TestMembers_KeysSeeNoMember(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		_, first := ada(t, a)
		c, err := a.Authenticate(t.Context(), first.Key)
		if err != nil {
			t.Fatal(err)
		}
		key := Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key}
		_, err = a.Members(t.Context(), key)
		wantKind(t, "the members", err, sheaf.Forbidden)
		_, err = a.Invite(t.Context(), key, "eve@example.com", sheaf.Owner, nil)
		wantKind(t, "an invitation", err, sheaf.Forbidden)
		wantKind(t, "leaving", a.RemoveMember(t.Context(), key, key.User), sheaf.Forbidden)
	})
}

// If two owners leave at the same moment, one stays.
func TestOwners_TheLastOneStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		one := caller(t, a, n.Token)
		wantKind(t, "the last owner leaves", a.RemoveMember(t.Context(), one, one.User), sheaf.Conflict)
		wantKind(t, "the last owner becomes an admin", a.SetRole(t.Context(), one, one.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}), sheaf.Conflict)
		two := invited(t, a, one, "bob@example.com", sheaf.Owner)
		warmUp(t, a, 2)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, c := range []Caller{one, two} {
			wg.Go(func() { errs[i] = a.RemoveMember(t.Context(), c, c.User) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("of both: %v", errs)
		}
	})
}

func TestInvitation_WorksOnceAndOnlyWhileItIsOpen(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		invite := func(email string) NewInvitation {
			i, err := a.Invite(t.Context(), owner, email, sheaf.Member, nil)
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		join := func(token string) error {
			_, _, err := a.Join(t.Context(), Join{Token: token, Name: "Bob", Password: testPassword}, "")
			return err
		}
		replaced := invite("bob@example.com")
		again := invite("BOB@example.com")
		wantKind(t, "a replaced link", join(replaced.Token), sheaf.NotFound)
		if err := join(again.Token); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a used link", join(again.Token), sheaf.NotFound)
		_, err := a.Invite(t.Context(), owner, "bob@example.com", sheaf.Admin, nil)
		wantKind(t, "inviting a member", err, sheaf.Conflict)

		withdrawn := invite("carol@example.com")
		if err := a.Withdraw(t.Context(), owner, withdrawn.ID); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a withdrawn link", join(withdrawn.Token), sheaf.NotFound)
		late := invite("dave@example.com")
		*now = now.Add(invitationLives)
		wantKind(t, "an expired link", join(late.Token), sheaf.NotFound)
		_, err = a.Invite(t.Context(), owner, "not an address", sheaf.Member, nil)
		wantKind(t, "inviting nobody", err, sheaf.Invalid)
	})
}

// An owner cannot take over another account by inviting its e-mail and using the link themselves.
func TestInvitation_IsNoWayIntoAnothersAccount(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		if _, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "Bob's", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		i, err := a.Invite(t.Context(), owner, "bob@example.com", sheaf.Member, nil)
		if err != nil {
			t.Fatal(err)
		}
		o, err := a.Offer(t.Context(), i.Token)
		if err != nil || !o.Known || !o.Locked {
			t.Errorf("%+v, %v", o, err)
		}
		_, _, err = a.Join(t.Context(), Join{Token: i.Token, Name: "Eve", Password: testPassword}, "")
		wantKind(t, "a user without a password", err, sheaf.Unauthorized)
		if _, err := a.Operator().SetPassword(t.Context(), "bob@example.com", "bob's own one"); err != nil {
			t.Fatal(err)
		}
		_, _, err = a.Join(t.Context(), Join{Token: i.Token, Name: "Eve", Password: testPassword}, "")
		wantKind(t, "with another password", err, sheaf.Unauthorized)
		if _, _, err := a.Join(t.Context(), Join{Token: i.Token, Password: "bob's own one"}, ""); err != nil {
			t.Errorf("with their own: %v", err)
		}
	})
}

// A password that was changed while it was compared opens nothing.
func TestInvitation_NotWithAPasswordOfBefore(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		i, err := a.Invite(t.Context(), caller(t, a, n.Token), "bob@example.com", sheaf.Member, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "Bob's", Plan: sheaf.Pro, OwnerEmail: "bob@example.com"}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().SetPassword(t.Context(), "bob@example.com", "the previous one"); err != nil {
			t.Fatal(err)
		}
		o, err := a.Offer(t.Context(), i.Token)
		if err != nil {
			t.Fatal(err)
		}
		compared, err := a.joiner(t.Context(), o, Join{Token: i.Token, Password: "the previous one"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().SetPassword(t.Context(), "bob@example.com", "the one of now"); err != nil {
			t.Fatal(err)
		}
		_, err = a.useInvitation(t.Context(), Join{Token: i.Token}, o, compared, "")
		wantKind(t, "with the previous password", err, sheaf.Unauthorized)
	})
}

// Inviting by a script must not create a page that is too long to open.
func TestInvitation_LimitUnderConcurrency(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		invite := func(i int) error {
			_, err := a.Invite(t.Context(), owner, fmt.Sprintf("p%d@example.com", i), sheaf.Member, nil)
			return err
		}
		for i := range maxInvitations - 2 {
			if err := invite(i); err != nil {
				t.Fatal(err)
			}
		}
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if err := invite(1000 + i); err == nil {
					made.Add(1)
				} else {
					wantKind(t, "one too many", err, sheaf.Conflict)
				}
			})
		}
		all.Wait()
		m, err := a.Members(t.Context(), owner)
		if err != nil || made.Load() != 2 || len(m.Invitations) != maxInvitations {
			t.Errorf("%d of 8 were made, %d are open: %v", made.Load(), len(m.Invitations), err)
		}
		_, err = a.Operator().Invite(t.Context(), owner.Workspace, "p2000@example.com", sheaf.Member, nil)
		wantKind(t, "one too many of the operator", err, sheaf.Conflict)
		if err := invite(0); err != nil {
			t.Errorf("in place of an older one: %v", err)
		}
		if err := a.Withdraw(t.Context(), owner, invitationTo(t, a, owner, "p1@example.com")); err != nil {
			t.Fatal(err)
		}
		if err := invite(3000); err != nil {
			t.Errorf("after one was withdrawn: %v", err)
		}
		*now = now.Add(invitationLives)
		s, _ := signIn(t, a, in)
		owner = caller(t, a, s.Token)
		if err := invite(4000); err != nil {
			t.Errorf("when the others have expired: %v", err)
		}
	})
}

// invitationTo finds the open invitation by its e-mail. Invitations of the same moment come in any
// order.
func invitationTo(t *testing.T, a *App, c Caller, email string) sheaf.InvitationID {
	t.Helper()
	m, err := a.Members(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(m.Invitations, func(i sheaf.Invitation) bool { return i.Email == email })
	if i < 0 {
		t.Fatalf("no invitation to %s is open", email)
	}
	return m.Invitations[i].ID
}

func TestInvitation_NotIntoAPersonalWorkspace(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		ws, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "Mine", Plan: sheaf.Pro, Personal: true, OwnerEmail: "bob@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Invite(t.Context(), Caller{Workspace: ws.ID, User: ws.Owner, Role: sheaf.Owner}, "eve@example.com", sheaf.Member, nil)
		wantKind(t, "inviting", err, sheaf.Conflict)
	})
}

// D207: a key of the workspace outlives the rights, the membership and the account of its maker. A
// user's own key does not.
func TestKey_OfTheWorkspaceOutlivesItsMaker(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		bob := invited(t, a, owner, "bob@example.com", sheaf.Admin)
		key := func(ofWorkspace bool) string {
			t.Helper()
			k, err := a.CreateKey(t.Context(), bob, NewKey{Name: "k", Scopes: sheaf.Admin.Scopes(), OfWorkspace: ofWorkspace})
			if err != nil {
				t.Fatal(err)
			}
			return *k.Secret
		}
		use := func(secret string) error {
			c, err := a.Authenticate(t.Context(), secret)
			if err != nil {
				return err
			}
			_, err = a.CreateProject(t.Context(), Caller{Workspace: c.Workspace, User: c.Key.UserID, Key: c.Key}, sheaf.ProjectChange{Name: sheaf.Some("p")})
			return err
		}
		own, stays := key(false), key(true)
		for _, end := range []struct {
			what string
			do   func() error
		}{
			{"is an editor", func() error {
				return a.SetRole(t.Context(), owner, bob.User, sheaf.Editor, sheaf.Opt[sheaf.Role]{})
			}},
			{"is removed", func() error { return a.RemoveMember(t.Context(), owner, bob.User) }},
			{"is erased", func() error { _, err := a.Operator().EraseUser(t.Context(), "bob@example.com"); return err }},
		} {
			if err := end.do(); err != nil {
				t.Fatal(err)
			}
			wantKind(t, "the own key of somebody who "+end.what, use(own), sheaf.Unauthorized)
			if err := use(stays); err != nil {
				t.Errorf("the key of the workspace, when its maker %s: %v", end.what, err)
			}
		}
	})
}
