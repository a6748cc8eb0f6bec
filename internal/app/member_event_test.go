package app

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
)

// toldOf returns member events as text, newest first, without the names of their people.
func toldOf(t *testing.T, a *App, c Caller, f sheaf.MemberEventFilter, names map[sheaf.UserID]string) string {
	t.Helper()
	f.Limit = 100
	events, err := a.MemberEvents(t.Context(), c, f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range events {
		by := "operator"
		if e.By != nil {
			by = names[*e.By]
		}
		out = append(out, fmt.Sprintf("%s %s %s %s>%s", by, e.Kind, names[e.User], e.Was, e.Role))
	}
	return strings.Join(out, "; ")
}

// Who joins, leaves or is removed, and who gets another role, is stored with the change. Nothing is stored of a change that is
// refused or changes nothing.
func TestMemberEvents_AreStoredWithTheChange(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		bob := invited(t, a, owner, "bob@example.com", sheaf.Member)
		eve := invited(t, a, owner, "eve@example.com", sheaf.Editor)
		names := map[sheaf.UserID]string{owner.User: "ada", bob.User: "bob", eve.User: "eve"}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		*now = now.Add(time.Minute)
		later := *now
		must(a.SetRole(t.Context(), owner, bob.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}))
		must(a.SetRole(t.Context(), owner, bob.User, sheaf.Admin, sheaf.Opt[sheaf.Role]{}))
		wantKind(t, "the last owner leaves", a.RemoveMember(t.Context(), owner, owner.User), sheaf.Conflict)
		wantKind(t, "an editor removes", a.RemoveMember(t.Context(), eve, bob.User), sheaf.Forbidden)
		must(a.RemoveMember(t.Context(), owner, bob.User))
		*now = now.Add(time.Minute)
		must(a.RemoveMember(t.Context(), eve, eve.User))

		const all = "eve left eve editor>editor; ada removed bob admin>admin; ada role bob member>admin; eve joined eve >editor; bob joined bob >member"
		wantSame := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		wantSame("all", toldOf(t, a, owner, sheaf.MemberEventFilter{}, names), all)
		wantSame("of Bob", toldOf(t, a, owner, sheaf.MemberEventFilter{Person: bob.User}, names), "ada removed bob admin>admin; ada role bob member>admin; bob joined bob >member")
		wantSame("by Ada", toldOf(t, a, owner, sheaf.MemberEventFilter{Person: owner.User}, names), "ada removed bob admin>admin; ada role bob member>admin")
		wantSame("since", toldOf(t, a, owner, sheaf.MemberEventFilter{Since: &later, Before: now}, names), "ada removed bob admin>admin; ada role bob member>admin")
		wantSame("after the newest", toldOf(t, a, owner, sheaf.MemberEventFilter{Offset: 4}, names), "bob joined bob >member")

		k, err := a.CreateKey(t.Context(), owner, NewKey{Name: "k", Scopes: sheaf.AllScopes})
		must(err)
		credential, err := a.Authenticate(t.Context(), *k.Secret)
		must(err)
		_, err = a.MemberEvents(t.Context(), Caller{Workspace: credential.Workspace, User: credential.Key.UserID, Key: credential.Key}, sheaf.MemberEventFilter{Limit: 1})
		wantKind(t, "a key", err, sheaf.Forbidden)

		// Only an owner gets the name of somebody who left.
		joe := invited(t, a, owner, "joe@example.com", sheaf.Admin)
		for c, want := range map[*Caller]string{&owner: "bob@example.com", &joe: ""} {
			events, err := a.MemberEvents(t.Context(), *c, sheaf.MemberEventFilter{Person: bob.User, Limit: 1})
			must(err)
			if len(events) != 1 || events[0].Name != want {
				t.Errorf("%s is told %+v", c.Role, events)
			}
		}
		restricted := joe
		restricted.Within = &sheaf.Restriction{}
		names[joe.User] = "joe"
		wantSame("for somebody restricted", toldOf(t, a, restricted, sheaf.MemberEventFilter{}, names), "joe joined joe >admin")
		wantSame("for somebody restricted, of another", toldOf(t, a, restricted, sheaf.MemberEventFilter{Person: bob.User}, names), "")
	})
}

// An operator who erases a person removes them from their workspaces.
func TestMemberEvents_OfAnErasedPerson(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		bob := invited(t, a, owner, "bob@example.com", sheaf.Member)
		if _, err := a.Operator().EraseUser(t.Context(), "bob@example.com"); err != nil {
			t.Fatal(err)
		}
		if got := toldOf(t, a, owner, sheaf.MemberEventFilter{Limit: 9}, map[sheaf.UserID]string{bob.User: "bob"}); got != "operator removed bob member>member; bob joined bob >member" {
			t.Error(got)
		}
	})
}
