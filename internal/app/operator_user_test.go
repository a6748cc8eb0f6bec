package app

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sheaf.dev/internal/sheaf"
	"sheaf.dev/internal/store"
)

// D206: erasing a user ends the sessions, the memberships, the keys and the invitations, and what
// tells who the user was is in no row any more. The id stays.
func TestEraseUser_NothingTellsWhoItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		bob := invited(t, a, owner, "bob@example.com", sheaf.Owner)
		s, err := a.SignIn(t.Context(), SignIn{Email: "Bob@example.com", Password: testPassword, Address: "192.0.2.77"}, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{"bob@example.com", "zoe@example.com"} { // a brake of the user, and one of an e-mail
			if _, err := a.SignIn(t.Context(), SignIn{Email: wrong, Password: "wrong", Address: "192.0.2.77"}, ""); err == nil {
				t.Fatal("a wrong password signs in")
			}
		}
		if _, err := a.Invite(t.Context(), bob, "carl@example.com", sheaf.Member, nil); err != nil {
			t.Fatal(err)
		}
		other, err := a.Operator().CreateWorkspace(t.Context(), NewWorkspace{Name: "Other", Plan: sheaf.Pro, OwnerEmail: "eve@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Operator().Invite(t.Context(), other.ID, "BOB@example.com", sheaf.Member, nil); err != nil {
			t.Fatal(err)
		}
		k, err := a.CreateKey(t.Context(), bob, NewKey{Name: "k", Scopes: sheaf.Scopes{sheaf.ProjectsRead}})
		if err != nil {
			t.Fatal(err)
		}
		u, err := a.Operator().EraseUser(t.Context(), "bob@EXAMPLE.com")
		if err != nil || u.ID != bob.User || u.Email != nil || u.Name != sheaf.ErasedUser || u.ErasedAt == nil {
			t.Fatalf("%+v, %v", u, err)
		}
		if _, err := a.Session(t.Context(), s.Token); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("the session: %v", err)
		}
		if _, err := a.Authenticate(t.Context(), *k.Secret); sheaf.KindOf(err) != sheaf.Unauthorized {
			t.Errorf("the key: %v", err)
		}
		_, err = a.Operator().EraseUser(t.Context(), "bob@example.com")
		wantKind(t, "once more", err, sheaf.NotFound)
		m, err := a.Members(t.Context(), owner)
		if err != nil || len(m.Members) != 1 || len(m.Invitations) != 0 {
			t.Errorf("the workspace has %+v, %v", m, err)
		}
		erased, err := a.Erased(t.Context(), owner, []sheaf.UserID{bob.User, owner.User})
		if err != nil || len(erased) != 1 || !erased[bob.User] {
			t.Errorf("erased: %v, %v", erased, err)
		}
		wantNowhere(t, a, "bob")
		for _, name := range []string{"user " + string(bob.User), "user " + string(bob.User) + " from 192.0.2.77"} {
			f, err := readUnasked(t.Context(), a, func(r *store.Reader) (store.Failures, error) { return r.Failures(name) })
			if err != nil || f.Count != 0 {
				t.Errorf("the brake %q counts %d, %v", name, f.Count, err)
			}
		}
	})
}

// D206: the e-mail of a person who was only invited is erased too, in every workspace, with the restriction
// that only the invitation had.
func TestEraseUser_OnlyInvited(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, now *time.Time) {
		v := newVillage(t, a)
		ctx, op := t.Context(), a.Operator()
		_, err := a.Invite(ctx, v.owner, "zoe@example.com", sheaf.Editor, &RestrictTo{Projects: []sheaf.ProjectID{v.hidden}})
		v.must(err)
		other, err := op.CreateWorkspace(ctx, NewWorkspace{Name: "Other", Plan: sheaf.Pro, OwnerEmail: "eve@example.com"})
		v.must(err)
		_, err = op.Invite(ctx, other.ID, "ZOE@example.com", sheaf.Member, nil)
		v.must(err)
		_, err = op.DeleteWorkspace(ctx, other.ID, time.Hour)
		v.must(err)
		_, err = op.Invite(ctx, v.owner.Workspace, "yan@example.com", sheaf.Member, nil)
		v.must(err)
		if _, err := a.SignIn(ctx, SignIn{Email: "zoe@example.com", Password: "wrong", Address: "192.0.2.77"}, ""); err == nil {
			t.Fatal("an invited person signs in")
		}
		*now = now.Add(30 * 24 * time.Hour) // an expired invitation has the e-mail too
		got, err := op.EraseUser(ctx, "Zoe@example.com")
		if err != nil || got.ID != "" || got.Invitations != 2 {
			t.Errorf("erased %+v, %v", got, err)
		}
		wantNowhere(t, a, "zoe")
		ws, err := readUnasked(ctx, a, func(r *store.Reader) (sheaf.Workspace, error) { return r.Workspace(v.owner.Workspace) })
		if err != nil || ws.Restrictions != 0 {
			t.Errorf("%d restrictions are left, %v", ws.Restrictions, err)
		}
		f, err := readUnasked(ctx, a, func(r *store.Reader) (store.Failures, error) { return r.Failures(emailBrake("zoe@example.com")) })
		if err != nil || f.Count != 0 {
			t.Errorf("the brake of the e-mail counts %d, %v", f.Count, err)
		}
		_, err = op.EraseUser(ctx, "zoe@example.com")
		wantKind(t, "once more", err, sheaf.NotFound)
	})
}

// D206: a request that began before a user was erased brings nothing of the user back.
func TestEraseUser_NothingComesBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		invited(t, a, caller(t, a, n.Token), "bob@example.com", sheaf.Owner)
		bob := SignIn{Email: "bob@example.com", Password: testPassword, Address: "192.0.2.77"}
		_, s := signIn(t, a, bob)
		if _, err := a.Operator().EraseUser(t.Context(), bob.Email); err != nil {
			t.Fatal(err)
		}
		wantKind(t, "a new name", a.Rename(t.Context(), s, "Bob once more", sheaf.Opt[string]{}), sheaf.Unauthorized)
		_, err := a.ChangePassword(t.Context(), s, bob.Password, "another long password", Browser{})
		wantKind(t, "a new password", err, sheaf.Unauthorized)
		wantNowhere(t, a, "bob")
	})
}

// wantNowhere fails if a row of any table that a backup contains has one of the texts.
func wantNowhere(t *testing.T, a *App, texts ...string) {
	t.Helper()
	_, err := readUnasked(t.Context(), a, func(r *store.Reader) (struct{}, error) {
		for _, name := range store.BackupTables {
			table, _, err := r.BackupTable(name)
			if err != nil {
				return struct{}{}, err
			}
			err = r.EachRow(table, func(values []any) error {
				row := strings.ToLower(fmt.Sprintf("%s", values))
				for _, text := range texts {
					if strings.Contains(row, text) {
						t.Errorf("%s has %q: %s", name, text, row)
					}
				}
				return nil
			})
			if err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// D206: the last owner of a workspace is not erased, and the refusal names the workspace. Of two
// owners who are erased at once, one stays.
func TestEraseUser_TheLastOwnerStays(t *testing.T) {
	eachEngine(t, func(t *testing.T, a *App, _ *time.Time) {
		in, _ := ada(t, a)
		n, _ := signIn(t, a, in)
		owner := caller(t, a, n.Token)
		_, err := a.Operator().EraseUser(t.Context(), in.Email)
		wantKind(t, "the last owner", err, sheaf.Conflict)
		if err == nil || !strings.Contains(err.Error(), string(owner.Workspace)) {
			t.Errorf("the refusal does not name the workspace: %v", err)
		}
		invited(t, a, owner, "bob@example.com", sheaf.Owner)
		var both sync.WaitGroup
		errs := make([]error, 2)
		for i, email := range []string{in.Email, "bob@example.com"} {
			both.Go(func() { _, errs[i] = a.Operator().EraseUser(t.Context(), email) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Errorf("two owners at once: %v, %v", errs[0], errs[1])
		}
		owners, err := readUnasked(t.Context(), a, func(r *store.Reader) (int64, error) { return r.Owners(owner.Workspace) })
		if err != nil || owners != 1 {
			t.Errorf("%d owners are left, %v", owners, err)
		}
	})
}
